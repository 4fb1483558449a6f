"""ECMAScript modules as one classic script, which pages from a file may run too.

The modules are this project's own, so a few forms are enough: named imports and exports, each at the start of a line,
and JSON under one name.
"""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path

_IMPORT = re.compile(r'^(import|export) \{([^}]*)\} from "(\./|\.\./)([\w./-]+\.js)";\n', re.M)
_JSON = re.compile(r'^import (\w+) from "(\./[\w./-]+\.json)" with \{ type: "json" \};\n', re.M)
_DECLARED = re.compile(r"^export (?:async )?(?:const|function\*?|class) (?:(\w+)|\[([\w, ]+)\])", re.M)
_LISTED = re.compile(r"^export \{([^}]*)\};\n", re.M)
_COMMENT = re.compile(r"^[ \t]*(?:/\*\*.*?\*/|//[^\n]*)\n", re.M | re.S)


def web_folder() -> Path:
    """The reader for browsers: in the wheel beside these modules, in a checkout a package of its own."""
    package = Path(str(resources.files("ctwl_services")))
    places = (package / "web", package.parents[3] / "packages" / "ctwl-web")
    return next(each for each in places if (each / "page").is_dir())


def bundle(entry: Path) -> str:
    """A script that runs a module and the modules that it imports, each module once, in the order of their imports.

    Raises:
        ValueError: a module has an import or an export in another form.
    """
    done: dict[Path, str] = {}
    _add(entry.resolve(), done)
    return '"use strict";\n' + "\n".join(done.values())


def _add(path: Path, done: dict[Path, str]) -> str:
    """Put a module after the modules that it imports; returns the name of the object with its exports."""
    name = "$" + re.sub(r"\W", "_", f"{path.parent.name}_{path.stem}")
    if path in done:
        return name
    text = path.read_text(encoding="utf-8")
    exports: list[str] = []

    def imported(found: re.Match[str]) -> str:
        kind, names, where, file = found.groups()
        source = _add((path.parent / where / file).resolve(), done)
        pairs = [_renamed(each) for each in names.split(",") if each.strip()]
        if kind == "export":
            exports.extend(f"get {outer}() {{ return {source}.{inner}; }}" for inner, outer in pairs)
            return ""
        return f"const {{ {', '.join(f'{inner}: {outer}' for inner, outer in pairs)} }} = {source};\n"

    def listed(found: re.Match[str]) -> str:
        exports.extend(f"{outer}: {inner}" for inner, outer in map(_renamed, found[1].split(",")))
        return ""

    def data(found: re.Match[str]) -> str:
        return f"const {found[1]} = {json.dumps(json.loads((path.parent / found[2]).read_bytes()))};\n"

    text = _LISTED.sub(listed, _IMPORT.sub(imported, _JSON.sub(data, text)))
    for one, several in _DECLARED.findall(text):
        exports += [each.strip() for each in (one or several).split(",")]
    text = re.sub(r"^export (?=async |const |function|class )", "", text, flags=re.M)
    if re.search(r"^(?:import|export)\b", text, re.M):
        raise ValueError(f"{path} has an import or export that cannot be bundled")
    text = _COMMENT.sub("", text)
    done[path] = f"const {name} = (() => {{\n{text}return {{ {', '.join(exports)} }};\n}})();"
    return name


def _renamed(each: str) -> tuple[str, str]:
    inner, _, outer = each.strip().partition(" as ")
    return inner, outer or inner

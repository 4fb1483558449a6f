"""Write the registry's static site: one page for people, and the files for programs.

    python site.py FOLDER SITE

FOLDER holds root.ctwl, root-2.ctwl ... and registry.ctwl. The site is written only if an update accepts all of them
from the first root on. A mirror is a copy of the site: followers check signatures, so it needs no trust.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HEAD = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>The CTWL registry</title>
<style>body { font: 1rem/1.5 sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem }
table { border-collapse: collapse } td, th { border-bottom: 1px solid #ccc; padding: .3rem .8rem; text-align: left }
code { overflow-wrap: anywhere }</style>
"""


def verified(folder: Path) -> tuple[dict[str, Any], list[Path]]:
    """What an update would trust, and the files in the order in which it takes them."""
    found = folder.glob("root-*.ctwl")
    roots = sorted(found, key=lambda file: int(re.sub(r"\D", "", file.stem) or 0))
    files = [folder / "root.ctwl", *roots, folder / "registry.ctwl"]
    command = ["/usr/bin/env", "ctwl-registry", "verify", "--json", "--root", *map(str, files)]
    tried = subprocess.run(command, check=False, capture_output=True, text=True, encoding="utf-8")
    if tried.returncode:
        sys.exit(f"site.py: {tried.stdout.strip() or tried.stderr.strip()}")
    return json.loads(tried.stdout), files


def day(seconds: int | None) -> str:
    """A day, or nothing."""
    return "" if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d}"


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table; every cell is a stranger's word."""
    lines = [f"<tr>{''.join(f'<th>{each}' for each in head)}"]
    lines += ["<tr>" + "".join(f"<td>{html.escape(each)}" for each in row) for row in rows]
    return "<table>\n" + "\n".join(lines) + "\n</table>\n"


def page(trusted: dict[str, Any], digests: dict[str, str]) -> str:
    """The page."""
    registry, root = trusted["registry"], trusted["root"]
    kinds: dict[str, list[dict[str, Any]]] = {"provider": [], "layout": [], "certificate": []}
    for entry in registry["entries"]:
        kinds[entry["kind"]].append(entry)
    providers = [
        [
            str(each["code"]),
            each["name"],
            f"{each['state']} {day(each['until'])}".strip(),
            ", ".join(f"{model['version']} {model['name']}" for model in each["models"] if model["until"] is None),
            each["contact"],
            f"{each['detector']['scheme']}: {each['detector']['url']}" if "detector" in each else "",
        ]
        for each in sorted(kinds["provider"], key=lambda each: int(each["code"]))
    ]
    roles = [[name, f"{root[name]['threshold']} of", " ".join(root[name]["keys"])] for name in ("root", "registry")]
    parts = [
        HEAD,
        f"<h1>The CTWL registry{' (for tests)' if trusted['use'] == 'test' else ''}</h1>\n",
        f"<p>Version {registry['version']} of {day(registry['issued'])}, good until {day(registry['expires'])}, under "
        f"root {root['version']}. It says who owns a code, not that a text came from them.</p>\n",
        "<h2>Providers</h2>\n",
        table(["number", "name", "state", "model versions", "contact", "own detector"], providers),
    ]
    if kinds["layout"]:
        rows = [[str(each["number"]), each["name"], str(each["owner"])] for each in kinds["layout"]]
        parts += ["<h2>Layouts</h2>\n", table(["number", "name", "provider"], rows)]
    if kinds["certificate"]:
        rows = [[day(each["since"]), each["owner"], each["commitment"]] for each in kinds["certificate"]]
        parts += ["<h2>Certificates</h2>\n", table(["since", "owner", "commitment"], rows)]
    parts += [
        "<h2>Files</h2>\n<p>Followers check signatures: <code>ctwl-registry update registry.ctwl</code>.</p>\n",
        table(["file", "SHA-256"], [[name, digest] for name, digest in digests.items()]),
        "<h2>Whose signatures count</h2>\n",
        table(["role", "needs", "public keys"], roles),
    ]
    return "".join(parts)


def main() -> None:
    """Entry point."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder, site = map(Path, sys.argv[1:])
    trusted, files = verified(folder)
    site.mkdir(parents=True, exist_ok=True)
    digests = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
    for file in files:
        shutil.copyfile(file, site / file.name)
    (site / "registry.json").write_text(json.dumps(trusted, indent=1) + "\n", encoding="utf-8")
    (site / "index.html").write_text(page(trusted, digests), encoding="utf-8")


if __name__ == "__main__":
    main()

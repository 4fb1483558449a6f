"""Vectors as files: one JSON document a family, as Wycheproof has it; written by the reference, read by anyone.

Beside them lie a JSON Schema for each, the numeric vectors in a folder of their own, and a signed manifest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from ctwl_protocol import CTWLError

from . import manifest
from .errors import VectorsAltered
from .families import FAMILIES as _FAMILIES
from .families import Family, Schema, agree
from .families.family import FORMAT
from .numeric import FAMILY as _NUMERIC
from .numeric import Numeric, head, measure, schema

__all__ = [
    "FAMILIES", "Vector", "check", "differences", "documents", "load", "load_numeric", "unanswerable", "write",
]  # fmt: skip

FAMILIES = tuple(_FAMILIES)
"""Names of the families."""

_LEVEL: Literal["exact"] = "exact"


@dataclass(frozen=True)
class Vector:
    """One question and its answer.

    Attributes:
        id: stable: the family and a name within it.
        family: its family.
        section: of the specification.
        level: of the claim; bytes and integers are exact.
        comment: what it is about.
    """

    id: str
    family: str
    section: str
    level: Literal["exact"]
    comment: str
    input: dict[str, Any]
    expected: dict[str, Any]

    def agrees(self, answer: Any) -> bool:
        """Whether an answer is the expected one; decimal numbers need only be near (see the schemas)."""
        return agree(self.expected, answer)


def documents(numeric: Mapping[str, str]) -> dict[str, str]:
    """What the files should hold, by file name, from the reference implementation.

    Args:
        numeric: the files of numeric vectors, which were measured once.
    """
    made, counts = dict(numeric), {name: len(json.loads(text)["tests"]) for name, text in numeric.items()}
    for family in _FAMILIES.values():
        tests = _tests(family)
        counts[f"{family.name}.json"] = len(tests)
        made[f"{family.name}.json"] = _document(_head(family), tests)
        made[f"schemas/{family.name}.json"] = json.dumps(_schema(family), indent=1) + "\n"
    made[f"schemas/{_NUMERIC}.json"] = json.dumps(schema(), indent=1) + "\n"
    encoded = {name: text.encode("ascii") for name, text in made.items()}
    return made | {manifest.NAME: manifest.make(encoded, counts)}


def _tests(family: Family) -> list[dict[str, Any]]:
    return [
        {"id": f"{family.name}/{_slug(comment)}", "comment": comment, "input": asked, "expected": family.answer(asked)}
        for comment, asked in family.cases()
    ]


def _slug(comment: str) -> str:
    """A comment as part of an id: a vector keeps its id as long as it keeps its comment, wherever it stands."""
    return re.sub("[^a-z0-9]+", "-", comment.lower()).strip("-")


def _head(family: Family) -> dict[str, str]:
    """What a family's file says of itself."""
    return {
        "format": FORMAT,
        "family": family.name,
        "section": family.section,
        "level": _LEVEL,
        "about": family.about,
    }


def _document(head: Mapping[str, Any], tests: Iterable[dict[str, Any]]) -> str:
    """The document, one test a line."""
    lines = ",\n".join(f"  {json.dumps(test)}" for test in tests)
    return f'{json.dumps(head, indent=1)[:-2]},\n "tests": [\n{lines}\n ]\n}}\n'


def _schema(family: Family) -> Schema:
    """The schema of a family's file, JSON Schema draft 2020-12."""
    fixed = _head(family)
    test: dict[str, Schema] = {
        "id": {"type": "string", "pattern": f"^{family.name}/[a-z0-9]+(-[a-z0-9]+)*$"},
        "comment": {"type": "string", "minLength": 1},
        "input": family.input,
        "expected": family.expected,
    }
    properties = {name: {"const": value} for name, value in fixed.items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:ctwl:vectors:v1:{family.name}",
        "title": f"Vectors of the family {family.name}, section {family.section}",
        "type": "object",
        "properties": properties | {"tests": {"type": "array", "minItems": 1, "items": _closed(test)}},
        "required": [*fixed, "tests"],
        "additionalProperties": False,
    }


def _closed(properties: dict[str, Schema]) -> Schema:
    return {
        "type": "object", "properties": properties, "required": list(properties), "additionalProperties": False,
    }  # fmt: skip


def write(folder: Path, anew: Iterable[str] = ()) -> None:
    """Write the files of all families, their schemas and the manifest.

    Args:
        folder: where to; the numeric vectors that lie there stay, those that it lacks are the published ones.
        anew: profiles whose numeric vectors are measured anew by the reference on this machine.

    Raises:
        VectorsAltered: a file of numeric vectors in the folder is none.
        CTWLError: see :func:`~.numeric.measure`.
    """
    numeric = {_numeric_name(profile): _document(head(profile), measure(profile)) for profile in anew}
    there = _numeric_files(_folder()) | (_numeric_files(folder) if folder.is_dir() else {})
    numeric |= {name: _as_written(name, data) for name, data in there.items() if name not in numeric}
    for name, text in documents(numeric).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="ascii")


def differences(folder: Path) -> list[str]:
    """What is not as the reference would write it: names of files and, inside a family's file, ids of vectors.

    Of the numeric vectors that is their form; their numbers are for :func:`~.numeric.reweigh`.
    """
    numeric = {}
    for name, data in (_numeric_files(_folder()) | _numeric_files(folder)).items():
        with suppress(VectorsAltered):
            numeric[name] = _as_written(name, data)
    wanted = documents(numeric)
    there = {name: data.decode("utf-8", "replace") for name, data in _files(folder).items()}
    found = []
    for name in sorted(wanted.keys() | there.keys()):
        if wanted.get(name) == there.get(name):
            continue
        old, new = _by_id(there.get(name)), _by_id(wanted.get(name))
        ids = sorted(vector for vector in old.keys() | new.keys() if old.get(vector) != new.get(vector))
        what = "missing" if name not in there else "not one of the files" if name not in wanted else "differs"
        found.append(f"{name}: {what}" + (f" in {', '.join(ids)}" if ids and what == "differs" else ""))
    return found


def _by_id(text: str | None) -> dict[str, Any]:
    try:
        return {test["id"]: test for test in json.loads(text or "{}")["tests"]}
    except (ValueError, KeyError, TypeError):
        return {}


def _numeric_name(profile: str) -> str:
    return f"{_NUMERIC}/{profile}.json"


def _numeric_files(folder: Traversable) -> dict[str, bytes]:
    return {name: data for name, data in _files(folder).items() if name.startswith(f"{_NUMERIC}/")}


def _as_written(name: str, data: bytes) -> str:
    """A file of numeric vectors as it would be written today, with the numbers that it has."""
    try:
        told, tests = head(PurePosixPath(name).stem), json.loads(data)["tests"]
        Numeric.of(told | {"tests": tests})
    except (ValueError, KeyError, TypeError, CTWLError) as error:
        raise VectorsAltered(f"{name} holds no numeric vectors; make it anew with generate --numeric") from error
    return _document(told, tests)


def _folder() -> Traversable:
    """The vectors inside the wheel, or beside the sources of an editable installation."""
    inside = resources.files(__package__) / "v1"
    return inside if inside.is_dir() else Path(__file__).parents[2] / "vectors" / "v1"


def _files(folder: Traversable, prefix: str = "") -> dict[str, bytes]:
    """The files of a folder by name, folders inside it included."""
    found: dict[str, bytes] = {}
    for entry in folder.iterdir():
        if entry.is_dir():
            found |= _files(entry, f"{prefix}{entry.name}/")
        else:
            found[prefix + entry.name] = entry.read_bytes()
    return found


def load(families: Iterable[str] = FAMILIES) -> list[Vector]:
    """The published vectors, in order, once their files were held against the manifest.

    Args:
        families: which ones.

    Raises:
        VectorsAltered: a file is not the one that was signed for.
    """
    files, found = _verified(_folder()), []
    for family in families:
        document = json.loads(files[f"{family}.json"])
        of = {name: document[name] for name in ("family", "section", "level")}
        found += [Vector(**of, **test) for test in document["tests"]]
    return found


def load_numeric(folder: Path | None = None) -> list[Numeric]:
    """The numeric vectors, a profile each, once the files were held against the manifest.

    Args:
        folder: where the files are; None for the published ones.

    Raises:
        VectorsAltered: see :func:`load`.
    """
    files = _verified(folder or _folder())
    return [Numeric.of(json.loads(files[name])) for name in sorted(files) if name.startswith(f"{_NUMERIC}/")]


def _verified(folder: Traversable) -> dict[str, bytes]:
    """The files of a folder, without the manifest that they agree with."""
    files = _files(folder)
    manifest.verify(files.pop(manifest.NAME, b""), files)
    return files


def unanswerable() -> dict[str, tuple[str, ...]]:
    """The families that the reference cannot answer here, and the packages that are missing."""
    return {family.name: family.missing for family in _FAMILIES.values() if family.missing}


def check(families: Iterable[str] = FAMILIES) -> list[tuple[Vector, dict[str, Any]]]:
    """The vectors that the installed reference answers otherwise, with its answers.

    Args:
        families: which ones; those of :func:`unanswerable` are left out.

    Raises:
        VectorsAltered: see :func:`load`.
    """
    left_out = unanswerable()
    asked = load(family for family in families if family not in left_out)
    answers = [(vector, _answered(vector)) for vector in asked]
    return [(vector, answer) for vector, answer in answers if not vector.agrees(answer)]


def _answered(vector: Vector) -> dict[str, Any]:
    try:
        return _FAMILIES[vector.family].answer(vector.input)
    except Exception as error:  # a fault of the implementation is a wrong answer, whatever it raises
        return {"error": f"{type(error).__name__}: {error}"}

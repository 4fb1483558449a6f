"""Vectors as files: one JSON document a family, as Wycheproof has it; written by the reference, read by anyone.

Beside them lie a JSON Schema for each and a signed manifest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal

from . import manifest
from .families import FAMILIES as _FAMILIES
from .families import Family, Schema, agree

__all__ = ["FAMILIES", "Vector", "check", "differences", "documents", "load", "unanswerable", "write"]

FAMILIES = tuple(_FAMILIES)
"""Names of the families."""

_FORMAT = "ctwl-vectors/1"
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


def documents() -> dict[str, str]:
    """What the files should hold, by file name, from the reference implementation."""
    made, counts = {}, {}
    for family in _FAMILIES.values():
        tests = _tests(family)
        counts[f"{family.name}.json"] = len(tests)
        made[f"{family.name}.json"] = _document(family, tests)
        made[f"schemas/{family.name}.json"] = json.dumps(_schema(family), indent=1) + "\n"
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
        "format": _FORMAT,
        "family": family.name,
        "section": family.section,
        "level": _LEVEL,
        "about": family.about,
    }


def _document(family: Family, tests: Iterable[dict[str, Any]]) -> str:
    """The document, one test a line."""
    head = _head(family)
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


def write(folder: Path) -> None:
    """Write the files of all families, their schemas and the manifest."""
    for name, text in documents().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="ascii")


def differences(folder: Path) -> list[str]:
    """What is not as the reference would write it: names of files and, inside a family's file, ids of vectors."""
    wanted = documents()
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
    files = _files(_folder())
    manifest.verify(files.pop(manifest.NAME, b""), files)
    found = []
    for family in families:
        document = json.loads(files[f"{family}.json"])
        of = {name: document[name] for name in ("family", "section", "level")}
        found += [Vector(**of, **test) for test in document["tests"]]
    return found


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

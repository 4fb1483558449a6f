"""What the reference answers: it checks the published vectors, and writes the expected answers of the files anew.

The files are the source of the inputs, the heads and the schemas. The reference fills in ids and expected answers, and
adds inputs for what is new in a table, such as a layout.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from typing import Any

from ctwl_protocol import CTWLError

from ..families import FAMILIES, Family
from . import manifest
from .files import Vector, files_of, load, published
from .manifest import VectorsAltered
from .numeric import Numeric, head, is_numeric, measure, name_of, profile_of


def unanswerable() -> dict[str, str]:
    """The families that the reference cannot answer here, and the package that is missing."""
    return {family.name: family.missing for family in FAMILIES.values() if family.missing}


def check(families: Iterable[str] = tuple(FAMILIES)) -> list[tuple[Vector, dict[str, Any]]]:
    """The vectors that the installed reference answers otherwise, with its answers.

    Args:
        families: which families; what :func:`unanswerable` gives is left out.

    Raises:
        VectorsAltered: see :func:`~.files.load`.
    """
    left_out = unanswerable()
    asked = load(family for family in families if family not in left_out)
    answers = [(vector, _answered(vector)) for vector in asked]
    return [(vector, answer) for vector, answer in answers if not vector.agrees(answer)]


def _answered(vector: Vector) -> dict[str, Any]:
    try:
        return FAMILIES[vector.family].answer(vector.input)
    except Exception as error:  # a fault of the implementation is a wrong answer, whatever it raises
        return {"error": f"{type(error).__name__}: {error}"}


def write(folder: Path, anew: Iterable[str] = (), families: Container[str] = FAMILIES) -> None:
    """Write the files of all families, their schemas and the manifest.

    Args:
        folder: where to. Its own files are the source of inputs; the published files stand in for files that it lacks.
        anew: profiles whose numeric vectors are measured anew by the reference on this machine.
        families: which families are answered anew.

    Raises:
        VectorsAltered: a file in the folder holds no vectors.
        CTWLError: see :func:`~.numeric.measure`.
    """
    sources = files_of(published()) | (files_of(folder) if folder.is_dir() else {})
    made = {name_of(profile): _document(head(profile), measure(profile)) for profile in anew}
    made |= {name: _as_written(name, data) for name, data in sources.items() if is_numeric(name) and name not in made}
    for name in (*FAMILIES, "numeric"):
        if f"schemas/{name}.json" not in sources:
            raise VectorsAltered(f"the family {name} has no schemas/{name}.json: write it")
        made[f"schemas/{name}.json"] = sources[f"schemas/{name}.json"].decode("ascii")
    for family in FAMILIES.values():
        name = f"{family.name}.json"
        if name not in sources:
            raise VectorsAltered(f"the family {family.name} has no {name}: write it, with the inputs and the section")
        told = _parsed(name, sources[name])
        asked = told.pop("tests")
        if family.name in families:
            known = {test["comment"] for test in asked}
            asked += ({"comment": each, "input": given} for each, given in family.more(asked) if each not in known)
            asked = [_answered_anew(family, test) for test in asked]
        made[name] = _document(told, asked)
    made[manifest.NAME] = manifest.make({name: text.encode("ascii") for name, text in made.items()})
    for name, text in made.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="ascii", newline="\n")


def _answered_anew(family: Family, test: Mapping[str, Any]) -> dict[str, Any]:
    """A test of a family's file with a new id and answer; its comment and input stay."""
    comment, asked = test["comment"], test["input"]
    name = f"{family.name}/{_slug(comment)}"
    return {"id": name, "comment": comment, "input": asked, "expected": family.answer(asked)}


def _slug(comment: str) -> str:
    """A comment as part of an id: a vector keeps its id as long as it keeps its comment."""
    return re.sub("[^a-z0-9]+", "-", comment.lower()).strip("-")


def _document(told: Mapping[str, Any], tests: Iterable[dict[str, Any]]) -> str:
    """A file: its head, then one test on each line."""
    lines = ",\n".join(f"  {json.dumps(test)}" for test in tests)
    return f'{json.dumps(told, indent=1)[:-2]},\n "tests": [\n{lines}\n ]\n}}\n'


def _parsed(name: str, data: bytes) -> dict[str, Any]:
    """A family's file.

    Raises:
        VectorsAltered: it is none.
    """
    try:
        document: dict[str, Any] = json.loads(data)
        if not all(isinstance(test["comment"], str) and isinstance(test["input"], dict) for test in document["tests"]):
            raise ValueError("a comment or an input is missing")
    except (ValueError, KeyError, TypeError) as error:
        raise VectorsAltered(f"{name} holds no vectors ({error}); take the published file") from error
    return document


def _as_written(name: str, data: bytes) -> str:
    """A file of numeric vectors as it would be written today, with the numbers that it has.

    Raises:
        VectorsAltered: it is none.
    """
    try:
        told, tests = head(profile_of(name)), json.loads(data)["tests"]
        numeric = Numeric.of(told | {"tests": tests})
        numeric.variation(numeric.expected)
    except (ValueError, KeyError, TypeError, CTWLError) as error:
        raise VectorsAltered(f"{name} holds no numeric vectors; make it anew with generate --numeric") from error
    return _document(told, tests)

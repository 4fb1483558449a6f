"""Vectors as files: one JSON document for each family, as Wycheproof has it.

Beside them lie a JSON Schema for each, the numeric vectors in a folder of their own, and a manifest.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal

from ctwl_protocol.profile import TOY

from ..families import FAMILIES as _FAMILIES
from ..families import agree
from . import manifest
from .manifest import GENERATE, VectorsAltered
from .numeric import Numeric, is_numeric

FAMILIES = tuple(_FAMILIES)
"""Names of the families."""


@dataclass(frozen=True)
class Vector:
    """One question and its answer.

    Attributes:
        id: stable: the family and a name within it.
        family: its family.
        section: section of the specification that the vector tests.
        level: level of the claim; bytes and integers are exact.
        comment: what the vector is about.
    """

    id: str
    family: str
    section: str
    level: Literal["exact"]
    comment: str
    input: dict[str, Any]
    expected: dict[str, Any]

    @property
    def profile(self) -> str | None:
        """The profile under which a text is read; None where none is read. A text has a level beside it."""
        profile: str = self.input.get("profile", TOY)
        return profile if "alpha" in self.input else None

    def agrees(self, answer: Any) -> bool:
        """Whether an answer is the expected one; decimal numbers need only be near (see the schemas)."""
        return agree(self.expected, answer)


def load(families: Iterable[str] = FAMILIES) -> list[Vector]:
    """The published vectors, in order, after a check against the manifest.

    Args:
        families: which ones.

    Raises:
        VectorsAltered: a file is not as the manifest says, or a family has none.
    """
    files, found = _verified(), []
    for family in families:
        if f"{family}.json" not in files:
            raise VectorsAltered(f"the family {family} has no vectors: write {family}.json, and run {GENERATE}")
        document = json.loads(files[f"{family}.json"])
        head = {name: document[name] for name in ("family", "section", "level")}
        found += [Vector(**head, **test) for test in document["tests"]]
    return found


def load_numeric() -> list[Numeric]:
    """The published numeric vectors, one item for each profile, after a check against the manifest.

    Raises:
        VectorsAltered: see :func:`load`.
    """
    files = _verified()
    return [Numeric.of(json.loads(files[name])) for name in sorted(files) if is_numeric(name)]


def published() -> Traversable:
    """The folder of the vectors: inside the wheel, or beside the sources of an editable installation."""
    inside = resources.files("ctwl_conformance") / "v1"
    return inside if inside.is_dir() else Path(__file__).parents[3] / "vectors" / "v1"


def files_of(folder: Traversable, prefix: str = "") -> dict[str, bytes]:
    """The files of a folder by name, with the files of the folders inside it."""
    found: dict[str, bytes] = {}
    for entry in folder.iterdir():
        if entry.is_dir():
            found |= files_of(entry, f"{prefix}{entry.name}/")
        else:
            found[prefix + entry.name] = entry.read_bytes()
    return found


def _verified() -> dict[str, bytes]:
    """The published files, without the manifest that they agree with."""
    files = files_of(published())
    manifest.verify(files.pop(manifest.NAME, b""), files)
    return files

"""The manifest of the vectors: the files with their digests, which show that one was altered by accident."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from ctwl_protocol import CTWLError
from ctwl_protocol.schema import Part

NAME = "manifest.json"
GENERATE = "ctwl-conformance generate conformance-tests/vectors/v1"
"""What writes answers and manifest anew, from the root of the repository."""


class VectorsAltered(CTWLError):
    """The vectors' files are not the ones that the manifest names."""


class _File(Part):
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    vectors: int


class _Manifest(Part):
    format: Literal["ctwl-vectors-manifest/1"]
    vectors: int
    files: dict[str, _File]


def make(files: Mapping[str, bytes]) -> str:
    """The manifest of files, from their bytes by name. A schema holds no vectors."""
    counts = {name: len(json.loads(data).get("tests", ())) for name, data in files.items()}
    listed = {name: _File(sha256=_digest(files[name]), vectors=counts[name]) for name in sorted(files)}
    made = _Manifest(format="ctwl-vectors-manifest/1", vectors=sum(counts.values()), files=listed)
    return made.model_dump_json(indent=1) + "\n"


def verify(manifest: bytes, files: Mapping[str, bytes]) -> None:
    """Hold files to their manifest.

    Raises:
        VectorsAltered: they do not agree; says which file.
    """
    try:
        stated = _Manifest.model_validate_json(manifest).files
    except ValidationError as error:
        raise VectorsAltered(f"{NAME} is no manifest; install the package anew") from error
    wanted = {name: file.sha256 for name, file in stated.items()}
    there = {name: _digest(data) for name, data in files.items()}
    wrong = sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name))
    if wrong:
        raise VectorsAltered(
            f"{', '.join(wrong)}: not as the manifest says; install the package anew, or, where you changed them, run "
            f"{GENERATE}"
        )


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()

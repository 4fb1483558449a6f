"""The manifest of the vectors: which files there are, with their digests, signed as the registry signs (spec 9.6).

The signature is by a test key whose secret is public. It shows that a file was altered by accident or without
the wish to hide it. It says nothing about who wrote the vectors.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Final, Literal

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import Field, ValidationError

from ctwl_protocol import CTWLError, canonical
from ctwl_protocol.registry import keys
from ctwl_protocol.registry.envelope import pre_authentication_encoding
from ctwl_protocol.schema import Part

NAME = "manifest.json"
GENERATE = "ctwl-conformance generate conformance-tests/vectors/v1"
"""What writes answers and manifest anew, from the root of the repository."""

_TYPE: Final = "ctwl-vectors-manifest/1"
_KEY = 15


class VectorsAltered(CTWLError):
    """The vectors' files are not the ones that the manifest was signed for."""


class _File(Part):
    name: str
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    vectors: int


class _Payload(Part):
    format: Literal["ctwl-vectors-manifest/1"]
    vectors: int
    files: list[_File]

    def message(self) -> bytes:
        """What is signed: the pre-authentication encoding of the canonical form."""
        return pre_authentication_encoding(_TYPE, canonical.encode(self.model_dump()))


class _Manifest(Part):
    payload: _Payload
    key: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    signature: Annotated[str, Field(pattern="^[0-9a-f]{128}$")]


def make(files: Mapping[str, bytes], vectors: Mapping[str, int]) -> str:
    """The manifest of files.

    Args:
        files: their bytes, by name.
        vectors: how many vectors each holds, where it holds any.
    """
    listed = [
        _File(name=name, sha256=hashlib.sha256(data).hexdigest(), vectors=vectors.get(name, 0))
        for name, data in sorted(files.items())
    ]
    payload = _Payload(format=_TYPE, vectors=sum(vectors.values()), files=listed)
    key = keys.test_key(_KEY)
    made = _Manifest(payload=payload, key=keys.public_bytes(key).hex(), signature=key.sign(payload.message()).hex())
    return json.dumps(made.model_dump(), indent=1) + "\n"


def verify(manifest: bytes, files: Mapping[str, bytes]) -> None:
    """Hold files to their manifest, and the manifest to its signature.

    Raises:
        VectorsAltered: they do not agree; says which file.
    """
    try:
        found = _Manifest.model_validate_json(manifest)
    except ValidationError as error:
        raise VectorsAltered(f"{NAME} is no manifest; install the package anew") from error
    wanted = keys.public_bytes(keys.test_key(_KEY))
    try:
        Ed25519PublicKey.from_public_bytes(wanted).verify(bytes.fromhex(found.signature), found.payload.message())
    except InvalidSignature as error:
        raise VectorsAltered(f"{NAME} is not what was signed; install the package anew") from error
    stated = {file.name: file.sha256 for file in found.payload.files}
    there = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    wrong = sorted(name for name in stated.keys() | there.keys() if stated.get(name) != there.get(name))
    if wrong:
        raise VectorsAltered(
            f"{', '.join(wrong)}: not as the manifest says; install the package anew, or, where you changed them, run "
            f"{GENERATE}"
        )

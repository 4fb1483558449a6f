"""Signed bytes: an envelope, its signatures, and the threshold of a role (spec 9.6).

What is signed is the pre-authentication encoding of DSSE v1 (Dead Simple Signing Envelope) over type and payload, so no
payload of one type passes for another. Signatures are verified before a payload is parsed.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, ClassVar, Literal, Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from pydantic import Field, model_validator

from ..errors import EnvelopeMalformed, SignatureRepeated, ThresholdNotMet
from .documents import REGISTRY, ROOT, Registry, Role, Root
from .keys import public_bytes
from .schema import Bytes32, Bytes64, Document, Many, Part

__all__ = ["Envelope", "Signature", "pre_authentication_encoding"]


def pre_authentication_encoding(kind: str, payload: bytes) -> bytes:
    """The bytes that are signed: DSSE v1's PAE, lengths in decimal."""
    return b"DSSEv1 %d %b %d %b" % (len(kind.encode()), kind.encode(), len(payload), payload)


class Signature(Part):
    """An Ed25519 signature and the public key that it is said to be of."""

    key: Bytes32
    signature: Bytes64


class Envelope(Document):
    """A payload, its type and its signatures, each key once, in ascending order of the keys."""

    MAX_BYTES: ClassVar[int] = Registry.MAX_BYTES + (1 << 14)
    MALFORMED = EnvelopeMalformed

    format: Literal["ctwl-envelope/1"]
    type: Literal["ctwl-root/1", "ctwl-registry/1"]
    payload: bytes
    signatures: Annotated[Many[Signature], Field(max_length=64)]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        keys = [signature.key for signature in self.signatures]
        if len(set(keys)) < len(keys):
            raise SignatureRepeated("a key signed this envelope twice; take out one of the two signatures")
        if any(a >= b for a, b in pairwise(keys)):
            raise ValueError("signatures stand in ascending order of their keys")
        return self

    @classmethod
    def unsigned(cls, document: Root | Registry) -> Self:
        """A document ready to be signed."""
        return cls(format="ctwl-envelope/1", type=document.format, payload=document.to_bytes(), signatures=())

    def sign(self, key: Ed25519PrivateKey) -> Self:
        """The envelope with one more signature; a key that has signed before signs anew.

        Raises:
            EnvelopeMalformed: there are 64 signatures already.
        """
        mine = Signature(
            key=public_bytes(key), signature=key.sign(pre_authentication_encoding(self.type, self.payload))
        )
        others = [signature for signature in self.signatures if signature.key != mine.key]
        signatures = tuple(sorted([*others, mine], key=lambda signature: signature.key))
        return self.from_bytes(self.model_copy(update={"signatures": signatures}).to_bytes())

    def verify(self, kind: str, role: Role) -> bytes:
        """The payload, once enough keys of a role have signed it as a document of this kind.

        Signatures by other keys are not looked at: a new root carries those of two roles.

        Raises:
            EnvelopeMalformed: the payload is of another type.
            ThresholdNotMet: fewer valid signatures, each by another key, than the role's threshold.
        """
        if self.type != kind:
            raise EnvelopeMalformed(f"this envelope holds {self.type}; what is wanted is {kind}")
        valid = sum(_is_valid(signature, self) for signature in self.signatures if signature.key in role.keys)
        if role.threshold < 1 or valid < role.threshold:
            raise ThresholdNotMet(
                f"{valid} valid signatures of the {max(role.threshold, 1)} that it takes; "
                f"have more of the role's keys sign this {_NAMES[kind]}, or look whether it was altered"
            )
        return self.payload

    def document(self) -> Root | Registry:
        """The payload parsed WITHOUT a look at the signatures: to show a draft, never to trust it.

        Raises:
            RegistryError: see :meth:`~.schema.Document.from_bytes`.
        """
        return (Root if self.type == ROOT else Registry).from_bytes(self.payload)


_NAMES = {ROOT: "root", REGISTRY: "registry"}


def _is_valid(signature: Signature, envelope: Envelope) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(signature.key).verify(
            signature.signature, pre_authentication_encoding(envelope.type, envelope.payload)
        )
    except InvalidSignature:
        return False
    return True

"""Signed bytes: an envelope, its signatures, and the threshold of a role (spec 9.6).

A signature is over the pre-authentication encoding of DSSE v1 (Dead Simple Signing Envelope) of type and payload, so a
payload of one type cannot pass for another. Signatures are verified before the payload is parsed.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Annotated, ClassVar, Literal, Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from pydantic import Field, model_validator

from ..errors import RegistryError
from ..numbers import NUMBERS
from ..schema import Bytes32, Bytes64, Document, Many, Part
from .documents import REGISTRY, ROOT, Registry, Role, Root
from .keys import public_bytes


def pre_authentication_encoding(kind: str, payload: bytes) -> bytes:
    """The bytes that are signed: the PAE of DSSE v1, with lengths in decimal."""
    return b"DSSEv1 %d %b %d %b" % (len(kind.encode()), kind.encode(), len(payload), payload)


class Signature(Part):
    """An Ed25519 signature and the public key that it claims."""

    key: Bytes32
    signature: Bytes64


class Envelope(Document):
    """A payload, its type and its signatures, each key once, in ascending order of the keys."""

    MAX_BYTES: ClassVar[int] = NUMBERS.registry.envelope_bytes
    MALFORMED = partial(RegistryError, "envelope-malformed")

    format: Literal["ctwl-envelope/1"]
    type: Literal["ctwl-root/1", "ctwl-registry/1"]
    payload: bytes
    signatures: Annotated[Many[Signature], Field(max_length=NUMBERS.registry.signatures)]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        keys = [signature.key for signature in self.signatures]
        if len(set(keys)) < len(keys):
            raise RegistryError("signature-repeated", "a key signed this envelope twice; remove one of the signatures")
        if any(a >= b for a, b in pairwise(keys)):
            raise ValueError("signatures must be in ascending order of their keys")
        return self

    @classmethod
    def unsigned(cls, document: Root | Registry) -> Self:
        """The envelope of a document, without signatures."""
        return cls(format="ctwl-envelope/1", type=document.format, payload=document.to_bytes(), signatures=())

    def sign(self, key: Ed25519PrivateKey) -> Self:
        """The envelope with one more signature, which replaces an earlier one by the same key.

        Raises:
            RegistryError: ``envelope-malformed``: there are 64 signatures already.
        """
        mine = Signature(
            key=public_bytes(key), signature=key.sign(pre_authentication_encoding(self.type, self.payload))
        )
        others = [signature for signature in self.signatures if signature.key != mine.key]
        signatures = tuple(sorted([*others, mine], key=lambda signature: signature.key))
        return self.from_bytes(self.model_copy(update={"signatures": signatures}).to_bytes())

    def verify(self, kind: str, role: Role) -> bytes:
        """The payload, if enough keys of a role have signed it as a document of this kind.

        Signatures by other keys are ignored: a new root has signatures by the keys of two roles.

        Raises:
            RegistryError: ``envelope-malformed``: the type is another; ``threshold-not-met``: too few keys of the role
                have a valid signature here.
        """
        if self.type != kind:
            raise RegistryError("envelope-malformed", f"this envelope holds {self.type}; give one that holds {kind}")
        ours = [signature for signature in self.signatures if signature.key in role.keys]
        valid = sum(_is_valid(signature, self) for signature in ours)
        if role.threshold < 1 or valid < role.threshold:
            todo = f"sign this {_NAMES[kind]} with more of the role's keys, or check whether it was altered"
            if self.signatures and not ours:
                todo = "none is by a key that the trusted root names: another registry, or a newer root comes before it"
            elif not self.signatures:
                todo = f"this {_NAMES[kind]} is not signed yet; sign it with ctwl-registry sign"
            raise RegistryError(
                "threshold-not-met", f"{valid} valid signatures, {max(role.threshold, 1)} are needed; {todo}"
            )
        return self.payload

    def document(self) -> Root | Registry:
        """The payload, parsed but NOT VERIFIED: to show a draft, never to trust it.

        Raises:
            RegistryError: ``root-malformed``, ``registry-malformed``, or a code of their rules.
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

"""The conformance classes (spec section 14): what each asks of an implementation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ..adapter.messages import Role

ConformanceClass: TypeAlias = Literal[
    "basic-reader", "full-reader", "light-reader", "profile-loader", "encoder", "registry-client", "detector"
]
"""What an implementation may conform as."""


ROLES: Mapping[Role, str] = {
    "encoder": "an encoder", "decoder": "a decoder", "registry-client": "a registry client", "detector": "a detector",
}  # fmt: skip
"""What implementations are driven as, in words."""


@dataclass(frozen=True)
class Rules:
    """What a class asks for, by families of vectors and texts.

    Attributes:
        role: who is judged for it: an implementation that is driven as this.
        about: what it does, for people.
        required: at least one case passes, none is left out, none fails.
        asked: none is left out, none fails. These cases need a profile or a partner that not every run has.
        optional: none fails. Who leaves them out conforms all the same.
    """

    role: Role
    about: str
    required: tuple[str, ...]
    asked: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()

    @property
    def families(self) -> tuple[str, ...]:
        """All families that are evidence for the class."""
        return ("start", *self.required, *self.asked, *self.optional)


_TOKENS = ("normalization", "tokenizer", "toy-tokenizer", "positions")
_HASHES = ("mixing", "permutation", "colours")
_EVIDENCE = ("blocks", "weights", "toy-weights", "rivals", "units", "scores", "null", "randomised", "e-value")
_RECORDS = (
    "beacon", "beacon-fields", "layout", "record", "slot", "counted-positions", "windows", "window-scores", "tests",
)  # fmt: skip
_DOCUMENTS = ("canonical", "profile", "public-key", "profile-document", "tokenizer-files", "tensors")
_OWNERS = (
    "personal-profile", "commitment", "proof", "locked-profile", "locked-keys", "secret-file", "sealing", "opening",
)  # fmt: skip
_REGISTRY = ("pre-authentication", "registry-key", "envelope", "root", "registry", "epochs", "registry-update")
_TEXTS = ("excerpt", "characters", "words")

CLASSES: Mapping[ConformanceClass, Rules] = {
    "basic-reader": Rules(
        "decoder", "reads one code from a whole text: sections 5, 6, 7, 10.1 and 12",
        (*_TOKENS, *_HASHES, *_EVIDENCE, "read-one-code", "round-trip", "human"), _TEXTS, ("numeric",),
    ),
    "full-reader": Rules(
        "decoder", "reads records and passages: all of 10",
        (*_TOKENS, *_HASHES, *_EVIDENCE, *_RECORDS, "record-doubts", "decode", "decode-spans", "decode-places",
         "decode-record", "decode-record-p-values", "round-trip", "human"),
        (*_TEXTS, "tagged", "relay"),
        ("decode-forms", "decode-owner", "decode-registered", "members", "relay", *_OWNERS, "numeric"),
    ),
    "light-reader": Rules(
        "decoder", "reads by the ranks of the tokens alone, without weights",
        (*_TOKENS, *_HASHES, "scores", "null", *_RECORDS, "light-units", "decode-light", "decode-light-places"),
        (), ("decode-light-registered",),
    ),
    "profile-loader": Rules(
        "decoder", "reads documents of profiles and the files of a proxy: sections 4 and 5.3",
        _DOCUMENTS, (), ("numeric",),
    ),
    "encoder": Rules(
        "encoder", "writes texts that carry a record: section 8",
        ("round-trip",), (*_TEXTS, "tagged", "relay"),
        (*_TOKENS, *_HASHES, *_EVIDENCE, "members", *_RECORDS, *_DOCUMENTS, *_OWNERS, "relay", "light-units",
         "record-doubts"),
    ),
    "registry-client": Rules("registry-client", "follows the registry: section 9.6", ("canonical", *_REGISTRY)),
    "detector": Rules("detector", "answers questions: section 20", ("question", "asked", "human"), (), ("answer",)),
}  # fmt: skip
"""The classes, in the order of reports."""


def classes_of(family: str, roles: Iterable[Role]) -> list[ConformanceClass]:
    """The classes that a family is evidence for, of the classes that these roles are judged for."""
    given = set(roles)
    return [name for name, rules in CLASSES.items() if rules.role in given and family in rules.families]

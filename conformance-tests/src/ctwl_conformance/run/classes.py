"""The conformance classes (spec section 14): what each asks of an implementation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ..adapter.messages import Role
from ..families import FAMILIES
from ..families.family import ConformanceClass

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
    required: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()

    @property
    def families(self) -> tuple[str, ...]:
        """All families that are evidence for the class."""
        return ("start", *self.required, *self.asked, *self.optional)


_TEXTS = ("excerpt", "characters", "words")
_RECORDS = (*_TEXTS, "tagged", "relay")

_ROWS: Mapping[ConformanceClass, Rules] = {
    "basic-reader": Rules(
        "decoder", "reads one code from a whole text: sections 5, 6, 7, 10.1 and 12",
        ("round-trip", "human"), _TEXTS, ("numeric",),
    ),
    "full-reader": Rules(
        "decoder", "reads records and passages: all of 10", ("round-trip", "human"), _RECORDS, ("numeric",)
    ),
    "light-reader": Rules("decoder", "reads by the ranks of the tokens alone, without weights"),
    "profile-loader": Rules(
        "decoder", "reads documents of profiles and the files of a proxy: sections 4 and 5.3", optional=("numeric",)
    ),
    "encoder": Rules("encoder", "writes texts that carry a record: section 8", ("round-trip",), _RECORDS),
    "registry-client": Rules("registry-client", "follows the registry: section 9.6"),
    "detector": Rules("detector", "answers questions: section 20", ("asked", "human")),
}  # fmt: skip
"""What each class asks for beside the exact vectors."""


def _with_vectors(name: ConformanceClass, rules: Rules) -> Rules:
    required = [each.name for each in FAMILIES.values() if name in each.asked_of]
    optional = [each.name for each in FAMILIES.values() if name in each.optional_for]
    return replace(rules, required=(*required, *rules.required), optional=(*optional, *rules.optional))


CLASSES = {name: _with_vectors(name, rules) for name, rules in _ROWS.items()}
"""The classes, in the order of reports."""


def classes_of(family: str, roles: Iterable[Role]) -> list[ConformanceClass]:
    """The classes that a family is evidence for, of the classes that these roles are judged for."""
    given = set(roles)
    return [name for name, rules in CLASSES.items() if rules.role in given and family in rules.families]

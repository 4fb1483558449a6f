"""What a family of vectors is: how the reference answers its questions, and where the questions come from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from importlib.util import find_spec
from typing import Any, TypeAlias

from ctwl_protocol.errors import CTWLError

__all__ = ["JSON", "Answer", "Case", "Family", "refusing", "unhex"]

JSON: TypeAlias = dict[str, Any]
Answer: TypeAlias = Callable[[JSON], JSON]
Case: TypeAlias = tuple[str, JSON]
"""A comment, which says what the vector is about and from which its id is made, and the input."""


@dataclass(frozen=True)
class Family:
    """Vectors of one kind. Its file says the rest: the section, what is asked, the inputs.

    Attributes:
        name: of the family and its file.
        answer: the reference's answer: a pure function.
        needs: packages that the answer needs besides those of ``ctwl_protocol``.
        made: makes the inputs that no person can write: signed, encrypted or marked ones. None where the inputs are
            written into the family's file.
    """

    name: str
    answer: Answer
    needs: tuple[str, ...] = ()
    made: Callable[[], Iterable[Case]] | None = None

    @property
    def missing(self) -> tuple[str, ...]:
        """Packages that the reference's answer needs and this environment lacks."""
        return tuple(name for name in self.needs if find_spec(name) is None)


def refusing(answer: Answer) -> Answer:
    """The same answer, where a refusal is an answer too: its status code."""

    @wraps(answer)
    def answered(data: JSON) -> JSON:
        try:
            return answer(data)
        except CTWLError as error:
            return {"status": error.code}

    return answered


def unhex(value: str | Sequence[str | JSON]) -> bytes:
    """Bytes of hexadecimal, or of parts of which some may be repeated."""
    parts = [value] if isinstance(value, str) else value
    return b"".join(
        bytes.fromhex(part) if isinstance(part, str) else bytes.fromhex(part["repeat"]) * part["times"]
        for part in parts
    )

"""What a family of vectors is: a name, and how the reference answers its questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from importlib.util import find_spec
from typing import Any, TypeAlias

from ctwl_protocol.errors import CTWLError

JSON: TypeAlias = dict[str, Any]
Answer: TypeAlias = Callable[[JSON], JSON]


@dataclass(frozen=True)
class Family:
    """Vectors of one kind. Its file says the rest: the section, what is asked, the inputs.

    Attributes:
        name: of the family and its file.
        answer: the reference's answer: a pure function.
        needs: packages that the answer needs besides those of ``ctwl_protocol``.
    """

    name: str
    answer: Answer
    needs: tuple[str, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """Packages that the reference's answer needs and this environment lacks."""
        return tuple(name for name in self.needs if find_spec(name) is None)


def refusing(answer: Answer) -> Answer:
    """The same function, but a refusal becomes an answer: its status code."""

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

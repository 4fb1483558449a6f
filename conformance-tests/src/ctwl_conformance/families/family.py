"""What a family of vectors is: a name, and how the reference answers its questions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from importlib.util import find_spec
from typing import Any, TypeAlias

from ctwl_protocol.errors import CTWLError

JSON: TypeAlias = dict[str, Any]
Answer: TypeAlias = Callable[[JSON], JSON]
More: TypeAlias = Callable[[Sequence[JSON]], Iterable[tuple[str, JSON]]]


@dataclass(frozen=True)
class Family:
    """Vectors of one kind. Its file says the rest: the section, what is asked, the inputs.

    Attributes:
        name: of the family and its file.
        answer: the reference's answer: a pure function. Where the reference refuses, it is the status code.
        needs: a package that the answer needs besides those of ``ctwl_protocol``, if any.
        more: comments and inputs that follow from a table and that its tests may lack; they are written behind them.
    """

    name: str
    answer: Answer
    needs: str | None = None
    more: More = lambda _: ()

    @property
    def missing(self) -> str | None:
        """The package that the reference's answer needs and this environment lacks, if any."""
        return self.needs if self.needs and find_spec(self.needs) is None else None


FAMILIES: dict[str, Family] = {}
"""The families by name; the modules beside this one add theirs."""


def family(name: str, *, needs: str | None = None, more: More = lambda _: ()) -> Callable[[Answer], Answer]:
    """Say that the function below answers the questions of a family; see :class:`Family`."""

    def add(answer: Answer) -> Answer:
        @wraps(answer)
        def answered(data: JSON) -> JSON:
            try:
                return answer(data)
            except CTWLError as error:
                return {"status": error.code}

        FAMILIES[name] = Family(name, answered, needs, more)
        return answer

    return add


def unhex(value: str | Sequence[str | JSON]) -> bytes:
    """Bytes of hexadecimal, or of parts of which some may be repeated."""
    parts = [value] if isinstance(value, str) else value
    return b"".join(
        bytes.fromhex(part) if isinstance(part, str) else bytes.fromhex(part["repeat"]) * part["times"]
        for part in parts
    )

"""What a family of vectors is: a name, the classes that it is evidence for, and how the reference answers it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from importlib.util import find_spec
from typing import Any, Final, Literal, TypeAlias

from ctwl_protocol.errors import CTWLError

JSON: TypeAlias = dict[str, Any]
Answer: TypeAlias = Callable[[JSON], JSON]
More: TypeAlias = Callable[[Sequence[JSON]], Iterable[tuple[str, JSON]]]

ConformanceClass: TypeAlias = Literal[
    "basic-reader", "full-reader", "light-reader", "profile-loader", "encoder", "registry-client", "detector"
]
"""What an implementation may conform as (spec section 14)."""

Classes: TypeAlias = tuple[ConformanceClass, ...]

BASIC: Final = "basic-reader"
FULL: Final = "full-reader"
LIGHT: Final = "light-reader"
LOADER: Final = "profile-loader"
ENCODER: Final = "encoder"
CLIENT: Final = "registry-client"
DETECTOR: Final = "detector"
READERS: Final = (BASIC, FULL, LIGHT)


@dataclass(frozen=True)
class Family:
    """Vectors of one kind. Its file says the rest: the section, what is asked, the inputs.

    Attributes:
        name: of the family and its file.
        answer: the reference's answer: a pure function. Where the reference refuses, it is the status code.
        asked_of: the classes that need it.
        optional_for: the classes that may leave it out, and for which a wrong answer counts all the same.
        needs: a package that the answer needs besides those of ``ctwl_protocol``, if any.
        more: comments and inputs that follow from a table and that its tests may lack; they are written behind them.
    """

    name: str
    answer: Answer
    asked_of: Classes = ()
    optional_for: Classes = ()
    needs: str | None = None
    more: More = lambda _: ()

    @property
    def missing(self) -> str | None:
        """The package that the reference's answer needs and this environment lacks, if any."""
        return self.needs if self.needs and find_spec(self.needs) is None else None


FAMILIES: dict[str, Family] = {}
"""The families by name; the modules beside this one add theirs."""


def family(
    name: str,
    *,
    asked_of: Classes = (),
    optional_for: Classes = (),
    needs: str | None = None,
    more: More = lambda _: (),
) -> Callable[[Answer], Answer]:
    """Say that the function below answers the questions of a family, and for which classes; see :class:`Family`."""

    def add(answer: Answer) -> Answer:
        @wraps(answer)
        def answered(data: JSON) -> JSON:
            try:
                return answer(data)
            except CTWLError as error:
                return {"status": error.code}

        FAMILIES[name] = Family(name, answered, asked_of, optional_for, needs, more)
        return answer

    return add


def unhex(value: str | Sequence[str | JSON]) -> bytes:
    """Bytes of hexadecimal, or of parts of which some may be repeated."""
    parts = [value] if isinstance(value, str) else value
    return b"".join(
        bytes.fromhex(part) if isinstance(part, str) else bytes.fromhex(part["repeat"]) * part["times"]
        for part in parts
    )

"""Numeric vectors: what a profile's proxy LM weighs in human text, and how near a runtime comes (spec section 13).

The reference is float32 on a CPU. Its last digits are a machine's own, so these files are measured once and kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ctwl_protocol import get_profile
from ctwl_protocol.errors import ProxyNotFound, TokenOutOfRange
from ctwl_protocol.schema import Part

from ..families.family import JSON

if TYPE_CHECKING:
    from ctwl_protocol.proxy import Proxy

FAMILY = "numeric"

LENGTHS = (200, 300, 400, 500, 800, 1100)
"""Tokens of each passage of a file. The end of the longest lies in a second block (spec section 5.5)."""

_EACH = 8
"""Places of a passage, from its first position to its last token."""

HEAVIEST = 32
"""Tokens that are asked about at a place, beside the one that stands there."""

REFERENCE = Fraction(1, 100)
"""The share of the tolerance within which the reference agrees with itself on another machine."""

_FIXED: JSON = {
    "format": "ctwl-vectors/1",
    "family": FAMILY,
    "section": "13",
    "level": "numeric",
    "about": "The tokens of a passage of human text (ids), places in it, and for each place the "
    f"{HEAVIEST} tokens that the reference (float32 on a CPU) weighs heaviest there, and the one that stands there. A "
    "place sees the tokens of its block before it (5.5). Answer the weights (7.1) of these tokens and their sum over "
    "the whole vocabulary (total). A runtime agrees if the total variation between its distribution and the expected "
    "one, over these tokens and one class for all others, is at most total_variation in the mean over the places. "
    "Section 13 asks for more, as the others are one class here: to agree is necessary, not sufficient.",
}
"""What all files say of themselves."""


def name_of(profile: str) -> str:
    """The name of a profile's file."""
    return f"{FAMILY}/{profile}.json"


def profile_of(name: str) -> str:
    """The profile of a file's name."""
    return name.removeprefix(f"{FAMILY}/").removesuffix(".json")


def is_numeric(name: str) -> bool:
    """Whether a file holds numeric vectors."""
    return name.startswith(f"{FAMILY}/")


class _Weighed(Part):
    """An answer: for each place the weights of the tokens that were asked about, and that of the whole vocabulary."""

    weights: list[list[Annotated[int, Field(ge=0, le=1 << 24)]]]
    totals: list[Annotated[int, Field(ge=0, le=1 << 44)]]


@dataclass(frozen=True)
class Numeric:
    """The numeric vectors of a profile.

    Attributes:
        profile: its name.
        tolerance: the largest mean total variation that passes.
        questions: one for each passage: the ``profile``, the ``ids`` of its tokens, ``places`` in it, ascending, and
            for each place the distinct ``tokens`` that are asked about.
        expected: the answer to each question.
    """

    profile: str
    tolerance: Fraction
    questions: list[JSON]
    expected: list[JSON]

    @classmethod
    def of(cls, document: JSON) -> Self:
        """The vectors of a file."""
        return cls(
            profile=document["profile"],
            tolerance=Fraction(*document["total_variation"]),
            questions=[test["input"] for test in document["tests"]],
            expected=[test["expected"] for test in document["tests"]],
        )

    @property
    def places(self) -> int:
        """How many places are asked about in all passages."""
        return sum(len(asked["places"]) for asked in self.questions)

    def variation(self, answers: Sequence[JSON]) -> Fraction:
        """The mean over the places of the total variation, over the tokens asked about and one class for all others.

        Args:
            answers: one to each question.

        Raises:
            ValueError: one does not fit its question, or holds no distribution: a total is 0, or less than its tokens
                weigh.
        """
        summed = Fraction()
        for expected, answer in zip(self.expected, answers, strict=True):
            known, found = _Weighed.model_validate(expected), _Weighed.model_validate(answer)
            if _shape(known) != _shape(found):
                raise ValueError("there is not one weight for each token, and one total for each place")
            summed += sum(map(_variation, known.weights, known.totals, found.weights, found.totals), Fraction())
        return summed / self.places


def _shape(answer: _Weighed) -> tuple[list[int], int]:
    return [len(row) for row in answer.weights], len(answer.totals)


def _variation(expected: Sequence[int], total: int, found: Sequence[int], whole: int) -> Fraction:
    if whole < max(1, sum(found)):
        raise ValueError(f"a total of {whole}, where the tokens asked about weigh {sum(found)}")
    pairs = [*zip(expected, found, strict=True), (total - sum(expected), whole - sum(found))]
    return Fraction(sum(abs(a * whole - b * total) for a, b in pairs), 2 * total * whole)


def weigh(proxy: Proxy, asked: JSON) -> JSON:
    """A proxy's answer to a question: for each place the weights of its tokens, and the total.

    Args:
        proxy: the runtime.
        asked: a passage, places in it, and the tokens that are asked about, see :class:`Numeric`.

    Raises:
        TokenOutOfRange: an id is outside the vocabulary, or a place has no prefix or no token.
    """
    vocabulary, length = proxy.profile.tokenizer.vocabulary, proxy.profile.prefix_length
    if any(not 0 <= token < vocabulary for row in (asked["ids"], *asked["tokens"]) for token in row):
        raise TokenOutOfRange(f"token ids run from 0 to {vocabulary - 1}")
    if any(not length <= place < len(asked["ids"]) for place in asked["places"]):
        raise TokenOutOfRange(f"places run from {length} to the last token")
    found = proxy.weights_at(np.array(asked["ids"], dtype=np.int64), np.array(asked["places"], dtype=np.int64))
    return {
        "weights": [row[tokens].tolist() for row, tokens in zip(found, asked["tokens"], strict=True)],
        "totals": found.sum(axis=1, dtype=np.uint64).tolist(),
    }


def head(profile: str) -> JSON:
    """The fields of a profile's file apart from its tests.

    Raises:
        ProfileUnknown: there is no such profile.
    """
    found = get_profile(profile)
    return {
        **_FIXED,
        "profile": found.name,
        "digest": found.digest,
        "total_variation": list(found.tolerance.total_variation),
    }


def measure(profile: str) -> list[JSON]:
    """The tests of a profile's file, by the reference on this machine: a passage of human text each.

    Raises:
        CTWLError: the profile's proxy cannot be loaded, see :func:`ctwl_protocol.proxy.open_proxy`.
    """
    from ctwl_protocol.proxy import open_proxy

    proxy = open_proxy(profile)
    return [_test(proxy, number, ids) for number, ids in enumerate(_passages(proxy), 1)]


def _passages(proxy: Proxy) -> Iterator[list[int]]:
    """Tokens of passages by people, of each of the LENGTHS."""
    from ..run.texts import human_passage

    for number, length in enumerate(LENGTHS):
        text = human_passage(number / len(LENGTHS), 8 * length)  # a token has fewer characters on average
        yield proxy.tokenizer.encode(text)[:length].tolist()


def _test(proxy: Proxy, number: int, ids: list[int]) -> JSON:
    places = np.linspace(proxy.profile.prefix_length, len(ids) - 1, _EACH).astype(np.int64)
    weights = proxy.weights_at(np.array(ids, dtype=np.int64), places).astype(np.int64)
    asked = [_asked(row, ids[place]) for row, place in zip(weights, places, strict=True)]
    return {
        "id": f"{FAMILY}/{proxy.profile.name}/{number}",
        "comment": f"{len(ids)} tokens that begin with {proxy.tokenizer.decode(np.array(ids[:8]))!r}",
        "input": {"profile": proxy.profile.name, "ids": ids, "places": places.tolist(), "tokens": asked},
        "expected": {
            "weights": [row[tokens].tolist() for row, tokens in zip(weights, asked, strict=True)],
            "totals": weights.sum(axis=1).tolist(),
        },
    }


def _asked(weights: NDArray[np.int64], observed: int) -> list[int]:
    """The heaviest tokens of a vocabulary, and the one that stands there."""
    heaviest: list[int] = np.argsort(-weights, kind="stable")[:HEAVIEST].tolist()
    return heaviest + [observed] * (observed not in heaviest)


def reweigh(numeric: Numeric) -> Fraction | None:
    """The distance of the reference on this machine from a file; None if the profile's proxy is not installed."""
    try:
        from ctwl_protocol.proxy import open_proxy

        proxy = open_proxy(numeric.profile)
        return numeric.variation([weigh(proxy, asked) for asked in numeric.questions])
    except (ImportError, ProxyNotFound):
        return None

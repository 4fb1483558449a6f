"""Numeric vectors: what a profile's proxy LM weighs behind human text, and how near a runtime comes (spec section 13).

The reference is float32 on a CPU. Its last digits are a machine's own, so these files are measured once and kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ctwl_protocol import get_profile
from ctwl_protocol.errors import ProxyNotFound, TokenOutOfRange

from ..families.family import JSON

if TYPE_CHECKING:
    from ctwl_protocol.proxy import Proxy

__all__ = [
    "FAMILY", "HEAVIEST", "PREFIXES", "REFERENCE", "Numeric", "head", "is_numeric", "measure", "name_of", "profile_of",
    "reweigh", "weigh",
]  # fmt: skip

FAMILY = "numeric"

PREFIXES = 48
"""Prefixes of a file."""

HEAVIEST = 32
"""Tokens that are asked about behind a prefix, beside the one that stood there."""

REFERENCE = Fraction(1, 100)
"""The share of the tolerance within which the reference agrees with itself on another machine."""

_FIXED: JSON = {
    "format": "ctwl-vectors/1",
    "family": FAMILY,
    "section": "13",
    "level": "numeric",
    "about": f"A prefix of human text (window), the {HEAVIEST} tokens that the reference (float32 on a CPU) weighs "
    "heaviest behind it, and the one that was observed there. Answer the weights (7.1) of these tokens and the total "
    "of the whole vocabulary. A runtime agrees if the total variation between its distribution and the expected one, "
    "over these tokens and one class for all others, is at most total_variation in the mean over the prefixes. Section "
    "13 asks for more, as the others are one class here: to agree is necessary, not sufficient.",
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


@dataclass(frozen=True)
class Numeric:
    """The numeric vectors of a profile.

    Attributes:
        profile: its name.
        tolerance: the largest mean total variation that passes.
        windows: the prefixes, ``L_prefix`` token ids each.
        tokens: for each prefix, the distinct ids that are asked about.
        weights: theirs.
        totals: for each prefix, the weight of the whole vocabulary.
    """

    profile: str
    tolerance: Fraction
    windows: list[list[int]]
    tokens: list[list[int]]
    weights: list[list[int]]
    totals: list[int]

    @classmethod
    def of(cls, document: JSON) -> Self:
        """The vectors of a file."""
        asked = [test["input"] for test in document["tests"]]
        expected = [test["expected"] for test in document["tests"]]
        return cls(
            profile=document["profile"],
            tolerance=Fraction(*document["total_variation"]),
            windows=[each["window"] for each in asked],
            tokens=[each["tokens"] for each in asked],
            weights=[each["weights"] for each in expected],
            totals=[each["total"] for each in expected],
        )

    def variation(self, weights: Sequence[Sequence[int]], totals: Sequence[int]) -> Fraction:
        """The mean over the prefixes of the total variation, over the tokens asked about and one class for all others.

        Args:
            weights: an answer's, one for each token.
            totals: an answer's, one for each prefix.

        Raises:
            ValueError: they are no distribution: a total is 0, or less than its tokens weigh.
        """
        rows = zip(self.weights, self.totals, weights, totals, strict=True)
        return sum((_variation(*row) for row in rows), Fraction()) / len(self.windows)


def _variation(expected: Sequence[int], total: int, found: Sequence[int], whole: int) -> Fraction:
    if whole < max(1, sum(found)):
        raise ValueError(f"a total of {whole}, where the tokens asked about weigh {sum(found)}")
    pairs = [*zip(expected, found, strict=True), (total - sum(expected), whole - sum(found))]
    return Fraction(sum(abs(a * whole - b * total) for a, b in pairs), 2 * total * whole)


def weigh(
    proxy: Proxy, windows: Sequence[Sequence[int]], tokens: Sequence[Sequence[int]]
) -> tuple[list[list[int]], list[int]]:
    """The weights of a proxy: for each prefix those of its tokens, and the total.

    Args:
        proxy: the runtime.
        windows: the prefixes, ``L_prefix`` token ids each.
        tokens: for each prefix, the ids that are asked about.

    Raises:
        TokenOutOfRange: an id is outside the vocabulary.
    """
    vocabulary = proxy.profile.tokenizer.vocabulary
    if any(not 0 <= token < vocabulary for row in tokens for token in row):
        raise TokenOutOfRange(f"token ids run from 0 to {vocabulary - 1}")
    weights: list[list[int]] = []
    totals: list[int] = []
    for rows, found in proxy.batches(np.array(windows, dtype=np.int64)):
        weights += [row[asked].tolist() for row, asked in zip(found, tokens[rows], strict=True)]
        totals += found.sum(axis=1, dtype=np.uint64).tolist()
    return weights, totals


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
    """The tests of a profile's file, by the reference on this machine: a prefix in the middle of each human text.

    Raises:
        CTWLError: the profile's proxy cannot be loaded, see :func:`ctwl_protocol.proxy.open_proxy`.
    """
    from ctwl_protocol.proxy import open_proxy

    from ..run.plan import human_texts

    proxy = open_proxy(profile, device="cpu")
    length, tests = proxy.profile.prefix_length, []
    for number, text in enumerate(human_texts(profile, PREFIXES), 1):
        ids = proxy.tokenizer.encode(text)
        place = len(ids) // 2
        window, observed = ids[place - length : place], int(ids[place])
        weights = proxy.weights(window[None])[0].astype(np.int64)
        heaviest = np.argsort(-weights, kind="stable")[:HEAVIEST].tolist()
        tokens = heaviest + [observed] * (observed not in heaviest)
        test: dict[str, Any] = {
            "id": f"{FAMILY}/{profile}/{number}",
            "comment": f"behind {proxy.tokenizer.decode(window)!r}",
            "input": {"window": window.tolist(), "tokens": tokens},
            "observed": observed,
            "expected": {"weights": weights[tokens].tolist(), "total": int(weights.sum())},
        }
        tests.append(test)
    return tests


def reweigh(numeric: Numeric) -> Fraction | None:
    """The distance of the reference on this machine from a file; None if the profile's proxy is not installed."""
    try:
        from ctwl_protocol.proxy import open_proxy

        proxy = open_proxy(numeric.profile, device="cpu", local_only=True)
    except (ImportError, ProxyNotFound):
        return None
    return numeric.variation(*weigh(proxy, numeric.windows, numeric.tokens))

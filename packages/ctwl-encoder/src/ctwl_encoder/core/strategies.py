"""Encoding strategies: how a model's distribution is changed so that tokens of ``V`` are preferred (spec section 8).

Each strategy acts at a branch under the permutation that the code selects there. The decoder is the same for all. A new
strategy is a name in :class:`Strategy` and a row in :data:`TRAITS`. One that keeps the distribution is also written in
:mod:`.device.plain` and :mod:`.device.kernels`; everything else reads its traits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol import Profile
from ctwl_protocol.bridge import Branch
from ctwl_protocol.hashing import ranks_of

from ..errors import ModelFailed, StrategyUnsuitable

__all__ = [
    "TRAITS",
    "Decoding",
    "Lots",
    "Strategy",
    "Traits",
    "add_delta",
    "check_sigma",
    "exponential_minimum",
    "keep_first_half",
    "multiply",
    "own_limit",
    "probabilities",
]


RANKS = 1 << 32
"""The number of ranks."""


class Strategy(StrEnum):
    """The strategies by name; :data:`TRAITS` says what each does."""

    UNBIASED = "unbiased"
    GUMBEL = "gumbel"
    DELTA = "delta"
    VANILLA = "vanilla"

    @property
    def traits(self) -> Traits:
        """What tells it from the others."""
        return TRAITS[self]

    @property
    def keeps_distribution(self) -> bool:
        """Whether it keeps the model's own distribution on average; see :attr:`Traits.reweigh`."""
        return self.traits.reweigh is not None


class Decoding(StrEnum):
    """How the next token is chosen from the marked distribution; where this is known, ``delta`` asks the proxy less."""

    ANY = "any"
    """Beams, or not known: the proxy is asked at each position that is marked."""

    SAMPLED = "sampled"
    """One token for each row, drawn from exactly this distribution. The proxy is not asked for draws that do not depend
    on it; the distribution is the same."""

    GREEDY = "greedy"
    """The likeliest token. The proxy is not asked where its answer cannot change which one that is."""


def own_limit(fresh: float) -> int:
    """The rank, as 32 bits, below which a token's lot is the text's own, where a share of the tokens has such a lot."""
    return min(int(fresh * RANKS), RANKS - 1)


class Lots(NamedTuple):
    """What decides the lots of the tokens at a place.

    Attributes:
        seed: of the permutation that the slot's code selects there, ``s(c, a)``.
        own: seed of the text's own lots there.
        fresh: share of the tokens, 0 to 1, whose lot is the text's own: no other text of the code has it.
    """

    seed: int
    own: int = 0
    fresh: float = 0.0

    def of(self, tokens: NDArray[np.int64]) -> NDArray[np.float64]:
        """The lots of proxy tokens, int64 (n,): float64 (n,), between 0 and 1."""
        lots: NDArray[np.float64] = (ranks_of(np.uint32(self.seed), tokens).astype(np.float64) + 0.5) / RANKS
        if limit := own_limit(self.fresh):
            own = ranks_of(np.uint32(self.own), tokens)  # those below the limit are uniform up to it
            lots = np.where(own < limit, (own.astype(np.float64) + 0.5) / limit, lots)
        return lots


@dataclass(frozen=True)
class Traits:
    """What tells a strategy from the others.

    Attributes:
        summary: what it does, for help pages.
        reweigh: the factors, float64 (n,), of the probabilities of a branch's candidates under some lots; on average
            over permutations the distribution stays the same. Such a strategy needs sampling, acts after temperature,
            top-p and the like, and asks no proxy. None for a strategy that adds ``delta`` to the members of ``V``: it
            works with any way of decoding, and asks the proxy for ``V``.
        bits_per_token: evidence to count on for a token of news-like text, before the correction for the code space.
            From 0.4 follow 94 tokens for one code, enough for nine texts in ten by ``unbiased``
            (evaluation/reading/recovery.py has 100 tokens).
        ranks: whether a token's rank says more to the reader than its membership.
        vanilla: whether ``V`` is a random half of the vocabulary, without the proxy LM.
        sigma: the only share of ``V`` that suits the strategy; None for any.
    """

    summary: str
    reweigh: Callable[[Branch, Lots], NDArray[np.float64]] | None = None
    bits_per_token: float = 0.4
    ranks: bool = False
    vanilla: bool = False
    sigma: tuple[int, int] | None = None


def check_sigma(strategy: Strategy, profile: Profile) -> None:
    """Refuse a profile whose sigma does not suit the strategy: StrategyUnsuitable."""
    needed = strategy.traits.sigma
    if needed not in (None, profile.sigma):
        raise StrategyUnsuitable(f"{strategy} needs sigma {needed}; {profile.name} has {profile.sigma}. Use delta")


def probabilities(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """Softmax.

    Args:
        logits: float32 (rows, size), normalized or not.

    Raises:
        ModelFailed: a row has no finite maximum.
    """
    highest = logits.max(axis=1, keepdims=True)
    if not np.isfinite(highest).all():
        raise ModelFailed("the model's logits are not numbers; run it in float32 or bfloat16")
    exponent = np.exp(logits - highest)
    exponent /= exponent.sum(axis=1, keepdims=True)
    return np.asarray(exponent)


def keep_first_half(branch: Branch, lots: Lots) -> NDArray[np.float64]:
    """The factor of each candidate's probability under ``unbiased`` (spec section 8.3): float64 (n,).

    The first half of the branch's mass in rank order is kept and doubled, where candidates of one proxy token go
    together. Averaged over permutations the distribution is unchanged. Nearly every token that is kept lies in ``V``,
    because ``V`` is the first half of the proxy's mass in the same order.

    Args:
        branch: the branch.
        lots: those of the branch; their seed alone is used.
    """
    order, first = branch.by_rank(lots.seed)
    running = np.cumsum(branch.mass[order])
    last = np.append(first[1:], len(order)) - 1
    before = np.concatenate([[0.0], running[last[:-1]]])
    mass = running[last] - before
    factor = 2 * np.clip((running[-1] / 2 - before) / np.maximum(mass, 1e-300), 0.0, 1.0)
    kept = np.empty(len(order))
    kept[order] = np.repeat(factor, last - first + 1)
    return kept


def exponential_minimum(branch: Branch, lots: Lots) -> NDArray[np.float64]:
    """The factor of each candidate's probability under ``gumbel`` (spec section 8.4): float64 (n,).

    The candidates of one proxy token get the branch's whole mass. A token of probability ``p``, rank ``r`` and lot
    ``u = (r + 1/2) / 2^32`` gets the time ``-ln(1 - u) / p``; the token with the least time is kept. Some tokens may
    have lots of the text's own instead (spec section 8.4). Over random permutations these are exponential times of rate
    ``p``, so each token is kept with its own probability: the Gumbel-max trick (Aaronson 2022; exponential minimum
    sampling of Kuditipudi et al. 2023). The token that is kept mostly has a low rank, and so lies in ``V``.

    Args:
        branch: the branch.
        lots: those of the branch.
    """
    tokens, shown = np.unique(branch.tokens, return_inverse=True)
    mass = np.bincount(shown, weights=branch.mass)
    times = -np.log1p(-lots.of(tokens)) / np.maximum(mass, 1e-300)
    winner = int(times.argmin())
    return np.where(shown == winner, mass.sum() / mass[winner], 0.0)


def multiply(logits: NDArray[np.float32], branch: Branch, factors: NDArray[np.float64]) -> None:
    """Multiply the probabilities of a branch's candidates by factors, float64 (n,), in the logits, float32 (size,)."""
    with np.errstate(divide="ignore"):
        logits[branch.candidates] += np.log(factors).astype(np.float32)


def add_delta(logits: NDArray[np.float32], branch: Branch, inside: NDArray[np.bool_], delta: float) -> None:
    """Add ``delta`` to the logits of the candidates whose token at the branch is a member of ``V``, in place.

    Args:
        logits: float32 (size,).
        branch: the branch.
        inside: bool (|V|,), membership at the branch.
        delta: nats.
    """
    logits[branch.candidates[inside[branch.tokens]]] += np.float32(delta)


TRAITS = {
    Strategy.UNBIASED: Traits(
        "keeps the model's distribution and needs sampling",
        reweigh=keep_first_half,
        sigma=(1, 2),  # with another, the split would not average out
    ),
    Strategy.GUMBEL: Traits(
        "keeps it too and is the clearest in short or predictable texts, but takes most of the variety between texts",
        reweigh=exponential_minimum,
        bits_per_token=1.0,  # 44 tokens for one code (evaluation/writing/gumbel.py has 30)
        ranks=True,
    ),
    Strategy.DELTA: Traits("adds to logits, for any way of decoding"),
    Strategy.VANILLA: Traits("is delta over a random half of the vocabulary, the paper's baseline", vanilla=True),
}
"""Every strategy: the paper's ``delta`` (Wang et al. 2024, equation 7) and ``vanilla`` (its section 4.2) among them."""

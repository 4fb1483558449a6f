"""The search plan: what is searched, by which scores, and how the tests divide the level (spec section 10.2)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol.numbers import NUMBERS
from ctwl_protocol.profile import Profile, has_public_key
from ctwl_protocol.records.beacon import BEACON_BITS, BEACON_FIELDS, NONCE_COUNT
from ctwl_protocol.registry import Registry

from ..options import ALPHA, ScoreName, beacon_codes, check_alpha, codes_by_nonces
from ..statistics.code_scores import code_space
from ..statistics.scores import Score
from .candidates import CodeSet

SCORE_SHARES: Mapping[Score, float] = {Score(name): share for name, share in NUMBERS.search.score_shares.items()}
"""The share of the level of each score, where a text is read by a language model."""

LIGHT_SHARES: Mapping[Score, float] = {Score(name): share for name, share in NUMBERS.search.light_shares.items()}
"""The share of the level of each light score, where a text is read by these alone."""

_LIGHT_FIRST = NUMBERS.search.light_first
"""The share of the level of the light scores, where other scores follow if these show too little."""

_SHARES: Mapping[str, Mapping[Score, float]] = {
    "whole": SCORE_SHARES,
    "light": LIGHT_SHARES,
    "auto": {score: _LIGHT_FIRST * share for score, share in LIGHT_SHARES.items()}
    | {score: (1 - _LIGHT_FIRST) * share for score, share in SCORE_SHARES.items()},
}
"""The shares of the level, where a text is read by several scores."""

NO_CODES = np.array([], dtype=np.uint32)
"""No registered codes."""

BELOW_PROVIDER = BEACON_BITS - BEACON_FIELDS["provider"]
"""The bits of a beacon below the provider's."""

_REGISTERED_SHARE = NUMBERS.search.registered_share
"""The share of the level of registered codes, where all codes are searched too."""

_BITS_PER_RANK = NUMBERS.search.bits_per_rank
"""What one position shows by rank, in bits."""


@dataclass(frozen=True)
class SearchPlan:
    """What is searched in a text, and by which test.

    Attributes:
        alpha: the level.
        searches: the codes, in the order in which they are searched: the sets of each search, and of all the shares of
            the level.
        score_shares: the scores, each with its share of the level.
    """

    alpha: float
    searches: tuple[tuple[CodeSet, ...], ...]
    score_shares: Mapping[Score, float]

    @classmethod
    def of(
        cls,
        profile: Profile,
        registry: Registry | None,
        *,
        alpha: float = ALPHA,
        score: Score | ScoreName = "auto",
        beacons: Iterable[tuple[int, int]] | None = None,
    ) -> SearchPlan:
        """The plan that a caller's options ask for.

        Args:
            profile: the profile.
            registry: its beacons have a share of the level, and it says how many nonces each has; None for no beacons.
            alpha: the level.
            score: how positions are scored: "light" for the two light scores, "whole" for ``half`` and ``race``, "auto"
                for the light ones first.
            beacons: the (provider, version) pairs whose codes alone are searched; None for all codes.

        Raises:
            OptionOutOfRange: the level is not strictly between 0 and 1; there is no beacon to search for.
            FieldOutOfRange: a provider or version is out of range.
        """
        check_alpha(alpha)
        if beacons is not None:
            searches = [_beacon_sets(codes_by_nonces(profile, beacons, registry))]
        elif not (registered := _registered(profile, registry)):
            searches = [(CodeSet(code_space(profile)),)]
        else:
            every = CodeSet(code_space(profile), 1 - _REGISTERED_SHARE)
            registered_sets = _beacon_sets(codes_by_nonces(profile, registered, registry), _REGISTERED_SHARE)
            searches = [registered_sets, (every,)]
        shares = _SHARES.get(score) or {Score(score): 1.0}
        return cls(alpha, tuple(searches), shares)

    @property
    def code_sets(self) -> tuple[CodeSet, ...]:
        """The sets of all searches."""
        return tuple(chain.from_iterable(self.searches))

    @property
    def light(self) -> SearchPlan:
        """The tests by the light scores, which need no language model."""
        return replace(self, score_shares={s: share for s, share in self.score_shares.items() if s.light})

    @property
    def whole(self) -> SearchPlan:
        """The tests by the other scores."""
        return replace(self, score_shares={s: share for s, share in self.score_shares.items() if not s.light})

    def by_codes(self) -> list[SearchPlan]:
        """The tests of each search by itself."""
        return [replace(self, searches=(search,)) for search in self.searches]

    @property
    def searched(self) -> int:
        """The number of codes that are searched."""
        return max(sum(len(code_set.codes) for code_set in search) for search in self.searches)

    @property
    def of_one_provider(self) -> bool:
        """Whether the codes of one provider alone are searched, where codes are beacons."""
        providers = {int(code) >> BELOW_PROVIDER for each in self.code_sets for code in each.codes[[0, -1]]}
        return len(providers) == 1

    @property
    def searched_pairs(self) -> int:
        """The number of pairs of a provider and a version that are searched, where codes are beacons."""
        return max(sum(_pairs(code_set.codes) for code_set in search) for search in self.searches)

    def minimum_tokens(self, profile: Profile) -> int:
        """Number of tokens below which hardly any text passes the test."""
        bits = min(math.log2(some.number / some.share) for some in self.code_sets) - math.log2(self.alpha)
        per_member = math.log2(profile.sigma[1] / profile.sigma[0])  # a token that lies wholly in the half
        positions = min(
            (bits - math.log2(share)) / (_BITS_PER_RANK if score in (Score.RACE, Score.LIGHT_RANK) else per_member)
            for score, share in self.score_shares.items()
        )
        return profile.prefix_length + math.ceil(positions)


def registered_codes(profile: Profile, registry: Registry | None) -> NDArray[np.uint32]:
    """The codes of registered beacons: uint32, ascending; none where the profile's codes are its owner's affair."""
    registered = _registered(profile, registry)
    return beacon_codes(profile, registered, registry) if registered else NO_CODES


def _registered(profile: Profile, registry: Registry | None) -> list[tuple[int, int]]:
    """The registered (provider, version) pairs; none where the profile's codes are its owner's affair."""
    public = has_public_key(profile) and profile.code_bits == BEACON_BITS
    return registry.beacons() if registry and public else []


def _beacon_sets(by_nonces: Mapping[int, NDArray[np.uint32]], share: float = 1.0) -> tuple[CodeSet, ...]:
    """The sets of one search, which have equal parts of the level for each pair of a provider and a version.

    So a pair pays for its own nonces, however many the others have.
    """
    pairs = sum(map(_pairs, by_nonces.values()))
    return tuple(CodeSet(codes, share, parts=pairs / _pairs(codes)) for codes in by_nonces.values())


def _pairs(codes: NDArray[np.uint32]) -> int:
    """How many pairs of a provider and a version have some codes."""
    return len(np.unique(codes // NONCE_COUNT))

"""The screen: whether a text is worth reading whole, by the ranks of its tokens, for scans of many texts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import import_module

from ctwl_protocol.profile.document import Profile

from ..statistics.light import light_units
from ..text.tokens import TokenizedVariant
from .finding import score_positions, tests_of
from .plan import SearchPlan
from .windows import find_candidates


def screen(
    profile: Profile, variants: Sequence[TokenizedVariant], plan: SearchPlan, counts: Sequence[int], level: float
) -> float:
    """The smallest p-value of a text by the light scores; 1 where none is near the level.

    Where a normal distribution gives more than the level's root, no exact p-value is computed: it would hardly ever be
    so much smaller. That costs power alone.

    Args:
        profile: the profile.
        variants: the text's.
        plan: what is searched, by the light scores.
        counts: how many codes a record may have.
        level: of the screen.
    """
    import_module("numba")  # many texts follow, so its loops pay; see :mod:`..statistics.window_scores`
    found = [1.0]
    for variant in variants:
        units = light_units(profile, variant.positions)
        texts, code_sets = tests_of(score_positions(profile, variant, units, plan), variant, plan)
        candidates = find_candidates(texts, code_sets, counts, at_most=math.sqrt(level))
        found += [candidate.p_value for candidate in candidates]
    return min(found)

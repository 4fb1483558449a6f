"""What ``delta`` chooses whatever the proxy says, tried with every border of ``V``."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctwl_encoder.core.host import probabilities
from ctwl_encoder.core.strategies.delta.lower_bound import LowerBound, argmax_is_certain
from ctwl_protocol.bridge import Branch
from ctwl_protocol.hashing import ranks_of

SHOWN = st.none() | st.integers(0, 5)
CANDIDATES = st.lists(st.tuples(st.floats(-12, 12), SHOWN, SHOWN), min_size=1, max_size=7)
"""A logit, and the token shown at each of two branches, or None where the branch is not reached."""
SEEDS = st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
TOKENS = np.arange(6)


@given(CANDIDATES, SEEDS, st.floats(0.01, 100))
def test_a_part_is_known_and_the_rest_makes_it_whole(
    candidates: list[tuple[float, int | None, int | None]], seeds: tuple[int, int], delta: float
) -> None:
    logits = np.array([logit for logit, *_ in candidates], dtype=np.float32)
    likely = probabilities(logits[None])[0]
    branches, halves = [], []
    for k, seed in enumerate(seeds, 1):
        reached = np.array([i for i, candidate in enumerate(candidates) if candidate[k] is not None], dtype=np.int64)
        if len(reached):
            shown = np.array([candidates[i][k] for i in reached])
            branches.append((Branch((), reached, shown, likely[reached].astype(np.float64)), seed))
            ranks = ranks_of(np.uint32(seed), TOKENS)
            halves.append([ranks < end for end in (*ranks[shown].tolist(), 2**32)])
    least, best = LowerBound(likely, branches, delta), int(likely.argmax())
    known = np.exp(least.known(logits).astype(np.float64))
    lowest, leads = np.ones(len(likely)), []
    for insides in product(*halves):
        raised = logits.astype(np.float64)
        for (branch, _), inside in zip(branches, insides, strict=True):
            raised[branch.candidates] += delta * inside[branch.tokens]
        marked = np.exp(raised - raised.max())
        marked /= marked.sum()
        beyond = np.exp(least.beyond(logits, insides).astype(np.float64))
        whole = known + (beyond if least.mass < 1 - 1e-6 else 0.0)
        np.testing.assert_allclose(whole, marked, atol=1e-5)
        lowest = np.minimum(lowest, marked)
        leads.append(raised[best] - np.delete(raised, best).max(initial=-np.inf))
    once = np.array([shown.count(None) > 0 for _, *shown in candidates])
    np.testing.assert_allclose(known[once], lowest[once], rtol=1e-4, atol=1e-12)
    assert (known <= lowest * (1 + 1e-4) + 1e-12).all()
    assert least.mass == pytest.approx(known.sum(), rel=1e-4)
    assert least.mass <= 1 + 1e-6
    assert min(leads) > 0 if argmax_is_certain(likely, branches, delta) else min(leads) < 1e-4

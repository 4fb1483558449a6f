"""Records of several codes: the likeliest that agrees with its check, and how sure each part of it is."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctwl_decoder.agreement import NOWHERE, likeliest
from ctwl_decoder.doubts import doubts, together
from ctwl_decoder.null import null_of


@settings(deadline=None)
@given(st.integers(2, 4), st.integers(0, 2**32 - 1), st.integers(1, 20))
def test_the_likeliest_records_are_those_of_an_exhaustive_search(slots: int, seed: int, most: int) -> None:
    rng, space = np.random.default_rng(seed), 8
    scores = [rng.integers(-9, 9, space).astype(np.int32) for _ in range(slots)]
    for beacons in scores[: int(rng.integers(1, slots))]:  # not all are searched, of the text's or of earlier hops
        beacons[rng.permutation(space)[: rng.integers(space)]] = NOWHERE
    every = [
        (-sum(int(s[c]) for s, c in zip(scores, carried, strict=True)), carried)
        for codes in product(range(space), repeat=slots - 1)
        for carried in [(*codes, int(np.bitwise_xor.reduce(codes)))]
        if all(slot[code] > NOWHERE for slot, code in zip(scores, carried, strict=True))
    ]
    records, sums = likeliest(scores, most)
    expected = sorted(every)[:most]
    assert sums.tolist() == [-score for score, _ in expected]
    if most > 1:  # a single one is any of equals where every slot has its best
        assert records.tolist() == [list(carried) for _, carried in expected]


def test_a_slot_that_says_nothing_follows_from_the_others() -> None:
    rng = np.random.default_rng(5)
    carried = [*rng.integers(0, 1 << 20, 3)]
    carried.append(np.bitwise_xor.reduce(carried))
    for silent in range(4):
        scores = [rng.integers(-200, -100, 1 << 20).astype(np.int32) for _ in range(4)]
        for slot, code in enumerate(carried):
            if slot != silent:
                scores[slot][code] = 50
        assert likeliest(scores)[0][0].tolist() == carried


def test_nulls_add_up() -> None:
    rng = np.random.default_rng(1)
    tables = [rng.integers(-13, 6, (contexts, 20)).astype(np.int32) for contexts in (3, 1, 5)]
    whole, parts = null_of(np.concatenate(tables)), together([null_of(table) for table in tables])
    assert [parts.tail(score) for score in range(-100, 40)] == pytest.approx(
        [whole.tail(score) for score in range(-100, 40)]
    )


def test_records_are_wrong_no_more_often_than_they_are_said_to_be() -> None:
    rng, space, slots, colours, contexts = np.random.default_rng(7), 64, 3, 8, 9
    said, wrong, parts = [], [], []
    for _ in range(600):
        truth = rng.integers(0, space, slots - 1)
        truth = np.append(truth, np.bitwise_xor.reduce(truth))
        nulls, scores = [], []
        for code in truth:
            units = rng.integers(-13, 6, (contexts, colours)).astype(np.int32)
            colour = rng.integers(0, colours, (contexts, space))
            colour[:, code] = np.where(rng.random(contexts) < 0.75, units.argmax(axis=1), colour[:, code])
            nulls.append(null_of(units))
            scores.append(units[np.arange(contexts)[:, None], colour].sum(axis=0).astype(np.int32))
        read = likeliest(scores)[0][0]
        each, either = doubts(
            nulls, [int(s[c]) for s, c in zip(scores, read, strict=True)], [space] * slots, float(space) ** 2, 1
        )
        said.append(either)
        wrong.append(bool((read != truth).any()))
        parts += list(zip(each, (read != truth).tolist(), strict=True))
    for doubt, fault in ((np.array(said), np.array(wrong)), map(np.array, zip(*parts, strict=True))):
        assert fault.any()
        for level in (0.01, 0.1, 0.5):
            assert (fault & (doubt <= level)).mean() <= level
    assert np.mean(np.array(said) <= 0.1) > 0.5  # and it is not for being never sure

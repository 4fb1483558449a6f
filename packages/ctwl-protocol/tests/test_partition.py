"""The partition: what the reference promises."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ctwl_protocol.hashing import ranks
from ctwl_protocol.partition import reference

sizes = st.tuples(st.integers(1, 4), st.integers(1, 300))
weights = sizes.flatmap(
    lambda shape: hnp.arrays(
        np.uint32, shape, elements=st.one_of(st.just(0), st.integers(0, 50), st.integers(0, 2**24))
    )
)
sigmas = st.tuples(st.integers(1, 1000), st.integers(1, 1000)).map(lambda pair: (pair[0], pair[0] + pair[1]))


def seeds_for(shape: tuple[int, ...], data: st.DataObject) -> np.ndarray:
    return data.draw(hnp.arrays(np.uint32, shape, elements=st.integers(0, 2**32 - 1)))


@given(weights, sigmas, st.data())
def test_encoder_and_decoder_see_the_same_members(w: np.ndarray, sigma: tuple[int, int], data: st.DataObject) -> None:
    """What the encoder favours is exactly what the decoder counts as a hit, token by token."""
    seeds = seeds_for((len(w),), data)
    token = data.draw(st.integers(0, w.shape[1] - 1))
    below = reference.mass_below(w, np.full(len(w), token), seeds[:, None])
    hit = reference.is_member(below, w.sum(axis=1, dtype=np.uint64)[:, None], sigma)[:, 0]
    np.testing.assert_array_equal(hit, reference.members(w, seeds, sigma)[:, token])


@given(weights, sigmas, st.data())
def test_members_are_the_shortest_run_to_sigma(w: np.ndarray, sigma: tuple[int, int], data: st.DataObject) -> None:
    seed = int(seeds_for((), data))
    row, order = w[0].astype(object), np.argsort(ranks(seed, w.shape[1]))
    inside = reference.members(w[:1], np.array([seed], dtype=np.uint32), sigma)[0, order]
    assert not np.any(inside[1:] & ~inside[:-1])  # a prefix of the order
    reached = sum(row[order][inside])
    if sum(row):
        assert reached * sigma[1] >= sum(row) * sigma[0]
        last = row[order][inside][-1]
        assert (reached - last) * sigma[1] < sum(row) * sigma[0]
    else:
        assert not inside.any()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_the_threads_are_made_anew_in_a_forked_child() -> None:
    """Servers load once and fork: the pool's threads do not come along."""
    code = """
import os, sys
from ctwl_protocol.threads import in_chunks

def counted():
    return sum(in_chunks(lambda start, stop: stop - start, 100))

assert counted() == 100
child = os.fork()
if child == 0:
    os._exit(0 if counted() == 100 else 1)
sys.exit(os.waitpid(child, 0)[1] != 0)
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0


@given(hnp.arrays(np.float64, 20, elements=st.floats(0, 1)))
def test_weights_are_rounded_half_up(probabilities: np.ndarray) -> None:
    quantized = reference.quantize(probabilities, 24)
    assert np.all(np.abs(quantized - probabilities * 2**24) <= 0.5)

"""Hash scheme ctwl-h1: what holds for all that it gives. The vectors have its numbers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ctwl_protocol import hashing


@given(st.binary(min_size=32, max_size=32), st.lists(st.integers(0, 2**20), min_size=1, max_size=4))
def test_no_two_colours_have_one_permutation(key: bytes, context: list[int]) -> None:
    seeds = hashing.permutation_seeds(hashing.partition_seed(key, context), 300)
    assert len(set(seeds.tolist())) == 300


def test_a_vocabulary_is_ranked_without_ties() -> None:
    assert len(np.unique(hashing.ranks(12345, 50257))) == 50257


def test_colours_are_spread_evenly_over_the_code_space() -> None:
    colours = hashing.code_colours(987654321, np.arange(2**20, dtype=np.uint32), 100)
    counts = np.bincount(colours, minlength=100)
    expected = 2**20 / 100
    assert ((counts - expected) ** 2 / expected).sum() < 160  # chi-squared with 99 degrees, p about 1e-4

"""Hash scheme ctwl-h1, against a second writing of it in plain integers."""

import hashlib
import hmac
import struct

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ctwl_protocol import hashing

words = st.integers(0, 2**32 - 1)
contexts = st.lists(st.integers(0, 2**20), min_size=1, max_size=4)
keys = st.binary(min_size=32, max_size=32)


def fmix32(x: int) -> int:
    x ^= x >> 16
    x = x * 0x85EBCA6B % 2**32
    x ^= x >> 13
    x = x * 0xC2B2AE35 % 2**32
    return x ^ x >> 16


@given(words)
def test_fmix32_in_plain_integers(x: int) -> None:
    assert int(hashing.fmix32(np.array([x], dtype=np.uint32))[0]) == fmix32(x)


@given(keys, contexts, st.integers(2, 300), st.data())
def test_permutations_in_plain_integers(key: bytes, context: list[int], colours: int, data: st.DataObject) -> None:
    digest = hmac.new(key, b"ctwl-h1/partition" + struct.pack(f"<{len(context)}I", *context), hashlib.sha256).digest()
    p0, p1 = struct.unpack("<2I", digest[:8])
    a = data.draw(st.integers(0, colours - 1))
    s = fmix32(p0 ^ fmix32((p1 + (a + 1) * 0x9E3779B1) % 2**32))
    seeds = hashing.permutation_seeds(hashing.partition_seed(key, context), colours)
    assert int(seeds[a]) == s
    assert len(set(seeds.tolist())) == colours
    v = data.draw(st.integers(0, 999))
    assert int(hashing.ranks(s, 1000)[v]) == fmix32(s ^ v * 0x9E3779B1 % 2**32)


@given(keys, contexts, st.integers(0, 9), st.integers(0, 3), st.integers(0, 63), st.integers(0, 2**20 - 1))
def test_colours_by_integers(key: bytes, context: list[int], layout: int, slot: int, nonce: int, code: int) -> None:
    message = b"ctwl-h1/colour" + struct.pack(f"<{3 + len(context)}I", layout, slot, nonce, *context)
    (t,) = struct.unpack("<I", hmac.new(key, message, hashlib.sha256).digest()[:4])
    assert hashing.colour_seed(key, context, layout, slot, nonce) == t
    colour = fmix32(t ^ code * 0x9E3779B1 % 2**32) * 100 >> 32
    assert int(hashing.code_colours(t, np.array([code], dtype=np.uint32), 100)[0]) == colour


def test_a_vocabulary_is_ranked_without_ties() -> None:
    assert len(np.unique(hashing.ranks(12345, 50257))) == 50257


def test_colours_are_spread_evenly_over_the_code_space() -> None:
    colours = hashing.code_colours(987654321, np.arange(2**20, dtype=np.uint32), 100)
    counts = np.bincount(colours, minlength=100)
    expected = 2**20 / 100
    assert ((counts - expected) ** 2 / expected).sum() < 160  # chi-squared with 99 degrees, p about 1e-4

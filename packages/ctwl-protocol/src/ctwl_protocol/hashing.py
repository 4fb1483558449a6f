"""Hash scheme ``ctwl-h1``: integers only, the same on every machine (spec section 6).

One HMAC-SHA256 per distinct context gives a seed; 32-bit mixing does the rest. All arithmetic is unsigned and wraps;
byte order is little-endian. This module is in NumPy; compiled loops of encoder and decoder do the same.
"""

from __future__ import annotations

import hmac
import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

GOLDEN = 0x9E3779B1
"""The odd 32-bit multiplier that spreads small integers (a prime near 2^32 divided by the golden ratio)."""


def fmix32(x: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """MurmurHash3's 32-bit finalizer (Appleby 2011), a bijection on 32-bit words.

    Args:
        x: uint32, any shape.

    Returns:
        uint32, the same shape.
    """
    x = x ^ (x >> np.uint32(16))
    x = x * np.uint32(0x85EBCA6B)
    x = x ^ (x >> np.uint32(13))
    x = x * np.uint32(0xC2B2AE35)
    return x ^ (x >> np.uint32(16))


def _digest(key: bytes, domain: bytes, *words: int) -> bytes:
    return hmac.digest(key, domain + struct.pack(f"<{len(words)}I", *words), "sha256")


def partition_seed(key: bytes, context: Sequence[int]) -> tuple[int, int]:
    """The two 32-bit words that seed the permutations of a context (section 6.2).

    Args:
        key: the profile's key, 32 bytes.
        context: the ids of the last ``h`` proxy tokens before the position, oldest first.
    """
    word0, word1 = struct.unpack_from("<2I", _digest(key, b"ctwl-h1/partition", *context))
    return word0, word1


def permutation_seeds(
    seed: tuple[int, int] | tuple[NDArray[np.uint32], NDArray[np.uint32]], colours: int
) -> NDArray[np.uint32]:
    """``s(c, a)`` for every colour of a context: uint32 of shape (colours,) (section 6.2).

    Of many contexts it takes the two words as uint32 (contexts, 1), and returns uint32 (contexts, colours).

    Both steps are bijections in ``a``, so two colours of a context never share a seed. As there are two seed words, two
    contexts share a run of seeds only by a 64-bit coincidence.
    """
    first, second = (np.asarray(word, dtype=np.uint32) for word in seed)
    return permutation_seed(first, second, np.arange(colours, dtype=np.uint32))


def permutation_seed(
    first: NDArray[np.uint32], second: NDArray[np.uint32], colour: NDArray[np.uint32]
) -> NDArray[np.uint32]:
    """``s(c, a)`` for some contexts and colours: uint32; the arguments broadcast against each other (section 6.2).

    Args:
        first: uint32, the first word of :func:`partition_seed`.
        second: uint32, its second word.
        colour: uint32, ``a``.
    """
    return fmix32(first ^ fmix32(second + (colour + np.uint32(1)) * np.uint32(GOLDEN)))


def ranks_of(permutation_seeds: np.uint32 | NDArray[np.uint32], tokens: NDArray[np.integer]) -> NDArray[np.uint32]:
    """``r(v)`` of tokens under permutations: uint32; the two arguments broadcast against each other (section 6.2)."""
    return fmix32(permutation_seeds ^ (tokens.astype(np.uint32) * np.uint32(GOLDEN)))


def ranks(permutation_seed: int, vocabulary: int) -> NDArray[np.uint32]:
    """``r(v)`` of every token under one permutation: uint32 of shape (vocabulary,), all distinct (section 6.2)."""
    return ranks_of(np.uint32(permutation_seed), np.arange(vocabulary))


def colour_seed(key: bytes, context: Sequence[int], layout: int = 0, slot: int = 0, nonce: int = 0) -> int:
    """``t(c, k, j, n)``: the 32-bit seed of the codes' colours at a context (section 6.3).

    Args:
        key: the profile's key, 32 bytes.
        context: as for :func:`partition_seed`.
        layout: the layout's number; 0 for slot 0 of every layout.
        slot: the slot's index.
        nonce: the record's nonce for slots above 0; 0 for slot 0, which carries the nonce.
    """
    return int.from_bytes(_digest(key, b"ctwl-h1/colour", layout, slot, nonce, *context)[:4], "little")


def slot_word(key: bytes, tail: Sequence[int]) -> int:
    """``u``: the 32-bit word that decides the slot of a position (section 9.4).

    Args:
        key: the profile's key, 32 bytes.
        tail: the last tokens before the position, oldest first.
    """
    return int.from_bytes(_digest(key, b"ctwl-h1/slot", *tail)[:4], "little")


def code_colours(seed: int | NDArray[np.uint32], codes: NDArray[np.uint32], colours: int) -> NDArray[np.uint32]:
    """The colours of codes at a context: ``floor(fmix32(t XOR (m * GOLDEN)) * A / 2^32)`` (section 6.3).

    Args:
        seed: ``t(c, k, j, n)``, or uint32 of several contexts, broadcastable to ``codes``.
        codes: uint32, any shape.
        colours: A.

    Returns:
        uint32 in [0, colours), of the broadcast shape of ``seed`` and ``codes``.
    """
    seeds = np.uint32(seed) if isinstance(seed, int) else seed
    mixed = fmix32(seeds ^ (codes * np.uint32(GOLDEN)))
    return ((mixed.astype(np.uint64) * np.uint64(colours)) >> np.uint64(32)).astype(np.uint32)

"""Weights and the partition (spec section 7)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ctwl_protocol import hashing
from ctwl_protocol.partition import reference
from ctwl_protocol.partition.toy import toy_weights

from .family import COUNT, JSON, SIGMA, WORD, Case, Family, array, shape

__all__ = ["FAMILIES"]


def _weights(data: JSON) -> JSON:
    logits = np.array(data["logits"][: data["vocabulary"]], dtype=np.float32).astype(np.float64)
    exponent = np.exp(logits - logits.max())
    weights = reference.quantize(exponent / exponent.sum(), data["weight_bits"])
    weights[data["special"]] = 0
    return {"weights": weights.tolist()}


def _members(data: JSON) -> JSON:
    weights = np.array([data["weights"]], dtype=np.uint32)
    seeds = np.array([data["seed"]], dtype=np.uint32)
    inside = reference.members(weights, seeds, (data["sigma"][0], data["sigma"][1]))[0]
    size = weights.shape[1]
    below = reference.mass_below(np.tile(weights, (size, 1)), np.arange(size), np.tile(seeds[:, None], (size, 1)))
    return {"members": np.flatnonzero(inside).tolist(), "below": below[:, 0].tolist()}


def _toy(data: JSON) -> JSON:
    weights = toy_weights(np.array([data["window"]], dtype=np.int64), 256)[0]
    return {"weights": weights[data["tokens"]].tolist()}


def _weight_cases() -> Iterator[Case]:
    def case(logits: list[float], bits: int = 24, special: tuple[int, ...] = (), vocabulary: int | None = None) -> JSON:
        size = len(logits) if vocabulary is None else vocabulary
        return {"logits": logits, "vocabulary": size, "weight_bits": bits, "special": list(special)}

    # Values whose P * 2^bits lies far from a half, so that the last digit of an exponential decides nothing.
    yield "two alike", case([0.0, 0.0])
    yield "three alike", case([1.5, 1.5, 1.5])
    yield "rounded up", case([0.0] * 3, bits=9)
    yield "rounded down", case([0.0] * 3, bits=8)
    yield "one has it all", case([100.0, 0.0, -100.0])
    yield "a half is rounded up", case([0.0] * 512, bits=8)
    yield "a shift changes nothing", case([1000.0, 1001.0, 1003.0], bits=12)
    yield "8 bits", case([0.0, 1.0, 2.0, 3.0], bits=8)
    yield "24 bits", case([0.0, 1.0, 2.0, 3.0])
    yield "special tokens weigh 0 and keep their share", case([0.0] * 4, special=(0, 3))
    yield "rows of padding are not looked at", case([0.0, 0.0, 50.0, 50.0], vocabulary=2)


def _member_cases() -> Iterator[Case]:
    def heavy(size: int, seed: int) -> list[int]:
        """Weights of a made-up distribution with a heavy head and many zeros, from the hash scheme alone."""
        mixed = hashing.fmix32(np.arange(size, dtype=np.uint32) + np.uint32(seed))
        return [int(w) for w in np.uint32(1 << 24) >> (mixed & np.uint32(31))]

    sizes = ((1, [1, 2], 1), (2, [1, 2], 7), (16, [1, 2], 5), (64, [1, 2], 9), (64, [1, 4], 9))
    for size, sigma, seed in sizes:
        yield f"{size} tokens, sigma {sigma}, seed {seed}", {
            "weights": heavy(size, seed), "seed": seed, "sigma": sigma,
        }  # fmt: skip
    yield "no weight at all", {"weights": [0, 0, 0], "seed": 3, "sigma": [1, 2]}
    yield "one token has it all", {"weights": [0, 5, 0, 0], "seed": 3, "sigma": [1, 2]}
    yield "an exact half falls outside", {"weights": [1, 1], "seed": 3, "sigma": [1, 2]}
    yield "an exact quarter falls outside", {"weights": [1] * 8, "seed": 12, "sigma": [1, 4]}
    yield "two thirds", {"weights": [1] * 9, "seed": 12, "sigma": [2, 3]}
    yield "the least sigma", {"weights": heavy(16, 21), "seed": 21, "sigma": [1, 65536]}
    yield "the greatest sigma", {"weights": heavy(16, 21), "seed": 21, "sigma": [65535, 65536]}
    yield "the largest seed", {"weights": heavy(16, 4), "seed": 2**32 - 1, "sigma": [1, 2]}
    yield "a total near 2^32", {"weights": [1 << 24] * 255, "seed": 8, "sigma": [1, 2]}
    yield "tokens without weight have members too", {"weights": [0, 0, 0, 0, 7, 7], "seed": 2, "sigma": [1, 2]}


def _toy_cases() -> Iterator[Case]:
    every = list(range(256))
    yield "the example of 7.3", {"window": list(b"The "), "tokens": list(b"abc")}
    yield "all tokens", {"window": list(b"The "), "tokens": every}
    yield "the ends of printable ASCII", {"window": list(b"toy!"), "tokens": [31, 32, 126, 127]}
    yield "the window's order counts", {"window": list(b" ehT"), "tokens": list(b"abc")}
    yield "zeros", {"window": [0, 0, 0, 0], "tokens": every}
    yield "the largest ids", {"window": [255, 255, 255, 255], "tokens": every}
    yield "a longer window", {"window": list(b"ten tokens"), "tokens": list(b"abc")}
    yield "a window of one token", {"window": [97], "tokens": list(b"abc")}


FAMILIES = (
    Family(
        "weights", "7.1", "Logits over the rows, the vocabulary's size, weight_bits and special ids to the weights.",
        shape(
            logits=array({"type": "number"}, 1), vocabulary=COUNT, weight_bits=COUNT, special=array(COUNT)
        ),
        shape(weights=array(COUNT)), _weights, _weight_cases,
    ),
    Family(
        "members", "7.2",
        "Weights, a permutation's seed and sigma to the members of V, ascending, and each token's S(v).",
        shape(weights=array(WORD, 1), seed=WORD, sigma=SIGMA), shape(members=array(COUNT), below=array(WORD)),
        _members, _member_cases,
    ),
    Family(
        "toy-weights", "7.3", "A window and tokens to the tokens' toy weights in a vocabulary of 256.",
        shape(window=array(COUNT), tokens=array(COUNT)), shape(weights=array(COUNT)), _toy, _toy_cases,
    ),
)  # fmt: skip

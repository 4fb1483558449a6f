"""Scores: the evidence for each code, summed over contexts (spec section 10, step 6; the paper's equation 9).

The score of code ``m`` is the sum over contexts ``c`` of ``table[c, colour(c, m)]``. :func:`score_codes` scores any
codes with NumPy and reads like the specification; :func:`score_all` scores the whole code space in a compiled loop.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol import Profile, hashing
from ctwl_protocol.kernel import fmix32_scalar, in_chunks, jit

from .hits import Evidence

__all__ = ["score_all", "score_codes"]

_BLOCK = 1 << 13
_GOLDEN = np.uint32(hashing.GOLDEN)


def _seeds(profile: Profile, evidence: Evidence) -> NDArray[np.uint32]:
    contexts = evidence.contexts.tolist()
    return np.array([hashing.colour_seed(profile.key, context) for context in contexts], dtype=np.uint32)


def score_codes(profile: Profile, evidence: Evidence, codes: NDArray[np.uint32]) -> NDArray[np.int32]:
    """Scores of the given codes: int32, the shape of ``codes``. The NumPy reference."""
    scores = np.zeros(codes.shape, dtype=np.int32)
    for seed, row in zip(_seeds(profile, evidence), evidence.table, strict=True):
        scores += row[hashing.code_colours(int(seed), codes, profile.colours)]
    return scores


@jit
def _score(seeds: Any, table: Any, scores: Any, start: int, stop: int) -> None:
    colours = np.uint64(table.shape[1])
    for block in range(start, stop, _BLOCK):  # a block of scores stays in the first-level cache
        end = min(block + _BLOCK, stop)
        for c in range(len(seeds)):
            row = table[c]
            for code in range(block, end):
                mixed = fmix32_scalar(np.uint32(seeds[c] ^ np.uint32(np.uint32(code) * _GOLDEN)))
                scores[code] += row[np.int64((np.uint64(mixed) * colours) >> np.uint64(32))]


def score_all(profile: Profile, evidence: Evidence) -> NDArray[np.int32]:
    """Scores of the whole code space: int32 (2^code_bits,)."""
    scores = np.zeros(profile.codes, dtype=np.int32)
    seeds = _seeds(profile, evidence)
    in_chunks(lambda start, stop: _score(seeds, evidence.table, scores, start, stop), profile.codes)
    return scores

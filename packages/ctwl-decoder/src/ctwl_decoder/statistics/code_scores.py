"""Scores: the evidence for each code, summed over contexts (spec section 10, step 6; the paper's equation 9).

The score of code ``m`` is the sum over contexts ``c`` of ``table[c, colour(c, m)]``. :meth:`.ScoreTable.score` sums
it for one code in NumPy, :func:`score_all` for many codes in a compiled loop. The best code of each window of a long
text is found in :mod:`.window_scores`.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol.profile.document import Profile
from ctwl_protocol.threads import in_chunks

from .scored_positions import ScoreTable


def code_space(profile: Profile) -> NDArray[np.uint32]:
    """Every code of a profile: uint32 (2^code_bits,), read-only."""
    return _codes_below(profile.codes)


@cache
def _codes_below(count: int) -> NDArray[np.uint32]:
    codes = np.arange(count, dtype=np.uint32)
    codes.flags.writeable = False
    return codes


def score_all(table: ScoreTable, codes: NDArray[np.uint32]) -> NDArray[np.int32]:
    """The scores of many codes: int32 (codes,); of one, see :meth:`.scored_positions.ScoreTable.score`."""
    from .compiled import score

    scores = np.empty(len(codes), dtype=np.int32)
    in_chunks(lambda start, stop: score(table.seeds, table.scores, codes, scores, start, stop), len(codes))
    return scores


def best_codes(table: ScoreTable, codes: NDArray[np.uint32], most: int) -> NDArray[np.uint32]:
    """The codes of highest score, the best first, the smallest of equals: uint32, at most ``most``."""
    scores = score_all(table, codes)
    if most < len(codes):
        least = np.partition(scores, len(scores) - most)[len(scores) - most]
        codes, scores = codes[scores >= least], scores[scores >= least]
    best: NDArray[np.uint32] = codes[np.lexsort((codes, -scores))[:most]]
    return best

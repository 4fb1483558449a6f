"""The scores of codes in NumPy, as the specification writes them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ctwl_decoder.statistics.scored_positions import ScoreTable
from ctwl_protocol import hashing


def score_codes(table: ScoreTable, codes: NDArray[np.uint32]) -> NDArray[np.int32]:
    """Scores of the given codes: int32, the shape of ``codes``."""
    scores = np.zeros(codes.shape, dtype=np.int32)
    for seed, row in zip(table.seeds, table.scores, strict=True):
        scores += row[hashing.code_colours(int(seed), codes, len(row))]
    return scores

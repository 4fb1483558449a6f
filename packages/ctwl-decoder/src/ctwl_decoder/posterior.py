"""The paper's own test, as a compatibility mode (Wang et al. 2024, equation 9 and section 6.2).

With a uniform prior over codes and one nat of log-probability per hit, the posterior of a code is the softmax of the
scores; a text counts as watermarked when the best code's posterior reaches 1 - 1e-5. Every position counts, repeated or
not. The posterior compares codes with each other, not a text with human text: it is no false-positive rate.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["THRESHOLD", "posterior"]

THRESHOLD = 1 - 1e-5


def posterior(scores: NDArray[np.int32], code: int) -> float:
    """Posterior probability of ``code``: the softmax of the scores of the whole code space at it."""
    return float(1 / np.exp(scores.astype(np.float64) - float(scores[code])).sum())

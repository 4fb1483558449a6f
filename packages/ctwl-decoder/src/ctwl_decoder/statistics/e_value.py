"""E-values: how rarely a text that the language model expects fits a code as well (spec section 12).

At each context the likelihood ratio of a single code has the mean 1 over texts that the language model expects
(:mod:`.scores`), and so has a mean of the ratio and 1, which is the ratio of an unmarked context. The product over
contexts has the mean 1 too, and so has a mean of such products. It is an e-value (Vovk and Wang 2021): texts reach
``1 / alpha`` with a chance of at most ``alpha``. It is exact where each token is a rival; the others, which are rare,
count together as 1 in the mean, and by themselves where they are shown.

How many contexts others have edited is not known, so the mean is over several shares. By one small share alone, each
edited context would take away more than an untouched one gives, and a long text would be lost where a short one is
found.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol.numbers import NUMBERS

from .scores import NAT

UNMARKED_CONTEXTS = NUMBERS.scores.unmarked_contexts
"""The shares of the contexts that may be unmarked, beside the positions that the scores take to be so."""


def log_e_value(units: NDArray[np.int32]) -> float:
    """The natural logarithm of a code's e-value.

    Args:
        units: int32 (contexts,), what the code scores in each context.
    """
    ratios = units / NAT
    products = [np.logaddexp(math.log1p(-share) + ratios, math.log(share)).sum() for share in UNMARKED_CONTEXTS]
    return float(np.logaddexp.reduce(products)) - math.log(len(products))

"""The lots of ``race``: the part of a race that the code decides (spec section 8.3).

A Gumbel variable is the sum of two independent variables: ``alpha`` times a Gumbel variable, and a variable of Cardell
(1997), ``alpha`` times the logarithm of a positive stable variable of index ``alpha``. The code gives each token the
second one, as a quantile that the token's rank names. Chance adds the first one.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

RANKS = 1 << 32
"""The number of ranks."""

FIRST, LAST, CELLS = -3.25, 23.0, 4096
"""The tables go from the first to the last of these quantiles of Gumbel's distribution, in so many equal cells. A rank
has no other quantile. By linear interpolation a lot is exact to 1e-4."""


def quantiles(ranks: NDArray[np.uint32]) -> NDArray[np.float64]:
    """The quantiles of Gumbel's distribution that ranks name, the largest for rank 0: float64, as ranks has them."""
    x = (ranks.astype(np.float64) + 0.5) / RANKS
    return -np.log(-np.log1p(-x))


@lru_cache(maxsize=128)  # more than there are shares in hundredths; each takes 32 KB and a tenth of a second
def table(share: float) -> NDArray[np.float64]:
    """The lots at the borders of the cells: float64 (CELLS + 1,), ascending, read-only.

    Args:
        share: the part of the race that the code decides, ``1 - alpha``, above 0 and below 1.
    """
    lots = np.linspace(FIRST - 2, LAST + 4, 4096)
    at = np.interp(np.linspace(FIRST, LAST, CELLS + 1), _gumbel_quantiles(lots, 1 - share), lots)
    at.flags.writeable = False
    return at


def lots(share: float, ranks: NDArray[np.uint32]) -> NDArray[np.float64]:
    """The lots of tokens: float64, as ranks has them."""
    return np.interp(quantiles(ranks), np.linspace(FIRST, LAST, CELLS + 1), table(share))


def _gumbel_quantiles(lots: NDArray[np.float64], alpha: float) -> NDArray[np.float64]:
    """The quantile of Gumbel's distribution that is as rare as each lot: float64, as lots has them.

    By Zolotarev's integral: a positive stable variable is at most ``s`` with the mean chance ``exp(-s^(-alpha / (1 -
    alpha)) a(theta))`` over an angle ``theta`` that is uniform from 0 to pi (Kanter 1975). ``a`` grows without bound
    towards pi, so the integral goes over the logarithm of the distance from there.
    """
    log_distance = np.linspace(-36.0, np.log(np.pi), 1441)[:-1]
    distance = np.exp(log_distance)
    theta, ratio = np.pi - distance, alpha / (1 - alpha)
    log_a = np.log(np.sin((1 - alpha) * theta)) + ratio * np.log(np.sin(alpha * theta))
    log_a -= (1 + ratio) * np.log(np.sin(distance))
    weights = distance * (log_distance[1] - log_distance[0]) / np.pi
    weights[-1] += 1 - weights.sum()
    log_y = -lots / (1 - alpha)
    y = np.exp(np.minimum(log_y[:, None] + log_a, 700.0))
    above, below = -np.expm1(-y) @ weights, np.maximum(np.exp(-y) @ weights, 1e-300)
    # -ln(-ln(1 - above)), each tail from its own sum
    found: NDArray[np.float64] = -np.log(np.where(above < 0.5, -np.log1p(-np.minimum(above, 0.5)), -np.log(below)))
    return found

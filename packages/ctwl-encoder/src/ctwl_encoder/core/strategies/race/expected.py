"""What ``race`` is expected to say, see :func:`ctwl_encoder.core.expected_evidence.expected_nats`."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

_LEAST = 2**-12.5
"""Below this probability a token's rank shows no more."""


def nats(chances: NDArray[np.float64], hits: NDArray[np.float32], share: float) -> NDArray[np.float64]:  # noqa: ARG001
    """The expected log-likelihood ratios, in nats, of tokens that ``race`` wrote: float64 (n,).

    All other tokens of the race are as one: a sum of stable variables is one again. The ratio of two positive stable
    variables of index ``alpha``, to the power of ``alpha``, has the density ``sin(pi alpha) / (pi alpha (r^2 + 2 r
    cos(pi alpha) + 1))`` (Lamperti 1958). Where it is ``r``, the token wins with the probability ``1 / (1 + ((1 - p) /
    (p r))^(1 / alpha))``, see :func:`.reference.gained`.

    Args:
        chances: float64 (n,), the tokens' probabilities.
        hits: nothing here.
        share: the part of the race that the code decides.
    """
    logs, told = _table(share)
    return np.interp(np.log(np.maximum(chances, _LEAST)), logs, told)


@lru_cache(maxsize=64)
def _table(share: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Logarithms of probabilities, and what tokens of these are expected to say: float64 (129,) each."""
    alpha, log_p, log_r = 1 - share, np.linspace(math.log(_LEAST), -1e-9, 129), np.linspace(-30, 30, 1201)
    r = np.exp(log_r)
    density = math.sin(math.pi * alpha) / (math.pi * alpha * (r + 2 * math.cos(math.pi * alpha) + 1 / r))
    log_odds = (log_p - np.log(-np.expm1(log_p)))[:, None] + log_r
    log_won = -np.logaddexp(0, -log_odds / alpha)
    gained = log_won - log_p[:, None]
    return log_p, (np.exp(gained) * gained) @ density * (log_r[1] - log_r[0])

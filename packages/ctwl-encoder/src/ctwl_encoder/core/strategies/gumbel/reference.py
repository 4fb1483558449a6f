"""``gumbel`` in NumPy (spec section 8.4): the reference."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol.bridge import Branch

from ..traits import Lots


def exponential_minimum(branch: Branch, lots: Lots) -> NDArray[np.float64]:
    """The factor of each candidate's probability: float64 (n,).

    The candidates of one proxy token get the branch's whole mass. A token of probability ``p``, rank ``r`` and lot
    ``u = (r + 1/2) / 2^32`` gets the time ``-ln(1 - u) / p``; the token with the least time is kept. Some tokens may
    have lots of the text's own instead. Over random permutations these are exponential times of rate ``p``, so each
    token is kept with its own probability: the Gumbel-max trick (Aaronson 2022; exponential minimum sampling of
    Kuditipudi et al. 2023). The token that is kept mostly has a low rank, and so lies in ``V``.

    Args:
        branch: the branch.
        lots: the lots of its tokens.
    """
    tokens, shown = np.unique(branch.tokens, return_inverse=True)
    mass = np.bincount(shown, weights=branch.mass)
    times = -np.log1p(-lots.of(tokens)) / np.maximum(mass, 1e-300)
    winner = int(times.argmin())
    return np.where(shown == winner, mass.sum() / mass[winner], 0.0)

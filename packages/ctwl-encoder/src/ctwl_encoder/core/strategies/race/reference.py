"""``race`` in NumPy (spec section 8.3): the reference."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol.bridge import Branch
from ctwl_protocol.hashing import ranks_of

from .lots import lots


def gained(branch: Branch, seed: int, share: float) -> NDArray[np.float64]:
    """The nats that are added to the logit of each candidate: float64 (n,).

    In a race, token ``v`` of probability ``p`` gets the number ``ln p + g``, where ``g`` is a Gumbel variable; the
    largest number wins, and each token wins with its probability (the Gumbel-max trick). The code decides the lot
    ``l``, a part of ``g`` (:mod:`.lots`), and leaves ``1 - share`` times a Gumbel variable to chance. So a token wins
    with a probability in proportion to ``exp((ln p + l) / (1 - share))``. Averaged over permutations that is ``p``.

    The candidates of one proxy token run together, with their whole mass, and share what it wins.

    Args:
        branch: the branch.
        seed: of the permutation, ``s(c, a)``.
        share: the part of the race that the code decides, above 0 and below 1.
    """
    tokens, shown = np.unique(branch.tokens, return_inverse=True)
    mass = np.log(np.maximum(np.bincount(shown, weights=branch.mass), 1e-300))
    numbers = (mass + lots(share, ranks_of(np.uint32(seed), tokens))) / (1 - share)
    won = numbers - np.logaddexp.reduce(numbers) + np.logaddexp.reduce(mass) - mass
    nats: NDArray[np.float64] = won[shown]
    return nats

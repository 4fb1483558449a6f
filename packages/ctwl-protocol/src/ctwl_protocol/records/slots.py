"""Framing: the slot of a record that a position carries (spec section 9.4)."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import hashing
from ..numbers import NUMBERS
from ..profile.document import Profile
from ..text.positions import Positions
from .layouts import MAX_CODES

TAIL = NUMBERS.records.slot_tail
"""At most this many tokens before a position decide its slot."""

Word = TypeVar("Word", int, NDArray[np.int64])


def slot_of(codes: int, word: Word) -> Word:
    """The slot of a position, or of many: 0 to ``n - 1`` for the codes, ``n`` for the check of several codes.

    The slots are interleaved, so any passage holds all of them. The beacon is read first, so it has twice the share of
    any other slot.

    Args:
        codes: n, the number of the record's codes.
        word: ``u``, :func:`ctwl_protocol.hashing.slot_word` of the last ``min(TAIL, L_prefix)`` tokens.

    Returns:
        The slot, of the type and shape of ``word``.
    """
    part = word * (codes + 2) >> 32 if codes > 1 else word * 0
    return part - (part > 0)


def slot_table(profile: Profile, positions: Positions) -> NDArray[np.uint8]:
    """The slot of every position for records of each number of codes: uint8 (positions, MAX_CODES)."""
    tails, index = np.unique(positions.prefixes[:, -TAIL:], axis=0, return_inverse=True)
    values = [hashing.slot_word(profile.key, tail) for tail in tails.tolist()]
    words = np.array(values, dtype=np.int64)[index.reshape(-1)]
    return np.stack([slot_of(codes, words) for codes in range(1, MAX_CODES + 1)], axis=1).astype(np.uint8)

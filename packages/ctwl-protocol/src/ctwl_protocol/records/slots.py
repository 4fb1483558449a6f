"""Framing: which of a record's slots a position carries (spec section 9.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import hashing
from ..profile.document import Profile
from ..text.positions import Positions
from .layouts import MAX_CODES, slots_of

__all__ = ["SEGMENT", "TAIL", "slot_of", "slot_word", "slots"]

TAIL = 2
"""How many tokens before a position decide its slot, at most, where codes are interleaved."""

SEGMENT = 50
"""Positions in a row that carry the same slot where a profile has them segmented."""

Word = TypeVar("Word", int, NDArray[np.int64])


def slot_word(profile: Profile, tail: Sequence[int]) -> int:
    """``u``: the 32-bit word that decides the slot behind these tokens where codes are interleaved.

    Args:
        profile: the profile.
        tail: the last ``min(TAIL, L_prefix)`` tokens before the position, oldest first.
    """
    return hashing.slot_word(profile.key, tail)


def slot_of(profile: Profile, codes: int, word: Word, index: Word) -> Word:
    """The slot of a position, or of many: 0 to ``n - 1`` for the codes, ``n`` for the check of several.

    Interleaved: any passage holds all slots, and the beacon, which has to be read first, has twice the share of
    another. Segmented: every :data:`SEGMENT` positions the next slot, in turn.

    Args:
        profile: the profile, which pins the framing.
        codes: n, the number of the record's codes.
        word: u, see :func:`slot_word`.
        index: the position's place among the text's positions, from 0.
    """
    if profile.framing == "segmented":
        return index // SEGMENT % slots_of(codes)
    part = word * (codes + 2) >> 32 if codes > 1 else word * 0
    return part - (part > 0)


def slots(profile: Profile, positions: Positions) -> NDArray[np.uint8]:
    """The slot of every position for records of one to four codes: uint8 (positions, 4)."""
    index = np.arange(len(positions), dtype=np.int64)
    words = index
    if profile.framing == "interleaved":
        tails, place = np.unique(positions.prefixes[:, -TAIL:], axis=0, return_inverse=True)
        found = [slot_word(profile, tail) for tail in tails.tolist()]
        words = np.array(found, dtype=np.int64)[place.reshape(-1)]
    columns = [slot_of(profile, codes, words, index) for codes in range(1, MAX_CODES + 1)]
    return np.stack(columns, axis=1).astype(np.uint8)

"""Texts that remember where each of their characters came from, so that findings point into what the reader pasted."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol.normalization import DELETED, WHITE_SPACE, normalize_within

__all__ = ["Edit", "Mapped", "normalized"]

Edit = tuple[int, int, str]
"""Characters ``start`` to ``end`` become another string."""

_CHANGED = re.compile(f"\r[{DELETED}]*[\n\x85\u2028\u2029]|[\x00-\x7f]?[^\x00-\x7f]+|\r")
"""What normalisation may change: an ASCII character joins nothing before it, but for the second half of a line end."""


@dataclass(frozen=True)
class Mapped:
    """A text made from another one.

    Attributes:
        text: the text.
        source: int64 (len(text) + 1,), where each character, and the end, stood in the original; never descends.
    """

    text: str
    source: NDArray[np.int64]

    @classmethod
    def of(cls, text: str) -> Mapped:
        """A text as it was given."""
        return cls(text, np.arange(len(text) + 1))

    def edited(self, edits: Iterable[Edit]) -> Mapped:
        """This text with some parts replaced; the edits ascend and do not overlap."""
        texts: list[str] = []
        places: list[int] = []
        done = 0
        for start, end, new in edits:
            texts += [self.text[done:start], new]
            places.extend(range(done, start))
            places.extend(start + i * (end - start) // len(new) for i in range(len(new)))
            done = end
        texts.append(self.text[done:])
        places.extend(range(done, len(self.source)))
        return Mapped("".join(texts), self.source[np.array(places, dtype=np.int64)])


def normalized(given: Mapped) -> Mapped:
    """``ctwl-n1`` of a text (spec section 5.1), as :func:`ctwl_protocol.normalization.normalize`."""
    found = given
    if not given.text.isascii() or "\r" in given.text:
        pieces = ((m.start(), m.end(), m.group()) for m in _CHANGED.finditer(given.text))
        changed = ((start, end, piece, normalize_within(piece)) for start, end, piece in pieces)
        found = given.edited((start, end, new) for start, end, piece, new in changed if new != piece)
    head = len(found.text) - len(found.text.lstrip(WHITE_SPACE))
    tail = max(len(found.text.rstrip(WHITE_SPACE)), head)
    return Mapped(found.text[head:tail], found.source[head : tail + 1])

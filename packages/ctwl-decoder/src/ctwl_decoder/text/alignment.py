"""Aligned texts: each character knows its place in the text as given, so that spans can point there."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol.numbers import NUMBERS
from ctwl_protocol.text.normalization import DELETED, WHITE_SPACE, normalize_within

from ..errors import NotText

Edit = tuple[int, int, str]
"""Characters ``start`` to ``end`` are replaced by a string."""

_LINE_ENDS = "\n" + "".join(map(chr, NUMBERS.text.line_ends))
_DELETED = re.compile(f"[{DELETED}]+")
_CHANGED = re.compile(f"\r[{_LINE_ENDS}]|[\x00-\x7f]?[^\x00-\x7f]+|\r")
"""Pieces that normalization may change otherwise. No ASCII character combines with one before it, except inside a line
end."""

MAX_MARKS = NUMBERS.text.marks_in_a_row
"""Most combining marks in a row, without invisible characters."""


@dataclass(frozen=True)
class AlignedText:
    """A text made from another one.

    Attributes:
        text: the text.
        source: int64 (len(text) + 1,), the place of each character, and of the end, in the original; never descends.
    """

    text: str
    source: NDArray[np.int64]

    @classmethod
    def of(cls, text: str) -> AlignedText:
        """A text as it was given."""
        return cls(text, np.arange(len(text) + 1))

    def edited(self, edits: Iterable[Edit]) -> AlignedText:
        """This text with some parts replaced; the edits ascend and do not overlap."""
        edits = list(edits)
        if not edits:
            return self
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
        return AlignedText("".join(texts), self.source[np.array(places, dtype=np.int64)])

    def replaced(self, pattern: re.Pattern[str], new: str) -> AlignedText:
        """This text with what a pattern finds replaced, as by ``re.sub``."""
        return self.edited((*found.span(), found.expand(new)) for found in pattern.finditer(self.text))


def normalize_aligned(given: AlignedText) -> AlignedText:
    """``ctwl-n1`` of a text (spec section 5.1), as :func:`ctwl_protocol.text.normalization.normalize`.

    Raises:
        NotText: more than :data:`MAX_MARKS` marks on one letter.
    """
    normalized = given
    if not given.text.isascii() or "\r" in given.text:
        # What nobody sees goes first, so that a run of it moves no place of the characters around it.
        seen = given.replaced(_DELETED, "")
        changed = ((found, _normalized(found[0])) for found in _CHANGED.finditer(seen.text))
        normalized = seen.edited((*found.span(), new) for found, new in changed if new != found[0])
    head = len(normalized.text) - len(normalized.text.lstrip(WHITE_SPACE))
    tail = max(len(normalized.text.rstrip(WHITE_SPACE)), head)
    return AlignedText(normalized.text[head:tail], normalized.source[head : tail + 1])


def _normalized(piece: str) -> str:
    if len(piece) > MAX_MARKS and _piled(piece):
        raise NotText(
            f"the text piles more than {MAX_MARKS} combining marks on one letter, as no script does; remove them"
        )
    return normalize_within(piece)


def _piled(run: str) -> bool:
    """Whether more than :data:`MAX_MARKS` combining marks follow each other."""
    groups = groupby(run, lambda character: unicodedata.combining(character) > 0)
    return any(marks and sum(1 for _ in group) > MAX_MARKS for marks, group in groups)

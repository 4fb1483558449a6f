"""What a reader finds of a text, from how many tokens on, and after words were replaced."""

from __future__ import annotations

import re
import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ctwl_decoder import Decoder

if TYPE_CHECKING:
    from ctwl_protocol.proxy import Proxy

EDITS = 0.1, 0.25
"""Shares of a text's words that are replaced. Chosen by hand: a careful edit and a thorough one."""

_WORD = re.compile(r"[^\W\d_]+")


def words(text: str) -> list[str]:
    """The words of a text: runs of letters."""
    return _WORD.findall(text)


def reworded(text: str, share: float, others: Sequence[str], rng: np.random.Generator) -> str:
    """A text with a share of its words replaced, each by one of some others. It needs no table of a language.

    Args:
        text: the text.
        share: of its words, which are drawn.
        others: what they are replaced by; where there are none, the text's own.
        rng: draws.
    """
    places, others = list(_WORD.finditer(text)), others or words(text)
    for place in sorted(rng.permutation(len(places))[: round(share * len(places))], reverse=True):
        word = others[int(rng.integers(len(others)))]
        text = text[: places[place].start()] + word + text[places[place].end() :]
    return text


class Reader:
    """Reads texts as the public decoder does by default."""

    def __init__(self, proxy: Proxy) -> None:
        """Make a decoder of a proxy LM."""
        self._decoder = Decoder(proxy)

    def code(self, text: str) -> int | None:
        """The code that is found in a text; None where none is."""
        return self._decoder.decode(text).code if text else None

    def seconds(self, text: str) -> float:
        """How long it takes to read a text, the second time."""
        self.code(text)
        began = time.perf_counter()
        self.code(text)
        return time.perf_counter() - began

    def found_at(self, cut: Callable[[int], str], code: int, lengths: Sequence[int]) -> int:
        """The shortest of some lengths at which a code is found that is found in the whole text.

        A text that is cut short says less, so the length is found by halving.

        Args:
            cut: gives the text's first tokens.
            code: what is found in the whole text.
            lengths: in tokens, ascending; the last one is the whole text's.
        """
        return lengths[bisect_left(lengths, True, hi=len(lengths) - 1, key=lambda each: self.code(cut(each)) == code)]

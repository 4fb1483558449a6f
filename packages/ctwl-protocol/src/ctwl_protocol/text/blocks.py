"""Blocks: how a text of any length is read by whole context in bounded memory (spec section 5.5)."""

from __future__ import annotations

from typing import NamedTuple

from ..numbers import NUMBERS

LENGTH = NUMBERS.blocks.length
"""Most tokens of a block."""

OVERLAP = NUMBERS.blocks.overlap
"""Tokens of the block before that a block begins with."""


class Block(NamedTuple):
    """Tokens that the proxy LM sees at once.

    Attributes:
        start: the first token that it sees.
        first: the first token that it weighs; the tokens before are context alone.
        end: the place after the last token of both.
    """

    start: int
    first: int
    end: int


def blocks_of(tokens: int, first: int, longest: int = LENGTH) -> list[Block]:
    """The blocks of a text, in order; each token from ``first`` on is weighed in one of them.

    Args:
        tokens: of the text.
        first: the first token that is weighed, at least 1 and at most OVERLAP.
        longest: most tokens that the proxy LM can see at once; a block is no longer.
    """
    length = min(LENGTH, longest)
    blocks, start = list[Block](), 0
    while first < tokens:
        end = min(start + length, tokens)
        blocks.append(Block(start, first, end))
        first, start = end, end - min(OVERLAP, length // 2)
    return blocks

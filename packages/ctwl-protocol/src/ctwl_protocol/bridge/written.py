"""The proxy's tokens of a text that is still being written, updated with each token of the provider's model.

A text is cut where its proxy tokens can no longer change, whatever follows. Only the tail after the cut, a word or
two, is tokenized again when it grows. So a step costs the same in a long text as in a short one. The tokens are exact,
except where a tail without such a place grew too long and was cut by force: there a reader may see others.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..proxy.tokenizer import ProxyTokenizer
from ..text.normalization import DELETED, WHITE_SPACE, normalize_within
from ..text.splitting import SplittingRule, build_splitter
from .continuations import Continuations, Path

MAX_TAIL = 256
"""Characters of a tail without a cut; a longer tail is cut by force. Chosen by hand: longer than any word; a larger
value costs time in texts without spaces."""

_TRIED = 8
"""Tokens after the middle of a tail at whose ends it may be cut by force. Chosen by hand: a character has four bytes
at most, so a token near the middle begins one."""


class Kind(IntEnum):
    """Characters as the splitting rules tell them apart."""

    LETTER = 0
    DIGIT = 1
    MARK = 2
    """Neither letter, digit nor white space."""
    APOSTROPHE = 3
    """Its contractions ('s, 'll) may swallow the letters that follow."""
    SPACE = 4
    """Joins what follows, where :func:`spaced` says so."""
    WHITE = 5
    """White space other than the space."""
    OPEN = 6
    """A character that may merge with its neighbours under NFC, or that Python's Unicode does not know."""


_RETURN = re.compile(rf"\r[{re.escape(DELETED)}]*\Z")
"""A carriage return that may belong to a line feed that follows; deleted characters between them do not matter."""


@lru_cache(maxsize=1 << 16)
def kind(character: str) -> Kind:
    """The kind of a character of normalized text."""
    if character == " ":
        return Kind.SPACE
    if character in WHITE_SPACE:
        return Kind.WHITE
    if character == "'":
        return Kind.APOSTROPHE
    category = unicodedata.category(character)
    if category[0] == "M" or category == "Cn" or "\u1100" <= character <= "\u11ff":
        return Kind.OPEN
    return {"L": Kind.LETTER, "N": Kind.DIGIT}.get(category[0], Kind.MARK)


_SAMPLES = {Kind.LETTER: "xAs中", Kind.DIGIT: "1٢", Kind.MARK: "<._。", Kind.APOSTROPHE: "'", Kind.WHITE: "\n\t\u00a0"}
"""Characters by which a rule is asked what it does with their kind."""


@lru_cache
def breaks(rule: SplittingRule) -> NDArray[np.bool_]:
    """Where a splitting rule cuts for certain: bool (7, 7), by the kind before and the kind after.

    The rules of spec section 5.2 match from left to right, so where a match ends for certain, what lies before it is
    settled. It ends for certain if it does whatever two characters follow. Nothing ends before what may merge with it,
    behind what only white space parts from others, or behind a space, which may begin the next piece.
    """
    samples = _SAMPLES | {Kind.SPACE: " ", Kind.OPEN: "\u0301\u093f"}
    further = ["", *(each[0] for each in samples.values())]

    def pieces(text: str) -> list[str]:
        return [piece for piece, _ in splitter.pre_tokenize_str(text)]

    def cuts(run: str, after: str) -> bool:
        settled = pieces(run + after)[: -len(pieces(after))]
        return all(pieces(run + after + more) == settled + pieces(after + more) for more in further)

    splitter, table = build_splitter(rule), np.zeros((7, 7), dtype=np.bool_)
    for before, after in product(Kind, Kind):
        if before != Kind.SPACE and after != Kind.OPEN and (before != Kind.OPEN or after in (Kind.SPACE, Kind.WHITE)):
            pairs = product(samples[before], samples[after], range(1, 9))
            table[before, after] = all(cuts(x * n, y) for x, y, n in pairs)
    table.flags.writeable = False
    return table


def spaced(rule: SplittingRule) -> frozenset[Kind]:
    """The kinds of characters to which a space before them belongs under a rule, whatever stands before that."""
    split, before = build_splitter(rule).pre_tokenize_str, ("", *(each[0] for each in _SAMPLES.values()))

    def joins(one: str) -> bool:
        return all(split(each + " " + one)[-1][0] == split(" " + one)[0][0] for each in before)

    return frozenset(each for each, samples in _SAMPLES.items() if all(map(joins, samples)) and each != Kind.WHITE)


class Tail:
    """The end of a text, after the tokens that are settled, and what is known of the texts that go on from it.

    Attributes:
        text: normalized.
        tokens: its proxy tokens, as if the text ended here.
        pending: bytes that are no whole character yet, or a carriage return that may belong to a line feed.
        begun: whether anything stands before it; the white space that begins a text is no part of it.
        steps: by the next token of the provider's model, the step that it makes; filled as texts take them.
        continuations: what candidates do after it; None until it is asked for.
    """

    __slots__ = ("begun", "continuations", "pending", "steps", "text", "tokens")

    def __init__(self, text: str = "", tokens: Path = (), pending: bytes = b"", *, begun: bool = False) -> None:
        """Nothing is known of what follows yet."""
        self.text = text
        self.tokens = tokens
        self.pending = pending
        self.begun = begun
        self.steps: dict[int, Step] = {}
        self.continuations: Continuations | None = None


class Step(NamedTuple):
    """What a token of the provider's model, or some bytes, do after a tail.

    Attributes:
        tail: the tail after it.
        settled: proxy tokens that it settles.
        now: these and the tokens of the tail after it.
    """

    tail: Tail
    settled: Path
    now: Path

    @classmethod
    def to(cls, tail: Tail, settled: Path = ()) -> Step:
        """The step to a tail."""
        return cls(tail, settled, settled + tail.tokens)


@dataclass(slots=True)
class Written:
    """A text so far as the reader's tokens. It does not change, and it is small: each step of a text keeps its own.

    Attributes:
        keep: settled tokens that are kept.
        tail: the text after the settled tokens.
        count: how many proxy tokens are settled: they stay whatever follows.
        recent: the last of them, at most ``keep``.
    """

    keep: int
    tail: Tail
    count: int = 0
    recent: Path = ()

    def __len__(self) -> int:
        """Proxy tokens of the text so far."""
        return self.count + len(self.tail.tokens)

    def after(self, step: Step) -> Written:
        """The text after a step from its tail."""
        recent = (self.recent + step.settled)[-self.keep :]
        return Written(self.keep, step.tail, self.count + len(step.settled), recent)

    def before(self, path: Path, count: int) -> Path:
        """The last ``count`` tokens where the settled ones are followed by ``path``; fewer at the text's start."""
        return path[-count:] if count <= len(path) else (self.recent + path)[-count:]


def visible(data: bytes) -> tuple[str, bytes]:
    """Bytes as text, and the bytes at the end that may still become a character."""
    if data.isascii() and b"\r" not in data:
        return data.decode("ascii"), b""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(data)
    pending = decoder.getstate()[0]
    if "\r" in text and (held := _RETURN.search(text)):
        return text[: held.start()], b"\r" + pending
    return text, pending


def append_normalized(tail: Tail, data: bytes) -> tuple[str, bytes]:
    """The tail's text with bytes added, normalized, and what stays pending."""
    text, pending = visible(tail.pending + data)
    whole = normalize_within(tail.text + text)
    return (whole if tail.begun else whole.lstrip(WHITE_SPACE)), pending


def grow(before: Tail, data: bytes, tokenizer: ProxyTokenizer, table: NDArray[np.bool_]) -> Step:
    """The step that some bytes make.

    Args:
        before: the tail before it.
        data: what a token of the provider's model adds.
        tokenizer: the proxy's.
        table: of :func:`breaks`, for the proxy's splitting rule.
    """
    text, pending = append_normalized(before, data)
    if text == before.text:
        return Step.to(Tail(text, before.tokens, pending, begun=before.begun))
    cut = _last_cut(text, table)
    tokens, *rest = tokenizer.encode_within([text, text[cut:]] if cut else [text])
    settled: list[int] = []
    whole = len(text)
    if cut:
        # What lies before the cut is tokenized with what follows it: "\n\n" alone is another token than in "\n\nThe".
        settled, tokens, text = tokens[: len(tokens) - len(rest[0])], rest[0], text[cut:]
    elif whole > MAX_TAIL:
        settled, tokens, text = _force(tokens, text, tokenizer)
    after = Tail(text, tuple(tokens), pending, begun=before.begun or len(text) < whole)
    return Step.to(after, tuple(settled))


def _last_cut(tail: str, table: NDArray[np.bool_]) -> int:
    """The last position in the tail that settles what lies before it; 0 for none."""
    if not tail:
        return 0
    after = kind(tail[-1])
    for position in range(len(tail) - 1, 0, -1):
        before = kind(tail[position - 1])
        if table[before, after]:
            return position
        after = before
    return 0


def _force(tokens: list[int], tail: str, tokenizer: ProxyTokenizer) -> tuple[list[int], list[int], str]:
    """Settle the first half of a tail that is too long: up to a token that ends a character, else up to a character."""
    middle = len(tokens) // 2
    for count in range(middle, min(middle + _TRIED, len(tokens))):
        text = tokenizer.decode(np.array(tokens[count:], dtype=np.int64))
        if text and tail.endswith(text) and "\ufffd" not in text:
            return tokens[:count], tokens[count:], text
    half = len(tail) // 2
    settled, rest = tokenizer.encode_within([tail[:half], tail[half:]])
    return settled, rest, tail[half:]

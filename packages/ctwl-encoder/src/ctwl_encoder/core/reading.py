"""The proxy's tokens of a text that is still being written, updated with each token of the provider's model.

A text is cut where its proxy tokens can no longer change, whatever follows. Only the tail behind the cut, a word or
two, is tokenized again when it grows. So a step costs the same in a long text as in a short one, and the tokens are
exact.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol.proxy import ProxyTokenizer
from ctwl_protocol.text.normalization import DELETED, WHITE_SPACE, normalize_within
from ctwl_protocol.text.splitting import DIGITS_ALONE, SPLITS, SplittingRule

__all__ = ["Kind", "Reading", "append_normalized", "breaks", "common_prefix_length", "extend", "kind", "visible"]

_MAX_TAIL = 256
"""Characters of a tail without a cut; a longer tail is cut where a token ends. Chosen by hand: longer than any word; a
larger value costs time in texts without spaces."""


class Kind(IntEnum):
    """Characters as GPT-2's splitting rule tells them apart."""

    LETTER = 0
    DIGIT = 1
    MARK = 2
    """Neither letter, digit nor white space."""
    APOSTROPHE = 3
    """Its contractions ('s, 'll) may swallow the letters that follow."""
    SPACE = 4
    """Joins what follows."""
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


_BREAKS = np.zeros((7, 7), dtype=np.bool_)
_BREAKS[Kind.LETTER, [Kind.DIGIT, Kind.MARK, Kind.APOSTROPHE, Kind.SPACE, Kind.WHITE]] = True
_BREAKS[Kind.DIGIT, [Kind.LETTER, Kind.MARK, Kind.APOSTROPHE, Kind.SPACE, Kind.WHITE]] = True
_BREAKS[Kind.MARK, [Kind.LETTER, Kind.DIGIT, Kind.SPACE, Kind.WHITE]] = True
_BREAKS[Kind.APOSTROPHE, [Kind.SPACE, Kind.WHITE]] = True
_BREAKS[Kind.OPEN, [Kind.SPACE, Kind.WHITE]] = True
_BREAKS[Kind.WHITE, [Kind.LETTER, Kind.DIGIT, Kind.MARK, Kind.APOSTROPHE]] = True


def breaks(rule: SplittingRule) -> NDArray[np.bool_]:
    """Where a splitting rule cuts for certain: bool (7, 7), by the kind before and the kind behind.

    The rules of spec section 5.2 match from left to right and look at most one character ahead, so where a match ends
    for certain, what lies before it is settled.
    """
    table = _BREAKS.copy()
    table[Kind.DIGIT, Kind.DIGIT] = DIGITS_ALONE in SPLITS[rule]
    return table


@dataclass(frozen=True, slots=True)
class Reading:
    """A text so far as the reader's tokens; small, so that every step of a text may keep its own.

    Attributes:
        count: how many proxy tokens are settled: they stay whatever follows.
        recent: the last of them, at most ``keep``.
        settled: those that the last bytes settled.
        tail: normalized text behind them.
        tokens: the tail's proxy tokens, as if the text ended here.
        pending: bytes that are no whole character yet, or a carriage return that may belong to a line feed.
        keep: settled tokens that are kept.
    """

    keep: int
    count: int = 0
    recent: tuple[int, ...] = ()
    tail: str = ""
    tokens: tuple[int, ...] = ()
    pending: bytes = b""
    settled: tuple[int, ...] = ()

    def __len__(self) -> int:
        """Proxy tokens of the text so far."""
        return self.count + len(self.tokens)

    def stepped(self, step: Reading, before: tuple[int, ...] = ()) -> Reading:
        """This text after a step that was read behind the same tail in another text.

        Args:
            step: the other text after the step.
            before: where the step was read behind no tail, the tokens of this text's tail, which it settles.
        """
        settled = before + step.settled
        recent = (self.recent + settled)[-self.keep :] if settled else self.recent
        return Reading(self.keep, self.count + len(settled), recent, step.tail, step.tokens, step.pending, settled)

    def before(self, path: tuple[int, ...], count: int) -> tuple[int, ...]:
        """The last ``count`` tokens where the settled ones are followed by ``path``; fewer at the text's start."""
        return (*self.recent, *path)[-count:]


def visible(data: bytes) -> tuple[str, bytes]:
    """Bytes as text, and those at the end that may still become a character."""
    if data.isascii() and b"\r" not in data:
        return data.decode("ascii"), b""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(data)
    pending = decoder.getstate()[0]
    if "\r" in text and (held := _RETURN.search(text)):
        return text[: held.start()], held[0].encode() + pending
    return text, pending


def append_normalized(reading: Reading, data: bytes) -> tuple[str, bytes]:
    """The tail with bytes added, normalized, and what stays pending."""
    text, pending = visible(reading.pending + data)
    tail = normalize_within(reading.tail + text)
    return (tail if reading.count else tail.lstrip(WHITE_SPACE)), pending


def extend(reading: Reading, data: bytes, tokenizer: ProxyTokenizer, table: NDArray[np.bool_]) -> Reading:
    """The reading after more bytes.

    Args:
        reading: the reading before.
        data: what a token of the provider's model adds.
        tokenizer: the proxy's.
        table: of :func:`breaks`, for the proxy's splitting rule.
    """
    tail, pending = append_normalized(reading, data)
    if tail == reading.tail:
        return replace(reading, pending=pending, settled=())
    cut = _last_cut(tail, table)
    tokens, *rest = tokenizer.encode_within([tail, tail[cut:]] if cut else [tail])
    settled: list[int] = []
    if cut:
        # What lies before the cut is tokenized with what follows it: "\n\n" alone is another token than in "\n\nThe".
        settled, tokens, tail = tokens[: len(tokens) - len(rest[0])], rest[0], tail[cut:]
    elif len(tail) > _MAX_TAIL:
        settled, tokens, tail = _force(tokens, tail, tokenizer)
    recent = (*reading.recent, *settled)[-reading.keep :]
    return Reading(reading.keep, reading.count + len(settled), recent, tail, tuple(tokens), pending, tuple(settled))


def _last_cut(tail: str, table: NDArray[np.bool_]) -> int:
    """The last position in the tail that settles what lies before it; 0 for none."""
    if not tail:
        return 0
    behind = kind(tail[-1])
    for position in range(len(tail) - 1, 0, -1):
        before = kind(tail[position - 1])
        if table[before, behind]:
            return position
        behind = before
    return 0


def _force(tokens: list[int], tail: str, tokenizer: ProxyTokenizer) -> tuple[list[int], list[int], str]:
    """Settle the first half of a tail that is too long, where a token ends a character."""
    for count in range(len(tokens) // 2, len(tokens)):
        text = tokenizer.decode(np.array(tokens[count:], dtype=np.int64))
        if text and tail.endswith(text) and "\ufffd" not in text:
            return tokens[:count], tokens[count:], text
    return [], tokens, tail


def common_prefix_length(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """How many tokens two sequences begin with in common."""
    if one == other[: len(one)]:
        return len(one)
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count

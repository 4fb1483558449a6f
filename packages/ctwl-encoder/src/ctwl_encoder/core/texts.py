"""The texts that are being marked, as columns: what a reader sees of each so far, and which positions were marked.

What stands at which place follows from a text's tokens alone. So a text that is read anew, because its server went back
or put it off, is marked as it would have been.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol import Profile
from ctwl_protocol.bridge.continuations import MOST_FURTHER
from ctwl_protocol.bridge.written import Kind
from ctwl_protocol.records.layouts import MAX_CODES

from .loops import SPREAD
from .payload import Payload, Seeds
from .tables import longer

MOST_PATHS = len(Kind) + MOST_FURTHER
"""Paths of one tail."""

_FIRST_ROOM = 128
"""Positions that a new text has room for; the room doubles. Chosen by hand."""


class Columns(NamedTuple):
    """What is kept of each text; ``keep`` is the profile's length of a prefix.

    Attributes:
        tail: int32 (texts,), see :mod:`.tails`.
        settled: int32 (texts,), proxy tokens that are settled: they stay whatever follows.
        recent: int32 (texts, keep), the last of them, at the row's end.
        kept: int32 (texts,), how many.
        ended: bool (texts,), whether the last token became no text, as a token that ends a text.
        codes: int32 (texts,), of the record.
        carried: uint32 (texts, slots), what each slot carries.
        sets: int32 (texts, slots), which colours each slot has, see :meth:`.payload.Seeds.set_of`.
        strength: float64 (texts,), how strongly each is marked.
        start, length, room: int64 (texts,), where the text's positions begin in the log, how many there are, and how
            many have room.
        call: int64 (texts,), the number of the call that marked the text last; 0 for none.
        row: int32 (texts,), which of the rows that were marked in it the text had.
        offers: int32 (texts,), places that were marked for the next token.
        offered: int32 (texts, paths, 3), of each the path's start and stop in the pool, and its number in the step.
    """

    tail: NDArray[np.int32]
    settled: NDArray[np.int32]
    recent: NDArray[np.int32]
    kept: NDArray[np.int32]
    ended: NDArray[np.bool_]
    codes: NDArray[np.int32]
    carried: NDArray[np.uint32]
    sets: NDArray[np.int32]
    strength: NDArray[np.float64]
    start: NDArray[np.int64]
    length: NDArray[np.int64]
    room: NDArray[np.int64]
    call: NDArray[np.int64]
    row: NDArray[np.int32]
    offers: NDArray[np.int32]
    offered: NDArray[np.int32]

    @classmethod
    def empty(cls, texts: int, keep: int) -> Self:
        """Columns of texts without tokens."""
        slots = MAX_CODES + 1
        shapes: dict[str, tuple[int, ...]] = {
            "recent": (texts, keep),
            "carried": (texts, slots),
            "sets": (texts, slots),
            "offered": (texts, MOST_PATHS, 3),
        }
        kinds: dict[str, Any] = {"ended": np.bool_, "carried": np.uint32, "strength": np.float64}
        kinds |= dict.fromkeys(("start", "length", "room", "call"), np.int64)
        return cls._make(np.zeros(shapes.get(name, texts), dtype=kinds.get(name, np.int32)) for name in cls._fields)


class Log(NamedTuple):
    """Positions that a reader scores, those of one text one behind the other.

    Attributes:
        position: int32, in the reader's token sequence.
        key: uint64, of the slot that it carries and of its context, see :func:`.loops.key_with`.
        token: int32, the proxy token that the reader sees there.
        chance: float32, the written token's probability; NaN where the place was not marked.
        place: int32, the place's number in its step, -1 where it was not marked.
        hit: float32, 1 for a member of the half under ``delta``, 0 for another one; NaN where nobody asked.
    """

    position: NDArray[np.int32]
    key: NDArray[np.uint64]
    token: NDArray[np.int32]
    chance: NDArray[np.float32]
    place: NDArray[np.int32]
    hit: NDArray[np.float32]

    @classmethod
    def empty(cls, size: int) -> Self:
        """Room for positions."""
        kinds = (np.int32, np.uint64, np.int32, np.float32, np.int32, np.float32)
        return cls._make(np.zeros(size, dtype=kind) for kind in kinds)

    def part(self, which: slice | NDArray[np.bool_]) -> Log:
        """Some of the positions."""
        return Log._make(column[which] for column in self)

    @property
    def pairs(self) -> NDArray[np.uint64]:
        """What tells pairs of place and token apart: uint64 (positions,)."""
        return np.asarray((self.key * SPREAD) ^ self.token.astype(np.uint64))

    @property
    def marked(self) -> Log:
        """The positions at which the encoder preferred the code."""
        return self.part(~np.isnan(self.chance))


class Texts:
    """The texts of one marker, by number.

    Attributes:
        columns: of the texts.
        log: their positions.
        payloads: what each carries, by number.
    """

    def __init__(self, profile: Profile, seeds: Seeds) -> None:
        """Begin without texts."""
        self._keep, self._seeds = profile.prefix_length, seeds
        self.columns = Columns.empty(16, self._keep)
        self.log = Log.empty(16 * _FIRST_ROOM)
        self.payloads: dict[int, Payload] = {}
        self._free = list(range(16))
        self._used = 0
        self._parts: dict[int, list[int]] = {}
        """Parts of the log that are free, by their length."""

    def add(self, payload: Payload, strength: float, tail: int) -> int:
        """A text without tokens; its number."""
        text = self._take(payload, _FIRST_ROOM)
        for column in (self.columns.settled, self.columns.kept, self.columns.ended, self.columns.offers):
            column[text] = 0
        self.columns.tail[text], self.columns.strength[text] = tail, strength
        self.carry(text, payload)
        return text

    def carry(self, text: int, payload: Payload) -> None:
        """Let a text without tokens carry another payload."""
        self.payloads[text] = payload
        slots = len(payload.carried)
        self.columns.codes[text] = 1 if payload.layout is None else payload.layout.codes
        self.columns.carried[text, :slots] = payload.carried
        self.columns.sets[text, :slots] = [self._seeds.set_of(payload, slot) for slot in range(slots)]

    def copy(self, text: int) -> int:
        """The same text once more, without its offers."""
        room = int(self.columns.room[text])
        other = self._take(self.payloads[text], room)
        start = int(self.columns.start[other])
        for column in self.columns:
            column[other] = column[text]
        self.columns.start[other], self.columns.offers[other] = start, 0
        self._move(int(self.columns.start[text]), start, int(self.columns.length[text]))
        return other

    def free(self, text: int) -> None:
        """Forget a text."""
        del self.payloads[text]
        self._parts.setdefault(int(self.columns.room[text]), []).append(int(self.columns.start[text]))
        self._free.append(text)

    def of(self, text: int) -> Log:
        """The positions of a text; a view."""
        start = int(self.columns.start[text])
        return self.log.part(slice(start, start + int(self.columns.length[text])))

    def take_offers(self, text: int, other: int) -> None:
        """What was offered to another text, which has the same tokens, was offered to this one."""
        for column in (self.columns.call, self.columns.row, self.columns.offers, self.columns.offered):
            column[text] = column[other]

    def widen(self, text: int, positions: int) -> None:
        """Make room for so many more positions of a text."""
        columns, length = self.columns, int(self.columns.length[text])
        room = old = int(columns.room[text])
        while room < length + positions:
            room *= 2
        start = self._part(room)
        self._move(int(columns.start[text]), start, length)
        self._parts.setdefault(old, []).append(int(columns.start[text]))
        columns.start[text], columns.room[text] = start, room

    def _take(self, payload: Payload, room: int) -> int:
        if not self._free:
            size = len(self.columns.tail)
            self.columns = Columns._make(longer(column, 2 * size) for column in self.columns)
            self._free = list(range(size, 2 * size))
        text = self._free.pop()
        self.payloads[text] = payload
        self.columns.start[text], self.columns.length[text], self.columns.room[text] = self._part(room), 0, room
        return text

    def _part(self, room: int) -> int:
        """The start of a free part of the log."""
        if free := self._parts.get(room):
            return free.pop()
        start, self._used = self._used, self._used + room
        if self._used > len(self.log.position):
            self.log = Log._make(longer(column, 2 * self._used) for column in self.log)
        return start

    def _move(self, start: int, to: int, length: int) -> None:
        for column in self.log:
            column[to : to + length] = column[start : start + length]

    def before(self, text: int, path: Sequence[int], count: int) -> tuple[int, ...]:
        """The last ``count`` proxy tokens where the settled ones are followed by a path; fewer at the text's start."""
        kept = int(self.columns.kept[text])
        recent = self.columns.recent[text, self._keep - kept :].tolist()
        return (*recent, *path)[-count:]

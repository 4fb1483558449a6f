"""The tails of texts by number, and the steps from one to another, as arrays.

Nearly every token is certainly cut off from the tail before it. Then what a reader sees after it follows from two rows:
the tail's, and the token's alone. The others' steps are remembered by tail and token. What no array knows yet comes
from the bridge, which is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol.bridge import Bridge
from ctwl_protocol.bridge.alone import Alone, steps_alone
from ctwl_protocol.bridge.bridge import OPENINGS
from ctwl_protocol.bridge.written import Step, Tail

from .loops import SPREAD, not_tokenized
from .tables import Memo, Pool

MOST_TAILS = 1 << 20
"""Tails that are remembered; beyond them all are forgotten but those of texts that are being written. Chosen by hand:
some 300 MB; only speed and memory depend on it."""

_ROWS_OF_A_TAIL = 16
"""Tokens, paths and candidates that are remembered for a tail, on average at most. Chosen by hand: words have fewer."""


class TailTables(NamedTuple):
    """What the compiled loops take.

    Attributes:
        writes: bool (size,), whether a token of the model becomes text.
        opening: uint8 (size,), how it begins.
        alone: int32 (size, 4), after a settled text: start and stop of its proxy tokens in the pool, how many are
            settled, and the tail; the tail is -1 where that is not known yet.
        tails: int32 (tails, 4), start and stop of the tail's tokens in the pool; its first path, how many it has.
        place_of: int32 (tails, openings), by opening the path at whose end a candidate shows its first token; -1 where
            it may merge.
        entries: int32 (tails, 2), start and stop of the tail's candidates that merge in ``joined``.
        paths: int32 (paths, 2), start and stop in the pool.
        joined: int32 (n, 3), candidate, path, and the token that it shows there.
        pool: int32, proxy tokens.
        step_keys: uint64 (cells,), of tail and token.
        steps: int64 (cells, 4), start and stop in the pool, how many are settled, the tail.
    """

    writes: NDArray[np.bool_]
    opening: NDArray[np.uint8]
    alone: NDArray[np.int32]
    tails: NDArray[np.int32]
    place_of: NDArray[np.int32]
    entries: NDArray[np.int32]
    paths: NDArray[np.int32]
    joined: NDArray[np.int32]
    pool: NDArray[np.int32]
    step_keys: NDArray[np.uint64]
    steps: NDArray[np.int64]


class Tails:
    """The tails that a bridge's texts came to.

    Attributes:
        bridge: from the model's vocabulary to the proxy's.
    """

    def __init__(self, bridge: Bridge) -> None:
        """Know nothing but the empty text."""
        self.bridge = bridge
        self._writes = np.array([bool(data) for data in bridge.vocabulary], dtype=np.bool_)
        self._every: Alone | None = None
        self._begin()

    def _begin(self) -> None:
        self._known: list[Tail | None] = []
        self._numbers: dict[Tail, int] = {}
        self._alone: NDArray[np.int32] = np.full((len(self._writes), 4), -1, dtype=np.int32)
        self._tails, self._place_of, self._entries = Pool(4), Pool(OPENINGS), Pool(2)
        self._paths, self._joined, self._pool, self._merged = Pool(2), Pool(3), Pool(), Pool()
        self._steps, self._tokenized = Memo(4), Memo(0)
        if self._every is not None:
            self._learn_alone(*self._every)

    @property
    def are_too_many(self) -> bool:
        """Whether it is time to forget. What is known of a tail is noted anew where the bridge learns more of it."""
        rows = self._pool.size + self._paths.size + self._joined.size
        return len(self._known) > MOST_TAILS or rows > _ROWS_OF_A_TAIL * MOST_TAILS

    def warm_up(self) -> None:
        """Learn what each token does after a settled text, so that no text waits for it: a second or two."""
        self._every = steps_alone(self.bridge)
        self._begin()

    def _learn_alone(self, tokens: NDArray[np.int32], bounds: NDArray[np.int32], last: NDArray[np.int8]) -> None:
        """Note the steps of :class:`ctwl_protocol.bridge.alone.Alone`. The tail of a token has the token's number."""
        size, known = len(bounds), last >= 0
        start, tail, stop = bounds.T
        number = np.arange(size, dtype=np.int32)
        self._known = [None] * size
        self._pool.add(tokens)
        self._paths.add(bounds[:, 1:])
        self._tails.add(np.stack([tail, stop, number, np.ones(size, dtype=np.int32)], axis=1))
        self._place_of.add(self.bridge.after[last])
        self._entries.add(np.zeros((size, 2), dtype=np.int32))
        self._merged.add(np.zeros(size, dtype=np.int32))
        self._alone[known] = np.stack([start, stop, tail - start, number], axis=1)[known]

    @property
    def tables(self) -> TailTables:
        """The arrays as they are now."""
        arrays = (self._tails, self._place_of, self._entries, self._paths, self._joined, self._pool)
        rows = (pool.rows for pool in arrays)
        return TailTables._make((self._writes, self.bridge.opening, self._alone, *rows, *self._steps.table))

    def tail(self, number: int) -> Tail:
        """The tail with a number."""
        tail = self._known[number]
        if tail is None:
            tail = self._known[number] = self.bridge.alone(number).tail
        return tail

    def number(self, tail: Tail) -> int:
        """The number of a tail."""
        number = self._numbers.get(tail)
        if number is None:
            number = self._numbers[tail] = len(self._known)
            self._known.append(tail)
            for pool in (self._tails, self._place_of, self._entries, self._merged):
                pool.add(np.zeros((1, *pool.rows.shape[1:]), dtype=np.int32))
            self._tails.rows[number, :2] = self._pool.add(tail.tokens)
            self._follow(number)
        return number

    def refresh(self, number: int) -> None:
        """Note what the bridge has learnt of a tail since it was noted here."""
        if len(self.bridge.continuations(self.tail(number)).joined) != self._merged.rows[number]:
            self._follow(number)

    def _follow(self, number: int) -> None:
        """Note what candidates do after a tail."""
        known = self.bridge.continuations(self.tail(number))
        self._merged.rows[number] = len(known.joined)
        first, stop = self._paths.add([self._pool.add(path) for path in known.paths])
        self._tails.rows[number, 2:] = first, stop - first
        self._place_of.rows[number] = known.place_of
        self._entries.rows[number] = self._joined.add(known.entries)

    def learn(self, tail: int, token: int) -> None:
        """Note the step that a token makes after a tail."""
        if self._place_of.rows[tail, self.bridge.opening[token]] >= 0:
            self._alone[token] = self._noted(self.bridge.alone(token))
        else:
            step = self.bridge.step(self.tail(tail), token)
            assert step is not None  # noqa: S101 - it writes
            self._steps.add(keys_of(tail, [token]), self._noted(step))

    def noted(self, step: Step) -> NDArray[np.int32]:
        """A step as a row of :func:`.loops.resolve`: int32 (1, 6)."""
        return np.array([[0, 0, *self._noted(step)]], dtype=np.int32)

    def _noted(self, step: Step) -> tuple[int, int, int, int]:
        after = self.number(step.tail)
        return *self._pool.add(step.now), len(step.settled), after

    def not_tokenized(self, tails: NDArray[np.int32], candidates: NDArray[np.int32]) -> NDArray[np.int32]:
        """The pairs of row and candidate that were not tokenized with their tail yet: int32 (n, 2), rows ascending.

        Args:
            tails: int32 (rows,).
            candidates: int32 (rows, most), -1 for none.
        """
        found = np.empty((candidates.size, 2), dtype=np.int32)
        return found[: not_tokenized(self._tokenized.table.keys, tails, candidates, found)]

    def join(self, tail: int, candidates: Sequence[int], most: int) -> int:
        """See :meth:`ctwl_protocol.bridge.Bridge.join`; another marker may have asked the bridge before."""
        used = self.bridge.join(self.tail(tail), candidates, most)
        known = self.bridge.continuations(self.tail(tail)).joined
        self._tokenized.add(keys_of(tail, sorted(known.intersection(candidates))), ())
        self.refresh(tail)
        return used

    def forget(self, kept: NDArray[np.int32]) -> NDArray[np.int32]:
        """Forget all tails but some, int32 (n,); their new numbers."""
        tails = [self.tail(tail) for tail in kept.tolist()]
        self._begin()
        return np.array([self.number(tail) for tail in tails], dtype=np.int32)


def keys_of(tail: int, tokens: Sequence[int]) -> NDArray[np.uint64]:
    """The keys of a tail's number and tokens, as :func:`.loops.key_with` makes them: uint64 (n,)."""
    return np.array([tail + 1], dtype=np.uint64) * SPREAD ^ np.array(tokens, dtype=np.uint64)

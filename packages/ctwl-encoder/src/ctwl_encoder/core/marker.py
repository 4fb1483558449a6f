"""The marker: changes rows of logits in place, so that the next tokens prefer what the texts' codes prefer.

It depends on no engine: the caller gives it, for each row, the text so far and the logits of the next token. A text
is a number here. Its state belongs to its tokens, not to a row, so rows may come and go; where a row goes two ways, its
text is copied.

:mod:`.host` marks NumPy's logits, :mod:`.device.marker` torch's, where they are.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol.bridge import Bridge
from ctwl_protocol.records.beacon import NONCE_COUNT

from .expected_evidence import Evidence, chance_found, expected_evidence, needed_bits
from .loops import UNKNOWN, lay_out, resolve, tokens_of, write
from .payload import Payload, Seeds
from .places import Arrays, Places, Sizes
from .strategies import Strategy
from .tails import Tails
from .text_so_far import PROMPT_TOKENS, likeliest_nonce, with_nonce
from .texts import Texts

MOST_PLACES = 4096
"""Places of a step that are marked, an equal share for each row; beyond it a row's places inside of candidates are left
alone. Chosen by hand: rows of words have one place or two, and each place may take 8 bytes times the proxy's vocabulary
on the device."""

FIRST_TOKENS = "first tokens of a text"
"""Why these are left unmarked: a text does not say yet what stands before them."""

_BEHIND, _FAILED, _NO_PLACE = "behind a special token", "the proxy LM failed", "no place to mark"


class Marker(ABC):
    """Prefers, in each row of a step, what carries the code of the row's text.

    Attributes:
        bridge: from the model's vocabulary to the proxy's.
        strategy: how the distribution is changed.
        profile: the profile that reads the texts, the bridge's.
        texts: the texts by number.
    """

    def __init__(self, bridge: Bridge, strategy: Strategy) -> None:
        """Say how to mark."""
        self.bridge = bridge
        self.strategy = strategy
        self.profile = bridge.proxy.profile
        self._seeds = Seeds(self.profile)
        self._tails = Tails(bridge)
        self.texts = Texts(self.profile, self._seeds)
        self._sizes = Sizes(self.profile.prefix_length, self.profile.context_length, self.profile.colours)
        self._arrays = Arrays.empty(0, 1024)
        self._calls_so_far = 0

    @abstractmethod
    def mark(self, texts: Sequence[int], logits: Any) -> None:
        """Mark the next token of each row, in place; what is offered to each text is noted in it.

        Args:
            texts: the number of each row's text; -1 for a row that stays as it is.
            logits: float (rows, size); under a strategy that keeps the distribution, after temperature, top-p and the
                like.

        Raises:
            CTWLError: ``delta``, see :func:`ctwl_protocol.proxy.open_proxy`.
        """

    @abstractmethod
    def _chances(self, texts: NDArray[np.int64], tokens: NDArray[np.int64]) -> NDArray[np.float32]:
        """The probabilities that tokens had when their texts were marked, float32 (n,)."""

    def start(
        self,
        payload: Payload,
        strength: float,
        prompt: Sequence[int] = (),
        *,
        number: int | None = None,
        nonces: int = NONCE_COUNT,
    ) -> int:
        """A text without tokens of its own; its number. Give it back to ``texts.free``.

        It goes on with what stands in its prompt behind the last special token, see :mod:`.text_so_far`. What is
        shorter than a prefix is no text so far: a chat template has such words before an answer.

        Args:
            payload: what it is to carry.
            strength: how strongly it is marked, see :class:`.strategies.traits.Strength`.
            prompt: the model's tokens before it, as many of the last as may count.
            number: of this text among those of one prompt, where the payload is a beacon whose nonce was drawn; None
                where the nonce must stay.
            nonces: from how many it was drawn.
        """
        text = self.texts.add(payload, strength, self._tails.number(self.bridge.start().tail))
        read = self.bridge.read(self.bridge.said(prompt[-PROMPT_TOKENS:]))
        if len(read.now) < self.profile.prefix_length:
            return text
        if number is not None:
            shown = likeliest_nonce(np.array(read.now), payload, self._seeds, nonces)
            self.texts.carry(text, with_nonce(payload, (shown + number) % nonces))
        self._write(np.array([text]), np.array([-1]), self._tails.noted(read))
        return text

    def writes(self, tokens: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which tokens of the provider's model become text: bool (n,)."""
        known = self._tails.tables.writes
        return known[np.clip(tokens, 0, len(known) - 1)] & (tokens < len(known)) & (tokens >= 0)

    def extend(self, texts: Sequence[int], tokens: Sequence[int]) -> None:
        """Add a token of the provider's model to each of some texts, all different."""
        rows, new = np.array(texts, dtype=np.int64), np.array(tokens, dtype=np.int64)
        steps = np.empty((len(rows), 6), dtype=np.int32)
        while resolve(self._tails.tables, self.texts.columns, rows, new, steps):
            for row in np.flatnonzero(steps[:, 5] == UNKNOWN).tolist():
                self._tails.learn(int(self.texts.columns.tail[rows[row]]), int(new[row]))
        self._write(rows, new, steps)

    def _write(self, rows: NDArray[np.int64], tokens: NDArray[np.int64], steps: NDArray[np.int32]) -> None:
        texts, slots, chances = self.texts, self._seeds.slots, self._chances(rows, tokens)
        while True:
            tables = self._tails.tables
            row, depth = write(tables, texts.columns, texts.log, slots.table, rows, chances, steps, self._sizes)
            if row < 0:
                return
            text, now = int(rows[row]), tokens_of(tables.pool, steps[row]).tolist()
            if depth < 0:
                texts.widen(text, len(now))
            else:
                self._seeds.learn_slots([texts.before(text, now[:depth], self._seeds.slot_tail)])

    def places(self, texts: Sequence[int]) -> Places:
        """The places of a step: what can be known before its logits.

        Args:
            texts: one for each row of the logits.
        """
        rows, columns = np.array(texts, dtype=np.int64), self.texts.columns
        if self._tails.are_too_many:
            used = np.array(list(self.texts.payloads), dtype=np.int64)
            columns.tail[used] = self._tails.forget(columns.tail[used])
            columns.offers[:] = 0
        if len(self._arrays.rows) < len(rows):
            self._arrays = Arrays.empty(len(rows), len(self._arrays.places))
        sizes = self._sizes._replace(most=max(1, MOST_PLACES // max(1, len(rows))))
        while True:
            tables, seeds = self._tails.tables, self._seeds
            n, *counts = lay_out(
                tables, columns, self.texts.log, seeds.slots.table, seeds.words.table, rows, sizes, self._arrays
            )
            p, m, k, missing = counts
            if max(counts) > len(self._arrays.places):
                self._arrays = Arrays.empty(len(self._arrays.rows), 2 * max(counts))
            elif missing:
                self._learn(self._arrays.missing[:missing, :3])
            else:
                break
        self._calls_so_far += 1
        out, marked = self._arrays, rows[self._arrays.rows[:n]]
        columns.call[marked], columns.row[marked] = self._calls_so_far, np.arange(n)
        strengths, levels = np.unique(columns.strength[marked], return_inverse=True)
        seeds_of_places, owner, *_ = out.places[:p].T.copy()
        return Places(
            rows=out.rows[:n].copy(),
            place_of=out.place_of[:n].copy(),
            seeds=seeds_of_places,
            levels=levels[owner].astype(np.int32),
            joined=out.joined[:m].copy(),
            seen=out.seen[:k, :2].copy(),
            strengths=tuple(strengths.tolist()),
            texts=marked,
            owner=owner,
            paths=out.places[:p, 2:].copy(),
        )

    def _learn(self, places: NDArray[np.int32]) -> None:
        """Note the words of places, int32 (n, 3): text, path of its tail, and slot, -1 where its word is missing."""
        tables, columns = self._tails.tables, self.texts.columns
        words, slots = list[tuple[Sequence[int], int, int]](), list[Sequence[int]]()
        for text, path, slot in places.tolist():
            start, stop = tables.paths[tables.tails[columns.tail[text], 2] + path].tolist()
            tokens = tables.pool[start:stop].tolist()
            if slot < 0:
                slots.append(self.texts.before(text, tokens, self._seeds.slot_tail))
            else:
                context = self.texts.before(text, tokens, self.profile.context_length)
                words.append((context, slot, int(columns.sets[text, slot])))
        self._seeds.learn_slots(slots)
        self._seeds.learn(words)

    def why_unmarked(self, texts: Sequence[int], *, failed: bool = False) -> list[str | None]:
        """Why texts' next tokens are drawn unmarked, by docs/providers/monitoring.md; None where they are marked.

        Args:
            texts: after the step was marked.
            failed: whether that failed.
        """
        columns, rows = self.texts.columns, np.array(texts, dtype=np.int64)
        first = self.lengths(texts) < self.profile.prefix_length
        left = np.where(first, FIRST_TOKENS, _FAILED if failed else _NO_PLACE)
        reasons = np.where(columns.ended[rows], _BEHIND, left).astype(object)
        reasons[(columns.offers[rows] > 0) & (not failed)] = None
        found: list[str | None] = reasons.tolist()
        return found

    def lengths(self, texts: Sequence[int]) -> NDArray[np.int32]:
        """How many proxy tokens some texts have: int32 (n,)."""
        columns, tails = self.texts.columns, self._tails.tables.tails
        rows = np.array(texts, dtype=np.int64)
        start, stop = tails[columns.tail[rows], :2].T
        return np.asarray(columns.settled[rows] + stop - start)

    def evidence(self, text: int, below: int | None = None) -> Evidence:
        """The evidence of a text that may be expected, see :func:`.expected_evidence.expected_evidence`.

        Args:
            text: its number.
            below: where only the reader's tokens before this position count.
        """
        written, strength = self.texts.of(text), float(self.texts.columns.strength[text])
        if below is not None:
            written = written.part(written.position < below)
        return expected_evidence(written, self.strategy, strength, own=self.bridge.own, singles=self.bridge.singles)

    def chance_found(self, text: int, below: int | None = None) -> float:
        """How likely a reader finds a text's record, all of its codes, see :func:`.expected_evidence.chance_found`."""
        bits = self.evidence(text, below).read / math.log(2)
        return chance_found(bits, needed_bits(self.profile, int(self.texts.columns.codes[text])))

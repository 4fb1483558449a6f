"""A text that is being served: what marks it, how its tokens were drawn, and what is noted of it at its end.

All serving engines give a text this life: it begins, each step offers its places, it grows by what was drawn, it may go
back, and it is finished. Nothing here needs torch.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

from ctwl_encoder import Marker, Strategy
from ctwl_protocol.records import NONCE_COUNT

from .log import TextLog, began, finished
from .note import Note
from .parts import Part, Parts
from .policy import Policy
from .request import Request


@dataclass
class Served:
    """A text that is being served.

    Attributes:
        marker: what marks it.
        request: what it writes.
        note: what was noted where its request came in.
        parts: what divides it, see :mod:`.parts`.
        begun: what is noted of its beginning.
        empty: the number of its first part without tokens of its own.
        temperature: of sampling; 0 for greedy decoding.
        log: where its end is noted; None for nowhere.
        observe: told its strategy, and how likely a reader finds its record, when it is finished.
        again: whether it was put off, and this is its rest.
        tokens: the tokens of the model that it has.
        part: the one that its next token belongs to.
        text: the number of this part so far.
        ahead: under speculative decoding, ``text``, and what becomes of it with each of the drafts.
        finished: whether it is finished, or put off.
        drawn: why its tokens were drawn unmarked, None where they were marked, counted.
    """

    marker: Marker
    request: Request
    note: Note
    parts: Parts
    begun: dict[str, Any]
    empty: int
    temperature: float = 1.0
    log: TextLog | None = None
    observe: Callable[[Strategy, float], None] | None = None
    again: bool = False
    tokens: list[int] = field(default_factory=list, init=False)
    part: Part = field(default=Part.ANSWER, init=False)
    text: int = field(init=False)
    ahead: list[int] = field(default_factory=list, init=False)
    finished: bool = field(default=False, init=False)
    drawn: Counter[str | None] = field(default_factory=Counter, init=False)
    _answer: int = field(init=False)
    """The answer so far, also while another part is written."""
    _first: Part = field(default=Part.ANSWER, init=False)
    _drafts: Sequence[int] = field(default=(), init=False)
    _offered: list[str | None] = field(default_factory=list, init=False)
    """Why the rows of the last step were not marked, None where they were."""
    _held: set[int] = field(default_factory=set, init=False)
    """The numbers of its texts; they are free once nobody has this object any more."""

    def __post_init__(self) -> None:
        self._held.add(self.empty)
        self._begin_parts()
        weakref.finalize(self, _free, self.marker, self._held).atexit = False

    def _copy(self, text: int) -> int:
        copied = self.marker.texts.copy(text)
        self._held.add(copied)
        return copied

    def _forget(self, texts: Iterable[int]) -> None:
        for text in texts:
            self.marker.texts.free(text)
            self._held.remove(text)

    @classmethod
    def begin(cls, policy: Policy, request: Request, marker: Marker, note: Note, parts: Parts, **more: Any) -> Self:
        """Begin a text.

        Args:
            policy: the server's.
            request: what the text carries.
            marker: the one of the request's strategy; requests share it.
            note: what was noted where the request came in.
            parts: what divides it.
            **more: other attributes.
        """
        payload = request.payload(note.random)
        begun = began(policy, note.name, request, payload)
        empty = marker.start(payload, request.strength_of(request.strategy))
        return cls(marker, request, note, parts, begun, empty, **more)

    def follow(self, prompt: Sequence[int]) -> None:
        """The prompt is known, before the text has a token: the text may go on with it.

        See :meth:`ctwl_encoder.Marker.start`. Then it carries the nonce of that text, unless its record was named.

        Args:
            prompt: the model's tokens, as many of the last as :data:`ctwl_encoder.PROMPT_TOKENS` at least.
        """
        number = self.note.number if self.request.draws else None
        self._first = self.parts.begin(prompt)
        so_far = () if self.parts.why_unmarked(self._first) else prompt
        nonces = self.request.nonces or NONCE_COUNT
        before, self.empty = self.empty, self._start(so_far, number=number, nonces=nonces)
        self.restart()
        self._forget({before})
        self.begun = {**self.begun, "nonce": self.marker.texts.payloads[self.empty].carried[0] % NONCE_COUNT}

    def restart(self) -> None:
        """Begin the text anew: the engine went back."""
        self._forget({self.text, self._answer, *self.ahead[1:]})
        self.tokens, self.ahead = [], []
        self._begin_parts()

    def _begin_parts(self) -> None:
        self.part, self.text = self._first, self._copy(self.empty)
        self._answer = self.text if self.part is Part.ANSWER else self._start()

    def _start(self, so_far: Sequence[int] = (), **how: Any) -> int:
        """A part without tokens: a reader has it alone. Nothing is marked until it has some, or goes on with some."""
        strength = self.request.strength_of(self.request.strategy)
        started = self.marker.start(self.marker.texts.payloads[self.empty], strength, so_far, **how)
        self._held.add(started)
        return started

    def takes(self, token: int) -> bool:
        """Whether a token is added to the text. A tag belongs to no part: another one begins, or the answer goes on."""
        before, self.part = self.part, self.parts.after(self.part, token)
        if self.part is before:
            return self.parts.why_unmarked(before) is None
        if before is Part.ANSWER:
            self._forget({self._answer} - {self.text})
            self._answer, self.text = self.text, self._start()
        else:
            self._forget({self.text})
            self.text = self._answer
        return False

    def new_in(self, output: Sequence[int]) -> list[int]:
        """The tokens of an engine's own list that are new; all of them, if the engine went back."""
        known = len(self.tokens)
        if list(output[known - 1 : known]) != self.tokens[-1:]:  # the whole would be compared at each step
            self.restart()
        return list(output[len(self.tokens) :])

    def draft(self, tokens: Sequence[int]) -> None:
        """Look ahead: these tokens may follow."""
        self._forget(self.ahead[1:])
        self._drafts, self.ahead, goes_on = tokens, [self.text], self.parts.why_unmarked(self.part) is None
        for token in tokens:
            # Behind a tag nothing is marked ahead.
            goes_on = goes_on and self.parts.after(self.part, token) is self.part
            self.ahead.append(self._copy(self.ahead[-1]) if goes_on else self._start())
            if goes_on:
                self.marker.extend(self.ahead[-1:], [token])

    def offer(self, text: int, unmarked: str | None) -> None:
        """A step has offered the next token of the text, or of the text with drafts.

        Args:
            text: :attr:`text`, or one of :attr:`ahead`, in their order.
            unmarked: why the step did not mark it, None where it did.
        """
        self._offered = [*(() if text == self.text else self._offered), unmarked]

    def accepted(self, tokens: Sequence[int], count: int) -> None:
        """So many tokens were added to the text. If they were drafts, the row behind them was marked too."""
        if count < len(self.ahead) and list(tokens[:count]) == list(self._drafts[:count]):
            self.marker.texts.take_offers(self.text, self.ahead[count])

    def extended(self, tokens: Sequence[int]) -> None:
        """All tokens that were drawn since the last step were added to the text."""
        self._draw(len(tokens))
        self.tokens += tokens
        self._forget(self.ahead[1:])
        self.ahead = []

    def finish(self) -> None:
        """The text is finished, or put off: count its evidence, and note it. Nothing is done the second time."""
        if self.finished:
            return
        self.finished = True
        self._draw(1)  # an engine may finish a text before its last token is read
        length, answer, before = self.marker.lengths([self.text, self._answer, self.empty])
        text, length = (self._answer, answer) if answer else (self.text, length)  # people read the answer
        chance, evidence = self.marker.chance_found(text), self.marker.evidence(text)
        if self.observe is not None and not self.again and length > before:
            self.observe(self.marker.strategy, chance)
        if self.log is not None and self.drawn:
            line = self.note.process, self.note.line
            self.log.write([finished(self.begun, line, self.drawn, chance, evidence, again=self.again)])

    def _draw(self, count: int) -> None:
        """So many tokens were drawn from the rows of the last step."""
        self.drawn.update(self._offered[:count])
        self._offered = []


def _free(marker: Marker, held: set[int]) -> None:
    for text in held:
        marker.texts.free(text)


def extend(served: Sequence[Served], tokens: Sequence[Sequence[int]]) -> None:
    """Add the tokens that were drawn for some texts since the last step, those of one marker at once."""
    markers: dict[Marker, list[tuple[Served, Sequence[int]]]] = {}
    for one, some in zip(served, tokens, strict=True):
        markers.setdefault(one.marker, []).append((one, some))
    for marker, group in markers.items():
        for count in range(max(len(some) for _, some in group)):
            drawn = [(one, some) for one, some in group if count < len(some)]
            added = [(one.text, some[count]) for one, some in drawn if one.takes(some[count])]
            marker.extend([text for text, _ in added], [token for _, token in added])
            for one, some in drawn:
                one.accepted(some, count + 1)
        for one, some in group:
            one.extended(some)


Row: TypeAlias = tuple[Served, int]
"""What a row of logits goes on from: a text that is served, and the number of how it reads at this row."""


def why_unmarked(rows: Sequence[Row], *, failed: bool = False) -> list[str | None]:
    """See :meth:`ctwl_encoder.Marker.why_unmarked`; also because of the parts. All texts are of one marker."""
    whys = rows[0][0].marker.why_unmarked([text for _, text in rows], failed=failed)
    return [one.parts.why_unmarked(one.part) or why for (one, _), why in zip(rows, whys, strict=True)]

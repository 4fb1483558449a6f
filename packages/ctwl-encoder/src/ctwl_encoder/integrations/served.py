"""A text that is being served: what marks it, how its tokens were drawn, and what is noted of it at its end.

All serving engines give a text this life: it begins, each step offers its places, it grows by what was drawn, it may go
back, and it is finished. Nothing here needs torch.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

from ctwl_protocol.records.beacon import NONCE_COUNT

from ..core.marker import Marker
from ..core.strategies import Strategy
from ..core.texts import Texts
from .log import TextLog, began, finished
from .note import Note
from .policy import Policy
from .request import Request


@dataclass
class Served:
    """A text that is being served.

    Attributes:
        marker: what marks it.
        request: what it writes.
        note: what was noted where its request came in.
        begun: what is noted of its beginning.
        empty: the number of the text without tokens of its own.
        temperature: of sampling; 0 for greedy decoding.
        log: where its end is noted; None for nowhere.
        observe: told its strategy, and how likely a reader finds its record, when it is finished.
        again: whether it was put off, and this is its rest.
        tokens: the tokens of the model that it has.
        text: the number of the text with them.
        ahead: under speculative decoding, ``text``, and what becomes of it with each of the drafts.
        finished: whether it is finished, or put off.
        drawn: why its tokens were drawn unmarked, None where they were marked, counted.
    """

    marker: Marker
    request: Request
    note: Note
    begun: dict[str, Any]
    empty: int
    temperature: float = 1.0
    log: TextLog | None = None
    observe: Callable[[Strategy, float], None] | None = None
    again: bool = False
    tokens: list[int] = field(default_factory=list, init=False)
    text: int = field(init=False)
    ahead: list[int] = field(default_factory=list, init=False)
    finished: bool = field(default=False, init=False)
    drawn: Counter[str | None] = field(default_factory=Counter, init=False)
    _drafts: Sequence[int] = field(default=(), init=False)
    _offered: list[str | None] = field(default_factory=list, init=False)
    """Why the rows of the last step were not marked, None where they were."""
    _held: set[int] = field(default_factory=set, init=False)
    """The numbers of its texts; they are free once nobody has this object any more."""

    def __post_init__(self) -> None:
        self._held.add(self.empty)
        self.text = self._copy(self.empty)
        weakref.finalize(self, _free, self.marker.texts, self._held).atexit = False

    def _copy(self, text: int) -> int:
        copied = self.marker.texts.copy(text)
        self._held.add(copied)
        return copied

    def _forget(self, texts: Sequence[int]) -> None:
        for text in texts:
            self.marker.texts.free(text)
            self._held.remove(text)

    @classmethod
    def begin(cls, policy: Policy, request: Request, marker: Marker, note: Note, **more: Any) -> Self:
        """Begin a text.

        Args:
            policy: the server's.
            request: what the text carries.
            marker: the one of the request's strategy; requests share it.
            note: what was noted where the request came in.
            **more: other attributes.
        """
        payload = request.payload(note.random)
        begun = began(policy, note.name, request, payload)
        empty = marker.start(payload, request.strength_of(request.strategy))
        return cls(marker, request, note, begun, empty, **more)

    def follow(self, prompt: Sequence[int]) -> None:
        """The prompt is known, before the text has a token: the text may go on with it, see :mod:`..core.text_so_far`.

        Then it carries the nonce of the text so far, unless its record was named.

        Args:
            prompt: the model's tokens, as many of the last as :data:`..core.text_so_far.READ` at least.
        """
        texts, number = self.marker.texts, self.note.number if self.request.draws else None
        how: dict[str, Any] = {"number": number, "nonces": self.request.nonces or NONCE_COUNT}
        strength = self.request.strength_of(self.request.strategy)
        before, self.empty = self.empty, self.marker.start(texts.payloads[self.empty], strength, prompt, **how)
        self._held.add(self.empty)
        self._forget([before])
        self.restart()
        self.begun = {**self.begun, "nonce": texts.payloads[self.empty].carried[0] % NONCE_COUNT}

    def restart(self) -> None:
        """Begin the text anew: the engine went back."""
        self._forget([self.text, *self.ahead[1:]])
        self.tokens, self.ahead, self.text = [], [], self._copy(self.empty)

    def new_in(self, output: Sequence[int]) -> list[int]:
        """The tokens of an engine's own list that are new; all of them, if the engine went back."""
        known = len(self.tokens)
        if list(output[known - 1 : known]) != self.tokens[-1:]:  # the whole would be compared at each step
            self.restart()
        return list(output[len(self.tokens) :])

    def draft(self, tokens: Sequence[int]) -> None:
        """Look ahead: these tokens may follow."""
        self._forget(self.ahead[1:])
        self._drafts, self.ahead = tokens, [self.text]
        for token in tokens:
            self.ahead.append(self._copy(self.ahead[-1]))
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
        chance, evidence = self.marker.chance_found(self.text), self.marker.evidence(self.text)
        length, before = self.marker.lengths([self.text, self.empty])
        if self.observe is not None and not self.again and length > before:
            self.observe(self.marker.strategy, chance)
        if self.log is not None and self.drawn:
            line = self.note.process, self.note.line
            self.log.write([finished(self.begun, line, self.drawn, chance, evidence, again=self.again)])

    def _draw(self, count: int) -> None:
        """So many tokens were drawn from the rows of the last step."""
        self.drawn.update(self._offered[:count])
        self._offered = []


def _free(texts: Texts, held: set[int]) -> None:
    for text in held:
        texts.free(text)


def extend(served: Sequence[Served], tokens: Sequence[Sequence[int]]) -> None:
    """Add the tokens that were drawn for some texts since the last step, those of one marker at once."""
    markers: dict[Marker, list[tuple[Served, Sequence[int]]]] = {}
    for one, some in zip(served, tokens, strict=True):
        markers.setdefault(one.marker, []).append((one, some))
    for marker, group in markers.items():
        for count in range(max(len(some) for _, some in group)):
            go_on = [(one, some) for one, some in group if count < len(some)]
            marker.extend([one.text for one, _ in go_on], [some[count] for _, some in go_on])
            for one, some in go_on:
                one.accepted(some, count + 1)
        for one, some in group:
            one.extended(some)


Row: TypeAlias = tuple[Served, int]
"""What a row of logits goes on from: a text that is served, and the number of how it reads at this row."""

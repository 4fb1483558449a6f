"""A text that is being served: what marks it, how its tokens were drawn, and what is noted of it at its end.

All serving engines give a text this life: it begins, each step offers its places, it grows by what was drawn, it may go
back, and it is finished. Nothing here needs torch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

from ctwl_protocol.records.beacon import NONCE_COUNT

from ..core.marker import Marker
from ..core.strategies import Strategy
from ..core.text_state import TextState
from .log import TextLog, began, finished, why_unmarked
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
        empty: its first part without tokens of its own.
        temperature: of sampling; 0 for greedy decoding.
        log: where its end is noted; None for nowhere.
        observe: told its strategy, and how likely a reader finds its record, when it is finished.
        again: whether it was put off, and this is its rest.
        tokens: the tokens of the model that it has.
        part: the one that its next token belongs to.
        text: this part so far.
        ahead: under speculative decoding, ``text``, and what becomes of it with each of the drafts.
        finished: whether it is finished, or put off.
        drawn: why its tokens were drawn unmarked, None where they were marked, counted.
    """

    marker: Marker
    request: Request
    note: Note
    parts: Parts
    begun: dict[str, Any]
    empty: TextState
    temperature: float = 1.0
    log: TextLog | None = None
    observe: Callable[[Strategy, float], None] | None = None
    again: bool = False
    tokens: list[int] = field(default_factory=list, init=False)
    part: Part = field(default=Part.ANSWER, init=False)
    text: TextState = field(init=False)
    ahead: list[TextState] = field(default_factory=list, init=False)
    finished: bool = field(default=False, init=False)
    drawn: Counter[str | None] = field(default_factory=Counter, init=False)
    _answer: TextState = field(init=False)
    """The answer before the part that is written now."""
    _first: Part = field(default=Part.ANSWER, init=False)
    _drafts: Sequence[int] = field(default=(), init=False)
    _offered: list[str | None] = field(default_factory=list, init=False)
    """Why the rows of the last step were not marked, None where they were."""

    def __post_init__(self) -> None:
        self.restart()

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
        """The prompt is known, before the text has a token: the text may go on with it, see :mod:`..core.text_so_far`.

        Then it carries the nonce of the text so far, unless its record was named.

        Args:
            prompt: the model's tokens, as many of the last as :data:`..core.text_so_far.READ` at least.
        """
        number = self.note.number if self.request.draws else None
        how: dict[str, Any] = {"number": number, "nonces": self.request.nonces or NONCE_COUNT}
        self._first = self.parts.begin(prompt)
        so_far = () if self.parts.why_unmarked(self._first) else prompt
        self.empty = self.marker.start(self.empty.payload, self.empty.strength, so_far, **how)
        self.restart()
        self.begun = {**self.begun, "nonce": self.empty.payload.carried[0] % NONCE_COUNT}

    def restart(self) -> None:
        """Begin the text anew: the engine went back."""
        self.tokens, self.part, self.text, self.ahead = [], self._first, self.empty, []
        self._answer = self._part_begun()

    def new_in(self, output: Sequence[int]) -> list[int]:
        """The tokens of an engine's own list that are new; all of them, if the engine went back."""
        known = len(self.tokens)
        if list(output[known - 1 : known]) != self.tokens[-1:]:  # the whole would be compared at each step
            self.restart()
        return list(output[len(self.tokens) :])

    def draft(self, tokens: Sequence[int]) -> None:
        """Look ahead: these tokens may follow."""
        self._drafts, self.ahead, goes_on = tokens, [self.text], self.parts.why_unmarked(self.part) is None
        for token in tokens:
            goes_on = (
                goes_on and self.parts.after(self.part, token) is self.part
            )  # behind a tag nothing is marked ahead
            self.ahead.append(self.marker.extend(self.ahead[-1].fork(), token) if goes_on else self._part_begun())

    def offer(self, text: TextState, unmarked: str | None) -> None:
        """A step has offered the next token of the text, or of the text with drafts.

        Args:
            text: :attr:`text`, or one of :attr:`ahead`, in their order.
            unmarked: why the step did not mark it, None where it did.
        """
        self._offered = [*(() if text is self.text else self._offered), unmarked]

    def extend(self, tokens: Sequence[int]) -> None:
        """Add the tokens that were drawn since the last step."""
        self._draw(len(tokens))
        for count, token in enumerate(tokens, 1):
            self._grow(token)
            if count < len(self.ahead) and tokens[:count] == self._drafts[:count]:
                self.text.offers = self.ahead[count].offers  # an accepted draft: its row was marked too
        self.tokens += tokens
        self.ahead = []

    def _grow(self, token: int) -> None:
        """Add a token to its part. A tag belongs to none: another part begins, or the answer goes on."""
        before, self.part = self.part, self.parts.after(self.part, token)
        if self.part is not before:
            ended, self.text = self.text, self._answer if self.part is Part.ANSWER else self._part_begun()
            self._answer = ended if before is Part.ANSWER else self.text
        elif self.parts.why_unmarked(before) is None:
            self.text = self.marker.extend(self.text, token)

    def _part_begun(self) -> TextState:
        """A part without tokens: a reader has it alone. Until it has tokens, nothing is marked."""
        return self.marker.start(self.empty.payload, self.empty.strength)

    def why_unmarked(self, text: TextState, *, failed: bool = False) -> str | None:
        """See :func:`.log.why_unmarked`; also because of the part."""
        return self.parts.why_unmarked(self.part) or why_unmarked(text, failed=failed)

    def finish(self) -> None:
        """The text is finished, or put off: count its evidence, and note it. Nothing is done the second time."""
        if self.finished:
            return
        self.finished = True
        self._draw(1)  # an engine may finish a text before its last token is read
        in_answer = self.part is Part.ANSWER or not len(self._answer.written)
        text = self.text if in_answer else self._answer  # what people read
        chance, evidence = self.marker.chance_found(text), self.marker.evidence(text)
        if self.observe is not None and not self.again and len(text.written) > len(self.empty.written):
            self.observe(self.marker.strategy, chance)
        if self.log is not None and self.drawn:
            line = self.note.process, self.note.line
            self.log.write([finished(self.begun, line, self.drawn, chance, evidence, again=self.again)])

    def _draw(self, count: int) -> None:
        """So many tokens were drawn from the rows of the last step."""
        self.drawn.update(self._offered[:count])
        self._offered = []


Row: TypeAlias = tuple[Served, TextState]
"""What a row of logits goes on from: a text that is served, and how it reads at this row."""

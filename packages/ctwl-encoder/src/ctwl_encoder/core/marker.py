"""The marker: changes rows of logits in place, so that the next tokens prefer what the texts' codes prefer.

It depends on no engine: the caller gives it, for each row, the text so far and the logits of the next token. A text's
state belongs to its tokens, not to a row, so beams may reorder, rows may come and go, and a caller may go back.

:mod:`.host` marks NumPy's logits, :mod:`.device.marker` torch's, where they are.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ctwl_protocol import hashing
from ctwl_protocol.bridge import Bridge, Path
from ctwl_protocol.records import slots
from ctwl_protocol.records.beacon import NONCE_COUNT

from .expected_evidence import Evidence, chance_found, expected_evidence, needed_bits
from .halves import load
from .payload import Payload, Place, Seeds
from .strategies import Strategy
from .text_so_far import READ, likeliest_nonce, with_nonce
from .text_state import TextState


class Marker(ABC):
    """Prefers, in each row of a step, what carries the code of the row's text.

    Attributes:
        bridge: from the model's vocabulary to the proxy's.
        strategy: how the distribution is changed.
        profile: the profile that reads the texts, the bridge's.
    """

    def __init__(self, bridge: Bridge, strategy: Strategy) -> None:
        """Say how to mark."""
        self.bridge = bridge
        self.strategy = strategy
        self.profile = bridge.proxy.profile
        key, cached = self.profile.key, lru_cache(maxsize=1 << 16)  # by hand: only speed and memory depend on it
        self._seeds = Seeds(self.profile)
        self._slot_word = cached(lambda tail: hashing.slot_word(key, tail))

    @abstractmethod
    def mark(self, texts: Sequence[TextState], logits: Any) -> None:
        """Mark the next token of each row, in place; what is offered to each text is noted in it.

        Args:
            texts: one for each row.
            logits: float (rows, size); under a strategy that keeps the distribution, after temperature, top-p and the
                like.

        Raises:
            CTWLError: ``delta``, see :meth:`load`.
        """

    def start(
        self,
        payload: Payload,
        strength: float,
        prompt: Sequence[int] = (),
        *,
        number: int | None = None,
        nonces: int = NONCE_COUNT,
    ) -> TextState:
        """A text without tokens of its own.

        It goes on with what stands in its prompt behind the last special token, see :mod:`.text_so_far`. What is
        shorter than a prefix is no text so far: a chat template has such words before an answer.

        Args:
            payload: what it is to carry.
            strength: how strongly it is marked: the share of ``race``, or the nats of ``delta``.
            prompt: the model's tokens before it, as many of the last as may count.
            number: of this text among those of one prompt, where the payload is a beacon whose nonce was drawn; None
                where the nonce must stay.
            nonces: from how many it was drawn.
        """
        text = TextState(payload, strength, self.bridge.start())
        read = self.bridge.read(self.bridge.said(prompt[-READ:]))
        if len(read.now) < self.profile.prefix_length:
            return text
        text = text.after(read, -1, self.place_at)  # of no single token
        if number is not None:
            shown = likeliest_nonce(text, self._seeds, nonces)
            text.payload = with_nonce(payload, (shown + number) % nonces)
        return text

    def extend(self, text: TextState, token: int) -> TextState:
        """A text with one more token of the provider's model."""
        return text.after(self.bridge.step(text.written.tail, token), token, self.place_at)

    def evidence(self, text: TextState) -> Evidence:
        """The evidence of a text that may be expected, see :func:`.expected_evidence.expected_evidence`."""
        return expected_evidence(text.last, self.strategy, text.strength, own=self.bridge.own)

    def chance_found(self, text: TextState) -> float:
        """How likely a reader finds a text's record, all of its codes, see :func:`.expected_evidence.chance_found`."""
        layout = text.payload.layout
        bits = self.evidence(text).read / math.log(2)
        return chance_found(bits, needed_bits(self.profile, 1 if layout is None else layout.codes))

    def load(self) -> None:
        """Open the proxy LM, if the strategy asks it and it is not open.

        Raises:
            ExtraMissing: torch and transformers are not installed.
            CTWLError: see :func:`ctwl_protocol.proxy.open_proxy`.
        """
        if not self.strategy.keeps_distribution:
            load(self.bridge.proxy)

    def is_begun(self, text: TextState) -> bool:
        """Whether the next token of a text may be marked: it has a whole prefix, and has not ended."""
        return not text.ended and len(text.written) >= self.profile.prefix_length

    def place_at(self, text: TextState, path: Path) -> Place | None:
        """The place after a path, its slot that of spec section 9.4; None where a reader scores nothing there."""
        written, profile = text.written, self.profile
        if written.count + len(path) < profile.prefix_length:
            return None
        context = written.before(path, profile.context_length)
        slot = 0
        if text.payload.layout is not None and text.payload.layout.codes > 1:
            slot = slots.slot_of(text.payload.layout.codes, self._slot_word(written.before(path, slots.TAIL)))
        return slot, context

    def to_mark(self, text: TextState, path: Path) -> tuple[Place | None, Sequence[int]]:
        """The place after a path, None where nothing is marked there; and the tokens that stand there already.

        Such a token adds no evidence again: to prefer it once more would only make the text repeat itself. So it keeps
        its probability.
        """
        place = self.place_at(text, path)
        if place is None:
            return None, ()
        return place, text.seen().get(place, ())

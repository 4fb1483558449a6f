"""Mark where llama.cpp draws: after penalties, grammar, truncation and temperature, right before the draw.

llama-cpp-python runs logits processors before all of these. A strategy that keeps the distribution must stand after
them: it has to mark the distribution that is drawn from, and nothing may be cut out of what it marked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from ..served import Served, extend, why_unmarked


class MarkedText(Served):
    """A text while a call writes it."""

    def mark(self, candidates: NDArray[np.int32], logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """Mark the next token.

        Logits without a finite maximum, which a mask or an overflow left, have no probabilities, so they stay.

        Args:
            candidates: int32 (n,), the tokens that may be drawn.
            logits: float32 (n,), after temperature.

        Returns:
            float32 (n,), what is drawn from in their place.
        """
        marked = logits
        if np.isfinite(logits.max()):
            whole = np.full((1, len(self.marker.bridge.vocabulary)), -np.inf, dtype=np.float32)
            whole[0, candidates] = logits
            self.marker.mark([self.text], whole)
            marked = whole[0, candidates]
        self.offer(self.text, *why_unmarked([(self, self.text)]))
        return marked


class MarkedSampler:
    """A chain of llama.cpp's samplers whose last one, the draw, finds marked logits.

    It stands in for the ``LlamaSampler`` that :class:`llama_cpp.Llama` makes for each text.

    Attributes:
        text: what is marked.
    """

    def __init__(self, chain: Any, text: MarkedText, size: int, read: Callable[[], Sequence[int]]) -> None:
        """Put the marking before the last sampler of a chain.

        Args:
            chain: a ``LlamaSampler``, whose last sampler draws.
            text: what is marked.
            size: of the model's vocabulary.
            read: gives the tokens that the model has read; before the first draw they are the prompt.
        """
        self.text = text
        self._read: Callable[[], Sequence[int]] | None = read
        self._chain = chain
        self._failures: list[Exception] = []
        last = llama_cpp.llama_sampler_chain_n(chain.sampler) - 1
        draw = llama_cpp.llama_sampler_chain_remove(chain.sampler, last)
        # Not a method: the chain is freed with this object.
        chain.add_custom(partial(_apply, text, self._failures, size))
        llama_cpp.llama_sampler_chain_add(chain.sampler, draw)

    def sample(self, context: Any, index: int = -1) -> int:
        """Draw a token; what went wrong while it was marked is raised here."""
        if self._read is not None:
            self.text.follow(self._read())
            self._read = None
        token = int(self._chain.sample(context, index))
        if self._failures:
            raise self._failures[0]
        extend([self.text], [[token]])
        return token


def _apply(text: MarkedText, failures: list[Exception], size: int, given: Any) -> None:
    """Called by llama.cpp with a pointer to the candidates; llama.cpp can hear of no failure."""
    try:
        candidates = given.contents
        # ctypes keeps a type for each shape for ever, so there is one shape; after the candidates nothing is touched.
        rows = np.ctypeslib.as_array(candidates.data, shape=(size,))[: candidates.size]
        rows["logit"] = text.mark(rows["id"], rows["logit"])
        candidates.sorted = False
    except Exception as error:
        failures.append(error)

"""The marker on the host, in NumPy, without torch. Engines whose logits are NumPy's mark here."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol.bridge import Branch, Bridge, Written
from ctwl_protocol.errors import ModelFailed

from ..errors import needing
from .marker import Marker
from .strategies import Strategy, module_of


class HostMarker(Marker):
    """A :class:`ctwl_encoder.core.marker.Marker` for engines whose logits are NumPy's."""

    def __init__(self, bridge: Bridge, strategy: Strategy) -> None:
        """Mark by a strategy that keeps the distribution, and so asks no language model."""
        super().__init__(bridge, strategy)
        self._gained = reference_of(strategy)
        self._likely: dict[int, NDArray[np.float32]] = {}

    def mark(self, texts: Sequence[int], logits: NDArray[np.float32]) -> None:
        """See :meth:`ctwl_encoder.core.marker.Marker.mark`.

        Args:
            texts: one for each row, -1 for a row that stays as it is.
            logits: float32 (rows, size); minus infinity for tokens that were cut.

        Raises:
            ModelFailed: a row has no finite maximum.
        """
        likely = probabilities(logits)
        self.texts.columns.offers[list(self._likely)] = 0  # what was drawn from is known of the last step alone
        self._likely = {text: chances for text, chances in zip(texts, likely, strict=True) if text >= 0}
        for text, chances, row in zip(texts, likely, logits, strict=True):
            if text < 0:
                continue
            branches = self.bridge.branches(self._written(text), chances)
            self._tails.refresh(int(self.texts.columns.tail[text]))
            places, pool = self.places([text]), self._tails.tables.pool
            numbers = {tuple(pool[start:stop].tolist()): place for place, (start, stop) in enumerate(places.paths)}
            for branch in branches:
                place = numbers.get(branch.path)
                if place is not None:
                    left = branch.without(places.seen[places.seen[:, 0] == place, 1].tolist())
                    nats = self._gained(left, int(places.seeds[place]) & 0xFFFFFFFF, places.strengths[0])
                    row[left.candidates] += nats.astype(np.float32)

    def _written(self, text: int) -> Written:
        columns, keep = self.texts.columns, self.profile.prefix_length
        recent = self.texts.before(text, (), keep)
        return Written(keep, self._tails.tail(int(columns.tail[text])), int(columns.settled[text]), recent)

    def _chances(self, texts: NDArray[np.int64], tokens: NDArray[np.int64]) -> NDArray[np.float32]:
        found = [
            self._likely[text][token] if text in self._likely else 0.0
            for text, token in zip(texts.tolist(), tokens.tolist(), strict=True)
        ]
        return np.array(found, dtype=np.float32)


def reference_of(strategy: Strategy) -> Callable[[Branch, int, float], NDArray[np.float64]]:
    """What a strategy that keeps the distribution adds to the logit of each candidate of a branch, in nats.

    It takes the branch, the seed of its permutation, and how strongly the text is marked.
    """
    gained: Callable[[Branch, int, float], NDArray[np.float64]] = module_of(strategy, "reference").gained
    return gained


def host_marker(bridge: Bridge, strategy: Strategy) -> Marker:
    """The marker of NumPy's logits by a strategy. One that asks the proxy LM has torch, and so marks by it.

    Raises:
        ExtraMissing: torch and transformers are not installed.
        CTWLError: see :func:`ctwl_protocol.proxy.open_proxy`.
    """
    if strategy.keeps_distribution:
        return HostMarker(bridge, strategy)
    with needing("torch", f"the strategy {strategy}, which asks the proxy LM,"):
        from .device.marker import OnHost
    marker = OnHost(bridge, strategy)
    marker.load()
    return marker


def probabilities(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """Softmax.

    Args:
        logits: float32 (rows, size), normalized or not.

    Raises:
        ModelFailed: a row has no finite maximum.
    """
    highest = logits.max(axis=1, keepdims=True)
    if not np.isfinite(highest).all():
        raise ModelFailed("the model's logits are not numbers; run it in float32 or bfloat16")
    exponent = np.exp(logits - highest)
    exponent /= exponent.sum(axis=1, keepdims=True)
    return np.asarray(exponent)

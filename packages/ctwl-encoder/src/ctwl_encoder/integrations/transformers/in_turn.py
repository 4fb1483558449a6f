"""Several watermarks in one text: their configs as one, whose processors run in turn (docs/providers/beside.md)."""

from __future__ import annotations

from typing import Any

import torch
from transformers import LogitsProcessor
from transformers.generation import BaseWatermarkingConfig

from .processor import not_saved
from .sampling import refuse_continuous_batching


class WatermarksInTurn(BaseWatermarkingConfig):  # type: ignore[misc]  # transformers has no types
    """Several watermarking configs as the one that ``generate`` takes; it runs them after all other processors.

    Each changes what the ones before it left, so the order matters. A watermark that draws the token itself, as
    Gumbel-max does, must be the last one, and there can be one such.

    Attributes:
        configs: any of transformers' configs and of ours, in the order in which they run.
    """

    def __init__(self, *configs: Any) -> None:
        self.configs = configs

    def validate(self) -> None:
        """Check each config; it raises what the config raises."""
        for config in self.configs:
            config.validate()

    def construct_processor(self, vocab_size: int, device: torch.device | str | None) -> LogitsProcessor:
        """A processor for one call of ``generate``, which runs each config's new processor.

        Raises:
            CTWLError: see :meth:`CTWLWatermarkingConfig.construct_processor`.
        """
        refuse_continuous_batching(device)
        return _InTurn([config.construct_processor(vocab_size, device) for config in self.configs])

    def to_dict(self) -> dict[str, Any]:
        """See :func:`.processor.not_saved`; each config by itself can be saved."""
        return not_saved("a list of watermarks")


class _InTurn(LogitsProcessor):  # type: ignore[misc]
    """Runs processors one after the other."""

    supports_continuous_batching = False

    def __init__(self, processors: list[Any]) -> None:
        self._processors = processors

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Int64 (rows, length), float (rows, size) -> float (rows, size)."""
        for processor in self._processors:
            scores = processor(input_ids, scores)
        return scores

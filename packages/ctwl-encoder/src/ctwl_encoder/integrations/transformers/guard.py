"""Ways of generating in transformers that would drop a watermark without a word: they are refused.

``generate`` makes a list of processors, of a config and of what else it is given. The ways below make none, or leave
ours out, and ask nothing of ours. So their methods are replaced by ones that look first.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from transformers import GenerationConfig
from transformers.generation import ContinuousMixin, GenerationMixin

from ...errors import StrategyUnsuitable
from .config import CTWLWatermarkingConfig
from .in_turn import WatermarksInTurn
from .processor import CTWLLogitsProcessor, ProcessorConfig
from .sampling import NO_CONTINUOUS_BATCHING, variables_of_callers

_OURS = (CTWLWatermarkingConfig, WatermarksInTurn, ProcessorConfig, CTWLLogitsProcessor)


def _has_ours(given: Any) -> bool:
    """Whether this is of ours, or a list or a generation config that has something of ours."""
    if isinstance(given, GenerationConfig):
        given = getattr(given, "watermarking_config", None)
    return any(map(_has_ours, given)) if isinstance(given, list) else isinstance(given, _OURS)


def _nearest(name: str, kind: type) -> Any:
    """The variable of this name and kind in the nearest of the calling functions that has one; None where none has."""
    return next((known[name] for known in variables_of_callers() if isinstance(known.get(name), kind)), None)


def _guarded_batches(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of continuous batching that raises StrategyUnsuitable where a watermark is asked for.

    ``generate`` drops its processors where it calls this; a manager that is kept from an earlier call drops the config.
    """

    @functools.wraps(method)
    def guarded(model: Any, *given: Any, **named: Any) -> Any:
        asked = (*given, *named.values(), model.generation_config, _nearest("logits_processor", list))
        if any(map(_has_ours, asked)):
            raise StrategyUnsuitable(NO_CONTINUOUS_BATCHING)
        return method(model, *given, **named)

    return guarded


def _guarded_update(method: Callable[..., Any]) -> Callable[..., Any]:
    """``GenerationConfig.update``, by which each ``generate`` takes its arguments in.

    It raises StrategyUnsuitable where a watermark goes to a model with a ``generate`` of its own, which makes no
    processors of a config: DiffusionGemma writes all tokens of a block at once.
    """

    @functools.wraps(method)
    def guarded(config: GenerationConfig, *given: Any, **named: Any) -> Any:
        model = _nearest("self", torch.nn.Module)
        own_way = model is not None and not isinstance(model, GenerationMixin)
        if own_way and any(map(_has_ours, (config, *named.values()))):
            raise StrategyUnsuitable(f"{type(model).__name__} generates in a way of its own, which nothing marks")
        return method(config, *given, **named)

    return guarded


ContinuousMixin.init_continuous_batching = _guarded_batches(ContinuousMixin.init_continuous_batching)
ContinuousMixin.generate_batch = _guarded_batches(ContinuousMixin.generate_batch)
# A compiler has no frames to look at.
GenerationConfig.update = torch.compiler.disable(_guarded_update(GenerationConfig.update))  # type: ignore[no-untyped-call]

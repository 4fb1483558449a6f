"""How a call of ``generate`` chooses tokens, which transformers does not tell a watermark."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from dataclasses import dataclass
from traceback import walk_stack
from typing import Any, Self

import torch
from transformers import GenerationConfig, LogitsProcessor, LogitsProcessorList
from transformers.generation import GenerationMode

from ...core.strategies import Strategy
from ...errors import SamplingUnknown, StrategyUnsuitable
from ...options import strategy_for

_KNOWN = (
    GenerationMode.SAMPLE,
    GenerationMode.GREEDY_SEARCH,
    GenerationMode.ASSISTED_GENERATION,
    GenerationMode.BEAM_SEARCH,
    GenerationMode.BEAM_SAMPLE,
)

_NEVER = 2**-20
"""A token of this probability is hardly drawn in a whole text. Chosen by hand."""


@dataclass(frozen=True)
class Sampling:
    """How one call of ``generate`` chooses tokens.

    Attributes:
        temperature: of sampling; 0 for greedy decoding and beams, as :func:`ctwl_encoder.options.strategy_for` has it.
        longest: tokens of the longest text, or of prompt and text where only those have a bound; by the option's name.
        is_draft: whether an assistant model writes, whose tokens another model accepts or refuses.
    """

    temperature: float
    longest: tuple[str, int] | None = None
    is_draft: bool = False

    @classmethod
    def of(cls, given: GenerationConfig, assistant: Any = None) -> Self | None:
        """What a generation config says, once ``generate`` has filled it in; None for a way that is not known here.

        Args:
            given: the config.
            assistant: the model that drafts, where there is one.

        Raises:
            StrategyUnsuitable: an assistant's choices are mixed into the model's, and may carry no mark.
        """
        if given.get_generation_mode(assistant) not in _KNOWN:
            return None
        if getattr(given, "assistant_ensemble_weight", None) is not None:  # transformers 5.0 has none
            raise StrategyUnsuitable(
                "assistant_ensemble_weight writes what an assistant model would, unmarked; omit it"
            )
        sampled = given.do_sample is True and given.num_beams in (None, 1)
        temperature = 1.0 if given.temperature is None else float(given.temperature)
        bounds = ((name, getattr(given, name)) for name in ("max_new_tokens", "max_length"))
        return cls(
            temperature if sampled else 0.0,
            next((bound for bound in bounds if bound[1]), None),
            is_draft=bool(given.is_assistant),
        )

    def strategy(self, named: Strategy | None) -> Strategy:
        """The strategy that is named, or where none is, the default for this sampling.

        Raises:
            StrategyUnsuitable: the named one needs sampling.
        """
        try:
            return strategy_for(named, self.temperature)
        except StrategyUnsuitable as error:
            raise StrategyUnsuitable(
                f"{error}; generate samples with do_sample=True and num_beams=1, which were not given"
            ) from error


def variables_of_callers() -> Iterator[dict[str, Any]]:
    """The variables of each function that is running, the nearest first."""
    for frame, _ in walk_stack(inspect.currentframe()):
        yield frame.f_locals


def sampling_of_the_call() -> Sampling | None:
    """How the call of ``generate`` chooses tokens that is running; None where that is not known.

    transformers (5.0 to 5.23) makes a processor from a config, and runs it, without a word of this. But all its ways of
    generating have it in a variable, ``generation_config``. So the caller's frames are searched for that; remove this
    when transformers passes it.

    Raises:
        StrategyUnsuitable: see :meth:`Sampling.of`.
    """
    found: GenerationConfig | None = None
    for known in variables_of_callers():
        if found is None and isinstance(known.get("generation_config"), GenerationConfig):
            found = known["generation_config"]
        if found is not None and "custom_generate" in known:  # the frame of `generate` itself
            own_loop = known["custom_generate"] is not None
            return None if own_loop else Sampling.of(found, known.get("assistant_model"))
    return None  # a loop of the caller's own, whatever its variables are called


def warpers_around() -> tuple[list[LogitsProcessor], list[LogitsProcessor]]:
    """What transformers runs before and after the running processor: its temperature, top-k and the like.

    Both are empty where that is not known: the caller's frames are searched, as above.
    """
    for known in variables_of_callers():
        ran, running = known.get("self"), known.get("processor")
        if isinstance(ran, LogitsProcessorList) and running in ran:
            place = ran.index(running)
            before, after = (
                [each for each in part if type(each).__name__.endswith("LogitsWarper")]
                for part in (ran[:place], ran[place + 1 :])
            )
            return before, after
    return [], []


def refuse_single(warpers: list[LogitsProcessor], size: int) -> None:
    """Refuse settings of sampling that leave one token of any text: StrategyUnsuitable.

    Whatever their names, they are tried on three distributions: many tokens that are about equally likely, some that
    are less and less likely, and two that are much likelier than all else.

    Args:
        warpers: what cuts the distribution, in its order.
        size: the number of logits.
    """
    many, ranks = min(100, size), torch.arange(size)
    scores = torch.stack([math.log(0.999) * ranks, math.log(0.7) * ranks, -math.log(8) * (ranks // 2) - ranks % 2 / 8])
    scores[:, many:] = -1e4
    for warper in warpers:
        scores = warper(torch.zeros((len(scores), 1), dtype=torch.int64), scores)
        if not has_choice(scores).any():
            raise StrategyUnsuitable(
                f"{type(warper).__name__} leaves one token, so there is no choice to sample from: change its setting "
                "(generate's argument of a like name), or pass do_sample=False"
            )


def has_choice(scores: torch.Tensor) -> torch.Tensor:
    """Which rows, bool (rows,), of logits, float (rows, size), have a second token that may ever be drawn."""
    return torch.softmax(scores, dim=1).topk(2, dim=1).values[:, 1] > _NEVER


def strategy_of(named: Strategy | None, sampling: Sampling | None) -> Strategy:
    """The strategy for a call of ``generate``.

    Args:
        named: the one that is named.
        sampling: how the call chooses tokens, where that is known.

    Raises:
        SamplingUnknown: none is named, and it is not known.
        StrategyUnsuitable: see :meth:`Sampling.strategy`.
    """
    if sampling is not None:
        return sampling.strategy(named)
    if named is None:
        raise SamplingUnknown(
            "it cannot be seen how tokens are chosen here, from which the strategy would follow; name one, such as "
            "CTWLWatermarkingConfig(strategy='race'): race for sampling, delta for all else"
        )
    return named


NO_CONTINUOUS_BATCHING = (
    "transformers' continuous batching runs no watermark; use generate without cache_implementation='paged', or vLLM"
)


def refuse_continuous_batching(device: torch.device | str | None) -> None:
    """Refuse a processor for continuous batching, which mixes rows of several texts, and drops most processors.

    Only it asks for a processor without naming a device.

    Raises:
        StrategyUnsuitable: always in that case.
    """
    if device is None:
        raise StrategyUnsuitable(NO_CONTINUOUS_BATCHING)

"""The logits processor that marks the text of one call of ``model.generate``."""

from __future__ import annotations

import warnings
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from transformers import LogitsProcessor
from transformers.generation import BaseWatermarkingConfig

from ctwl_protocol.bridge import Bridge
from ctwl_protocol.errors import ModelFailed
from ctwl_protocol.records.beacon import NONCE_COUNT

from ...core.device.marker import DeviceMarker
from ...core.payload import Payload
from ...core.strategies import Strategy
from ...core.text_so_far import PROMPT_TOKENS
from ...errors import FaintText, OptionOutOfRange, StrategyUnsuitable
from ...options import MarkingOptions
from .sampling import has_choice, refuse_continuous_batching, refuse_single, sampling_of_the_call, warpers_around

SAVED = "CTWL: import ctwl_encoder.integrations.transformers before you load this"
"""A field of all configs of ours, which transformers saves with a model. Without this package it cannot load them, and
repeats the name of the first field."""

_NO_CHOICE = 32
"""After so many tokens without a choice, its user hears of it; a grammar's fixed beginning is shorter. By hand."""


_REMEMBERED = 64
"""Texts of earlier steps that are remembered beside those of the last one: an assistant's drafts are taken back. By
hand."""


def not_saved(what: str) -> dict[str, Any]:
    """The fields of a config that is not saved: none, and they say so when they are loaded."""
    return {SAVED: f"{what} is not saved with a model; pass it to generate again"}


class _Options(MarkingOptions):
    """What a processor is told, beside what it writes."""

    strategy: Strategy = Field(strict=False)


class CTWLLogitsProcessor(LogitsProcessor):  # type: ignore[misc]  # transformers has no types
    """Marks the text that one call of ``model.generate`` writes; make a new processor for each call.

    As ``logits_processor=[processor]`` it runs before temperature, top-k and top-p. That is right for ``delta``; for
    ``race`` only at temperature 1 without truncation. As
    ``watermarking_config=ProcessorConfig(processor)`` it runs after all others, as ``race`` must.
    It reads only the ids that were generated, so beams may reorder and rows may end early.

    At the first step it looks how ``generate`` chooses tokens, and refuses a strategy or place among the processors
    that does not suit. In a loop of your own it cannot see this. One mistake goes unnoticed: a processor that is used
    for a second call with the same prompts (its texts then carry the nonces of the first).

    Attributes:
        marker: what does the marking.
        payloads: what each row carries, from the first step on.
    """

    supports_continuous_batching = False

    def __init__(
        self,
        bridge: Bridge,
        payloads: Sequence[Payload] | Callable[[], Payload],
        *,
        strategy: Strategy | str,
        nonces: int | None = None,
        **marking: Any,
    ) -> None:
        """Say what to write and how.

        Args:
            bridge: from the model's vocabulary to the proxy's.
            payloads: one for each prompt, which its rows (beams, several sequences) share; or a function that draws
                one. It is called for each row under ``race``, and for each distinct prompt under ``delta``,
                because beams of a prompt change places.
            strategy: how the texts are marked.
            nonces: where a text may go on with its prompt, see :mod:`ctwl_encoder.core.text_so_far`: from how many the
                nonces of payloads are drawn, which are beacons then; they get the nonce of the text so far. None where
                a text goes on with nothing.
            marking: the other fields of :class:`ctwl_encoder.options.MarkingOptions`.

        Raises:
            OptionOutOfRange: an option outside its bounds.
            StrategyUnsuitable: see :class:`ctwl_encoder.core.marker.Marker`.
        """
        options = _Options(strategy=strategy, **marking)
        self.marker = DeviceMarker(bridge, options.strategy)
        self.payloads: list[Payload] = []
        self._strength = options.strength_of(options.strategy)
        self._given = payloads
        self._nonces = nonces
        self._is_checked = False
        self._steps_without_choice = 0
        self._prompts: NDArray[np.int64] | None = None
        self._starts: list[int] = []
        """The text of each row without tokens; rows of one prompt that may change places share it."""
        self._texts: OrderedDict[tuple[int, int, int], int] = OrderedDict()
        """The texts of the last steps, the newest last."""

    @torch.compiler.disable  # type: ignore[untyped-decorator]  # so that generate may be compiled around it
    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Mark one step.

        Args:
            input_ids: int64 (rows, length), prompt and text so far.
            scores: float (rows, size), logits or log-probabilities of the next token.

        Returns:
            float (rows, size), the dtype and device of ``scores``.

        Raises:
            TokenizerUnsupported: the bridge's tokenizer is another model's.
            OptionOutOfRange: the payloads are not one for each prompt.
            StrategyUnsuitable: the call of ``generate`` chooses tokens in a way that does not suit; the rows do not
                begin with the prompts of the first step.
            ModelFailed: a row has no finite maximum.

        Warns:
            FaintText: so far, each step had a single token to choose from.
        """
        ids: NDArray[np.int64] = input_ids.cpu().numpy()
        self._is_checked = self._is_checked or self._check_call(scores.shape[1])
        if self._prompts is None:
            self.marker.bridge.check_size(scores.shape[1])
            self._prompts, self._starts = ids, self._starts_of_rows(ids)
            self.payloads = [self.marker.texts.payloads[start] for start in self._starts]
        start = self._prompts.shape[1]
        if not np.array_equal(ids[:, :start], self._prompts):
            raise StrategyUnsuitable(
                "the rows do not begin with this processor's prompts, so they are of another call of generate: make a "
                "new CTWLLogitsProcessor for each call, or pass a CTWLWatermarkingConfig, which makes them itself"
            )
        generated = ids[:, start:]
        ended = ~self.marker.writes(generated[:, -1]) if generated.size else np.zeros(len(ids), dtype=np.bool_)
        texts = np.where(ended, -1, self._read(self._starts, generated)).tolist()
        check_finite(scores)
        self._warn_without_choice(scores)
        scores = scores.clone(memory_format=torch.contiguous_format)
        self.marker.mark(texts, scores)
        return scores

    def _check_call(self, size: int) -> bool:
        """Refuse a strategy, settings or a way of decoding that do not suit the running call: StrategyUnsuitable.

        Args:
            size: the number of logits.

        Returns:
            Whether the call could be checked: an assistant's could not, which drafts by settings of its own.
        """
        sampling = sampling_of_the_call()
        if sampling is None:
            return True
        if sampling.is_draft:
            return False
        strategy = self.marker.strategy
        sampling.strategy(strategy)
        before, after = warpers_around()
        if strategy.keeps_distribution and after:
            raise StrategyUnsuitable(
                f"{strategy} has to run after {type(after[0]).__name__}; pass "
                "watermarking_config=ProcessorConfig(processor) in place of logits_processor"
            )
        refuse_single([*before, *after], size)
        return True

    def _warn_without_choice(self, scores: torch.Tensor) -> None:
        """Warn (FaintText) at one step, where no row had a second token in it or before; float (rows, size)."""
        if self._steps_without_choice > _NO_CHOICE:
            return
        self._steps_without_choice += 1
        if bool(has_choice(scores).any()):
            self._steps_without_choice = _NO_CHOICE + 1
        elif self._steps_without_choice == _NO_CHOICE:
            warnings.warn(
                f"the first {_NO_CHOICE} tokens were each the only one left by the settings of sampling or by a "
                "grammar, and carry no mark",
                FaintText,
                stacklevel=2,
            )

    def text(self, payload: Payload, generated: NDArray[np.int64]) -> int:
        """What was read and marked of a text: kept from an earlier step, or read anew from its longest known part.

        Args:
            payload: what was written into it.
            generated: int64 (tokens,), without the prompt.

        Returns:
            The text's number in ``marker.texts``.
        """
        known = next((start for start, one in zip(self._starts, self.payloads, strict=True) if one == payload), None)
        start = self.marker.start(payload, self._strength) if known is None else known
        return self._read([start], generated[None])[0]

    def _read(self, starts: Sequence[int], generated: NDArray[np.int64]) -> list[int]:
        """The texts of rows, int64 (rows, tokens). One that has ended is read to its last token that became text.

        Each is a copy of a text of an earlier step that goes on: several rows may go on from one.
        """
        texts, new = list[int](), list[tuple[int, NDArray[np.int64]]]()
        for start, row in zip(starts, generated, strict=True):
            ids = row[: np.flatnonzero(self.marker.writes(row)).max(initial=-1) + 1]
            known = len(ids)
            while known and _key(start, ids[:known]) not in self._texts:
                known -= 1
            key, text = _key(start, ids), self._texts.get(_key(start, ids[:known]), start)
            if known < len(ids) or text == start:
                before, text = text, self.marker.texts.copy(text)
                self.marker.texts.take_offers(text, before)
                new.append((text, ids[known:]))
                self._texts[key] = text
            self._texts.move_to_end(key)
            texts.append(text)
        for count in range(max((len(ids) for _, ids in new), default=0)):
            go_on = [(text, int(ids[count])) for text, ids in new if count < len(ids)]
            self.marker.extend(*zip(*go_on, strict=True))
        while len(self._texts) > len(starts) + _REMEMBERED:
            self.marker.texts.free(self._texts.popitem(last=False)[1])
        return texts

    def _starts_of_rows(self, prompts: NDArray[np.int64]) -> list[int]:
        """The text of each row of prompts, int64 (rows, length), without tokens.

        Raises:
            OptionOutOfRange: see :meth:`_payloads_of_rows`.
        """
        known: dict[tuple[Payload, bytes], int] = {}
        starts, numbers, nonces = list[int](), Counter[bytes](), self._nonces or NONCE_COUNT
        for payload, prompt in zip(self._payloads_of_rows(prompts), prompts, strict=True):
            name = prompt.tobytes() if self._nonces else b""
            row = payload, name
            if row not in known:
                before = prompt[-PROMPT_TOKENS:].tolist() if self._nonces else []
                drawn = numbers[name] if callable(self._given) else None
                known[row] = self.marker.start(payload, self._strength, before, number=drawn, nonces=nonces)
                numbers[name] += 1
            starts.append(known[row])
        return starts

    def _payloads_of_rows(self, prompts: NDArray[np.int64]) -> list[Payload]:
        """One payload for each row of prompts, int64 (rows, length).

        Raises:
            OptionOutOfRange: the payloads that were given are not one for each prompt.
        """
        if callable(self._given):
            if self.marker.strategy.keeps_distribution:
                return [self._given() for _ in prompts]
            drawn = {prompt: self._given() for prompt in dict.fromkeys(row.tobytes() for row in prompts)}
            return [drawn[row.tobytes()] for row in prompts]
        count = len(self._given)
        if not count or len(prompts) % count:
            raise OptionOutOfRange(f"{len(prompts)} rows cannot share {count} records; give one for each prompt")
        groups = prompts.reshape(count, len(prompts) // count, -1)
        if count > 1 and (groups != groups[:, :1]).any():
            raise OptionOutOfRange(f"there are {count} records and more prompts; give one for each prompt")
        return [payload for payload in self._given for _ in range(groups.shape[1])]


def check_finite(scores: torch.Tensor) -> None:
    """Refuse logits, float (rows, size), of which a row has no finite maximum: ModelFailed."""
    if not bool(scores.amax(dim=1).isfinite().all()):
        raise ModelFailed("the model's logits are not numbers; run it in float32 or bfloat16")


def _key(start: int, generated: NDArray[np.int64]) -> tuple[int, int, int]:
    """What identifies a text: where it starts, its length and a hash of its tokens."""
    return start, len(generated), hash(generated.tobytes())


class Unmarked(LogitsProcessor):  # type: ignore[misc]
    """Changes nothing: an assistant model's drafts are marked by the processors of the model that it drafts for."""

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:  # noqa: ARG002
        """The scores, float (rows, size), as they are."""
        return scores


class ProcessorConfig(BaseWatermarkingConfig):  # type: ignore[misc]  # transformers has no types
    """A processor as the ``watermarking_config`` of one call of ``generate``, which runs it after all others."""

    def __init__(self, processor: LogitsProcessor) -> None:
        self._processor = processor

    def validate(self) -> None:
        """Do nothing: the processor's arguments were checked when it was made."""

    def construct_processor(self, vocab_size: int, device: torch.device | str | None) -> LogitsProcessor:  # noqa: ARG002
        """The processor; it raises StrategyUnsuitable under continuous batching."""
        refuse_continuous_batching(device)
        return self._processor

    def to_dict(self) -> dict[str, Any]:
        """See :func:`not_saved`."""
        return not_saved("a processor")

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self  # generate copies its configuration, but must not copy the processor

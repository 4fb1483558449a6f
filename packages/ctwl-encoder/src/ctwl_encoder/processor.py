"""The logits processor: where a code enters the text (spec section 8)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import LogitsProcessor
from transformers.generation import BaseWatermarkingConfig

from ctwl_protocol import hashing
from ctwl_protocol.proxy import Proxy

from .errors import OptionOutOfRange, StrategyUnsuitable
from .expectation import HIT_RATE, Expectation, null_hit
from .strategies import Strategy, add_delta, split_mass

__all__ = ["MAX_DELTA", "CTWLLogitsProcessor"]

MAX_DELTA = 100.0
"""Largest ``delta``, in nats: beyond it only members of ``V`` are ever written."""


class CTWLLogitsProcessor(LogitsProcessor):  # type: ignore[misc]
    """Marks what ``model.generate`` writes, for a model whose vocabulary is the proxy's.

    As ``watermarking_config=processor.config()`` a processor serves any number of calls, and comes after temperature,
    top-k and top-p, as ``unbiased`` must. As ``logits_processor`` it comes before them, and needs :meth:`reset` between
    calls. It reads only the ids generated so far, so beams may reorder and rows may end early.

    Attributes:
        on_step: called with the number of tokens generated so far.
    """

    supports_continuous_batching = False

    def __init__(
        self,
        proxy: Proxy,
        codes: Sequence[int],
        *,
        strategy: Strategy | Literal["delta", "unbiased", "vanilla"] = Strategy.UNBIASED,
        delta: float = 2.0,
        skip_repeats: bool = False,
        stop_ids: Sequence[int] = (),
    ) -> None:
        """Say what to write.

        Args:
            proxy: the profile's proxy.
            codes: one code for each prompt; rows beyond (beams, several sequences) share their prompt's.
            strategy: see :class:`Strategy`.
            delta: nats, for ``delta`` and ``vanilla``.
            skip_repeats: leave positions alone whose context has been marked in this text; see the specification.
            stop_ids: tokens after which a row has ended.

        Raises:
            StrategyUnsuitable: ``unbiased`` with a sigma other than 1/2.
            OptionOutOfRange: a code outside the code space, or none; a delta that is not above 0 and at most 100.
        """
        strategy = Strategy(strategy)
        profile = proxy.profile
        if strategy is Strategy.UNBIASED and profile.sigma != (1, 2):
            raise StrategyUnsuitable(f"unbiased needs sigma = 1/2; {profile.name} has {profile.sigma}. Use delta")
        if not codes or not all(0 <= code < profile.codes for code in codes):
            raise OptionOutOfRange(f"codes run from 0 to {profile.codes - 1} and there must be one for each prompt")
        if not 0 < delta <= MAX_DELTA:
            raise OptionOutOfRange(f"delta is {delta}; it must be above 0 and at most {MAX_DELTA:g}")
        self.proxy = proxy.vanilla() if strategy is Strategy.VANILLA else proxy
        self.strategy = strategy
        self.codes = list(codes)
        self.delta = delta
        self.skip_repeats = skip_repeats
        self.on_step: Callable[[int], None] = lambda tokens: None
        self._profile = self.proxy.profile
        self._stop = np.array(sorted({*stop_ids, *self._profile.tokenizer.special}), dtype=np.int64)
        self.reset()
        self._seed_of: dict[tuple[int, tuple[int, ...]], int] = {}

    def reset(self) -> None:
        """Forget the last call of ``generate``, so that the processor serves another."""
        self._prompt_length: int | None = None
        self._settled: dict[tuple[int, int], Expectation] = {}
        self._steps: dict[tuple[int, int], _Step] = {}

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Mark one step.

        Args:
            input_ids: int64 (rows, length), prompt and text so far.
            scores: float (rows, size), logits or log-probabilities of the next token.

        Returns:
            float (rows, size), the dtype and device of ``scores``.

        Raises:
            OptionOutOfRange: the number of rows is no multiple of the number of codes.
        """
        if input_ids.shape[0] % len(self.codes):
            raise OptionOutOfRange(f"{input_ids.shape[0]} rows cannot share {len(self.codes)} codes; give one a prompt")
        codes = np.repeat(self.codes, input_ids.shape[0] // len(self.codes)).tolist()
        if self._prompt_length is None:
            self._prompt_length = input_ids.shape[1]
        text: NDArray[np.int64] = input_ids[:, self._prompt_length :].cpu().numpy()
        for code, row in zip(codes, text, strict=True):
            self._settled[_key(code, row)] = self._credited(code, row)
        self._steps = {}
        rows = self._markable(text)
        if len(rows):
            seeds = np.array([self._seed(codes[i], text[i]) for i in rows], dtype=np.uint32)
            logits = scores[torch.from_numpy(rows).to(scores.device)].float().cpu().numpy()
            marked, found = self._mark(text[rows], logits, seeds)
            scores = scores.clone()
            scores[torch.from_numpy(rows).to(scores.device)] = torch.from_numpy(marked).to(scores)
            self._steps = {_key(codes[i], text[i]): step for i, step in zip(rows, found, strict=True)}
        self.on_step(text.shape[1])
        return scores

    def expectation(self, code: int, text: NDArray[np.int64]) -> Expectation:
        """The evidence to be expected of a text that ``generate`` wrote.

        Args:
            code: what was written into it.
            text: int64 (tokens,), without the prompt and without what ends it.
        """
        return self._settled.get(_key(code, text)) or self._credited(code, text)

    def config(self) -> BaseWatermarkingConfig:
        """This processor as ``generate``'s ``watermarking_config``, which comes after every other processor."""
        return _Placed(self)

    def _markable(self, text: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows whose next token can carry: a full window of proxy tokens, no end, and a fresh context if asked."""
        length, h = self._profile.prefix_length, self._profile.context_length
        if text.shape[1] < length:
            return np.empty(0, dtype=np.int64)
        window = text[:, -length:]
        good = (window >= 0) & (window < self._profile.tokenizer.vocabulary) & ~np.isin(window, self._stop)
        rows = np.flatnonzero(good.all(axis=1))
        if self.skip_repeats:
            contexts = np.lib.stride_tricks.sliding_window_view(text[rows, length - h :], h, axis=1)
            seen = (contexts[:, :-1] == contexts[:, -1:]).all(axis=2).any(axis=1)
            rows = rows[~seen]
        return rows

    def _seed(self, code: int, text: NDArray[np.int64]) -> int:
        """``s(c, a)`` of a code at the context that a text ends in."""
        context = tuple(text[-self._profile.context_length :].tolist())
        if (code, context) not in self._seed_of:
            key, colours = self._profile.key, self._profile.colours
            colour_seed = hashing.colour_seed(key, context)
            colour = hashing.code_colours(colour_seed, np.array([code], dtype=np.uint32), colours)[0]
            seeds = hashing.permutation_seeds(hashing.partition_seed(key, context), colours)
            self._seed_of[code, context] = int(seeds[colour])
        return self._seed_of[code, context]

    def _mark(
        self, text: NDArray[np.int64], logits: NDArray[np.float32], seeds: NDArray[np.uint32]
    ) -> tuple[NDArray[np.float32], list[_Step]]:
        carriers = np.zeros(logits.shape[1], dtype=np.bool_)
        carriers[: self._profile.tokenizer.vocabulary] = True
        carriers[self._stop] = False
        if self.strategy is Strategy.UNBIASED:
            marked = split_mass(logits, carriers, seeds)
            return marked, [_Step(row, None) for row in marked]
        windows = text[:, -self._profile.prefix_length :]
        weights = np.concatenate([w for _, w in self.proxy.batches(windows)])
        marked = add_delta(logits, weights, carriers, seeds, self._profile.sigma, self.delta)
        return marked, [_Step(w, b > a) for w, a, b in zip(weights, logits, marked, strict=True)]

    def _credited(self, code: int, text: NDArray[np.int64]) -> Expectation:
        """The expectation of a text, given what the step before its last token offered.

        Like the decoder it counts a pair of context and token once: a loop brings no evidence.
        """
        before = _key(code, text[:-1])
        past, step = self._settled.get(before, Expectation()), self._steps.get(before)
        if step is None or not len(text):
            return past
        length, h = self._profile.prefix_length, self._profile.context_length
        pairs = np.lib.stride_tricks.sliding_window_view(text[length - h :], h + 1)
        if (pairs[:-1] == pairs[-1]).all(axis=1).any():
            return past.repeated()
        return step.credit(past, int(text[-1]))


def _key(code: int, text: NDArray[np.int64]) -> tuple[int, int]:
    """A name for a text so far: beams may reorder between steps, so nothing is kept by row number."""
    return code, hash(text.tobytes())


class _Step:
    """What a step offered one row: enough to tell the evidence of whichever token is chosen."""

    def __init__(self, weights: NDArray[np.uint32] | NDArray[np.float32], inside: NDArray[np.bool_] | None) -> None:
        self._weights = weights
        self._inside = inside

    def credit(self, past: Expectation, token: int) -> Expectation:
        if self._inside is None:
            # The proxy was not asked: take the model's own probability, which marking doubled.
            return past.after(null_hit(float(np.exp(self._weights[token])) / 2), HIT_RATE)
        probability = float(self._weights[token]) / max(float(self._weights.sum(dtype=np.uint64)), 1.0)
        return past.after(null_hit(probability), float(self._inside[token]))


class _Placed(BaseWatermarkingConfig):  # type: ignore[misc]
    """Hands ``generate`` a processor that exists already."""

    def __init__(self, processor: CTWLLogitsProcessor) -> None:
        self._processor = processor

    def validate(self) -> None:
        """Nothing to check: the processor checked its own arguments."""

    def construct_processor(self, vocab_size: int, device: torch.device | str) -> CTWLLogitsProcessor:  # noqa: ARG002
        """The processor, made ready for this call, whatever the model's size and device."""
        self._processor.reset()
        return self._processor

    def __deepcopy__(self, memo: dict[int, object]) -> _Placed:
        return self  # generate copies its configuration; the proxy must not be copied with it

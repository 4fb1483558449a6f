"""Secret watermarks that a provider may write beside its code: each is written as its engine does, and has a detector.

- ``KGW``: transformers' ``WatermarkingConfig``, after Kirchenbauer et al., *A Watermark for Large Language Models*
  (ICML 2023). It adds 2 to the logits of a quarter of the vocabulary, which the last token selects.
- ``SynthID-Text``: transformers' ``SynthIDTextWatermarkingConfig``, after Dathathri et al., *Scalable watermarking for
  identifying large language model outputs* (Nature 634, 2024): 30 rounds of a tournament, which the last four tokens
  select.
- ``Gumbel``: the watermark of vLLM 0.32, ``vllm/v1/watermarking``, written anew here in NumPy. The last four tokens
  select a number for each token, and the token is drawn by these numbers.

A detector reads a text's tokens, by the model's tokenizer, without the prompt. Its p-value is the chance of such a
score under a random key. What one key says of one pair of context and token is counted once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import special, stats
from transformers import (
    LogitsProcessor,
    SynthIDTextWatermarkingConfig,
    SynthIDTextWatermarkLogitsProcessor,
    WatermarkDetector,
    WatermarkingConfig,
)

from ctwl_encoder.integrations.transformers import ProcessorConfig

CONTEXT = 4
"""Tokens that select a number, of SynthID-Text and vLLM's Gumbel alike; the default of both."""

DEPTH = 30
"""Rounds of the tournament, as in the paper's experiments."""

_MASK = np.uint64(0xFFFFFFFF)
_DOMAINS = np.uint64(0x574D4358), np.uint64(0x574D544B)
"""Of contexts and of tokens, vLLM's."""


class SecretMark(ABC):
    """A secret watermark under one key.

    Attributes:
        size: of the model's vocabulary.
        key: 0 to 2^63 - 1.
    """

    def __init__(self, size: int, key: int) -> None:
        self.size, self.key = size, key

    @abstractmethod
    def config(self) -> Any:
        """What transformers' ``generate`` takes to write it, for one call."""

    @abstractmethod
    def p_value(self, ids: Sequence[int]) -> float:
        """The chance that a text's tokens score as high under a random key."""


class Kgw(SecretMark):
    """Transformers' KGW: how many distinct pairs of tokens are green is binomial."""

    def config(self) -> Any:
        """See :class:`SecretMark`."""
        return WatermarkingConfig(hashing_key=self.key)

    def p_value(self, ids: Sequence[int]) -> float:
        """The exact tail of transformers' counts, which states a normal one itself."""
        model = SimpleNamespace(vocab_size=self.size, bos_token_id=-1, is_encoder_decoder=False)  # all that it asks for
        detector = WatermarkDetector(model, "cpu", self.config(), ignore_repeated_ngrams=True)
        found = detector(torch.tensor([list(ids)]), return_dict=True)
        scored, green = int(found.num_tokens_scored[0]), int(found.num_green_tokens[0])
        return float(stats.binom.sf(green - 1, scored, detector.processor.greenlist_size / self.size))


class SynthId(SecretMark):
    """Transformers' SynthID-Text: the weighted mean of the rounds' bits, weights from 10 down to 1 as in the paper.

    Transformers' own detector must be trained; this one needs no training. Behind a random key all bits are fair and
    independent, so its null is a sum of binomials, which is computed exactly.
    """

    @property
    def _settings(self) -> SynthIDTextWatermarkingConfig:
        keys = np.random.default_rng(self.key).integers(1 << 31, size=DEPTH).tolist()
        return SynthIDTextWatermarkingConfig(keys=keys, ngram_len=CONTEXT + 1)

    def config(self) -> Any:
        """See :class:`SecretMark`."""
        return ProcessorConfig(_QuickSynthId(**vars(self._settings), device="cpu"))

    def p_value(self, ids: Sequence[int]) -> float:
        """The exact tail of the weighted sum over positions whose context is new; no smaller than rounding allows."""
        processor, given = self._settings.construct_processor(self.size, "cpu"), torch.tensor([list(ids)])
        new = processor.compute_context_repetition_mask(given)[0].bool()
        bits: NDArray[np.int64] = processor.compute_g_values(given)[0, new].numpy()
        size = 1 << int(len(bits) * _WEIGHTS.sum()).bit_length()
        chances = np.fft.irfft(_transform(size) ** len(bits), size)
        return float(np.clip(chances[int((bits @ _WEIGHTS).sum()) :].sum(), _ROUNDING, 1))


class _QuickSynthId(SynthIDTextWatermarkLogitsProcessor):  # type: ignore[misc]
    """Transformers' processor, about ten times as fast: the bits of a token depend on 16 bits of its hash alone.

    It writes; transformers' own reads.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._size = len(self.sampling_table)  # a power of two, so that the low bits of a hash make those of the next
        hashes = self.accumulate_hash(torch.arange(self._size)[None], self.keys[:, None, None])
        self._bits = self.sampling_table[hashes % self._size].to(torch.int8)

    def _compute_keys(self, contexts: torch.Tensor, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Hashes of contexts with each token, int64 (rows, tokens), and of contexts alone, int64 (rows,)."""
        alone = self.accumulate_hash(torch.ones(len(contexts), dtype=torch.long), contexts)
        return self.accumulate_hash(alone[:, None], tokens[..., None]), alone

    def sample_g_values(self, hashes: torch.Tensor) -> torch.Tensor:
        """The bits of each round: int8 (rows, tokens, DEPTH), each round's beside each other in memory."""
        bits: torch.Tensor = self._bits[:, hashes % self._size].permute(1, 2, 0)
        return bits


_WEIGHTS = 10 * (DEPTH - 1) - 9 * np.arange(DEPTH)
"""Of the rounds, 10 down to 1 in equal steps, as whole numbers: int64 (DEPTH,)."""

_ROUNDING = 1e-12


@cache
def _transform(size: int) -> NDArray[np.complex128]:
    """The Fourier transform of the weighted sum of one position's fair bits: complex128 (size // 2 + 1,)."""
    turns = np.arange(size // 2 + 1) * (-2j * np.pi / size)
    whole = np.ones(len(turns), dtype=complex)
    for weight in _WEIGHTS.tolist():
        whole *= (1 + np.exp(weight * turns)) / 2
    return whole


class Gumbel(SecretMark):
    """VLLM's Gumbel watermark: minus the logarithms of 1 - u of distinct contexts add up to a Gamma variable."""

    def config(self) -> Any:
        """See :class:`SecretMark`."""
        return ProcessorConfig(_GumbelProcessor(self.key))

    def p_value(self, ids: Sequence[int]) -> float:
        """The exact Gamma tail, as ``GumbelWatermarkDetector`` has it."""
        tokens, first = np.array(ids), dict[tuple[int, ...], int]()
        for place in range(len(ids)):
            first.setdefault(_context(ids[:place]), place)
        chosen = tokens[list(first.values())]
        words = philox_words(self.key, np.array(list(first)), chosen[:, None] >> 2)[:, 0]
        u = _uniform(words[np.arange(len(chosen)), chosen & 3]).astype(np.float64)
        return float(special.gammaincc(len(chosen), -np.log1p(-u).sum()))


class _GumbelProcessor(LogitsProcessor):  # type: ignore[misc]
    """Leaves the token that vLLM's ``GumbelWatermarker`` draws; a repeated context is left alone, as vLLM does."""

    supports_continuous_batching = False

    def __init__(self, key: int) -> None:
        self._key = key
        self._prompt = 0
        self._seen: list[set[tuple[int, ...]]] = []

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Int64 (rows, length), float (rows, size) -> float (rows, size)."""
        if not self._seen:
            self._prompt, self._seen = input_ids.shape[1], [set() for _ in input_ids]
        contexts = [_context(own) for own in input_ids[:, self._prompt :].tolist()]
        rows = [row for row, context in enumerate(contexts) if context not in self._seen[row]]
        for row in rows:
            self._seen[row].add(contexts[row])
        if not rows:
            return scores
        size = scores.shape[1]
        words = philox_words(self._key, np.array([contexts[row] for row in rows]), np.arange(-(-size // 4))[None])
        noise = -np.log(-np.log(_uniform(words.reshape(len(rows), -1)[:, :size])))
        drawn = (scores[rows] + torch.from_numpy(noise).to(scores)).argmax(dim=1)
        marked = scores.clone()
        marked[rows] = torch.full_like(scores[rows], -torch.inf).scatter(1, drawn[:, None], 0.0)
        return marked


def _context(tokens: Sequence[int]) -> tuple[int, ...]:
    """The last tokens that a text has, minus ones before its first."""
    return tuple([*[-1] * CONTEXT, *tokens][-CONTEXT:])


def _uniform(words: NDArray[np.uint64]) -> NDArray[np.float32]:
    """Numbers between 0 and 1 of words of 32 bits, vLLM's ``uint32_to_uniform``."""
    return (((words >> np.uint64(8)) + 1.0) / (2**24 + 1)).astype(np.float32)


def philox_words(key: int, contexts: NDArray[np.int64], blocks: NDArray[np.int64]) -> NDArray[np.uint64]:
    """What vLLM's ``PhiloxPRF`` makes of contexts and tokens; token ``4 b + i`` has the word ``i`` of block ``b``.

    Args:
        key: of 64 bits.
        contexts: int64 (contexts, CONTEXT).
        blocks: int64 (contexts or 1, blocks).

    Returns:
        Words of 32 bits: uint64 (contexts, blocks, 4).
    """
    low, high = np.uint64(key & 0xFFFFFFFF), np.uint64(key >> 32)
    given = contexts.astype(np.uint64) & _MASK
    lengths = (_DOMAINS[0], np.uint64(CONTEXT), np.uint64(0), np.uint64(0))
    state = philox((given.T ^ np.array(lengths)[:, None])[:, :, None], low, high)
    counter = np.broadcast_arrays(blocks.astype(np.uint64), *state[:3])
    return np.stack(philox(np.stack(counter), low ^ state[3], high ^ _DOMAINS[1]), axis=-1)


def philox(counter: NDArray[np.uint64], low: Any, high: Any) -> tuple[NDArray[np.uint64], ...]:
    """Philox4x32-10 (Salmon et al., SC 2011, https://doi.org/10.1145/2063384.2063405).

    Args:
        counter: words of 32 bits, uint64 (4, ...).
        low: the key's first word, uint64 that broadcasts with the counter's words.
        high: its second word.
    """
    half, (c0, c1, c2, c3) = np.uint64(32), counter
    for number in range(10):
        first, third = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        key0 = (low + np.uint64(number * 0x9E3779B9 & 0xFFFFFFFF)) & _MASK
        key1 = (high + np.uint64(number * 0xBB67AE85 & 0xFFFFFFFF)) & _MASK
        c0, c1, c2, c3 = (third >> half) ^ c1 ^ key0, third & _MASK, (first >> half) ^ c3 ^ key1, first & _MASK
    return c0, c1, c2, c3


SECRET: dict[str, type[SecretMark]] = {"KGW": Kgw, "SynthID-Text": SynthId, "Gumbel (vLLM)": Gumbel}
"""By the names of the tables."""

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
from typing import Any

import numpy as np
import torch
from transformers import (
    LogitsProcessor,
    SynthIDTextWatermarkingConfig,
    SynthIDTextWatermarkLogitsProcessor,
    WatermarkingConfig,
)

from ctwl_encoder.integrations.transformers import ProcessorConfig
from ctwl_services.detector import p_values
from ctwl_services.detector.philox import CONTEXT, context_of, philox_words, uniform

DEPTH = 30
"""Rounds of the tournament, as in the paper's experiments."""


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

    def p_value(self, ids: Sequence[int]) -> float:
        """The chance that a text's tokens score as high under a random key; 1 where it has too few."""
        found = self._p_value(ids)
        return 1.0 if found is None else found

    @abstractmethod
    def _p_value(self, ids: Sequence[int]) -> float | None: ...

    @property
    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """What ``ctwl-detector`` takes to read it, but for the provider and the tokenizer."""


class Kgw(SecretMark):
    """Transformers' KGW: how many distinct pairs of tokens are green is binomial."""

    def config(self) -> Any:
        """See :class:`SecretMark`."""
        return WatermarkingConfig(hashing_key=self.key)

    def _p_value(self, ids: Sequence[int]) -> float | None:
        """The exact tail of transformers' counts, which states a normal one itself."""
        return p_values.kgw(ids, self.config(), self.size)

    @property
    def settings(self) -> dict[str, Any]:
        """See :class:`SecretMark`."""
        return {"kind": "kgw", "hashing_key": self.key, "vocabulary": self.size}


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

    def _p_value(self, ids: Sequence[int]) -> float | None:
        """The exact tail of the weighted sum over positions whose context is new; no smaller than rounding allows."""
        return p_values.synthid(ids, self._settings, self.size)

    @property
    def settings(self) -> dict[str, Any]:
        """See :class:`SecretMark`."""
        given = self._settings
        return {"kind": "synthid", "keys": given.keys, "ngram_len": given.ngram_len, "vocabulary": self.size}


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


class Gumbel(SecretMark):
    """VLLM's Gumbel watermark: minus the logarithms of 1 - u of distinct contexts add up to a Gamma variable."""

    def config(self) -> Any:
        """See :class:`SecretMark`."""
        return ProcessorConfig(_GumbelProcessor(self.key))

    def _p_value(self, ids: Sequence[int]) -> float | None:
        """The exact Gamma tail, as ``GumbelWatermarkDetector`` has it."""
        return p_values.gumbel(ids, self.key)

    @property
    def settings(self) -> dict[str, Any]:
        """See :class:`SecretMark`."""
        return {"kind": "gumbel", "key": self.key}


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
        contexts = [context_of(own) for own in input_ids[:, self._prompt :].tolist()]
        rows = [row for row, context in enumerate(contexts) if context not in self._seen[row]]
        for row in rows:
            self._seen[row].add(contexts[row])
        if not rows:
            return scores
        size = scores.shape[1]
        words = philox_words(self._key, np.array([contexts[row] for row in rows]), np.arange(-(-size // 4))[None])
        noise = -np.log(-np.log(uniform(words.reshape(len(rows), -1)[:, :size])))
        drawn = (scores[rows] + torch.from_numpy(noise).to(scores)).argmax(dim=1)
        marked = scores.clone()
        marked[rows] = torch.full_like(scores[rows], -torch.inf).scatter(1, drawn[:, None], 0.0)
        return marked


SECRET: dict[str, type[SecretMark]] = {"KGW": Kgw, "SynthID-Text": SynthId, "Gumbel (vLLM)": Gumbel}
"""By the names of the tables."""

"""Small versions of two published multi-bit schemes, to compare with. They are not the authors' code.

- ``mpac``, after Yoo, Ahn and Kwak, *Advancing Beyond Identification: Multi-bit Watermark for Large Language Models*
  (NAACL 2024): each position is given to one digit of the message, and the vocabulary parts into as many lists as a
  digit has values; the list of the digit's value is preferred.
- ``cyclic``, after Fernandez, Chaffin, Tit, Chappelier and Furon, *Three Bricks to Consolidate Watermarks for Large
  Language Models* (WIFS 2023): the message says by how much the list of preferred tokens is turned.

Both add ``delta`` to the logits of what they prefer, take the last token as context, count every pair of context and
token once, and know nothing of a proxy: what they prefer has a fixed share of the vocabulary, not of the mass.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import LogitsProcessor

from ctwl_protocol.hashing import GOLDEN, fmix32
from ctwl_protocol.partition.kernel import fmix32_scalar, in_chunks, jit

_GOLDEN = np.uint32(GOLDEN)
_KEY = np.uint32(0x9E3779B1)


def _seeds(contexts: NDArray[np.int64]) -> NDArray[np.uint32]:
    """One word for each context."""
    return fmix32((contexts.astype(np.uint32) + np.uint32(1)) * _KEY)


def _below(words: NDArray[np.uint32], size: int) -> NDArray[np.int64]:
    """Words as numbers below ``size``, alike in chance."""
    return ((words.astype(np.uint64) * np.uint64(size)) >> np.uint64(32)).astype(np.int64)


def _standing(hits: int, pairs: int, chance: float) -> float:
    """Standard deviations by which hits exceed what chance gives one message."""
    return (hits - pairs * chance) / math.sqrt(max(pairs * chance * (1 - chance), 1))


class Baseline(ABC):
    """A scheme for messages of some bits and a vocabulary of some size."""

    def __init__(self, bits: int, size: int) -> None:
        self.bits = bits
        self.size = size

    @abstractmethod
    def preferred(self, message: int, context: int) -> NDArray[np.bool_]:
        """The tokens that carry a message behind a context: bool (tokens,)."""

    @abstractmethod
    def read(self, ids: Sequence[int]) -> tuple[int, float]:
        """The likeliest message of a text's tokens, and by how many standard deviations what it prefers stands out.

        The latter is a statistic to tell texts apart by; the best of all messages stands out in any text.
        """

    @staticmethod
    def pairs(ids: Sequence[int]) -> NDArray[np.int64]:
        """The distinct pairs of context and token: int64 (pairs, 2)."""
        return np.array(sorted(set(pairwise(ids))), dtype=np.int64).reshape(-1, 2)


class Preferring(LogitsProcessor):  # type: ignore[misc]
    """Adds ``delta`` to what the message of each prompt prefers, but for pairs that the text has: they count once."""

    def __init__(self, scheme: Baseline, messages: Sequence[int], delta: float) -> None:
        self._scheme, self._messages, self._delta = scheme, messages, delta

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Bool rows as :meth:`Baseline.preferred` gives them, added to float (rows, tokens)."""
        beams = len(input_ids) // len(self._messages)
        last = input_ids[:, -1].tolist()
        inside = np.stack(
            [self._scheme.preferred(self._messages[i // beams], context) for i, context in enumerate(last)]
        )
        for row, ids in zip(inside, input_ids.tolist(), strict=True):
            row[[token for context, token in pairwise(ids) if context == ids[-1]]] = False
        return scores + self._delta * torch.from_numpy(inside).to(scores)


class PositionAllocation(Baseline):
    """After MPAC: digits of two bits, so lists of a quarter of the vocabulary."""

    RADIX = 4

    @property
    def _digits(self) -> int:
        return -(-self.bits // 2)

    def preferred(self, message: int, context: int) -> NDArray[np.bool_]:
        """See :class:`Baseline`."""
        seed = _seeds(np.array([context]))
        place = int(_below(fmix32(seed ^ _KEY), self._digits)[0])
        lists: NDArray[np.int64] = _below(fmix32(seed ^ (np.arange(self.size, dtype=np.uint32) * _GOLDEN)), self.RADIX)
        return np.asarray(lists == (message >> 2 * place & 3))

    def read(self, ids: Sequence[int]) -> tuple[int, float]:
        """See :class:`Baseline`."""
        contexts, tokens = self.pairs(ids).T
        seeds = _seeds(contexts)
        places = _below(fmix32(seeds ^ _KEY), self._digits)
        lists = _below(fmix32(seeds ^ (tokens.astype(np.uint32) * _GOLDEN)), self.RADIX)
        counts = np.zeros((self._digits, self.RADIX), dtype=np.int64)
        np.add.at(counts, (places, lists), 1)
        message = sum(int(digit) << 2 * place for place, digit in enumerate(counts.argmax(axis=1)))
        return message, _standing(int(counts.max(axis=1).sum()), len(tokens), 1 / self.RADIX)


class CyclicShift(Baseline):
    """After Three Bricks: half of a circle of tokens is preferred, turned by the message."""

    _HALF = 1 << 31

    def preferred(self, message: int, context: int) -> NDArray[np.bool_]:
        """See :class:`Baseline`."""
        places = (np.arange(self.size, dtype=np.int64) + message) % max(self.size, 1 << self.bits)
        words = fmix32(_seeds(np.array([context])) ^ (places.astype(np.uint32) * _GOLDEN))
        return words < self._HALF

    def read(self, ids: Sequence[int]) -> tuple[int, float]:
        """See :class:`Baseline`."""
        contexts, tokens = self.pairs(ids).T
        messages, circle = 1 << self.bits, max(self.size, 1 << self.bits)
        scores = np.zeros(messages, dtype=np.int32)
        seeds = _seeds(contexts)
        in_chunks(lambda start, stop: _turned(seeds, tokens, circle, scores, start, stop), messages)
        message = int(scores.argmax())
        return message, _standing(int(scores[message]), len(tokens), 1 / 2)


@jit
def _turned(seeds: Any, tokens: Any, circle: int, scores: Any, start: int, stop: int) -> None:
    for i in range(len(seeds)):
        for message in range(start, stop):
            place = tokens[i] + message
            if place >= circle:
                place -= circle
            word = fmix32_scalar(np.uint32(seeds[i] ^ np.uint32(np.uint32(place) * _GOLDEN)))
            scores[message] += word < 1 << 31


BASELINES: dict[str, type[Baseline]] = {"mpac": PositionAllocation, "cyclic": CyclicShift}
"""The schemes by name."""

"""The partition's functions as compiled loops; each equals its namesake in :mod:`ctwl_protocol.partition.reference`.

The loops release the interpreter's lock, and a small thread pool divides the rows. So they run beside torch and inside
servers without a threading layer of their own. Decoding never sorts: it passes over the vocabulary once for each
position and colour. Encoding finds where a permutation reaches ``sigma`` by a histogram of the ranks' leading bits.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

from ..hashing import GOLDEN
from .reference import Sigma

T = TypeVar("T")


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop that releases the interpreter's lock; the result is cached on disk where that is possible."""
    try:
        compiled: Callable[..., Any] = numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # numba has no folder to write to
        compiled = numba.njit(nogil=True)(function)
    return compiled


_BUCKET_BITS = 12
_BUCKETS = 1 << _BUCKET_BITS
_SHIFT = np.uint32(32 - _BUCKET_BITS)
_GOLDEN = np.uint32(GOLDEN)
_M1, _M2 = np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35)
_S13, _S16 = np.uint32(13), np.uint32(16)


@cache  # cleared in a forked child, where the threads do not exist
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_threads(), thread_name_prefix="ctwl")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)


def _threads() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_chunks(work: Callable[[int, int], T], length: int) -> list[T]:
    """The results of ``work(start, stop)`` over ``range(length)`` in order, in about four chunks for each processor."""
    parts = min(length, 4 * _threads())
    chunks = [(length * i // parts, length * (i + 1) // parts) for i in range(parts)]
    pool, results = _pool(), []
    # At most one chunk for each processor at once, so that callers in other threads get their turns.
    waiting = deque(pool.submit(work, *chunk) for chunk in chunks[: _threads()])
    for chunk in chunks[_threads() :]:
        results.append(waiting.popleft().result())
        waiting.append(pool.submit(work, *chunk))
    return results + [future.result() for future in waiting]


@jit
def fold(x: Any) -> Any:
    """The first step of :func:`fmix32_scalar`. It is linear over XOR, so a word is folded once for many partners."""
    return np.uint32(x ^ (x >> _S16))


@jit
def mix(x: Any) -> Any:
    """The other steps of :func:`fmix32_scalar`."""
    x = np.uint32(x * _M1)
    x = np.uint32(x ^ (x >> _S13))
    x = np.uint32(x * _M2)
    return np.uint32(x ^ (x >> _S16))


@jit
def fmix32_scalar(x: Any) -> Any:
    """:func:`ctwl_protocol.hashing.fmix32` of one uint32, for use inside compiled loops."""
    return mix(fold(x))


@jit
def _pivot(mass: Any, ranks: Any, histogram: Any, half: Any) -> Any:
    """The token at which the running mass in rank order reaches ``half`` > 0, and the mass ranked before it."""
    for b in range(_BUCKETS):
        histogram[b] = 0
    for v in range(len(mass)):
        histogram[ranks[v] >> _SHIFT] += mass[v]
    before = histogram[0] * 0
    bucket = 0
    while bucket < _BUCKETS - 1 and before + histogram[bucket] < half:
        before += histogram[bucket]
        bucket += 1
    size = 0
    inside = np.empty(len(mass), np.int64)
    for v in range(len(mass)):
        if ranks[v] >> _SHIFT == bucket:
            inside[size] = v
            size += 1
    inside = inside[:size]
    inside = inside[np.argsort(ranks[inside])]
    for k in range(size - 1):
        if before + mass[inside[k]] >= half:
            return inside[k], before
        before += mass[inside[k]]
    return inside[size - 1], before


@jit
def _members(weights: Any, seeds: Any, numerator: Any, denominator: Any, inside: Any, start: int, stop: int) -> None:
    vocabulary = weights.shape[1]
    ranks = np.empty(vocabulary, np.uint32)
    mass = np.empty(vocabulary, np.uint64)
    histogram = np.empty(_BUCKETS, np.uint64)
    for i in range(start, stop):
        total = np.uint64(0)
        for v in range(vocabulary):
            ranks[v] = fmix32_scalar(np.uint32(seeds[i] ^ np.uint32(np.uint32(v) * _GOLDEN)))
            # Scaling by the denominator keeps the comparison with numerator * total exact.
            mass[v] = np.uint64(weights[i, v]) * denominator
            total += np.uint64(weights[i, v])
        if total == 0:
            inside[i] = False
            continue
        pivot, _ = _pivot(mass, ranks, histogram, total * numerator)
        for v in range(vocabulary):
            inside[i, v] = ranks[v] <= ranks[pivot]


def members(weights: NDArray[np.uint32], permutation_seeds: NDArray[np.uint32], sigma: Sigma) -> NDArray[np.bool_]:
    """See :func:`ctwl_protocol.partition.reference.members`."""
    inside = np.empty(weights.shape, dtype=np.bool_)
    numerator, denominator = np.uint64(sigma[0]), np.uint64(sigma[1])
    in_chunks(lambda i, j: _members(weights, permutation_seeds, numerator, denominator, inside, i, j), len(weights))
    return inside

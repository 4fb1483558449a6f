"""The loops over all codes, compiled; see :mod:`ctwl_protocol.compiled`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ctwl_protocol import hashing
from ctwl_protocol.compiled import fmix32_scalar, fold, jit, mix

BLOCK = 1 << 11
"""Codes that are scored together: their scores fit into the first-level cache."""

SEARCHED = 1 << 9
"""Codes whose windows are searched together, at most. Chosen by hand: half and twice as many take as long."""

_FULL = 255
"""So many scores of eight bits add up in sixteen."""

_GOLDEN, _LOW = np.uint32(hashing.GOLDEN), np.uint32(0xFFFF)
_S16 = np.uint32(16)


@jit
def fold_codes(codes: Any) -> Any:
    """The part of the hash that depends on the code alone: uint32 (codes,)."""
    folded = np.empty(len(codes), np.uint32)
    for k in range(len(codes)):
        folded[k] = fold(np.uint32(codes[k] * _GOLDEN))
    return folded


@jit
def colours_of(seed: Any, folded: Any, colours: Any, found: Any) -> None:
    """Write the colours of codes at a context to ``found``: uint32 (codes,)."""
    start = fold(seed)
    for k in range(len(folded)):
        mixed = mix(np.uint32(start ^ folded[k]))
        # (mixed * colours) >> 32, in words of 32 bits: they are twice as many in a register
        low = np.uint32((mixed & _LOW) * colours) >> _S16
        found[k] = np.uint32(np.uint32((mixed >> _S16) * colours) + low) >> _S16


@jit
def score(seeds: Any, table: Any, codes: Any, scores: Any, start: int, stop: int) -> None:
    """Write the scores of the codes from ``start`` to ``stop``; see :func:`.code_scores.score_all`."""
    colours = np.uint32(table.shape[1])
    found = np.empty(BLOCK, np.uint32)
    for block in range(start, stop, BLOCK):  # a block of scores stays in the first-level cache
        end = min(block + BLOCK, stop)
        folded = fold_codes(codes[block:end])
        sums = np.zeros(end - block, np.int32)
        for c in range(len(seeds)):
            row = table[c]
            colours_of(seeds[c], folded, colours, found)
            for k in range(len(sums)):
                sums[k] += row[found[k]]
        scores[block:end] = sums


@jit
def _spill(words: Any, sums: Any) -> None:
    """Add words of two halves of 16 bits to words of two halves of 32 bits; the first become 0."""
    for k in range(len(words)):
        low = np.int64(np.int16(words[k]))
        sums[k] += low + (((np.int64(words[k]) - low) >> 16) << 32)
        words[k] = 0


@jit
def _sum_pieces(seeds: Any, packed: Any, pieces: Any, folded: Any, sums: Any) -> None:
    """Write the sums over all pieces before each cut; a piece's are small, and are summed in small words."""
    colours, columns = np.uint32(packed.shape[1]), pieces.shape[1]
    found, values = np.empty(len(folded), np.uint32), np.empty(len(folded), np.int32)
    words, filled = np.zeros((columns, len(folded)), np.int32), np.zeros(columns, np.int64)
    into = np.zeros(columns, np.int64)
    sums[:] = 0
    for i in range(len(seeds)):
        row = packed[i]
        colours_of(seeds[i], folded, colours, found)
        for k in range(len(folded)):
            values[k] = row[found[k]]
        for column in range(columns):
            cut = pieces[i, column] + 1
            if cut > 0:
                if cut != into[column] or filled[column] == _FULL:
                    _spill(words[column], sums[into[column]])
                    into[column], filled[column] = cut, 0
                filled[column] += 1
                some = words[column]
                for k in range(len(folded)):
                    some[k] += values[k]
    for column in range(columns):
        _spill(words[column], sums[into[column]])
    for cut in range(1, len(sums)):
        for k in range(len(folded)):
            sums[cut, k] += sums[cut - 1, k]


@jit
def _keep_best(left: Any, right: Any, codes: Any, scores: Any, best: Any, which: Any) -> None:
    bias, mask = np.int64(1) << 31, (np.int64(1) << 32) - 1
    for v in range(len(best)):
        highest = best[v]
        for k in range(len(codes)):
            both = right[k] - left[k] + bias
            scores[k] = (both & mask) - bias if v == 0 else both >> 32
            highest = max(highest, scores[k])
        if highest > best[v]:
            best[v] = highest
            for k in range(len(codes)):
                if scores[k] == highest:
                    which[v] = codes[k]
                    break


@jit
def search(seeds: Any, packed: Any, pieces: Any, ends: Any, codes: Any, sums: Any, best: Any) -> Any:
    """The best codes of windows, whose scores are written; see :func:`.window_scores.search_windows`."""
    block = sums.shape[1]
    scores = np.empty(block, np.int32)
    best[:] = -(1 << 30)
    which = np.zeros(best.shape, np.uint32)
    for start in range(0, len(codes), block):
        some = codes[start : start + block]
        _sum_pieces(seeds, packed, pieces, fold_codes(some), sums)
        for w in range(len(ends)):
            _keep_best(sums[ends[w, 0]], sums[ends[w, 1]], some, scores, best[w], which[w])
    return which


@jit
def combine(taken: Any, codes: Any, worth: Any, follows: Any) -> Any:
    """The scores of records, in which such of the likely codes are taken in all slots but the one that follows."""
    sums = np.empty(len(taken), np.int32)
    for i in range(len(taken)):
        check, total = 0, 0
        for slot in range(taken.shape[1]):
            check ^= codes[slot, taken[i, slot]]
            total += worth[slot, taken[i, slot]]
        sums[i] = total + follows[check]
    return sums


@jit
def add_units(seeds: Any, rivals: Any, sigma: float, ramp: Any, unmarked: float, nat: int, units: Any) -> None:
    """Write the units of ``half`` and ``race`` under every colour; see :func:`.scores.position_scores`.

    Args:
        seeds: uint32 (n, colours), of the permutations.
        rivals: starts, tokens, weights, shown and total of n sets of rivals, as in
            :class:`ctwl_protocol.proxy.rivals.Rivals`.
        sigma: the share of the mass in a half.
        ramp: see :mod:`.scores`, as for the following.
        unmarked: the share of unmarked positions.
        nat: units in a nat.
        units: int8 (2, n, colours), written to.
    """
    starts, tokens, weights, shown, total = rivals
    colours = seeds.shape[1]
    for i in range(len(seeds)):
        first, count = starts[i], starts[i + 1] - starts[i]
        mass, x = np.empty(count), np.empty(count)
        rest, squares = 1.0, 0.0
        for w in range(count):
            mass[w] = weights[first + w] / np.float64(total[i])
            rest -= mass[w]
            squares += mass[w] * mass[w]
        rest, width = max(rest, 0.0), ramp[0] + ramp[1] * math.sqrt(squares)
        half, race, of_all = np.empty((colours, count)), np.empty((colours, count)), np.zeros(count)
        for a in range(colours):
            whole = rest
            for w in range(count):
                rank = fmix32_scalar(np.uint32(seeds[i, a] ^ np.uint32(tokens[first + w] * _GOLDEN)))
                x[w] = (rank + 0.5) / 4294967296.0
                race[a, w] = mass[w] / -math.log1p(-x[w])
                whole += race[a, w]
            before = 0.0
            for w in np.argsort(x):
                reached = (sigma + width - before - rest * x[w]) / (mass[w] + 2 * width)
                half[a, w] = min(max(reached, 0.0), 1.0) / sigma
                before += mass[w]
                race[a, w] /= whole
                of_all[w] += race[a, w]
        this = shown[i] - first
        for a in range(colours):
            half_mean = race_mean = rest
            for w in range(count):
                half[a, w] = (1 - unmarked) * half[a, w] + unmarked
                race[a, w] = (1 - unmarked) * race[a, w] * colours / of_all[w] + unmarked
                half_mean += mass[w] * half[a, w]
                race_mean += mass[w] * race[a, w]
            units[0, i, a] = math.floor(nat * math.log(half[a, this] / half_mean) + 0.5)
            units[1, i, a] = math.floor(nat * math.log(race[a, this] / race_mean) + 0.5)

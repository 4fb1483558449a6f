"""The loops of a step over all of its texts, compiled. The arrays are described where they are kept: :mod:`.tails`,
:mod:`.texts`, :mod:`.places`. Importing numba takes half a second, so what marks nothing does not import this."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from ctwl_protocol.hashing import GOLDEN
from ctwl_protocol.numbers import NUMBERS

LATER = -1
"""Stands at an opening whose candidates may merge with the tail."""

UNMARKED = -2
"""Stands at an opening whose candidates keep their probability."""

_TAIL = NUMBERS.records.slot_tail
_GOLDEN = np.uint32(GOLDEN)
_M1, _M2 = np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35)
_S13, _S16 = np.uint32(13), np.uint32(16)
SPREAD, _FOLD = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop; the result is cached on disk where that is possible."""
    try:
        compiled: Callable[..., Any] = numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # numba has no folder to write to
        compiled = numba.njit(nogil=True)(function)
    return compiled


@jit
def fmix32(x: Any) -> Any:
    """:func:`ctwl_protocol.hashing.fmix32` of one uint32."""
    x = np.uint32(x ^ (x >> _S16))
    x = np.uint32(x * _M1)
    x = np.uint32(x ^ (x >> _S13))
    x = np.uint32(x * _M2)
    return np.uint32(x ^ (x >> _S16))


@jit
def more(key: Any, number: Any) -> Any:
    """A key of 64 bits with one more number below 2^32: different for different numbers."""
    return np.uint64(np.uint64(key * SPREAD) ^ np.uint64(number))


@jit
def find(keys: Any, key: Any) -> Any:
    """Where a key stands in a table with open addressing, uint64 (2^n,), or the free cell (0) where it would."""
    mask = np.uint64(len(keys) - 1)
    cell = ((key * SPREAD) >> _FOLD) & mask
    while keys[cell] != np.uint64(0) and keys[cell] != key:
        cell = (cell + np.uint64(1)) & mask
    return np.int64(cell)


@jit
def key_of(texts: Any, row: Any, now: Any, depth: Any, count: Any, start: Any) -> Any:
    """A key, from ``start`` on, of the last ``count`` tokens before a place: of the path, and settled before it."""
    key = start
    for back in range(count, 0, -1):
        at = depth - back
        if at >= 0:
            key = more(key, now[at])
        elif -at <= texts.kept[row]:
            key = more(key, texts.recent[row, texts.recent.shape[1] + at])
    return key


@jit
def slot_of(texts: Any, words: Any, row: Any, now: Any, depth: Any) -> Any:
    """The slot at a place (spec section 9.4); -1 where the word that decides it is not known."""
    codes = texts.codes[row]
    if codes == 1:
        return 0
    cell = find(words.keys, key_of(texts, row, now, depth, min(_TAIL, texts.recent.shape[1]), np.uint64(1)))
    if words.keys[cell] == np.uint64(0):
        return -1
    part = np.int64((np.uint64(np.uint32(words.values[cell, 0])) * np.uint64(codes + 2)) >> _FOLD)
    return part - (part > 0)


@jit
def resolve(tails: Any, texts: Any, rows: Any, tokens: Any, steps: Any) -> Any:
    """The step that each token makes after its text: int32 (rows, 6).

    Columns: start and stop of a path, start and stop of the tokens behind it in the pool, how many of both are settled,
    and the tail after it. The tail is -1 where the step is not known yet, -2 where the token becomes no text.
    """
    unknown = 0
    for i in range(len(rows)):
        token, tail = tokens[i], texts.tail[rows[i]]
        steps[i, 5] = -2
        if not (0 <= token < len(tails.writes) and tails.writes[token]):
            continue
        steps[i, 5] = -1
        place = tails.place_of[tail, tails.opening[token]]
        if place >= 0:
            if tails.alone[token, 3] >= 0:
                path = tails.tails[tail, 2] + place
                steps[i, 0], steps[i, 1] = tails.paths[path, 0], tails.paths[path, 1]
                steps[i, 2], steps[i, 3] = tails.alone[token, 0], tails.alone[token, 1]
                steps[i, 4] = steps[i, 1] - steps[i, 0] + tails.alone[token, 2]
                steps[i, 5] = tails.alone[token, 3]
        else:
            key = more(np.uint64(tail + 1), token)
            cell = find(tails.step_keys, key)
            if tails.step_keys[cell] == key:
                steps[i, 0], steps[i, 1] = 0, 0
                for column in range(4):
                    steps[i, 2 + column] = tails.steps[cell, column]
        unknown += steps[i, 5] == -1
    return unknown


@jit
def write(
    tails: Any, texts: Any, log: Any, words: Any, rows: Any, tokens: Any, chances: Any, steps: Any, prefix: Any,
    context: Any,
) -> Any:  # fmt: skip
    """Add a token to each text; a row that was written has the tail -3 in ``steps`` afterwards.

    Returns:
        The first row that was not written, and the depth of a place there whose slot is not known, -1 where the text's
        part of the log is too short; (-1, 0) where all were written.
    """
    for i in range(len(rows)):
        row = rows[i]
        if steps[i, 5] == -3:
            continue
        if steps[i, 5] == -2:
            texts.ended[row] = True
            texts.offers[row] = 0
            steps[i, 5] = -3
            continue
        first = steps[i, 1] - steps[i, 0]
        now = np.empty(first + steps[i, 3] - steps[i, 2], dtype=np.int32)
        now[:first] = tails.pool[steps[i, 0] : steps[i, 1]]
        now[first:] = tails.pool[steps[i, 2] : steps[i, 3]]
        start, stop = tails.tails[texts.tail[row], 0], tails.tails[texts.tail[row], 1]
        same = 0
        while same < len(now) and same < stop - start and now[same] == tails.pool[start + same]:
            same += 1
        count, base, length = texts.count[row], texts.start[row], texts.length[row]
        while length > 0 and log.position[base + length - 1] >= count + same:
            length -= 1
        if length + len(now) - same > texts.room[row]:
            return i, -1
        for depth in range(same, len(now)):
            if count + depth >= prefix and slot_of(texts, words, row, now, depth) < 0:
                return i, depth
        for depth in range(same, len(now)):
            if count + depth < prefix:
                continue
            at = base + length
            slot = slot_of(texts, words, row, now, depth)
            log.position[at] = count + depth
            log.token[at] = now[depth]
            log.key[at] = key_of(texts, row, now, depth, context, np.uint64(slot + 1))
            log.chance[at], log.hit[at], log.place[at] = np.nan, np.nan, -1
            for offer in range(texts.offers[row]):
                begin, end = texts.offered[row, offer, 0], texts.offered[row, offer, 1]
                if end - begin == depth:
                    equal = True
                    for k in range(depth):
                        equal &= tails.pool[begin + k] == now[k]
                    if equal:
                        log.chance[at], log.place[at] = chances[i], texts.offered[row, offer, 2]
            length += 1
        texts.length[row] = length
        settled, keep = steps[i, 4], texts.recent.shape[1]
        if settled:
            for k in range(keep):
                source = k + settled
                texts.recent[row, k] = texts.recent[row, source] if source < keep else now[source - keep]
            texts.kept[row] = min(keep, texts.kept[row] + settled)
            texts.count[row] = count + settled
        texts.tail[row] = steps[i, 5]
        texts.ended[row] = False
        texts.offers[row] = 0
        steps[i, 5] = -3
    return -1, 0


@jit
def lay_out(
    tails: Any, texts: Any, log: Any, words: Any, seeds: Any, rows: Any, most: Any, prefix: Any, context: Any,
    colours: Any, out: Any,
) -> Any:  # fmt: skip
    """The places of a step, see :class:`.places.Places`; what is offered to each text is noted in it.

    Returns:
        How many rows, places, entries of candidates that merge, entries of seen tokens, and places whose words are not
        known there are. It may be more than there is room for, and what has no room is not there.
    """
    n, p, m, k, missing = 0, 0, 0, 0, 0
    local = np.empty(texts.offered.shape[1], dtype=np.int32)
    for i in range(len(rows)):
        row = rows[i]
        if row < 0:
            continue
        tail = texts.tail[row]
        start, count = tails.tails[tail, 0], texts.count[row]
        if texts.ended[row] or count + tails.tails[tail, 1] - start < prefix:
            continue
        offers = 0
        for path in range(tails.tails[tail, 3]):
            local[path] = UNMARKED
            begin, end = tails.paths[tails.tails[tail, 2] + path, 0], tails.paths[tails.tails[tail, 2] + path, 1]
            if path >= most or count + end - begin < prefix:
                continue
            now = tails.pool[begin:end]
            slot = slot_of(texts, words, row, now, end - begin)
            if slot < 0:
                if missing < len(out.missing):
                    out.missing[missing, 0], out.missing[missing, 1], out.missing[missing, 2] = row, path, -1
                missing += 1
                continue
            key = key_of(texts, row, now, end - begin, context, np.uint64(slot + 1))
            cell = find(seeds.keys, more(key, texts.sets[row, slot]))
            if seeds.keys[cell] == np.uint64(0):
                if missing < len(out.missing):
                    out.missing[missing, 0], out.missing[missing, 1], out.missing[missing, 2] = row, path, slot
                missing += 1
                continue
            first, second, of_code = seeds.values[cell, 0], seeds.values[cell, 1], seeds.values[cell, 2]
            mixed = fmix32(np.uint32(of_code) ^ np.uint32(texts.carried[row, slot] * _GOLDEN))
            colour = np.uint32((np.uint64(mixed) * np.uint64(colours)) >> _FOLD)
            turned = fmix32(np.uint32(np.uint32(second) + np.uint32((colour + np.uint32(1)) * _GOLDEN)))
            if p < len(out.seeds):
                out.seeds[p] = np.int32(fmix32(np.uint32(first) ^ turned))
                out.owner[p], out.paths[p, 0], out.paths[p, 1] = n, begin, end
            for at in range(texts.start[row], texts.start[row] + texts.length[row]):
                if log.key[at] == key:
                    if k < len(out.seen):
                        out.seen[k, 0], out.seen[k, 1] = p, log.token[at]
                    k += 1
            texts.offered[row, offers, 0], texts.offered[row, offers, 1], texts.offered[row, offers, 2] = begin, end, p
            local[path] = p
            offers += 1
            p += 1
        texts.offers[row] = offers
        for opening in range(tails.place_of.shape[1]):
            place = tails.place_of[tail, opening]
            out.place_of[n, opening] = local[place] if place >= 0 else LATER
        for at in range(tails.entries[tail, 0], tails.entries[tail, 1]):
            if local[tails.joined[at, 1]] >= 0:
                if m < len(out.joined):
                    out.joined[m, 0], out.joined[m, 1] = n, tails.joined[at, 0]
                    out.joined[m, 2], out.joined[m, 3] = local[tails.joined[at, 1]], tails.joined[at, 2]
                m += 1
        out.rows[n] = i
        n += 1
    return n, p, m, k, missing


@jit
def unknown(known: Any, tails: Any, candidates: Any, found: Any) -> Any:
    """Of candidates, int32 (rows, most), -1 for none, the pairs of row and candidate that were not tokenized yet."""
    count = 0
    for row in range(len(candidates)):
        for candidate in candidates[row]:
            if candidate >= 0:
                key = more(np.uint64(tails[row] + 1), candidate)
                if known[find(known, key)] == np.uint64(0):
                    found[count, 0], found[count, 1] = row, candidate
                    count += 1
    return count

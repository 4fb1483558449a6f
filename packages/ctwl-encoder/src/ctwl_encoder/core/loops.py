"""The loops of a step over all of its texts, compiled.

Their arrays are described where they are kept: in :mod:`.tails`, :mod:`.texts` and :mod:`.places`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ctwl_protocol.compiled import fmix32_scalar, jit
from ctwl_protocol.hashing import GOLDEN
from ctwl_protocol.numbers import NUMBERS

LATER = -1
"""Stands at an opening whose candidates may merge with the tail."""

UNMARKED = -2
"""Stands at an opening whose candidates keep their probability."""

UNKNOWN, NO_TEXT, DONE = -1, -2, -3
"""Stand for the tail after a step: it is not known yet, the token becomes no text, the step was made."""

_TAIL = NUMBERS.records.slot_tail
_GOLDEN = np.uint32(GOLDEN)
SPREAD, _FOLD = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)


@jit
def key_with(key: Any, number: Any) -> Any:
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
def put(keys: Any, values: Any, new: Any, rows: Any) -> Any:
    """Put rows of integers, int64 (n, width), into a table with their keys, uint64 (n,)."""
    for i in range(len(new)):
        cell = find(keys, new[i])
        keys[cell], values[cell] = new[i], rows[i]


@jit
def key_of(texts: Any, row: Any, now: Any, depth: Any, count: Any, start: Any) -> Any:
    """A key, from ``start`` on, of the last ``count`` tokens before a place: of the path, and settled before it."""
    key = start
    for back in range(count, 0, -1):
        at = depth - back
        if at >= 0:
            key = key_with(key, now[at])
        elif -at <= texts.kept[row]:
            key = key_with(key, texts.recent[row, texts.recent.shape[1] + at])
    return key


@jit
def slot_of(texts: Any, slots: Any, row: Any, now: Any, depth: Any) -> Any:
    """The slot at a place (spec section 9.4); -1 where the word that decides it is not known."""
    codes = texts.codes[row]
    if codes == 1:
        return 0
    cell = find(slots.keys, key_of(texts, row, now, depth, min(_TAIL, texts.recent.shape[1]), np.uint64(1)))
    if slots.keys[cell] == np.uint64(0):
        return -1
    part = np.int64((np.uint64(np.uint32(slots.values[cell, 0])) * np.uint64(codes + 2)) >> _FOLD)
    return part - (part > 0)


@jit
def resolve(tails: Any, texts: Any, rows: Any, tokens: Any, steps: Any) -> Any:
    """The step that each token makes after its text, into ``steps``, int32 (rows, 6); how many are not known yet.

    Columns: start and stop of a path, start and stop of the tokens behind it in the pool, how many of both are settled,
    and the tail after it, or one of ``UNKNOWN`` and ``NO_TEXT``.
    """
    unknown = 0
    for i in range(len(rows)):
        token, tail, step = tokens[i], texts.tail[rows[i]], steps[i]
        if not (0 <= token < len(tails.writes) and tails.writes[token]):
            step[5] = NO_TEXT
            continue
        step[:] = UNKNOWN
        place = tails.place_of[tail, tails.opening[token]]
        if place >= 0:
            path, alone = tails.paths[tails.tails[tail, 2] + place], tails.alone[token]
            step[:2], step[2:4] = path, alone[:2]
            step[4], step[5] = path[1] - path[0] + alone[2], alone[3]
        else:
            cell = find(tails.step_keys, key_with(np.uint64(tail + 1), token))
            if tails.step_keys[cell] != np.uint64(0):
                step[:2] = 0
                step[2:] = tails.steps[cell]
        unknown += step[5] == UNKNOWN
    return unknown


@jit
def tokens_of(pool: Any, step: Any) -> Any:
    """The tokens of a step, those of its path first."""
    first = step[1] - step[0]
    now = np.empty(first + step[3] - step[2], dtype=np.int32)
    now[:first] = pool[step[0] : step[1]]
    now[first:] = pool[step[2] : step[3]]
    return now


@jit
def offered(pool: Any, texts: Any, row: Any, now: Any, depth: Any) -> Any:
    """Which of the places that were offered stands at a depth of a step's tokens; -1 for none."""
    for offer in range(texts.offers[row]):
        start, stop = texts.offered[row, offer, 0], texts.offered[row, offer, 1]
        if stop - start == depth and np.all(pool[start:stop] == now[:depth]):
            return texts.offered[row, offer, 2]
    return -1


@jit
def settle(texts: Any, row: Any, now: Any, count: Any) -> Any:
    """The first tokens of a step, so many, stay whatever follows."""
    keep = texts.recent.shape[1]
    for k in range(keep):
        source = k + count
        texts.recent[row, k] = texts.recent[row, source] if source < keep else now[source - keep]
    texts.kept[row] = min(keep, texts.kept[row] + count)
    texts.settled[row] += count


@jit
def write(tails: Any, texts: Any, log: Any, slots: Any, rows: Any, chances: Any, steps: Any, sizes: Any) -> Any:
    """Make the steps of some texts, see :func:`resolve`; a step that was made has ``DONE`` for its tail.

    Returns:
        The first row whose step was not made, and the depth of a place there whose slot is not known, -1 where the
        text's part of the log is too short; (-1, 0) where all were made.
    """
    for i in range(len(rows)):
        row, step = rows[i], steps[i]
        if step[5] == NO_TEXT:
            texts.ended[row], texts.offers[row], step[5] = True, 0, DONE
        if step[5] == DONE:
            continue
        now, settled, base, length = (
            tokens_of(tails.pool, step),
            texts.settled[row],
            texts.start[row],
            texts.length[row],
        )
        before = tails.pool[tails.tails[texts.tail[row], 0] : tails.tails[texts.tail[row], 1]]
        same = 0
        while same < min(len(now), len(before)) and now[same] == before[same]:
            same += 1
        while length > 0 and log.position[base + length - 1] >= settled + same:
            length -= 1
        if length + len(now) - same > texts.room[row]:
            return i, -1
        first = max(same, sizes.prefix - settled)
        for depth in range(first, len(now)):
            if slot_of(texts, slots, row, now, depth) < 0:
                return i, depth
        for depth in range(first, len(now)):
            at, slot = base + length, slot_of(texts, slots, row, now, depth)
            log.position[at], log.token[at], log.hit[at] = settled + depth, now[depth], np.nan
            log.key[at] = key_of(texts, row, now, depth, sizes.context, np.uint64(slot + 1))
            log.place[at] = offered(tails.pool, texts, row, now, depth)
            log.chance[at] = chances[i] if log.place[at] >= 0 else np.nan
            length += 1
        settle(texts, row, now, step[4])
        texts.tail[row], texts.length[row], texts.ended[row], texts.offers[row] = step[5], length, False, 0
        step[5] = DONE
    return -1, 0


@jit
def seed_of(texts: Any, words: Any, row: Any, slot: Any, cell: Any, colours: Any) -> Any:
    """``s(c, a)`` at a place, uint32: of the words in a cell, and of what the slot carries (spec section 6.2)."""
    first, second, of_code = words.values[cell]
    mixed = fmix32_scalar(np.uint32(of_code) ^ np.uint32(texts.carried[row, slot] * _GOLDEN))
    colour = np.uint32((np.uint64(mixed) * np.uint64(colours)) >> _FOLD)
    turned = fmix32_scalar(np.uint32(np.uint32(second) + np.uint32((colour + np.uint32(1)) * _GOLDEN)))
    return fmix32_scalar(np.uint32(first) ^ turned)


@jit
def append(rows: Any, count: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """Append four integers where there is room; how many rows there are, or would be."""
    if count < len(rows):
        rows[count, 0], rows[count, 1], rows[count, 2], rows[count, 3] = a, b, c, d
    return count + 1


@jit
def lay_out(tails: Any, texts: Any, log: Any, slots: Any, words: Any, rows: Any, sizes: Any, out: Any) -> Any:
    """The places of a step, into the arrays of :class:`.places.Arrays`; what is offered to each text is noted in it.

    Returns:
        How many rows, places, entries of candidates that merge, entries of seen tokens, and places whose words are not
        known there are. It may be more than there is room for, and what has no room is not there.
    """
    n, p, m, k, missing = 0, 0, 0, 0, 0
    local = np.empty(texts.offered.shape[1], dtype=np.int32)
    for i in range(len(rows)):
        row = rows[i]
        if row < 0 or texts.ended[row]:
            continue
        tail, settled, offers = texts.tail[row], texts.settled[row], 0
        if settled + tails.tails[tail, 1] - tails.tails[tail, 0] < sizes.prefix:
            continue
        for path in range(tails.tails[tail, 3]):
            start, stop = tails.paths[tails.tails[tail, 2] + path]
            now, depth = tails.pool[start:stop], stop - start
            local[path] = UNMARKED
            if path >= sizes.most or settled + depth < sizes.prefix:
                continue
            slot = slot_of(texts, slots, row, now, depth)
            key = key_of(texts, row, now, depth, sizes.context, np.uint64(slot + 1))
            cell = find(words.keys, key_with(key, texts.sets[row, max(slot, 0)]))
            if slot < 0 or words.keys[cell] == np.uint64(0):
                missing = append(out.missing, missing, row, path, slot, 0)
                continue
            seed = np.int32(seed_of(texts, words, row, slot, cell, sizes.colours))
            for at in range(texts.start[row], texts.start[row] + texts.length[row]):
                if log.key[at] == key:
                    k = append(out.seen, k, p, log.token[at], 0, 0)
            texts.offered[row, offers, 0], texts.offered[row, offers, 1], texts.offered[row, offers, 2] = start, stop, p
            local[path], offers = p, offers + 1
            p = append(out.places, p, seed, n, start, stop)
        texts.offers[row] = offers
        for opening in range(tails.place_of.shape[1]):
            place = tails.place_of[tail, opening]
            out.place_of[n, opening] = local[place] if place >= 0 else LATER
        for at in range(tails.entries[tail, 0], tails.entries[tail, 1]):
            candidate, path, token = tails.joined[at]
            if local[path] >= 0:
                m = append(out.joined, m, n, candidate, local[path], token)
        out.rows[n] = i
        n += 1
    return n, p, m, k, missing


@jit
def not_tokenized(known: Any, tails: Any, candidates: Any, found: Any) -> Any:
    """Of candidates, int32 (rows, most), -1 for none, the pairs of row and candidate that were not tokenized yet."""
    count = 0
    for row in range(len(candidates)):
        for candidate in candidates[row]:
            if candidate >= 0:
                key = key_with(np.uint64(tails[row] + 1), candidate)
                if known[find(known, key)] == np.uint64(0):
                    found[count, 0], found[count, 1] = row, candidate
                    count += 1
    return count

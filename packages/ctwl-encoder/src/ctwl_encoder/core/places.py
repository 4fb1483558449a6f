"""Places of a step: all that is known of them before the model's logits, and the flat arrays that a device takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol.bridge import Path
from ctwl_protocol.bridge.bridge import OPENINGS
from ctwl_protocol.bridge.continuations import NO_ENTRIES, Continuations

from .payload import Place, Seeds
from .text_state import TextState


class PlacesOfRow(NamedTuple):
    """The places of one row.

    Attributes:
        row: of the logits.
        text: that the row goes on from.
        continuations: the candidates after the text's tail.
        paths: the paths of the continuations at the time.
        places: for each path its place; None where the path is not marked.
        seen: the tokens that are left alone at a place, because they were marked after this context before; by the
            index of the place, where there are any.
    """

    row: int
    text: TextState
    continuations: Continuations
    paths: Sequence[Path]
    places: Sequence[Place | None]
    seen: Mapping[int, Sequence[int]]


@dataclass(frozen=True)
class Places:
    """The places of all rows of a step, as arrays of integers that are copied to a device at once.

    ``n`` rows are marked at ``p`` places.

    Attributes:
        rows: int32 (n,), the rows of the logits.
        place_of: int32 (n, openings), by the opening of a candidate its place; -1 where it may merge with the tail, -2
            where it keeps its probability.
        seeds: int32 (p,), the bits of the permutations' seeds.
        levels: int32 (p,), which of ``strengths`` each place has.
        joined: int32 (m, 4), row (of the n), candidate, place, and proxy token there, of candidates that merge with the
            tail; the entries of one row and candidate stand together.
        seen: int32 (k, 2), place and proxy token: what is left alone.
        strengths: how strongly texts are marked, the different ones, ascending.
        places: the row (of the n), the path and the place of each.
        by_row: the n rows' places, as they were given.
    """

    rows: NDArray[np.int32]
    place_of: NDArray[np.int32]
    seeds: NDArray[np.int32]
    levels: NDArray[np.int32]
    joined: NDArray[np.int32]
    seen: NDArray[np.int32]
    strengths: tuple[float, ...]
    places: list[tuple[int, Path, Place]] = field(repr=False)
    by_row: Sequence[PlacesOfRow] = field(repr=False)

    def __len__(self) -> int:
        return len(self.seeds)

    @classmethod
    def of(cls, rows: Sequence[PlacesOfRow], seeds: Seeds) -> Places:
        """Lay the places of several rows out, with the seeds of their permutations."""
        places = [
            (n, path, place)
            for n, row in enumerate(rows)
            for path, place in zip(row.paths, row.places, strict=True)
            if place is not None
        ]
        # The number of each row's paths among all places, -2 where a path is not marked; then -1 for index -1.
        marked = np.array([place is not None for row in rows for place in (*row.places, None)], dtype=np.bool_)
        numbers = np.where(marked, np.cumsum(marked) - 1, -2).astype(np.int32)
        ends = np.cumsum([len(row.places) + 1 for row in rows], dtype=np.int64)
        numbers[ends - 1] = -1
        starts = np.concatenate([[0], ends[:-1]]).astype(np.int64) if rows else ends
        local = np.array([row.continuations.place_of for row in rows], dtype=np.int64).reshape(-1, OPENINGS)
        maps = numbers[np.where(local < 0, ends[:, None] - 1, starts[:, None] + local)]
        entries = np.concatenate([NO_ENTRIES, *(row.continuations.entries for row in rows)])
        owner = np.repeat(np.arange(len(rows), dtype=np.int32), [len(row.continuations.entries) for row in rows])
        joined = np.column_stack([owner, entries])
        joined[:, 2] = numbers[starts[owner] + entries[:, 1]]
        joined = joined[joined[:, 2] >= 0]
        seen = [
            (numbers[start + path], token)
            for start, row in zip(starts.tolist(), rows, strict=True)
            for path, tokens in row.seen.items()
            for token in tokens
        ]
        strengths = sorted({row.text.strength for row in rows})
        level = {strength: number for number, strength in enumerate(strengths)}
        return cls(
            np.array([row.row for row in rows], dtype=np.int32),
            maps,
            seeds.of_all([(rows[n].text.payload, place) for n, _, place in places]).view(np.int32),
            np.array([level[rows[n].text.strength] for n, _, _ in places], dtype=np.int32),
            joined,
            np.array(seen, dtype=np.int32).reshape(-1, 2),
            tuple(strengths),
            places,
            rows,
        )

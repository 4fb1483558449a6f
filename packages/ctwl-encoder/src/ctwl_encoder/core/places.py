"""Places of a step: all that is known of them before the model's logits, and the flat arrays that a device takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .bridge import OPENINGS
from .continuations import Continuations, Path

__all__ = ["Place", "Places", "PlacesOfRow"]


class Place(NamedTuple):
    """A place in the reader's token sequence at which the next token may be marked.

    Attributes:
        path: proxy tokens between the settled ones and the place.
        slot: the slot of the record that the position carries.
        context: the proxy tokens that are hashed there.
        prefix: the proxy tokens that the proxy LM reads.
        seed: of the permutation that the slot's code selects there, ``s(c, a)``.
    """

    path: Path
    slot: int
    context: tuple[int, ...]
    prefix: tuple[int, ...]
    seed: int


class PlacesOfRow(NamedTuple):
    """The places of one row.

    Attributes:
        row: of the logits.
        behind: the candidates behind the row's tail.
        places: for each path of ``behind`` its place; None where the path is not marked.
        seen: for each place the tokens that are left alone, because they were marked after this context before.
    """

    row: int
    behind: Continuations
    places: list[Place | None]
    seen: list[Sequence[int]]


@dataclass(frozen=True)
class Places:
    """The places of all rows of a step, as arrays of integers that are copied to a device at once.

    ``n`` rows are marked at ``p`` places.

    Attributes:
        rows: int32 (n,), the rows of the logits.
        place_of: int32 (n, openings), by the opening of a candidate its place; -1 where it may merge with the tail, -2
            where it keeps its probability.
        seeds: int32 (p,), the bits of the permutations' seeds.
        joined: int32 (m, 4), row (of the n), candidate, place, and proxy token there, of candidates that merge with the
            tail; sorted by row.
        seen: int32 (k, 2), place and proxy token: what is left alone.
        places: the p places, with the row (of the n) of each.
    """

    rows: NDArray[np.int32]
    place_of: NDArray[np.int32]
    seeds: NDArray[np.int32]
    joined: NDArray[np.int32]
    seen: NDArray[np.int32]
    places: list[tuple[int, Place]] = field(repr=False)

    def __len__(self) -> int:
        return len(self.seeds)

    @classmethod
    def of(cls, rows: Sequence[PlacesOfRow]) -> Places:
        """Lay the places of several rows out."""
        places: list[tuple[int, Place]] = []
        seen: list[tuple[int, int]] = []
        joined: list[NDArray[np.int32]] = []
        maps = np.empty((len(rows), OPENINGS), dtype=np.int32)
        for n, row in enumerate(rows):
            number: list[int] = []
            for place, tokens in zip(row.places, row.seen, strict=True):
                number.append(-2 if place is None else len(places))
                if place is not None:
                    seen += [(len(places), token) for token in tokens]
                    places.append((n, place))
            numbers = np.array([*number, -1], dtype=np.int32)  # index -1 of place_of stays -1
            maps[n] = numbers[row.behind.place_of]
            if len(row.behind.entries):
                entries = np.column_stack([np.full(len(row.behind.entries), n, dtype=np.int32), row.behind.entries])
                entries[:, 2] = numbers[entries[:, 2]]
                joined.append(entries[entries[:, 2] >= 0])
        return cls(
            np.array([row.row for row in rows], dtype=np.int32),
            maps,
            np.array([place.seed for _, place in places], dtype=np.uint32).view(np.int32),
            np.concatenate(joined) if joined else np.empty((0, 4), dtype=np.int32),
            np.array(seen, dtype=np.int32).reshape(-1, 2),
            places,
        )

"""The places of a step, as arrays: all that is known of them before the model's logits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol.bridge.bridge import OPENINGS


class Sizes(NamedTuple):
    """Numbers of a profile and of a step.

    Attributes:
        prefix, context, colours: of the profile, ``L_prefix``, ``h`` and ``A``.
        most: places that a row may have.
    """

    prefix: int
    context: int
    colours: int
    most: int = 0


class Arrays(NamedTuple):
    """What :func:`.loops.lay_out` fills, longer than need be.

    Attributes:
        rows, place_of, joined: see :class:`Places`.
        places: int32 (p, 4), of each place the seed, the row, and the start and stop of its path.
        seen: int32 (k, 4), place and proxy token.
        missing: int32 (q, 4), places whose words are not known: text, path of its tail, and slot, -1 where that is not
            known either.
    """

    rows: NDArray[np.int32]
    place_of: NDArray[np.int32]
    joined: NDArray[np.int32]
    places: NDArray[np.int32]
    seen: NDArray[np.int32]
    missing: NDArray[np.int32]

    @classmethod
    def empty(cls, rows: int, room: int) -> Self:
        """Room for some rows, and for so many of all else."""
        shapes = ((rows,), (rows, OPENINGS), *[(room, 4)] * 4)
        return cls._make(np.empty(shape, dtype=np.int32) for shape in shapes)


@dataclass(frozen=True)
class Places:
    """The places of all rows of a step.

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
        texts: int64 (n,), the number of each row's text.
        owner: int32 (p,), the row (of the n) of each place.
        paths: int32 (p, 2), the start and stop of each place's path in the pool.
    """

    rows: NDArray[np.int32]
    place_of: NDArray[np.int32]
    seeds: NDArray[np.int32]
    levels: NDArray[np.int32]
    joined: NDArray[np.int32]
    seen: NDArray[np.int32]
    strengths: tuple[float, ...]
    texts: NDArray[np.int64]
    owner: NDArray[np.int32]
    paths: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.seeds)

"""What a text's positions say of the codes (spec sections 10 and 10.1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ctwl_protocol import hashing

from .family import (
    COUNT,
    INTEGER,
    JSON,
    SIGMA,
    WORD,
    Case,
    Family,
    array,
    bounded,
    shape,
)

if TYPE_CHECKING:
    from ctwl_decoder.statistics.evidence import ScoredPositions, ScoreTable

__all__ = ["FAMILIES", "made_units", "marks_of"]


def _units(data: JSON) -> JSON:
    from ctwl_decoder.statistics.evidence import Evidence
    from ctwl_decoder.statistics.scores import Score, position_scores

    seen = Evidence(
        np.array([data["below"]], dtype=np.uint32),
        np.array([data["ranks"]], dtype=np.uint32),
        np.array([data["weight"]], dtype=np.uint32),
        np.array([data["total"]], dtype=np.uint64),
    )
    sigma = (data["sigma"][0], data["sigma"][1])
    return {name: position_scores(Score(name), seen, sigma)[0].tolist() for name in ("count", "soft", "rank")}


def marks_of(pairs: list[list[int]], slots: list[list[int]]) -> ScoredPositions:
    """Positions by context and token, and by slots; no token is worth anything to any of two colours."""
    from ctwl_decoder.statistics.evidence import ScoredPositions

    count = len(pairs)
    return ScoredPositions(
        np.array(pairs, dtype=np.int64).reshape(count, -1),
        np.zeros(count, dtype=np.uint32),
        np.zeros((count, 2), dtype=np.int8),
        np.array(slots, dtype=np.uint8).reshape(count, -1),
    )


def _counted(data: JSON) -> JSON:
    pairs = [[*position["context"], position["token"]] for position in data["positions"]]
    marks = marks_of(pairs, [position["slots"] for position in data["positions"]])
    return {"counted": np.flatnonzero(marks.first_occurrences()).tolist()}


def _table(contexts: list[JSON]) -> ScoreTable:
    from ctwl_decoder.statistics.evidence import ScoreTable

    return ScoreTable(
        np.array([context["seed"] for context in contexts], dtype=np.uint32),
        np.array([context["units"] for context in contexts], dtype=np.int32),
        len(contexts),
    )


def _scores(data: JSON) -> JSON:
    from ctwl_decoder.statistics.code_scores import best_codes, score_all

    table, codes = _table(data["contexts"]), np.array(data["codes"], dtype=np.uint32)
    best, score = best_codes(table, codes)
    return {"scores": score_all(table, codes).tolist(), "best": int(best[0]), "best_score": int(score[0])}


def _unit_cases() -> Iterator[Case]:
    def case(
        below: list[int], weight: int, total: int, sigma: tuple[int, int] = (1, 2), ranks: list[int] | None = None
    ) -> JSON:
        ranks = hashing.fmix32(np.arange(len(below), dtype=np.uint32)).tolist() if ranks is None else ranks
        return {"below": below, "ranks": ranks, "weight": weight, "total": total, "sigma": list(sigma)}

    def raced(weight: int, total: int) -> JSON:
        return case([0] * len(_RANKS), weight, total, ranks=_RANKS)

    every = list(range(0, 1201, 60))
    yield "a token of no weight, everywhere", case(every, 0, 1200)
    yield "a token of a tenth, everywhere", case(every[:-2], 120, 1200)
    yield "a token of a half", case([0, 100, 300, 599, 600], 600, 1200)
    yield "a token of nine tenths", case([0, 60, 120], 1080, 1200)
    yield "the only token", case([0], 1200, 1200)
    yield "around the border of the half", case([598, 599, 600, 601, 602], 1, 1200)
    yield "around the upper end of the uncertain border", case(list(range(793, 802)), 0, 1200)
    yield "around the lower end of the uncertain border", case(list(range(398, 409)), 0, 1200)
    yield "around the lower end, a token of weight", case(list(range(298, 314)), 100, 1200)
    yield "real weights", case([0, 4_000_000, 8_388_607, 8_388_608, 11_184_811, 16_000_000], 777_216, 16_777_216)
    yield "a total near 2^32", case([0, 2**31 - 1, 2**31, 2**32 - 2**20], 2**19, 2**32 - 1)
    yield "a total of one", case([0], 1, 1)
    yield "a total of one, behind all of it", case([1], 0, 1)
    yield "no weight at all", case([0], 0, 0)
    yield "sigma of a quarter", case(every, 60, 1260, (1, 4))
    yield "sigma of three quarters", case(every, 60, 1260, (3, 4))
    yield "sigma of a third", case([419, 420, 421], 1, 1260, (1, 3))
    yield "the least sigma", case([0, 1, 200, 300], 5, 1200, (1, 65536))
    yield "the greatest sigma", case([0, 600, 1190], 5, 1200, (65535, 65536))
    for halvings in range(13):
        yield f"ranks around every border, a token of 2^-{halvings}", raced(2 ** (12 - halvings), 2**12)
    yield "ranks, a token a little above a half", raced(2**30 + 1, 2**31)
    yield "ranks, a token a little below a half", raced(2**30 - 1, 2**31)
    yield "ranks, a token of hardly any weight", raced(1, 2**32 - 1)
    yield "ranks, a token of no weight", raced(0, 2**31)
    yield "ranks, no weight at all", raced(0, 0)


_RANKS = [
    0,
    1,
    *(edge - under for n in range(20, 32) for q in range(4, 8) for edge in [q << n >> 2] for under in (1, 0)),
    2**32 - 1,
]
"""Ranks on both sides of every border."""


def _counted_cases() -> Iterator[Case]:
    def position(context: list[int], token: int, slots: list[int] | None = None) -> JSON:
        return {"context": context, "token": token, "slots": slots or [0, 0, 0, 0]}

    def case(*positions: JSON) -> JSON:
        return {"positions": list(positions)}

    yield "all distinct", case(position([1], 1), position([1], 2), position([2], 1))
    yield "a pair that comes back", case(position([1], 2), position([2], 1), position([1], 2))
    yield "the same token behind another context", case(position([1], 5), position([2], 5))
    yield "contexts of two tokens", case(position([1, 2], 3), position([2, 1], 3), position([1, 2], 3))
    yield (
        "the one that carries slot 0 most often",
        case(position([1], 2, [0, 1, 1, 2]), position([1], 2, [0, 0, 0, 0]), position([1], 2, [0, 0, 0, 1])),
    )
    yield (
        "of equals the first",
        case(position([1], 2, [0, 1, 2, 3]), position([1], 2, [0, 0, 0, 1]), position([1], 2, [0, 0, 0, 1])),
    )
    yield "slots do not part pairs", case(position([1], 2, [0, 1, 1, 1]), position([1], 2, [0, 1, 2, 3]))


def made_units(contexts: int, colours: int, seed: int) -> list[list[int]]:
    """Units of a made-up text, from the hash scheme alone: from -13 to 5, wider than any text's are."""
    mixed = hashing.fmix32(np.arange(contexts * colours, dtype=np.uint32) + np.uint32(seed))
    values = np.array([-13, -13, -8, -3, 0, 2, 4, 5, 5, 5], dtype=np.int64)[mixed % 10]
    rows: list[list[int]] = values.reshape(contexts, colours).tolist()
    return rows


def _score_cases() -> Iterator[Case]:
    def case(contexts: int, colours: int, codes: list[int], seed: int = 1) -> JSON:
        seeds = hashing.fmix32(np.arange(contexts, dtype=np.uint32) + np.uint32(1000 + seed)).tolist()
        rows = made_units(contexts, colours, seed)
        return {"contexts": [{"seed": s, "units": u} for s, u in zip(seeds, rows, strict=True)], "codes": codes}

    codes = [0, 1, 2, 43252, 2**20 - 1]
    yield "one context", case(1, 2, codes)
    yield "five contexts, 8 colours", case(5, 8, codes)
    yield "five contexts, 100 colours", case(5, 100, codes, 9)
    yield "twenty contexts, 32 colours", case(20, 32, list(range(64)), 3)
    yield "A that is no power of two", case(7, 3, codes, 5)
    flat = {"contexts": [{"seed": 5, "units": [1, 1]}], "codes": [3, 9, 12]}
    yield "of equals the smallest code", flat


_ROW = array(INTEGER)
_DECODER = ("ctwl_decoder",)

FAMILIES = (
    Family(
        "counted-positions", "10",
        "Positions, each with its slots in records of one to four codes, to the places, from 0, of those that count "
        "(step 5).",
        shape(positions=array(shape(context=array(COUNT, 1), token=COUNT, slots=array(bounded(0, 3), 4, 4)), 1)),
        shape(counted=array(COUNT)), _counted, _counted_cases, needs=_DECODER,
    ),
    Family(
        "scores", "10",
        "Contexts, each with its colour seed t and the units of its colours, and codes, ascending, to the codes' "
        "scores, the best code and its score (step 6).",
        shape(contexts=array(shape(seed=WORD, units=_ROW), 1), codes=array(COUNT, 1)),
        shape(units=_ROW, best=COUNT, best_score=INTEGER), _scores, _score_cases, needs=_DECODER,
    ),
    Family(
        "units", "10.1",
        "The weight ranked before a token under several colours, its rank under each, the token's weight, the total "
        "and sigma, to the units of each colour.",
        shape(below=array(WORD), ranks=array(WORD), weight=WORD, total=WORD, sigma=SIGMA),
        shape(count=_ROW, soft=_ROW, rank=_ROW),
        _units, _unit_cases, needs=_DECODER,
    ),
)  # fmt: skip

"""What a text's positions say of the codes, and how likely chance would say it (spec sections 10 to 10.2, 12)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ctwl_protocol import hashing

from .family import (
    BOOLEAN,
    COUNT,
    DECIMAL,
    INTEGER,
    JSON,
    SIGMA,
    WORD,
    Case,
    Family,
    array,
    bounded,
    decimal,
    nullable,
    shape,
)

if TYPE_CHECKING:
    from ctwl_decoder.evidence import Marks, Table

__all__ = ["FAMILIES"]


def _units(data: JSON) -> JSON:
    from ctwl_decoder.evidence import Evidence
    from ctwl_decoder.units import Score, units

    seen = Evidence(
        np.array([data["below"]], dtype=np.uint32),
        np.array([data["weight"]], dtype=np.uint32),
        np.array([data["total"]], dtype=np.uint64),
    )
    sigma = (data["sigma"][0], data["sigma"][1])
    return {name: units(Score(name), seen, sigma)[0].tolist() for name in ("count", "soft")}


def _marks(pairs: list[list[int]], slots: list[list[int]], colours: int = 2) -> Marks:
    from ctwl_decoder.evidence import Marks

    count = len(pairs)
    return Marks(
        np.array(pairs, dtype=np.int64).reshape(count, -1),
        np.zeros(count, dtype=np.uint32),
        np.zeros((count, colours), dtype=np.int8),
        np.array(slots, dtype=np.uint8).reshape(count, -1),
    )


def _counted(data: JSON) -> JSON:
    marks = _marks([position["context"] + [position["token"]] for position in data["positions"]],
                   [position["slots"] for position in data["positions"]])  # fmt: skip
    return {"counted": np.flatnonzero(marks.first_occurrences()).tolist()}


def _table(contexts: list[JSON]) -> Table:
    from ctwl_decoder.evidence import Table

    return Table(
        np.array([context["seed"] for context in contexts], dtype=np.uint32),
        np.array([context["units"] for context in contexts], dtype=np.int32),
        len(contexts),
    )


def _scores(data: JSON) -> JSON:
    from ctwl_decoder.scores import best_codes, score_all

    table, codes = _table(data["contexts"]), np.array(data["codes"], dtype=np.uint32)
    best, score = best_codes(table, codes)
    return {"scores": score_all(table, codes).tolist(), "best": int(best[0]), "best_score": int(score[0])}


def _null(data: JSON) -> JSON:
    from ctwl_decoder.null import null_of

    null = null_of(np.array(data["units"], dtype=np.int32))
    return {"p_value": decimal(null.p_value(data["score"], data["tests"]))}


def _windows(data: JSON) -> JSON:
    from ctwl_decoder.spans import windows_of

    return {"windows": windows_of(data["positions"], data["codes"]).tolist()}


def _tests(data: JSON) -> JSON:
    from ctwl_decoder.spans import candidates

    length, numbers = data["positions"], data["numbers"]
    marks = _marks([[i, 0] for i in range(length)], [[0] * 4] * length)
    found = candidates(marks, np.arange(data["codes"], dtype=np.uint32), numbers, 1 / data["forms"])
    whole: dict[int, int | None] = dict.fromkeys(numbers)
    windows: dict[int, int | None] = dict.fromkeys(numbers)
    for candidate in found:
        place = whole if (candidate.start, candidate.end) == (0, length) else windows
        place[candidate.count] = int(candidate.tests)
    return {"whole": list(whole.values()), "window": list(windows.values())}


def _posterior(data: JSON) -> JSON:
    from ctwl_decoder.posterior import THRESHOLD, posterior

    scores = np.array(data["scores"], dtype=np.int32)
    chance = posterior(scores, int(scores.argmax()))
    return {"posterior": decimal(chance), "found": bool(chance >= THRESHOLD)}


def _posterior_windows(data: JSON) -> JSON:
    from ctwl_decoder.posterior import posterior_windows

    length = data["positions"]
    marks = _marks([[i, 0] for i in range(length)], [[0] * 4] * length)
    found = posterior_windows(marks, np.arange(2, dtype=np.uint32))
    return {"windows": [[candidate.start, candidate.end] for candidate, _ in found]}


def _unit_cases() -> Iterator[Case]:
    def case(below: list[int], weight: int, total: int, sigma: tuple[int, int] = (1, 2)) -> JSON:
        return {"below": below, "weight": weight, "total": total, "sigma": list(sigma)}

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
    yield "no weight at all", case([0], 0, 0)
    yield "sigma of a quarter", case(every, 60, 1260, (1, 4))
    yield "sigma of three quarters", case(every, 60, 1260, (3, 4))
    yield "sigma of a third", case([419, 420, 421], 1, 1260, (1, 3))
    yield "the least sigma", case([0, 1, 200, 300], 5, 1200, (1, 65536))
    yield "the greatest sigma", case([0, 600, 1190], 5, 1200, (65535, 65536))


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


def _made_units(contexts: int, colours: int, seed: int) -> list[list[int]]:
    """Units of a made-up text, from the hash scheme alone: from -13 to 5, in the shares that texts have."""
    mixed = hashing.fmix32(np.arange(contexts * colours, dtype=np.uint32) + np.uint32(seed))
    values = np.array([-13, -13, -8, -3, 0, 2, 4, 5, 5, 5], dtype=np.int64)[mixed % 10]
    rows: list[list[int]] = values.reshape(contexts, colours).tolist()
    return rows


def _score_cases() -> Iterator[Case]:
    def case(contexts: int, colours: int, codes: list[int], seed: int = 1) -> JSON:
        seeds = hashing.fmix32(np.arange(contexts, dtype=np.uint32) + np.uint32(1000 + seed)).tolist()
        rows = _made_units(contexts, colours, seed)
        return {"contexts": [{"seed": s, "units": u} for s, u in zip(seeds, rows, strict=True)], "codes": codes}

    codes = [0, 1, 2, 43252, 2**20 - 1]
    yield "one context", case(1, 2, codes)
    yield "five contexts, 8 colours", case(5, 8, codes)
    yield "five contexts, 100 colours", case(5, 100, codes, 9)
    yield "twenty contexts, 32 colours", case(20, 32, list(range(64)), 3)
    yield "A that is no power of two", case(7, 3, codes, 5)
    flat = {"contexts": [{"seed": 5, "units": [1, 1]}], "codes": [3, 9, 12]}
    yield "of equals the smallest code", flat


def _null_cases() -> Iterator[Case]:
    def case(units: list[list[int]], score: int, tests: int = 1) -> JSON:
        return {"units": units, "score": score, "tests": tests}

    coin = [[0, 1]]
    yield "no contexts, score 0", case([], 0)
    yield "no contexts, score 1", case([], 1)
    yield "one coin, score 0", case(coin, 0)
    yield "one coin, score 1", case(coin, 1)
    yield "one coin, score 2", case(coin, 2)
    yield "ten coins, score 8", case(coin * 10, 8)
    yield "ten coins, score 10, 1024 tests", case(coin * 10, 10, 1024)
    yield "ten coins, score 10, 16 tests", case(coin * 10, 10, 16)
    yield "a row that is the same for all colours", case([[3, 3, 3]], 3)
    yield "rows that differ", case([[0, 0, 0, 1], [0, 1, 1, 1], [1, 1, 1, 1]], 3)
    yield "negative units", case([[-13, 5], [-13, 5]], -8)
    yield "a score below the lowest", case([[-13, 5]], -100)
    yield "a score between two that occur", case([[-13, 5]], 0)
    yield "twenty rows of 32", case(_made_units(20, 32, 7), 60, 2**22)
    yield "sixty rows of 32", case(_made_units(60, 32, 8), 200, 2**22)
    yield "two hundred rows of 100", case(_made_units(200, 100, 9), 800, 2**23)
    yield "the tail's far end", case(_made_units(30, 32, 11), 150, 1)
    yield "below 1e-300", case([[0] * 31 + [1]] * 250, 250)


def _window_cases() -> Iterator[Case]:
    for length in (0, 95, 127, 128, 170, 171, 256, 300, 511, 512, 700):
        yield f"{length} positions", {"positions": length, "codes": 1}
    for codes in (2, 3, 4):
        for length in (255, 256, 512, 700):
            yield f"{length} positions, {codes} codes", {"positions": length, "codes": codes}


def _test_cases() -> Iterator[Case]:
    def case(positions: int, codes: int, forms: int, numbers: list[int]) -> Case:
        asked = {"positions": positions, "codes": codes, "forms": forms, "numbers": numbers}
        return f"{positions} positions, {codes} codes, {forms} forms, numbers {numbers}", asked

    yield case(100, 64, 1, [1])
    yield case(100, 64, 2, [1])
    yield case(100, 64, 1, [1, 2, 3, 4])
    yield case(127, 1024, 1, [1, 2])
    yield case(128, 64, 1, [1])
    yield case(128, 64, 1, [1, 2, 3, 4])
    yield case(600, 64, 2, [1, 2, 3, 4])
    yield case(4096, 64, 1, [1])
    yield case(4097, 64, 1, [1, 2])


def _posterior_cases() -> Iterator[Case]:
    yield "one code", {"scores": [3]}
    yield "two codes of one score", {"scores": [3, 3]}
    yield "a nat apart", {"scores": [3, 4]}
    yield "just not found", {"scores": [11, 0]}
    yield "just found", {"scores": [12, 0]}
    yield "many others, far away", {"scores": [40, *[10] * 30, *range(8)]}


def _posterior_window_cases() -> Iterator[Case]:
    for length in (1, 199, 200, 201, 250, 251, 399, 500):
        yield f"{length} positions", {"positions": length}


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
        shape(scores=_ROW, best=COUNT, best_score=INTEGER), _scores, _score_cases, needs=_DECODER,
    ),
    Family(
        "units", "10.1",
        "The weight ranked before a token under several colours, the token's weight, the total and sigma, to the "
        "units of each colour.",
        shape(below=array(WORD), weight=WORD, total=WORD, sigma=SIGMA), shape(count=_ROW, soft=_ROW),
        _units, _unit_cases, needs=_DECODER,
    ),
    Family(
        "windows", "10.2", "The positions of a text and n to its windows, by length, then start: start and end.",
        shape(positions=COUNT, codes=bounded(1, 4)), shape(windows=array(array(COUNT, 2, 2))),
        _windows, _window_cases, needs=_DECODER,
    ),
    Family(
        "tests", "10.2",
        "The positions of a text, N, F and the numbers of codes n that are tried, to K of the whole text and of a "
        "window for each n, null where there is none.",
        shape(positions=COUNT, codes=COUNT, forms=bounded(1, 2), numbers=array(bounded(1, 4), 1)),
        shape(whole=array(nullable(COUNT)), window=array(nullable(COUNT))), _tests, _test_cases, needs=_DECODER,
    ),
    Family(
        "posterior", "10",
        "The scores of all codes to the posterior of the best and whether it is found (the compatibility mode).",
        shape(scores=array(INTEGER, 1)), shape(posterior=DECIMAL, found=BOOLEAN), _posterior, _posterior_cases,
        needs=_DECODER,
    ),
    Family(
        "posterior-windows", "10",
        "The positions of a text to the windows of the compatibility mode, start and end.",
        shape(positions=COUNT), shape(windows=array(array(COUNT, 2, 2))),
        _posterior_windows, _posterior_window_cases, needs=_DECODER,
    ),
    Family(
        "null", "12",
        "The units of the colours at each distinct context, a score and a number of tests K, to the p-value.",
        shape(units=array(_ROW), score=INTEGER, tests=COUNT), shape(p_value=DECIMAL),
        _null, _null_cases, needs=_DECODER,
    ),
)  # fmt: skip

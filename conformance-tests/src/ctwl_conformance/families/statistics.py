"""How likely chance would say what a text says, and what is searched (spec sections 10, 10.2 and 12)."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from .evidence import made_units, marks_of
from .family import BOOLEAN, COUNT, DECIMAL, INTEGER, JSON, Case, Family, array, bounded, decimal, nullable, shape

__all__ = ["FAMILIES"]


def _null(data: JSON) -> JSON:
    from ctwl_decoder.statistics.null import null_of

    null = null_of(np.array(data["units"], dtype=np.int32))
    return {"p_value": decimal(null.p_value(data["score"], data["tests"]))}


def _randomised(data: JSON) -> JSON:
    from ctwl_decoder.statistics.null import null_of

    null = null_of(np.array(data["units"], dtype=np.int32))
    return {"p_value": decimal(null.randomised(data["score"], data["u"]))}


def _windows(data: JSON) -> JSON:
    from ctwl_decoder.search.spans import windows_of

    return {"windows": windows_of(data["positions"], data["codes"]).tolist()}


def _tests(data: JSON) -> JSON:
    from ctwl_decoder.search.spans import CodeSet, ScoredText, candidates

    length, numbers = data["positions"], data["numbers"]
    marks = marks_of([[i, 0] for i in range(length)], [[0] * 4] * length)
    found = candidates(
        [ScoredText(marks)], [CodeSet(np.arange(data["codes"], dtype=np.uint32), 1 / data["forms"])], numbers
    )
    whole: dict[int, str | None] = dict.fromkeys(numbers)
    windows: dict[int, str | None] = dict.fromkeys(numbers)
    for candidate in found:
        place = whole if (candidate.start, candidate.end) == (0, length) else windows
        place[candidate.count] = decimal(candidate.tests)
    return {"whole": list(whole.values()), "window": list(windows.values())}


def _posterior(data: JSON) -> JSON:
    from ctwl_decoder.search.posterior import THRESHOLD, posterior

    scores = np.array(data["scores"], dtype=np.int32)
    chance = posterior(scores, int(scores.argmax()))
    return {"posterior": decimal(chance), "found": bool(chance >= THRESHOLD)}


def _posterior_windows(data: JSON) -> JSON:
    from ctwl_decoder.search.posterior import posterior_windows

    length = data["positions"]
    marks = marks_of([[i, 0] for i in range(length)], [[0] * 4] * length)
    found = posterior_windows(marks, np.arange(2, dtype=np.uint32))
    return {"windows": [[candidate.start, candidate.end] for candidate, _ in found]}


def _doubts(data: JSON) -> JSON:
    from ctwl_decoder.search.error_bounds import error_bounds
    from ctwl_decoder.statistics.null import null_of

    slots = data["slots"]
    nulls = [null_of(np.array(slot["units"], dtype=np.int32)) for slot in slots]
    scores, codes = [slot["score"] for slot in slots], [slot["codes"] for slot in slots]
    each, either = error_bounds(nulls, scores, codes, data["records"], data["layouts"])
    return {"record": decimal(either), "slots": [decimal(p) for p in each]}


def _doubts_cases() -> Iterator[Case]:
    def case(rows: list[int], shown: list[int], *, beacons: int = 1 << 14, hops: int = 0, layouts: int = 2) -> JSON:
        """Slots of so many contexts, which show so many percent of the highest score that there is."""
        codes = [beacons, *[1280] * hops, *[1 << 20] * (len(rows) - 1 - hops)]
        slots = []
        for slot, (count, percent, n) in enumerate(zip(rows, shown, codes, strict=True)):
            units = made_units(count, 32, 100 + slot)
            slots.append({"units": units, "score": sum(map(max, units)) * percent // 100, "codes": n})
        return {"slots": slots, "records": 64 * beacons * 16 * math.prod(codes[1:-1]), "layouts": layouts}

    yield "three codes, all clear", case([60, 30, 30, 30], [80, 95, 95, 95])
    yield "three codes, the check silent", case([60, 30, 30, 30], [80, 95, 95, -50])
    yield "three codes, the second faint", case([60, 30, 30, 30], [80, 20, 95, 95])
    yield "three codes, two faint", case([60, 30, 30, 30], [90, 50, 40, 99])
    yield "three codes, the beacon faint", case([60, 30, 30, 30], [20, 99, 99, 99])
    yield "three codes that nothing shows", case([60, 30, 30, 30], [-30, -30, -30, -30])
    yield "two codes", case([50, 40, 40], [80, 90, 80])
    yield "two codes, one layout", case([50, 40, 40], [70, 80, 85], layouts=1)
    yield "two codes, three layouts", case([50, 40, 40], [90, 60, 50], layouts=3)
    yield "four codes", case([40, 25, 25, 25, 25], [90, 95, 95, 95, 95])
    yield "one provider's beacons", case([60, 30, 30, 30], [60, 90, 90, 95], beacons=1)
    yield "an earlier hop among 1280 beacons", case([60, 30, 30, 30], [70, 80, 90, 95], beacons=20, hops=1)
    yield "two earlier hops among 1280 beacons", case([60, 30, 30, 30], [70, 80, 85, 80], beacons=20, hops=2)
    yield "a slot without a position", case([60, 30, 30, 0], [90, 99, 99, 0])


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
    yield "twenty rows of 32", case(made_units(20, 32, 7), 60, 2**22)
    yield "sixty rows of 32", case(made_units(60, 32, 8), 200, 2**22)
    yield "two hundred rows of 100", case(made_units(200, 100, 9), 800, 2**23)
    yield "the tail's far end", case(made_units(30, 32, 11), 150, 1)
    yield "below 1e-300", case([[0] * 31 + [1]] * 250, 250)


def _randomised_cases() -> Iterator[Case]:
    for u in (0, 0.25, 0.75):
        yield f"ten coins, score 8, U = {u}", {"units": [[0, 1]] * 10, "score": 8, "u": u}
        yield f"twenty rows of 32, U = {u}", {"units": made_units(20, 32, 7), "score": 60, "u": u}
    yield "a score that does not occur", {"units": [[-13, 5], [-13, 5]], "score": 0, "u": 0.5}


def _window_cases() -> Iterator[Case]:
    for length in (0, 95, 127, 128, 170, 171, 256, 300, 511, 512, 700, 6000):
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
    yield "just not found beside two others", {"scores": [12, 0, 0]}
    yield "many others, far away", {"scores": [40, *[10] * 30, *range(8)]}


def _posterior_window_cases() -> Iterator[Case]:
    for length in (1, 199, 200, 201, 250, 251, 399, 500):
        yield f"{length} positions", {"positions": length}


_ROW = array(INTEGER)
_DECODER = ("ctwl_decoder",)

FAMILIES = (
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
        shape(whole=array(nullable(DECIMAL)), window=array(nullable(DECIMAL))), _tests, _test_cases, needs=_DECODER,
    ),
    Family(
        "posterior", "10",
        "The scores of all codes to the posterior of the best and whether it is found (the compatibility mode).",
        shape(units=array(INTEGER, 1)), shape(posterior=DECIMAL, found=BOOLEAN), _posterior, _posterior_cases,
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
    Family(
        "record-doubts", "10.4",
        "The slots of a record that was read, the check's last: the units of the colours at each distinct context, the "
        "score and how many codes may be there; the multiplier of the first test (K with N times 2^(20 r), times the "
        "layouts); the layouts of so many codes. To the p-value of the record and the chance, at most, that each slot "
        "was read wrong (the beacon's own test left aside).",
        shape(
            slots=array(shape(units=array(_ROW), score=INTEGER, codes=COUNT), 3, 5), records=COUNT, layouts=COUNT,
        ),
        shape(record=DECIMAL, slots=array(DECIMAL, 3, 5)), _doubts, _doubts_cases, needs=_DECODER,
    ),
    Family(
        "randomised", "12",
        "The units of the colours at each distinct context, the score of a code chosen beforehand and U, to the "
        "randomised p-value.",
        shape(units=array(_ROW), score=INTEGER, u={"type": "number"}), shape(p_value=DECIMAL),
        _randomised, _randomised_cases, needs=_DECODER,
    ),
)  # fmt: skip

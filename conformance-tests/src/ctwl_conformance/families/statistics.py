"""Rivals, scores of codes, their p-values, and the windows and tests of the search (spec sections 7.4, 10, 12)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .agreement import decimal
from .family import BASIC, ENCODER, FULL, JSON, LIGHT, READERS, family

if TYPE_CHECKING:
    from ctwl_decoder.statistics.scored_positions import ScoredPositions
    from ctwl_protocol.proxy.rivals import Rivals


def _rivals(data: JSON) -> Rivals:
    """The rivals at one position of a small vocabulary."""
    from ctwl_protocol.proxy.rivals import Rivals

    weights = np.array([data["weights"]], dtype=np.uint32)
    return Rivals.of(np.zeros(1, dtype=np.int64), weights, np.array([data["token"]]), data["total"])


@family("rivals", asked_of=(BASIC, FULL), optional_for=(ENCODER,))
def _who_competes(data: JSON) -> JSON:
    found = _rivals(data)
    return {"tokens": found.tokens.tolist(), "weights": found.weights.tolist()}


@family("units", asked_of=(BASIC, FULL), optional_for=(ENCODER,), needs="ctwl_decoder")
def _units(data: JSON) -> JSON:
    from ctwl_decoder.statistics.scores import position_scores

    seeds = np.array([data["seeds"]], dtype=np.uint32)
    found = position_scores(_rivals(data), 0, seeds, (data["sigma"][0], data["sigma"][1]))
    return {score.value: units[0].tolist() for score, units in found.items()}


@family("light-units", asked_of=(LIGHT,), optional_for=(ENCODER,), needs="ctwl_decoder")
def _light_units(data: JSON) -> JSON:
    from ctwl_decoder.statistics.light import light_scores
    from ctwl_decoder.statistics.scores import Score

    ranks, tokens = np.array([data["ranks"]], dtype=np.uint32), np.array([data["token"]])
    of = ranks, tokens, (data["sigma"][0], data["sigma"][1]), data["vocabulary"]
    return {name: light_scores(Score(name), *of)[0].tolist() for name in ("light-soft", "light-rank")}


def _positions(pairs: list[list[int]], slots: list[list[int]]) -> ScoredPositions:
    """Positions of these contexts and tokens, in these slots; every score is 0 under both colours."""
    from ctwl_decoder.statistics.scored_positions import ScoredPositions

    count = len(pairs)
    return ScoredPositions(
        np.array(pairs, dtype=np.int64).reshape(count, -1),
        np.zeros(count, dtype=np.uint32),
        np.zeros((count, 2), dtype=np.int8),
        np.array(slots, dtype=np.uint8).reshape(count, -1),
    )


@family("counted-positions", asked_of=(FULL, LIGHT), optional_for=(ENCODER,), needs="ctwl_decoder")
def _counted(data: JSON) -> JSON:
    pairs = [[*position["context"], position["token"]] for position in data["positions"]]
    marks = _positions(pairs, [position["slots"] for position in data["positions"]])
    return {"counted": np.flatnonzero(marks.first_occurrences()).tolist()}


@family("scores", asked_of=READERS, optional_for=(ENCODER,), needs="ctwl_decoder")
def _scores(data: JSON) -> JSON:
    from ctwl_decoder.statistics.code_scores import best_codes, score_all
    from ctwl_decoder.statistics.scored_positions import ScoreTable

    contexts, codes = data["contexts"], np.array(data["codes"], dtype=np.uint32)
    table = ScoreTable(
        np.array([context["seed"] for context in contexts], dtype=np.uint32),
        np.array([context["units"] for context in contexts], dtype=np.int32),
    )
    best = int(best_codes(table, codes, 1)[0])
    return {"scores": score_all(table, codes).tolist(), "best": best, "best_score": table.score(best)}


@family("null", asked_of=READERS, optional_for=(ENCODER,), needs="ctwl_decoder")
def _null(data: JSON) -> JSON:
    from ctwl_decoder.statistics.null import null_of

    null = null_of(np.array(data["units"], dtype=np.int32))
    return {"p_value": decimal(null.p_value(data["score"], data["tests"]))}


@family("randomised", asked_of=(BASIC, FULL), optional_for=(ENCODER,), needs="ctwl_decoder")
def _randomised(data: JSON) -> JSON:
    from ctwl_decoder.statistics.null import null_of

    null = null_of(np.array(data["units"], dtype=np.int32))
    return {"p_value": decimal(null.randomised(data["score"], data["u"]))}


@family("e-value", asked_of=(BASIC, FULL), optional_for=(ENCODER,), needs="ctwl_decoder")
def _e_value(data: JSON) -> JSON:
    from ctwl_decoder.statistics.e_value import log_e_value

    return {"e_value": decimal(math.exp(log_e_value(np.array(data["units"], dtype=np.int32))))}


@family("windows", asked_of=(FULL, LIGHT), optional_for=(ENCODER,), needs="ctwl_decoder")
def _windows(data: JSON) -> JSON:
    from ctwl_decoder.search.windows import windows_of

    return {"windows": windows_of(data["positions"], data["codes"]).tolist()}


@family("window-scores", asked_of=(FULL, LIGHT), optional_for=(ENCODER,), needs="ctwl_decoder")
def _window_scores(data: JSON) -> JSON:
    from ctwl_decoder.statistics.window_scores import search_windows

    positions = data["positions"]
    count = len(positions)
    seeds = np.array([position["seed"] for position in positions], dtype=np.uint32)
    scores = np.array([position["units"] for position in positions], dtype=np.int8)
    marks = replace(_positions([[i, 0] for i in range(count)], [[0] * 4] * count), seeds=seeds, scores=scores)
    windows, codes = np.insert(data["windows"], 0, 1, axis=1), np.array(data["codes"], dtype=np.uint32)
    best, sums = search_windows([marks], np.arange(count), windows, codes)
    return {"best": best[0].tolist(), "scores": sums[0].tolist()}


@family("tests", asked_of=(FULL, LIGHT), optional_for=(ENCODER,), needs="ctwl_decoder")
def _tests(data: JSON) -> JSON:
    from ctwl_decoder.search.candidates import CodeSet, ScoredText
    from ctwl_decoder.search.windows import find_candidates

    length, numbers = data["positions"], data["numbers"]
    marks = _positions([[i, 0] for i in range(length)], [[0] * 4] * length)
    found = find_candidates(
        [ScoredText(marks)], [CodeSet(np.arange(data["codes"], dtype=np.uint32), 1 / data["forms"])], numbers
    )
    whole: dict[int, str | None] = dict.fromkeys(numbers)
    windows: dict[int, str | None] = dict.fromkeys(numbers)
    for candidate in found:
        place = whole if (candidate.start, candidate.end) == (0, length) else windows
        place[candidate.record_codes] = decimal(candidate.tests)
    return {"whole": list(whole.values()), "window": list(windows.values())}


@family("record-doubts", asked_of=(FULL,), optional_for=(ENCODER,), needs="ctwl_decoder")
def _doubts(data: JSON) -> JSON:
    from ctwl_decoder.search.error_bounds import error_bounds
    from ctwl_decoder.statistics.null import null_of

    slots = data["slots"]
    nulls = [null_of(np.array(slot["units"], dtype=np.int32)) for slot in slots]
    scores, codes = [slot["score"] for slot in slots], [slot["codes"] for slot in slots]
    each, either = error_bounds(nulls, scores, codes, data["records"], data["layouts"])
    return {"record": decimal(either), "slots": [decimal(p) for p in each]}

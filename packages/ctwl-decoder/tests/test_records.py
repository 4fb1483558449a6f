"""Records of several codes: the likeliest one that agrees with its check, and bounds on its errors."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctwl_decoder.report.interpretation import Interpreter
from ctwl_decoder.search.candidates import Candidate, CodeSet, FoundRecord, ScoredText, Window
from ctwl_decoder.search.error_bounds import error_bounds
from ctwl_decoder.search.likeliest import NOWHERE, likeliest
from ctwl_decoder.search.records import RecordReader
from ctwl_decoder.statistics.null import FLOOR, null_of
from ctwl_decoder.statistics.scored_positions import ScoredPositions, ScoreTable
from ctwl_protocol import get_profile
from ctwl_protocol.hashing import code_colours
from ctwl_protocol.numbers import NUMBERS
from ctwl_protocol.records.beacon import NONCE_COUNT
from ctwl_protocol.records.layouts import LAYOUTS, Field, Layout, find_layout
from ctwl_protocol.records.record import check_of
from ctwl_protocol.records.sealing import ProviderKeys
from ctwl_protocol.registry import load_trusted

EVERY = np.arange(1 << 20, dtype=np.uint32)


@settings(deadline=None)
@given(st.integers(2, 4), st.integers(0, 2**32 - 1), st.integers(1, 20))
def test_the_likeliest_records_are_those_of_an_exhaustive_search(slots: int, seed: int, most: int) -> None:
    rng, space = np.random.default_rng(seed), 8
    scores = [rng.integers(-9, 9, space).astype(np.int32) for _ in range(slots)]
    for beacons in scores[: int(rng.integers(1, slots))]:  # not all are searched, of the text's or of earlier hops
        beacons[rng.permutation(space)[: rng.integers(space)]] = NOWHERE
    every = [
        (-sum(int(s[c]) for s, c in zip(scores, carried, strict=True)), carried)
        for codes in product(range(space), repeat=slots - 1)
        for carried in [(*codes, int(np.bitwise_xor.reduce(codes)))]
        if all(slot[code] > NOWHERE for slot, code in zip(scores, carried, strict=True))
    ]
    records, sums = likeliest(scores, most)
    expected = sorted(every)[:most]
    assert sums.tolist() == [-score for score, _ in expected]
    if most > 1:  # a single one is any of equals where every slot has its best
        assert records.tolist() == [list(carried) for _, carried in expected]


def test_a_slot_that_says_nothing_follows_from_the_others() -> None:
    rng = np.random.default_rng(5)
    carried = [*rng.integers(0, 1 << 20, 3)]
    carried.append(np.bitwise_xor.reduce(carried))
    for silent in range(4):
        scores = [rng.integers(-200, -100, 1 << 20).astype(np.int32) for _ in range(4)]
        for slot, code in enumerate(carried):
            if slot != silent:
                scores[slot][code] = 50
        assert likeliest(scores)[0][0].tolist() == carried


@pytest.mark.slow
def test_records_are_wrong_no_more_often_than_they_are_said_to_be() -> None:
    rng, space, slots, colours, contexts = np.random.default_rng(7), 64, 3, 8, 9
    said, wrong, parts = [], [], []
    for _ in range(600):
        truth = rng.integers(0, space, slots - 1)
        truth = np.append(truth, np.bitwise_xor.reduce(truth))
        nulls, scores = [], []
        for code in truth:
            units = rng.integers(-13, 6, (contexts, colours)).astype(np.int32)
            colour = rng.integers(0, colours, (contexts, space))
            colour[:, code] = np.where(rng.random(contexts) < 0.75, units.argmax(axis=1), colour[:, code])
            nulls.append(null_of(units))
            scores.append(units[np.arange(contexts)[:, None], colour].sum(axis=0).astype(np.int32))
        read = likeliest(scores)[0][0]
        each, either = error_bounds(
            nulls, [int(s[c]) for s, c in zip(scores, read, strict=True)], [space] * slots, float(space) ** 2, 1
        )
        said.append(either)
        wrong.append(bool((read != truth).any()))
        parts += list(zip(each, (read != truth).tolist(), strict=True))
    for doubt, fault in ((np.array(said), np.array(wrong)), map(np.array, zip(*parts, strict=True))):
        assert fault.any()
        for level in (0.01, 0.1, 0.5):
            assert (fault & (doubt <= level)).mean() <= level
    assert np.mean(np.array(said) <= 0.1) > 0.5  # and it is not for being never sure


def marks_with(
    reader: RecordReader,
    which: str | Layout,
    carried: dict[int, int],
    size: int,
    strength: float,
    rng: np.random.Generator,
) -> ScoredPositions:
    """Positions of a text whose slots, of a record of one layout, carry some codes; the other slots say nothing."""
    layout, colours = find_layout(which), reader.profile.colours
    pairs = np.column_stack([np.arange(size), np.zeros(size, np.int64)])
    slots = np.tile(rng.integers(0, layout.codes + 1, (size, 1), np.uint8), (1, 4))
    units = rng.integers(-13, 0, (size, colours), np.int8)
    marks = ScoredPositions(pairs, rng.integers(0, 2**32, size, np.uint32), units, slots)
    for slot, code in carried.items():
        places = marks.indices_of_slot(layout.codes, slot)
        part = reader.slot(marks, layout, slot, carried[0] % NONCE_COUNT) if slot else marks[places]
        kept = rng.random(len(places)) < strength
        colour = code_colours(part.seeds, np.full(len(places), code, np.uint32), colours)
        units[places[kept], colour[kept]] = 5
    return marks


def beacon_of(marks: ScoredPositions, codes: int) -> Candidate:
    """The beacon of a text, as that of a record of so many codes."""
    return Window.of(ScoredText(marks), 0, len(marks), codes).candidate(700_000, CodeSet(EVERY), 1 << 20)


@pytest.mark.slow
def test_where_both_p_values_are_as_low_as_they_go_a_layout_is_not_guessed() -> None:
    """The beacon is as clear as can be, and so is the record with it, whatever its other slots are said to carry."""
    reader = RecordReader(get_profile(), [find_layout("tagged")])
    marks = marks_with(reader, "tagged", {0: 700_000}, 1500, 1.0, np.random.default_rng(4))
    beacon = beacon_of(marks, 2)
    assert beacon.p_value == FLOOR
    assert reader.read(marks, beacon).record is None


SHOP = Layout(64, "shop", (*find_layout("beacon").fields, Field("branch", 20)))


def shop_marks(carried: dict[int, int]) -> tuple[ScoredPositions, Candidate]:
    """Positions that carry a record of one registered layout, and the candidate of their slot 0."""
    marks = marks_with(RecordReader(get_profile(), [SHOP]), SHOP, carried, 400, 0.9, np.random.default_rng(5))
    return marks, beacon_of(marks, 2)


@pytest.mark.parametrize(("owner", "is_read"), [(700_000 >> 10, True), (5, False)])
def test_a_registered_layout_follows_its_owners_beacons_alone(owner: int, is_read: bool) -> None:
    marks, beacon = shop_marks({0: 700_000, 1: 123_456, 2: 700_000 ^ 123_456})
    reader = RecordReader(get_profile(), [*LAYOUTS, SHOP], owners={SHOP.number: owner})
    found = reader.read(marks, beacon).record
    assert (found is not None and found.layout == SHOP and found.codes == (700_000, 123_456)) == is_read


@pytest.mark.slow
def test_many_layouts_cost_a_text_no_more_than_a_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that is marked in slot 0 alone is read in vain under each layout that is tried."""
    owned = [replace(SHOP, number=number, name=f"shop{number}") for number in range(64, 128)]
    marks, beacon = shop_marks({0: 700_000})
    assumed = []
    assume = RecordReader._assume

    def counted(self: RecordReader, *args: Any) -> Any:
        assumed.append(args)
        return assume(self, *args)

    monkeypatch.setattr(RecordReader, "_assume", counted)
    for owner in (700_000 >> 10, 5):
        reader = RecordReader(get_profile(), [*LAYOUTS, *owned], owners={each.number: owner for each in owned})
        assert reader.read(marks, beacon).record is None
    most, nonces = NUMBERS.reading.hypotheses, 2
    assert len(assumed) == most + min(most, nonces * sum(layout.codes == SHOP.codes for layout in LAYOUTS))


SIGNED = find_layout("authenticated")
SIGNED_CODES = {0: 700_000, 1: 5, 2: 9, SIGNED.codes: check_of(SIGNED, [700_000, 5, 9, 0])}
"""What its slots carry, but for that of the authenticator."""


def test_the_authenticators_p_value_is_that_of_the_record_that_is_reported() -> None:
    """Under the keys of somebody else no record is confirmed; the likeliest is reported, with its own test."""
    rng, told = np.random.default_rng(9), []
    for secret in (bytes(32), bytes([1] * 32), bytes([2] * 32)):
        reader = RecordReader(get_profile(), [SIGNED], ProviderKeys(secret))
        marks = marks_with(reader, SIGNED, SIGNED_CODES, 500, 0.9, rng)
        found = reader.read(marks, beacon_of(marks, SIGNED.codes)).record
        assert found is not None and found.codes[:3] == (700_000, 5, 9)
        table = ScoreTable.of(reader.slot(marks, SIGNED, 3, 700_000 % NONCE_COUNT))
        told.append((found.authenticator, null_of(table.scores).p_value(table.score(found.codes[3]), 4)))
    assert [mine for mine, _ in told] == [own for _, own in told]


@pytest.mark.slow
def test_wrong_keys_never_change_what_anyone_can_read() -> None:
    rng = np.random.default_rng(3)
    marks = marks_with(RecordReader(get_profile(), [SIGNED]), SIGNED, SIGNED_CODES, 300, 0.9, rng)
    beacon = beacon_of(marks, SIGNED.codes)
    for secret in range(40):  # one in twenty confirms some record by chance
        reader = RecordReader(get_profile(), [SIGNED], ProviderKeys(bytes([secret] * 32)))
        found = reader.read(marks, beacon).record
        assert found is not None and found.codes[:3] == (700_000, 5, 9)


@pytest.mark.parametrize("bits", [20, 60])
def test_a_field_of_another_width_is_no_sealed_user(bits: int) -> None:
    """The registry leaves names to providers; what is no sealed user is a number like any other."""
    layout = Layout(200, "odd", (*find_layout("beacon").fields, Field("sealed_user", bits)))
    codes = (700_000, *[(1 << 20) - 1] * (layout.codes - 1))
    found = FoundRecord(layout, codes, (1e-9,) * layout.codes, 1e-9)
    marks = marks_with(RecordReader(get_profile()), "tagged", {0: codes[0]}, 200, 1.0, np.random.default_rng(1))
    beacon = CodeSet(np.array(codes[:1], np.uint32))
    window = Window.of(ScoredText(marks), 0, len(marks), 2).candidate(codes[0], beacon, 1)
    interpreter = Interpreter(get_profile(), load_trusted(), ProviderKeys(bytes(32)), (0,))
    record = interpreter.record(replace(window, record=found), 1e-4)
    assert record is not None and (record.sealed, record.user) == (None, None)
    assert record.fields["sealed_user"] == (1 << bits) - 1

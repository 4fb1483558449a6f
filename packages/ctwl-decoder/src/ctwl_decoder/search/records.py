"""Records of several codes: the slots of a window read together (spec section 10.4).

Slot 0 names the beacon, and the beacon's nonce colours the other slots. So each of the likeliest nonces is taken at
its word: were it right, the slots would show codes that agree with their check (:mod:`.agreement`), as clearly as text
does that carries some, under the colours of one layout. The sum over the slots is then tested against all records that
there are, and each code against those that could stand in its place (:mod:`.doubts`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol import Profile
from ctwl_protocol.records.beacon import BEACON_BITS, NONCE_COUNT
from ctwl_protocol.records.layouts import LAYOUTS, Layout
from ctwl_protocol.records.record import Record, check_of, slot_seed
from ctwl_protocol.records.sealing import ProviderKeys

from ..statistics.code_scores import best_codes, code_space, score_all, score_codes
from ..statistics.evidence import ScoredPositions, ScoreTable
from ..statistics.null import Null, null_of
from .error_bounds import convolve, error_bounds
from .likeliest import NOWHERE, likeliest
from .spans import Candidate, ScoredText

__all__ = ["NO_CODES", "RecordReader", "RecordReading"]

NO_CODES = np.array([], dtype=np.uint32)
"""No registered beacons."""

_BEACONS = 2
"""So many of the best beacons are looked at for their nonces."""

_CLEAR = 1e-6
"""Further codes that are as clear as this need no rivals."""

_PROMISING = 0.1
"""Windows whose beacon has a higher p-value are not read further, but for short texts."""

_SHORT, _POSSIBLE = 512, 0.5
"""A text of so few positions is read, as a record of its best beacon, where that beacon has a p-value below this: its
other slots may show what one slot of it cannot. Most texts without a code are spared that."""

_CONFIRMED = 0.05
"""A layout is believed where its further codes by themselves have this p-value; of likely codes, those that the
authenticator prefers are believed where it has this one."""

_READ = 6
"""Most windows of a text that are read."""

_RANKED = 4
"""Where the authenticator can be tested, so many of the likeliest records are tried against it."""

_WORSE = 1e-3
"""The same beacon shows in fewer or more slots too; so much less clearly, it is not worth reading there."""


@dataclass(frozen=True)
class RecordReading:
    """What a window says.

    Attributes:
        layout: the record's; None where it was not read, or is none that is known here.
        codes: the codes that were read, the beacon first.
        p_values: for each, how often a record with another code in its place would fit as well (spec section 10.4).
        p_value: how often some other record would, at most.
        authenticator: p-value of the provider's own test; None where there is none or the key is not here.
    """

    layout: Layout | None
    codes: tuple[int, ...]
    p_values: tuple[float, ...]
    p_value: float
    authenticator: float | None = None


@dataclass(frozen=True)
class _Slot:
    """A slot's evidence, the scores of all codes: int32 (codes,), and how many of them may be in it."""

    table: ScoreTable
    null: Null
    scores: NDArray[np.int32]
    searched: int

    @classmethod
    def of(cls, marks: ScoredPositions, codes: NDArray[np.uint32], space: int) -> _Slot:
        table = ScoreTable.of(marks)
        scores = score_all(table, codes)
        if len(codes) < space:
            everywhere = np.full(space, NOWHERE, dtype=np.int32)
            everywhere[codes] = scores
            scores = everywhere
        return cls(table, null_of(table.scores), scores, len(codes))


@dataclass(frozen=True)
class _Hypothesis:
    """What a window says if its record has one layout and one nonce.

    Attributes:
        layout: the layout.
        slots: those that anyone can read, the beacon's first and the check's last; in each, the codes that may be.
        carried: what they carry, likeliest first: int64 (records, slots).
        scores: int64 (records,), the sums over the slots.
    """

    layout: Layout
    slots: list[_Slot]
    carried: NDArray[np.int64]
    scores: NDArray[np.int64]

    @classmethod
    def of(cls, layout: Layout, slots: list[_Slot], most: int) -> _Hypothesis:
        return cls(layout, slots, *likeliest([slot.scores for slot in slots], most))

    @property
    def records(self) -> float:
        """How many records have one beacon: any that may be in each slot between it and the check, which follows."""
        return prod(float(slot.searched) for slot in self.slots[1:-1])

    def p_value(self, records: float, first: int = 0, rank: int = 0) -> float:
        """Of the record of this rank, from the slot ``first`` on, where there were so many records."""
        codes = self.carried[rank, first:]
        score = sum(int(slot.scores[code]) for slot, code in zip(self.slots[first:], codes, strict=True))
        null = convolve([slot.null for slot in self.slots[first:]]) if first else self._null
        return null.p_value(score, records)

    @cached_property
    def _null(self) -> Null:
        """Of the sum over all slots, which is asked for again where a record is believed."""
        return convolve([slot.null for slot in self.slots])


class RecordReader:
    """Reads windows as records of the layouts that are known.

    Attributes:
        profile: the profile.
        layouts: what is tried.
        keys: the provider's, where it is the provider who reads.
        registered: uint32, ascending: the codes of registered beacons. Where only some beacons are searched, earlier
            hops are taken to be among them or among these.
    """

    def __init__(
        self,
        profile: Profile,
        layouts: Sequence[Layout] = LAYOUTS,
        keys: ProviderKeys | None = None,
        registered: NDArray[np.uint32] = NO_CODES,
    ) -> None:
        self.profile = profile
        self.layouts = tuple(layouts) if profile.code_bits == BEACON_BITS else ()
        self.keys = keys
        self.registered = registered
        self._every = code_space(profile)  # of beacons, where there are layouts

    @property
    def counts(self) -> tuple[int, ...]:
        """How many codes a record may have: the numbers of slots that are searched."""
        return tuple(sorted({1} | {layout.codes for layout in self.layouts}))

    def read_all(self, views: Sequence[ScoredText], found: Sequence[Candidate]) -> list[Candidate]:
        """The same candidates, windows and their beacons, the promising ones of several slots read as records."""
        marks = {view.score: view.marks for view in views}
        done: list[Candidate] = []
        reads = 0
        for candidate in sorted(found, key=lambda c: c.p_value):
            rivals = (c for c in done if c.code == candidate.code and c.overlaps(candidate))
            clearer = any(c.reading or c.p_value <= candidate.p_value * _WORSE for c in rivals)  # or read already
            idle = candidate.count == 1 or clearer or reads == _READ
            beacons = 0 if idle else _worthwhile(len(marks[candidate.by]), candidate)
            reads += beacons > 0
            done.append(self.read(marks[candidate.by], candidate, beacons) if beacons else candidate)
        return done

    def read_once(self, marks: ScoredPositions, candidate: Candidate) -> Candidate:
        """:meth:`read`, where there is more to read than was."""
        if candidate.count == 1 or candidate.reading is not None or candidate.beacons >= _BEACONS:
            return candidate
        return self.read(marks, candidate)

    def read(self, marks: ScoredPositions, candidate: Candidate, beacons: int = _BEACONS) -> Candidate:
        """A window read as a record of one of the layouts; with the p-value that this gives it.

        The p-value is the better of two, which the candidate has paid for: of the beacon alone, and of all slots that
        anyone can read. The nonces of so many of the best ``beacons`` are tried.
        """
        window, count, codes = marks[candidate.start : candidate.end], candidate.count, candidate.codes
        layouts = [layout for layout in self.layouts if layout.codes == count]
        beacon = window[window.indices_of_slot(count, 0)]
        nonces = list(dict.fromkeys((best_codes(ScoreTable.of(beacon), codes, beacons)[0] % NONCE_COUNT).tolist()))
        firsts = {nonce: _Slot.of(beacon, codes[codes % NONCE_COUNT == nonce], self.profile.codes) for nonce in nonces}
        tried = len(layouts) * len(nonces)
        hops = codes if len(codes) == self.profile.codes else np.union1d(codes, self.registered)
        best, whole, further = None, 1.0, 1.0
        for nonce, layout in product(nonces, layouts):
            others = [
                _Slot.of(
                    self.slot(window, layout, slot, nonce),
                    hops if slot < layout.hops else self._every,
                    self.profile.codes,
                )
                for slot in (*range(1, layout.public_codes), layout.codes)
            ]
            ranked = _RANKED if layout.authenticated and self.keys else 1
            read = _Hypothesis.of(layout, [firsts[nonce], *others], ranked)
            p_whole = read.p_value(candidate.tests * len(layouts) * read.records)
            p_further = read.p_value(tried * read.records, 1)
            if best is None or (p_whole, p_further) < (whole, further):
                best, whole, further = read, p_whole, p_further
            if further < _CLEAR:
                break
        if best is None or (whole >= candidate.p_value and further > _CONFIRMED):
            return replace(candidate, beacons=beacons)
        return replace(self._read(window, candidate, best, len(layouts)), beacons=beacons)

    def parts(
        self, marks: ScoredPositions, candidate: Candidate
    ) -> list[tuple[NDArray[np.int64], ScoredPositions, int]]:
        """The slots whose codes were read: their positions, their marks under the slot's colours, and the code."""
        places = marks.indices_of_slot(candidate.count, 0)
        found = [(places, marks[places], candidate.code)]
        reading = candidate.reading
        if reading and reading.layout:
            nonce, carried = reading.codes[0] % NONCE_COUNT, dict(enumerate(reading.codes))
            carried[reading.layout.codes] = check_of(reading.layout, reading.codes)
            for slot, code in list(carried.items())[1:]:
                part = self.slot(marks, reading.layout, slot, nonce)
                found.append((marks.indices_of_slot(candidate.count, slot), part, code))
        return found

    def contributions(self, marks: ScoredPositions, candidate: Candidate) -> NDArray[np.int64]:
        """What every position is worth to a record's codes, repeats included: int64 (positions,)."""
        worth = np.zeros(len(marks), dtype=np.int64)
        for places, part, code in self.parts(marks, candidate):
            worth[places] = part.contributions(code)
        return worth

    def slot(self, marks: ScoredPositions, layout: Layout, slot: int, nonce: int) -> ScoredPositions:
        """The marks of a slot, under its colours."""
        key = self.keys.colour_key() if self.keys and layout.authenticated else None
        seed = partial(slot_seed, self.profile, layout=layout, slot=slot, nonce=nonce, key=key)
        return marks[marks.indices_of_slot(layout.codes, slot)].with_colour_seeds(seed)

    def _read(
        self,
        window: ScoredPositions,
        candidate: Candidate,
        found: _Hypothesis,
        layouts: int,
    ) -> Candidate:
        """A candidate read as the likeliest record, with how sure that is."""
        rank, authenticator, layout = 0, None, found.layout
        if layout.authenticated and self.keys:
            rank, value, authenticator = self._authenticate(self.keys, window, found)
        carried = found.carried[rank]
        scores = [int(slot.scores[code]) for slot, code in zip(found.slots, carried, strict=True)]
        rivals = [slot.searched for slot in found.slots]
        tests = candidate.tests * layouts * found.records
        p_value = found.p_value(tests, rank=rank)
        if carried[0] != candidate.code and p_value >= candidate.p_value:
            return candidate  # the window shows its own beacon more clearly than a record with another
        certain, either = error_bounds([slot.null for slot in found.slots], scores, rivals, tests, layouts)
        certain, read = certain[:-1], tuple(carried[:-1].tolist())
        certain = (min(certain[0], found.slots[0].null.p_value(scores[0], candidate.tests)), *certain[1:])
        if authenticator is not None:  # it confirms them all; of two tests the better one counts twice
            both = [min(1.0, 2 * min(p, authenticator)) for p in (*certain, authenticator, either)]
            read, certain, either = (*read, value), tuple(both[:-1]), both[-1]
        if read[0] == candidate.code:  # else the other slots bear out another beacon
            p_value = min(p_value, candidate.p_value)
        return replace(
            candidate,
            code=read[0],
            score=sum(scores),
            expected=sum(slot.table.expected for slot in found.slots),
            p_value=p_value,
            reading=RecordReading(layout, read, certain, either, authenticator),
        )

    def _authenticate(self, keys: ProviderKeys, window: ScoredPositions, found: _Hypothesis) -> tuple[int, int, float]:
        """Which of the likeliest records the authenticator confirms best, its value, and that test's p-value."""
        layout, nonce = found.layout, int(found.carried[0, 0]) % NONCE_COUNT
        table = ScoreTable.of(self.slot(window, layout, layout.codes - 1, nonce))
        values = [
            keys.authenticate(self.profile, Record(layout, (*codes, 0))) for codes in found.carried[:, :-1].tolist()
        ]
        scores, null = score_codes(table, np.array(values, dtype=np.uint32)), null_of(table.scores)
        p_values = [null.p_value(int(score), len(values)) for score in scores]
        best = int(scores.argmax())
        if p_values[best] > _CONFIRMED:
            best = 0  # other keys, or an edited text: the likeliest codes stand
        return best, values[best], p_values[best]


def _worthwhile(length: int, candidate: Candidate) -> int:
    """Of how many of its best beacons a window of a text of so many positions is read; 0 for not at all."""
    if candidate.p_value < _PROMISING:
        return _BEACONS
    whole = candidate.end - candidate.start == length <= _SHORT
    return int(whole and candidate.p_value < _POSSIBLE)

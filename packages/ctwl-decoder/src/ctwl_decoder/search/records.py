"""Records of several codes: the slots of a window read together (spec section 10.4).

Slot 0 names the beacon, and the beacon's nonce colours the other slots. So the reader assumes each likely nonce in
turn. If it is right, the slots show codes that agree with their check (:mod:`.likeliest`), as clearly as text does that
carries some, under the colours of one layout. The sum over the slots is then tested against all records that there are,
and each code against the codes that could stand in its place (:mod:`.error_bounds`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from math import log, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol.numbers import NUMBERS
from ctwl_protocol.profile.document import Profile
from ctwl_protocol.records.beacon import BEACON_BITS, NONCE_COUNT, Beacon
from ctwl_protocol.records.layouts import LAYOUTS, Layout
from ctwl_protocol.records.record import Record, check_of, slot_seed
from ctwl_protocol.records.sealing import ProviderKeys

from ..statistics.code_scores import best_codes, code_space, score_all
from ..statistics.e_value import log_e_value
from ..statistics.null import Null, null_of
from ..statistics.scored_positions import ScoredPositions, ScoreTable
from ..statistics.scores import Score
from .candidates import Candidate, FoundRecord
from .error_bounds import convolve, error_bounds
from .likeliest import NOWHERE, likeliest
from .plan import BELOW_PROVIDER, NO_CODES

_BEACONS = NUMBERS.reading.beacons
"""Number of the best beacons whose nonces are tried."""

_CLEAR = NUMBERS.reading.clear
"""Once the codes that follow the beacon have a p-value below this, no other nonces and layouts are tried."""

_PROMISING = NUMBERS.reading.promising
"""A window is read as a record where its beacon has a p-value below this."""

_SHORT, _POSSIBLE = NUMBERS.reading.short, NUMBERS.reading.possible
"""A whole text of so many positions at most is read as a record of its best beacon, if its p-value is below this."""

_CONFIRMED = NUMBERS.reading.confirmed
"""A layout is reported where the codes that follow the beacon have at most this p-value by themselves."""

_HYPOTHESES = NUMBERS.reading.hypotheses
"""At most this number of pairs of a nonce and a layout are assumed for one window."""

_WINDOWS_READ = NUMBERS.reading.windows
"""At most this number of windows are read as records in one search: of one variant, by one set of scores."""

_AUTHENTICATED = NUMBERS.reading.authenticated
"""Number of the likeliest records that are tested with the authenticator, where it can be tested."""

_MUCH_CLEARER = NUMBERS.reading.much_clearer
"""A window is not read where an overlapping window shows the same beacon with a p-value of at most this times its
own."""


@dataclass(frozen=True)
class _Slot:
    """A slot's evidence.

    Attributes:
        table: its scores by context.
        null: the distribution of a wrong code's score.
        scores: int32 (codes,), the score of every code; :data:`NOWHERE` for codes that are not searched.
        searched: the number of codes that are searched.
    """

    table: ScoreTable
    null: Null
    scores: NDArray[np.int32]
    searched: int

    @classmethod
    def of(cls, positions: ScoredPositions, codes: NDArray[np.uint32], space: int) -> _Slot:
        table = ScoreTable.of(positions)
        scores = score_all(table, codes)
        if len(codes) < space:
            everywhere = np.full(space, NOWHERE, dtype=np.int32)
            everywhere[codes] = scores
            scores = everywhere
        return cls(table, null_of(table.scores), scores, len(codes))


@dataclass(frozen=True)
class _Hypothesis:
    """The likeliest records of a window, given a layout and a nonce.

    Attributes:
        layout: the layout.
        slots: the slots that anyone can read, the beacon's first and the check's last.
        carried: int64 (records, slots), what they carry, the likeliest first.
    """

    layout: Layout
    slots: list[_Slot]
    carried: NDArray[np.int64]

    @property
    def records(self) -> float:
        """How many records have one beacon: any code in each slot between it and the check, which follows from them."""
        return prod(float(slot.searched) for slot in self.slots[1:-1])

    def scores(self, nth: int = 0) -> list[int]:
        """Of a record, the likeliest or the ``nth`` after it, in each slot."""
        return [int(slot.scores[code]) for slot, code in zip(self.slots, self.carried[nth], strict=True)]

    def p_value(self, records: float, *, first: int = 0, nth: int = 0) -> float:
        """Of such a record, from the slot ``first`` on, where there were so many records."""
        null = convolve([slot.null for slot in self.slots[first:]]) if first else self._null
        return null.p_value(sum(self.scores(nth)[first:]), records)

    @cached_property
    def _null(self) -> Null:
        """Of the sum over all slots, which is asked for again where a record is believed."""
        return convolve([slot.null for slot in self.slots])


class Part(NamedTuple):
    """A slot whose code was read.

    Attributes:
        indices: int64, where its positions are.
        positions: these, under the slot's colours.
        code: its code.
    """

    indices: NDArray[np.int64]
    positions: ScoredPositions
    code: int


def contributions(length: int, parts: Sequence[Part]) -> NDArray[np.int64]:
    """The score of every position of a text for the codes of its slots, repeats included: int64 (positions,)."""
    values = np.zeros(length, dtype=np.int64)
    for indices, positions, code in parts:
        values[indices] = positions.contributions(code)
    return values


@dataclass(frozen=True, eq=False)
class RecordReader:
    """Reads windows as records.

    Attributes:
        profile: the profile.
        layouts: the layouts that are tried, where the profile's codes are beacons.
        keys: the provider's, where it is the provider who reads.
        registered: uint32, ascending: the codes of registered beacons. Where only some beacons are searched, earlier
            hops are taken to be among them or among these.
        owners: of registered layouts: the number of a layout, and the provider whose beacons alone it may follow.
    """

    profile: Profile
    layouts: Sequence[Layout] = LAYOUTS
    keys: ProviderKeys | None = None
    registered: NDArray[np.uint32] = field(default_factory=lambda: NO_CODES)
    owners: Mapping[int, int] = field(default_factory=dict)

    @property
    def counts(self) -> tuple[int, ...]:
        """How many codes a record may have: the numbers of slots that are searched."""
        layouts = self.layouts if self.profile.code_bits == BEACON_BITS else ()
        return tuple(sorted({1} | {layout.codes for layout in layouts}))

    def read_all(self, positions: Mapping[Score, ScoredPositions], candidates: Sequence[Candidate]) -> list[Candidate]:
        """The candidates, the clearest first; promising ones of several codes read as records."""
        done: list[Candidate] = []
        reads = 0
        for candidate in sorted(candidates, key=lambda c: c.p_value):
            same = [c for c in done if c.code == candidate.code and c.overlaps(candidate.start, candidate.end)]
            known = any(c.record or c.p_value <= candidate.p_value * _MUCH_CLEARER for c in same)
            if candidate.record_codes == 1 or known or reads == _WINDOWS_READ:
                beacons = 0
            else:
                beacons = _beacons_worth_reading(len(positions[candidate.by]), candidate)
            reads += beacons > 0
            done.append(self.read(positions[candidate.by], candidate, beacons) if beacons else candidate)
        return done

    def read_if_needed(self, positions: ScoredPositions, candidate: Candidate) -> Candidate:
        """:meth:`read`, where the candidate was not read yet, or only with fewer beacons."""
        if candidate.record_codes == 1 or candidate.record is not None or candidate.beacons >= _BEACONS:
            return candidate
        return self.read(positions, candidate)

    def read(self, positions: ScoredPositions, candidate: Candidate, beacons: int = _BEACONS) -> Candidate:
        """A window read as a record of one of the layouts, with the p-value that this gives it.

        The p-value is the smaller of two: of the beacon alone, and of all slots that anyone can read. The candidate's
        `tests` count both. The nonces of so many of the best ``beacons`` are assumed in turn.
        """
        window, codes = positions[candidate.start : candidate.end], candidate.code_set.codes
        first = window[window.indices_of_slot(candidate.record_codes, 0)]
        tops = best_codes(ScoreTable.of(first), codes, beacons).tolist()
        assumed = [(top % NONCE_COUNT, layout) for top in tops for layout in self._layouts(top, candidate.record_codes)]
        assumed = list(dict.fromkeys(assumed))[:_HYPOTHESES]
        nonces = len({nonce for nonce, _ in assumed})
        best, layouts, clearest = None, 0, (1.0, 1.0)
        slot_of = cache(partial(self._first, first, codes))
        for nonce, layout in assumed:
            read = self._assume(window, slot_of(nonce, self.owners.get(layout.number)), layout, nonce, codes)
            tried = len(self._layouts(int(read.carried[0, 0]), candidate.record_codes))
            whole = read.p_value(candidate.tests * tried * read.records)
            further = read.p_value(tried * nonces * read.records, first=1)
            if best is None or (whole, further) < clearest:
                best, layouts, clearest = read, tried, (whole, further)
            if clearest[1] < _CLEAR:
                break
        if best is None or (clearest[0] >= candidate.p_value and clearest[1] > _CONFIRMED):
            return replace(candidate, beacons=beacons)
        return replace(self._as_record(window, candidate, best, layouts), beacons=beacons)

    def _layouts(self, beacon: int, count: int) -> list[Layout]:
        """The layouts of so many codes that may follow a beacon: the specification's, and its provider's own."""
        provider = Beacon.from_code(beacon).provider
        return [
            each for each in self.layouts if each.codes == count and self.owners.get(each.number, provider) == provider
        ]

    def _first(self, positions: ScoredPositions, codes: NDArray[np.uint32], nonce: int, owner: int | None) -> _Slot:
        """Slot 0, if its beacon has a nonce and, where a layout has an owner, that provider."""
        kept = codes % NONCE_COUNT == nonce
        if owner is not None:
            kept &= codes >> BELOW_PROVIDER == owner
        return _Slot.of(positions, codes[kept], self.profile.codes)

    def parts(self, positions: ScoredPositions, candidate: Candidate) -> list[Part]:
        """The slots whose codes were read."""
        indices = positions.indices_of_slot(candidate.record_codes, 0)
        parts = [Part(indices, positions[indices], candidate.code)]
        record = candidate.record
        if record and record.layout:
            nonce, carried = record.codes[0] % NONCE_COUNT, dict(enumerate(record.codes))
            carried[record.layout.codes] = check_of(record.layout, record.codes)
            for slot, code in list(carried.items())[1:]:
                coloured = self.slot(positions, record.layout, slot, nonce)
                parts.append(Part(positions.indices_of_slot(candidate.record_codes, slot), coloured, code))
        return parts

    def contributions(self, positions: ScoredPositions, candidate: Candidate) -> NDArray[np.int64]:
        """The score of every position for a record's codes, repeats included: int64 (positions,)."""
        return contributions(len(positions), self.parts(positions, candidate))

    def slot(self, positions: ScoredPositions, layout: Layout, slot: int, nonce: int) -> ScoredPositions:
        """The positions of a slot, under its colours."""
        key = self.keys.colour_key() if self.keys and layout.authenticated else None
        seed = partial(slot_seed, self.profile, layout=layout, slot=slot, nonce=nonce, key=key)
        return positions[positions.indices_of_slot(layout.codes, slot)].with_colour_seeds(seed)

    def _assume(
        self, window: ScoredPositions, first: _Slot, layout: Layout, nonce: int, beacons: NDArray[np.uint32]
    ) -> _Hypothesis:
        """The likeliest records of a window, if the layout and the nonce are right; ``beacons`` are searched."""
        all_beacons = len(beacons) == self.profile.codes
        hops = beacons if all_beacons else np.union1d(beacons, self.registered)
        slots = [first]
        for slot in (*range(1, layout.public_codes), layout.codes):
            codes = hops if slot < layout.hops else code_space(self.profile)
            slots.append(_Slot.of(self.slot(window, layout, slot, nonce), codes, self.profile.codes))
        most = _AUTHENTICATED if layout.authenticated and self.keys else 1
        return _Hypothesis(layout, slots, likeliest([slot.scores for slot in slots], most)[0])

    def _as_record(
        self, window: ScoredPositions, candidate: Candidate, hypothesis: _Hypothesis, layouts: int
    ) -> Candidate:
        """A candidate as its likeliest record, with bounds on how often that is wrong.

        Args:
            window: the positions of the candidate's window.
            candidate: the candidate.
            hypothesis: the clearest hypothesis.
            layouts: how many layouts were tried.
        """
        nth, authenticator = 0, None
        if hypothesis.layout.authenticated and self.keys:
            nth, value, authenticator = self._authenticate(self.keys, window, hypothesis)
        carried, scores = hypothesis.carried[nth].tolist(), hypothesis.scores(nth)
        tests = candidate.tests * layouts * hypothesis.records
        p_value = hypothesis.p_value(tests, nth=nth)
        if carried[0] != candidate.code and p_value >= candidate.p_value:
            return candidate  # the window shows its own beacon more clearly than a record with another beacon
        nulls, searched = [slot.null for slot in hypothesis.slots], [slot.searched for slot in hypothesis.slots]
        rivals = [searched[0] * candidate.code_set.parts, *searched[1:]]
        bounds, either = error_bounds(nulls, scores, rivals, tests, layouts)
        read = tuple(carried[:-1])
        bounds = (min(bounds[0], nulls[0].p_value(scores[0], candidate.tests)), *bounds[1:-1])
        if authenticator is not None:  # it confirms all codes; the better of two tests counts twice
            both = [min(1.0, 2 * min(p, authenticator)) for p in (*bounds, authenticator, either)]
            read, bounds, either = (*read, value), tuple(both[:-1]), both[-1]
        if read[0] == candidate.code:  # else the p-value of slot 0 is of another beacon
            p_value = min(p_value, candidate.p_value)
        units = np.concatenate([slot.table.units(code) for slot, code in zip(hypothesis.slots, carried, strict=True)])
        return replace(
            candidate,
            code=read[0],
            score=sum(scores),
            expected=sum(slot.table.expected for slot in hypothesis.slots),
            log_e=log_e_value(units),
            log_choices=candidate.log_choices + log(layouts * hypothesis.records),
            p_value=p_value,
            record=FoundRecord(hypothesis.layout, read, bounds, either, authenticator),
        )

    def _authenticate(
        self, keys: ProviderKeys, window: ScoredPositions, hypothesis: _Hypothesis
    ) -> tuple[int, int, float]:
        """The index of the record that fits best together with its authenticator, the authenticator, and its p-value.

        The authenticator's score is a log-likelihood ratio as the record's own. So it decides between records that are
        about as likely, and wrong keys do not outweigh a record that is clear.
        """
        layout, nonce = hypothesis.layout, int(hypothesis.carried[0, 0]) % NONCE_COUNT
        table = ScoreTable.of(self.slot(window, layout, layout.codes - 1, nonce))
        values = [
            keys.authenticate(self.profile, Record(layout, (*codes, 0)))
            for codes in hypothesis.carried[:, :-1].tolist()
        ]
        scores = [table.score(value) for value in values]
        best = max(range(len(values)), key=lambda nth: sum(hypothesis.scores(nth)) + scores[nth])
        return best, values[best], null_of(table.scores).p_value(scores[best], len(values))


def _beacons_worth_reading(length: int, candidate: Candidate) -> int:
    """With how many of its best beacons a window of a text of so many positions is read; 0 for not at all."""
    if candidate.p_value < _PROMISING:
        return _BEACONS
    whole = candidate.end - candidate.start == length <= _SHORT
    return int(whole and candidate.p_value < _POSSIBLE)

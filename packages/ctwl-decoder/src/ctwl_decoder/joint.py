"""Records of several codes: the slots of a window read together (spec section 10.4).

Slot 0 names the beacon, and the beacon's nonce colours the other slots. So each of the likeliest beacons is taken at
its word: were it right, the other slots would show codes as clearly as text does that carries some, under the colours
of one layout. The sum over the slots is then tested against all records that there are, and each code by itself
against all that could stand in its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, product

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol import Profile
from ctwl_protocol.codes import BEACON_BITS, NONCES
from ctwl_protocol.layouts import LAYOUTS, Layout
from ctwl_protocol.records import Record, slot_seed
from ctwl_protocol.sealing import ProviderKeys

from .evidence import Marks, Table
from .null import FLOOR, null_of
from .scores import best_codes, code_space, score_codes
from .spans import Candidate

__all__ = ["Reader", "Reading"]

_BEACONS = 4
"""So many of the best beacons are looked at for their nonces."""

_CLEAR = 1e-6
"""Further codes that are as clear as this need no rivals."""

_PROMISING = 0.1
"""Windows whose beacon has a higher p-value are not read further, but for short texts."""

_SHORT, _WEAK = 512, 0.1
"""A text of so few positions is read, as a record of its best beacon, where that beacon has this p-value before the
correction for whatever else is searched: its other slots may show what one slot of it cannot."""

_CONFIRMED = 0.01
"""A layout is believed where its further codes by themselves have this p-value; of likely codes, those that the
authenticator prefers are believed where it has this one."""

_READ = 6
"""Most windows of a text that are read."""

_RANKED = 4
"""Where the authenticator can be tested, so many of the best codes of each slot are tried against it."""

_WORSE = 1e-3
"""The same beacon shows in fewer or more slots too; so much less clearly, it is not worth reading there."""


@dataclass(frozen=True)
class Reading:
    """What a window says.

    Attributes:
        layout: the record's; None where it is none that is known here.
        codes: the codes that were read, the beacon first.
        p_values: the chance that each of them is wrong.
        authenticator: p-value of the provider's own test; None where there is none or the key is not here.
    """

    layout: Layout | None
    codes: tuple[int, ...]
    p_values: tuple[float, ...]
    authenticator: float | None = None


@dataclass(frozen=True)
class _Slot:
    """A slot's codes, best first, and the evidence behind them."""

    table: Table
    codes: NDArray[np.uint32]
    scores: NDArray[np.int32]

    @classmethod
    def of(cls, marks: Marks, codes: NDArray[np.uint32], ranked: int) -> _Slot:
        table = Table.of(marks)
        return cls(table, *best_codes(table, codes, ranked))

    def p_value(self, tests: float) -> float:
        return null_of(self.table.units).p_value(int(self.scores[0]), tests)


class Reader:
    """Reads windows as records of the layouts that are known.

    Attributes:
        profile: the profile.
        layouts: what is tried.
        keys: the provider's, where it is the provider who reads.
    """

    def __init__(self, profile: Profile, layouts: Sequence[Layout] = LAYOUTS, keys: ProviderKeys | None = None) -> None:
        self.profile = profile
        self.layouts = tuple(layouts) if profile.code_bits == BEACON_BITS else ()
        self.keys = keys
        self._every = code_space(profile)  # of beacons, where there are layouts

    @property
    def counts(self) -> tuple[int, ...]:
        """How many codes a record may have: the numbers of slots that are searched."""
        return tuple(sorted({1} | {layout.codes for layout in self.layouts}))

    def read_all(self, marks: Marks, found: Sequence[Candidate], codes: NDArray[np.uint32]) -> list[Candidate]:
        """The same candidates, the promising ones of several slots read as records.

        Args:
            marks: the text's marks.
            found: windows and their beacons.
            codes: uint32, the beacons that were searched.
        """
        done: list[Candidate] = []
        reads = 0
        for candidate in sorted(found, key=lambda c: c.p_value):
            rivals = (c for c in done if c.code == candidate.code and c.overlaps(candidate))
            clearer = any(c.p_value <= candidate.p_value * _WORSE for c in rivals)
            beacons = 0 if candidate.count == 1 or clearer or reads == _READ else _worthwhile(marks, candidate, codes)
            reads += beacons > 0
            done.append(self.read(marks, candidate, codes, beacons) if beacons else candidate)
        return done

    def read_once(self, marks: Marks, candidate: Candidate, codes: NDArray[np.uint32]) -> Candidate:
        """:meth:`read`, where there is more to read than was."""
        if candidate.count == 1 or candidate.reading is not None:
            return candidate
        return self.read(marks, candidate, codes)

    def read(self, marks: Marks, candidate: Candidate, codes: NDArray[np.uint32], beacons: int = _BEACONS) -> Candidate:
        """A window read as a record of one of the layouts; with the p-value that this gives it.

        The p-value is the better of two, which the candidate has paid for: of the beacon alone, and of all slots that
        anyone can read. The nonces of so many of the best ``beacons`` are tried.
        """
        window, count = marks[candidate.start : candidate.end], candidate.count
        layouts = [layout for layout in self.layouts if layout.codes == count]
        first = _Slot.of(window[window.places_of(count, 0)], codes, beacons)
        best, further = None, 1.0
        nonces = list(dict.fromkeys((first.codes % NONCES).tolist()))
        for nonce, layout in product(nonces, layouts):
            same = first.codes % NONCES == nonce
            slots = [replace(first, codes=first.codes[same], scores=first.scores[same])]
            ranked = _RANKED if layout.authenticated and self.keys else 1
            slots += [
                _Slot.of(self.slot(window, layout, slot, nonce), self._every, ranked)
                for slot in range(1, layout.public_codes)
            ]
            read, p_further = self._judge(window, candidate, layout, slots, len(layouts) * len(nonces), codes)
            if best is None or (read.p_value, p_further) < (best.p_value, further):
                best, further = read, p_further
            if further < _CLEAR:
                break
        if best is None or (best.p_value > candidate.p_value and further > _CONFIRMED):
            return candidate
        if best.code != candidate.code:  # another beacon, which the other slots bear out
            return best
        return replace(best, p_value=min(best.p_value, candidate.p_value))

    def parts(self, marks: Marks, candidate: Candidate) -> list[tuple[NDArray[np.int64], Marks, int]]:
        """The slots whose codes were read: their positions, their marks under the slot's colours, and the code."""
        places = marks.places_of(candidate.count, 0)
        found = [(places, marks[places], candidate.code)]
        reading = candidate.reading
        if reading and reading.layout:
            for slot, code in list(enumerate(reading.codes))[1:]:
                part = self.slot(marks, reading.layout, slot, reading.codes[0] % NONCES)
                found.append((marks.places_of(candidate.count, slot), part, code))
        return found

    def worth(self, marks: Marks, candidate: Candidate) -> NDArray[np.int64]:
        """What every position is worth to a record's codes, repeats included: int64 (positions,)."""
        worth = np.zeros(len(marks), dtype=np.int64)
        for places, part, code in self.parts(marks, candidate):
            worth[places] = part.worth(code)
        return worth

    def slot(self, marks: Marks, layout: Layout, slot: int, nonce: int) -> Marks:
        """The marks of a slot, under its colours."""
        key = self.keys.colour_key() if self.keys and layout.authenticated else None
        seed = partial(slot_seed, self.profile, layout=layout, slot=slot, nonce=nonce, key=key)
        return marks[marks.places_of(layout.codes, slot)].seeded(seed)

    def _judge(
        self,
        window: Marks,
        candidate: Candidate,
        layout: Layout,
        slots: list[_Slot],
        tried: int,
        codes: NDArray[np.uint32],
    ) -> tuple[Candidate, float]:
        """The record of the best codes, and the p-value of those behind the beacon, which shows the layout."""
        rest = slots[1:]
        alike = sum(other.codes == layout.codes for other in self.layouts)
        score = sum(int(slot.scores[0]) for slot in slots)
        null = null_of(np.concatenate([slot.table.units for slot in slots]))
        # One test for each record of each layout: the beacons searched, times all codes in each other slot.
        records = candidate.tests * alike * float(1 << BEACON_BITS) ** len(rest)
        p_values = [slot.p_value(tried * float(1 << BEACON_BITS)) for slot in rest]
        # Where another slot confirms the nonce, the beacon competes with the beacons of that nonce alone.
        rivals = float((codes % NONCES == slots[0].codes[0] % NONCES).sum())
        beacon = min(slots[0].p_value(candidate.tests), slots[0].p_value(rivals) + min(p_values, default=1.0))
        further = np.concatenate([slot.table.units for slot in rest])
        p_further = null_of(further).p_value(
            sum(int(slot.scores[0]) for slot in rest), tried * float(1 << BEACON_BITS) ** len(rest)
        )
        chosen = tuple(int(slot.codes[0]) for slot in slots)
        certain = (max(beacon, FLOOR), *p_values)
        authenticator = None
        if layout.authenticated and self.keys:
            chosen, authenticator = self._authenticate(self.keys, window, layout, slots)
            certain = tuple(min(p, authenticator) for p in certain)  # it confirms them all
        read = replace(
            candidate,
            code=chosen[0],
            score=score,
            expected=sum(float(slot.table.units.mean(axis=1).sum()) for slot in slots if slot.table.counted),
            p_value=null.p_value(score, records),
            reading=Reading(layout, chosen, certain, authenticator),
        )
        return read, p_further

    def _authenticate(
        self, keys: ProviderKeys, window: Marks, layout: Layout, slots: list[_Slot]
    ) -> tuple[tuple[int, ...], float]:
        """Of the likeliest codes those that the authenticator confirms best, with the p-value of that test."""
        nonce = int(slots[0].codes[0]) % NONCES
        table = Table.of(self.slot(window, layout, layout.codes - 1, nonce))
        null = null_of(table.units)
        ranked = [[int(code) for code in slot.codes[:_RANKED]] for slot in slots]
        tried = list(islice(_likeliest_first(ranked), _RANKED ** (len(ranked) - 1)))
        values = [keys.authenticate(self.profile, Record(layout, (*codes, 0))) for codes in tried]
        scores = score_codes(table, np.array(values, dtype=np.uint32))
        best = int(scores.argmax())
        p_value = null.p_value(int(scores[best]), len(tried))
        if p_value > _CONFIRMED:
            best = 0  # other keys, or an edited text: the likeliest codes stand
        return (*tried[best], values[best]), p_value


def _worthwhile(marks: Marks, candidate: Candidate, codes: NDArray[np.uint32]) -> int:
    """Of how many of its best beacons a window is read; 0 for not at all."""
    if candidate.p_value < _PROMISING:
        return _BEACONS
    whole = candidate.end - candidate.start == len(marks) <= _SHORT
    return int(whole and candidate.chance * len(codes) < _WEAK)


def _likeliest_first(ranked: list[list[int]]) -> Iterator[tuple[int, ...]]:
    """Combinations of the codes of all slots, those of the best codes first."""
    places = sorted(product(*(range(len(codes)) for codes in ranked)), key=lambda place: (sum(place), place))
    for place in places:
        yield tuple(codes[i] for codes, i in zip(ranked, place, strict=True))

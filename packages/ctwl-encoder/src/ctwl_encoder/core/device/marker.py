"""The marker on a torch device: all strategies mark where the logits are (spec sections 8.2 to 8.5)."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from ctwl_protocol.bridge import Path
from ctwl_protocol.bridge.bridge import JOINED_TEXT
from ctwl_protocol.bridge.continuations import Continuations

from ..marker import Marker, prefixes_and_seeds
from ..offers import HalfKey
from ..places import Places, PlacesOfRow
from ..text_state import TextState
from . import operations, plain
from .step import DeviceOffers, DeviceStep, Later, Reported, Tables, to_device, to_host

__all__ = ["DeviceMarker"]

MOST_PLACES = 4096
"""Places of a step that are marked, an equal share for each row; beyond it a row's places inside of candidates are left
alone. Chosen by hand: rows of words have one place or two, and each place may take 8 bytes times the proxy's vocabulary
on the device."""

STEP_TEXT = 1 << 15
"""Characters that are tokenized for all rows of a step, the shortest tails first: some 10 or 20 milliseconds, however
many texts have tails without an end. Chosen by hand: 256 rows of words take two milliseconds
(evaluation/speed/serving.py)."""


class DeviceMarker(Marker):
    """A :class:`ctwl_encoder.core.marker.Marker` for engines whose logits are torch's."""

    def __init__(self, *arguments: Any, kept: int = 1, **options: Any) -> None:
        """Say how to mark.

        Args:
            *arguments: those of :class:`ctwl_encoder.core.marker.Marker`.
            kept: calls of :meth:`reweigh` after which a text goes on at the latest. An engine that marks others in
                between needs more than one; for each, probabilities of the size of its logits stay on the device.
            **options: those of :class:`ctwl_encoder.core.marker.Marker`.
        """
        super().__init__(*arguments, **options)
        self._kept = kept
        self._steps: deque[list[TextState]] = deque()
        """The texts of the last calls, which keep what the device knows of their next tokens."""
        self._tables: dict[tuple[torch.device, int], Tables] = {}
        self._reported: Reported | None = None
        self._members: dict[HalfKey, torch.Tensor] = {}
        """What the proxy said of the places that ``delta`` marked lately: bool (|V|,) each, on the device."""

    def warm_up(self, size: int, device: torch.device) -> None:
        """Compile what marks under a strategy that keeps the distribution, so that no text waits for it.

        Args:
            size: tokens in a row of the logits.
            device: where the logits will be.
        """
        self._seeds.of_all([])
        logits = torch.zeros((1, size), device=device)
        likely, tables, on = torch.softmax(logits, dim=-1), self._tables_for(logits), operations(device)
        for step in DeviceStep.of_every_kind(device):
            on.merging(likely, tables, step)
            on.reweigh(logits, likely, tables, step, self.strategy)
        self._tables.clear()  # an engine that loads its model may take back what was made at the same time

    def look_up(self, texts: Sequence[TextState], tokens: Sequence[int]) -> None:
        """Copy from the device what is to be known of the tokens that now follow, for all texts at once.

        Without it, :meth:`extend` copies for each text alone.

        Args:
            texts: as they were marked by :meth:`reweigh`; others do no harm.
            tokens: the next token of each.
        """
        asked: dict[Later, list[tuple[int, int]]] = {}
        for text, token in zip(texts, tokens, strict=True):
            offers = text.offers
            if isinstance(offers, DeviceOffers):
                asked.setdefault(offers.likely, []).append((offers.number, token))
                step = self.bridge.step(text.written.tail, token) if offers.halves else None
                if step is not None and offers.inside is not None and offers.halves is not None:
                    halves = [(offers.halves.get(path, -1), shown) for path, shown in step.shown()]
                    asked.setdefault(offers.inside, []).extend(each for each in halves if each[0] >= 0)
        for matrix, numbers in asked.items():
            matrix.fetch(numbers)

    def plan(self, texts: Sequence[TextState]) -> Places:
        """The places of a step: what can be known before its logits.

        Args:
            texts: one for each row of the logits.
        """
        most = _share(texts)
        planned = [self._plan_row(row, text, most) for row, text in enumerate(texts) if self._is_begun(text)]
        return Places.of(planned, self._seeds)

    def _plan_row(self, row: int, text: TextState, most: int) -> PlacesOfRow:
        behind = self.bridge.continuations(text.written.tail)
        paths = behind.paths
        found = [self._to_mark(text, path) if n < most else (None, ()) for n, path in enumerate(paths)]
        left = {n: seen for n, (place, seen) in enumerate(found) if seen and place is not None}
        places = [place for place, _ in found]
        return PlacesOfRow(row, text.payload, text.written.count, behind, paths, places, left, text.fresh)

    def ahead(self, text: TextState, tokens: Sequence[int]) -> list[TextState]:
        """A text, and what becomes of it with each of some draft tokens."""
        texts = [text]
        for token in tokens:
            texts.append(self.extend(texts[-1].fork(), token))
        return texts

    def reweigh(
        self, texts: Sequence[TextState], logits: torch.Tensor, places: Places | None = None, *, wait: bool = True
    ) -> None:
        """Mark the next token of each row, in place, where the logits are.

        Under ``delta`` the host waits for the masses of the places, which say where the proxy is asked.

        Args:
            texts: one for each row; what is offered to each is noted in it.
            logits: float (rows, size), contiguous; under a strategy that keeps the distribution, after temperature,
                top-p and the like.
            places: of :meth:`plan`, where they are known already.
            wait: whether candidates that merge with the tail are tokenized before the row is marked, which waits for
                the device. Otherwise those that are not known yet keep their probability, and are known to the next
                text that comes to this tail.

        Raises:
            CTWLError: ``delta``, see :meth:`load`.
        """
        self._learn()
        self._release()
        places = self.plan(texts) if places is None else places
        if not len(places.rows):
            return
        step, tables = DeviceStep.of(places, logits.device), self._tables_for(logits)
        every = len(places.rows) == len(logits)
        likely = torch.softmax(logits if every else logits[step.rows.long()], dim=-1, dtype=torch.float32)
        if tables.most:
            found = operations(logits.device).merging(likely, tables, step)
            self._reported = Reported(found, [texts[row] for row in places.rows.tolist()])
            if wait and (news := self._learn()):
                most = _share(texts)
                planned = [
                    self._plan_row(old.row, texts[old.row], most) if old.behind in news else old
                    for old in places.planned
                ]
                places = Places.of(planned, self._seeds)
                step = DeviceStep.of(places, logits.device)
        if self.strategy.keeps_distribution:
            if len(places):
                operations(logits.device).reweigh(logits, likely, tables, step, self.strategy)
            self._note(texts, places, Later(likely))
        else:
            entries = plain.entries_of(likely, tables, step)
            self._note(texts, places, Later(likely), *self._raise(texts, logits, entries, places, step))

    def _release(self) -> None:
        """Forget the oldest step: its matrices on the device are as large as those of the next one."""
        while len(self._steps) >= self._kept:
            for text in self._steps.popleft():
                text.offers = None

    def _note(
        self,
        texts: Sequence[TextState],
        places: Places,
        likely: Later,
        inside: Later | None = None,
        halves: Mapping[int, Mapping[Path, int]] | None = None,
    ) -> None:
        """Note in the texts what was offered to each; under ``delta``, with what :meth:`_raise` returns."""
        self._steps.append(list(texts))
        for n, planned in enumerate(places.planned):  # rows with the same tokens share their text
            own = None if halves is None else halves.get(n, {})
            texts[planned.row].offers = DeviceOffers(planned, likely, n, inside, own)

    def _raise(
        self,
        texts: Sequence[TextState],
        logits: torch.Tensor,
        entries: plain.Entries,
        places: Places,
        step: DeviceStep,
    ) -> tuple[Later | None, dict[int, dict[Path, int]]]:
        """Mark under a strategy that adds ``delta`` (spec section 8.2).

        Returns:
            Membership in the halves, None where nothing was marked. By row, the paths of the places that were marked;
            for each the row of its half in the former.
        """
        masses = to_host(plain.masses(entries, len(places))).tolist()
        rows, length = places.rows.tolist(), self.profile.prefix_length
        keys: list[HalfKey] = [
            (seed, texts[rows[row]].written.before(path, length))
            for seed, (row, path, _) in zip(places.seeds.view(np.uint32).tolist(), places.places, strict=True)
        ]
        own: list[list[int]] = [[] for _ in rows]
        for number, (row, _, _) in enumerate(places.places):
            if masses[number] > 0:
                own[row].append(number)
        chosen = self._chosen([[(masses[i], keys[i]) for i in numbers] for numbers in own])
        marked = [numbers[k] for numbers, indexes in zip(own, chosen, strict=True) for k in indexes]
        halves = {key: half for half, key in enumerate(dict.fromkeys(keys[i] for i in marked))}
        found: Later | None = None
        if halves:
            inside = self._members_of(list(halves), logits.device)
            half_of = torch.full((len(places),), -1)
            half_of[marked] = torch.tensor([halves[keys[i]] for i in marked])
            delta = torch.tensor([texts[row].delta for row in rows])
            half_of, delta = (to_device(each, logits.device) for each in (half_of, delta))
            plain.add_delta(logits, entries, step, inside, half_of, delta)
            found = Later(inside)
        self._forget(len(rows))
        self._members = {key: inside for key, inside in self._members.items() if key in self._halves}
        of_rows: dict[int, dict[Path, int]] = {}
        for i in marked:
            row, path, _ = places.places[i]
            of_rows.setdefault(row, {})[path] = halves[keys[i]]
        return found, of_rows

    def _members_of(self, keys: Sequence[HalfKey], device: torch.device) -> torch.Tensor:
        """Membership in some halves, at least one: bool (halves, |V|). The proxy is asked where it is not known yet."""
        new = [key for key in keys if key not in self._members]
        if new:
            proxy, (prefixes, seeds) = self._proxy, prefixes_and_seeds(new)
            for start in range(0, len(new), proxy.batch_size):
                part = slice(start, start + proxy.batch_size)
                weights = proxy.weights_on_device(prefixes[part])
                seed = torch.from_numpy(seeds[part].astype(np.int64)).to(weights.device)
                inside = plain.members(weights, seed, self.profile.sigma).to(device)
                self._members.update(zip(new[part], inside, strict=True))
        return torch.stack([self._members[key] for key in keys])

    def _tables_for(self, logits: torch.Tensor) -> Tables:
        """The bridge's tables on the device of the logits."""
        key = logits.device, logits.shape[1]
        if key not in self._tables:
            self._tables[key] = Tables.of(self.bridge, logits.shape[1], logits.device)
        return self._tables[key]

    def _learn(self) -> set[Continuations]:
        """Tokenize the candidates that the device reported with their tails; those behind which some were not known."""
        reported, self._reported = self._reported, None
        tails = [] if reported is None else [(text.written.tail, found) for text, found in reported.candidates()]
        learnt, left = set(), STEP_TEXT
        for tail, found in sorted(tails, key=lambda each: len(each[0].text)):
            used = self.bridge.join(tail, found, min(JOINED_TEXT, left))
            left -= used
            if used:
                learnt.add(self.bridge.continuations(tail))
        return learnt


def _share(texts: Sequence[TextState]) -> int:
    """The places that each row may have."""
    return max(1, MOST_PLACES // max(1, len(texts)))

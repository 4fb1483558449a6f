"""The marker on a torch device: all strategies mark where the logits are (spec sections 8.2 to 8.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from ..continuations import Continuations, Path
from ..marker import Marker, prefixes_and_seeds
from ..offers import HalfKey
from ..places import Places, PlacesOfRow
from ..text_state import TextState
from . import operations, plain
from .step import DeviceOffers, DeviceStep, Later, Reported, Tables, to_host

__all__ = ["DeviceMarker"]


class DeviceMarker(Marker):
    """A :class:`ctwl_encoder.core.marker.Marker` for engines whose logits are torch's."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """The arguments are those of :class:`ctwl_encoder.core.marker.Marker`."""
        super().__init__(*arguments, **options)
        self._tables: dict[tuple[torch.device, int], Tables] = {}
        self._reported: Reported | None = None
        self._likely: Later | None = None
        self._inside: Later | None = None
        """Membership at the places of the last step; ``_likely`` has its probabilities."""
        self._members: dict[HalfKey, torch.Tensor] = {}
        """What the proxy said of the places that ``delta`` marked lately: bool (|V|,) each, on the device."""
        self._rows: dict[int, int] = {}
        """The row of each text in ``_likely``; ``_offered`` keeps these texts alive."""

    def look_up(self, texts: Sequence[TextState], tokens: Sequence[int]) -> None:
        """Copy from the device what is to be known of the tokens that now follow, for all texts of the last step.

        Without it, :meth:`extend` copies for each text alone.

        Args:
            texts: as they were marked by :meth:`reweigh`; others do no harm.
            tokens: the next token of each.
        """
        asked = [(text, token) for text, token in zip(texts, tokens, strict=True) if id(text) in self._rows]
        if self._likely is not None:
            self._likely.fetch([(self._rows[id(text)], token) for text, token in asked])
        if self._inside is not None:
            steps = [(text, self.bridge.step(text.reading.tail, token)) for text, token in asked]
            self._inside.fetch(
                [
                    (text.offers.halves[path], shown)
                    for text, step in steps
                    if step is not None and isinstance(text.offers, DeviceOffers) and text.offers.halves
                    for path, shown in step.shown()
                    if path in text.offers.halves
                ]
            )

    def plan(self, texts: Sequence[TextState]) -> Places:
        """The places of a step: what can be known before its logits.

        Args:
            texts: one for each row of the logits.
        """
        planned = [self._plan_row(row, text) for row, text in enumerate(texts) if self._is_begun(text)]
        return Places.of(planned, self._seeds)

    def _plan_row(self, row: int, text: TextState) -> PlacesOfRow:
        behind, seen = self.bridge.continuations(text.reading.tail), text.seen()
        paths = behind.paths
        places = [self._place(text, path) for path in paths]
        left = {n: seen[place] for n, place in enumerate(places) if place in seen and place is not None}
        return PlacesOfRow(row, text.payload, text.reading.count, behind, paths, places, left, text.fresh)

    def ahead(self, text: TextState, tokens: Sequence[int]) -> list[TextState]:
        """A text, and what becomes of it with each of some draft tokens, as far as this is known before the logits.

        A draft counts as marked at its places, so that the rows behind it do not prefer the same token again.
        """
        texts = [text]
        for token in tokens:
            fork = texts[-1].fork()
            if self._is_begun(fork):
                fork.offers = DeviceOffers(self._plan_row(0, fork), self.strategy)
            texts.append(self.extend(fork, token))
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
                the device. Otherwise those that are not known yet keep their probability at this step, and are known at
                the next one.

        Raises:
            CTWLError: ``delta``, see :meth:`open_proxy`.
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
                places = Places.of(
                    [self._plan_row(old.row, texts[old.row]) if old.behind in news else old for old in places.planned],
                    self._seeds,
                )
                step = DeviceStep.of(places, logits.device)
        halves: Mapping[int, Mapping[Path, int]] | None = None
        if not self.strategy.keeps_distribution:
            halves = self._raise(texts, logits, plain.entries_of(likely, tables, step), places, step)
        elif len(places):
            operations(logits.device).reweigh(logits, likely, tables, step, self.strategy)
        self._note(texts, places, Later(likely), halves)

    def _release(self) -> None:
        """Forget the step before: its matrices on the device are as large as those of the next one."""
        for text in self._offered:
            text.offers = None
        self._offered, self._rows, self._likely, self._inside = [], {}, None, None

    def _note(
        self,
        texts: Sequence[TextState],
        places: Places,
        likely: Later,
        halves: Mapping[int, Mapping[Path, int]] | None = None,
    ) -> None:
        """Note in the texts what was offered to each; under ``delta``, with the halves that :meth:`_raise` returns."""
        self._offered = list(texts)
        self._likely = likely
        self._rows = {id(texts[row]): n for n, row in enumerate(places.rows.tolist())}
        for n, planned in enumerate(places.planned):  # rows with the same tokens share their text
            own = None if halves is None else halves.get(n, {})
            texts[planned.row].offers = DeviceOffers(planned, self.strategy, likely, n, self._inside, own)

    def _raise(
        self,
        texts: Sequence[TextState],
        logits: torch.Tensor,
        entries: plain.Entries,
        places: Places,
        step: DeviceStep,
    ) -> dict[int, dict[Path, int]]:
        """Mark under a strategy that adds ``delta`` (spec section 8.2).

        Returns:
            By row, the paths of the places that were marked; for each the row of its half in ``_inside``.
        """
        masses = to_host(plain.masses(entries, len(places))).tolist()
        rows, length = places.rows.tolist(), self.profile.prefix_length
        keys: list[HalfKey] = [
            (seed, texts[rows[row]].reading.before(path, length))
            for seed, (row, path, _) in zip(places.seeds.view(np.uint32).tolist(), places.places, strict=True)
        ]
        own: list[list[int]] = [[] for _ in rows]
        for number, (row, _, _) in enumerate(places.places):
            if masses[number] > 0:
                own[row].append(number)
        chosen = self._chosen([[(masses[i], keys[i]) for i in numbers] for numbers in own])
        marked = [numbers[k] for numbers, indexes in zip(own, chosen, strict=True) for k in indexes]
        halves = {key: half for half, key in enumerate(dict.fromkeys(keys[i] for i in marked))}
        if halves:
            inside = self._members_of(list(halves), logits.device)
            half_of = torch.full((len(places),), -1)
            half_of[marked] = torch.tensor([halves[keys[i]] for i in marked])
            delta = torch.tensor([texts[row].delta for row in rows])
            plain.add_delta(logits, entries, step, inside, half_of.to(logits.device), delta.to(logits.device))
            self._inside = Later(inside)
        self._forget(len(rows))
        self._members = {key: inside for key, inside in self._members.items() if key in self._halves}
        of_rows: dict[int, dict[Path, int]] = {}
        for i in marked:
            row, path, _ = places.places[i]
            of_rows.setdefault(row, {})[path] = halves[keys[i]]
        return of_rows

    def _members_of(self, keys: Sequence[HalfKey], device: torch.device) -> torch.Tensor:
        """Membership in some halves, at least one: bool (halves, |V|). The proxy is asked where it is not known yet."""
        new = [key for key in keys if key not in self._members]
        if new:
            proxy, (prefixes, seeds) = self.open_proxy(), prefixes_and_seeds(new)
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
        tails = [] if reported is None else [(text.reading.tail, found) for text, found in reported.candidates()]
        return {self.bridge.continuations(tail) for tail, found in tails if self.bridge.join(tail, found)}

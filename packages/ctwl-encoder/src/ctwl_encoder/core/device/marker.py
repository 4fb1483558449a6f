"""The marker on a torch device: ``unbiased`` and ``gumbel`` mark where the logits are (spec sections 8.3 to 8.5)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch

from ..continuations import Continuations
from ..marker import Marker
from ..places import Places, PlacesOfRow
from ..text_state import Offer, TextState
from . import operations
from .step import DeviceStep, Reported, Tables, Written

__all__ = ["DeviceMarker"]


class DeviceMarker(Marker):
    """A :class:`ctwl_encoder.core.marker.Marker` for engines whose logits are torch's."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """The arguments are those of :class:`ctwl_encoder.core.marker.Marker`."""
        super().__init__(*arguments, **options)
        self._tables: dict[tuple[torch.device, int], Tables] = {}
        self._reported: Reported | None = None
        self._written: Written | None = None
        self._rows: dict[int, int] = {}
        """The row of each text in ``_written``; ``_offered`` keeps these texts alive."""

    def look_up(self, texts: Sequence[TextState], tokens: Sequence[int]) -> None:
        """Copy from the device how likely the tokens were that now follow, for all texts of the last step at once.

        Without it, :meth:`extend` copies for each text alone.

        Args:
            texts: as they were marked by :meth:`reweigh`; others do no harm.
            tokens: the next token of each.
        """
        asked = [
            (self._rows[id(text)], token) for text, token in zip(texts, tokens, strict=True) if id(text) in self._rows
        ]
        if self._written is not None and asked:
            self._written.fetch([row for row, _ in asked], [token for _, token in asked])

    def plan(self, texts: Sequence[TextState]) -> Places:
        """The places of a step: what can be known before its logits.

        Args:
            texts: one for each row of the logits.
        """
        planned = [self._plan_row(row, text) for row, text in enumerate(texts) if self._is_begun(text)]
        return Places.of(planned, self._seeds)

    def _plan_row(self, row: int, text: TextState) -> PlacesOfRow:
        behind, seen = self.bridge.continuations(text.reading.tail), text.seen()
        places = [self._place(text, path) for path in behind.paths]
        left: list[Sequence[int]] = [seen.get((place.slot, place.context), ()) if place else () for place in places]
        return PlacesOfRow(row, text.payload, behind, places, left)

    def reweigh(
        self, texts: Sequence[TextState], logits: torch.Tensor, places: Places | None = None, *, wait: bool = True
    ) -> None:
        """Mark the next token of each row under a strategy that keeps the distribution, in place, where the logits are.

        Args:
            texts: one for each row; what is offered to each is noted in it.
            logits: float (rows, size), contiguous, after temperature, top-p and the like.
            places: of :meth:`plan`, where they are known already.
            wait: whether candidates that merge with the tail are tokenized before the row is marked, which waits for
                the device. Otherwise those that are not known yet keep their probability at this step, and are known at
                the next one.
        """
        self._learn()
        tables = self._tables_for(logits)
        places = self.plan(texts) if places is None else places
        if not len(places.rows):
            return
        device, on = logits.device, operations(logits.device)
        step = DeviceStep.of(places, device)
        every = len(places.rows) == len(logits)
        likely = torch.softmax(logits if every else logits[step.rows.long()], dim=-1, dtype=torch.float32)
        if tables.most:
            self._reported = Reported(on.merging(likely, tables, step), [texts[row] for row in places.rows.tolist()])
            if wait and (news := self._learn()):
                planned = [
                    self._plan_row(old.row, texts[old.row]) if old.behind in news else old for old in places.planned
                ]
                places = Places.of(planned, self._seeds)
                step = DeviceStep.of(places, device)
        if len(places):
            on.reweigh(logits, likely, tables, step, self.strategy)
        for text in self._offered:
            text.offers = []
        self._offered = list(texts)
        written = self._written = Written(likely)
        self._rows = {id(texts[row]): n for n, row in enumerate(places.rows.tolist())}
        offers: list[list[Offer]] = [[] for _ in places.rows]
        for row, place in places.places:
            offers[row].append(Offer(place, self.strategy, chance=partial(written.chance, row)))
        for row, offered in zip(places.rows.tolist(), offers, strict=True):
            texts[row].offers = offered  # rows with the same tokens share their text

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

"""The marker on a torch device: all strategies mark where the logits are (spec sections 8.2 to 8.5)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import cache

import torch

from ctwl_protocol.bridge import Bridge

from ..marker import Marker
from ..places import Places, PlacesOfRow
from ..strategies import Strategy
from ..text_state import TextState
from .forms import form_of
from .merging import Merging
from .step import DeviceOffers, DeviceStep, Later, Marked, Tables

MOST_PLACES = 4096
"""Places of a step that are marked, an equal share for each row; beyond it a row's places inside of candidates are left
alone. Chosen by hand: rows of words have one place or two, and each place may take 8 bytes times the proxy's vocabulary
on the device."""


class DeviceMarker(Marker):
    """A :class:`ctwl_encoder.core.marker.Marker` for engines whose logits are torch's."""

    def __init__(self, bridge: Bridge, strategy: Strategy, *, kept: int = 1) -> None:
        """Say how to mark.

        Args:
            bridge: from the model's vocabulary to the proxy's.
            strategy: how the distribution is changed.
            kept: how many calls of :meth:`mark` one step of a text takes at most, where an engine marks its texts in
                several parts or in turn. For each call, probabilities of the size of its logits stay on the device.
        """
        super().__init__(bridge, strategy)
        self._kept = kept
        self._steps: deque[list[TextState]] = deque()
        """The texts of the last calls, which keep what the device knows of their next tokens."""
        self._tables: dict[tuple[torch.device, int], Tables] = {}
        self._merging = Merging(bridge)
        self._form_on = cache(lambda device: form_of(strategy, device, bridge.proxy))  # asked at each step

    def warm_up(self, size: int, device: torch.device) -> None:
        """Compile what marks under a strategy that keeps the distribution, so that no text waits for it.

        Args:
            size: tokens in a row of the logits.
            device: where the logits will be.
        """
        self._seeds.of_all([])
        logits = torch.zeros((1, size), device=device)
        likely, tables = torch.softmax(logits, dim=-1), self._tables_for(logits)
        for step in DeviceStep.of_every_kind(device):
            self._merging.report(likely, tables, step)
            self._form_on(device)(logits, likely, tables, step)
        self._tables.clear()  # an engine that loads its model may take back what was made at the same time

    def look_up(self, texts: Sequence[TextState], tokens: Sequence[int]) -> None:
        """Copy from the device what is to be known of the tokens that now follow, for all texts at once.

        Without it, :meth:`extend` copies for each text alone.

        Args:
            texts: as they were marked by :meth:`mark`; others do no harm.
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

    def places(self, texts: Sequence[TextState]) -> Places:
        """The places of a step: what can be known before its logits.

        Args:
            texts: one for each row of the logits.
        """
        most = _share(texts)
        by_row = [self._places_of_row(row, text, most) for row, text in enumerate(texts) if self.is_begun(text)]
        return Places.of(by_row, self._seeds)

    def _places_of_row(self, row: int, text: TextState, most: int) -> PlacesOfRow:
        known = self.bridge.continuations(text.written.tail)
        paths = known.paths
        found = [self.to_mark(text, path) if n < most else (None, ()) for n, path in enumerate(paths)]
        left = {n: seen for n, (place, seen) in enumerate(found) if seen and place is not None}
        return PlacesOfRow(row, text, known, paths, [place for place, _ in found], left)

    def mark(self, texts: Sequence[TextState], logits: torch.Tensor, *, wait: bool = True) -> None:
        """See :meth:`ctwl_encoder.core.marker.Marker.mark`. Under ``delta`` the host waits for the device.

        Args:
            texts: one for each row.
            logits: float (rows, size), contiguous.
            wait: whether candidates that merge with the tail are tokenized before the row is marked, which waits for
                the device. Otherwise a candidate that is not known yet keeps its probability, and is known to the
                next text that comes to this tail.

        Raises:
            CTWLError: ``delta``, see :meth:`load`.
        """
        self._merging.learn()
        self._release()
        places = self.places(texts)
        if not len(places.rows):
            return
        step, tables = DeviceStep.of(places, logits.device), self._tables_for(logits)
        every = len(places.rows) == len(logits)
        likely = torch.softmax(logits if every else logits[step.rows.long()], dim=-1, dtype=torch.float32)
        if tables.most:
            self._merging.report(likely, tables, step)
            if wait and (news := self._merging.learn()):
                most = _share(texts)
                by_row = [
                    self._places_of_row(old.row, old.text, most) if old.continuations in news else old
                    for old in places.by_row
                ]
                step = DeviceStep.of(Places.of(by_row, self._seeds), logits.device)
        marked = None
        if len(step.places) or not self.strategy.keeps_distribution:
            marked = self._form_on(logits.device)(logits, likely, tables, step)
        self._note(step.places, Later(likely), marked)

    def _release(self) -> None:
        """Forget the oldest step: its matrices on the device are as large as the next one's."""
        while len(self._steps) >= self._kept:
            for text in self._steps.popleft():
                text.offers = None

    def _note(self, places: Places, likely: Later, marked: Marked | None) -> None:
        """Note in the texts what was offered to each: all places of a step, or the marked ones."""
        self._steps.append([row.text for row in places.by_row])
        for n, row in enumerate(places.by_row):  # rows with the same tokens share their text
            halves = () if marked is None else (marked.inside, marked.halves.get(n, {}))
            row.text.offers = DeviceOffers(row, likely, n, *halves)

    def _tables_for(self, logits: torch.Tensor) -> Tables:
        """The bridge's tables on the device of the logits."""
        key = logits.device, logits.shape[1]
        if key not in self._tables:
            self._tables[key] = Tables.of(self.bridge, logits.shape[1], logits.device)
        return self._tables[key]


def _share(texts: Sequence[TextState]) -> int:
    """The places that each row may have."""
    return max(1, MOST_PLACES // max(1, len(texts)))

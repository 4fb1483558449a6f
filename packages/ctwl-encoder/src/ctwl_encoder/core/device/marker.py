"""The marker on a torch device: all strategies mark where the logits are (spec sections 8.2 to 8.5)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ctwl_protocol.bridge import Bridge

from ..halves import load
from ..marker import Marker
from ..places import Places
from ..strategies import Strategy
from .forms import Halved, form_of
from .merging import Merging
from .step import DeviceStep, Tables, to_device, to_host


class Call(NamedTuple):
    """What a call of :meth:`DeviceMarker.mark` leaves on the device until its texts go on.

    Attributes:
        number: of the call.
        places: what was marked.
        likely: float32 (n, size), the probabilities of its rows.
        halved: what the proxy said, where it was asked.
    """

    number: int
    places: Places
    likely: torch.Tensor
    halved: Halved | None


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
        self._calls: deque[Call] = deque()
        self._merging = Merging(self._tails)
        # Both are asked at each step.
        self._form_on = cache(lambda device: form_of(strategy, device, bridge.proxy, self._before))
        self._tables_on = cache(lambda device, size: Tables.of(bridge, size, device))

    def load(self) -> None:
        """Open the proxy LM, if the strategy asks it and it is not open.

        Raises:
            CTWLError: see :func:`ctwl_protocol.proxy.open_proxy`.
        """
        if not self.strategy.keeps_distribution:
            load(self.bridge.proxy)

    def warm_up(self, size: int, device: torch.device) -> None:
        """Compile what marks under a strategy that keeps the distribution, so that no text waits for it.

        Args:
            size: tokens in a row of the logits.
            device: where the logits will be.
        """
        self.warm_up_host()
        logits, none = torch.zeros((1, size), device=device), np.zeros(1, dtype=np.int32)
        likely, tables = torch.softmax(logits, dim=-1), self._tables_on(device, size)
        for step in DeviceStep.of_every_kind(device):
            self._merging.report(likely, tables, step, none)
            self._form_on(device)(logits, likely, tables, step)
        self._tables_on.cache_clear()  # an engine that loads its model may take back what was made at the same time

    def warm_up_host(self) -> None:
        """Compile the loops, and learn what each token of the model and each context of one token makes of a text."""
        self._tails.warm_up()
        self._seeds.warm_up()
        self.places([])
        self.extend([], [])

    def mark(self, texts: Sequence[int], logits: torch.Tensor, *, wait: bool = True) -> None:
        """See :meth:`ctwl_encoder.core.marker.Marker.mark`. Under ``delta`` the host waits for the device.

        Args:
            texts: the number of each row's text.
            logits: float (rows, size), contiguous.
            wait: whether candidates that merge with the tail are tokenized before the row is marked, which waits for
                the device. Otherwise a candidate that is not known yet keeps its probability, and is known to the
                next text that comes to this tail.

        Raises:
            CTWLError: ``delta``, see :func:`ctwl_protocol.proxy.open_proxy`.
        """
        self._merging.learn()
        while len(self._calls) >= self._kept:  # the matrices are as large as the next one's
            self._forget(self._calls.popleft())
        places = self.places(texts)
        if not len(places.rows):
            return
        step, tables = DeviceStep.of(places, logits.device), self._tables_on(logits.device, logits.shape[1])
        every = len(places.rows) == len(logits)
        likely = torch.softmax(logits if every else logits[step.rows.long()], dim=-1, dtype=torch.float32)
        if tables.most:
            self._merging.report(likely, tables, step, self.texts.columns.tail[places.texts])
            if wait and self._merging.learn():
                places = self.places(texts)
                step = DeviceStep.of(places, logits.device)
        halved = self._form_on(logits.device)(logits, likely, tables, step) if len(places) else None
        self._calls.append(Call(self._calls_so_far, places, likely, halved))
        if halved is not None:
            self._offer_halves(places, halved)

    def extend(self, texts: Sequence[int], tokens: Sequence[int]) -> None:
        """See :meth:`ctwl_encoder.core.marker.Marker.extend`. What it asks of the device it copies at once."""
        super().extend(texts, tokens)
        for call in self._calls:
            if call.halved is not None:
                self._note_hits([text for text in texts if self.texts.columns.call[text] == call.number], call.halved)

    def _chances(self, texts: NDArray[np.int64], tokens: NDArray[np.int64]) -> NDArray[np.float32]:
        chances, columns = np.zeros(len(texts), dtype=np.float32), self.texts.columns
        for call in self._calls:
            size = call.likely.shape[1]
            of_call = np.flatnonzero(
                (columns.call[texts] == call.number) & (columns.offers[texts] > 0) & (tokens < size)
            )
            if len(of_call):
                asked = torch.from_numpy(np.stack([columns.row[texts[of_call]].astype(np.int64), tokens[of_call]]))
                rows, candidates = to_device(asked, call.likely.device).unbind()
                chances[of_call] = to_host(call.likely[rows, candidates])
        return chances

    def _forget(self, call: Call) -> None:
        """What was offered in a call can no longer be noted."""
        columns, texts = self.texts.columns, call.places.texts
        columns.offers[texts[columns.call[texts] == call.number]] = 0

    def _offer_halves(self, places: Places, halved: Halved) -> None:
        """Only the places that were marked are offered, where the proxy was asked at some."""
        columns = self.texts.columns
        for text in places.texts.tolist():
            offered = columns.offered[text, : columns.offers[text]]
            marked = offered[halved.half_of[offered[:, 2]] >= 0]
            columns.offered[text, : len(marked)], columns.offers[text] = marked, len(marked)

    def _note_hits(self, texts: Sequence[int], halved: Halved) -> None:
        """Note which of the tokens that were just written are members of the halves."""
        for text in texts:
            written = self.texts.of(text)
            new = np.flatnonzero(np.isnan(written.hit) & (written.place >= 0))
            if len(new):
                halves = torch.from_numpy(halved.half_of[written.place[new]])
                tokens = torch.from_numpy(written.token[new].astype(np.int64))
                written.hit[new] = to_host(halved.inside[halves, tokens])

    def _before(self, places: Places) -> list[tuple[int, ...]]:
        """The proxy tokens before each place: a whole prefix."""
        pool, length = self._tails.tables.pool, self.profile.prefix_length
        texts = places.texts[places.owner].tolist()
        paths = (pool[start:stop].tolist() for start, stop in places.paths.tolist())
        return [self.texts.before(text, path, length) for text, path in zip(texts, paths, strict=True)]


class OnHost(DeviceMarker):
    """A :class:`DeviceMarker` for engines whose logits are NumPy's."""

    def mark(self, texts: Sequence[int], logits: NDArray[np.float32], **how: Any) -> None:  # type: ignore[override]
        """See :meth:`ctwl_encoder.core.marker.Marker.mark`; ``logits``: float32 (rows, size)."""
        super().mark(texts, torch.from_numpy(logits), **how)

"""What one step has on the device: the bridge's tables, copied once, and the step's places, copied at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ctwl_protocol.bridge import Bridge, Path
from ctwl_protocol.bridge.bridge import OPENINGS

from ..expected_evidence import HIT_RATE, WrittenPosition
from ..places import Places, PlacesOfRow


class Tables(NamedTuple):
    """The bridge's tables on a device, for a model of ``size`` tokens.

    Attributes:
        first: int32 (size,), the first proxy token of each token alone.
        opening: int32 (size,), how each begins; a row that is no token begins with nothing.
        proxy_size: number of the proxy's tokens.
        floor: smallest probability of a candidate that is tokenized with the tail.
        most: candidates of a row that may be so likely.
    """

    first: torch.Tensor
    opening: torch.Tensor
    proxy_size: int
    floor: float
    most: int

    @classmethod
    def of(cls, bridge: Bridge, size: int, device: torch.device) -> Tables:
        """Copy the tables of a bridge."""
        first, opening = np.zeros(size, dtype=np.int32), np.full(size, OPENINGS - 1, dtype=np.int32)
        known = min(size, len(bridge.first))
        first[:known], opening[:known] = bridge.first[:known], bridge.opening[:known]
        return cls(
            torch.from_numpy(first).to(device),
            torch.from_numpy(opening).to(device),
            bridge.proxy.profile.tokenizer.vocabulary,
            bridge.floor,
            bridge.joined,
        )


class DeviceStep(NamedTuple):
    """The places of a step: on the host, and the arrays of :class:`ctwl_encoder.core.places.Places` on a device."""

    places: Places
    rows: torch.Tensor
    place_of: torch.Tensor
    seeds: torch.Tensor
    levels: torch.Tensor
    joined: torch.Tensor
    seen: torch.Tensor

    @classmethod
    def of(cls, places: Places, device: torch.device) -> DeviceStep:
        """Copy the arrays, all int32, in one piece."""
        parts = [getattr(places, name) for name in cls._fields[1:]]
        packed = to_device(torch.from_numpy(np.concatenate([part.reshape(-1) for part in parts])), device)
        pieces = torch.split(packed, [part.size for part in parts])
        return cls(places, *(piece.view(part.shape) for piece, part in zip(pieces, parts, strict=True)))

    @classmethod
    def of_every_kind(cls, device: torch.device) -> Iterator[DeviceStep]:
        """Steps of one row at one place: all for which a device may compile code of its own."""
        for joined, seen in product((0, 1), repeat=2):
            shapes = (1, (1, OPENINGS), 1, 1, (joined, 4), (seen, 2))
            rows, place_of, seeds, levels, merging, left = (np.zeros(shape, dtype=np.int32) for shape in shapes)
            yield cls.of(Places(rows, place_of, seeds, levels, merging, left, (0.5,), [], []), device)


def to_device(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Copy to the device, without waiting for it: a copy from memory that is not pinned waits for the whole step."""
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


def to_host(tensor: torch.Tensor) -> NDArray[Any]:
    """Copy to the host, and wait for it. Everything that leaves the device in a step passes through here."""
    copied: NDArray[Any] = tensor.cpu().numpy()
    return copied


class Later:
    """A matrix that stays on the device, and of which single numbers are copied when they are asked for."""

    def __init__(self, matrix: torch.Tensor) -> None:
        """Keep a step's matrix, (rows, columns), until the next step."""
        self._matrix = matrix
        self._known: dict[tuple[int, int], float] = {}

    def fetch(self, places: Sequence[tuple[int, int]]) -> None:
        """Copy the numbers of some rows and columns at once."""
        if places:
            rows, columns = to_device(torch.from_numpy(np.array(places, dtype=np.int64)), self._matrix.device).unbind(1)
            self._known.update(zip(places, to_host(self._matrix[rows, columns]).tolist(), strict=True))

    def at(self, row: int, column: int) -> float:
        """One of the numbers."""
        if (row, column) not in self._known:
            self.fetch([(row, column)])
        return self._known[row, column]


class Marked(NamedTuple):
    """What was marked in a step, where that is not each place.

    Attributes:
        inside: membership in the halves; None where nothing was marked.
        halves: by row of the step, the paths of the places that were marked; for each the row of ``inside``.
    """

    inside: Later | None
    halves: Mapping[int, Mapping[Path, int]]


@dataclass(slots=True)  # frozen, it takes twice as long to make: each row of a step has one
class DeviceOffers:
    """See :class:`ctwl_encoder.core.text_state.Offers`: the offers of a row whose candidates stay on the device.

    Attributes:
        row: the row's places.
        likely: the probabilities of the step.
        number: row of ``likely``.
        inside: membership in the halves of the step; None where the proxy was not asked.
        halves: by the paths of the places that are marked, rows of ``inside``; None where all places are marked, and
            the proxy was not asked.
    """

    row: PlacesOfRow
    likely: Later
    number: int
    inside: Later | None = None
    halves: Mapping[Path, int] | None = None

    def __len__(self) -> int:
        return sum(map(bool, self.row.places)) if self.halves is None else len(self.halves)

    def mark(
        self, path: Path, index: int, token: int, written: int, previous: WrittenPosition | None
    ) -> WrittenPosition | None:
        """See :meth:`ctwl_encoder.core.text_state.Offers.mark`."""
        try:
            place = self.row.places[self.row.paths.index(path)]
        except ValueError:
            return None
        if place is None or (self.halves is not None and path not in self.halves):
            return None
        chance = self.likely.at(self.number, written)
        hit = HIT_RATE if self.halves is None or self.inside is None else self.inside.at(self.halves[path], token)
        return WrittenPosition(index, place, token, chance, hit, previous)

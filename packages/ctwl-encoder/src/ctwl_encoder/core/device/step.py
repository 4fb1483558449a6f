"""What one step has on the device: the bridge's tables, copied once, and the step's places, copied at once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ctwl_protocol.bridge import Bridge
from ctwl_protocol.bridge.bridge import OPENINGS

from ..places import Places


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
            arrays = (np.zeros(shape, dtype=np.int32) for shape in shapes)
            none = np.zeros((0, 2), dtype=np.int32)
            named = dict(zip(cls._fields[1:], arrays, strict=True))
            places = Places(**named, strengths=(0.5,), texts=np.zeros(1, dtype=np.int64), owner=none[:, 0], paths=none)
            yield cls.of(places, device)


def to_device(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Copy to the device, without waiting for it: a copy from memory that is not pinned waits for the whole step."""
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


def to_host(tensor: torch.Tensor) -> NDArray[Any]:
    """Copy to the host, and wait for it. Everything that leaves the device in a step passes through here."""
    return tensor.cpu().numpy()

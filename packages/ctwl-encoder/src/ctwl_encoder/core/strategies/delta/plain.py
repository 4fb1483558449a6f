"""``delta`` in plain torch (spec section 8.2): it runs on any device, and a GPU needs no kernel of its own for it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from ctwl_protocol.bridge import Path
from ctwl_protocol.proxy import Proxy

from ...device.candidates import add, entries_of, masses, members
from ...device.step import DeviceStep, Later, Marked, Tables, to_device, to_host
from ...halves import HalfKey, Halves


class Mark:
    """Marks rows where the logits are, and remembers what the proxy LM said of the places of the last steps."""

    def __init__(self, proxy: Proxy) -> None:
        """Remember nothing yet.

        Args:
            proxy: of the profile that reads the texts.
        """
        self._proxy = proxy
        self._device = torch.device("cpu")
        self._halves = Halves(proxy, self._asked)
        """Membership, bool (|V|,), on the device."""

    def __call__(self, logits: torch.Tensor, likely: torch.Tensor, tables: Tables, step: DeviceStep) -> Marked:
        """Mark rows of logits in place; see :data:`ctwl_encoder.core.device.forms.Form`.

        The host waits for the masses of the places, which say where to ask the proxy.
        """
        places, length, self._device = step.places, self._proxy.profile.prefix_length, logits.device
        texts = [row.text for row in places.by_row]
        entries = entries_of(likely, tables, step)
        mass = to_host(masses(entries, len(places))).tolist()
        keys: list[HalfKey] = [
            (seed, texts[row].written.before(path, length))
            for seed, (row, path, _) in zip(places.seeds.view(np.uint32).tolist(), places.places, strict=True)
        ]
        own: list[list[int]] = [[] for _ in texts]
        for number, (row, _, _) in enumerate(places.places):
            if mass[number] > 0:
                own[row].append(number)
        chosen = self._halves.choose([[(mass[i], keys[i]) for i in numbers] for numbers in own])
        marked = [numbers[k] for numbers, indexes in zip(own, chosen, strict=True) for k in indexes]
        halves = {key: half for half, key in enumerate(dict.fromkeys(keys[i] for i in marked))}
        found: Later | None = None
        if halves:
            inside = torch.stack(self._halves.of(halves))
            half_of = torch.full((len(places),), -1)
            half_of[marked] = torch.tensor([halves[keys[i]] for i in marked])
            delta = torch.tensor([text.strength for text in texts])
            half_of, delta = (to_device(each, logits.device) for each in (half_of, delta))
            half = half_of[entries.place]
            liked = entries.where((half >= 0) & inside[half, entries.token])  # -1 reads a half of no use
            add(logits, liked, step, delta[liked.row])
            found = Later(inside)
        self._halves.forget(len(texts))
        of_rows: dict[int, dict[Path, int]] = {}
        for i in marked:
            row, path, _ = places.places[i]
            of_rows.setdefault(row, {})[path] = halves[keys[i]]
        return Marked(found, of_rows)

    def _asked(self, prefixes: NDArray[np.int64], seeds: NDArray[np.uint32]) -> Iterator[torch.Tensor]:
        """What the proxy says of places."""
        for start in range(0, len(seeds), self._proxy.batch_size):
            part = slice(start, start + self._proxy.batch_size)
            weights = self._proxy.weights_on_device(prefixes[part])
            seed = torch.from_numpy(seeds[part].astype(np.int64)).to(weights.device)
            yield from members(weights, seed, self._proxy.profile.sigma).to(self._device)

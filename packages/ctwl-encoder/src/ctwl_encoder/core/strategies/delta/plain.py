"""``delta`` in plain torch (spec section 8.2): it runs on any device, and a GPU needs no kernel of its own for it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from ctwl_protocol.proxy import Proxy

from ...device.candidates import add, entries_of, masses
from ...device.forms import Halved
from ...device.step import DeviceStep, Tables, to_device, to_host
from ...halves import Halves
from ...places import Places


class Mark:
    """Marks rows where the logits are, and remembers what the proxy LM said of the places of the last steps."""

    def __init__(self, proxy: Proxy, before: Callable[[Places], list[tuple[int, ...]]]) -> None:
        """Remember nothing yet; see :func:`ctwl_encoder.core.device.forms.form_of`."""
        self._halves, self._before = Halves(proxy), before

    def __call__(self, logits: torch.Tensor, likely: torch.Tensor, tables: Tables, step: DeviceStep) -> Halved:
        """Mark rows of logits in place; see :data:`ctwl_encoder.core.device.forms.Form`.

        The host waits for the masses of the places, which say where to ask the proxy.
        """
        places, entries = step.places, entries_of(likely, tables, step)
        mass = to_host(masses(entries, len(places)))
        keys = list(zip(places.seeds.view(np.uint32).tolist(), self._before(places), strict=True))
        rows = [np.flatnonzero((places.owner == row) & (mass > 0)).tolist() for row in range(len(places.rows))]
        marked = self._halves.choose(rows, mass, keys)
        halves = {key: half for half, key in enumerate(dict.fromkeys(keys[i] for i in marked))}
        half_of = np.full(len(places), -1, dtype=np.int64)
        half_of[marked] = [halves[keys[i]] for i in marked]
        inside = torch.empty((0, tables.proxy_size), dtype=torch.bool, device=logits.device)
        if halves:
            inside = torch.stack(self._halves.of(list(halves), logits.device))
            half = to_device(torch.from_numpy(half_of), logits.device)[entries.place]
            liked = entries.where((half >= 0) & inside[half, entries.token])  # -1 reads a half of no use
            nats = to_device(torch.tensor(places.strengths), logits.device)
            add(logits, liked, step, nats[step.levels.long()[liked.place]])
        self._halves.forget(len(places.rows))
        return Halved(inside, half_of)

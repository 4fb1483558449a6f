"""The rows of SGLang's batches: each is of a request that has the list of its tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ..note import Note, without_note
from ..served import Served
from ..serving import Serving
from .admission import temperature_of

__all__ = ["Rows"]


class Rows:
    """What the rows of a worker's batches go on from.

    Attributes:
        served: by the ids of requests, their texts; None where they are not marked.
    """

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self.served: dict[str, Served | None] = {}

    def mark(self, logits: torch.Tensor, requests: Sequence[Any]) -> None:
        """Mark the rows of a step, in place.

        Args:
            logits: float (rows, size), before temperature and truncation.
            requests: SGLang's own, one for each row.
        """
        for request in requests:
            if request.rid not in self.served:
                self.served[request.rid] = self._begin(request.sampling_params)
        found = [(row, self.served[request.rid], request.output_ids) for row, request in enumerate(requests)]
        marked = {row: (served, list(output)) for row, served, output in found if served is not None}
        new = [served.new_in(output) for served, output in marked.values()]
        self._serving.extend([served for served, _ in marked.values()], new)
        self._serving.mark(logits, {row: (served, served.text) for row, (served, _) in marked.items()})
        self._serving.end_step(logits.device)

    def leave(self, requests: Sequence[Any]) -> None:
        """Finish the texts of those requests that are finished. One that is put off goes on as it was."""
        for request in requests:
            served = self.served.pop(request.rid, None) if request.finished() else None
            if served is not None:
                served.finish()

    def _begin(self, params: Any) -> Served | None:
        given = params.custom_params
        return self._serving.begin(without_note(given), temperature_of(params), Note.of(given))

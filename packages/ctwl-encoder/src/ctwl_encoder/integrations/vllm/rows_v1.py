"""The rows of vLLM's model runner V1: it tells which requests leave, come and move, and shares their tokens."""

from __future__ import annotations

from typing import Any

from vllm.v1.sample.logits_processor import MoveDirectionality

from ..served import Row, Served
from ..serving import Serving

__all__ = ["RowsV1"]


class RowsV1:
    """What the rows of V1's batches go on from.

    Attributes:
        served: the texts that are marked, by row.
    """

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._outputs: dict[int, list[int]] = {}
        """By row, the runner's own list of the tokens that were drawn so far."""
        self.served: dict[int, Served] = {}

    def leave(self, row: int) -> None:
        """A request has left its row: its text is finished, or put off."""
        served = self.served.pop(row, None)
        if served is not None:
            served.finish()

    def add(self, row: int, served: Served | None, output: list[int]) -> None:
        """A request comes into a row; None where it is not marked."""
        self.leave(row)
        if served is not None:
            served.again = bool(output)
            self.served[row], self._outputs[row] = served, output

    def move(self, one: int, other: int, direction: MoveDirectionality) -> None:
        """A request moves from one row to another, or two change places."""
        for rows in (self.served, self._outputs):
            _move(rows, one, other, swap=direction == MoveDirectionality.SWAP)

    def of_step(self, count: int) -> dict[int, Row]:
        """The rows to mark, their texts up to date.

        Args:
            count: rows of the step's logits.
        """
        rows = {row: served for row, served in self.served.items() if row < count}
        new = [served.new_in(self._outputs[row]) for row, served in rows.items()]
        self._serving.extend(list(rows.values()), new)
        return {row: (served, served.text) for row, served in rows.items()}


def _move(rows: dict[int, Any], one: int, other: int, *, swap: bool) -> None:
    """Move what a row has to another one; with ``swap`` back too."""
    first, second = rows.pop(one, None), rows.pop(other, None)
    if first is not None:
        rows[other] = first
    if second is not None and swap:
        rows[one] = second

"""The rows of vLLM's model runner V1: it tells which requests leave, come and move, and shares their tokens."""

from __future__ import annotations

from vllm.v1.sample.logits_processor import MoveDirectionality

from ..served import Row, Served
from ..serving import Serving


class RowsV1:
    """What the rows of V1's batches go on from.

    Attributes:
        served: by row, a text that is marked, and the runner's own list of the tokens that were drawn so far.
    """

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self.served: dict[int, tuple[Served, list[int]]] = {}

    def leave(self, row: int) -> None:
        """A request has left its row: its text is finished, or put off."""
        if row in self.served:
            self.served.pop(row)[0].finish()

    def add(self, row: int, served: Served | None, prompt: list[int] | None, output: list[int]) -> None:
        """A request comes into a row; None where it is not marked, and for a prompt that has no tokens."""
        self.leave(row)
        if served is not None:
            served.follow(prompt or ())
            served.again = bool(output)
            self.served[row] = served, output

    def move(self, one: int, other: int, direction: MoveDirectionality) -> None:
        """A request moves from one row to another, or two change places.

        A row that takes another in has lost its request, which the runner then does not name as removed.
        """
        if direction != MoveDirectionality.SWAP:
            self.leave(other)
        first, second = self.served.pop(one, None), self.served.pop(other, None)
        if first is not None:
            self.served[other] = first
        if second is not None and direction == MoveDirectionality.SWAP:
            self.served[one] = second

    def of_step(self, count: int) -> dict[int, Row]:
        """The rows to mark, their texts up to date.

        Args:
            count: rows of the step's logits.
        """
        rows = {row: served for row, (served, _) in self.served.items() if row < count}
        self._serving.extend(list(rows.values()), [served.new_in(self.served[row][1]) for row, served in rows.items()])
        return {row: (served, served.text) for row, served in rows.items()}

"""What an adapter with a fault is: which one, and the cases that must see it."""

from __future__ import annotations

from dataclasses import dataclass

from ..adapter.messages import Role
from .mutation import Mutation

__all__ = ["Fault"]


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong with an implementation.

    Attributes:
        name: one word, or a few.
        role: what it is driven as.
        comment: what is wrong.
        seen_by: patterns of case ids; at least one such case must not pass.
        change: module, what stands in its source, what stands there instead.
        errored: whether it gives no answer, rather than a wrong one.
        skipped: whether it declares everything a skip: nothing fails, and still it does not conform.
        by_each: whether a case of each pattern must not pass, as each shows the fault by itself.
    """

    name: str
    role: Role
    comment: str
    seen_by: tuple[str, ...]
    change: tuple[str, str, str] | None = None
    errored: bool = False
    skipped: bool = False
    by_each: bool = False

    def mutation(self) -> Mutation | None:
        """The change of the source.

        Raises:
            ValueError: the source has moved on.
        """
        return Mutation.of(*self.change) if self.change else None

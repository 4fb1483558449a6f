"""What the vLLM plug-in notes of a request where it comes in, for the workers that serve it."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from ctwl_protocol.records.beacon import NONCE_COUNT

from ...errors import OptionOutOfRange
from ...options import Options
from ..request import PREFIX

__all__ = ["ADMITTED", "Admitted", "without_note"]

ADMITTED = f"{PREFIX}admitted"
"""The extra argument in which the plug-in notes an :class:`Admitted`; whatever a client writes there is replaced."""


def without_note(extra_args: dict[str, Any] | None) -> dict[str, Any]:
    """A request's own extra arguments."""
    return {name: value for name, value in (extra_args or {}).items() if name != ADMITTED}


class Admitted(Options):
    """What is noted of a request where it comes in, so that all workers agree.

    vLLM gives completion ``i`` of one request (``n``) the seed of the request plus ``i``, and nothing else that tells
    completions apart. So a request for several without a seed gets one, and completion ``i`` has the nonce plus ``i``,
    and the salt plus ``i``.

    ``unbiased`` and ``gumbel`` must run after top-k, top-p and min-p. vLLM runs plug-ins before, so the plug-in
    truncates by itself, and vLLM's truncation is switched off.
    """

    nonce: int = Field(0, ge=0, lt=NONCE_COUNT)
    salt: int = Field(0, ge=0, lt=1 << 32)
    seed: int | None = None
    drawn: bool = False
    """Whether the seed is the plug-in's."""
    top_k: int = Field(0, ge=-1)
    top_p: float = Field(1.0, gt=0, le=1)
    min_p: float = Field(0.0, ge=0, le=1)

    @classmethod
    def of(cls, extra_args: dict[str, Any] | None) -> Admitted | None:
        """What was noted; None where nothing was, or something else (a client can write there too)."""
        try:
            return cls.model_validate((extra_args or {}).get(ADMITTED))
        except OptionOutOfRange:
            return None

    @property
    def truncation(self) -> tuple[int, float, float]:
        """Top-k, top-p and min-p."""
        return self.top_k, self.top_p, self.min_p

    def drawn_for(self, seed: int | None) -> tuple[int, int]:
        """The nonce and the salt of the request's completion that has this seed."""
        number = 0 if self.seed is None or seed is None else seed - self.seed
        return (self.nonce + number) % NONCE_COUNT, (self.salt + number) % (1 << 32)

"""The options of the measurement."""

from __future__ import annotations

from pydantic import Field

from ctwl_encoder.options import Options

MOST_TEXTS = 4096
"""Chosen by hand: so many take hours."""


class PlanOptions(Options):
    """How much ``ctwl-encode plan`` measures."""

    texts: int = Field(
        32,
        ge=8,
        le=MOST_TEXTS,
        description="texts of each strategy, in groups of four of one prompt; more make the answer surer",
    )

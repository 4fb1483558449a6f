"""The default share of ``race``."""

from __future__ import annotations

SHARE, COLDEST_SHARE = 0.5, 0.9
"""The default share of ``race`` at temperature 1 and above, and the largest default, at low temperatures.
``evaluation/writing/share.py`` puts other shares beside them."""


def share_for(temperature: float) -> float:
    """The share of ``race`` where none is named: the cooler the sampling, the more of the choice the mark takes."""
    return min(max(SHARE + 1 - temperature, SHARE), COLDEST_SHARE)

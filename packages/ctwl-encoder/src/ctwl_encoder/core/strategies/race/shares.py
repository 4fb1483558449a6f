"""The share of ``race``: the part of the chance in each draw that the code decides."""

from __future__ import annotations

SHARE, COLDEST_SHARE = 0.5, 0.9
"""The default share at temperature 1 and above, and the largest default, at low temperatures.
``evaluation/writing/share.py`` puts other shares beside them."""

LEAST_SHARE, MOST_SHARE = 0.05, 0.95
"""Chosen by hand: with less hardly anything is read; with more next to nothing is left to chance, texts of one nonce
are nearly one text, and no more is read."""


def share_for(temperature: float) -> float:
    """The share of ``race`` where none is named: the cooler the sampling, the more of the choice the mark takes."""
    return min(max(SHARE + 1 - temperature, SHARE), COLDEST_SHARE)

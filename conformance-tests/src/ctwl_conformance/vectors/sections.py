"""Which vectors test which section of the specification."""

from __future__ import annotations

from collections import Counter

from .files import load

_WHY = {
    "purpose": "1",
    "status and changes": "1.1",
    "terms": "2",
    "conventions, which all vectors follow": "3",
    "see its parts": "4 5 6 7 8 9 20",
    "a claim about texts: tested statistically, by reading what an encoder wrote": "8.1",
    "informative": "8.x 19",
    "what people are told, and how services answer; the addresses are tested with 9.6": "9.8",
    "needs a language model; the reference tests it": "10.8",
    "status codes stand in the vectors of the sections that give them": "11",
    "a numeric claim about a proxy runtime: vectors/v1/numeric/": "13",
    "conformance itself": "14",
    "attacks and what is claimed against them": "15",
    "lists what other sections assign": "16",
    "what people do, not bytes": "17 18",
    "statuses of HTTP: the family asked, from outside": "20.3",
    "what askers do, not bytes; the reference tests it": "20.4",
}

ELSEWHERE = {section: why for why, sections in _WHY.items() for section in sections.split()}
"""Sections without exact vectors, and why; one that has vectors needs none. ``8.x`` are those of 8 not named."""


def table() -> list[tuple[str, dict[str, int], str]]:
    """Each section in order: its number, how many vectors of which families, and why there are none."""
    found: dict[str, Counter[str]] = {}
    for vector in load():
        found.setdefault(vector.section, Counter())[vector.family] += 1
    every = sorted(
        {*found, *ELSEWHERE}, key=lambda section: [int(part) if part != "x" else 99 for part in section.split(".")]
    )
    return [(section, dict(found.get(section, {})), ELSEWHERE.get(section, "")) for section in every]

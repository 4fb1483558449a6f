"""Which vectors test which section of the specification."""

from __future__ import annotations

from collections import Counter

from .files import load

ELSEWHERE = {
    "1": "purpose",
    "1.1": "status and changes",
    "2": "terms",
    "3": "conventions, which all vectors follow",
    "4": "see its parts",
    "5": "see its parts",
    "6": "see its parts",
    "7": "see its parts",
    "8": "see its parts",
    "8.1": "a claim about texts: tested statistically, by reading what an encoder wrote",
    "8.2": "informative",
    "8.3": "informative",
    "8.4": "informative",
    "8.5": "informative",
    "9": "see its parts",
    "9.8": "what people are told, and how services answer; the addresses are tested with 9.6",
    "10.8": "needs a language model; the reference tests it",
    "11": "status codes stand in the vectors of the sections that give them",
    "13": "a numeric claim about a proxy runtime: vectors/v1/numeric/",
    "14": "conformance itself",
    "15": "attacks and what is claimed against them",
    "16": "lists what other sections assign",
    "17": "what people do, not bytes",
    "18": "what people do, not bytes",
    "19": "informative",
    "20": "see its parts",
    "20.3": "statuses of HTTP: the family asked, from outside",
    "20.4": "what askers do, not bytes; the reference tests it",
}
"""Sections without exact vectors, and why."""


def table() -> list[tuple[str, dict[str, int], str]]:
    """Each section in order: its number, how many vectors of which families, and why there are none."""
    found: dict[str, Counter[str]] = {}
    for vector in load():
        found.setdefault(vector.section, Counter())[vector.family] += 1
    every = sorted({*found, *ELSEWHERE}, key=lambda section: [int(part) for part in section.split(".")])
    return [(section, dict(found.get(section, {})), ELSEWHERE.get(section, "")) for section in every]

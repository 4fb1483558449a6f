"""What the specification says of the families of vectors, as they say it of themselves."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path

from ctwl_conformance import load
from ctwl_conformance.families import FAMILIES
from ctwl_conformance.families.family import BASIC, FULL, ConformanceClass
from ctwl_conformance.run.classes import CLASSES

SPEC = Path(__file__).resolve().parents[1] / "spec"


@cache
def _sections() -> dict[str, str]:
    """The families in the order of the sections that they test, and these."""
    found = {vector.family: vector.section for vector in load()}
    return dict(sorted(found.items(), key=lambda each: [int(part) for part in each[1].split(".")]))


def _named(families: Iterable[str], between: str) -> str:
    given = set(families)
    return between.join(f"`{name}`" for name in _sections() if name in given)


def _of_part(part: Path) -> str:
    headings = set(re.findall(r"^#{2,3} (\d+(?:\.\d+)?)", part.read_text(encoding="utf-8"), re.M))
    return _named((name for name, section in _sections().items() if section in headings), ", ")


def _asked_of(name: ConformanceClass) -> str:
    """What a class needs; of a full reader, what a basic reader does not."""
    needed = (each for each in FAMILIES.values() if name in each.asked_of)
    return _named((each.name for each in needed if not (name == FULL and BASIC in each.asked_of)), " ")


def _optional_for(name: ConformanceClass) -> str:
    return _named((each.name for each in FAMILIES.values() if name in each.optional_for), " ")


FACTS: dict[str, Callable[[], str]] = {
    **{f"vectors-{part.stem}": partial(_of_part, part) for part in SPEC.glob("*.md")},
    **{f"asked-{name}": partial(_asked_of, name) for name in CLASSES},
    **{f"optional-{name}": partial(_optional_for, name) for name in CLASSES},
}
"""What a page may say of the families, by name."""

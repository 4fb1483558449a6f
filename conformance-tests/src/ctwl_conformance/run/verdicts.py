"""From results to a verdict for each implementation in each conformance class (spec section 14)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from ..adapter.messages import Class
from .bench import Subject
from .results import ClassVerdict, Result, Verdict

__all__ = ["verdicts"]

_BAD = ("failed", "errored", "xfailed")
_ASKED: dict[Class, tuple[str, ...]] = {
    "decoder": ("exact", "round-trip", "human"),
    "encoder": ("round-trip",),
    "registry-client": ("exact",),
}
"""What a class cannot do without: exact vectors, and these families."""


OPTIONAL = ("4.5", "4.6", "5.3", "9.3", "9.5", "9.7", "13")
"""Sections that a decoder may leave out: what providers and holders of private profiles do; files of model weights; the
claim of who ships a proxy runtime."""


def verdicts(subjects: Sequence[Subject], results: Sequence[Result]) -> list[ClassVerdict]:
    """One verdict for each implementation and each class that it was given for."""
    return [_verdict(subject.label, role, results) for subject in subjects for role in subject.roles]


def _verdict(label: str, role: Class, results: Sequence[Result]) -> ClassVerdict:
    mine = [
        result
        for result in results
        if label in result.implementations
        and role in result.classes
        and not (len(result.implementations) == 2 and label != result.implementations[role == "decoder"])
    ]
    held = [result for result in mine if not _excused(result, label, results)]
    counts: Counter[Verdict] = Counter(result.verdict for result in held)
    bad = [f"{result.id}: {result.reason}" for result in held if result.verdict in _BAD]
    gaps = [
        f"{result.id}: {result.reason}"
        for result in held
        if result.verdict == "skipped" and result.section not in OPTIONAL
    ]
    gaps += [
        f"{result.id}: {result.reason} (its partner fails by itself)"
        for result in mine
        if result not in held and not _covered(result, label, results)
    ]
    passed = {result.kind for result in held if result.verdict == "passed"}
    passed_families = {result.family for result in held if result.verdict == "passed"}
    gaps += [f"no {what} was run and passed" for what in _ASKED[role] if what not in passed | passed_families]
    verdict: Literal["conformant", "incomplete", "not conformant"]
    verdict = "not conformant" if bad else "incomplete" if gaps else "conformant"
    return ClassVerdict(
        implementation=label, conformance_class=role, verdict=verdict, counts=dict(counts), why=bad + gaps
    )


def _excused(result: Result, label: str, results: Sequence[Result]) -> bool:
    """Whether a failed round trip is clearly the partner's fault: it fails alone, or with all but this one."""
    if len(result.implementations) < 2 or result.verdict not in _BAD:
        return False
    partner = next((other for other in result.implementations if other != label), None)
    if partner is None:
        return False  # both sides are one implementation
    alone = [r for r in results if r.implementations == [partner]]
    if any(r.verdict in _BAD for r in alone):
        return True
    same = [r for r in results if r.family == result.family and len(r.implementations) == 2]
    with_partner = [r for r in same if partner in r.implementations]
    mine = [r for r in same if label in r.implementations and partner not in r.implementations]
    return (
        len(with_partner) > 1
        and all(r.verdict in _BAD for r in with_partner)
        and any(r.verdict == "passed" for r in mine)
    )


def _covered(result: Result, label: str, results: Sequence[Result]) -> bool:
    """Whether the same round trip passed with another partner."""
    asked = (result.family, result.profile)
    return any(r.verdict == "passed" and label in r.implementations and (r.family, r.profile) == asked for r in results)

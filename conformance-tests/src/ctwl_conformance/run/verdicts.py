"""From results to a verdict for each implementation in each conformance class of its role (spec section 14)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ..families.family import ConformanceClass
from .bench import Subject
from .classes import CLASSES, Rules
from .results import ClassVerdict, Conformance, Result, Verdict

_BAD = ("failed", "errored", "xfailed")


def verdicts(subjects: Sequence[Subject], results: Sequence[Result]) -> list[ClassVerdict]:
    """One verdict for each implementation and each class that its roles are judged for."""
    return [
        _verdict(subject.label, name, rules, results)
        for subject in subjects
        for name, rules in CLASSES.items()
        if rules.role in subject.roles
    ]


def _verdict(label: str, name: ConformanceClass, rules: Rules, results: Sequence[Result]) -> ClassVerdict:
    mine = [
        result
        for result in results
        if label in result.implementations
        and name in result.classes
        and not (len(result.implementations) == 2 and label != result.implementations[rules.role == "decoder"])
    ]
    excused = [result for result in mine if _excused(result, label, results)]
    held = [result for result in mine if result not in excused]
    counts: Counter[Verdict] = Counter(result.verdict for result in held)
    bad = [f"{result.id}: {result.reason}" for result in held if result.verdict in _BAD]
    left_out = [result for result in held if result.verdict == "skipped" and _is_asked(result, rules)]
    gaps = _counted(each.reason for each in left_out if not _covered(each, label, results))
    excuses = [each for each in excused if not _covered(each, label, results)]
    gaps += [f"{each.id}: {each.reason} (its partner's fault)" for each in excuses]
    seen = {result.family for result in held if result.verdict in ("passed", "skipped")}
    gaps += [f"no case of {family} was run and passed" for family in rules.required if family not in seen]
    verdict: Conformance = "does not conform" if bad else "not tested" if gaps else "conforms"
    return ClassVerdict(
        implementation=label, conformance_class=name, verdict=verdict, counts=dict(counts), why=bad + gaps
    )


def _is_asked(result: Result, rules: Rules) -> bool:
    """Whether the class is not tested where the case is left out. A family of texts may be named as one of vectors."""
    return result.family in rules.required or (result.kind == "statistical" and result.family in rules.asked)


def _counted(reasons: Iterable[str]) -> list[str]:
    """Each reason once, the commonest first, with the number of its cases."""
    found = Counter(reasons).most_common()
    return [f"{reason} ({count} cases)" if count > 1 else reason for reason, count in found]


def _excused(result: Result, label: str, results: Sequence[Result]) -> bool:
    """Whether a failed round trip is the partner's: it is at fault, or fails alone, or with all but this one."""
    if len(result.implementations) < 2 or result.verdict not in _BAD:
        return False
    if result.at_fault:
        return result.at_fault != label
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
    if len(result.implementations) < 2:
        return False  # it has no partner
    asked = (result.family, result.profile)
    return any(r.verdict == "passed" and label in r.implementations and (r.family, r.profile) == asked for r in results)

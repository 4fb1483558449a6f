"""Run the suite against errors made on purpose: it must see every fault and every changed constant."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from typing import get_args

from pydantic import BaseModel, ConfigDict

from ..adapter import Limits
from ..adapter.messages import Role
from ..run.bench import Bench, Commands
from ..run.cases import Case, all_cases
from ..run.results import Conformance, Result
from ..run.verdicts import verdicts
from .constants import constants, questions
from .fault import Fault
from .faults import FAULTS
from .mutation import Mutation, child

__all__ = ["Finding", "check_constants", "check_faults"]

_SECONDS, _PATIENCE = 120.0, 5.0
"""Seconds for a process, and for a request to an adapter that hangs; others answer in a fraction of a second."""


_BEST_LAST: tuple[Conformance, ...] = ("does not conform", "not tested", "conforms")


class Finding(BaseModel):
    """What the suite found about one error.

    Attributes:
        name: of the fault, or the change of the source.
        comment: what is wrong.
        seen_by: the case or vector that saw it, or how the process failed; None where nothing did.
        verdict: of the faulty implementation in the classes that the case is evidence for, the best of them; None for a
            changed constant.
        due: the verdict that the error should lead to; None for a changed constant.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    comment: str
    seen_by: str | None
    verdict: Conformance | None = None
    due: Conformance | None = None

    @property
    def good(self) -> bool:
        """Whether it was seen, and led to the verdict that is due."""
        return self.seen_by is not None and self.verdict == self.due


def check_faults(faults: Sequence[Fault] = FAULTS, jobs: int = 1) -> Iterator[Finding]:
    """Drive one adapter for each fault, with the reference as its partner; so many faults at a time."""
    yield _sound(faults)
    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(_driven, faults)


def check_constants(jobs: int, progress: Callable[[], None] = lambda: None) -> Iterator[Finding]:
    """Answer the vectors with each constant of the reference changed, in a process of its own; unchanged first."""

    def one(mutation: Mutation | None) -> Finding:
        finding = _answered(mutation)
        progress()
        return finding

    sound = _answered(None)  # if the unchanged reference failed, every change would count as seen
    told = None if sound.seen_by else "all vectors agree"
    yield sound.model_copy(update={"seen_by": told})
    if told is not None:
        with ThreadPoolExecutor(jobs) as pool:
            yield from pool.map(one, constants())


def _driven(fault: Fault) -> Finding:
    """The first case that sees a fault; where each pattern must see it, the first of each."""
    limits = Limits(start=_SECONDS, request=_PATIENCE if fault.errored else _SECONDS)
    with Bench(_commands(fault), size="quick", limits=limits) as bench:
        cases = list(all_cases(bench))
        label = next(subject.label for subject in bench.subjects if fault.role in subject.roles)
        results: list[Result] = []
        seen: list[Result] = []
        groups: list[tuple[str, ...]] = [(pattern,) for pattern in fault.seen_by] if fault.by_each else [fault.seen_by]
        for patterns in groups:
            results += (asked := list(_asked(fault, cases, patterns)))
            if asked and _shows(fault, asked):
                seen.append(asked[-1])
        blind = len(seen) < len(groups)
        classes = {name for result in seen for name in result.classes}
        found = [v for v in verdicts(bench.subjects, results) if v.implementation == label]
    verdict = max((v.verdict for v in found if v.conformance_class in classes), key=_BEST_LAST.index, default=None)
    told = None if blind else ", ".join(result.id for result in seen)
    due: Conformance = "not tested" if fault.skipped else "does not conform"
    return Finding(name=fault.name, comment=fault.comment, seen_by=told, verdict=verdict, due=due)


def _asked(fault: Fault, cases: Sequence[Case], patterns: Sequence[str]) -> Iterator[Result]:
    """The results of the cases of some patterns, up to the first that shows the fault."""
    for case in cases:
        if any(fnmatchcase(case.id, pattern) for pattern in patterns):
            yield (result := case.run())
            if not fault.skipped and _shows(fault, [result]):
                return


def _shows(fault: Fault, results: Sequence[Result]) -> bool:
    """Whether the last of some results is what the fault should lead to."""
    if fault.skipped:
        return all(result.verdict == "skipped" for result in results)
    return results[-1].verdict == ("errored" if fault.errored else "failed")


def _sound(faults: Sequence[Fault]) -> Finding:
    """The reference itself passes every case that should show a fault, so none of them fails for another reason."""
    patterns = {pattern for fault in faults for pattern in fault.seen_by}
    commands: Commands = {role: [_serving(role)] for role in get_args(Role)}
    with Bench(commands, size="quick", limits=Limits(start=_SECONDS, request=_SECONDS)) as bench:
        cases = [case for case in all_cases(bench) if any(fnmatchcase(case.id, pattern) for pattern in patterns)]
        results = [case.run() for case in cases]
    bad = [result for result in results if result.verdict != "passed"]
    told = f"{len(results)} cases pass" if results and not bad else None
    if bad:
        print(f"ctwl-conformance: {bad[0].id}: {bad[0].reason}", file=sys.stderr)
    return Finding(name="no fault", comment="the reference passes what the faults fail", seen_by=told)


def _commands(fault: Fault) -> Commands:
    """The faulty adapter, with the reference as the partner of an encoder or a decoder."""
    partner: dict[Role, Role] = {"encoder": "decoder", "decoder": "encoder"}
    sound: dict[Role, list[str]] = {role: [_serving(role)] for mine, role in partner.items() if mine == fault.role}
    return {fault.role: [_serving(fault.role, fault)], **sound}


def _serving(role: Role, fault: Fault | None = None) -> str:
    mutation = fault.mutation() if fault else None
    return shlex.join(child("serve", mutation, role=role, fault=fault.name if fault else None))


def _answered(mutation: Mutation | None) -> Finding:
    """The first vector that tells a changed reference from the sound one."""
    asked = json.dumps(questions(mutation.module if mutation else None))
    try:
        done = subprocess.run(
            child("check", mutation), input=asked, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
        if done.returncode == 0:
            seen = json.loads(done.stdout)
        else:  # a reference that its own checks stop is seen too
            seen = f"does not start: {(done.stderr.strip().splitlines() or ['?'])[-1][:200]}"
    except subprocess.TimeoutExpired:
        seen = f"no end within {_SECONDS:g} s"
    return Finding(name=str(mutation), comment="a constant changed", seen_by=seen)

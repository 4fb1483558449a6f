"""Results and the report: data that is written as JSON and read by people, JUnit readers and the page."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, field_validator

from ..adapter.driver import Kind, clean
from ..adapter.messages import Started
from ..families.family import ConformanceClass

Verdict = Literal["passed", "failed", "errored", "skipped", "xfailed"]
"""What became of a case. ``errored``: no answer (crash, time-out, nonsense). ``xfailed``: failed, as its makers had
announced."""


Conformance = Literal["conforms", "does not conform", "not tested"]
"""``not tested``: nothing failed, but something that the class asks for was left out or had no partner."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Statistics(_Part):
    """A rate, what it was held against, and what so many trials can tell.

    Attributes:
        trials: n.
        successes: texts read right; of human texts, those that passed the test all the same.
        rate: successes over trials.
        interval_95: exact (Clopper-Pearson).
        claim: the rate that was claimed beforehand, in words.
        limit: the fewest (most) successes that pass.
        excluded: the true rate that would pass in only 5 % of runs.
    """

    trials: int
    successes: int
    rate: float
    interval_95: tuple[float, float]
    claim: str
    limit: int
    excluded: float

    def __str__(self) -> str:
        low, high = self.interval_95
        return f"{self.successes} of {self.trials} ({low:.2f} to {high:.2f}; {self.claim}: {self.limit})"


class Measure(_Part):
    """A number that was measured, and the largest that passes."""

    name: str
    value: float
    limit: float

    def __str__(self) -> str:
        return f"{self.name} {self.value:.3g}, at most {self.limit:.3g}"


class Question(_Part):
    """What is known of a case before it is run; :class:`Result` says what the fields are."""

    id: str
    kind: Literal["start", "exact", "numeric", "statistical"]
    family: str
    section: str
    comment: str
    implementations: list[str]
    classes: list[ConformanceClass]
    profile: str | None = None


class Result(Question):
    """What became of one case.

    Attributes:
        id: stable: family, then the vector or the profile, then the implementations.
        kind: which kind of claim.
        family: of vectors or texts.
        section: of the specification.
        comment: what it is about.
        implementations: labels, the encoder before the decoder.
        classes: the conformance classes that it is evidence for.
        profile: where there is one.
        reason: why it did not pass.
        error: how there came to be no answer.
        at_fault: who gave none, or one that is wrong in itself.
        stderr: the last that the adapter wrote there.
    """

    verdict: Verdict
    reason: str = ""
    error: Kind | None = None
    at_fault: str = ""
    stderr: str = ""
    seconds: float = 0.0
    statistics: Statistics | None = None
    measure: Measure | None = None

    @field_validator("id", "reason", "stderr", "profile")
    @classmethod
    def _harmless(cls, told: str | None) -> str | None:
        return None if told is None else clean(told)


class Implementation(_Part):
    """An implementation under test.

    Attributes:
        label: how results name it.
        command: how it was started.
        told: what it says of itself; None where it did not start.
    """

    label: str
    command: str
    told: Started | None


class ClassVerdict(_Part):
    """What the results say of an implementation in a conformance class.

    Attributes:
        implementation: its label.
        conformance_class: the class.
        verdict: what they say.
        counts: of the cases that are evidence for the class, by what became of them.
        why: what speaks against a better verdict; empty where it conforms.
    """

    implementation: str
    conformance_class: ConformanceClass
    verdict: Conformance
    counts: dict[Verdict, int]
    why: list[str]


class Report(_Part):
    """A whole run."""

    format: Literal["ctwl-report/2"] = "ctwl-report/2"
    suite: str
    date: str
    python: str
    machine: str
    size: str
    seed: int
    seconds: float
    implementations: list[Implementation]
    verdicts: list[ClassVerdict]
    results: list[Result]

    @property
    def good(self) -> bool:
        """Whether nothing failed unannounced."""
        return all(result.verdict not in ("failed", "errored") for result in self.results)

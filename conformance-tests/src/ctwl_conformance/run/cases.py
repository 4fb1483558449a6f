"""The cases: each asks implementations something and judges the answer. The runner and the pytest plug-in run them."""

from __future__ import annotations

import json
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from ..adapter import AdapterErrored, Decoded, Refused, Skipped, TrustedState, Verified, Weighed
from ..adapter.messages import Class
from ..families import FAMILIES as VECTOR_FAMILIES
from ..families.family import unhex
from ..vectors import Vector, load, load_numeric
from ..vectors.numeric import FAMILY as NUMERIC
from ..vectors.numeric import Numeric
from .bench import Bench, Subject, Written
from .bounds import Bound, interval
from .plan import ALPHA, FAMILIES, HUMAN, HUMAN_ALPHA, TextFamily, code_of, human_texts, setting
from .results import Measure, Result, Statistics

__all__ = ["Case", "HumanCase", "NumericCase", "Outcome", "StartCase", "TextCase", "VectorCase", "all_cases"]

_SHOWN = 300

UPDATES = "registry-update"
"""The family whose vectors are sent as ``verify-registry``."""


class Failed(Exception):
    """A wrong answer; the text says what is wrong with it."""


class Skip(Exception):
    """A declared skip; the text is its reason."""


@dataclass(frozen=True)
class Outcome:
    """What a case found, where nothing was raised; a rate or number that breaks its bound is wrong."""

    statistics: Statistics | None = None
    wrong: str = ""
    measure: Measure | None = None


@dataclass(frozen=True)
class Case(ABC):
    """One case.

    Attributes:
        id: see :class:`~.results.Result`.
    """

    id: str = field(init=False)

    @property
    def steps(self) -> int:
        """How much work it is, for a progress bar."""
        return 1

    @abstractmethod
    def about(self) -> dict[str, Any]:
        """The result's fields that are known beforehand."""

    @abstractmethod
    def judge(self, bench: Bench) -> Outcome:
        """Ask and judge.

        Raises:
            Failed, Skip, AdapterErrored: what else can come of it.
        """

    def run(self, bench: Bench) -> Result:
        """The result, whatever happens."""
        began = time.monotonic()
        found: dict[str, Any] = {"verdict": "passed"}
        try:
            outcome = self.judge(bench)
            found |= {"statistics": outcome.statistics, "measure": outcome.measure}
            if outcome.wrong:
                found |= {"verdict": "failed", "reason": outcome.wrong}
        except Failed as error:
            found |= {"verdict": "failed", "reason": str(error)}
        except Skip as reason:
            found |= {"verdict": "skipped", "reason": str(reason)}
        except AdapterErrored as error:
            found |= {"verdict": "errored", "reason": str(error), "error": error.kind, "stderr": error.stderr}
        except Exception as error:  # the report of all else must not be lost with it
            found |= {"verdict": "errored", "reason": f"a fault of the suite's own: {type(error).__name__}: {error}"}
        seconds = round(time.monotonic() - began, 3)
        return Result(id=self.id, **self.about(), **found, seconds=seconds)


@dataclass(frozen=True)
class StartCase(Case):
    """An implementation starts and claims the classes that it was given for."""

    subject: Subject

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", f"start/{self.subject.label}")

    def about(self) -> dict[str, Any]:  # noqa: D102 - see Case
        return {
            "kind": "start",
            "family": "start",
            "section": "14",
            "comment": "it starts, and claims the classes that it was given for",
            "implementations": [self.subject.label],
            "classes": self.subject.roles,
        }

    def judge(self, bench: Bench) -> Outcome:  # noqa: D102 - see Case
        if self.subject.failure is not None:
            raise self.subject.failure
        told = self.subject.adapter.describe()
        if missing := [role for role in self.subject.roles if role not in told.classes]:
            raise Failed(f"it was given as {missing[0]}, but claims only {', '.join(told.classes)}")
        if not told.profiles and {"encoder", "decoder"} & set(self.subject.roles):
            raise Failed("it names no profile")
        if unknown := set(told.families) - {*VECTOR_FAMILIES, NUMERIC}:
            raise Failed(f"it names a family that there is not: {min(unknown)}; see ctwl-conformance sections")
        bench.on_step()
        return Outcome()


@dataclass(frozen=True)
class VectorCase(Case):
    """One exact question to one implementation."""

    subject: Subject
    vector: Vector

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", f"vector/{self.vector.id}/{self.subject.label}")

    def about(self) -> dict[str, Any]:  # noqa: D102 - see Case
        return {
            "kind": self.vector.level,
            "family": self.vector.family,
            "section": self.vector.section,
            "comment": self.vector.comment,
            "implementations": [self.subject.label],
            "classes": [role for role in classes_of(self.vector) if role in self.subject.roles],
        }

    def judge(self, bench: Bench) -> Outcome:  # noqa: D102 - see Case
        bench.on_step()
        answer = self._ask()
        match answer:
            case Skipped():
                raise Skip(answer.skip)
            case Refused():
                raise Failed(f"an error instead of an answer: {answer.status}: {answer.message}")
            case Verified():
                answer = answer.model_dump(exclude_none=True)
        if not self.vector.agrees(answer):
            asked = _short(self.vector.input)
            raise Failed(f"{_short(answer)}; expected {_short(self.vector.expected)}; asked {asked}")
        return Outcome()

    def _ask(self) -> dict[str, Any] | Verified | Refused | Skipped:
        """The answer; updates of a registry have a request of their own."""
        family, asked, adapter = self.vector.family, self.vector.input, self.subject.adapter
        if family == UPDATES:
            trusted = TrustedState.model_validate(asked["trusted"])
            return adapter.verify_registry(trusted, asked["roots"], asked["registry"], asked["clock"])
        if self.subject.told and family not in self.subject.told.families:
            raise Skip(f"it does not declare the family {family}")
        return adapter.vector(family, _whole(asked))


def _whole(asked: Any) -> Any:
    """The same, long byte strings in one piece: files have them in parts, some repeated."""
    match asked:
        case dict():
            return {name: _whole(value) for name, value in asked.items()}
        case list() if any(isinstance(part, dict) and part.keys() == {"repeat", "times"} for part in asked):
            return unhex(asked).hex()
        case list():
            return [_whole(value) for value in asked]
    return asked


@dataclass(frozen=True)
class TextCase(Case):
    """An encoder writes, a decoder reads: one family under one profile."""

    encoder: Subject
    decoder: Subject
    profile: str
    family: TextFamily
    texts: int

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "id", f"{self.family.name}/{self.profile}/{self.encoder.label}/{self.decoder.label}"
        )  # fmt: skip

    @property
    def steps(self) -> int:  # noqa: D102 - see Case
        return self.texts

    def about(self) -> dict[str, Any]:  # noqa: D102 - see Case
        tokens = self.family.tokens(self.profile)
        return {
            "kind": "statistical",
            "family": self.family.name,
            "section": self.family.section,
            "comment": f"{self.texts} texts of {tokens} tokens: {self.family.comment}",
            "implementations": [self.encoder.label, self.decoder.label],
            "classes": ["encoder", "decoder"],
            "profile": self.profile,
        }

    def judge(self, bench: Bench) -> Outcome:  # noqa: D102 - see Case
        layout, tokens = self.family.layout, self.family.tokens(self.profile)
        right = 0
        for i, written in enumerate(bench.texts(self.encoder, self.profile, layout, tokens, self.texts)):
            text = self.family.change(_text(written), random.Random(f"{bench.seed}/{self.family.name}/{i}"))  # noqa: S311
            found = _read(self.decoder, self.profile, text, ALPHA)
            right += _is_right(found, written, layout)
            bench.on_step()
        return held(right, self.texts, self.family.bound)


@dataclass(frozen=True)
class HumanCase(Case):
    """A decoder reads texts that people wrote."""

    decoder: Subject
    profile: str
    texts: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", f"human/{self.profile}/{self.decoder.label}")

    @property
    def steps(self) -> int:  # noqa: D102 - see Case
        return self.texts

    def about(self) -> dict[str, Any]:  # noqa: D102 - see Case
        return {
            "kind": "statistical",
            "family": "human",
            "section": "12",
            "comment": f"{self.texts} texts by people, read at the level {HUMAN_ALPHA}",
            "implementations": [self.decoder.label],
            "classes": ["decoder"],
            "profile": self.profile,
        }

    def judge(self, bench: Bench) -> Outcome:  # noqa: D102 - see Case
        passed = 0
        for text in human_texts(self.profile, self.texts):
            passed += _read(self.decoder, self.profile, text, HUMAN_ALPHA).detected
            bench.on_step()
        return held(passed, self.texts, HUMAN)


@dataclass(frozen=True)
class NumericCase(Case):
    """A proxy runtime states its weights behind human text."""

    decoder: Subject
    numeric: Numeric

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", f"{NUMERIC}/{self.numeric.profile}/{self.decoder.label}")

    def about(self) -> dict[str, Any]:  # noqa: D102 - see Case
        return {
            "kind": "numeric",
            "family": NUMERIC,
            "section": "13",
            "comment": f"weights of the proxy behind {len(self.numeric.windows)} windows of text by people",
            "implementations": [self.decoder.label],
            "classes": ["decoder"],
            "profile": self.numeric.profile,
        }

    def judge(self, bench: Bench) -> Outcome:  # noqa: D102 - see Case
        bench.on_step()
        found = self._ask()
        try:
            variation = self.numeric.variation(found.weights, found.totals)
        except ValueError as error:
            raise Failed(f"the weights contradict themselves: {error}") from error
        limit = self.numeric.tolerance
        measure = Measure(name="mean total variation", value=float(variation), limit=float(limit))
        return Outcome(measure=measure, wrong="" if variation <= limit else f"{measure} is asked for")

    def _ask(self) -> Weighed:
        told = self.decoder.told
        if told and NUMERIC not in told.families:
            raise Skip(f"it does not declare the family {NUMERIC}")
        answer = self.decoder.adapter.weigh(self.numeric.profile, self.numeric.windows, self.numeric.tokens)
        match answer:
            case Skipped():
                raise Skip(answer.skip)
            case Refused():
                raise Failed(f"an error instead of an answer: {answer.status}: {answer.message}")
        return answer


def all_cases(bench: Bench) -> Iterator[Case]:
    """Every case that these implementations can be asked, in an order that keeps several of them busy."""
    for subject in bench.subjects:
        yield StartCase(subject)
    yield from _vector_cases(bench)
    yield from _text_cases(bench)
    numerics = load_numeric()
    for decoder in bench.of("decoder"):
        for profile in decoder.profiles:
            yield HumanCase(decoder, profile, setting(profile).humans[bench.size])
        yield from (NumericCase(decoder, numeric) for numeric in numerics if numeric.profile in decoder.profiles)


def _vector_cases(bench: Bench) -> Iterator[VectorCase]:
    vectors = load()
    for subject in bench.subjects:
        if subject.told:
            families = subject.told.families
            roles = {role for role in subject.roles if role != "encoder" or families}
            for vector in vectors:
                if roles & set(classes_of(vector)):
                    yield VectorCase(subject, vector)


def _text_cases(bench: Bench) -> Iterator[TextCase]:
    encoders, decoders = bench.of("encoder"), bench.of("decoder")
    for family in FAMILIES:
        for decoder in decoders:
            for encoder in encoders:
                for profile in encoder.profiles:
                    if profile in decoder.profiles and family.applies(profile):
                        yield TextCase(encoder, decoder, profile, family, family.texts(profile, bench.size))


def classes_of(vector: Vector) -> list[Class]:
    """The conformance classes that a vector is evidence for: 9.6 is the registry client's, 4.1 everybody's."""
    if vector.section.startswith("9.6"):
        return ["registry-client"]
    if vector.section.startswith("4.1"):
        return ["encoder", "decoder", "registry-client"]
    return ["encoder", "decoder"]


def held(successes: int, trials: int, bound: Bound) -> Outcome:
    """A rate, held against its bound."""
    low, high = interval(successes, trials)
    claim, limit = f"{bound.side} {bound.rate:g}", bound.limit(trials)
    found = Statistics(
        trials=trials,
        successes=successes,
        rate=round(successes / trials, 4),
        interval_95=(round(low, 4), round(high, 4)),
        claim=claim,
        limit=limit,
        excluded=round(bound.excluded(trials), 4),
    )
    if bound.holds(successes, trials):
        return Outcome(found)
    return Outcome(found, f"{successes} of {trials}; {bound.side} {limit} are asked for (claimed: {claim})")


def _text(written: Written) -> str:
    match written.answer:
        case Skipped(skip=reason):
            raise Skip(reason)
        case Refused(status=status, message=message):
            raise Failed(f"the encoder answers {status}: {message}")
    return written.answer.text


def _read(decoder: Subject, profile: str, text: str, alpha: float) -> Decoded:
    """What a decoder says of a text, once it says nothing against itself."""
    answer = decoder.adapter.decode(profile, text, alpha)
    match answer:
        case Skipped():
            raise Skip(answer.skip)
        case Refused():
            raise Failed(f"the decoder answers {answer.status}: {answer.message}")
    for good, why in (
        (answer.detected == (answer.p_value <= alpha), f"detected is {answer.detected}, but p is {answer.p_value}"),
        (answer.detected == bool(answer.spans), f"detected is {answer.detected}, with {len(answer.spans)} spans"),
        (all(s.start < s.end <= len(text) for s in answer.spans), "a span lies outside the text"),
        (_apart(answer), "spans overlap"),
        (all(s.p_value <= alpha for s in answer.spans), "a span has a p-value above the level"),
        (not answer.spans or answer.code in [s.code for s in answer.spans], "the code is that of no span"),
        (answer.detected or answer.record is None, "a record where nothing was detected"),
    ):
        if not good:
            raise Failed(f"the decoder contradicts itself: {why}")
    return answer


def _apart(answer: Decoded) -> bool:
    spans = sorted(answer.spans, key=lambda span: span.start)
    return all(one.end <= other.start for one, other in pairwise(spans))


def _is_right(found: Decoded, written: Written, layout: int) -> bool:
    if not found.detected:
        return False
    if layout == 1:
        return found.code == code_of(written.record)
    return found.record == written.record


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + " ..."

"""The cases: each asks implementations something and judges the answer."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar

from ctwl_protocol.schema import describe_error

from ..adapter import AdapterErrored, Ask, Decode, Decoded, Heard, Started
from ..adapter.messages import Refused, Role, Skipped
from ..families import FAMILIES as VECTOR_FAMILIES
from ..families.asking import body_of
from ..families.family import unhex
from ..vectors import Vector, load, load_numeric
from ..vectors.numeric import FAMILY as NUMERIC
from ..vectors.numeric import Numeric
from .bench import Bench, Subject, Written
from .bounds import Bound, interval
from .classes import classes_of
from .detectors import LEAST, STATUSES, Request, own_question, question, requests_of, wrong
from .exceptions import Exceptions
from .results import Measure, Question, Result, Statistics
from .texts import ALPHA, FAMILIES, HUMAN, HUMAN_ALPHA, PUBLIC, TextFamily, human_texts, setting

_SHOWN = 300
"""So many characters of a question or an answer are shown."""

_QUESTIONS = "question"
"""The family whose vectors a detector is asked from outside."""

_T = TypeVar("_T")


class Failed(Exception):
    """A wrong answer; the text says what is wrong with it.

    Attributes:
        label: of the implementation that gave it, where it is one of two that are asked.
    """

    def __init__(self, message: str, label: str = "") -> None:
        super().__init__(message)
        self.label = label


class Skip(Exception):
    """A declared skip; the text is its reason."""


@dataclass(frozen=True)
class Outcome:
    """What a case found, if it raised nothing. ``wrong`` says which bound a rate or a number breaks."""

    statistics: Statistics | None = None
    wrong: str = ""
    measure: Measure | None = None


@dataclass(frozen=True)
class Case:
    """One case.

    Attributes:
        question: the part of its result that is known beforehand.
        judge: asks and judges. It may raise Failed, Skip or AdapterErrored.
    """

    question: Question
    judge: Callable[[], Outcome]

    @property
    def id(self) -> str:
        """See :class:`~.results.Question`."""
        return self.question.id

    def run(self, exceptions: Exceptions | None = None) -> Result:
        """The result, whatever happens, with the known exceptions applied."""
        known = exceptions or Exceptions()
        if reason := known.skipped(self.id):
            return self.left_out(reason)
        began = time.monotonic()
        try:
            outcome = self.judge()
            verdict = "failed" if outcome.wrong else "passed"
            found = {"reason": outcome.wrong, "statistics": outcome.statistics, "measure": outcome.measure}
        except Failed as error:
            verdict, found = "failed", {"reason": str(error), "at_fault": error.label}
        except Skip as why:
            verdict, found = "skipped", {"reason": str(why)}
        except AdapterErrored as error:
            verdict, found = "errored", {"reason": str(error), "at_fault": error.label}
            found |= {"error": error.kind, "stderr": error.stderr}
        except Exception as error:  # the report of all other cases must not be lost with this one
            verdict, found = "errored", {"reason": f"a fault of the suite's own: {type(error).__name__}: {error}"}
        return known.applied(self._result(verdict, **found, seconds=round(time.monotonic() - began, 3)))

    def left_out(self, reason: str) -> Result:
        """The result where it is not run."""
        return self._result("skipped", reason=reason)

    def _result(self, verdict: str, **found: Any) -> Result:
        return Result.model_validate({**dict(self.question), "verdict": verdict, **found})


def all_cases(bench: Bench) -> Iterator[Case]:
    """Every case that these implementations can be asked."""
    for subject in bench.subjects:
        about, start = "it starts, and claims the roles that it was given for", partial(_judge_start, subject)
        yield _case(start, [subject], subject.roles, kind="start", family="start", section="14", comment=about)
    vectors = load()
    for subject in bench.subjects:
        if subject.told:
            named = set(subject.told.families)
            for vector in vectors:
                asked = [role for role in subject.roles if role != "encoder" or vector.family in named]
                if classes_of(vector.family, asked):
                    yield _vector_case(subject, vector, asked)
    for detector in bench.of("detector"):
        yield from (_asked_case(detector, request) for request in requests_of(detector.told))
        judge = partial(_judge_found, detector)
        yield _human_case(judge, detector, "detector", "20.2", setting(PUBLIC).humans[bench.size])
    yield from _text_cases(bench)
    numerics = load_numeric()
    for decoder in bench.of("decoder"):
        for profile in decoder.profiles:
            judge = partial(_judge_human, decoder, profile)
            yield _human_case(judge, decoder, "decoder", "12", setting(profile).humans[bench.size], profile=profile)
        yield from (_numeric_case(decoder, numeric) for numeric in numerics if numeric.profile in decoder.profiles)


# An implementation starts.


def _judge_start(subject: Subject) -> Outcome:
    if subject.failure is not None:
        raise subject.failure
    told = subject.adapter.describe()
    if missing := [role for role in subject.roles if role not in told.roles]:
        raise Failed(f"it was given as {missing[0]}, but claims only {', '.join(told.roles)}")
    if not told.profiles and "encoder" in subject.roles:
        raise Failed("it names no profile to write under")
    if unknown := set(told.families) - {*VECTOR_FAMILIES, NUMERIC}:
        raise Failed(f"it names an unknown family: {min(unknown)}; each part of the spec lists its own at its top")
    return Outcome()


# An exact question to one implementation.


def _vector_case(subject: Subject, vector: Vector, roles: list[Role]) -> Case:
    told = {"family": vector.family, "section": vector.section, "comment": vector.comment}
    judge = partial(_judge_vector, subject, vector)
    return _case(judge, [subject], roles, kind=vector.level, name=f"vector/{vector.id}", **told)


def _judge_vector(subject: Subject, vector: Vector) -> Outcome:
    asked = vector.input
    if vector.family == _QUESTIONS and "detector" in subject.roles:
        return _judge_question(subject, vector)
    _declared(subject, vector.family, vector.profile)
    answer = _answered(subject, subject.adapter.vector(vector.family, _whole(asked)))
    if not vector.agrees(answer):
        raise Failed(f"{_short(answer)}; expected {_short(vector.expected)}; asked {_short(asked)}")
    return Outcome()


def _whole(asked: Any) -> Any:
    """The same input with each byte string in one piece. Files may have a long one in parts, some repeated."""
    match asked:
        case dict():
            return {name: _whole(value) for name, value in asked.items()}
        case list() if any(isinstance(part, dict) and part.keys() == {"repeat", "times"} for part in asked):
            return unhex(asked).hex()
        case list():
            return [_whole(value) for value in asked]
    return asked


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + " ..."


# An encoder writes, a decoder reads.


def _text_cases(bench: Bench) -> Iterator[Case]:
    encoders, decoders = bench.of("encoder"), bench.of("decoder")
    for family in FAMILIES:
        for decoder in decoders:
            for encoder in encoders:
                for profile in encoder.profiles:
                    if profile in decoder.profiles and family.applies(profile):
                        yield _text_case(bench, encoder, decoder, profile, family)


def _text_case(bench: Bench, encoder: Subject, decoder: Subject, profile: str, family: TextFamily) -> Case:
    texts = family.texts(profile, bench.size)
    about = f"{texts} texts of {family.tokens(profile)} tokens: {family.comment}"
    told = {"family": family.name, "section": family.section, "comment": about, "profile": profile}
    judge = partial(_judge_texts, bench, encoder, decoder, profile, family, texts)
    return _case(judge, [encoder, decoder], ["encoder", "decoder"], kind="statistical", **told)


def _judge_texts(
    bench: Bench, encoder: Subject, decoder: Subject, profile: str, family: TextFamily, texts: int
) -> Outcome:
    if family.needs:
        _declared(decoder, family.needs)
    right = 0
    for i, written in enumerate(bench.texts(encoder, profile, family.layout, family.tokens(profile), texts)):
        whole = _answered(encoder, written.answer, "the encoder's").text
        text = family.change(whole, random.Random(f"{bench.seed}/{family.name}/{i}"))  # noqa: S311 - reproducible
        right += _is_right(_read(decoder, profile, text, ALPHA), written, family.layout)
    return _held(right, texts, family.bound)


def _is_right(found: Decoded, written: Written, layout: int) -> bool:
    if not found.detected:
        return False
    if layout == 1:
        return found.code == written.record.record().beacon.code
    return found.record == written.record


# A decoder reads, or a detector is asked, what people wrote.


def _human_case(
    judge: Callable[[int], Outcome], subject: Subject, role: Role, section: str, texts: int, **told: str
) -> Case:
    about = f"{texts} texts by people, {'read' if role == 'decoder' else 'asked'} at the level {HUMAN_ALPHA}"
    told |= {"family": "human", "section": section, "comment": about}
    return _case(partial(judge, texts), [subject], [role], kind="statistical", **told)


def _judge_human(decoder: Subject, profile: str, texts: int) -> Outcome:
    found = [_read(decoder, profile, text, HUMAN_ALPHA).detected for text in human_texts(profile, texts)]
    return _held(sum(found), texts, HUMAN)


# A detector is asked.


def _asked_case(detector: Subject, request: Request) -> Case:
    told = {"family": "asked", "section": request.section, "comment": request.comment}
    judge = partial(_judge_asked, detector, request)
    return _case(judge, [detector], ["detector"], kind="exact", name=f"asked/{request.name}", **told)


def _judge_asked(detector: Subject, request: Request) -> Outcome:
    told = _provided(detector)
    body = request.body(told)
    heard = _post(detector, body, request.media_type, authorized=request.authorized)
    if what := request.wrong(told, heard):
        raise Failed(f"{what}; asked {_short(body[:_SHOWN].decode('utf-8', 'replace'))}")
    return Outcome()


def _judge_question(detector: Subject, vector: Vector) -> Outcome:
    """A vector, as the detector takes it from outside."""
    code, body = vector.expected["status"], own_question(body_of(vector.input), _provided(detector))
    expected = (STATUSES[code], "" if code == "ok" else code)
    fewer = (413, "input-too-large") if len(body) > LEAST else None
    if what := wrong(body, _post(detector, body), expected, fewer):
        raise Failed(f"{what}; asked {_short(vector.input)}")
    return Outcome()


def _judge_found(detector: Subject, texts: int) -> Outcome:
    found = 0
    for text in human_texts(PUBLIC, texts):
        body = question(_provided(detector), text)
        heard = _post(detector, body)
        if what := wrong(body, heard, (200, "")):
            raise Failed(what)
        found += json.loads(bytes.fromhex(heard.body))["outcome"] == "found"
    return _held(found, texts, HUMAN)


def _provided(detector: Subject) -> Started:
    """What a detector says of itself, its provider's number included."""
    if detector.told is None or detector.told.provider is None:
        raise Failed("it does not say for which provider it answers")
    return detector.told


def _post(detector: Subject, body: bytes, media_type: str = "application/json", *, authorized: bool = True) -> Heard:
    request = Ask(id=0, body=body.hex(), media_type=media_type, authorized=authorized)
    return _answered(detector, detector.adapter.ask(request, Heard))


# A proxy runtime states its weights at places of human text.


def _numeric_case(decoder: Subject, numeric: Numeric) -> Case:
    about = f"weights of the proxy at {numeric.places} places of text by people"
    told = {"family": NUMERIC, "section": "13", "comment": about, "profile": numeric.profile}
    return _case(partial(_judge_numeric, decoder, numeric), [decoder], ["decoder"], kind="numeric", **told)


def _judge_numeric(decoder: Subject, numeric: Numeric) -> Outcome:
    _declared(decoder, NUMERIC)
    answers = [_answered(decoder, decoder.adapter.vector(NUMERIC, asked)) for asked in numeric.questions]
    try:
        variation = numeric.variation(answers)
    except ValueError as error:
        raise Failed(f"these are no weights: {describe_error(error)}") from error
    limit = numeric.tolerance
    measure = Measure(name="mean total variation", value=float(variation), limit=float(limit))
    return Outcome(measure=measure, wrong="" if variation <= limit else f"{measure} is asked for")


# What they share.


def _case(
    judge: Callable[[], Outcome], asked: Sequence[Subject], roles: Sequence[Role], *, name: str = "", **told: Any
) -> Case:
    """A case about these implementations; its id begins with the name, or else with the family and the profile."""
    labels = [subject.label for subject in asked]
    begins = [name] if name else filter(None, [told["family"], told.get("profile")])
    classes = classes_of(told["family"], roles)
    return Case(Question(id="/".join([*begins, *labels]), implementations=labels, classes=classes, **told), judge)


def _answered(subject: Subject, answer: _T | Refused | Skipped, whose: str = "an") -> _T:
    """The answer that an implementation was asked for.

    Raises:
        Failed, Skip: there is an error or a declared skip instead.
    """
    if isinstance(answer, Skipped):
        raise Skip(answer.skip)
    if isinstance(answer, Refused):
        raise Failed(f"{whose} error instead of an answer: {answer.status}: {answer.message}", subject.label)
    return answer


def _declared(subject: Subject, family: str, profile: str | None = None) -> None:
    """Skip what an implementation does not declare."""
    if subject.told and family not in subject.told.families:
        raise Skip(f"it does not declare the family {family}")
    if profile is not None and profile not in subject.profiles:
        raise Skip(f"it does not declare the profile {profile}")


def _read(decoder: Subject, profile: str, text: str, alpha: float) -> Decoded:
    """What a decoder says about a text, after a check that it does not contradict itself."""
    request = Decode(id=0, profile=profile, text=text, alpha=alpha)
    answer = _answered(decoder, decoder.adapter.ask(request, Decoded), "the decoder's")
    spans = sorted(answer.spans, key=lambda span: span.start)
    whole = decoder.told is not None and "decode-spans" not in decoder.told.families  # a basic reader
    for good, why in (
        (not answer.detected or answer.p_value <= alpha, f"a code is detected, but p is {answer.p_value}"),
        (answer.detected == bool(spans), f"detected is {answer.detected}, with {len(spans)} spans"),
        (all(s.start < s.end <= len(text) for s in spans), "a span lies outside the text"),
        (all(one.end <= other.start for one, other in pairwise(spans)), "spans overlap"),
        (all(s.p_value <= alpha for s in spans), "a span has a p-value above the level"),
        (not spans or answer.code in [s.code for s in spans], "the code is that of no span"),
        (answer.detected or answer.record is None, "a record where nothing was detected"),
        (not whole or all((s.start, s.end) == (0, len(text)) for s in spans), "its span is not the whole text"),
        (not whole or answer.record is None or answer.record.layout == 1, "its record has several codes"),
    ):
        if not good:
            raise Failed(f"the decoder contradicts itself: {why}", decoder.label)
    return answer


def _held(successes: int, trials: int, bound: Bound) -> Outcome:
    """A rate, compared with its bound."""
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

"""Whom to ask about a text, all of them at once, and their answers side by side (spec section 20)."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, wait

from pydantic import ValidationError

from ctwl_decoder.errors import InputTooLarge, NotText, OptionOutOfRange
from ctwl_decoder.report import Report, Signpost, signpost
from ctwl_protocol import CTWLError
from ctwl_protocol.asking import MAX_ANSWER, MAX_TEXT, Answer, Question, Refusal
from ctwl_protocol.registry import Trusted
from ctwl_protocol.schema import read_json

from ..errors import NoAnswer, NoDetector
from .model import Answers, Query, Reply
from .wire import SECONDS, Network
from .wording import said_together

MOST = 64
"""Questions about one text. Chosen by hand: a registry may name a thousand detectors."""

_SHOWN = 500
"""Characters of a reason that are kept: a hostile server chooses how long its words are."""


def queries(
    text: str, report: Report | None, registry: Trusted, *, level: float, providers: Sequence[int] = (),
    keep_days: int = 0, whole: bool = False,
) -> list[Query]:  # fmt: skip
    """Whom to ask about what.

    Args:
        text: the text as given.
        report: what it carries: the detectors of its signposts are asked about their passages. Where it has none, and
            where there is no report, all active providers' detectors are asked about the whole text.
        registry: names the detectors.
        level: of all questions together.
        providers: numbers of the providers to ask instead of those in the report; each gets the whole text.
        keep_days: how many days a detector may keep the text.
        whole: ask the signposts' detectors about the whole text too.

    Raises:
        NoDetector: the registry names none, or not that of a provider.
        OptionOutOfRange: there are more than :data:`MOST` questions.
        InputTooLarge: a part has more characters than one may ask about.
        NotText: the text is empty.
    """
    everything = [(0, len(text))]
    if providers or report is None or not report.signposts:
        named = _named(registry, providers) if providers else _active(registry)
        asked = [(each, everything) for each in named]
    else:
        asked = [(each, everything if whole else _passages(report, each.provider)) for each in report.signposts]
    if not asked:
        raise NoDetector("the registry names no detector to ask; trust another one (ctwl-registry update --help)")
    if not text:
        raise NotText("the text is empty, so there is nothing to ask about; name another file")
    parts = [(each, start, text[start:end]) for each, passages in asked for start, end in passages if start < end]
    if len(parts) > MOST:
        raise OptionOutOfRange(f"that would be {len(parts)} questions, and at most {MOST} are asked; name a provider")
    if any(len(part) > MAX_TEXT for *_, part in parts):
        raise InputTooLarge(f"a detector is asked about at most {MAX_TEXT:,} characters; cut the text into parts")
    return [
        Query(
            each,
            start,
            Question(provider=each.provider, text=part, level=level / len(parts), keep_days=keep_days),
        )
        for each, start, part in parts
    ]


def _named(registry: Trusted, providers: Sequence[int]) -> list[Signpost]:
    found = []
    for provider in dict.fromkeys(providers):
        if (detector := signpost(registry, provider)) is None:
            raise NoDetector(f"the registry names no detector of provider {provider}; try ctwl-decode resolve")
        found.append(detector)
    return found


def _active(registry: Trusted) -> list[Signpost]:
    """The detectors of all active providers, in the registry's order."""
    found = (signpost(registry, each.code) for each in registry.registry.providers() if each.state == "active")
    return [each for each in found if each]


def _passages(report: Report, provider: int) -> list[tuple[int, int]]:
    """The passages that went through a provider's model."""
    return [
        (span.start, span.end)
        for span in report.spans
        if span.record and any(hop.provider == provider for hop in span.record.chain)
    ]


def ask_all(
    asked: Sequence[Query],
    network: Network,
    tokens: Mapping[str, str] | None = None,
    seconds: float = SECONDS,
) -> list[Reply]:
    """Ask all detectors at once; each is answered or given up within the time.

    Args:
        asked: the questions. Whoever calls has consent to send them.
        network: what may be reached.
        tokens: bearer tokens, by the address to which alone each is sent.
        seconds: for all of it.
    """
    tokens = tokens or {}
    replies: list[Future[Reply]] = [Future() for _ in asked]
    for number, (query, reply) in enumerate(zip(asked, replies, strict=True)):
        # No pool: at its end Python waits for a pool's threads, and a look-up of a name cannot be interrupted.
        work = (reply, query, network, tokens.get(query.detector.url), seconds)
        threading.Thread(target=_ask_into, args=work, daemon=True, name=f"ctwl-ask-{number}").start()
    done, _ = wait(replies, seconds + 1)
    late = NoAnswer(f"no answer within {seconds:g} seconds")
    pairs = zip(asked, replies, strict=True)
    return [reply.result() if reply in done else _failed(query, late) for query, reply in pairs]


def _ask_into(reply: Future[Reply], query: Query, network: Network, token: str | None, seconds: float) -> None:
    try:
        reply.set_result(ask(query, network, token, seconds))
    except CTWLError as error:
        reply.set_result(_failed(query, error))
    except Exception as error:  # a fault of ours is one detector's silence, not everybody's
        reply.set_result(_failed(query, NoAnswer(f"no answer: {type(error).__name__}")))


def ask(query: Query, network: Network, token: str | None, seconds: float) -> Reply:
    """Ask one detector.

    Raises:
        AddressRefused, NoAnswer: see :meth:`Network.post`.
        AnswerMalformed: it answers in another form, or contradicts the question.
    """
    headers = {"authorization": f"Bearer {token}"} if token else {}
    status, body = network.post(query.detector.url, query.question.to_bytes(), headers, seconds)
    if status != 200:
        return _refused(query, status, body)
    answer = Answer.from_bytes(body, query.question)
    told = answer.model_dump(exclude={"format", "provider", "places"})
    places = [(query.start + start, query.start + end) for start, end in answer.places]
    return _reply(query, **told, places=places)


def _refused(query: Query, status: int, body: bytes) -> Reply:
    try:
        refusal = Refusal.model_validate(read_json(body[:MAX_ANSWER]))
    except (ValidationError, ValueError):  # a redirect, a page of a server before it
        return _reply(query, outcome="refused", code=f"status-{status}", says=f"status {status}, without a reason")
    return _reply(query, outcome="refused", code=refusal.code, says=refusal.message[:_SHOWN])


def _failed(query: Query, error: CTWLError) -> Reply:
    return _reply(query, outcome="no-answer", code=error.code, says=str(error)[:_SHOWN])


def _reply(query: Query, **told: object) -> Reply:
    who = query.detector.model_dump(include={"provider", "name", "scheme", "url"})
    return Reply.model_validate({**who, "start": query.start, "end": query.end, **told})


def together(asked: Sequence[Query], replies: Sequence[Reply], report: Report | None) -> Answers:
    """The answers as one report."""
    routed = report is not None and not report.signposts
    says = said_together(replies, report)
    return Answers(routed=routed, level=asked[0].question.level, replies=list(replies), says=says)

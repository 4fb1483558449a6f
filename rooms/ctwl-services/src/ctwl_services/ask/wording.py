"""What would be sent, and what was answered, in words. Nothing of a stranger steers a display."""

from __future__ import annotations

from collections.abc import Sequence

from ctwl_decoder.report import Report, format_p_value
from ctwl_protocol.command import harmless

from .model import OUTCOMES, Answers, Query, Reply

_PLAIN = str.maketrans(dict.fromkeys("“”„‟«»″‶〝〞〟＂❝❞❠🙶🙷🙸⹂˝ˮ", '"'))
"""Marks that look like those of a quotation."""

PROVES_NOTHING = "An answer is the word of the provider who gives it, and proves nothing."


def said_together(replies: Sequence[Reply], report: Report | None) -> list[str]:
    """What the answers say together, in sentences."""
    by = {outcome: list(dict.fromkeys(r.name for r in replies if r.outcome == outcome)) for outcome in OUTCOMES}
    said, found = [], by["found"]
    if len(found) > 1:
        chained = report is not None and any(
            span.record and set(found) <= {hop.name for hop in span.record.chain} for span in report.spans
        )
        said.append(f"{_listed(found)} each say that the text, or a part of it, is theirs.")
        said.append(
            "The code says the same: one model went on with the other's text."
            if chained
            else "They contradict each other, unless one model went on with the other's words."
        )
    elif found:
        said.append(f"{found[0]} says that the text, or a part of it, is its own.")
    elif by["none"]:
        said.append(f"{_listed(by['none'])} found nothing. That excludes nothing: marks wear off.")
        if report is not None and report.signposts:
            said.append("The code pointed there; anyone can write an open code.")
    if silent := [name for outcome in ("unable", "refused", "no-answer") for name in by[outcome] if name not in found]:
        said.append(f"Nothing is known from {_listed(list(dict.fromkeys(silent)))}.")
    return [*said, PROVES_NOTHING]


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def sentence(reply: Reply) -> str:
    """What became of a question, in words."""
    says = f" It says: {_quoted(reply.says)}" if reply.says else ""
    match reply.outcome:
        case "unable":
            return f"cannot tell.{says}"
        case "refused":
            return f"refused the question ({reply.code}).{says}"
        case "no-answer":
            return f"gave no answer ({reply.code}): {harmless(reply.says)}"
    assert reply.error_rate is not None  # noqa: S101 - an answer that was checked has one
    how = "measured on texts" if reply.measured else "computed"
    rate = f"rate of false alarms {format_p_value(reply.error_rate)} ({how})"
    places = ", ".join(f"{start} to {end}" for start, end in reply.places)
    where = f", characters {places}" if places else ""
    kept = f"; keeps the text {reply.kept_days} days" if reply.kept_days else ""
    what = "found" if reply.outcome == "found" else "found nothing"
    return f"{what} by {', '.join(reply.basis)}: {rate}{where}{kept}.{says}"


def in_lines(answers: Answers) -> list[str]:
    """The answers, and what they say together."""
    lines = [
        f"{harmless(reply.name)} (provider {reply.provider}), characters {reply.start} to {reply.end}: "
        + sentence(reply)
        for reply in answers.replies
    ]
    return [*lines, *answers.says]


def _quoted(words: str, more: str = "") -> str:
    """Words of a stranger as a quotation, which they cannot end: in it, marks like its own are plain ones."""
    return f"“{harmless(words.translate(_PLAIN))}{more}”"


def to_be_sent(query: Query, length: int, *, token: bool = False) -> str:
    """What a person agrees to, in words.

    Args:
        query: the question.
        length: characters of the whole text.
        token: whether a bearer token goes along.
    """
    part = query.question.text
    whole = (query.start, query.end) == (0, length)
    what = f"characters {query.start} to {query.end} of {length:,}"
    what = f"the whole text, {length:,} characters" if whole else what
    days = query.question.keep_days
    kept = f"to be kept {days} days at most" if days else "not to be kept"
    begins = _quoted(" ".join(part[:60].split()), "..." if len(part) > 60 else "")
    with_token = "\n  with your bearer token for this address" if token else ""
    who = f"{harmless(query.detector.name)} (provider {query.detector.provider}), for {harmless(query.detector.scheme)}"
    return f"to {query.detector.url}\n  of {who}\n  {what}, {kept}\n  beginning {begins}{with_token}"

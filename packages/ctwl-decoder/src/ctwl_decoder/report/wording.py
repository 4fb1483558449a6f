"""The report in words: what a verdict means, and what it does not mean. The words are those of :mod:`..words`."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ctwl_protocol.errors import CTWLError, ProxyNotFound
from ctwl_protocol.records.layouts import MAX_CODES

from ..options import STRONG
from ..search.candidates import HeldBy
from ..text.variants import AS_GIVEN
from ..words import ENOUGH_TOKENS, say
from .model import BodyReport, HeldBack, Hop, ProfileRead, ReadRecord, Report, Result, Span

_MOST_DIGITS = 16  # a float has no more


def held_back(rule: HeldBy, needed: float | None, contexts: int, *, light: bool, own: bool = False) -> HeldBack:
    """Why the best code was not found, and what may show more.

    Args:
        rule: the one that it does not pass.
        needed: the largest p-value that passes it; None where it asks for something else.
        contexts: the distinct contexts that the code stands on.
        light: whether the text was read by ranks alone.
        own: whether the reader named the language model.
    """
    if rule == "e-value":
        advice = say("report-more-other")
    elif light:
        advice = say("report-more-whole")
    else:
        advice = say("report-more") if own else f"{say('report-more')} {say('report-stronger')}"
    says = why_held(rule, needed, contexts)
    return HeldBack(rule=rule, needed=needed, contexts=contexts, says=says, advice=advice)


def why_held(rule: HeldBy, needed: float | None, contexts: int) -> str:
    """Why the best code was not found, in a sentence; see :func:`held_back`."""
    return say(f"held-{rule}", needed="" if needed is None else format_p_value(needed), contexts=contexts)


def headline(report: Report) -> str:
    """The verdict in a sentence."""
    if report.outcome != "found":
        return say("short" if report.outcome == "too-short" else "none")
    codes = {span.code for span in report.spans}
    one = len(codes) == 1
    return f"{_found(report)}: {describe_origin(report.spans[0]) if one else say('report-records', count=len(codes))}"


def _found(report: Report) -> str:
    """How much of a text carries a watermark."""
    if len(report.spans) > 1:
        return say("found-parts", count=len(report.spans))
    return say("found-whole" if report.spans[0].tokens == report.tokens else "found-part")


def caveats(report: Report) -> list[str]:
    """What a reader must know to understand the verdict."""
    if report.detected:
        first = [say("report-chance", number=_one_in(report.p_value))]
    elif report.outcome == "too-short":
        first = [_shortage(report)]
    else:
        p, level = _told_apart(report.p_value, report.alpha)
        first = [say("report-best", searched=f"{report.searched:,}", p=p, alpha=level)]
        if report.held_back and report.held_back.rule != "level":
            first.append(say("report-held", why=report.held_back.says, advice=report.held_back.advice))
    return [*first, *_notes(report)]


def describe(report: Report) -> str:
    """The whole report for people, in lines of plain text: the verdict first."""
    size = say("report-size", tokens=report.tokens, scored=report.scored, profile=report.profile, read=means(report))
    size = "\n".join([size, *tried(report.profiles)])
    if report.outcome == "too-short":
        return "\n".join([f"{headline(report)}. {_shortage(report)}", size, *_notes(report)])
    if report.outcome == "none":
        return "\n".join([f"{headline(report)} ({why_none(report)}).", size, *_held(report), *_notes(report)])
    p_value, hits = format_p_value(report.p_value), say("report-hits", **_numbers(report))
    if len(report.spans) > 1:
        p_value, hits = (say("report-clearest", value=value) for value in (p_value, hits))
    rows = [
        ("p-value", f"{p_value}   {say('report-p-value')}"),
        ("hits", f"{hits}; {say('report-wrong-code', **_numbers(report))}"),
    ]
    if report.form != AS_GIVEN:
        rows.append(("read", report.form))
    if report.registry:
        rows.append(("registry", report.registry))
    return "\n".join([*_describe_spans(report), *_lines(rows), size, *_notes(report)])


def _numbers(report: Report) -> dict[str, object]:
    return {"hits": report.hits, "scored": report.scored, "score": report.score, "expected": f"{report.expected:.1f}"}


def _lines(rows: Sequence[tuple[str, str]], indent: str = "") -> list[str]:
    return [f"{indent}{label:<9} {text}" for label, text in rows]


def _describe_spans(report: Report) -> list[str]:
    if len(report.spans) == 1:
        (span,) = report.spans
        found = f"{say('found-whole')}: {describe_origin(span)}"
        return [found, *_lines([("where", _place(span)), *describe_record(span.record)])]
    lines = [_found(report)]
    for span in report.spans:
        lines.append(f"{_place(span)}: {describe_origin(span)}, p-value {format_p_value(span.p_value)}")
        lines += _lines(describe_record(span.record), "    ")
    return lines


def _place(span: Span) -> str:
    return say("report-place", start=span.start, end=span.end)


def describe_body(report: BodyReport) -> str:
    """The report on texts that were read together, in lines of plain text."""
    numbers = report.model_dump(include={"texts", "tokens", "profile"})
    size = say("report-size-together", **numbers, read=say(f"report-read-{report.read}"))
    size = "\n".join([size, *tried(report.profiles)])
    if report.origin is None:
        verdict = f"{say('report-none-together', verdict=say('none'))} ({why_none(report)})."
        lines = [verdict, size, *_held(report), say("no-proof")]
    else:
        verdict = f"{say('report-found-together', verdict=say('found-whole'))}: {describe_hop(report.origin)}"
        p_value = f"{format_p_value(report.p_value)}   {say('report-p-value-together')}"
        proves = say("forgeable" if report.registry else "report-private")
        lines = [verdict, *_lines([("p-value", p_value)]), size, say("report-which"), proves]
    return "\n".join([*lines, *not_tried(report.profiles)])


def describe_origin(span: Span) -> str:
    """Where a span comes from."""
    return describe_hop(span.record.chain[0]) if span.record else f"code {span.code}"


def describe_hop(hop: Hop) -> str:
    """A provider and its model version, by name as far as the registry knows them."""
    version = f"model version {hop.version}" + (f" ({hop.model})" if hop.model else "")
    if hop.name is None:
        registered = "" if hop.state is None else ", not registered"
        return f"provider {hop.provider}{registered}, {version}"
    state = "" if hop.state == "active" else f", {hop.state}"
    return f"{hop.name} (provider {hop.provider}{state}), {version}"


def describe_record(record: ReadRecord | None) -> list[tuple[str, str]]:
    """What a record says beside its origin: pairs of a label and a text."""
    if record is None:
        return []
    if record.layout is None:
        return [("record", say("record-unread"))]
    in_chain = {"provider", "version"} | {
        f"{name}_{i}" for name in ("provider", "version", "nonce") for i in range(1, MAX_CODES)
    }
    fields = [f"{name.replace('_', ' ')} {value}" for name, value in record.fields.items() if name not in in_chain]
    rows = [("record", ", ".join([record.layout, *fields]))]
    rows += [("before", describe_hop(hop)) for hop in record.chain[1:]]
    if record.sealed is not None:
        sealed = record.user is None
        rows.append(("user", say("sealed" if sealed else "report-opened", user=record.user, epoch=record.epoch)))
    if record.authenticated is not None and record.authenticated_p_value is not None:
        says = say("report-holds" if record.authenticated else "report-fails")
        rows.append(("authentic", f"{says} (p = {format_p_value(record.authenticated_p_value)})"))
    elif record.authenticator:
        rows.append(("authentic", say("authentic")))
    if len(record.codes) > 1:
        rows.append(("certain", say("report-certain", p=format_p_value(record.p_value))))
    return rows


def read_better(name: str, reading_model: str) -> str:
    """By which model a text of a provider would show more, in a sentence."""
    option = "--strong" if reading_model == STRONG else f"--reading-model {reading_model}"
    return say("read-better", reading_model=reading_model, name=name, option=option)


def files_missing(light: Report, error: ProxyNotFound) -> str:
    """Why a text was not read whole by a profile that was named, in short lines.

    Args:
        light: the report by the ranks alone.
        error: says what is missing.
    """
    why = "" if light.detected else f" ({why_none(light)})"
    lines = [
        f"{say('report-quick', verdict=headline(light))}{why}.",
        say("report-needs-files", profile=light.profile) + (say("report-not-here") if error.fetch else f": {error}."),
        say("report-try"),
        f"  {say('report-try-light')}",
        f"  {say('report-try-all')}",
    ]
    if error.fetch:
        lines.append(f"  {error.fetch}")
    return "\n".join(lines)


def means(report: Report) -> str:
    """By what a text was read."""
    if report.read == "light":
        return say("report-read-light")
    return say("report-read-by", reader=report.reading_model or say("report-proxy"), arithmetic=report.arithmetic)


def format_p_value(p: float, more: int = 0) -> str:
    """A p-value for people: three digits, or two and a power of ten; and so many more."""
    if p >= 0.001 or p == 0:
        return f"{p:.{3 + more}g}"
    digits, exponent = f"{p:.{1 + more}e}".split("e")
    return f"{digits}e{int(exponent)}"


def _told_apart(p: float, level: float) -> tuple[str, str]:
    """A p-value and the level, with as many digits as tell them apart."""
    pairs = ((format_p_value(p, more), format_p_value(level, more)) for more in range(_MOST_DIGITS))
    return next((pair for pair in pairs if pair[0] != pair[1] or p == level), (repr(p), repr(level)))


def _shortage(report: Report) -> str:
    name = "report-shortage" if report.tokens < report.needed else "report-shortage-repeats"
    return f"{say(name, tokens=report.tokens, needed=report.needed)} {say('advice')}"


def _notes(report: Report) -> list[str]:
    """What to know beside the verdict: what is not proved, or not shown; other marks, and what is hidden."""
    notes, missing = [], not_tried(report.profiles)
    if report.detected:
        proves = say("report-confirmed" if report.authenticated else "forgeable")
        notes = [proves if report.registry else say("report-private"), say("nothing-else")]
        notes += [each.says for each in report.signposts]
    elif report.outcome == "none":
        names = " or ".join(each.name for each in report.profiles) or report.profile
        few = [say("report-few")] if report.tokens < ENOUGH_TOKENS else []
        notes = [" ".join([say("report-not-shown", names=names, tokens=report.tokens), *few, say("shows-from")])]
        if report.read == "light":
            notes += [say("report-light")] * (not missing)
        elif report.reading_model is None and report.better_reader is None:
            notes.append(say("report-stronger"))
        notes += [report.better_reader.says] if report.better_reader else []
        notes.append(say("no-proof"))
    return [*notes, *missing, *(mark.says for mark in report.other_marks), *(each.says for each in report.hidden)]


def tried(profiles: Sequence[ProfileRead]) -> list[str]:
    """Which profiles a text was read by, where these are several."""
    if len(profiles) < 2:
        return []
    names = ", ".join(say(f"profile-{each.read}", name=each.name) for each in profiles)
    line = say("report-tried", profiles=say("paid", names=names, count=len(profiles)))
    if any(each.outcome == "found" for each in profiles) and all(
        each.read == "light" and each.missing is None for each in profiles
    ):
        line += f" {say('report-not-asked')}"
    return [line]


def not_tried(profiles: Sequence[ProfileRead]) -> list[str]:
    """What would add to a reading and is not here, and the commands that get it."""
    return [_not_here(each.name, each.fetch, each.missing) for each in profiles if each.missing is not None]


def not_here(name: str, error: CTWLError) -> str:
    """The same of one profile, whose language model was not found."""
    return _not_here(name, error.fetch if isinstance(error, ProxyNotFound) else None, str(error))


def _not_here(name: str, fetch: str | None, missing: str) -> str:
    not_tried = say("report-not-tried", name=name)
    return f"{not_tried}{say('report-fetch', fetch=fetch) if fetch else f': {missing}'}"


def why_none(report: Result) -> str:
    """Why no code was found: the p-value, and the level or the rule that held the code back."""
    held = report.held_back
    if held is None or held.rule == "level":
        p, level = _told_apart(report.p_value, report.alpha)
        return say("report-above", p=p, alpha=level)
    return say("report-held-at", p=format_p_value(report.p_value), why=held.says)


def _held(report: Result) -> list[str]:
    """What to do where a p-value below the level was held back."""
    held = report.held_back
    return [held.advice] if held and held.rule != "level" else []


def _one_in(p: float) -> str:
    return f"{math.floor(1 / p):,}" if p > 1e-9 else f"10^{math.floor(-math.log10(p))}"

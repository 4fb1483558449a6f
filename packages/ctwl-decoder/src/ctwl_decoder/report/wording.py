"""The report in words: what a verdict means, and what it does not mean."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ctwl_protocol.errors import CTWLError, ProxyNotFound
from ctwl_protocol.records.layouts import MAX_CODES

from ..options import STRONG
from ..search.candidates import HeldBy
from ..text.variants import AS_GIVEN
from ..words import english
from .model import (
    CHAT_TOKENS,
    ENOUGH_TOKENS,
    ENOUGH_WORDS,
    BodyReport,
    HeldBack,
    Hop,
    ProfileRead,
    ReadRecord,
    Report,
    Span,
)

_WORDS = english()
FOUND = _WORDS["found-whole"]
NONE_FOUND = _WORDS["none"]
TOO_SHORT = _WORDS["short"]
NO_PROOF = (
    "A model may still have written the text: marks wear off, most models write none, and a mark of another profile "
    "does not show here."
)
SHOWS_FROM = (
    f"Unedited, a mark mostly shows from {ENOUGH_TOKENS} tokens ({ENOUGH_WORDS} words) on in varied text; in a chat "
    f"it may take {CHAT_TOKENS} tokens and more."
)
ENOUGH = (
    f"Below {ENOUGH_TOKENS} tokens ({ENOUGH_WORDS} words) a code often does not show. Above it, a code may still not "
    "show."
)
LIKELIEST_SHOWN = "What speaks for the likeliest code"
LIKELIEST_MEANS = (
    "No code was found. Some code is always the likeliest, in any text: these colours and this curve mean nothing by "
    "themselves, and do not show who wrote a word."
)
HITS_MEAN = "the best of all codes always has more, and only the p-value says whether it has too many for chance"
ROUGH = _WORDS["rough"]
PRIVATE = "Only someone with the profile's key can have written it, or can read it."
SUITS_KIND = _WORDS["held-e-value"]
NEEDS_WHOLE = "Read it by a language model too (leave out --light), or more of the text."
NEEDS_MORE = "Read more of the text."
NEEDS_OTHER = "Read more from the same writer, of another kind than lists and numbers."
STRONGER = "A larger language model shows more of texts that large models wrote: ctwl-decode --strong."

LIGHT = "The text was read by the ranks of its tokens alone; with the proxy LM the decoder finds more."
ADD_LIGHT = "If the ranks alone are enough, add --light."
FORGEABLE = "Anyone can write open codes: they say what the text carries, not who put it there."
CONFIRMED = "Its authenticator was written with the provider's keys, or copied together with a text that was."
READ_TOGETHER = (
    "Short texts of one conversation show more together: add --together, and multiply its p-value by 2, as each was "
    "read already."
)
BODY_MEANS = "It is a verdict on all of them: it does not say which of them carry the watermark."
NOTHING_ELSE = "It says nothing about the words outside the passages found, and nothing about whether the text is true."
_OPENED = "{}, opened in key epoch {}; a wrong key or epoch opens one text in 256"
_HOLDS = "holds: written with the provider's keys; a copy of such a text carries it too"
_FAILS = "NOT shown: written with other keys, edited since, or too short to show it"
_MOST_DIGITS = 16  # a float has no more
_UNREAD = "more codes follow the beacon; their layout is unknown here, or they are not clear enough to be read"


def held_back(rule: HeldBy, needed: float | None, contexts: int, *, light: bool, own: bool = False) -> HeldBack:
    """Why the best code was not found, and what may show more.

    Args:
        rule: the one that it does not pass.
        needed: the largest p-value that passes it; None where it asks for something else.
        contexts: the distinct contexts that the code stands on.
        light: whether the text was read by ranks alone.
        own: whether the reader named the language model.
    """
    most = "" if needed is None else format_p_value(needed)
    says = _WORDS[f"held-{rule}"].format(needed=most, contexts=contexts)
    advice = NEEDS_WHOLE if light else NEEDS_MORE if own else f"{NEEDS_MORE} {STRONGER}"
    return HeldBack(rule=rule, needed=needed, contexts=contexts, says=says,
                    advice=NEEDS_OTHER if rule == "e-value" else advice)  # fmt: skip


def headline(report: Report) -> str:
    """The verdict in a sentence."""
    if report.outcome == "too-short":
        return TOO_SHORT
    if report.outcome == "none":
        return NONE_FOUND
    codes = {span.code for span in report.spans}
    origin = describe_origin(report.spans[0]) if len(codes) == 1 else f"{len(codes)} records"
    if len(report.spans) == 1 and report.spans[0].tokens == report.tokens:
        return f"{FOUND}: {origin}"
    return f"{in_passages(len(report.spans))}: {origin}"


def in_passages(count: int) -> str:
    """That so many passages carry a watermark."""
    return _WORDS["found-part" if count == 1 else "found-parts"].format(count=count)


def caveats(report: Report) -> list[str]:
    """What a reader must know to understand the verdict."""
    if report.detected:
        one_in = _one_in(report.p_value)
        first = [f"Of texts without a watermark, at most one in {one_in} would show some code as clearly."]
    elif report.outcome == "too-short":
        first = [_shortage(report)]
    else:
        p, level = _told_apart(report.p_value, report.alpha)
        first = [f"The best of {report.searched:,} codes has p = {p}; the level is {level}."]
        if report.held_back and report.held_back.rule != "level":
            first.append(f"It was held back: {report.held_back.says}. {report.held_back.advice}")
    return [*first, *_notes(report)]


def describe(report: Report) -> str:
    """The whole report for people, in lines of plain text: the verdict first."""
    size = f"{report.tokens} tokens, {report.scored} scored; profile {report.profile} ({means(report)})"
    size = "\n".join([size, *tried(report.profiles)])
    if report.outcome == "too-short":
        return "\n".join([f"{TOO_SHORT}. {_shortage(report)}", size, *_notes(report)])
    if report.outcome == "none":
        return "\n".join([f"{NONE_FOUND} ({why_none(report)}).", size, *_held(report), *_notes(report)])
    clearest = "" if len(report.spans) == 1 else ", the clearest passage's"
    lines = [
        *_describe_spans(report.spans),
        f"p-value   {format_p_value(report.p_value)}{clearest}   how often chance would do as well, over all codes and "
        "places searched",
        f"hits      {report.hits} of {report.scored} by the {report.score} score{clearest}; a wrong code has "
        f"{report.expected:.1f}",
    ]
    if report.form != AS_GIVEN:
        lines.append(f"read      {report.form}")
    if report.registry:
        lines.append(f"registry  {report.registry}")
    return "\n".join([*lines, size, *_notes(report)])


def _describe_spans(spans: list[Span]) -> list[str]:
    if len(spans) == 1:
        (span,) = spans
        return [
            f"{FOUND}: {describe_origin(span)}",
            f"where     characters {span.start} to {span.end}",
            *(f"{label:<9} {text}" for label, text in describe_record(span.record)),
        ]
    lines = [in_passages(len(spans))]
    for span in spans:
        place = f"characters {span.start} to {span.end}"
        lines.append(f"{place}: {describe_origin(span)}, p-value {format_p_value(span.p_value)}")
        lines += [f"    {label:<9} {text}" for label, text in describe_record(span.record)]
    return lines


def describe_body(report: BodyReport) -> str:
    """The report on texts that were read together, in lines of plain text."""
    size = f"{report.texts} texts read together, {report.tokens} tokens; profile {report.profile}"
    size += f" ({'ranks alone' if report.read == 'light' else 'the language model'})"
    size = "\n".join([size, *tried(report.profiles)])
    if report.origin is None:
        lines = [f"{NONE_FOUND} in these texts ({why_none(report)}).", size, *_held(report), NO_PROOF]
        return "\n".join([*lines, *not_tried(report.profiles)])
    return "\n".join(
        [
            f"{FOUND} in these texts together: {describe_hop(report.origin)}",
            f"p-value   {format_p_value(report.p_value)}   how often chance would do as well, over all providers, "
            "model versions and nonces searched",
            size,
            BODY_MEANS,
            FORGEABLE if report.registry else PRIVATE,
            *not_tried(report.profiles),
        ]
    )


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
        return [("record", _UNREAD)]
    in_chain = {"provider", "version"} | {
        f"{name}_{i}" for name in ("provider", "version", "nonce") for i in range(1, MAX_CODES)
    }
    fields = [f"{name.replace('_', ' ')} {value}" for name, value in record.fields.items() if name not in in_chain]
    rows = [("record", ", ".join([record.layout, *fields]))]
    rows += [("before", describe_hop(hop)) for hop in record.chain[1:]]
    if record.sealed is not None:
        rows.append(("user", _WORDS["sealed"] if record.user is None else _OPENED.format(record.user, record.epoch)))
    if record.authenticated is not None and record.authenticated_p_value is not None:
        says = _HOLDS if record.authenticated else _FAILS
        rows.append(("authentic", f"{says} (p = {format_p_value(record.authenticated_p_value)})"))
    elif record.authenticator:
        rows.append(("authentic", _WORDS["authentic"]))
    if len(record.codes) > 1:
        rows.append(("certain", f"p = {format_p_value(record.p_value)}, how often another record would fit as well"))
    return rows


def ask_there(name: str, scheme: str, url: str) -> str:
    """A signpost in a sentence."""
    return f"Ask there: the detector of {name} for {scheme} is at {url}. This is only an address; it proves nothing."


def read_better(name: str, reading_model: str) -> str:
    """By which model a text of a provider would show more, in a sentence."""
    option = "--strong" if reading_model == STRONG else f"--reading-model {reading_model}"
    return _WORDS["read-better"].format(reading_model=reading_model, name=name, option=option)


def no_detector(provider: int, name: str | None, state: str) -> str:
    """Why there is no signpost for a provider."""
    if name is None:
        return f"The registry has no provider {provider}."
    if state == "revoked":
        return f"The code of {name} is revoked, so the registry points to no detector."
    return f"The registry names no detector of {name}."


def files_missing(light: Report, error: ProxyNotFound) -> str:
    """Why a text was not read whole by a profile that was named, in short lines.

    Args:
        light: the report by the ranks alone.
        error: says what is missing.
    """
    verdict = f"The quick reading says: {headline(light)}"
    missing = " that are not here." if error.fetch else f": {error}."
    lines = [
        f"{verdict}." if light.detected else f"{verdict} ({why_none(light)}).",
        f"The whole reading needs files of {light.profile}{missing}",
        "Try one of these:",
        "  --light: the quick reading alone",
        "  no --profile: every published profile is read, as far as its files are here",
    ]
    if error.fetch:
        lines.append(f"  {error.fetch}")
    return "\n".join(lines)


def means(report: Report) -> str:
    """By what a text was read."""
    if report.read == "light":
        return "ranks alone"
    return f"{report.reading_model or 'the proxy LM'} in {report.arithmetic}"


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
    new = "" if report.tokens < report.needed else ", of which too few say something new,"
    return f"It has {report.tokens} tokens{new} and the test needs at least {report.needed}. {ENOUGH}"


def _notes(report: Report) -> list[str]:
    """What to know beside the verdict: what is not proved, or not shown; other marks, and what is hidden."""
    notes, missing = [], not_tried(report.profiles)
    if report.detected:
        proves = CONFIRMED if report.authenticated else FORGEABLE
        notes = [proves if report.registry else PRIVATE, NOTHING_ELSE, *(each.says for each in report.signposts)]
    elif report.outcome == "none":
        few = " That is few." if report.tokens < ENOUGH_TOKENS else ""
        names = " or ".join(each.name for each in report.profiles) or report.profile
        notes = [f"Not shown: a mark of {names} in this text of {report.tokens} tokens.{few} {SHOWS_FROM}"]
        if report.read == "light":
            notes += [LIGHT] * (not missing)
        elif report.reading_model is None and report.better_reader is None:
            notes.append(STRONGER)
        notes += [report.better_reader.says] if report.better_reader else []
        notes.append(NO_PROOF)
    return [*notes, *missing, *(mark.says for mark in report.other_marks), *(each.says for each in report.hidden)]


def tried(profiles: Sequence[ProfileRead]) -> list[str]:
    """Which profiles a text was read by, where these are several."""
    if len(profiles) < 2:
        return []
    how = {"light": "ranks alone", "whole": "a language model", "no": "not read"}
    names = ", ".join(f"{each.name} ({how[each.read]})" for each in profiles)
    line = f"Tried: {names}; the p-value pays for {len(profiles)} profiles."
    if any(each.outcome == "found" for each in profiles) and all(
        each.read == "light" and each.missing is None for each in profiles
    ):
        line += " No language model was asked, as the ranks were clear enough."
    return [line]


def not_tried(profiles: Sequence[ProfileRead]) -> list[str]:
    """What would add to a reading and is not here, and the commands that get it."""
    return [_not_here(each.name, each.fetch, each.missing) for each in profiles if each.missing is not None]


def not_here(name: str, error: CTWLError) -> str:
    """The same of one profile, whose language model was not found."""
    return _not_here(name, error.fetch if isinstance(error, ProxyNotFound) else None, str(error))


def _not_here(name: str, fetch: str | None, missing: str) -> str:
    how = f". It is not here; get it with: {fetch}" if fetch else f": {missing}"
    return f"Not tried: the language model of {name}, which finds more than ranks alone do{how}"


def why_none(report: Report | BodyReport) -> str:
    """Why no code was found: the p-value, and the level or the rule that held the code back."""
    held = report.held_back
    if held is None or held.rule == "level":
        return "p = {}, above {}".format(*_told_apart(report.p_value, report.alpha))
    return f"p = {format_p_value(report.p_value)}, held back: {held.says}"


def _held(report: Report | BodyReport) -> list[str]:
    """What to do where a p-value below the level was held back."""
    held = report.held_back
    return [held.advice] if held and held.rule != "level" else []


def _one_in(p: float) -> str:
    return f"{math.floor(1 / p):,}" if p > 1e-9 else f"10^{math.floor(-math.log10(p))}"

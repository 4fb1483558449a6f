"""What a report says of records, to people."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from functools import cache
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.console import Console

from ctwl_decoder import Decoder
from ctwl_decoder.report.analysis import Analysis, evidence_level
from ctwl_decoder.report.assembly import Assembler
from ctwl_decoder.report.html import html_report
from ctwl_decoder.report.interpretation import Interpreter
from ctwl_decoder.report.model import Hop, Likeliest, ReadRecord, Report, Span
from ctwl_decoder.report.terminal import show
from ctwl_decoder.report.wording import caveats, describe, describe_record, format_p_value, held_back
from ctwl_decoder.search.finding import Finding, find
from ctwl_decoder.search.plan import SearchPlan
from ctwl_decoder.search.records import RecordReader
from ctwl_decoder.search.spans import PositionSpan
from ctwl_decoder.statistics.light import likelier, rank_table, soft_table
from ctwl_decoder.statistics.scores import NAT, position_scores
from ctwl_decoder.text.tokens import tokenize_variants
from ctwl_decoder.words import say
from ctwl_protocol import get_profile
from ctwl_protocol.profile import TOY
from ctwl_protocol.proxy import Rivals, open_proxy
from ctwl_protocol.registry import load_trusted
from ctwl_services.page.build import read_words

HOP = Hop(provider=42, version=3, nonce=7, name=None, model=None, state="unregistered")
RECORD = ReadRecord(
    layout="acme", number=200, codes=[1, 2, 3], p_values=[1e-9] * 3, p_value=1e-8, fields={"sealed_user": 5},
    chain=[HOP], sealed=5, user=7, epoch=2, authenticator=True, authenticated=False, authenticated_p_value=0.02,
)  # fmt: skip


def report(*records: ReadRecord) -> Report:
    codes: dict[str, Any] = {"code": 1, "provider": 42, "version": 3, "nonce": 7, "p_value": 1e-9}
    spans = [Span(start=900 * i, end=900 * i + 800, tokens=200, record=each, **codes) for i, each in enumerate(records)]
    return Report(
        outcome="found", detected=True, spans=spans, **codes, record=records[0], likeliest=None,
        alpha=1e-4, score="half", hits=90, expected=50.0, scored=100, tokens=450,
        needed=40, form="as given", searched=1 << 20, registry="a registry", profile="org.example.1",
        profile_digest="0" * 64, read="whole", reading_model=None, arithmetic="float32",
    )  # fmt: skip


def nothing(**changed: Any) -> Report:
    """A report of a text in which no code was found."""
    codes = {"code": None, "provider": None, "version": None, "nonce": None, "record": None}
    likeliest = Likeliest(code=1, provider=42, version=3, nonce=7, p_value=0.2)
    return report(RECORD).model_copy(
        update={"detected": False, "spans": [], **codes, "likeliest": likeliest, "p_value": 0.2, **changed}
    )


def on_terminal(analysis: Analysis, **environment: str) -> str:
    """What a terminal gets, with its colours if it has any."""
    file = io.StringIO()
    show(analysis, Console(file=file, force_terminal=bool(environment), width=300, _environ=environment))
    return file.getvalue()


def test_where_nothing_is_found_no_field_names_a_provider() -> None:
    said = nothing(outcome="none").model_dump(mode="json")
    assert [said[name] for name in ("code", "provider", "version", "nonce", "record")] == [None] * 5
    assert said["likeliest"]["provider"] == 42


def test_the_outcome_of_an_authenticator_is_told_whatever_its_layout_is_called() -> None:
    told = dict(describe_record(RECORD))
    assert told["user"] == "7, opened in key epoch 2; a wrong key or epoch opens one text in 256"
    assert (
        told["authentic"].startswith("NOT shown") and "too short" in told["authentic"] and "0.02" in told["authentic"]
    )
    held = RECORD.model_copy(update={"authenticated": True, "authenticated_p_value": 3e-7})
    assert dict(describe_record(held))["authentic"].startswith("holds")
    assert say("forgeable") not in describe(report(held))
    assert say("forgeable") in describe(report(RECORD)) and say("forgeable") in describe(report(held, RECORD))
    closed = RECORD.model_copy(update={"authenticated": None, "authenticated_p_value": None, "user": None})
    assert dict(describe_record(closed))["authentic"] == "only the provider can test it"
    assert "authentic" not in dict(describe_record(closed.model_copy(update={"authenticator": False})))


def test_of_several_passages_each_says_all_of_its_record() -> None:
    told = describe(report(RECORD, RECORD.model_copy(update={"user": 8})))
    assert told.startswith(say("found-parts", count=2))
    assert told.count("NOT shown") == 2
    assert "7, opened" in told and "8, opened" in told


def test_a_record_that_was_not_read_is_not_said_to_be_of_an_unknown_layout() -> None:
    unread = RECORD.model_copy(update={"layout": None})
    assert "not clear enough" in dict(describe_record(unread))["record"]


@pytest.mark.parametrize(
    ("p", "told"),
    [(0.25, "0.25"), (1.0, "1"), (0.0, "0"), (9.96e-5, "1.0e-4"), (9.99e-4, "1.0e-3"), (3.21e-26, "3.2e-26")],
)
def test_p_values_for_people(p: float, told: str) -> None:
    assert format_p_value(p) == told


@pytest.mark.parametrize(("p", "alpha"), [(1.003e-4, 1e-4), (1.2491e-4, 1.249e-4), (0.01003, 0.01)])
def test_a_p_value_above_the_level_is_told_apart_from_it(p: float, alpha: float) -> None:
    none = nothing(outcome="none", p_value=p, alpha=alpha)
    found = re.search(r"p = (\S+), above (\S+)\)", describe(none))
    assert found and float(found[1]) > float(found[2])
    assert f"has p = {found[1]}; the level is {found[2]}." in caveats(none)[0]


HELD = held_back("e-value", 1e-4, 90, light=False)


def not_shown(tokens: int) -> str:
    return say("report-not-shown", names="org.example.1", tokens=tokens)


@pytest.mark.parametrize(
    ("changed", "told", "untold"),
    [
        ({"outcome": "too-short", "tokens": 11}, say("advice"), say("report-few")),
        (
            {"outcome": "too-short", "tokens": 750},
            say("report-shortage-repeats", tokens=750, needed=40),
            not_shown(750),
        ),
        ({"outcome": "none", "tokens": 60}, f"{not_shown(60)} {say('report-few')}", HELD.says),
        ({"outcome": "none", "tokens": 400}, not_shown(400), say("report-few")),
        ({"outcome": "none", "p_value": 1e-9, "held_back": HELD}, HELD.says, say("report-few")),
        # A stronger reader is named behind the proxy LM, not behind ranks alone or a model that was named.
        ({"outcome": "none"}, say("report-stronger"), HELD.says),
        ({"outcome": "none", "read": "light"}, say("no-proof"), say("report-stronger")),
        ({"outcome": "none", "reading_model": "our-model"}, say("no-proof"), say("report-stronger")),
    ],
    ids=str,
)
def test_what_nothing_found_means(changed: dict[str, Any], told: str, untold: str) -> None:
    found = nothing(**changed)
    assert told in describe(found) and told in " ".join(caveats(found))
    assert untold not in describe(found) + " ".join(caveats(found))


def test_no_length_is_said_to_give_a_clear_answer() -> None:
    assert "a mark may still not show" in say("advice") and say("advice") in read_words()["advice"]


def test_the_language_model_that_read_is_named() -> None:
    own = report(RECORD).model_copy(update={"reading_model": "our-model", "arithmetic": "bfloat16"})
    for found, says in ((report(RECORD), "the proxy LM in float32"), (own, "our-model in bfloat16")):
        analysis = analysis_of("abcdef", found)
        assert all(says in told for told in (describe(found), html_report(analysis), on_terminal(analysis)))


def test_the_score_that_shows_the_code_is_named() -> None:
    for score in ("half", "race", "light-soft", "light-rank"):
        found = report(RECORD).model_copy(update={"score": score})
        assert f"90 of 100 by the {score} score" in describe(found)
        assert f"shown by the {score} score" in html_report(analysis_of("abcdef", found))


def test_nobody_is_told_that_a_published_key_is_secret() -> None:
    """Whatever the name of the profile that has the key."""
    copied = get_profile(TOY).model_copy(update={"name": "com.example.mark.1"})
    label = Interpreter(copied, load_trusted(), None, ()).label()
    assert label is not None and "registry" in label


def units_reached() -> dict[str, set[int]]:
    """The units that each score gives: the light ones of any rank, the others of many races."""
    rng, count = np.random.default_rng(1), 400
    weights = (rng.dirichlet(np.full(20, 0.3), count) * 2**24).astype(np.uint32)
    many = Rivals.of(np.arange(count), weights, np.array([rng.choice(20, p=row / row.sum()) for row in weights]))
    seeds = rng.integers(0, 2**32, (count, 40), dtype=np.uint32)
    found = {
        score.value: set(units.ravel().tolist()) for score, units in position_scores(many, 0, seeds, (1, 2)).items()
    }
    by_rank = {unit for token in range(0, 49152, 999) for unit in rank_table(likelier(49152, token))}
    return found | {"light-soft": set(soft_table((1, 2))), "light-rank": by_rank}


def test_every_shade_of_evidence_is_one_that_a_score_reaches() -> None:
    for score, units in units_reached().items():
        assert {evidence_level(each / NAT, score) for each in units} == {-3, -2, -1, 0, 1, 2, 3}, score


@pytest.mark.parametrize("environment", [{"TERM": "xterm"}, {"TERM": "xterm-256color", "NO_COLOR": "1"},
                                         {"TERM": "xterm-256color"}])  # fmt: skip
def test_a_terminal_of_few_colours_shows_evidence_too(environment: dict[str, str]) -> None:
    analysis = Analysis("abcdef", report(RECORD), np.arange(7), np.array([0.2, 0.4, 0.6, -0.2, -0.6, -1.1]))
    styles = dict(re.findall(r"\x1b\[([0-9;]+)m([a-f])\x1b", on_terminal(analysis, **environment)))
    assert sorted(styles.values()) == list("abcdef")  # each in a style of its own


def test_a_terminal_underlines_what_was_found() -> None:
    shown = on_terminal(analysis_of("abcdef", found_at((2, 4))), TERM="xterm-256color")
    assert "".join(re.findall(r"\x1b\[[0-9;]*\b4;[0-9;]*m([a-f]+)\x1b", shown)) == "cd"


@pytest.mark.parametrize("outcome", ["none", "too-short"])
def test_where_nothing_is_found_no_word_is_coloured(outcome: str) -> None:
    """The likeliest code's colours would look as if a machine had written some of the words."""
    none = analysis_of("abcdef", nothing(outcome=outcome))
    shown = on_terminal(none, TERM="xterm-256color")
    assert "abc" not in shown and "evidence for the code" not in shown
    page = html_report(none)
    inside = re.search("<details>(.*)</details>", page, re.S)  # shown to those who open it
    assert inside and text_of_page(inside[1]) == "abcdef"
    assert "<svg" in inside[1] and "mean nothing by themselves" in inside[1]
    assert '<i class="' not in page.replace(inside[0], "")
    assert "<details" not in html_report(analysis_of("abcdef", found_at((2, 4))))


def test_a_text_without_tokens_has_no_pieces() -> None:
    nothing = Analysis(" ", report(RECORD), np.zeros(1, dtype=np.int64), np.zeros(0))
    assert list(nothing.pieces()) == []


# ---- the page ----


def text_of_page(page: str) -> str:
    """The text as a page shows it, passages in brackets with their numbers."""
    shown = re.search('<div class="text.*?">(.*)</div>', page, re.S)
    assert shown
    numbered = re.sub('<mark data-n="([0-9]+)">', r"[\1:", shown[1]).replace("</mark>", "]")
    return unescape(re.sub("<.*?>", "", numbered))


def analysis_of(text: str, found: Report, worth: float = 0.6) -> Analysis:
    """An analysis in which every character is a token."""
    return Analysis(text, found, np.arange(len(text) + 1), np.full(len(text), worth))


def found_at(*places: tuple[int, int]) -> Report:
    found = report(*[RECORD] * len(places))
    spans = [
        span.model_copy(update={"start": start, "end": end})
        for span, (start, end) in zip(found.spans, places, strict=True)
    ]
    return found.model_copy(update={"spans": spans})


def test_a_page_shows_the_text_and_where_its_passages_are() -> None:
    text = "one & two\n  <three> 'four' \"five\""
    page = html_report(analysis_of(text, found_at((2, 7), (12, 19))))
    assert text_of_page(page) == "on[1:e & t]wo\n  [2:<three>] 'four' \"five\""
    assert page.count('class="band"') == 2 and "<h3>Passage 2: provider 42, not registered, model version 3" in page
    assert "7, opened" in page and "10–20" not in page and "12–19" in page


def test_passages_that_touch_or_overlap_are_each_shown_once() -> None:
    assert text_of_page(html_report(analysis_of("abcdef", found_at((0, 3), (3, 5))))) == "[1:abc][2:de]f"
    assert text_of_page(html_report(analysis_of("abcdef", found_at((0, 4), (3, 5))))) == "[1:abc][2:de]f"


def test_nothing_in_a_page_comes_from_outside_unescaped() -> None:
    hostile = '<script src="//x.example">&lt;/style>{{ 7 * 7 }}{% raw %}'
    hop = HOP.model_copy(update={"name": hostile, "model": hostile, "state": "active"})
    found = found_at((3, 9)).model_copy(update={"registry": hostile, "form": hostile, "profile": hostile})
    spans = [found.spans[0].model_copy(update={"record": RECORD.model_copy(update={"chain": [hop, hop]})})]
    page = html_report(analysis_of(hostile, found.model_copy(update={"spans": spans})))
    assert text_of_page(page).replace("[1:", "").replace("]", "") == hostile
    assert page.count("&lt;script") > 5 and page.count("{{ 7 * 7 }}{% raw %}") > 5
    tags: list[tuple[str, list[tuple[str, str | None]]]] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: tags.append((tag, attrs))  # type: ignore[method-assign]
    parser.feed(page)
    assert not {tag for tag, _ in tags} & {"script", "link", "img", "iframe", "object", "a", "form", "base"}
    names = {name for _, attrs in tags for name, _ in attrs}
    assert not [name for name in names if name in {"src", "href", "style"} or name.startswith("on")]
    assert "url(" not in page and "@import" not in page


def test_a_page_of_a_long_text_shows_what_was_found_and_says_so() -> None:
    page = html_report(analysis_of("a" * 40_000, found_at((30_000, 30_500)), 0.0))
    assert text_of_page(page) == f" [...] {'a' * 24}[1:{'a' * 500}]{'a' * 24} [...] "
    assert "What was found is shown; the text has more than 20,000 tokens" in page and len(page) < 40_000
    page = html_report(analysis_of("a" * 40_000, found_at((0, 40_000)), 0.0))
    assert text_of_page(page) == f"[1:{'a' * 20_000}] [...] "


@pytest.mark.parametrize("tokens", [0, 1, 3])
def test_a_page_of_hardly_any_text_is_whole(tokens: int) -> None:
    page = html_report(analysis_of("abc"[:tokens], nothing(outcome="too-short", tokens=tokens), float("nan")))
    title = say("short")
    assert f'<h1 class="none">{title}</h1>' in page and page.rstrip().endswith("</html>")
    assert ("<svg" in page) == bool(tokens)


@cache
def found_in_a_short_text() -> tuple[Assembler, SearchPlan, Finding, str]:
    profile, text = get_profile(TOY), "Caf\u00e9 au lait, \U0001f600 and tea!"
    decoder, reader = Decoder(open_proxy(profile)), RecordReader(profile)
    assembler = Assembler(reader, Interpreter(profile, load_trusted(), None, (0,)))
    plan = SearchPlan.of(profile, None, alpha=0.01, score="half")
    (variant,) = tokenize_variants(text, decoder.tokenizer, profile)
    return assembler, plan, find(variant, decoder.pipeline.scored(variant, plan), plan, reader), text


@given(st.lists(st.integers(0, 24), min_size=2, max_size=6, unique=True).map(sorted))
@example([0, 3, 24])  # the first two spans are near the beginning
@example([0, 21, 23])  # the last two spans are near the end
def test_spans_do_not_overlap_in_characters(cuts: list[int]) -> None:
    assembler, plan, found, text = found_in_a_short_text()
    assert len(found.variant.positions) == 24
    finding = replace(found, spans=[PositionSpan(*cut, found.best) for cut in pairwise(cuts)])
    spans = assembler.analysis(text, [finding], plan).report.spans
    assert len(spans) == len(cuts) - 1
    assert all(before.end <= after.start for before, after in pairwise(spans))

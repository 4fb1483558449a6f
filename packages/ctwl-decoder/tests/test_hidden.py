"""What nobody sees in a text does not hide its mark, and the report says so, and not who put it there."""

from __future__ import annotations

import re

import pytest
import recorded_texts

from ctwl_decoder import Decoder, describe
from ctwl_decoder.report.hidden import hidden_in
from ctwl_decoder.report.html import html_report

MARKED = recorded_texts.MARKED["texts"][5]


@pytest.mark.parametrize(
    ("text", "kind", "says"),
    [
        (re.sub(r"(?<=\w)(?=\s)", "\u3164", MARKED), "invisible", "invisible characters that its script does not need"),
        (
            MARKED.replace("e", "\u0435"),
            "look-alikes",
            "only look like the letters and signs that a reader takes them for",
        ),
        (re.sub(r"(?<=\w)(?=\s)", "\u0323", MARKED), "accents", "accents that no language puts there"),
    ],
)
def test_a_mark_is_found_and_the_report_says_what_was_hidden(decoder: Decoder, text: str, kind: str, says: str) -> None:
    analysis = decoder.analyse(text, score="light")
    (hidden,) = analysis.report.hidden
    assert analysis.report.detected and hidden.kind == kind and says in hidden.says
    assert hidden.point == f"U+{ord(text[hidden.start]):04X}" and f"{hidden.count} " in hidden.says
    assert "they do not show who" in hidden.says and "read without them" in hidden.says
    assert hidden.says in describe(analysis.report) and hidden.says in html_report(analysis)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (re.sub(r"\w+", lambda word: f"\u202e{word[0][::-1]}\u202c", MARKED), "turned"),
        ("\u2067" + " \u200f".join(reversed(MARKED.split())) + "\u2069", "turned"),
        (re.sub(r"(\w)(\w)", "\\1\u200a\\2", MARKED), "apart"),
        (re.sub(r"(?<=[a-z])(?=\s)", "\u1362", MARKED), "signs"),
    ],
    ids=["letters", "words", "narrow spaces", "stops"],
)
def test_what_cannot_be_undone_is_named(decoder: Decoder, text: str, kind: str) -> None:
    report = decoder.decode(text, score="light")
    assert not report.detected and [each.kind for each in report.hidden] == [kind]
    assert "not what a person sees" in report.hidden[0].says


@pytest.mark.parametrize("sign", "\u201a\u02cc\u060c\u0964\u3002\xb7")
def test_signs_that_stand_for_commas_are_named(sign: str) -> None:
    text = "A hall, which is long, and a room, which is not, are one, says he, and one, says she." * 3
    (hidden,) = hidden_in(text.replace(",", sign))
    assert (hidden.kind, hidden.start, hidden.count, hidden.point) == ("signs", 6, 21, f"U+{ord(sign):04X}")
    assert "has there" in hidden.says and "not what a person sees" in hidden.says


def test_plain_text_hides_nothing(decoder: Decoder) -> None:
    assert hidden_in(MARKED) == [] == decoder.decode(MARKED, score="light").hidden

"""Public marks of other kinds are named, and the text is read without them."""

from __future__ import annotations

import random
import struct

import pytest
import recorded_texts
from hypothesis import given
from hypothesis import strategies as st
from test_signposts import RECORDED, TRUSTED, URL

from ctwl_decoder import Decoder, describe
from ctwl_decoder.report.html import html_report
from ctwl_decoder.report.other_marks import other_marks

MARKED = recorded_texts.MARKED["texts"][5]
MICROSOFT = "\u200b\u034f\u2060\u200b"


def selectors(data: bytes) -> str:
    return "".join(chr(0xFE00 + byte if byte < 16 else 0xE0100 + byte - 16) for byte in data)


def tags(message: str) -> str:
    return "".join(chr(0xE0000 + ord(letter)) for letter in message)


STORE = random.Random(1).randbytes(3526)  # as long as a manifest that c2patool signed
WRAPPER = "\ufeff" + selectors(b"C2PATXT\0" + struct.pack("!BI", 1, len(STORE)) + STORE + bytes(489) + b"\x10\x10")
"""A C2PATextManifestWrapper (C2PA 2.4, A.8) with its padding."""

MANIFEST = "\ufeff" + selectors(b"C2PATXT\0" + struct.pack("!BI", 1, 5) + b"jumbf")


@pytest.mark.parametrize(
    ("mark", "scheme", "says"),
    [
        (MICROSOFT, "microsoft", "Microsoft"),
        (MANIFEST, "c2pa", "its signature is not verified here"),
        (WRAPPER, "c2pa", "its signature is not verified here"),
        ("-----BEGIN C2PA MANIFEST-----", "c2pa", "C2PA"),
        (selectors(b"hidden"), "variation-selectors", "'hidden'"),
        (tags("by a bot"), "tags", "'by a bot'"),
        ("\u200b\u200c\u200d\u2060" * 4, "zero-width", "without a width"),
    ],
)
def test_a_mark_is_named_with_its_place_and_what_it_is_worth(mark: str, scheme: str, says: str) -> None:
    (found,) = other_marks(f"One{mark}two")
    assert (found.scheme, found.start, found.end, found.count) == (scheme, 3, 3 + len(mark), 1)
    assert says in found.says and "Anyone can write it" in found.says


@pytest.mark.parametrize(
    "text",
    [
        MARKED,
        "\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # Persian, with a joiner
        "\u2764\ufe0f \U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f3f4" + tags("gbeng\x7f"),
        "\ufeffOne\u200btwo",
    ],
)
def test_what_scripts_and_signs_need_is_no_mark(text: str) -> None:
    assert other_marks(text) == []


def test_a_report_names_them_in_all_its_forms_and_is_read_without_them(decoder: Decoder) -> None:
    half = MARKED.index(" ", len(MARKED) // 2)
    text = MARKED[:half] + MICROSOFT + MARKED[half:] + MANIFEST
    analysis = decoder.analyse(text, score="light")
    assert [mark.scheme for mark in analysis.report.other_marks] == ["microsoft", "c2pa"]
    for shown in (describe(analysis.report), html_report(analysis), analysis.report.model_dump_json()):
        assert "Microsoft marks text of an AI" in shown and "C2PA manifest" in shown
    assert analysis.report.p_value <= 4 * decoder.decode(MARKED, score="light").p_value


@pytest.mark.parametrize("place", ["end", "beginning", "middle", "without its sign", "cut off", "twice"])
def test_a_text_with_a_c2pa_manifest_is_read_as_the_text_without_it(place: str) -> None:
    """Else its thousands of selectors were tokens, and a language model would weigh each."""
    decoder = Decoder.open("org.ctwl.smollm2-135m.1", registry=TRUSTED)
    marked = RECORDED.read_text("utf-8")
    half = marked.index(" ", len(marked) // 2)
    text = {
        "end": marked + WRAPPER, "beginning": WRAPPER + marked, "middle": marked[:half] + WRAPPER + marked[half:],
        "without its sign": marked + WRAPPER[1:], "cut off": marked + WRAPPER[:2000],
        "twice": marked[:half] + WRAPPER + marked[half:] + WRAPPER,
    }[place]  # fmt: skip
    found, alone = (decoder.decode(each, score="light") for each in (text, marked))
    assert (found.code, found.p_value, found.tokens) == (alone.code, alone.p_value, alone.tokens)
    assert [each.url for each in found.signposts] == [URL] and alone.other_marks == []
    (mark,) = found.other_marks
    assert mark.scheme == "c2pa" and mark.count == (2 if place == "twice" else 1)
    assert "but by C2PA's own tools" in describe(found)


@given(st.text("a \u200b\u200c\u200d\u034f\u2060\ufeff\ufe0f\U000e0101\U000e0041\U0001f3f4", max_size=60))
def test_any_text_has_its_marks_in_order(text: str) -> None:
    for mark in other_marks(text):
        assert 0 <= mark.start < mark.end <= len(text) and mark.says.isprintable()

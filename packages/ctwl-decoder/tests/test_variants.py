"""Texts as people paste them: where characters came from, and which marks may be the reader's."""

import functools
import json
import runpy
import textwrap
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctwl_decoder.text.alignment import AlignedText, normalize_aligned
from ctwl_decoder.text.variants import AS_GIVEN, taken_out, variants_of
from ctwl_protocol.text.normalization import normalize

WEB = Path(__file__).parents[2] / "ctwl-web" / "test"
TEXT = (
    "The council said on Tuesday that the new bridge over the river would open in spring. It had been closed "
    "since the flood, when two of its piers were damaged, and the repair took longer than anyone had expected.\n\n"
    "The mayor thanked the engineers for their work."
)
awkward = st.text(
    st.sampled_from("ae\u0301\u0327 \t\n\r\x85\u2028\u00a0\u200b\ufeff\u2019\u2026\u1100\u1161\u11a8\u4e2d\U0001f600-")
)


@given(st.one_of(st.text(), awkward))
def test_the_mapped_normalisation_is_the_profiles_and_each_character_knows_where_it_came_from(text: str) -> None:
    """A character that normalization leaves alone is found at its source."""
    found = normalize_aligned(AlignedText.of(text))
    assert found.text == normalize(text)
    assert len(found.source) == len(found.text) + 1
    assert (found.source[1:] >= found.source[:-1]).all()
    assert 0 <= found.source[0] <= found.source[-1] <= len(text)
    if unicodedata.is_normalized("NFC", text):
        plain = [(c, text[i]) for c, i in zip(found.text, found.source, strict=False) if c.isascii() and c.isalpha()]
        assert all(c == came_from for c, came_from in plain)


ROWS: list[dict[str, Any]] = json.loads((WEB / "variants.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", ROWS, ids=[row["name"] for row in ROWS])
def test_a_text_is_read_as_given_and_in_a_second_form(row: dict[str, Any]) -> None:
    """The reader for browsers is tested by the same. A row names what differs from its text, or is found in it."""
    (_, first), *second = forms = variants_of(row["text"])
    assert first.text == row.get("first", row["text"])
    assert [[name, form.text] for name, form in second] == ([row["second"]] if "second" in row else [])
    assert [[each.kind, each.start, each.count] for each in taken_out(row["text"])] == row.get("hidden", [])
    last = forms[-1][1]
    for words, place in row.get("source", {}).items():
        assert last.source[last.text.index(words)] == place, words


@pytest.mark.slow
@pytest.mark.parametrize("file", ["parity.json", "profiles.json"])
def test_the_answers_that_the_reader_for_browsers_is_held_to_are_the_reference_s(file: str) -> None:
    rounded = functools.partial(json.loads, parse_float=lambda digits: f"{float(digits):.8e}")
    found = runpy.run_path(str(WEB / "parity.py"))["answers"](file)
    assert rounded(found) == rounded((WEB / file).read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "text",
    [
        "so q" + "\u0301" * 200 + "**" + "\u0301" * 200 + " it is",
        "a" + "\u0301*\u0316*" * 20_000,
        "<p><p>a" + "&#769;&#790;" * 20_000,
    ],
    ids=["few", "markdown", "a page"],
)
def test_a_text_is_not_refused_for_a_form_that_nobody_wrote(text: str) -> None:
    """Without its marks more accents would follow each other than any script piles, and ordering them takes ages."""
    assert variants_of(text)[0][0] == AS_GIVEN


MARKS = (
    *"ab <>/p&;#*_`[]()\\!>-\n~|='{}$\t\x1b1:",
    "<p>", "</p>", "<br>", "<!--", "-->", "<script>", "</script>", "&lt;", "&#x1d400;", "](u)", "][1]", "\n[1]: /u",
    "[[", "]]", "[b]", "[img]", "[/img]", "\\textbf{", "\\n", "\\u2019", "\x1b[1m", "https://a.b", "\ue200", "\ue201",
    "\uff41", "\U0001d400", "\x0b", "\u2028", "[12:30] a: ", "\n\n",
    "\u3164", "\u2800", "\x01", "\ue000", "\u0323", "\u0307", "i", "\u0430", "\u1d00", "\u200d", "\u0905",
)  # fmt: skip


@given(st.lists(st.sampled_from(MARKS), max_size=60).map("".join))
def test_no_text_breaks_the_forms(text: str) -> None:
    forms = variants_of(text)
    assert forms[0][0] == AS_GIVEN and forms[0][1].text == normalize(text)
    assert len({form.text for _, form in forms}) == len(forms) <= 2
    assert all(len(form.source) == len(form.text) + 1 for _, form in forms)
    assert all((form.source[1:] >= form.source[:-1]).all() for _, form in forms)


HOSTILE = (
    " ", "\n", "a\n", "<p>", "<a ", "<div x='", "<!--", "<script>", "<", "&", "*", "_", "[", "[a](", "> ", "- ",
    "\r\u200b", "[[a|", "[[", "{{a", "~a", "||a", "https://", "\\", "\\n", "\\u0041", "\x1b[", "\x1b]", "[1", "[^",
    "\ue200", "(https://a",
    '[a](b "', "=", "== ", "''", "``a", "\\emph{", "[b]", "[img]", "[12:30] a", "1.1.2020, ", "<a|", "<@", "&#38;",
    "\t", "\u3164", "\u3164a", "\u3164\u200d", "a\u0323", "\ue000", "\x01\ue000", "\u0430a", "\u0430", "a\u2800",
    "\u1d00", "\uff0d", "\uff41", "\U0001d400", "a\x0b", "[a][", "[x]: http:", "a'\n\n", "a b\nc d\n\n",
)  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE)
def test_long_hostile_texts_take_no_longer_than_their_length_asks(unit: str) -> None:
    """Where time grew with the square, this would stand still."""
    text = "<p><p>" + unit * (25_000 // len(unit))
    assert variants_of(text)[0][0] == AS_GIVEN


DELETED_HERE = st.sampled_from(["\u00ad", "\u200b", "\u2060", "\ufeff", "\U000e0041", "\u202e", "\u200b\u2060" * 20])


@given(st.data(), st.integers(12, 70))
def test_what_normalisation_deletes_steers_no_form(data: st.DataObject, width: int) -> None:
    """Else whoever proves a text could choose, line by line, what is joined, and pay for none of the choices."""
    plain = textwrap.fill(TEXT, width) + (
        "\n\n<i>And</i> so, <b>it is</b> said: **five**  or six [1]\tand &amp;c. [a](https://b.c 'd') \\emph{e} [[f|g]]"
    )
    places = data.draw(st.lists(st.integers(0, len(plain)), max_size=12))
    steered = plain
    for place in sorted(places, reverse=True):
        steered = steered[:place] + data.draw(DELETED_HERE) + steered[place:]
    ends = data.draw(st.sampled_from(["\n", "\r\n", "\r", "\u2028", "\x85"]))
    steered = steered.replace("\n", ends)
    assert [each.text for _, each in variants_of(steered)] == [each.text for _, each in variants_of(plain)]


PICTURE = f"data:image/svg+xml;charset=utf-8;base64,{'Ab3/' * 500}+A=="


@pytest.mark.parametrize("run", ["data:", "data:;base64", f"data:{'a' * 99}", "data:;base64,", PICTURE])
def test_pictures_cost_no_more_than_their_length(run: str) -> None:
    """Where a step is not linear, each of these takes hours."""
    variants_of(run * (2**18 // len(run)))

"""The variants of a pasted text (spec section 10, step 1).

The profile's normalization removes what no reader sees. Readers do see wrapped lines, wide gaps, letters in a style,
capitals, and the marks of HTML, Markdown and their like, and the writer may have written them. Joiners are needed by
many scripts. So the decoder reads the text as given, and a second variant without these things where there are any.
Each variant is a test, and the p-values pay for it. Both follow from the normalized text alone: what normalization
deletes cannot steer them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from ctwl_protocol.numbers import NUMBERS

from ..errors import NotText
from .alignment import AlignedText, Edit, normalize_aligned
from .lines import with_joined_lines
from .marks import without_marks

AS_GIVEN = "as given"

_CAPITALS = NUMBERS.variants.capitals
_FEWEST_WORDS = NUMBERS.variants.fewest_words
"""From this share of capitals at the beginnings of words, and so many words, a text is set in capitals."""

_GAPS = re.compile(r"(?<=\S)(?: [ \t]+|\t[ \t]*)(?=\S)")
"""The gaps between the words of justified text, and tabs."""


def _any_of(points: Iterable[int]) -> str:
    return f"[{''.join(map(chr, points))}]"


_JOINERS = re.compile(f"(?<![^\x00-\x7f]){_any_of(NUMBERS.variants.joiners)}+(?![^\x00-\x7f])")
"""Joiners and variation selectors without a neighbour that they could join or vary."""

_HIDDEN = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2,}")
"""Variation selectors in a row: one varies a sign, more hide bytes, as a C2PA manifest of thousands does."""

_LIGATURES = re.compile(_any_of(NUMBERS.variants.ligatures))
_STYLED = re.compile(f"{_any_of(NUMBERS.variants.letters + NUMBERS.variants.wide)}+")
_LINE_ENDS = re.compile(_any_of(NUMBERS.variants.line_ends))
_LETTERS = re.compile(r"[^\W\d_]+")


def variants_of(text: str) -> list[tuple[str, AlignedText]]:
    """The text as given and, where that differs, a cleaned one: names of what was done, and normalized texts.

    Texts that normalization makes equal have the same variants.

    Raises:
        NotText: the text as given cannot be normalized, see :func:`ctwl_decoder.text.alignment.normalize_aligned`. A
            second variant that cannot be normalized is left out.
    """
    first = cleaned = _without_hidden(normalize_aligned(AlignedText.of(text)))
    done = dict[str, None]()
    for name, step in _STEPS:
        before, cleaned = cleaned, step(cleaned)
        if cleaned.text != before.text:
            done[name] = None
    try:
        second = normalize_aligned(cleaned)
    except NotText:
        return [(AS_GIVEN, first)]
    return [(AS_GIVEN, first)] + [(", ".join(done), second)] * (first.text != second.text)


def _without_hidden(given: AlignedText) -> AlignedText:
    hidden = [] if given.text.isascii() else [(*found.span(), "") for found in _HIDDEN.finditer(given.text)]
    return normalize_aligned(given.edited(hidden)) if hidden else given


def _without_joiners(given: AlignedText) -> AlignedText:
    return given.edited((*found.span(), "") for found in _found(_JOINERS, NUMBERS.variants.joiners, given.text))


def _without_ligatures(given: AlignedText) -> AlignedText:
    ligatures = _found(_LIGATURES, NUMBERS.variants.ligatures, given.text)
    return given.edited((*found.span(), _compatible(found[0])) for found in ligatures)


def _with_plain_letters(given: AlignedText) -> AlignedText:
    """Letters of formulas, and full width where letters have it: East Asian texts have marks of that width."""
    runs = _found(_STYLED, NUMBERS.variants.letters + NUMBERS.variants.wide, given.text)
    styled = (found for found in runs if any(map(str.isalnum, found[0])))
    places = (place for found in styled for place in range(*found.span()))
    return given.edited((place, place + 1, _compatible(given.text[place])) for place in places)


def _found(pattern: re.Pattern[str], points: tuple[int, ...], text: str) -> Iterable[re.Match[str]]:
    """What a pattern finds, where the text has any of its characters: patterns with so many take their time."""
    return () if text.isascii() or frozenset(map(chr, points)).isdisjoint(text) else pattern.finditer(text)


def _compatible(characters: str) -> str:
    return unicodedata.normalize("NFKC", characters)


def _with_line_ends(given: AlignedText) -> AlignedText:
    return given.edited((*found.span(), "\n") for found in _LINE_ENDS.finditer(given.text))


def _without_gaps(given: AlignedText) -> AlignedText:
    return given.edited((*found.span(), " ") for found in _GAPS.finditer(given.text))


def _without_capitals(given: AlignedText) -> AlignedText:
    """Where nearly all words begin with a capital: small letters, but for the first of each sentence and *I*.

    Where other words have small letters, a word of capitals alone is an abbreviation, and stays.
    """
    words = list(_LETTERS.finditer(given.text))
    cased = [word[0][0] for word in words if word[0][0].lower() != word[0][0].upper()]
    capitals = sum(letter != letter.lower() for letter in cased)
    if len(cased) < _FEWEST_WORDS or capitals < _CAPITALS * len(cased):
        return given
    only_capitals = all(word[0] == word[0].upper() for word in words)
    edits, done = list[Edit](), 0
    for word in words:
        gap, done = given.text[done : word.start()], word.end()
        if not only_capitals and len(word[0]) > 1 and word[0] == word[0].upper():
            continue
        begins = word is words[0] or "\n" in gap
        begins |= any(mark in gap for mark in ".!?") and any(map(str.isspace, gap))
        small = word[0].lower()
        edits.append((*word.span(), small[0].upper() + small[1:] if begins or small == "i" else small))
    return given.edited(edits)


_Steps: TypeAlias = Sequence[tuple[str, Callable[[AlignedText], AlignedText]]]
_CHARACTERS: _Steps = (
    ("without joiners", _without_joiners),
    ("without ligatures", _without_ligatures),
    ("letters made plain", _with_plain_letters),
    ("line ends made plain", _with_line_ends),
)
_STEPS: _Steps = (
    *_CHARACTERS,
    ("without marks", without_marks),
    *_CHARACTERS,  # marks may have stood for these
    ("lines joined", with_joined_lines),
    ("gaps closed", _without_gaps),
    ("capitals lowered", _without_capitals),
)
"""What is done to a text for its second variant, in this order."""

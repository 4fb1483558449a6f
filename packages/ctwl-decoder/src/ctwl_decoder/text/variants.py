"""The variants of a pasted text (spec section 10, step 1).

The profile's normalization removes what no reader sees. Readers do see wrapped lines, wide gaps, letters in a style,
capitals, and the marks of HTML, Markdown and their like, and the writer may have written them. Other characters nobody
sees, but some scripts need them; and letters of two alphabets may look alike. So the decoder reads the text as given,
and a second variant without these things where there are any. Each variant is a test, and the p-values pay for it. Both
follow from the normalized text alone: what normalization deletes cannot steer them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ctwl_protocol.numbers import NUMBERS

from ..errors import NotText
from .alignment import AlignedText, Edit, normalize_aligned
from .hidden import apart, elsewhere, foreign_signs, look_alikes, never, odd_accents, turned
from .lines import with_joined_lines
from .marks import without_marks

AS_GIVEN = "as given"
HiddenKind: TypeAlias = Literal["invisible", "accents", "look-alikes", "turned", "apart", "signs"]
STAYS: Mapping[HiddenKind, Callable[[str], list[int]]] = {"turned": turned, "apart": apart, "signs": foreign_signs}
"""What is named and not undone, and what finds its places in a text as given."""

_CAPITALS = NUMBERS.variants.capitals
_FEWEST_WORDS = NUMBERS.variants.fewest_words
"""From this share of capitals at the beginnings of words, and so many words, a text is set in capitals."""

_GAPS = re.compile(r"(?<=\S)(?: [ \t]+|\t[ \t]*)(?=\S)")
"""The gaps between the words of justified text, and tabs."""


def _any_of(points: Iterable[int]) -> str:
    return f"[{''.join(map(chr, points))}]"


_NO_TEXT = re.compile(f"[\ufe00-\ufe0f\U000e0100-\U000e01ef]{{2,}}|{NUMBERS.hidden.pictures}")
"""Pictures, and variation selectors in a row: one varies a sign, more hide bytes, as a C2PA manifest does."""

_PICTURES = re.compile(NUMBERS.hidden.pictures)

_LIGATURES = re.compile(_any_of(NUMBERS.variants.ligatures))
_PLAIN = (*NUMBERS.variants.letters, *NUMBERS.variants.wide)
_STYLED = re.compile(f"{_any_of(_PLAIN)}+")
_LINE_ENDS = re.compile(_any_of(NUMBERS.variants.line_ends))
_LETTERS = re.compile(r"[^\W\d_]+")


def variants_of(text: str) -> list[tuple[str, AlignedText]]:
    """The text as given and, where that differs, a cleaned one: names of what was done, and normalized texts.

    Texts that normalization makes equal have the same variants.

    Raises:
        NotText: the text as given cannot be normalized, see :func:`ctwl_decoder.text.alignment.normalize_aligned`. A
            second variant that cannot be normalized is left out.
    """
    first = cleaned = _first(text)
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


def _first(text: str) -> AlignedText:
    given = normalize_aligned(AlignedText.of(text))
    return normalize_aligned(given.replaced(_NO_TEXT, "")) if _NO_TEXT.search(given.text) else given


def characters_in(text: str) -> int:
    """How many characters a text has, without the pictures in it."""
    return len(_PICTURES.sub("", text))


@dataclass(frozen=True)
class TakenOut:
    """Characters of a text that nobody sees, or takes for others.

    Attributes:
        kind: what they are.
        start: the place of the first in the text as given.
        count: how many there are.
    """

    kind: HiddenKind
    start: int
    count: int


def taken_out(text: str) -> list[TakenOut]:
    """What nobody sees in a text that can be normalized, where it is more than chance puts there.

    The second variant is without it. What turns words around, cuts them apart, or stands for their stops is
    not undone in either.
    """
    found: dict[HiddenKind, list[tuple[int, int]]] = {"invisible": [], "accents": [], "look-alikes": []}
    found |= {kind: [(place, 1) for place in places_in(text)] for kind, places_in in STAYS.items()}
    given = _first(text)
    if any(True for _ in never(given.text)):
        given = without_marks(given)  # which begin with some of these
    for kind, step in _TAKEN_OUT:
        edits = list(step(given.text))
        found[kind] += [(int(given.source[i]), end - i if kind == "invisible" else 1) for i, end, _ in edits]
        given = given.edited(edits)
    counted = [TakenOut(kind, min(each)[0], sum(n for _, n in each)) for kind, each in found.items() if each]
    return [each for each in counted if each.kind == "turned" or each.count >= NUMBERS.hidden.fewest]


def _without_ligatures(given: AlignedText) -> AlignedText:
    ligatures = _found(_LIGATURES, NUMBERS.variants.ligatures, given.text)
    return given.edited((*found.span(), _compatible(found[0])) for found in ligatures)


def _with_plain_letters(given: AlignedText) -> AlignedText:
    """Letters of formulas, and full width where letters have it: East Asian texts have marks of that width."""
    runs = _found(_STYLED, _PLAIN, given.text)
    styled = (found for found in runs if any(map(str.isalnum, _compatible(found[0]))))
    places = (place for found in styled for place in range(*found.span()))
    return given.edited((place, place + 1, _compatible(given.text[place])) for place in places)


def _found(pattern: re.Pattern[str], points: Iterable[int], text: str) -> Iterable[re.Match[str]]:
    """What a pattern finds, where the text has any of its characters: patterns with so many take their time."""
    return () if text.isascii() or frozenset(map(chr, points)).isdisjoint(text) else pattern.finditer(text)


def _compatible(characters: str) -> str:
    return unicodedata.normalize("NFKC", characters)


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


def _by(edits: Callable[[str], Iterable[Edit]]) -> Callable[[AlignedText], AlignedText]:
    return lambda given: given.edited(edits(given.text))


_Steps: TypeAlias = Sequence[tuple[str, Callable[[AlignedText], AlignedText]]]
_CHARACTERS: _Steps = (
    ("without hidden characters", _by(elsewhere)),
    ("without ligatures", _without_ligatures),
    ("letters made plain", _with_plain_letters),
    ("without odd accents", _by(odd_accents)),
    ("without look-alikes", _by(look_alikes)),
    ("line ends made plain", lambda given: given.replaced(_LINE_ENDS, "\n")),
)
_STEPS: _Steps = (
    *_CHARACTERS,
    ("without marks", without_marks),
    ("without hidden characters", _by(never)),  # marks begin with some of these
    *_CHARACTERS,  # marks may have stood for these
    ("lines joined", with_joined_lines),
    ("gaps closed", lambda given: given.replaced(_GAPS, " ")),
    ("capitals lowered", _without_capitals),
)
"""What is done to a text for its second variant, in this order."""

_TAKEN_OUT: Sequence[tuple[HiddenKind, Callable[[str], Iterable[Edit]]]] = (
    ("invisible", never),
    ("invisible", elsewhere),
    ("accents", odd_accents),
    ("look-alikes", look_alikes),
)

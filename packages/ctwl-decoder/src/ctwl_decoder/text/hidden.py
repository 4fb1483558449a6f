"""What nobody sees in a text, or takes for another letter: found, to be taken out (spec section 10, step 1).

Each function gives the edits that take one kind of it out. They look at the normalized text alone, and take time in
proportion to its length: a text is first written as the kinds of its characters, one letter each. The last two look at
the text as given, and say where something is that cannot be taken out.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from ctwl_protocol.numbers import NUMBERS

from .alignment import MAX_MARKS, Edit

_HIDDEN = NUMBERS.hidden
_Ranges: TypeAlias = Sequence[tuple[int, int]]
_Kind: TypeAlias = tuple[str, _Ranges]
"""A letter, and the characters that it stands for."""


class _Kinds(dict[int, str]):
    """A table for ``str.translate``: the letter of each character's kind, the first that holds it, or ``x``."""

    def __init__(self, *kinds: _Kind) -> None:
        self._kinds = kinds

    def __missing__(self, point: int) -> str:
        kind = self[point] = next((kind for kind, ranges in self._kinds if _holds(ranges, point)), "x")
        return kind


def _holds(ranges: _Ranges, point: int) -> bool:
    place = bisect(ranges, (point, 0x110000))
    return place > 0 and point <= ranges[place - 1][1]


def _points(points: Iterable[int]) -> _Ranges:
    return tuple((point, point) for point in sorted(points))


# ---- What nobody sees.

_SEEN: Sequence[_Kind] = (
    ("n", _HIDDEN.never.ranges),
    ("p", _HIDDEN.private.ranges),
    ("b", _HIDDEN.blanks.ranges),
    ("e", _HIDDEN.elsewhere.ranges),
    (" ", _points(NUMBERS.text.white_space)),
    ("o", _HIDDEN.own.ranges),
)
_STRANGE = re.compile("[^\t-\r -~]")
_NEVER = re.compile("n+|(?<=[on])p+(?![^ onbe])|(?<![^ onbe])p+(?=[on])")
_ELSEWHERE = re.compile("(?<![^ onp])[be]+(?![^ onp])")


def never(text: str) -> Iterator[Edit]:
    """What no text needs goes; of private use, what stands beside the letters and signs that need none."""
    if _STRANGE.search(text):
        for found in _NEVER.finditer(text.translate(_Kinds(*_SEEN))):
            yield *found.span(), ""


def elsewhere(text: str) -> Iterator[Edit]:
    """What other scripts need goes, where none of their characters is beside it.

    A blank between two characters that are seen becomes a space, if such blanks part words.
    """
    if text.isascii():
        return
    kinds = text.translate(_Kinds(*_SEEN))
    space = " " if _part_words(kinds) else ""
    for found in _ELSEWHERE.finditer(kinds):
        start, end = found.span()
        inside = kinds[max(start - 1, 0) : start].strip() and kinds[end : end + 1].strip()
        yield start, end, space if inside and "b" in found[0] else ""


def _part_words(kinds: str) -> bool:
    """Whether blanks part words, and do not stand within them: by how long the parts are that they leave."""
    pieces = ([part for part in piece.split("b") if part] for piece in kinds.replace("e", "").split())
    parts = [len(part) for piece in pieces if len(piece) > 1 for part in piece]
    return sum(parts) >= _HIDDEN.whole_word * len(parts)


# ---- Accents that no language has.

_LETTERS: Sequence[_Kind] = (
    ("a", ((0x300, 0x36F),)),
    ("a", _HIDDEN.accents.ranges),
    ("l", ((0, 0x7F),)),
    ("l", _HIDDEN.latin.ranges),
)
_ACCENTED = re.compile(f"la{{0,{MAX_MARKS}}}")
_FAINT = frozenset(map(chr, _HIDDEN.faint))
_ABOVE, _BELOW = "\u0307", "\u0323"


class _Accented(NamedTuple):
    """A character of ASCII with accents, at a place of a text."""

    start: int
    end: int
    letter: str
    accents: str

    def odd(self) -> str:
        """Those of its accents that no language has there, or that do not show."""
        loose = not self.letter.isalpha()
        return "".join(
            accent
            for accent in self.accents
            if loose or _holds(_HIDDEN.accents.ranges, ord(accent)) or (accent == _ABOVE and self.letter in "ij")
        )


def odd_accents(text: str) -> Iterator[Edit]:
    """Accents go that no language has, if enough words have any; so do faint ones beside these, or on odd letters."""
    if text.isascii():
        return
    found = list(_accented(text))
    few = _few(text)
    gone = [each.odd() for each in found]
    any_odd = sum(map(bool, gone)) >= few
    letters = defaultdict[str, Counter[str]](Counter)
    for each, odd in zip(found, gone, strict=True):
        for accent in _FAINT.intersection(each.accents).difference(odd):
            letters[accent][each.letter.lower()] += 1
    faint = {
        accent
        for accent, on in letters.items()
        if any_odd or (on.total() >= few and _is_odd(accent, on, len(found) - on.total()))
    }
    for each, odd in zip(found, gone, strict=True):
        kept = "".join(accent for accent in each.accents if accent not in faint and not (any_odd and accent in odd))
        if kept != each.accents:
            yield each.start, each.end, each.letter + kept


def _accented(text: str) -> Iterator[_Accented]:
    known = dict[str, str]()
    for found in _ACCENTED.finditer(text.translate(_Kinds(*_LETTERS))):
        cluster = text[found.start() : found.end()]
        if cluster.isascii():
            continue
        if cluster not in known:
            known[cluster] = unicodedata.normalize("NFD", cluster)
        letter, accents = known[cluster][0], known[cluster][1:]
        if letter.isascii() and accents:
            yield _Accented(*found.span(), letter, accents)


def _is_odd(accent: str, on: Counter[str], others: int) -> bool:
    """Whether a faint accent is on letters on which no language has it; so many characters have others."""
    often = {letter for letter, count in on.items() if count >= _HIDDEN.letter_share * on.total()}
    if len(often) >= _HIDDEN.fewest_letters:
        return True
    alone = others < _HIDDEN.accompanied * on.total()
    dotted = len(often) > 1 and "o" in often and often <= {*_HIDDEN.dotted}
    return accent == _BELOW and alone and not dotted


def _few(text: str) -> float:
    """How many words of a text have what is no chance."""
    return max(_HIDDEN.fewest, _HIDDEN.share * len(text.split()))


# ---- Letters of other alphabets that look like those of ASCII.

_ALIKE = {chr(point): like for like, points in _HIDDEN.alike.items() for point in points}
_STYLED = {chr(point): like for like, points in _HIDDEN.styled.items() for point in points}
_LOOKS = _ALIKE | _STYLED
_BORROWED: _Kind = ("l", _points(_HIDDEN.borrowed))
_BESIDE = frozenset(map(chr, _HIDDEN.beside))
_WORDS: Sequence[_Kind] = (
    ("A", ((0x41, 0x5A),)),
    ("a", ((0x61, 0x7A),)),
    ("t", _points(ord(each) for each, like in _LOOKS.items() if like in ".,")),
    ("g", _points(ord(each) for each, like in _LOOKS.items() if not like.isalpha())),
    ("s", _points(map(ord, _STYLED))),
    ("k", _points(map(ord, _ALIKE))),
    ("l", _HIDDEN.latin.ranges),
    (" ", _HIDDEN.between.ranges),
)
_WORD = re.compile("[^ ]+")
_MIXED = re.compile("[sk][Aa]|aa[sk]|ss|[Aa]t$")
"""Letters of two kinds, but for an index or a Greek letter at the end of a symbol; or a stop or comma of others."""


def look_alikes(text: str) -> Iterator[Edit]:
    """What looks like a letter of ASCII becomes it, in words of such and of Latin letters, if enough are mixed."""
    if text.isascii() or _LOOKS.keys().isdisjoint(text):
        return
    kinds = text.translate(_Kinds(*[] if _BESIDE.isdisjoint(text) else [_BORROWED], *_WORDS))
    words = [found for found in _WORD.finditer(kinds) if "x" not in found[0]]
    if sum(_MIXED.search(found[0]) is not None for found in words) < _few(text):
        return
    for found in words:
        for place in range(*found.span()):
            if kinds[place] in "tgsk":
                yield place, place + 1, _LOOKS[text[place]]


# ---- What turns words around, cuts them apart, or stands where their stops and commas do.

_ORDERS: Sequence[_Kind] = (
    ("t", _HIDDEN.turned.ranges),
    ("o", _HIDDEN.right_to_left_marks.ranges),
    ("r", _HIDDEN.right_to_left_scripts.ranges),
)
_NARROW = "".join(map(chr, _HIDDEN.narrow))
_SIGNS: Sequence[_Kind] = (
    ("s", _HIDDEN.signs.ranges),
    (" ", _points(NUMBERS.text.white_space)),
    ("a", ((0x41, 0x5A), (0x61, 0x7A))),
    ("l", _HIDDEN.latin.ranges),
)
_FOREIGN = re.compile("(?<=a)s(?= |$)")
_LETTER = re.compile(r"[^\W\d_]")
_CUT = re.compile(rf"[^\W\d_]+(?:[{_NARROW}][^\W\d_]+)+")


def turned(text: str) -> list[int]:
    """The places of overrides of direction; and of right-to-left marks, if they outnumber letters of such scripts."""
    if text.isascii():
        return []
    kinds = text.translate(_Kinds(*_ORDERS))
    ordered = kinds.count("o")
    named = "to" if ordered >= max(_HIDDEN.fewest, kinds.count("r") + 1) else "t"
    return [place for place, kind in enumerate(kinds) if kind in named]


def apart(text: str) -> list[int]:
    """The places of narrow spaces within words, if there are enough, and the parts are too short for whole words."""
    if text.isascii():
        return []
    cut = list(_CUT.finditer(text))
    places = [found.start() + place for found in cut for place, sign in enumerate(found[0]) if sign in _NARROW]
    letters, parts = sum(len(found[0]) for found in cut) - len(places), len(cut) + len(places)
    return places if len(places) >= _HIDDEN.fewest and letters < _HIDDEN.whole_word * parts else []


def foreign_signs(text: str) -> list[int]:
    """The places of punctuation of other scripts behind letters of ASCII, if enough, and more than other letters."""
    if text.isascii():
        return []
    kinds = text.translate(_Kinds(*_SIGNS))
    places = [found.start() for found in _FOREIGN.finditer(kinds)]
    if len(places) < _few(text):
        return []
    others = sum(kinds[found.start()] == "x" for found in _LETTER.finditer(text))
    return places if others < len(places) else []

"""Make the lists of `hidden` in `spec/numbers.json`, of what nobody sees in a text: ``python tools/hidden_table.py``.

It needs PyICU, whose ICU has Unicode's data, of version 16 or later (``pip install pyicu``). The lists are of Unicode
16, as all of the specification: what is newer counts as unassigned.
"""

from __future__ import annotations

import json
import re
import string
import unicodedata
from collections import defaultdict
from functools import cache
from pathlib import Path

import icu

NUMBERS = Path(__file__).resolve().parents[1] / "spec" / "numbers.json"

_OUR_MARKS = r"[[:M:] & [[:scx=Zinh:] [:scx=Latn:] [:scx=Grek:] [:scx=Cyrl:] [:scx=Copt:]]]"
"""Marks for the letters of `own`, or of no script in particular."""

_SETS = {
    "never": r"[[[:Cc:] - [\u0009-\u000D]] [:NChar:] [[:DI:] & [:Cn:]] \u17B4 \u17B5 \uFFF9-\uFFFB]",
    "private": r"[[:Co:] \uFFFC]",
    "elsewhere": rf"[[[^[:Age=16.0:]] [:DI:] [[:Cf:] - [:PCM:]] [[:M:] - {_OUR_MARKS}] \u2800 \U0001D159 \U00016FE4]"
    r" - [:NChar:] - [:Co:] - [:Cs:] - [\U0001F000-\U0001FAFF]]",
    "accents": rf"[{_OUR_MARKS} - [:DI:] - [[:Identifier_Status=Allowed:] - [\u0483-\u0487]] - [\u20E3]"
    r" - [\u030D \u0324 \u0325 \u0329 \u0332 \u0358 \u035C \u0361]]",
}
"""U+1F000 to U+1FAFF are for emoji, those to come too. U+20E3 makes keys of digits. The last accents are of
Taiwanese, Hakka, Yoruba and of transliterations.
"""

_OWN = icu.UnicodeSet(r"[\u0000-\u00B7 \u00B9-\u00FF \u0192 \u0263 \u0269 \u028B]")
"""Letters and signs that texts in the Latin alphabet have of their own, but for the cedilla, a comma by its look."""

_ELSEWHERE = icu.UnicodeSet(r"[\u00B7 \u02CC \u02CF \u0375 \u201A]")
"""Signs of other places in a word or a line, that no language in the Latin alphabet writes behind a word."""

_SOUNDS = icu.UnicodeSet(r"[\u02B0-\u02FF]")
"""Signs of phonetics."""

_WRITTEN = icu.UnicodeSet("[[:L:] [[:N:] - [:NFKC_QC=No:]]]")
"""Letters, and numbers of their own: the zeros of many scripts are rings. Signs of mathematics stand beside letters."""

_SIGNS = ".,:;!?'-"
_LETTERS = set(string.ascii_letters)
_ENCLOSED = re.compile(r"(?:NEGATIVE )?(?:CIRCLED|SQUARED) LATIN (?:CAPITAL|SMALL) LETTER ([A-Z])")


def lists() -> dict[str, object]:
    """The lists by their names: ranges of code points, or such ranges for each character that they look like."""
    found: dict[str, dict[str, icu.UnicodeSet]] = {name: defaultdict(icu.UnicodeSet) for name in ("styled", "alike")}
    latin = icu.UnicodeSet("[:sc=Latn:]")
    variants = json.loads(NUMBERS.read_bytes())["variants"]
    plain_before = " ".join(variants[name]["value"] for name in ("letters", "wide"))
    for character in icu.UnicodeSet("[[:Age=16.0:] - [:C:]]").removeAll(_OWN).removeAll(_set(plain_before)):
        styled = _plain(character)
        if like := styled or _like(character):
            found["styled" if styled or latin.contains(character) else "alike"][like].add(character)
    sets = {name: _ranges(icu.UnicodeSet(pattern)) for name, pattern in _SETS.items()}
    others = icu.UnicodeSet(r"[[:P:] & [:Age=16.0:]]").removeAll(_OWN).removeAll(_punctuation()).addAll(_ELSEWHERE)
    sets["signs"] = _ranges(others.removeAll(_set(" ".join(_ranges(each) for each in found["alike"].values()))))
    return sets | {name: {like: _ranges(by_look[like]) for like in sorted(by_look)} for name, by_look in found.items()}


def _plain(character: str) -> str | None:
    """The letter of ASCII that a letter in a style is."""
    plain = _compatible(character)
    enclosed = _ENCLOSED.fullmatch(icu.Char.charName(character))
    return plain if plain in _LETTERS else enclosed and enclosed[1]


def _compatible(character: str) -> str:
    found: str = icu.Normalizer2.getNFKCInstance().normalize(character)
    return found


def _like(character: str) -> str | None:
    """The letter or sign of ASCII that a character looks like."""
    capital = icu.Char.isUUppercase(character)
    looks = _looks()
    kinds = ("capital", "small") if capital else ("small", "capital")
    letters = [looks[kind].get(_skeleton(character)) for kind in kinds] if _WRITTEN.contains(character) else []
    sign = looks["sign"].get(_skeleton(character)) or looks["sign"].get(_compatible(character))
    known = _punctuation().contains(character) or _SOUNDS.contains(character)
    return next(filter(None, [*letters, None if known else sign]), None)


def _skeleton(text: str) -> str:
    found: str = icu.SpoofChecker().getSkeleton(0, text)
    return found


@cache
def _looks() -> dict[str, dict[str, str]]:
    """The skeletons of capitals, small letters and signs. Small capitals are a style of small letters."""
    small = {_skeleton(letter): letter for letter in string.ascii_lowercase}
    for letter in string.ascii_uppercase.replace("X", ""):  # it has none
        styled = unicodedata.lookup(f"LATIN LETTER SMALL CAPITAL {letter}")
        small.setdefault(_skeleton(styled), letter.lower())
    return {
        "capital": {_skeleton(letter): letter for letter in string.ascii_uppercase},
        "small": small,
        "sign": {_skeleton(sign): sign for sign in _SIGNS},
    }


@cache
def _punctuation() -> icu.UnicodeSet:
    """The letters and signs that languages in the Latin alphabet write, by the data of CLDR."""
    found = icu.UnicodeSet()
    kinds = icu.ULocaleDataExemplarSetType
    for name in icu.Locale.getAvailableLocales():
        data = icu.LocaleData(name)
        if data.getExemplarSet(0, kinds.ES_STANDARD).containsSome("a", "z"):
            for kind in (kinds.ES_STANDARD, kinds.ES_AUXILIARY, kinds.ES_PUNCTUATION):
                found.addAll(data.getExemplarSet(0, kind))
    return found


def _set(ranges: str) -> icu.UnicodeSet:
    found = icu.UnicodeSet()
    for each in ranges.split():
        first, last = each.split("-")[0], each.split("-")[-1]
        found.add(chr(int(first, 16)), chr(int(last, 16)))
    return found


def _ranges(points: icu.UnicodeSet) -> str:
    bounds = [(points.getRangeStart(i), points.getRangeEnd(i)) for i in range(points.getRangeCount())]
    codes = [[f"{ord(bound):X}" for bound in dict.fromkeys(each)] for each in bounds]
    return " ".join(map("-".join, codes))


def main() -> None:
    """Write the lists into the file of numbers, whose other lines stay."""
    text = NUMBERS.read_text(encoding="utf-8")
    head, group, tail = re.split(r'(?s)(?<=\n)(  "hidden": \{\n.*?\n  \},?\n)', text, maxsplit=1)
    for name, found in lists().items():
        value = json.dumps(found).replace("\\", r"\\")
        group = re.sub(rf'("{name}": \{{\s*"value": ).*', rf"\g<1>{value},", group)
    NUMBERS.write_text(head + group + tail, encoding="utf-8")


if __name__ == "__main__":
    main()

"""Changes to a text on its way to a reader, each a function of the text.

Programs make some: marks of many kinds, breaks of lines, other letters. Each marks a text as densely as such programs
do at worst: every third word. Others are made by hand to hide a mark, and a reader sees hardly any of them.
"""

from __future__ import annotations

import html
import itertools
import json
import re
import textwrap
from collections.abc import Callable, Mapping
from typing import TypeAlias

Change: TypeAlias = Callable[[str], str]

EVERY = 3
"""One word in so many is marked."""

COLUMNS = 38
"""Characters of wrapped lines."""

_NARROW, _BROAD = "ijlt.,:;'|! ", "mwMW%@"
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def _words(text: str, mark: Callable[[str, int], str]) -> str:
    """A text with one word in :data:`EVERY` marked; the mark gets the word and its number."""
    pieces = re.split(r"(\s+)", text)
    return "".join(
        mark(piece, i // 2) if i % (2 * EVERY) == 0 and piece.strip() else piece for i, piece in enumerate(pieces)
    )


def between(before: str, after: str) -> Change:
    """Words between two marks, in which ``{n}`` is the word's number."""
    return lambda text: _words(
        text, lambda word, n: f"{before.replace('{n}', str(n))}{word}{after.replace('{n}', str(n))}"
    )


def _paragraphs(text: str, change: Change, gap: str = "\n\n") -> str:
    return gap.join(change(part) for part in text.split("\n\n"))


def _wrapped(text: str) -> str:
    return _paragraphs(text, lambda part: textwrap.fill(part, COLUMNS, break_long_words=False, break_on_hyphens=False))


def lines(end: str) -> Change:
    """Wrapped lines with another end."""
    return lambda text: _wrapped(text).replace("\n", end)


def column(points: float) -> Change:
    """Lines of a column so wide, in type of ten points, with letters of three widths."""

    def width(words: str) -> float:
        return sum(2.8 if c in _NARROW else 7.8 if c in _BROAD else 6.7 if c.isupper() else 4.8 for c in words)

    def set_in_lines(text: str) -> str:
        found = [""]
        for word in text.split():
            longer = f"{found[-1]} {word}".strip()
            if found[-1] and width(longer) > points:
                found.append(word)
            else:
                found[-1] = longer
        return "\n".join(found)

    return lambda text: _paragraphs(text, set_in_lines, "\n")


def by_reference(text: str) -> str:
    """Links of Markdown whose addresses stand at the end."""
    linked = between("[", "][{n}]")(text)
    numbers = re.findall(r"\]\[(\d+)\]", linked)
    return linked + "\n\n" + "\n".join(f'[{n}]: https://example.org/{n} "title"' for n in numbers)


def latex(text: str) -> str:
    """Commands, quotes, dashes and ties of LaTeX."""
    escaped = re.sub(r"[%&#_$]", lambda found: f"\\{found[0]}", text.replace("{", r"\{").replace("}", r"\}"))
    quoted = re.sub(r'"([^"\n]*)"', r"``\1''", escaped).replace("—", "---").replace("–", "--")
    return re.sub(r" (?=\d)", "~", between(r"\textbf{\emph{", "}}")(quoted))


def _in_page(text: str) -> str:
    """A page whose words are Markdown."""
    parts = (f"<p>\n# {html.escape(part)}\n</p>" for part in between("**", "**")(text).split("\n\n"))
    return "<div>" + "\n".join(parts) + "</div>"


def _mixed(text: str) -> str:
    """Markdown with the tags, the characters and the links of HTML, and notes."""
    marked = between("**[<i>", '</i>](https://example.org/a_(b) "t")**[{n}]')(text.replace(" a ", " a&nbsp;"))
    return "<sub>a</sub> " + marked


def messages(text: str) -> str:
    """Paragraphs as messages of a chat, with the time and a name, and the marks of such programs."""
    marks = between("*_~", "~_*")(text).split("\n")
    return "\n".join(line and f"[12/05/2024, 14:33:{i % 60:02}] Ann Lee: {line}" for i, line in enumerate(marks))


def letters(first: int, small: int, digit: int) -> Change:
    """Letters and digits from other places of Unicode."""
    table = {ord("A") + i: chr(first + i) for i in range(26)} | {ord("a") + i: chr(small + i) for i in range(26)}
    table |= {ord("0") + i: chr(digit + i) for i in range(10)}
    return lambda text: text.translate(table)


def behind(sign: str, every: int = 1) -> Change:
    """A sign behind one word in so many."""
    words = itertools.count()
    return lambda text: re.sub(r"(?<=\w)(?=\s)", lambda _: sign * (next(words) % every == 0), text)


def inside(sign: str) -> Change:
    """A sign inside each word of three letters and more."""
    return lambda text: re.sub(r"(?<=\b\w\w)(?=\w)", sign, text)


def between_letters(sign: str) -> Change:
    """A sign between all letters."""
    return lambda text: re.sub(r"(?<=\w)(?=\w)", sign, text)


def for_spaces(sign: str, every: int = 1) -> Change:
    """A sign for one space in so many."""
    spaces = itertools.count()
    return lambda text: re.sub(" ", lambda space: space[0] if next(spaces) % every else sign, text)


def swapped(letters: str, others: str, every: int = 2) -> Change:
    """Letters from elsewhere in one word in so many."""
    table = str.maketrans(letters, others)
    words = itertools.count()
    return lambda text: re.sub(r"\w+", lambda word: word[0] if next(words) % every else word[0].translate(table), text)


def any_of(signs: str, place: str) -> Change:
    """Each time another one of some signs, at the places that a pattern names."""
    turn = itertools.cycle(signs)
    return lambda text: re.sub(place, lambda _: next(turn), text)


def turned(text: str) -> str:
    """Words whose letters stand in the opposite order, and an override that turns them back to the eye."""
    return re.sub(r"\w+", lambda word: f"\u202e{word[0][::-1]}\u202c", text)


CHANGES: Mapping[str, Change] = {
    "none": lambda text: text,
    "column of 45 mm, one type": column(127.6),
    "column of 40 mm, one type": column(113.4),
    "lines that end with U+2028": lines("\u2028"),
    "lines that end with U+0085": lines("\x85"),
    "lines that end with U+000B": lines("\x0b"),
    "lines that end with U+000C": lines("\x0c"),
    "a blank line behind each line": lambda text: _wrapped(text).replace("\n", "\n\n"),
    "one word a line": lambda text: "\n".join(text.split()),
    "tabs for spaces": lambda text: text.replace(" ", "\t"),
    "Markdown links": between("[", "](https://example.org/{n})"),
    "Markdown links with a title": between("[", '](https://example.org/{n} "t")'),
    "Markdown links, brackets in the address": between("[", "](https://example.org/a_(b)_{n})"),
    "Markdown links by reference": by_reference,
    "addresses in angle brackets": between("", " <https://example.org/{n}>"),
    "addresses behind words": between("", " (https://example.org/{n})"),
    "addresses alone": between("", " https://example.org/{n}"),
    "two tags in Markdown": lambda text: "<sub>a</sub> " + between("**", "**")(text),
    "HTML in Markdown": _mixed,
    "Markdown in HTML": _in_page,
    "HTML as text": lambda text: html.escape(between("<b>", "</b>")(text)),
    "characters of HTML alone": lambda text: html.escape(text).replace(" the ", "&nbsp;the "),
    "a space of HTML in three": between("", "&nbsp;"),
    "notes of chat programs": between("", "【{n}†source】"),
    "notes by private characters": between("", "\ue200cite\ue202turn0search{n}\ue201"),
    "notes in brackets": between("", "[{n}]"),
    "notes in brackets, each a link": between("", " [{n}](https://example.org/{n})"),
    "notes of Markdown": between("", "[^{n}]"),
    "raised numbers": lambda text: _words(text, lambda word, n: f"{word}{str(n).translate(_SUPERSCRIPTS)}"),
    "links of wikis": between("[[Page {n}|", "]]"),
    "emphasis and templates of wikis": between("'''", "'''{{cite|n={n}}}"),
    "BBCode": between("[url=https://example.org/{n}][b]", "[/b][/url]"),
    "LaTeX": latex,
    "chat programs": messages,
    "a string of a program": lambda text: json.dumps(_wrapped(text))[1:-1],
    "full width": letters(0xFF21, 0xFF41, 0xFF10),
    "letters of formulas": letters(0x1D5D4, 0x1D5EE, 0x1D7EC),
    "colours of a terminal": between("\x1b[1;31m", "\x1b[0m"),
    "colours of a terminal, copied": between("[1;31m", "[0m"),
}
"""Changes of programs, by name."""


_SMALL_CAPITALS = "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘꞯʀꜱᴛᴜᴠᴡxʏᴢ"
_HIDDEN = {
    "Hangul filler": "\u3164", "Hangul filler of an initial": "\u115f", "Hangul filler of a vowel": "\u1160",
    "Hangul filler, half width": "\uffa0", "blank of Braille": "\u2800", "inherent vowel of Khmer": "\u17b4",
    "anchor of an annotation": "\ufff9", "beam of music": "\U0001d173", "blank head of a note": "\U0001d159",
    "overlap of shorthand": "\U0001bca0", "private use": "\ue000", "private use of plane 16": "\U00100000",
    "control U+0001": "\x01", "control U+0007": "\x07", "control U+001B": "\x1b", "control U+001F": "\x1f",
    "control U+007F": "\x7f", "control U+0090": "\x90", "noncharacter": "\ufdd0", "noncharacter U+FFFF": "\uffff",
    "unassigned": "\u0378", "unassigned of plane 4": "\U00040000", "reserved": "\U000e0fff",
    "variation selector": "\ufe0f", "variation selector of Mongolian": "\u180b", "joiner": "\u200d",
    "grapheme joiner": "\u034f", "place of an object": "\ufffc", "joiner of hieroglyphs": "\U00013430",
    "filler of Khitan": "\U00016fe4", "vowel sign of Devanagari": "\u0941", "point of Hebrew": "\u05b4",
    "sign of Arabic": "\u064e", "soft hyphen": "\u00ad", "Mongolian vowel separator": "\u180e",
    "invisible times": "\u2062", "tag": "\U000e0041", "override": "\u202d",
}  # fmt: skip
"""Hidden characters that stand behind words, by what they are."""

_ACCENTS = {"dot below": "\u0323", "dot above right": "\u0358", "ring below": "\u0325", "cross below": "\u0353"}


UNSEEN: Mapping[str, Change] = {
    **{f"{name} behind each word": behind(sign) for name, sign in (_HIDDEN | _ACCENTS).items()},
    "Hangul filler inside words": inside("\u1160"),
    "overlap of shorthand inside words": inside("\U0001bca0"),
    "control between all letters": between_letters("\x02"),
    "joiner between all letters": between_letters("\u200d"),
    "beam of music between all letters": between_letters("\U0001d173"),
    "blanks of Braille for spaces": for_spaces("\u2800"),
    "blanks of Braille for every second space": for_spaces("\u2800", 2),
    "Hangul fillers for spaces": for_spaces("\u3164"),
    "hair spaces": for_spaces("\u200a"),
    "double spaces": for_spaces("  "),
    "dot below every letter in two": lambda text: re.sub(r"([a-z])([a-z])", "\\1\u0323\\2", text),
    "dot below behind every second word": behind("\u0323", 2),
    "dot below each o": lambda text: text.replace("o", "o\u0323"),
    "low line below all spaces": lambda text: text.replace(" ", " \u0332"),
    "accents of all kinds behind words": any_of("".join(map(chr, range(0x316, 0x334))), r"(?<=\w)(?=\s)"),
    "hidden characters of all kinds inside words": any_of("".join(_HIDDEN.values()), r"(?<=\b\w\w)(?=\w)"),
    "dot below all vowels": lambda text: re.sub("([aeiou])", "\\1\u0323", text),
    "dot above each i": lambda text: text.replace("i", "i\u0307"),
    "Cyrillic letters in every second word": swapped("aceopxyiAEOPCTH", "асеорхуіАЕОРСТН"),
    "Cyrillic letters in every word": swapped("aceopxyis", "асеорхуіѕ", 1),
    "Greek letters in every second word": swapped("oviuAEO", "ονιυΑΕΟ"),
    "Armenian letters in every second word": swapped("uohngq", "սօհոցզ"),
    "small letters of Cherokee, and omicron, in every second word": swapped("izsvwrco", "ꭵꮓꮪꮩꮃꮁꮯο"),
    "dotless i": lambda text: text.replace("i", "ı"),
    "long s": lambda text: text.replace("s", "ſ"),
    "alpha and script g": swapped("ag", "ɑɡ", 1),
    "small capitals in every second word": swapped("abcdefghijklmnopqrstuvwxyz", _SMALL_CAPITALS),
    "small capitals": swapped("abcdefghijklmnopqrstuvwxyz", _SMALL_CAPITALS, 1),
    "numerals for letters": swapped("ivxlcdm", "ⅰⅴⅹⅼⅽⅾⅿ", 1),
    "raised letters in every second word": swapped("abcdefgh", "ᵃᵇᶜᵈᵉᶠᵍʰ"),
    "full width in every second word": swapped("aeiou", "ａｅｉｏｕ"),
    "letters of formulas in every second word": swapped("aeiou", "𝖺𝖾𝗂𝗈𝗎"),
    "letters in boxes": swapped("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "".join(map(chr, range(0x1F130, 0x1F14A))), 1),
    "minus and other apostrophes": lambda text: text.replace("-", "\u2212").replace("'", "\u02bc"),
    "other stops and commas": lambda text: text.replace(".", "\u2024").replace(",", "\ua4f9"),
    "low quotes for commas": lambda text: text.replace(",", "\u201a"),
    "words turned and turned back": turned,
}
"""Changes that readers hardly see, by name."""

"""Edits that people and their programs make to a text: what copying does, how it is spelt, what is reworded.

Each edit is a function of a text and a source of chance, which many do not use. The same text and seed give the same
edit. Words are those of ``words.py``.
"""

from __future__ import annotations

import html
import pydoc_data.topics
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import TypeAlias

import numpy as np

from .words import ALWAYS_S, ALWAYS_Z, AMERICAN, BRITISH, CONTRACTED, EXPANDED, GERMAN, SMALL_WORDS, SYNONYMS

Edit: TypeAlias = Callable[[str, np.random.Generator], str]

COLUMNS = 72
"""Width of lines in mail."""

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_SENTENCE_GAP = re.compile(r"((?<=[.!?])[\"')”’]*\s+)")


def _same_case(word: str, like: str) -> str:
    """A word with capitals as another one has them."""
    if like.isupper() and len(like) > 1:
        return word.upper()
    return word[:1].upper() + word[1:] if like[:1].isupper() else word


def _translated(text: str, table: Mapping[str, str]) -> str:
    """A text with the words, or pairs of words, of a table replaced."""
    names = "|".join(sorted(map(re.escape, table), key=len, reverse=True))
    pattern = re.compile(rf"\b(?:{names})\b", re.I)
    return pattern.sub(lambda found: _same_case(table[found[0].lower()], found[0]), text)


def _paragraphs(text: str) -> list[str]:
    """The lines with words in them; this model ends a paragraph by one line end or two."""
    return [line.strip() for line in text.split("\n") if line.strip()]


def _pieces(text: str) -> tuple[list[str], list[str]]:
    """The sentences of a text, and what stands between them."""
    parts = _SENTENCE_GAP.split(text)
    return parts[::2], parts[1::2]


def _joined(sentences: Sequence[str], gaps: Sequence[str]) -> str:
    return "".join(part for pair in zip(sentences, [*gaps, ""], strict=False) for part in pair)


def curly(text: str, rng: np.random.Generator) -> str:  # noqa: ARG001
    """Curly quotes, long dashes and the ellipsis of word processors."""
    text = re.sub(r"(^|(?<=[\s(\[{—–-]))\"", "“", text, flags=re.M).replace('"', "”")
    text = re.sub(r"(^|(?<=[\s(\[{—–“-]))'(?=\w)", "‘", text, flags=re.M).replace("'", "’")
    text = re.sub(r"(?<=\d)-(?=\d)", "–", text.replace("--", "—").replace("...", "…"))
    return re.sub(r" - ", " – ", text)


def straight(text: str, rng: np.random.Generator) -> str:  # noqa: ARG001
    """Quotes, dashes and the ellipsis as a typewriter has them."""
    table: dict[str, str | int | None] = {
        "“": '"',
        "”": '"',
        "‘": "'",
        "’": "'",
        "—": "--",
        "–": "-",
        "…": "...",
        "\u00a0": " ",
    }
    return text.translate(str.maketrans(table))


def autocorrected(text: str, rng: np.random.Generator) -> str:
    """What a word processor makes of a text while it is typed."""
    table = {"(c)": "©", "(r)": "®", "(tm)": "™", "1/2": "½", "1/4": "¼", "3/4": "¾", "->": "→", " i ": " I "}
    for typed, shown in table.items():
        text = text.replace(typed, shown)
    text = re.sub(r"(?<=\d)(st|nd|rd|th)\b", lambda found: found[0].translate(_RAISED), text)
    return re.sub(r"(^|[.!?] )([a-z])", lambda found: found[1] + found[2].upper(), curly(text, rng), flags=re.M)


_RAISED = str.maketrans("dhnrst", "ᵈʰⁿʳˢᵗ")


def mojibake(text: str, rng: np.random.Generator) -> str:
    """Curly quotes whose UTF-8 was read as Windows-1252."""
    return re.sub(r"[^\x00-\x7f]+", lambda found: found[0].encode().decode("cp1252", "replace"), curly(text, rng))


def no_break(text: str, rng: np.random.Generator) -> str:
    """One space in three does not break."""
    return re.sub(" ", lambda found: "\u00a0" if rng.random() < 1 / 3 else found[0], text)


def soft_hyphens(text: str, rng: np.random.Generator) -> str:  # noqa: ARG001
    """Soft hyphens in long words."""
    return re.sub(r"[^\W\d_]{7,}", lambda found: "\u00ad".join(textwrap.wrap(found[0], 4)), text)


def zero_width(text: str, rng: np.random.Generator) -> str:
    """Characters without a width, a joiner among them, in a word of three."""

    def marked(found: re.Match[str]) -> str:
        mark = "\u200b\u200d\u2060\ufeff"[rng.integers(4)]
        return f"{found[0][:2]}{mark}{found[0][2:]}" if rng.random() < 1 / 3 else found[0]

    return _WORD.sub(marked, text)


def crlf(text: str, rng: np.random.Generator) -> str:  # noqa: ARG001
    """Line ends of Windows."""
    return text.replace("\n", "\r\n")


def wrapped(text: str, rng: np.random.Generator) -> str:  # noqa: ARG001
    """Lines of at most :data:`COLUMNS` characters."""
    fill = partial(textwrap.fill, width=COLUMNS, break_on_hyphens=False, break_long_words=False)
    return "\n".join(fill(line) for line in text.split("\n"))


def quoted(text: str, rng: np.random.Generator) -> str:
    """Wrapped, and quoted as mail programs do."""
    return "\n".join(f"> {line}".rstrip() for line in wrapped(text, rng).split("\n"))


def quoted_twice(text: str, rng: np.random.Generator) -> str:
    """Quoted by two programs, the second of which broke the lines that the first one's marks had made too long."""
    return quoted(quoted(text, rng), rng)


def hyphenated(text: str, rng: np.random.Generator) -> str:  # noqa: ARG001
    """Lines of 60 characters with long words divided at their ends, as in a PDF."""
    return "\n".join("\n".join(_divided(line.split(), 60)) for line in text.split("\n"))


def _divided(words: list[str], width: int) -> list[str]:
    lines = [""]
    for word in words:
        rest, room = word, width - len(lines[-1]) - 1
        if len(word) > room:
            head = min(room - 1, len(word) - 3)
            if word.isalpha() and head >= 3:
                lines[-1] += f" {word[:head]}-"
                rest = word[head:]
            lines.append("")
        lines[-1] += f" {rest}"
    return [line.strip() for line in lines]


def wide_gaps(text: str, rng: np.random.Generator) -> str:  # noqa: ARG001
    """Two spaces behind each sentence."""
    return re.sub(r"(?<=[.!?]) (?=\S)", "  ", text)


def merged(text: str, rng: np.random.Generator) -> str:  # noqa: ARG001
    """All paragraphs in one."""
    return " ".join(text.split())


def split(text: str, rng: np.random.Generator) -> str:  # noqa: ARG001
    """A paragraph for each sentence."""
    sentences, _ = _pieces(text)
    return "\n\n".join(sentence.strip() for sentence in sentences)


def entities(text: str, rng: np.random.Generator) -> str:
    """Characters as HTML's references, without a tag."""
    escaped = html.escape(curly(text, rng), quote=True)
    return escaped.translate({0x2019: "&rsquo;", 0x201C: "&ldquo;", 0x201D: "&rdquo;", 0x2014: "&mdash;"})


def page(text: str, rng: np.random.Generator) -> str:
    """The source of a page."""
    return "\n".join(f"<p>{entities(line, rng)}</p>" for line in _paragraphs(text))


def ligatures(text: str, rng: np.random.Generator) -> str:  # noqa: ARG001
    """Ligatures, as in a PDF."""
    for letters, ligature in (("ffi", "ﬃ"), ("ffl", "ﬄ"), ("ff", "ﬀ"), ("fi", "ﬁ"), ("fl", "ﬂ")):
        text = text.replace(letters, ligature)
    return text


def markdown(text: str, rng: np.random.Generator) -> str:
    """A heading, bold words and bullets, as chat programs write them."""
    bold = _WORD.sub(lambda found: f"**{found[0]}**" if len(found[0]) > 4 and rng.random() < 1 / 8 else found[0], text)
    lines = [f"- {line}" if i % 2 else line for i, line in enumerate(_paragraphs(split(bold, rng)))]
    return "## Summary\n\n" + "\n\n".join(lines)


def bullets(text: str, rng: np.random.Generator) -> str:
    """Bullets as word processors paste them."""
    return "\n".join(f"•\t{line}" for line in _paragraphs(split(text, rng)))


def upper(text: str, rng: np.random.Generator) -> str:  # noqa: ARG001
    """Capitals alone."""
    return text.upper()


def lower(text: str, rng: np.random.Generator) -> str:  # noqa: ARG001
    """Small letters alone."""
    return text.lower()


def title(text: str, rng: np.random.Generator) -> str:  # noqa: ARG001
    """Each word with a capital, as in a heading."""
    return _WORD.sub(lambda found: found[0][:1].upper() + found[0][1:], text)


def american(text: str, rng: np.random.Generator) -> str:  # noqa: ARG001
    """American spelling."""
    return _respelled(_translated(text, AMERICAN), "s", "z", ALWAYS_S)


def british(text: str, rng: np.random.Generator) -> str:  # noqa: ARG001
    """British spelling, with -ise."""
    return _respelled(_translated(text, BRITISH), "z", "s", ALWAYS_Z)


def _respelled(text: str, old: str, new: str, kept: frozenset[str]) -> str:
    """``-ise`` and its kin as ``-ize``, or the other way, but for words that everybody spells with the old letter."""

    def spelt(found: re.Match[str]) -> str:
        return found[0] if found[1].lower() in kept else f"{found[1]}i{new}{found[2]}"

    return re.sub(rf"\b(\w+)i{old}(e|ed|es|ing|er|ers|ation|ations)\b", spelt, text)


def contracted(text: str, rng: np.random.Generator) -> str:  # noqa: ARG001
    """``do not`` as ``don't``."""
    return _translated(text, CONTRACTED)


def expanded(text: str, rng: np.random.Generator) -> str:  # noqa: ARG001
    """``don't`` as ``do not``."""
    return _translated(text.replace("’", "'"), EXPANDED)


def reordered(text: str, rng: np.random.Generator) -> str:
    """Sentences in another order."""
    sentences, gaps = _pieces(text)
    return _joined([sentences[i] for i in rng.permutation(len(sentences))], gaps)


def dropped(text: str, rng: np.random.Generator) -> str:
    """One sentence in four left out."""
    sentences, gaps = _pieces(text)
    gone = set(rng.choice(len(sentences), round(len(sentences) / 4), replace=False).tolist())
    left = [i for i in range(len(sentences)) if i not in gone]
    return _joined([sentences[i] for i in left], [gaps[i] for i in left[:-1]])


@cache
def _human() -> tuple[str, ...]:
    """Sentences by people: Python's documentation without its marks."""
    words = re.sub(r"[^A-Za-z.,\s]+", "", " ".join(text for _, text in sorted(pydoc_data.topics.topics.items())))
    sentences, _ = _pieces(" ".join(words.split()))
    return tuple(sentence for sentence in sentences if 60 <= len(sentence) <= 240)


def between(passages: Sequence[str], text: str, rng: np.random.Generator) -> str:
    """A passage after each paragraph; a long paragraph counts as several of three sentences."""
    found = []
    for paragraph in _paragraphs(text):
        sentences, _ = _pieces(paragraph)
        for start in range(0, len(sentences), 3):
            found += [" ".join(sentences[start : start + 3]), passages[int(rng.integers(len(passages)))]]
    return "\n\n".join(found)


def human_between(text: str, rng: np.random.Generator) -> str:
    """A sentence by people after each paragraph."""
    return between(_human(), text, rng)


def german_between(text: str, rng: np.random.Generator) -> str:
    """Two sentences in another language after each paragraph."""
    return between(GERMAN, text, rng)


def emoji(text: str, rng: np.random.Generator) -> str:
    """A small picture behind one sentence in two."""
    return re.sub(
        r"(?<=[.!?]) ", lambda found: f" {'😀🎉👍🔥🙏'[rng.integers(5)]} " if rng.random() < 1 / 2 else " ", text
    )


_CONFUSED = {"rn": "m", "m": "rn", "cl": "d", "l": "1", "1": "l", "O": "0", "0": "O", "e": "c", "h": "b", "I": "l"}


def misread(text: str, rng: np.random.Generator) -> str:
    """One character in a hundred misread, as by a scanner."""
    places = list(re.finditer("|".join(_CONFUSED), text))
    chosen = set(rng.choice(len(places), min(len(places), round(len(text) / 100)), replace=False).tolist())
    found = iter(range(len(places)))
    return re.sub("|".join(_CONFUSED), lambda each: _CONFUSED[each[0]] if next(found) in chosen else each[0], text)


def reworded(share: float, text: str, rng: np.random.Generator) -> str:
    """A share of the words replaced by synonyms, by small words where these do not reach, or as many as there are."""
    words = list(_WORD.finditer(text))
    proper, small = (
        rng.permutation([i for i, word in enumerate(words) if word[0].lower() in table])
        for table in (SYNONYMS, SMALL_WORDS)
    )
    chosen = {int(i) for i in [*proper, *small][: round(share * len(words))]}
    table = SMALL_WORDS | SYNONYMS
    return _replaced(text, words, {i: table[words[i][0].lower()] for i in chosen})


def replaced(share: float, text: str, rng: np.random.Generator) -> str:
    """A share of the words replaced by any words that people wrote; a smaller share replaces some of the same words."""
    words, others = list(_WORD.finditer(text)), _WORD.findall(" ".join(_human()))
    order, new = rng.permutation(len(words)), rng.integers(len(others), size=len(words))
    return _replaced(text, words, {int(i): others[new[i]].lower() for i in order[: round(share * len(words))]})


def _replaced(text: str, words: Sequence[re.Match[str]], new: Mapping[int, str]) -> str:
    found, done = [], 0
    for i, word in enumerate(words):
        found += [text[done : word.start()], _same_case(new[i], word[0]) if i in new else word[0]]
        done = word.end()
    return "".join([*found, text[done:]])


EDITS: dict[str, Edit] = {
    "none": lambda text, rng: text,
    "curly quotes, long dashes, ellipsis": curly,
    "straight quotes and dashes": straight,
    "autocorrected": autocorrected,
    "curly quotes read as Windows-1252": mojibake,
    "spaces that do not break": no_break,
    "soft hyphens": soft_hyphens,
    "characters without width": zero_width,
    "line ends of Windows": crlf,
    "wrapped at 72 columns": wrapped,
    "wrapped, quoted by `>`": quoted,
    "quoted twice, lines broken again": quoted_twice,
    "wrapped, words divided": hyphenated,
    "two spaces behind sentences": wide_gaps,
    "paragraphs merged": merged,
    "a paragraph for each sentence": split,
    "references of HTML": entities,
    "source of a page": page,
    "ligatures": ligatures,
    "Markdown added": markdown,
    "bullets (`•`)": bullets,
    "small pictures inserted": emoji,
    "ALL CAPITALS": upper,
    "all small letters": lower,
    "Each Word With A Capital": title,
    "American spelling": american,
    "British spelling": british,
    "contracted (*don't*)": contracted,
    "written out (*do not*)": expanded,
    "sentences reordered": reordered,
    "one sentence in four dropped": dropped,
    "human sentences in between": human_between,
    "German sentences in between": german_between,
    "1 % of characters misread": misread,
    **{f"{100 * share:.0f} % of words by synonyms": partial(reworded, share) for share in (0.05, 0.1, 0.2, 0.3)},
}
"""The edits by name: what copying does, capitals, spelling, order, rewording."""

"""The statistical families: what they ask, how often, and the claimed rates. All is fixed here, before any run."""

from __future__ import annotations

import pydoc_data.topics
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from ctwl_protocol.numbers import NUMBERS
from ctwl_protocol.profile import TOYS
from ctwl_protocol.records.layouts import find_layout
from ctwl_protocol.records.record import Record, RecordDocument

from .bounds import Bound

ALPHA = NUMBERS.search.level
"""Level at which a code counts as found; the decoder's own default."""

HUMAN_ALPHA = 0.05
"""Level at which human texts are read: one in twenty may pass, so few texts can show that too many do."""

HUMAN = Bound("at most", HUMAN_ALPHA)
"""What a decoder claims of texts without a code, at that level."""

PUBLIC = "org.ctwl.smollm2-135m.1"
"""The profile whose number and length of human texts a detector is asked about."""

SIZES = ("quick", "standard", "thorough")
"""How many texts there are; the bounds follow from their number."""

SEEDS = range((1 << 20) + 1)
"""Of records, samples and edits."""


_FEWEST = 4
"""No family asks for fewer texts: with four, each bound can fail and pass (a test checks every size)."""


@dataclass(frozen=True)
class Setting:
    """How many texts a profile takes, and how long they are.

    Attributes:
        tokens: proxy tokens of a text with one code.
        texts: by size, how many texts a pair of encoder and decoder is judged by.
        humans: by size, how many human texts a decoder is judged by.
    """

    tokens: int
    texts: dict[str, int]
    humans: dict[str, int]


_MODEL = Setting(200, {"quick": 4, "standard": 6, "thorough": 100}, {"quick": 4, "standard": 8, "thorough": 200})
_TOY = Setting(120, {"quick": 5, "standard": 12, "thorough": 200}, {"quick": 8, "standard": 24, "thorough": 400})
"""Chosen by hand: the reference reads texts of these lengths at :data:`ALPHA`, and a quick run stays within minutes.
The bounds follow from the numbers of texts; more texts only make a verdict sharper."""


def setting(profile: str) -> Setting:
    """The setting of a profile: texts of the toy provider cost almost nothing, texts of a model take seconds."""
    return _TOY if profile in TOYS else _MODEL


@dataclass(frozen=True)
class TextFamily:
    """A family of round trips: a text is written, perhaps changed, and read.

    Attributes:
        name: name of the family.
        section: section of the specification that the family tests.
        comment: what is done.
        bound: the share of texts that are read right.
        layout: the records' layout.
        length: texts are so many times as long as texts of one code.
        change: from the text and a generator to what the decoder is given.
        toy: whether it is asked under the toy profiles.
        model: whether it is asked under all other profiles.
        needs: a family of vectors that a decoder names if it can be asked.
    """

    name: str
    section: str
    comment: str
    bound: Bound
    layout: int = 1
    length: float = 1.0
    change: Callable[[str, random.Random], str] = lambda text, _: text
    toy: bool = True
    model: bool = True
    needs: str | None = None

    def applies(self, profile: str) -> bool:
        """Whether the family applies to a profile."""
        return self.toy if profile in TOYS else self.model

    def tokens(self, profile: str) -> int:
        """Proxy tokens of its texts."""
        return round(setting(profile).tokens * self.length)

    def texts(self, profile: str, size: str) -> int:
        """How many texts judge a pair of encoder and decoder: the longer the texts, the fewer."""
        return max(_FEWEST, round(setting(profile).texts[size] / self.length))


def _excerpt(text: str, draw: random.Random) -> str:
    size = round(len(text) * 0.75)
    start = draw.randint(0, len(text) - size)
    return text[start : start + size]


def _characters(text: str, draw: random.Random) -> str:
    """Places in it differ in characters, in bytes and after normalization."""
    letters = list(text)
    for i in draw.sample(range(len(letters)), min(len(letters), max(1, round(len(letters) * 0.01)))):
        letters[i] = draw.choice("\u00e9\u00df\u0416\u4e2d\U0001f680")
    return f" \n{''.join(letters)}\t \n"


def _words(text: str, draw: random.Random) -> str:
    parts = re.split(r"(\s+)", text)
    places = [i for i, part in enumerate(parts) if part and not part.isspace()]
    for i in draw.sample(places, min(len(places), max(1, round(len(places) * 0.05)))):
        parts[i] = draw.choice(_common_words())
    return "".join(parts)


_RECORDS = "decode-record"
"""The family of vectors that a decoder names if it reads records of several codes."""

FAMILIES = (
    TextFamily("round-trip", "8.1, 10", "written and read", Bound("at least", 0.99)),
    TextFamily(
        "excerpt", "10", "three quarters of the text, cut anywhere", Bound("at least", 0.85), change=_excerpt
    ),
    TextFamily(
        "characters", "10", "one character in a hundred replaced, white space around",
        Bound("at least", 0.85), change=_characters,
    ),
    TextFamily(
        "words", "10", "one word in twenty replaced", Bound("at least", 0.85), change=_words, toy=False
    ),
    TextFamily(
        "tagged", "9.2, 10.4", "a record of layout 2", Bound("at least", 0.99), 2, 3.0, model=False, needs=_RECORDS
    ),
    TextFamily(
        "relay", "9.3, 10.4", "a chain of two models", Bound("at least", 0.99), 5, 3.0, model=False, needs=_RECORDS
    ),
)  # fmt: skip
"""The families of round trips. The claimed rates were chosen by hand, below those of the reference at these lengths."""

_WHO = ("The mayor of the coastal town", "Scientists at the university", "A spokesman for the farmers", "The hospital",
        "The water authority", "Residents of the valley", "The transport minister", "The wheat board")  # fmt: skip
_WHAT = ("said on Monday that heavy rain over the weekend had", "announced a plan to spend 12 million dollars on",
         "has rejected claims that last year's drought", "expects a better season after a difficult year, but",
         "will meet representatives of the union today to discuss")  # fmt: skip


def prompt(index: int) -> str:
    """An opening of a made-up news item."""
    return f"{_WHO[index % len(_WHO)]} {_WHAT[index % len(_WHAT)]}"


def record(layout: int, seed: int, index: int) -> RecordDocument:
    """The record of text number ``index``: its fields and nonce are drawn anew for each text."""
    draw = random.Random(f"{seed}/record/{layout}/{index}")  # noqa: S311 - reproducible on purpose
    made = Record.of(layout, **{field.name: draw.getrandbits(field.bits) for field in find_layout(layout).fields})
    return made.document()


@cache
def _human() -> str:
    """Text that people wrote: Python's own manual, which comes with every Python."""
    topics = pydoc_data.topics.topics
    return "\n\n".join(topics[name] for name in sorted(topics))


@cache
def _common_words() -> list[str]:
    return sorted(set(re.findall(r"\b[a-z]{3,9}\b", _human())))


def human_passage(share: float, size: int) -> str:
    """A passage of so many characters, that far into the manual. It begins at the start of a line."""
    return _passage(int(share * len(_human())), size)


def _passage(place: int, size: int) -> str:
    start = _human().find("\n", place) + 1
    return _human()[start : start + size]


def human_texts(profile: str, count: int) -> list[str]:
    """Passages as long as written texts, evenly spread over the manual. Each begins at the start of a line."""
    size = setting(profile).tokens * (1 if profile in TOYS else 4)
    return [_passage((len(_human()) - 2 * size) * i // count, size) for i in range(count)]

"""The numbers that several languages share, each with its section and its reason: ``spec/numbers.json``, read once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter


def _code_points(ranges: object) -> tuple[int, ...]:
    """The code points of ranges such as ``AD 200E-200F``, ascending as they are named."""
    bounds = [[int(bound, 16) for bound in each.split("-")] for each in str(ranges).split()]
    return tuple(point for each in bounds for point in range(each[0], each[-1] + 1))


CodePoints = Annotated[tuple[int, ...], BeforeValidator(_code_points)]


def _ranges(ranges: object) -> tuple[tuple[int, int], ...]:
    """The first and the last code point of each range."""
    bounds = [each.split("-") for each in str(ranges).split()]
    return tuple((int(each[0], 16), int(each[-1], 16)) for each in bounds)


Ranges = Annotated[tuple[tuple[int, int], ...], BeforeValidator(_ranges)]
"""What is too many code points to name each."""


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class _Number(_Strict):
    """A number as the file has it: ``why`` names a reason, or the experiment that it was chosen by."""

    value: Any
    section: Annotated[str, Field(pattern=r"^\d+(\.\d+)?$")]
    why: Annotated[str, Field(min_length=1)]


class Text(_Strict):
    """Normalization ``ctwl-n1`` (spec section 5.1)."""

    deleted: CodePoints
    spaces: CodePoints
    line_ends: CodePoints
    single_quotes: CodePoints
    double_quotes: CodePoints
    hyphens: CodePoints
    ellipses: CodePoints
    white_space: CodePoints
    marks_in_a_row: int


class Splitting(_Strict):
    """Patterns of splitting rules, and the patterns of each rule (spec section 5.2)."""

    patterns: Mapping[str, str]
    rules: Mapping[str, tuple[str, ...]]


class Blocks(_Strict):
    """Blocks, in tokens (spec section 5.5)."""

    length: int
    overlap: int


class Rivals(_Strict):
    """Rivals (spec section 7.4)."""

    share: int


class LayoutRow(_Strict):
    """A layout: its number, its name, and the fields that follow the beacon's, with their bits."""

    number: int
    name: str
    fields: tuple[tuple[str, int], ...]


class Records(_Strict):
    """Codes and records (spec sections 9.1 to 9.4)."""

    beacon: Mapping[str, int]
    codes: int
    layouts: tuple[LayoutRow, ...]
    registered: tuple[int, int]
    slot_tail: int


class Documents(_Strict):
    """Bounds of documents (spec section 4.1)."""

    bytes: int
    depth: int


class Registry(_Strict):
    """Bounds of the registry's documents (spec section 9.6)."""

    bytes: int
    envelope_bytes: int
    root_bytes: int
    end_of_time: int
    entries: int
    keys: int
    signatures: int
    test_keys: int
    name: int
    marks: int
    address: int
    models: int
    epochs: int
    fields: tuple[int, int]


class Asking(_Strict):
    """Bounds of questions to detectors and of their answers (spec section 20)."""

    characters: int
    question_bytes: int
    days: int
    answer_bytes: int
    places: int
    says: int
    least_characters: int
    message: int


class Scores(_Strict):
    """The scores of a language model (spec section 10.1)."""

    nat: int
    unmarked: float
    unmarked_contexts: tuple[float, ...]
    ramp: tuple[float, float]


class Light(_Strict):
    """The light scores (spec section 10.5)."""

    step_bits: int
    doublings: int
    ramp: float
    likelier: float
    halving: float


class Search(_Strict):
    """What is searched, and how the tests divide the level (spec sections 10 and 10.2)."""

    level: float
    characters: int
    tokens: int
    score_shares: Mapping[str, float]
    light_shares: Mapping[str, float]
    registered_share: float
    one_code: float
    record_tests: int
    whole: float
    window_lengths: tuple[int, ...]
    window_part: float
    window_step: float
    positions_per_code: int
    repeat_distance: int
    evaluated: int
    standard_scores: Mapping[str, float]
    many_contexts: int
    bits_per_rank: int


class Spans(_Strict):
    """Spans (spec section 10.3)."""

    fall: int
    taken: int


class Reading(_Strict):
    """Which windows are read as records, and how (spec section 10.4)."""

    beacons: int
    hypotheses: int
    clear: float
    confirmed: float
    promising: float
    short: int
    possible: float
    windows: int
    much_clearer: float
    likely: int
    combination_bits: int
    nowhere: int


class Null(_Strict):
    """The null (spec section 12)."""

    floor: float
    steepest: float


class Variants(_Strict):
    """The second variant of a text (spec section 10, step 1)."""

    widest: int
    mostly_full: float
    capitals: float
    fewest_words: int
    ligatures: CodePoints
    page_tags: int
    rounds: int
    letters: CodePoints
    wide: CodePoints
    line_ends: CodePoints
    fewest_alone: int
    narrow_characters: str
    broad_characters: str
    widths: tuple[int, int, int, int]
    nearly_full: float


class Hidden(_Strict):
    """What nobody sees in a text, or takes for another letter (spec section 10, step 1)."""

    never: Ranges
    private: Ranges
    elsewhere: Ranges
    blanks: Ranges
    own: Ranges
    whole_word: float
    share: float
    fewest: int
    accents: Ranges
    faint: CodePoints
    fewest_letters: int
    letter_share: float
    dotted: str
    accompanied: float
    latin: Ranges
    between: Ranges
    alike: Mapping[str, CodePoints]
    styled: Mapping[str, CodePoints]
    borrowed: CodePoints
    beside: CodePoints
    turned: CodePoints


class Tags(_Strict):
    """Names of HTML's elements (spec section 10, step 1)."""

    paragraph: str
    block: str
    line: str
    inline: str
    hidden: str


class Dialect(_Strict):
    """What shows that a text is of a kind: a pattern, how often it is found at least, and a kind that excludes it."""

    pattern: str
    times: int
    unless: str = ""


class Mark(_Strict):
    """A rule for marks that are taken out of a text (spec section 10, step 1).

    Attributes:
        pattern: of the mark, in a text whose capitals of ASCII are small. ``%letter`` is a letter or a digit.
        at: the characters that it begins with; where there are none, it stands at the beginning of a line.
        does: "drop" takes it out; "keep" leaves its group; "put" has other words for it; "hide" takes out all up to an
            end; "stay" leaves it, and reads no mark in it; "tag", "reference" and "number" are HTML's and strings' own.
        put: the words, or the end.
        dialect: the kind of text that it is for; for all where there is none.
        eats: whether the spaces before go with it.
        breaks: the break that it leaves: 1 is a space, 2 the end of a line.
    """

    pattern: str
    at: str = ""
    does: Literal["drop", "keep", "put", "hide", "stay", "tag", "reference", "number"] = "drop"
    put: str = ""
    dialect: str = ""
    eats: bool = False
    breaks: int = 0


class Numbers(_Strict):
    """The values of all numbers, by what they are about."""

    text: Text
    splitting: Splitting
    blocks: Blocks
    rivals: Rivals
    records: Records
    documents: Documents
    registry: Registry
    asking: Asking
    scores: Scores
    light: Light
    search: Search
    spans: Spans
    reading: Reading
    null: Null
    variants: Variants
    hidden: Hidden
    tags: Tags
    dialects: Mapping[str, Dialect]
    marks: Mapping[str, Mark]


def read(content: bytes) -> Numbers:
    """The values of a file of numbers.

    Raises:
        pydantic.ValidationError: a number is missing, unknown or of another kind, or lacks its section or its reason.
    """
    groups = TypeAdapter(dict[str, dict[str, _Number]]).validate_json(content)
    values = {name: {each: number.value for each, number in group.items()} for name, group in groups.items()}
    return Numbers.model_validate_json(json.dumps(values))


def linked(content: bytes) -> bytes:
    """The content of the file that a checkout links to.

    Raises:
        OSError: git wrote the link as a text, as it does on Windows unless it is told otherwise.
    """
    if content.startswith(b"../"):
        raise OSError("this checkout has no symbolic links; clone it anew: git clone -c core.symlinks=true")
    return content


NUMBERS = read(linked((resources.files("ctwl_protocol") / "numbers.json").read_bytes()))

"""The types of the numbers; ``tools/number_types.py`` writes this file."""

from collections.abc import Mapping

from .numbers import CodePoints, Dialect, Layout, Mark

class Text:
    deleted: CodePoints
    spaces: CodePoints
    line_ends: CodePoints
    single_quotes: CodePoints
    double_quotes: CodePoints
    hyphens: CodePoints
    ellipses: CodePoints
    white_space: CodePoints
    marks_in_a_row: int

class Splitting:
    patterns: Mapping[str, str]
    rules: Mapping[str, tuple[str, ...]]

class Blocks:
    length: int
    overlap: int

class Rivals:
    share: int

class Records:
    beacon: Mapping[str, int]
    codes: int
    layouts: tuple[Layout, ...]
    registered: tuple[int, int]
    slot_tail: int

class Documents:
    bytes: int
    depth: int

class Registry:
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

class Asking:
    characters: int
    question_bytes: int
    days: int
    answer_bytes: int
    places: int
    says: int
    least_characters: int
    message: int

class Scores:
    nat: int
    unmarked: float
    unmarked_contexts: tuple[float, float, float, float]
    ramp: tuple[float, float]

class Light:
    step_bits: int
    doublings: int
    ramp: float
    likelier: float
    halving: float

class Search:
    level: float
    characters: int
    tokens: int
    score_shares: Mapping[str, float]
    light_shares: Mapping[str, float]
    light_first: float
    registered_share: float
    one_code: float
    record_tests: int
    whole: float
    window_lengths: tuple[int, int, int, int, int, int, int, int, int, int, int, int]
    window_part: float
    window_step: float
    positions_per_code: int
    repeat_distance: int
    evaluated: int
    standard_scores: Mapping[str, float]
    many_contexts: int
    positions_per_context: int
    bits_per_rank: int

class Spans:
    fall: int
    taken: int

class Reading:
    beacons: int
    hypotheses: int
    clear: float
    confirmed: float
    promising: float
    short: int
    possible: float
    windows: int
    much_clearer: float
    authenticated: int
    likely: int
    combination_bits: int
    nowhere: int

class Null:
    floor: float
    steepest: int

class Variants:
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

class Hidden:
    pictures: str
    never: CodePoints
    private: CodePoints
    elsewhere: CodePoints
    blanks: CodePoints
    own: CodePoints
    whole_word: float
    share: float
    fewest: int
    accents: CodePoints
    faint: CodePoints
    fewest_letters: int
    letter_share: float
    dotted: str
    accompanied: float
    latin: CodePoints
    between: CodePoints
    alike: Mapping[str, CodePoints]
    styled: Mapping[str, CodePoints]
    borrowed: CodePoints
    beside: CodePoints
    turned: CodePoints
    right_to_left_marks: CodePoints
    right_to_left_scripts: CodePoints
    narrow: CodePoints
    signs: CodePoints

class Tags:
    paragraph: str
    block: str
    line: str
    inline: str
    hidden: str

class Numbers:
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

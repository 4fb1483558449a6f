"""`numbers.json` is the one home of its numbers: the specification's words say the same, and no code says it again."""

import json
import math
import os
import re
from pathlib import Path
from typing import Any

import pytest

from ctwl_protocol import numbers
from tools import number_types
from tools.facts import decimal, one_of, pages

ROOT = Path(__file__).parents[2]
FILE = ROOT / "spec" / "numbers.json"
GROUPS: dict[str, dict[str, dict[str, Any]]] = json.loads(FILE.read_text(encoding="utf-8"))
EVERY = {f"{group}.{name}": number for group, named in GROUPS.items() for name, number in named.items()}
HEADING = re.compile(r"^#{2,3} (\d+(?:\.\d+)?)\.? ", re.M)
IN_WORDS = {2: "two", 6: "six", 8: "eight", 4: "four", 0.5: "half", 0.25: "a quarter", 0.75: "three quarters",
            0.001: "a thousandth", 0.2: "a fifth", 1 / 8: "an eighth", 7 / 8: "seven eighths"}  # fmt: skip
ESCAPES = {9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r"}


def sections() -> dict[str, str]:
    """The text of each section, each run of white space as one space."""
    found = {}
    for path in (ROOT / "spec").glob("*.md"):
        _, *cut = HEADING.split(path.read_text(encoding="utf-8"))
        found |= {number: " ".join(text.split()) for number, text in zip(cut[::2], cut[1::2], strict=True)}
    return found


def value(name: str) -> Any:
    return EVERY[name]["value"]


def factor(share: float) -> str:
    """What a p-value is multiplied by for a share of the level."""
    return {4 / 3: "4/3", 8 / 7: "8/7", 4.0: "4", 8.0: "8"}[1 / share]


def short(number: float) -> str:
    return f"{number:g}".replace("e-0", "e-")


def power_of_ten(number: float) -> str:
    return f"{number:.0e}".replace("e-0", "e-")


def points(name: str) -> list[str]:
    return [f"0x{point:X}" for point in getattr(numbers.NUMBERS.text, name.partition(".")[2])]


def unicode_ranges(ranges: str) -> list[str]:
    return [" to ".join(f"U+{int(bound, 16):04X}" for bound in each.split("-")) for each in ranges.split()]


def said() -> dict[str, list[str]]:
    """What the section of a number says of it."""
    fall, nat, marks = value("spans.fall"), value("scores.nat"), value("text.marks_in_a_row")
    *lengths, longest = value("search.window_lengths")
    bits, doublings = value("light.step_bits"), value("light.doublings")
    provider, version, nonce = value("records.beacon").values()
    first, last = value("records.registered")
    always, root = value("scores.ramp")
    half, race = value("search.score_shares").values()
    unmarked, ramp = value("scores.unmarked"), value("light.ramp")
    white = "".join(ESCAPES.get(point, chr(point)) for point in numbers.NUMBERS.text.white_space)
    return {
        "text.deleted": [f'DELETED = numbers("{value("text.deleted")}")'],
        "text.spaces": [f'SPACES = numbers("{value("text.spaces")}")'],
        "text.line_ends": [f'{point}: "\\n"' for point in points("text.line_ends")],
        "text.single_quotes": [f'numbers("{value("text.single_quotes")}"), "\'")'],
        "text.double_quotes": [f'numbers("{value("text.double_quotes")}"), \'"\')'],
        "text.hyphens": [f'{point}: "-"' for point in points("text.hyphens")],
        "text.ellipses": [f'{point}: "..."' for point in points("text.ellipses")],
        "text.white_space": [f'.strip("{white}")'],
        "text.marks_in_a_row": [f"more than {marks} characters in a row", f'"m" * {marks + 1} in marks'],
        "blocks.length": ["places={0}):", "min({0}, places + 1)"],
        "blocks.overlap": ["min({0}, length // 2)"],
        "rivals.share": ["at least a {0}th of the total", "weight * {0} >= total"],
        "records.beacon": [
            f"A code of {provider + version + nonce} bits is `provider * 2^{version + nonce} + version * 2^{nonce} + "
            f"nonce`: provider 0 to {2**provider - 1}, model version 0 to {2**version - 1}, nonce 0 to {2**nonce - 1}."
        ],
        "records.codes": ["`n` = 1 to {0} codes"],
        "records.registered": [f"{first} to {last} to the registry"],
        "records.slot_tail": ["the last `min({0}, L_prefix)` tokens"],
        "documents.bytes": ["at most {0:,} bytes"],
        "documents.depth": ["At most {0} arrays and maps lie within one another"],
        "registry.bytes": ["**Registry.** At most {0:,} bytes"],
        "registry.envelope_bytes": ["An envelope has at most {0:,} bytes"],
        "registry.root_bytes": ["**Root.** At most {0:,} bytes"],
        "registry.end_of_time": ["Unix seconds below {0:,}"],
        "registry.entries": ["`entries`, at most {0:,}"],
        "registry.keys": ["`keys`, 1 to {0}, distinct"],
        "registry.signatures": ["at most {0} maps of `key`"],
        "registry.test_keys": [f"one byte from 0 to {value('registry.test_keys') - 1}"],
        "registry.name": ["**Names** have 1 to {0} `characters`"],
        "registry.marks": [f"{IN_WORDS[value('registry.marks')]} in a row at most"],
        "registry.address": ["has at most {0} characters"],
        "registry.models": [f"maps of `version` 0 to {value('registry.models') - 1}, each once"],
        "registry.epochs": ["`epochs`: at most {0} maps"],
        "registry.fields": ["`fields`: {0[0]} to {0[1]} pairs"],
        "asking.characters": ["1 to {0:,} characters"],
        "asking.question_bytes": ["of at most {0:,} bytes"],
        "asking.days": ["`keep_days` | how many days the text may be kept: 0 to {0}"],
        "asking.answer_bytes": ["of at most {0:,} bytes"],
        "asking.places": ["at most {0}, ascending"],
        "asking.says": ["words for people, at most {0} characters"],
        "asking.least_characters": ["every text of {0:,} characters is taken"],
        "asking.message": ["of at most {0:,} characters"],
        "scores.unmarked_contexts": [f"({', '.join(map(str, value('scores.unmarked_contexts')))})"],
        "scores.nat": [f"A unit is {IN_WORDS[1 / nat]} of a nat", f"math.floor({nat} * math.log("],
        "scores.unmarked": [f"{1 - unmarked:g} * row[v] + {unmarked:g}", f"{IN_WORDS[unmarked]} is unmarked"],
        "scores.ramp": [f"ramp = {always:g} + {root:g} * math.sqrt(sum("],
        "light.step_bits": [f"and `k / {2**bits}` for `k` = 1 to {2**bits}", f"{2**bits + doublings} intervals"],
        "light.doublings": [f"`2^-k` for `k` = {bits + doublings} to {bits + 1}", f"k = 0 to {bits + doublings - 1}"],
        "light.ramp": [f"clip((sigma + 1/{1 / ramp:g} - u) * {1 / ramp:g}/2, 0, 1)"],
        "light.likelier": [f"likelier = {value('light.likelier') * 4:g}/4 - (bits(vocabulary)"],
        "light.halving": [f"- bits(v)) / {1 / value('light.halving'):g},"],
        "search.level": [f"beacons at `alpha` = {power_of_ten(value('search.level'))} in 99 of 100 texts"],
        "search.score_shares": [
            f"{factor(race)} for `race` or",
            f"{factor(half)} for `half` or",
        ],
        "search.light_shares": [f"{factor(share)} for" for share in value("search.light_shares").values()],
        "search.light_first": [
            f"these, times {factor(value('search.light_first'))} for the light ones, "
            f"times {factor(1 - value('search.light_first'))} for the others"
        ],
        "search.registered_share": [f"{IN_WORDS[value('search.registered_share')]} of the level, and all codes"],
        "search.one_code": [
            f"Else {factor(value('search.one_code'))} for `n` = 1; for each `n` above 1, "
            f"{IN_WORDS[1 / (1 - value('search.one_code'))]} times the number of `n` above 1 that are tried "
            f"({3 / (1 - value('search.one_code')):g} for all four)"
        ],
        "search.record_tests": ["1 for `n` = 1, else {0}"],
        "search.whole": [
            f"{factor(value('search.whole'))} for the whole text, {factor(1 - value('search.whole'))} for windows"
        ],
        "search.window_lengths": [
            f"The windows have the sizes {', '.join(map(str, lengths))} and {longest},",
            f"at most {longest} positions",
        ],
        "search.window_part": [f"at most {IN_WORDS[value('search.window_part')]} of the positions"],
        "search.window_step": [f"every multiple of {IN_WORDS[value('search.window_step')]} of their size"],
        "search.positions_per_code": ["at least `{0} n`"],
        "search.repeat_distance": ["a pair counts again after {0} positions"],
        "search.many_contexts": ["fewer than {0} distinct contexts"],
        "spans.fall": [
            f"falls by at most {fall * nat} units ({fall} nats) inside",
            f"one more of {-fall * nat - 1}:",
            f"peak - sum > {fall * nat}:",
        ],
        "spans.taken": [f"-10^{math.log10(-value('spans.taken')):g} inside a span"],
        "reading.beacons": [f"for the {IN_WORDS[value('reading.beacons')]} best codes of slot 0"],
        "reading.hypotheses": [f"{IN_WORDS[value('reading.hypotheses')]} pairs of nonce and layout at most"],
        "reading.clear": ["the behind of the one kept is below {0}"],
        "reading.confirmed": ["or behind is at most {0}"],
        "reading.promising": ["those below {0} in slot 0"],
        "reading.short": ["a whole text of at most {0} positions"],
        "reading.possible": [f"{value('reading.short')} positions below {{0}}, that by its best beacon alone"],
        "reading.windows": [f"reads {IN_WORDS[value('reading.windows')]} windows as records at most"],
        "reading.much_clearer": [f"once read, at most {IN_WORDS[value('reading.much_clearer')]} of its p-value"],
        "reading.authenticated": [f"of the {IN_WORDS[value('reading.authenticated')]} best records"],
        "reading.likely": ["combines the {0} best codes of all readable slots but one"],
        "reading.combination_bits": ["is at most 2^{0}, divided by 4 for each slot but that one"],
        "search.positions_per_context": ["at least {0} positions for each distinct context"],
        "null.floor": ["below {0}, state {0}", "max(K * tail, {0})"],
        "variants.ligatures": [f"ligatures ({', '.join(unicode_ranges(value('variants.ligatures')))}) as letters"],
    }


CHOICES = """search.characters search.tokens search.evaluated search.standard_scores search.bits_per_rank
reading.nowhere null.steepest variants.widest variants.mostly_full variants.capitals
variants.fewest_words variants.page_tags variants.rounds variants.letters variants.wide variants.line_ends
variants.fewest_alone variants.narrow_characters variants.broad_characters variants.widths variants.nearly_full"""
"""What the reference chooses, and the specification does not say."""

NAMED = ("hidden.", "tags.", "dialects.", "marks.")
"""Lists and rules that the specification names, and does not repeat."""


@pytest.mark.parametrize("name", said())
def test_the_section_of_a_number_states_it(name: str) -> None:
    number = EVERY[name]["value"]
    given = short(number) if isinstance(number, float) else number
    for phrase in said()[name]:
        words = phrase.format(given) if "{0" in phrase else phrase
        assert words in sections()[EVERY[name]["section"]], words


def test_every_number_is_stated_or_the_references_choice() -> None:
    by_table = {"records.layouts", "splitting.patterns", "splitting.rules"}
    by_name = {name for name in EVERY if name.startswith(NAMED)}
    assert said().keys() | set(CHOICES.split()) | by_table | by_name == EVERY.keys()
    assert not said().keys() & set(CHOICES.split())


def test_every_number_has_a_section_and_a_reason() -> None:
    known, files = sections(), re.compile(r"evaluation/[\w/]+\.py")
    for name, number in EVERY.items():
        assert number.keys() == {"value", "section", "why"}, name
        assert number["section"] in known, name
        assert number["why"].endswith(".") and 20 <= len(number["why"]) <= 240, name
        assert all((ROOT / file).exists() for file in files.findall(number["why"])), name


def test_type_checkers_know_the_numbers_of_the_file() -> None:
    assert number_types.STUB.read_text(encoding="utf-8") == number_types.stub()


def test_a_checkout_without_symbolic_links_says_so() -> None:
    link = Path("packages/ctwl-protocol/src/ctwl_protocol/numbers.json")
    with pytest.raises(OSError, match=r"core\.symlinks=true"):
        numbers.linked(os.fsencode((ROOT / link).readlink().as_posix()))


CODE = ("packages/*/src/**/*.py", "rooms/*/src/**/*.py", "packages/ctwl-web/src/*.js", "packages/ctwl-web/page/*.js",
        "conformance-tests/src/**/*.py", "conformance-tests/independent/**/*.js")  # fmt: skip
NOT_LEVELS = {"race/kernel.py": 1, "race/lots.py": 1}  # what is exact enough


def test_the_level_stands_in_no_code() -> None:
    literal = re.compile(r"(?<![\w.])(?:1e-0?4|0\.0001|1 / 10_?000|-13\.2\d*|-14\.0)(?!\w|\.\d)")
    found = {}
    for path in (path for pattern in CODE for path in ROOT.glob(pattern) if "test" not in path.parts):
        count = len(literal.findall(path.read_text(encoding="utf-8")))
        if count != NOT_LEVELS.get(f"{path.parent.name}/{path.name}", 0):
            found[str(path.relative_to(ROOT))] = count
    assert found == {}


LEVEL = numbers.NUMBERS.search.level
GENERATED = re.compile(r"^```.*?^```|<!-- ([\w-]+) -->\n.*?<!-- end \1 -->|<!-- fact .*?<!-- end -->", re.M | re.S)
"""Examples, what the results of experiments fill in, and what ``tools/facts.py`` does."""


def test_no_page_states_the_level_by_hand() -> None:
    level = re.compile(
        rf"(?<![\w.])(?:{decimal(LEVEL)}|{power_of_ten(LEVEL)}|{one_of(LEVEL)}|one of ten thousand)(?![\w.]*\w)"
    )
    found = {}
    for path in (path for path in pages() if path.parent.name != "spec" and path.name != "commands.md"):
        name, text = str(path.relative_to(ROOT)), GENERATED.sub("", path.read_text(encoding="utf-8"))
        text = " ".join(text.split())
        if left := [text[max(0, at.start() - 40) : at.end()] for at in level.finditer(text)]:
            found[name] = left
    assert found == {}

"""The specification says what the code does: every pinned thing in it is compared."""

import ast
import hashlib
import json
import re
from importlib import import_module
from pathlib import Path
from typing import get_args

import pytest
from distributions import SOURCES

import ctwl_protocol.errors
from ctwl_conformance import FAMILIES, load
from ctwl_encoder import Strategy
from ctwl_protocol import CTWLError, Profile, get_profile
from ctwl_protocol.profile import published_names
from ctwl_protocol.profile.document import Tokenizer

ROOT = Path(__file__).parents[2]
NAMES = ["README", "core", "reader", "profiles", "encoder", "records", "registry", "private", "asking", "rationale"]
PARTS = {name: (ROOT / "spec" / f"{name}.md").read_text(encoding="utf-8") for name in NAMES}
SPEC = "\n".join(PARTS.values())


def rows(heading: str) -> list[list[str]]:
    """Cells of the first table below a heading."""
    part = SPEC.split(f"{heading}\n", 1)[1]
    lines = re.search(r"(?:^\|.*\n)+", part, re.M)
    assert lines
    return [[cell.strip() for cell in re.split(r"(?<!`)\|(?!`)", line)[1:-1]] for line in lines[0].splitlines()[2:]]


def test_the_published_profiles_are_the_ones_in_the_table() -> None:
    table = {row[0].strip("`"): row[2:] for row in rows("### 4.4 Published profiles")}
    published = {name for name in published_names() if "vanilla" not in name}
    assert table.keys() == published
    for name in published:
        colours, length, sigma, bits, context, digest = table[name]
        profile = get_profile(name)
        assert profile.digest == digest.strip("`")
        stated = (int(colours), int(length), tuple(map(int, sigma.split("/"))), int(bits), int(context))
        numbers = (profile.colours, profile.prefix_length, profile.sigma, profile.code_bits, profile.context_length)
        assert stated == numbers
        assert (profile.weight_bits, profile.framing) == (24, "interleaved")


def test_the_fields_of_a_profile_are_the_ones_in_the_table() -> None:
    table = rows("### 4.2 The document")
    assert [row[0].strip("`") for row in table] == list(Profile.model_fields)
    described = next(row[1] for row in table if row[0] == "`tokenizer`")
    assert set(Tokenizer.model_fields) <= set(re.findall(r"`(\w+)`", described))


def test_every_status_code_of_a_vector_is_listed_and_every_listed_one_exists() -> None:
    modules = [import_module(f"{package.name}.errors") for package in SOURCES if (package / "errors.py").exists()]
    classes = [each for module in modules for each in vars(module).values() if isinstance(each, type)]
    codes = {error.code for error in classes if issubclass(error, CTWLError)} - {"error"}
    codes |= set(get_args(ctwl_protocol.errors.RegistryCode))
    asked = {vector.expected["status"] for vector in load() if vector.expected.get("status", "ok") != "ok"}
    listed = {code for row in rows("## 11. Status codes") for code in re.findall(r"`([\w-]+)`", row[0])}
    assert asked
    assert asked <= listed <= codes


def test_the_table_of_names_is_the_one_that_the_text_pins_in_both_languages() -> None:
    table = (ROOT / "packages/ctwl-protocol/src/ctwl_protocol/registry/spelling.json").read_bytes()
    assert f"`{hashlib.sha256(table).hexdigest()}`" in PARTS["registry"]
    module = (ROOT / "packages/ctwl-web/src/spelling-table.js").read_text(encoding="ascii")
    _, _, found = module.partition("export const SPELLING = ")
    assert json.loads(found.rstrip().removesuffix(";")) == json.loads(table)


def test_sections_that_the_code_cites_exist() -> None:
    headings = set(re.findall(r"^#+ (\d+(?:\.\d+)?)", SPEC, re.M))
    sources = [file for package in SOURCES for file in package.rglob("*.py")]
    cited = {
        (path.name, number)
        for path in sources
        for number in re.findall(r"[Ss]ection (\d+(?:\.\d+)?)(?! of the paper)", path.read_text(encoding="utf-8"))
        if "paper" not in path.read_text(encoding="utf-8").split(f"ection {number}")[0][-30:]
    }
    assert cited
    assert {(name, number) for name, number in cited if number not in headings} == set()


def test_the_light_units_run_as_far_as_the_text_says() -> None:
    from ctwl_decoder.statistics import light

    part = " ".join(PARTS["reader"].split())
    light_soft, size = light.soft_table((1, 2)), 49152
    light_rank = [units for v in range(0, size, 64) for units in light.rank_table(light.likelier(size, v))]
    runs = f"from {min(light_soft)} to {max(light_soft)} and from {min(light_rank)} to {max(light_rank)}"
    assert f"For `sigma` = 1/2 and {size} tokens they run {runs}." in part


def test_the_factors_of_the_number_of_tests_are_the_ones_in_the_text() -> None:
    from ctwl_decoder.search import plan

    table = {row[0].strip("`"): row[2] for row in rows("### 10.2 Tests")}
    formula = re.search(r"^`K = (.*)`$", PARTS["reader"], re.M)
    assert formula and formula[1].split(" * ") == list(table)
    two = table["E"].split("Of two")[1].split("All four")[0]
    assert all(f"`{score}`" in two for score in (*plan.SCORE_SHARES, *plan.LIGHT_SHARES))


def test_the_toy_profiles_are_the_published_ones() -> None:
    stated = re.findall(r'^TOY\w* = Profile\(name="(.*?)", (.*)\)', PARTS["core"], re.M)
    assert len(stated) == 2
    for name, numbers in stated:
        toy = get_profile(name)
        sizes = f"A={toy.colours}, b={toy.code_bits}, h={toy.context_length}, L_prefix={toy.prefix_length}"
        assert numbers == f"{sizes}, sigma={tuple(toy.sigma)}, special={list(toy.tokenizer.special)}"


def test_the_reference_reads_the_text_of_the_core_alike() -> None:
    from ctwl_decoder import Decoder
    from ctwl_protocol import hashing
    from ctwl_protocol.profile import TOY
    from ctwl_protocol.records import slots
    from ctwl_protocol.registry import bundled

    found = re.search(r'^TEXT = "(.*)"$', PARTS["core"], re.M)
    assert found
    decoder = Decoder.open(TOY, registry=bundled().without_entries())  # every code alike
    report = decoder.decode(found[1], score="whole", alpha=1e-4)  # the level that the core reads at
    assert (report.code, report.score, report.scored) == (69, "half", 61)
    found_by_core = re.search(r"^\(69, '(.*)'\)$", PARTS["core"], re.M)
    assert found_by_core  # a full reader searches several numbers of codes, and has seven eighths of the level for one
    assert 8 / 7 * float(found_by_core[1]) == pytest.approx(report.p_value, rel=1e-9)

    word = hashing.slot_word(decoder.profile.key, found[1][2:4].encode())
    numbers = [slots.slot_of(count, word) for count in (1, 2, 3, 4)]
    text = " ".join(PARTS["records"].split())
    assert f"the word is {word}, and the slots in records of 1, 2, 3 and 4 codes are" in text
    assert "{}, {}, {} and {}.".format(*numbers) in text


def headings(text: str) -> list[tuple[str, str]]:
    """The numbered headings of a part: number and title."""
    return re.findall(r"^#{2,3} (\d+(?:\.\d+)?)\.? (.*)$", text, re.M)


def test_a_section_stands_in_one_part_and_the_index_says_in_which() -> None:
    numbers = [number for text in PARTS.values() for number, _ in headings(text)]
    assert len(numbers) == len(set(numbers))
    index = re.findall(r"^\| \[\w+\]\((\w+)\.md\) \|.*\| (.*) \|$", PARTS["README"], re.M)
    assert [name for name, _ in index] == list(PARTS)[1:]
    stands_in = {number: name for name, listed in index for number in listed.split(", ")}
    assert stands_in.keys() <= set(numbers)
    for name, _ in index:
        for number, _ in headings(PARTS[name]):
            assert stands_in.get(number, stands_in.get(number.split(".")[0])) == name, number


def test_every_strategy_has_a_section() -> None:
    assert {title.strip("`") for number, title in headings(PARTS["encoder"]) if "`" in title} == set(Strategy)


def words(text: str) -> int:
    """What white space parts and holds a letter or a digit, outside of comments."""
    return sum(bool(re.search(r"\w", word)) for word in re.sub(r"<!--.*?-->", "", text).split())


def by_hand(text: str) -> str:
    """A part without its code, and without the lists that commands write."""
    text = re.sub(r"<!-- fact .*?<!-- end -->", "", text, flags=re.S)
    return re.sub(r"^    .*$", "", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), flags=re.M)


def test_the_parts_are_short() -> None:
    assert words(PARTS["core"]) <= 2_100  # its code included
    assert sum(words(by_hand(text)) for text in PARTS.values()) <= 11_010


def test_the_experiments_that_the_parts_name_are_there() -> None:
    named = set(re.findall(r"`(evaluation/[^`]+)`", SPEC))
    assert named and all((ROOT / file).exists() for file in named), named


def test_every_family_of_vectors_is_named_by_the_part_that_it_tests() -> None:
    named = [re.findall(r"\*\*Vectors:\*\*(.*?)(?:\*\*Class|\n#)", text, re.S) for text in PARTS.values()]
    assert {family for part in named for family in re.findall(r"`([a-z-]+)`", "".join(part))} == {*FAMILIES, "numeric"}


def symbols() -> dict[str, str]:
    """Each symbol of the table, with the section that defines it."""
    found: dict[str, str] = {}
    for cell, _, section in rows("<!-- symbols: checked by spec/tests -->"):
        for name in re.findall(r"`([^`]+)`", cell):
            letter = re.sub(r"\(.*", "", name)
            assert letter not in found, letter
            found[letter] = section
    return found


def formulas(text: str) -> list[str]:
    """What stands in backticks or in an indented block, but for patterns and literal text."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    spans = re.findall(r"`([^`\n]+)`", prose) + re.findall(r"^    (?! *[-*|])(.*)$", prose, re.M)
    plain = [re.sub(r'"[^"]*"', "", span) for span in spans]
    return [span for span in plain if not re.search(r"\\|-Z|a-z", span)]


LETTER = re.compile(r"(?<![\w.'<-])(?:[A-Za-z]|p[01]|L_prefix)(?![\w'>-]|\.\w)")


def test_each_symbol_has_one_meaning() -> None:
    known = symbols()
    used: set[str] = set()
    for name, text in PARTS.items():
        for formula in formulas(text):
            if formula.startswith("org.") or re.fullmatch(r"[\d ]+", formula):
                continue
            letters = set(LETTER.findall(formula))
            assert letters <= known.keys(), (name, formula, letters - known.keys())
            used |= letters
    code = re.findall(r"^```python\n(?!>>>)(.*?)^```$", PARTS["core"], re.M | re.S)
    names = {node.id for node in ast.walk(ast.parse("\n".join(code))) if isinstance(node, ast.Name)}
    names |= {node.arg for node in ast.walk(ast.parse("\n".join(code))) if isinstance(node, ast.arg)}
    assert {name for name in names if LETTER.fullmatch(name)} <= known.keys()
    assert known.keys() <= used | names | {"sigma", "alpha", "delta"}


def test_a_symbol_is_defined_in_its_section() -> None:
    texts = {number: text for part in PARTS.values() for number, text in sections(part)}
    for symbol, section in symbols().items():
        assert section in texts, symbol
        inside = texts[section] if "." in section else "".join(
            text for number, text in texts.items() if number.split(".")[0] == section
        )  # fmt: skip
        assert re.search(rf"(?<![\w-]){symbol}(?![\w-])", inside), (symbol, section)


def sections(part: str) -> list[tuple[str, str]]:
    cut = re.split(r"^#{2,3} (\d+(?:\.\d+)?)", part, flags=re.M)
    return list(zip(cut[1::2], cut[2::2], strict=True))

"""The specification says what the code does: every pinned thing in it is compared."""

import re
from pathlib import Path

import ctwl_decoder.errors
import ctwl_encoder.errors
import ctwl_protocol.errors
from ctwl_protocol import CTWLError, Profile, get_profile
from ctwl_protocol.profile import Tokenizer, published_names
from ctwl_protocol.proxy.tokenizer import SPLITS

ROOT = Path(__file__).parents[2]
SPEC = (ROOT / "spec" / "README.md").read_text(encoding="utf-8")


def rows(heading: str) -> list[list[str]]:
    """Cells of the first table below a heading."""
    part = SPEC.split(f"{heading}\n", 1)[1]
    lines = re.search(r"(?:^\|.*\n)+", part, re.M)
    assert lines
    return [[cell.strip() for cell in re.split(r"(?<!`)\|(?!`)", line)[1:-1]] for line in lines[0].splitlines()[2:]]


def test_the_published_profiles_are_the_ones_in_the_table() -> None:
    table = rows("### 4.4 Published profiles")
    assert {row[0].strip("`") for row in table} == {name for name in published_names() if "vanilla" not in name}
    for name, _, colours, length, sigma, bits, digest in table:
        profile = get_profile(name.strip("`"))
        assert profile.digest == digest.strip("`")
        stated = (int(colours), int(length), tuple(map(int, sigma.split("/"))), int(bits))
        assert stated == (profile.colours, profile.prefix_length, profile.sigma, profile.code_bits)


def test_the_fields_of_a_profile_are_the_ones_in_the_table() -> None:
    table = rows("### 4.2 The document")
    assert [row[0].strip("`") for row in table] == list(Profile.model_fields)
    described = next(row[1] for row in table if row[0] == "`tokenizer`")
    assert set(Tokenizer.model_fields) <= set(re.findall(r"`(\w+)`", described))


def test_the_splitting_patterns_stand_in_the_text() -> None:
    for name, patterns in SPLITS.items():
        assert f"- `{name}`: " in SPEC
        assert all(f"`{pattern}`" in SPEC for pattern in patterns)


def test_every_status_code_is_listed_and_every_listed_one_exists() -> None:
    modules = (ctwl_protocol.errors, ctwl_encoder.errors, ctwl_decoder.errors)
    classes = {vars(module)[name] for module in modules for name in module.__all__}
    codes = {error.code for error in classes if issubclass(error, CTWLError)} - {"error"}
    listed = {code for row in rows("## 11. Status codes") for code in re.findall(r"`([\w-]+)`", row[0])}
    assert codes == listed


def test_sections_that_the_code_cites_exist() -> None:
    headings = set(re.findall(r"^#+ (\d+(?:\.\d+)?)", SPEC, re.M))
    sources = [*ROOT.glob("packages/*/src/**/*.py"), *ROOT.glob("conformance-tests/src/**/*.py")]
    cited = {
        (path.name, number)
        for path in sources
        for number in re.findall(r"[Ss]ection (\d+(?:\.\d+)?)(?! of the paper)", path.read_text(encoding="utf-8"))
        if "paper" not in path.read_text(encoding="utf-8").split(f"ection {number}")[0][-30:]
    }
    assert cited
    assert {(name, number) for name, number in cited if number not in headings} == set()


def test_the_units_and_the_windows_are_the_ones_in_the_text() -> None:
    from ctwl_decoder import posterior, spans, units

    part = " ".join(SPEC.split("### 10.1 Units")[1].split("### 10.3")[0].split())
    table = units.soft_table((1, 2))
    assert f"they run from {min(table)} to {max(table)}" in part
    share = units.UNMARKED[0] / units.UNMARKED[1]
    assert f"round({units.NAT} * ln({1 - share} * (q / {units.STEPS}) / sigma + {share}))" in part
    assert f"T * ({units.MARGIN}n + d) - {units.MARGIN}d * S" in part
    lengths = ", ".join(map(str, spans.LENGTHS[:-1])) + f" and {spans.LENGTHS[-1]}"
    assert lengths in part and f"at most {spans.LENGTHS[-1]} positions" in part
    paper = " ".join(SPEC.split("## 10. Decoding")[1].split("### 10.1")[0].split())
    assert f"windows of {posterior.LENGTH} positions that start every {posterior.STEP}" in paper


def test_the_toy_weights_are_the_ones_in_the_text() -> None:
    import numpy as np

    from ctwl_protocol.profile import TOY
    from ctwl_protocol.toy import toy_weights

    part = " ".join(SPEC.split("### 7.3 Toy weights")[1].split("## 8.")[0].split())
    example = re.search(
        r"\((\d+), (\d+), (\d+), (\d+)\) the letters `a`, `b` and `c` weigh (\d+), (\d+) and (\d+)", part
    )
    assert example
    numbers = [int(number) for number in example.groups()]
    weights = toy_weights(np.array([numbers[:4]]), get_profile(TOY).tokenizer.vocabulary)[0]
    assert [int(weights[ord(letter)]) for letter in "abc"] == numbers[4:]
    assert "for v = 32 ... 126, else 1" in part
    assert weights[31] == weights[127] == 1 and weights[32] > 1 and weights[126] > 1
    assert f"has `h` = {get_profile(TOY).context_length} and" in part

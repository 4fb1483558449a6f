"""The specification says what the code does: every pinned thing in it is compared."""

import re
from pathlib import Path
from typing import get_args

import pytest

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
    for name, _, colours, length, sigma, bits, context, digest in table:
        profile = get_profile(name.strip("`"))
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


def test_the_splitting_patterns_stand_in_the_text() -> None:
    for name, patterns in SPLITS.items():
        assert f"- `{name}`: " in SPEC
        assert all(f"`{pattern}`" in SPEC for pattern in patterns)


def test_every_status_code_is_listed_and_every_listed_one_exists() -> None:
    modules = (ctwl_protocol.errors, ctwl_encoder.errors, ctwl_decoder.errors)
    classes = {vars(module)[name] for module in modules for name in module.__all__}
    codes = {error.code for error in classes if isinstance(error, type) and issubclass(error, CTWLError)} - {"error"}
    codes |= set(get_args(ctwl_protocol.errors.RegistryCode))
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
    from ctwl_decoder.search import posterior, spans, windows
    from ctwl_decoder.statistics import scores

    part = " ".join(SPEC.split("### 10.1 Units")[1].split("### 10.3")[0].split())
    table = scores.soft_table((1, 2))
    assert f"they run from {min(map(min, table))} to {max(map(max, table))}" in part
    share, odds, (few, of) = scores.UNMARKED[0] / scores.UNMARKED[1], scores.ODDS, scores.UNBIASED
    assert of == few + 1
    ratio = f"({few} * (q / {scores.STEPS}) / sigma + r) / {of}"
    assert f"round({scores.NAT} * ln({1 - share} * {ratio} + {share}))" in part
    assert f"`r = {odds} / (1 + {odds - 1} sigma)` for a member and `1 / (1 + {odds - 1} sigma)`" in part
    assert f"T * ({scores.MARGIN}n + d) - {scores.MARGIN}d * S" in part
    lengths = ", ".join(map(str, windows.LENGTHS[:-1])) + f" and {windows.LENGTHS[-1]}"
    assert lengths in part and f"at most {windows.LENGTHS[-1]} positions" in part
    assert f"without falling by more than {spans.DROP} inside" in " ".join(SPEC.split())
    paper = " ".join(SPEC.split("## 10. Decoding")[1].split("### 10.1")[0].split())
    assert f"windows of {posterior.LENGTH} positions that start every {posterior.STEP}" in paper


def test_the_toy_weights_are_the_ones_in_the_text() -> None:
    import numpy as np

    from ctwl_protocol.partition.toy import toy_weights
    from ctwl_protocol.profile import TOY, TOYS

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
    first, second = map(get_profile, TOYS)
    *ids, last = second.tokenizer.special
    numbers = f"`h` = {second.context_length}, {second.colours} colours and the special ids"
    assert f"The first published toy profile has `h` = {first.context_length} and the second {numbers}" in part
    assert f"ids {', '.join(map(str, ids))} and {last}, as" in part


def test_the_worked_example_is_what_the_reference_computes() -> None:
    assert rows("<!-- worked: checked by spec/tests -->") == [list(row) for row in worked()]


def worked() -> list[tuple[str, str, str]]:
    """The rows of appendix A: section, what, value."""
    import struct
    from dataclasses import replace
    from itertools import pairwise

    import numpy as np

    from ctwl_decoder import Decoder
    from ctwl_decoder.statistics.code_scores import code_space, score_all
    from ctwl_decoder.statistics.evidence import observe
    from ctwl_decoder.statistics.null import null_of
    from ctwl_decoder.statistics.scored_positions import ScoredPositions, ScoreTable
    from ctwl_decoder.statistics.scores import MARGIN, STEPS, Score, position_scores
    from ctwl_protocol import Beacon, hashing
    from ctwl_protocol.partition.toy import toy_weights
    from ctwl_protocol.profile import TOY
    from ctwl_protocol.records import slots
    from ctwl_protocol.registry import bundled
    from ctwl_protocol.text.positions import positions

    text = re.search(r"^    (\w[\w ]+\w)$", SPEC.split("## Appendix A.")[1], re.M)
    assert text
    decoder = Decoder.open(TOY, registry=bundled().without_entries())  # every code alike
    profile = decoder.profile
    code = Beacon(0, 1, 5).code
    ids, _ = decoder.proxy.tokenizer.locate(text[1])
    cut = positions(ids, profile.prefix_length, profile.context_length)
    prefix, context, token = cut.prefixes[0].tolist(), cut.contexts[0].tolist(), int(cut.observed[0])

    packed = struct.pack(f"<{len(context)}I", *context)
    words = hashing.partition_seed(profile.key, context)
    seed = hashing.colour_seed(profile.key, context)
    (colour,) = hashing.code_colours(seed, np.array([code], dtype=np.uint32), profile.colours).tolist()
    permutation = int(hashing.permutation_seeds(words, profile.colours)[colour])
    rank = hashing.ranks(permutation, profile.tokenizer.vocabulary)
    weights = toy_weights(cut.prefixes[:1], profile.tokenizer.vocabulary)[0].astype(np.int64)
    state = 0
    for each in prefix:
        state = mixed((state + each + 1) * hashing.GOLDEN)
    below, total = int(weights[rank < rank[token]].sum()), int(weights.sum())
    numerator, denominator = profile.sigma
    word = hashing.slot_word(profile.key, context)
    slots = [slots.slot_of(count, word) for count in (1, 2, 3, 4)]
    inside = total * (MARGIN * numerator + denominator) - MARGIN * denominator * below
    width = MARGIN * denominator * int(weights[token]) + 2 * denominator * total
    steps = STEPS * min(max(inside, 0), width) // width

    evidence = observe(decoder.proxy, cut)
    marks = ScoredPositions.of(profile, cut, position_scores(Score.SOFT, evidence, profile.sigma))
    halvings = next(c for c in range(13) if c == 12 or weights[token] << c + 1 > total)
    ends = [0, *(2.0**-i * (1 + q / 4) for i in range(12, 0, -1) for q in range(4)), 1]
    first, behind = next(pair for pair in pairwise(ends) if pair[0] <= rank[token] / 2**32 < pair[1])
    ranked = ScoreTable.of(replace(marks, scores=position_scores(Score.RANK, evidence, profile.sigma)))
    table = ScoreTable.of(marks)
    scores = score_all(table, code_space(profile))
    null, report = null_of(table.scores), decoder.decode(text[1], score="both")
    assert report.code == int(scores.argmax()) == code and report.scored == table.counted
    tests = 2**20 * 2 / (31 / 32)
    assert report.p_value == pytest.approx(null.p_value(int(scores[code]), tests), rel=1e-9)
    assert (
        report.score == "soft" and null_of(ranked.scores).p_value(ranked.score(code), 2**20 * 2 * 32) > report.p_value
    )

    def several(*numbers: int) -> str:
        return " ".join(map(str, numbers))

    return [
        ("9.1", "code `m`", f"{code}"),
        ("4.3", "key", f"`{profile.key.hex()}`"),
        ("5.2", "tokens of the text", f"{len(ids)}"),
        ("5.4", "positions", f"{len(cut)}"),
        ("5.4", f"prefix at the first, `{bytes(prefix).decode()}`", several(*prefix)),
        ("5.4", "context", several(*context)),
        ("5.4", f"observed token, `{chr(token)}`", f"{token}"),
        ("6.2", "input of the HMAC", f"`{(b'ctwl-h1/partition' + packed).hex()}`"),
        ("6.2", "`p0`, `p1`", several(*words)),
        ("6.3", "input of the HMAC", f"`{(b'ctwl-h1/colour' + bytes(12) + packed).hex()}`"),
        ("6.3", "`t`", f"{seed}"),
        ("6.3", "`colour(c, m)`", f"{colour}"),
        ("6.2", "`s(c, a)` of that colour", f"{permutation}"),
        ("6.2", f"`r({token})`", f"{rank[token]}"),
        ("7.3", "`s`, the hash of the prefix", f"{state}"),
        ("7.3", f"`y({token})`", f"{mixed(state ^ (token * hashing.GOLDEN))}"),
        ("7.3", f"`w({token})`", f"{weights[token]}"),
        ("7.2", "`W`", f"{total}"),
        ("7.2", f"`S({token})`", f"{below}"),
        (
            "7.2",
            f"`{chr(token)}` is in `V(c, colour(c, m))`: `2 S < W`",
            "yes" if below * denominator < total * numerator else "no",
        ),
        ("9.4", "`u`, and the slot of the position in records of 1, 2, 3, 4 codes", several(word, *slots)),
        ("10.1", "`I`, the width `W`, `q`", several(inside, width, steps)),
        ("10.1", "`soft` units for the code", f"{marks.scores[0, colour]}"),
        ("10.1", "`j`; `x` and `y` of the rank", f"{halvings}; {first} {behind}"),
        ("10.1", "`rank` units for the code", f"{position_scores(Score.RANK, evidence[:1], profile.sigma)[0, colour]}"),
        ("10", "positions counted: one pair comes back", f"{table.counted}"),
        ("10", "contexts", f"{len(table.seeds)}"),
        ("10", "score of the code by `soft`, the best of all", f"{scores[code]}"),
        ("12", "mean score of a wrong code", f"{table.scores.mean(axis=1).sum()}"),
        ("12", "`P(S >= score)`", f"{null.tail(int(scores[code])):.10e}"),
        ("10.2", "`K = 2^20 * 1 * 32/31 * 2 * 1 * 1 * 1`", f"{tests:.10g}"),
        ("10", "p-value", f"{report.p_value:.10e}"),
        ("10", "score of the code by `rank`, which is less clear", f"{ranked.score(code)}"),
    ]


def mixed(word: int) -> int:
    """``fmix32`` of section 6.1, on plain integers."""
    word &= 0xFFFFFFFF
    word = (word ^ word >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    word = (word ^ word >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return word ^ word >> 16

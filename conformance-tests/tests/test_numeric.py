"""Numeric vectors: a runtime within the profile's tolerance passes, others fail, and who has none is asked nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scripted
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from numpy.typing import NDArray

from ctwl_conformance.adapter import NotDone
from ctwl_conformance.adapter.reference import ReferenceDecoder
from ctwl_conformance.command import main
from ctwl_conformance.run.bench import Bench
from ctwl_conformance.run.cases import all_cases
from ctwl_conformance.run.results import Result
from ctwl_conformance.vectors import command, files, load_numeric, reference
from ctwl_conformance.vectors.numeric import HEAVIEST, LENGTHS, REFERENCE, Numeric, weigh
from ctwl_protocol import get_profile
from ctwl_protocol.errors import ProxyNotFound, TokenOutOfRange
from ctwl_protocol.profile import TOY, TOYS
from ctwl_protocol.proxy import Proxy
from ctwl_protocol.text.blocks import blocks_of

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "conformance-tests" / "vectors" / "v1"
OFFLINE = "org.ctwl.smollm2-135m.1"
FILES = {numeric.profile: numeric for numeric in load_numeric()}
PLACES = 8 * len(LENGTHS)


# The rule.


def alone(tokens: list[int], weights: list[int], total: int, places: int = 1) -> Numeric:
    """Vectors of one passage that asks the same everywhere."""
    question = {"ids": [1] * (places + 1), "places": list(range(1, places + 1)), "tokens": [tokens] * places}
    return Numeric("p", Fraction(0), [question], [answer([weights] * places, [total] * places)])


def answer(weights: list[list[int]], totals: list[int]) -> dict[str, Any]:
    return {"weights": weights, "totals": totals}


def test_an_answer_agrees_with_itself_at_any_scale() -> None:
    for numeric in FILES.values():
        assert numeric.variation(numeric.expected) == 0
    for name in TOYS:  # twice the weights of a model are more than an answer may have
        doubled = [
            answer([[2 * weight for weight in row] for row in each["weights"]], [2 * total for total in each["totals"]])
            for each in FILES[name].expected
        ]
        assert FILES[name].variation(doubled) == 0


def test_the_rest_is_one_class() -> None:
    numeric = alone([4, 9], [50, 30], 100)
    assert numeric.variation([answer([[50, 30]], [100])]) == 0
    assert numeric.variation([answer([[40, 30]], [100])]) == Fraction(1, 10)
    assert numeric.variation([answer([[30, 50]], [100])]) == Fraction(1, 5)
    assert numeric.variation([answer([[0, 0]], [7])]) == Fraction(4, 5)
    two = alone([4], [50], 100, places=2)
    assert two.variation([answer([[50], [30]], [100, 100])]) == Fraction(1, 10)


@given(st.lists(st.tuples(st.integers(1, 99), st.integers(1, 99)), min_size=1, max_size=9), st.integers(1, 9))
def test_what_fails_the_rule_fails_the_whole_vocabulary_too(pairs: list[tuple[int, int]], asked: int) -> None:
    left, right = (list(row) for row in zip(*pairs, strict=True))
    whole = sum(abs(Fraction(a, sum(left)) - Fraction(b, sum(right))) for a, b in zip(left, right, strict=True)) / 2
    numeric = alone(list(range(asked)), left[:asked], sum(left))
    assert numeric.variation([answer([right[:asked]], [sum(right)])]) <= whole


def test_a_total_below_its_tokens_is_no_distribution() -> None:
    numeric = alone([4], [50], 100)
    for weights, totals in (([[50]], [49]), ([[0]], [0])):
        with pytest.raises(ValueError, match="the tokens asked about weigh"):
            numeric.variation([answer(weights, totals)])


# The files.


def test_the_files_keep_to_their_schema_and_say_what_the_profile_does() -> None:
    schema = json.loads((FOLDER / "schemas" / "numeric.json").read_bytes())
    Draft202012Validator.check_schema(schema)
    assert FILES.keys() == {*TOYS, OFFLINE}
    for name, numeric in FILES.items():
        document = json.loads((FOLDER / "numeric" / f"{name}.json").read_bytes())
        Draft202012Validator(schema).validate(document)
        profile = get_profile(name)
        assert document["digest"] == profile.digest
        assert numeric.tolerance == Fraction(*profile.tolerance.total_variation)
        assert numeric.places == PLACES
        assert {asked["profile"] for asked in numeric.questions} == {name}
        assert tuple(len(asked["ids"]) for asked in numeric.questions) == LENGTHS
        assert len(blocks_of(LENGTHS[-1], profile.prefix_length)) == 2
        for test in document["tests"]:
            ids, places, asked = (test["input"][field] for field in ("ids", "places", "tokens"))
            assert (places[0], places[-1]) == (profile.prefix_length, len(ids) - 1)
            for place, tokens, weights in zip(places, asked, test["expected"]["weights"], strict=True):
                assert set(tokens[HEAVIEST:]) <= {ids[place]} <= set(tokens)
                assert weights[:HEAVIEST] == sorted(weights[:HEAVIEST], reverse=True)
        for spoiled in ({"input": {}}, {"expected": {"weights": [1]}}, {"id": "weights/1"}, {"more": 1}):
            assert not Draft202012Validator(schema).is_valid(document | {"tests": [document["tests"][0] | spoiled]})


def test_the_specification_names_their_sizes() -> None:
    part = (ROOT / "spec" / "reader.md").read_text(encoding="utf-8").split("## 13.")[1]
    assert f"{PLACES} places" in part and f"the {HEAVIEST} tokens" in part


def wrongly(numeric: Numeric, proxy: Proxy, weights: Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]) -> float:
    """The distance of a runtime that weighs the vocabulary another way."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proxy, "weights_at", weights)
        return float(numeric.variation([weigh(proxy, asked) for asked in numeric.questions]))


@pytest.mark.slow
def test_the_offline_proxy_is_near_and_one_that_is_wrong_is_not(offline_proxy: Proxy) -> None:
    numeric, proxy = FILES[OFFLINE], offline_proxy
    sound, most = proxy.weights_at, float(numeric.tolerance)
    found = [weigh(proxy, asked) for asked in numeric.questions]
    assert numeric.variation(found) <= numeric.tolerance * REFERENCE

    few = Numeric(OFFLINE, numeric.tolerance, numeric.questions[:2], numeric.expected[:2])
    assert wrongly(few, proxy, lambda ids, places: (sound(ids, places) ** (1 / 1.3)).astype(np.uint32)) > most
    before = np.arange(-proxy.profile.prefix_length, 0)
    assert wrongly(few, proxy, lambda ids, places: proxy.weights(ids[places[:, None] + before])) > most


@pytest.fixture
def one_family(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exact vectors are another test's subject."""
    monkeypatch.setattr(reference, "FAMILIES", {"mixing": reference.FAMILIES["mixing"]})
    monkeypatch.setattr(command, "check", lambda: [])
    monkeypatch.setattr(command, "load", lambda: [])


@pytest.fixture
def toy_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No model is weighed: its file is another, slow test's subject."""
    monkeypatch.setattr(command, "load_numeric", lambda: [n for n in load_numeric() if n.profile == TOY])


@pytest.mark.usefixtures("one_family", "toy_alone")
def test_they_are_kept_measured_anew_and_held_to_the_proxy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "published", lambda: tmp_path)
    assert main(["generate", "--numeric", TOY, str(tmp_path)]) == 0
    (offline, toy) = (tmp_path / "numeric" / f"{name}.json" for name in (OFFLINE, TOY))
    assert offline.read_bytes() == (FOLDER / "numeric" / offline.name).read_bytes()
    made = Numeric.of(json.loads(toy.read_bytes()))
    assert made.places == PLACES and made.variation(made.expected) == 0
    assert main(["check"]) == 0
    assert f"numeric, {TOY}: mean total variation 0, at most 0 is asked for" in capsys.readouterr().out
    # A number that is not the proxy's, in a file that the manifest has all the same.
    document = json.loads(toy.read_bytes())
    document["tests"][0]["expected"]["weights"][0][0] += 1
    toy.write_text(json.dumps(document))
    assert main(["generate", str(tmp_path)]) == 0
    assert main(["check"]) == 1
    assert f"numeric, {TOY}: mean total variation" in capsys.readouterr().out


@pytest.mark.usefixtures("one_family")
def test_a_profile_whose_proxy_is_not_installed_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object, **__: object) -> None:
        raise ProxyNotFound("it is nowhere; fetch it")

    monkeypatch.setattr("ctwl_protocol.proxy.open_proxy", missing)
    assert main(["generate", str(tmp_path)]) == 0
    assert main(["check"]) == 0
    told = capsys.readouterr().out
    assert all(f"numeric, {name}: left out, its proxy is not installed" in told for name in FILES)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.json")}
    assert main(["generate", "--numeric", "org.ctwl.gpt2.1", str(tmp_path)]) == 2
    assert "it is nowhere; fetch it" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.json")} == before


@pytest.mark.usefixtures("one_family")
def test_a_file_that_holds_no_numeric_vectors_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "numeric").mkdir()
    (tmp_path / "numeric" / f"{TOY}.json").write_text('{"tests": [{"id": 1}]}')
    assert main(["generate", str(tmp_path)]) == 2
    assert f"numeric/{TOY}.json holds no numeric vectors" in capsys.readouterr().err


# The case.

SCRIPT = """
KNOWN = {str(test["input"]): test["expected"] for test in json.load(open(FILE))["tests"]}

def answer(request):
    weights, totals = KNOWN[str(request["input"])].values()
    CHANGE
    reply(request, ok={"weights": weights, "totals": totals})

serve(answer, profiles=["org.ctwl.toy.1"], families=FAMILIES)
"""


def asked(change: str, families: tuple[str, ...] = ("numeric",)) -> Result:
    """What becomes of the numeric case of an adapter."""
    file = str(FOLDER / "numeric" / f"{TOY}.json")
    script = SCRIPT.replace("FAMILIES", json.dumps(families)).replace("CHANGE", change).replace("FILE", repr(file))
    with Bench({"decoder": [scripted.command(script)]}, size="quick") as bench:
        (case,) = (case for case in all_cases(bench) if case.id.startswith("numeric/"))
        return case.run()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("weights[5] = weights[5][1:] + weights[5][:1]", "mean total variation 0.0"),
        ("totals[0] += 1", "at most 0 is asked for"),
        ("totals[0] = 3", "these are no weights: a total of 3"),
        ("weights[7].pop()", "not one weight for each token"),
        ("weights.pop(); totals.pop()", "not one weight for each token"),
        ("totals.pop()", "one total for each place"),
        ("weights[0][0] = 0.5", "weights.0.0"),
        ("weights[0][0] = -1", "weights.0.0"),
    ],
)
def test_other_answers_do_not(change: str, why: str) -> None:
    result = asked(change)
    assert result.verdict == "failed"
    assert why in result.reason


def test_who_ships_no_runtime_skips() -> None:
    result = asked("pass", families=("canonical",))
    assert (result.verdict, result.reason) == ("skipped", "it does not declare the family numeric")


def test_the_reference_weighs_and_refuses_what_is_out_of_range() -> None:
    decoder, numeric = ReferenceDecoder(), FILES[TOY]
    assert [decoder.vector("numeric", asked) for asked in numeric.questions] == numeric.expected
    asked = {"profile": TOY, "ids": [84, 104, 101, 32, 97], "places": [4], "tokens": [[97]]}
    for wrong in ({"places": [3]}, {"places": [5]}, {"ids": [84, 104, 101, 32, 256]}, {"tokens": [[256]]}):
        with pytest.raises(TokenOutOfRange):
            decoder.vector("numeric", asked | wrong)
    with pytest.raises(NotDone):
        decoder.vector("numeric", asked | {"profile": OFFLINE})

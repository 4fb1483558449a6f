"""``ctwl-encode plan``: its figures, its rule, its words, and the command as a whole."""

from __future__ import annotations

import ast
import io
import json
import math
import re
import shlex
import sys
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from scipy import stats

from ctwl_decoder import Decoder
from ctwl_encoder import CTWLWatermarkingConfig, Encoder
from ctwl_encoder.command import main
from ctwl_encoder.core.expected_evidence import needed_tokens
from ctwl_encoder.core.strategies import Strategy
from ctwl_encoder.errors import OptionOutOfRange
from ctwl_encoder.models import as_chat
from ctwl_encoder.options import GenerationOptions
from ctwl_operations.budget import Budget, needs
from ctwl_operations.plan.command import _profile_at_hand
from ctwl_operations.plan.configs import configs
from ctwl_operations.plan.markings import PLAIN, Marking, default_marking, markings
from ctwl_operations.plan.measurement import _by_length
from ctwl_operations.plan.page import page
from ctwl_operations.plan.prompts import GROUP, read_prompts
from ctwl_operations.plan.reading import EDITS, Reader, reworded, words
from ctwl_operations.plan.recorder import expected_change
from ctwl_operations.plan.result import Effect, Recommendation, Result, Row, Settings
from ctwl_operations.plan.rule import agreement, choose
from ctwl_operations.plan.statistics import (
    Estimate,
    Needed,
    estimate,
    found_by,
    needed,
    resampled,
    share,
    shared_runs,
    tokens_until,
)
from ctwl_operations.plan.terminal import show
from ctwl_operations.plan.wording import reading_rows, sentences
from ctwl_operations.plan.writing import Writer
from ctwl_protocol import Profile, get_profile
from ctwl_protocol.errors import ProxyNotFound
from ctwl_protocol.numbers import NUMBERS
from ctwl_protocol.profile import OFFLINE, STANDARD, TOY
from ctwl_protocol.proxy import open_proxy

RACE = Marking({"strategy": "race", "share": 0.5})
SAMPLING = {"max_new_tokens": 200, "temperature": 0.7, "top_p": 0.95, "repetition_penalty": 1.0, "seed": 5}
GREEDY = {**SAMPLING, "temperature": 0.0}
HOSTILE = "</title><script>alert('prompt')</script> [bold]{{ 7 * 191 }} & \"quotes\""


def settings(**changed: Any) -> Settings:
    given = Settings("smollm2", "org.ctwl.smollm2-135m.1", True, ["A prompt"], 42, 3, SAMPLING, 32, 5)
    return replace(given, **changed)


def row(marking: Marking, found: int, shared: float = 0.05) -> Row:
    around = Estimate(shared, shared / 2, shared * 2)
    curve = [(100, found / 64), (200, found / 32)]
    mark = Effect(
        share(found, 32), [(100, share(found // 2, 30)), (200, share(found, 28))],
        [(0.1, share(found // 2, 32)), (0.25, share(found // 4, 32))],
        Needed(None, 175, None), curve, Estimate(0.001, -0.01, 0.02), 0.6, around, 1.5, around, 1.07,
        Budget(200, 240, 6, 4, 110, 10, 63),
    )  # fmt: skip
    drawn = Estimate(0.02, -0.03, 0.07)
    return Row(marking, 200.0, 1.2, Estimate(1.4, 1.3, 1.5), drawn, share(0, 32), around, mark)


def result(*found: int, agreed: float = 1.0, **changed: Any) -> Result:
    """A result of two markings, or of ``delta`` as a third, of which so many of 32 texts are found."""
    asked = settings(**changed)
    temperature = asked.sampling["temperature"]
    tried = [*markings(temperature)[:2], Marking({"strategy": "delta", "delta": 2.0})][: len(found)]
    unknown = Estimate(math.nan, math.nan, math.nan)
    plain = Row(PLAIN, 200.0, 1.1, Estimate(1.4, 1.3, 1.5), unknown, share(1, 32), Estimate(0.04, 0.03, 0.05))
    rows = [row(*each) for each in zip(tried, found, strict=True)]
    chosen = Recommendation(choose([each / 32 for each in found]), agreed, default_marking(temperature))
    return Result(asked, plain, rows, chosen)


def test_the_budget_of_the_evidence_is_told() -> None:
    """What the mark decides, what is lost, and what a reader needs; with fewer nonces ln(64 / nonces) nats less."""
    told = " ".join(sentences(result(30, 31)))
    for said in (
        "200 tokens, in nats: choice 240.0, decided by the mark 110.0; a reader is expected to see 37.0 of it",
        "first tokens 6.0, bridge 4.0. Lost after: repeats 10.0, reader 63.0",
        f"A reader of all codes needs {needs(1 << 20, 1 - NUMBERS.search.registered_share)}.",
        f"A reader of the 64 codes of one model version needs {needs(64)}.",
    ):
        assert said in told, told
    assert f"the 8 codes of one model version needs {needs(8)}" in " ".join(sentences(result(30, 31, nonces=8)))
    (many, level, codes, tests), (few, *_) = ([float(n) for n in re.findall(r"\d+\.\d", needs(k))] for k in (64, 8))
    assert many - few == pytest.approx(math.log(64 / 8), abs=0.11)
    assert level == pytest.approx(-math.log(NUMBERS.search.level), abs=0.051)
    assert many == pytest.approx(level + codes + tests, abs=0.2)


# figures


@pytest.mark.parametrize(("successes", "trials"), [(0, 8), (1, 8), (24, 32), (32, 32), (700, 1024), (3000, 4096)])
def test_a_share_has_the_exact_interval(successes: int, trials: int) -> None:
    found = share(successes, trials)
    exact = stats.binomtest(successes, trials).proportion_ci(0.95, "exact")
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=1e-9)


@given(st.lists(st.one_of(st.none(), st.integers(1, 200)), min_size=1, max_size=40))
def test_the_curve_counts_texts_where_none_ends_early(found_at: list[int | None]) -> None:
    for tokens, reached in found_by([200] * len(found_at), found_at):
        assert reached == pytest.approx(np.mean([at is not None and at <= tokens for at in found_at]))


@given(st.lists(st.tuples(st.integers(1, 200), st.booleans()), min_size=1, max_size=40))
def test_the_curve_rises_and_stays_a_share(texts: list[tuple[int, bool]]) -> None:
    curve = found_by([length for length, _ in texts], [length if found else None for length, found in texts])
    lengths, shares = [0, *(tokens for tokens, _ in curve)], [0.0, *(reached for _, reached in curve)]
    assert lengths == sorted(set(lengths))
    assert all(a < b for a, b in pairwise(shares))
    assert shares[-1] <= 1 + 1e-9


def test_a_text_that_ends_unfound_is_left_out_from_there_on() -> None:
    """Of four texts one ends at 20 tokens; of the three that go on, two are found."""
    curve = found_by([20, 100, 100, 100], [None, 50, 100, None])
    assert curve == [(50, pytest.approx(1 / 3)), (100, pytest.approx(2 / 3))]


def test_the_longest_of_many_texts_decides_nothing_alone() -> None:
    assert tokens_until(found_by([30] * 9 + [200], [None] * 9 + [200])) is None


def test_tokens_needed_and_how_well_they_are_known() -> None:
    lengths, picks = np.full((8, 4), 200), resampled(8, 1)
    same, _ = needed(lengths, [[50] * 4] * 8, picks)
    assert same == (50, 50, 50)
    mixed, _ = needed(lengths, [[50, 75, 100, 125]] * 7 + [[None] * 4], picks)
    assert mixed.tokens is None
    assert mixed.low == 125 and mixed.high is None


def test_an_estimate_leaves_out_what_says_nothing() -> None:
    values, picks = np.array([1.0, 2.0, np.nan, 3.0]), resampled(4, 1)
    found = estimate(values, picks)
    assert found.mean == 2.0
    assert 1.0 <= found.low < found.mean < found.high <= 3.0
    assert all(math.isnan(each) for each in estimate(np.full(4, np.nan), picks))


def test_runs_that_texts_share() -> None:
    assert shared_runs([1, 2, 3, 4], [[9, 1, 2, 3]]) == 0.5
    assert shared_runs([1, 2, 3, 4], [[1, 2, 3], [2, 3, 4]]) == 1.0
    assert math.isnan(shared_runs([1, 2], [[1, 2]]))


def test_what_is_found_by_length_leaves_out_texts_that_are_shorter() -> None:
    told = _by_length([100, 40, 100, 80], [50, None, None, 80], [25, 50, 50, 100, 200])
    assert [(length, found.successes, found.trials) for length, found in told] == [(25, 0, 4), (50, 1, 3), (100, 1, 2)]


# the rule


@given(st.lists(st.integers(0, 32).map(lambda n: n / 32), min_size=1, max_size=5))
def test_the_gentlest_that_is_found_nearly_as_often_as_any_is_taken(found: list[float]) -> None:
    taken = choose(found)
    if any(found):
        assert found[taken] >= 0.9 * max(found) - 1e-9
        assert all(each < 0.9 * max(found) for each in found[:taken])
    else:
        assert taken == len(found) - 1


def test_a_choice_is_sure_where_every_prompt_agrees() -> None:
    picks = resampled(8, 1)
    assert agreement(np.array([[0.25] * 8, [0.75] * 8]), picks) == 1.0
    close = agreement(np.array([[0.5, 1, 1, 1, 0.75, 1, 0.75, 1], [1.0] * 8]), picks)
    assert 0.05 < close < 0.95


def test_what_is_tried() -> None:
    """The encoder's default at the temperature, and less and more."""

    def tried(temperature: float, deltas: Sequence[float] = ()) -> list[str]:
        known = markings(temperature, {"delta": deltas})
        return [each.name for each in known if each.strategy in (Strategy.RACE, Strategy.DELTA)]

    assert tried(0.7) == ["race 0.6", "race 0.8", "race 0.95"]
    assert all(default_marking(temperature) in markings(temperature) for temperature in (0.0, 0.3, 0.7, 0.85, 1.0, 1.5))
    assert tried(1.0, [2.5, 2.0]) == ["race 0.3", "race 0.5", "race 0.7", "delta 2", "delta 2.5"]
    assert tried(0) == ["delta 1", "delta 2"]
    assert [default_marking(temperature).name for temperature in (1.0, 0.7, 0)] == ["race 0.5", "race 0.8", "delta 2"]


# texts


PROMPTS = ["Hello there, my friend", "What is the news"]


def write(toy: Encoder, marking: Marking, **changed: Any) -> list[Any]:
    options = GenerationOptions(**{"max_new_tokens": 40, "seed": 3, **changed})
    return Writer(toy, PROMPTS, options, provider=42, version=3).write(marking)[0]


def test_the_nll_is_the_models(toy: Encoder) -> None:
    """Whatever temperature and top-p do: the NLL is the one that the model itself states."""
    suppressed = toy.model.generation_config.suppress_tokens
    for place, text in enumerate(write(toy, RACE, temperature=0.8, top_p=0.9)):
        prompt = toy.tokenizer(PROMPTS[place // GROUP])["input_ids"]
        with torch.no_grad():
            logits = toy.model(torch.tensor([[*prompt, *text.ids]])).logits[0, len(prompt) - 1 : -1].double()
        logits[:, suppressed] = -torch.inf
        nll = -torch.log_softmax(logits, dim=1).gather(1, torch.tensor(text.ids)[:, None])
        assert text.nll == pytest.approx(float(nll.mean()), abs=1e-4)


def test_the_nll_less_the_entropy_is_of_what_the_tokens_were_drawn_from(toy: Encoder) -> None:
    """So the temperature leaves it at 0, but for chance."""
    for temperature in (0.6, 1.2):
        values = np.array([text.nll_less_entropy for text in write(toy, PLAIN, temperature=temperature)])
        assert abs(values.mean()) < 4 * values.std(ddof=1) / math.sqrt(len(values))
    greedy = write(toy, PLAIN, temperature=0.0, max_new_tokens=5)
    assert all(math.isnan(text.nll_less_entropy) for text in greedy)


def test_the_expected_change_is_what_sampling_shows_on_average() -> None:
    rng = np.random.default_rng(1)
    model, marked = (torch.tensor(rng.dirichlet(np.ones(20), size=3)) for _ in range(2))
    change = expected_change(marked, model, -torch.log(model))
    expected = (marked * -torch.log(model)).sum(dim=1) - (model * -torch.log(model)).sum(dim=1)
    torch.testing.assert_close(change, expected)
    ruled_out = torch.tensor([[0.0, 1.0]])
    assert expected_change(ruled_out, ruled_out, torch.tensor([[torch.inf, 0.0]])) == 0


def test_two_texts_of_four_share_a_nonce(toy: Encoder) -> None:
    nonces = [text.code % 64 for text in write(toy, RACE)]
    for group in (nonces[:GROUP], nonces[GROUP:]):
        assert group[0] == group[1] != group[2] == group[3]
    assert [text.code for text in write(toy, PLAIN)] == [None] * 2 * GROUP


def test_a_prompt_that_comes_again_has_other_texts(toy: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctwl_operations.plan.writing._ROWS", GROUP)
    monkeypatch.setattr(sys.modules[__name__], "PROMPTS", PROMPTS[:1] * 2)
    assert len({text.ids for text in write(toy, PLAIN)}) == 2 * GROUP


def test_without_sampling_each_text_has_a_nonce_of_its_own(toy: Encoder) -> None:
    greedy = {"temperature": 0.0, "max_new_tokens": 20}
    plain = write(toy, PLAIN, **greedy)
    assert plain[0] == plain[1] == plain[2] == plain[3] != plain[4]
    marked = write(toy, Marking({"strategy": "delta", "delta": 3.0}), **greedy)
    assert len({text.code for text in marked[:GROUP]}) == GROUP
    assert all(text.entropy == 0 for text in marked)


def test_the_length_at_which_a_code_is_found(toy: Encoder) -> None:
    """A reader finds the code there and not one step before."""
    options = GenerationOptions(max_new_tokens=60, min_new_tokens=60, seed=3)
    writer = Writer(toy, PROMPTS[:1], options, provider=42, version=3)
    text, lengths = writer.write(RACE)[0][0], [12, 16, 20, 24, 28, 32, 60]
    proxy = open_proxy(toy.proxy.profile)
    at = Reader(proxy).found_at(lambda length: writer.cut(text, length), text.code, lengths)
    assert lengths[0] < at < lengths[-1]
    decoder = Decoder(proxy)
    shorter = max(length for length in lengths if length < at)
    assert decoder.decode(writer.cut(text, at)).code == text.code
    assert decoder.decode(writer.cut(text, shorter)).code != text.code
    assert Reader(proxy).code(text.text) == text.code
    assert Reader(proxy).code("") is None


def test_a_share_of_the_words_is_replaced() -> None:
    text = "The council, so it was said on Tuesday, would open a new bridge over the river in May."
    before = words(text)
    for edit in EDITS:
        after = reworded(text, edit, ["Lot"], np.random.default_rng(1))
        assert re.sub(r"[a-zA-Z]+", "", after) == re.sub(r"[a-zA-Z]+", "", text)
        changed = [new for old, new in zip(before, words(after), strict=True) if old != new]
        assert changed == ["Lot"] * round(edit * len(before))
    assert reworded("12 34!", 0.5, [], np.random.default_rng(1)) == "12 34!"


# what is said


def shown(given: Result) -> str:
    """What a terminal shows, on long lines."""
    told = io.StringIO()
    show(given, Console(file=told, width=4000))
    return told.getvalue()


def test_what_readers_find_is_told_by_length_and_after_edits() -> None:
    rows = {cells[0]: cells[1:] for cells in reading_rows(result(8, 24))}
    assert rows["first 100 tokens"] == ["", "4 of 30, 4 to 31 %", "12 of 30, 23 to 59 %"]
    assert rows["the whole text"] == ["", "8 of 32, 11 to 43 %", "24 of 32, 57 to 89 %"]
    assert rows["25 % of its words replaced"][2] == "6 of 32, 7 to 36 %"
    assert rows["a wrong code"] == ["1 of 32, 0 to 16 %", "0 of 32, 0 to 11 %", "0 of 32, 0 to 11 %"]
    assert rows["NLL less entropy"] == ["", *["+0.020, -0.030 to +0.070"] * 2]
    for told in (shown(result(8, 24)), page(result(8, 24))):
        assert "12 of 30, 23 to 59 %" in told and "10 % of its words replaced" in told


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (result(9, 24), "Take race 0.8: its code is found in 24 of 32 texts (95 % interval 57 to 89 %)."),
        (result(9, 24), "race 0.6 is gentler, and is found in 9 of 32 only."),
        (result(9, 24), "That is fewer than nine in ten."),
        (result(9, 24), "race 0.8 is also what the encoder takes by itself"),
        (result(31, 32), "By itself the encoder takes race 0.8 at this temperature, so name the strategy"),
        (result(28, 32, agreed=0.7), "In 700 of 1,000 resamples"),
        (result(28, 32, agreed=0.7), "That is a close call: measure more texts (--texts 128)."),
        (result(28, 32, agreed=0.7, texts=2000), "That is a close call: measure more texts (--texts 4096)."),
        (result(28, 32, agreed=0.7, texts=4096), "That is a close call."),
        (result(9, 24), "But one prompt is too few to be sure: give 8 or more (--prompt-file)."),
        (result(9, 24, prompts=["A", "B"], texts=8), "But 2 prompts are too few to be sure: give 8 or more (--texts"),
        (result(9, 24, prompts=list("ABCDEFGH")), "It is sure for prompts like these, and says nothing of others."),
        (result(31, 30), "race 0.8 is found in 30 of 32: not more often, and it changes more."),
        (result(30, 31), "race 0.8 is found in 31 of 32: only a little more often, and it changes more."),
        (result(9, 24), "What helps: longer texts, a higher temperature or top-p, and tries"),
        (result(9, 24, sampling=GREEDY), "What helps: longer texts, a larger --delta, and tries"),
        (result(0, 0), "No code was found in any text. race 0.8 is the clearest"),
        (result(9, 24), "A record of several codes needs more tokens: with a sealed user two to three times as many."),
    ],
)
def test_what_is_recommended_and_why(given: Result, said: str) -> None:
    assert said in shown(given)
    assert said in page(given).replace("&lt;", "<")


def test_a_sealed_user_needs_the_tokens_that_are_said() -> None:
    profile = get_profile(OFFLINE)
    for temperature in (1.0, 0.7):
        one, sealed = (needed_tokens(profile, Strategy.RACE, codes, temperature=temperature) for codes in (1, 3))
        assert 2 * one < sealed < 3 * one


@pytest.mark.parametrize(
    ("given", "unsaid"), [(result(9, 24, sampling=GREEDY), "entropy"), (result(31, 32), "fewer than nine in ten")]
)
def test_what_does_not_matter_is_not_said(given: Result, unsaid: str) -> None:
    assert unsaid in shown(result(9, 24))
    assert unsaid not in shown(given) and unsaid not in page(given)


def test_the_page_escapes_all_that_comes_from_outside() -> None:
    given = result(9, 24, 30, prompts=[HOSTILE], model=HOSTILE, profile=HOSTILE)
    written = page(given)
    assert "<script" not in written and "1337" not in written
    assert written.count("&lt;script&gt;alert(") >= 3
    for drawing in re.findall(r"<svg.*?</svg>", written, re.S):
        ET.fromstring(drawing)
    assert not re.search(r"(src|href)=", written)
    assert "[bold]" in shown(given)


def test_json_has_no_number_that_json_does_not_know() -> None:
    given = result(9, 24)
    unknown = replace(given, plain=replace(given.plain, shared=Estimate(math.nan, math.nan, math.nan)))
    found = json.loads(json.dumps(unknown.as_json(), allow_nan=False))
    assert found["plain"]["shared"]["mean"] is None
    assert found["rows"][1]["name"] == "race 0.8"
    assert found["rows"][1]["effect"]["found"]["successes"] == 24
    assert found["recommendation"]["marking"] == {"strategy": "race", "share": 0.8}
    assert page(unknown)


@pytest.mark.parametrize(
    ("given", "marking"),
    [
        (result(9, 24), {"strategy": "race", "share": 0.8}),
        (result(3, 9, 24), {"strategy": "delta", "delta": 2.0}),
        (result(9, 24, sampling=SAMPLING | {"temperature": 1.0, "top_p": 1.0}), {"strategy": "race", "share": 0.5}),
    ],
)
@pytest.mark.parametrize("model", ["smollm2", './it\'s "my" model; $(date)'])
def test_what_is_pasted_says_what_was_measured(given: Result, marking: dict[str, Any], model: str) -> None:
    snippets = configs(replace(given, settings=replace(given.settings, model=model)))
    asked = {"provider": 42, "version": 3, **marking}

    words = shlex.split(snippets["ctwl-encode"])
    words.remove("--chat")  # as it was measured
    told = dict(zip(words[1:-1:2], words[2::2], strict=True))
    assert words[0] == "ctwl-encode" and told["--model"] == model
    assert {name: told[f"--{name}"] for name in asked} == {name: str(value) for name, value in asked.items()}
    assert float(told.get("--temperature", 1.0)) == given.settings.sampling["temperature"]
    assert ("--profile" in told) == (model != "smollm2")

    made: dict[str, Any] = {}
    for call in ast.walk(ast.parse(snippets["transformers"])):
        if isinstance(call, ast.Call):
            pairs = {word.arg: word.value for word in call.keywords if word.arg}
            made |= {name: ast.literal_eval(value) for name, value in pairs.items() if not isinstance(value, ast.Name)}
    assert made["do_sample"] and made["temperature"] == given.settings.sampling["temperature"]
    fields = {name: value for name, value in made.items() if name in CTWLWatermarkingConfig.model_fields}
    config = CTWLWatermarkingConfig(**fields)
    assert config.tokenizer == model and config.profile == "org.ctwl.smollm2-135m.1"
    assert {name: getattr(config, name) for name in asked} == asked

    served = shlex.split(snippets["vLLM"])
    assert served[:3] == ["vllm", "serve", "MODEL" if model == "smollm2" else model]
    assert json.loads(served[4]) == {"ctwl": asked | {"profile": "org.ctwl.smollm2-135m.1"}}


@pytest.mark.parametrize(
    ("changed", "ctwl_encode", "transformers", "vllm"),
    [
        ({"model": "./mine", "proxy_path": "./p"}, "--proxy ./p", "proxy_path='./p'", '"proxy_path": "./p"'),
        ({"model": "./mine", "device": "cpu"}, "--device cpu", "device='cpu'", '"device": "cpu"'),
        ({"nonces": 8}, "--nonces 8", "nonces=8", '"nonces": 8'),
        ({}, "--top-p 0.95", "top_k=0", '"top_p": 0.95'),
        ({}, "", "repetition_penalty=1.0", '"repetition_penalty": 1.0'),  # a model's own config would else have its say
        ({"repetition_penalty": 1.2}, "--repetition-penalty 1.2", "penalty=1.2", '"repetition_penalty": 1.2'),
        ({"max_new_tokens": 333}, "--max-new-tokens 333", "max_new_tokens=333", ""),
        ({"temperature": 0.0}, "", "do_sample=False", '"temperature": 0.0'),
        ({"chat": False}, "0.8 'The harvest", "", ""),
    ],
)
def test_all_that_was_asked_for_is_pasted(
    changed: dict[str, Any], ctwl_encode: str, transformers: str, vllm: str
) -> None:
    sampling = SAMPLING | {name: value for name, value in changed.items() if name in SAMPLING}
    others = {name: value for name, value in changed.items() if name not in SAMPLING}
    snippets = configs(result(9, 24, sampling=sampling, **others))
    assert ctwl_encode in snippets["ctwl-encode"]
    assert transformers in snippets["transformers"] and vllm in snippets["vLLM"]
    assert any("nonces" in snippet for snippet in snippets.values()) is ("nonces" in changed)


# the command


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--texts", "4"], "option-out-of-range: --texts is '4'; it must be a whole number, at least 8"),
        (["--delta", "0"], "option-out-of-range: --delta is '0'; it must be a number, above 0 and at most 100"),
        (["--temperature", "-1"], "--temperature is '-1'"),
        (["--version"], "for the program's own: ctwl-encode --about"),
        (["--provider", "1024"], "provider"),
        (["--profile", "org.nobody.1"], "profile-unknown"),
        (["--prompt-file", "none.txt"], "cannot read the prompts from none.txt: No such file"),
        (["--html", "no/folder/page.html"], "cannot write no/folder/page.html; name a file in a folder"),
    ],
)
def test_a_wrong_option_is_said_before_anything_is_loaded(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Encoder, "open", lambda *_, **__: pytest.fail("the model is loaded"))
    assert main(["plan", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("ctwl-encode plan: ")
    assert said in error
    assert error.count("\n") == 1


def test_without_the_standard_proxy_lm_the_offline_one_is_measured(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nothing else is guessed: a profile that is named is the one that is needed."""
    at_hand = [OFFLINE]

    def find(profile: Profile) -> None:
        if profile.name not in at_hand:
            raise ProxyNotFound("not here")

    monkeypatch.setattr("ctwl_operations.plan.command.find_files", find)
    assert _profile_at_hand("./mine", None) == OFFLINE
    assert "org.ctwl.gpt2.1 has no proxy LM on this machine" in capsys.readouterr().err
    assert _profile_at_hand("./mine", str(tmp_path)) == STANDARD
    at_hand.clear()
    assert _profile_at_hand("./mine", None) == STANDARD
    at_hand.append(STANDARD)
    assert _profile_at_hand("./mine", None) == STANDARD
    assert not capsys.readouterr().err


def test_a_file_of_prompts(tmp_path: Path) -> None:
    file = tmp_path / "prompts.txt"
    file.write_bytes("\ufeffOne prompt\r\n\n  Ein zweiter: größer  \n".encode())
    assert read_prompts(str(file)) == ["One prompt", "Ein zweiter: größer"]
    for content, said in ((b"\n \n", "has no prompt"), (b"\xff\xfe", "not UTF-8")):
        file.write_bytes(content)
        with pytest.raises(OptionOutOfRange, match=said):
            read_prompts(str(file))


def test_a_chat_needs_a_template_that_works(toy: Encoder) -> None:
    class Broken:
        chat_template = "{{ messages[5].content.nothing() }}"
        apply_chat_template = staticmethod(lambda *_, **__: 1 / 0)

    with pytest.raises(OptionOutOfRange, match="no chat template; give it a text's beginning"):
        as_chat(toy.tokenizer, ["Hello"])
    with pytest.raises(OptionOutOfRange, match=r"chat template failed .*do without chat"):
        as_chat(Broken(), ["Hello"])


@pytest.mark.slow
def test_the_whole_command(
    toy: Encoder, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Encoder, "open", lambda *_, **__: toy)
    monkeypatch.setattr("ctwl_operations.plan.command.markings", lambda *_: (RACE,))
    decode = partial(Decoder(open_proxy(TOY), layouts=[]).decode, beacons=[(0, 0)])  # few codes take no time
    monkeypatch.setattr(Reader, "code", lambda _, text: decode(text).code if text else None)
    (tmp_path / "prompts.txt").write_text("Hello there, my friend\nAnother one\nNot used\n")
    report = tmp_path / "report.html"
    arguments = ["--profile", TOY, "--prompt-file", str(tmp_path / "prompts.txt"), "--seed", "1"]
    arguments += ["--texts", "8", "--max-new-tokens", "24", "--html", str(report), "--json"]
    assert main(["plan", *arguments]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["recommendation"]["marking"] == {"strategy": "race", "share": 0.5}
    assert found["settings"]["prompts"] == ["Hello there, my friend", "Another one"]
    assert found["rows"][0]["effect"]["found"]["trials"] == 8
    told = found["rows"][0]["effect"]
    assert [length for length, _ in told["by_length"]] == [3, 6, 9, 12, 15, 18, 21, 24]
    assert [edit for edit, _ in told["edited"]] == [0.1, 0.25]
    assert found["plain"]["wrong"] == {"successes": 0, "trials": 8, "low": 0.0, "high": pytest.approx(0.369, abs=1e-3)}
    assert abs(found["plain"]["nll_less_entropy"]["mean"]) < 1
    assert set(found["configs"]) >= {"ctwl-encode", "transformers", "vLLM"}
    assert "Not used" not in report.read_text()
    assert "Another one" in report.read_text()


@pytest.mark.slow
def test_a_real_model_in_a_chat(smollm2: tuple[Any, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In texts of 64 tokens at T = 1 the gentlest share is enough."""
    asked = ["--model", "smollm2", "--texts", "8", "--max-new-tokens", "64", "--seed", "2", "--json"]
    assert main(["plan", *asked]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["settings"]["chat"]
    assert found["recommendation"]["marking"] == {"strategy": "race", "share": 0.3}
    assert found["recommendation"]["default"] == {"strategy": "race", "share": 0.5}
    assert [each["name"] for each in found["rows"]] == ["race 0.3", "race 0.5", "race 0.7"]


@pytest.mark.slow
def test_the_offline_model_chats_by_its_own_template(smollm2: tuple[Any, Any]) -> None:
    from gguf import GGUFReader

    from ctwl_protocol.proxy import files

    profile = get_profile(OFFLINE)
    carrier = profile.proxy.carrier
    assert carrier
    reader = GGUFReader(files._locate(profile, carrier, None, fetch=False))
    assert smollm2[1].chat_template == reader.fields["tokenizer.chat_template"].contents()
    (prompt,) = as_chat(smollm2[1], ["Hello"])
    assert prompt.endswith("<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n")
    assert smollm2[1](prompt, add_special_tokens=False)["input_ids"].count(1) == 3

"""Reading by the ranks of a text's tokens, without a proxy LM."""

from __future__ import annotations

import doctest
import io
import json
import math
import subprocess
import sys
from contextlib import redirect_stderr
from fractions import Fraction
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

import numpy as np
import pytest
import recorded_texts
from hypothesis import given
from hypothesis import strategies as st

import ctwl_decoder.decoder
import ctwl_decoder.profiles
from ctwl_decoder import Decoder, describe
from ctwl_decoder.command import main
from ctwl_decoder.errors import ExtraMissing
from ctwl_decoder.files import Found
from ctwl_decoder.options import ALPHA
from ctwl_decoder.search.plan import SearchPlan
from ctwl_decoder.statistics.null import null_of, tail_of
from ctwl_decoder.words import say
from ctwl_protocol import Beacon, get_profile
from ctwl_protocol.errors import ProxyNotFound
from ctwl_protocol.numbers import NUMBERS
from ctwl_protocol.proxy import Proxy, ProxyTokenizer

OFFLINE, SIZE = "org.ctwl.smollm2-135m.1", get_profile("org.ctwl.smollm2-135m.1").tokenizer.vocabulary
RECORDED = recorded_texts.HALF  # provider 700, version 9, nonce 21
PLAIN = "The council met on Tuesday and talked about the bridge, the school and the weather. Nobody was surprised. " * 3


def refuses(error: Exception | None = None) -> Proxy:
    """The offline profile's proxy LM where it cannot be loaded: the device needs torch, and there is none."""

    def missing() -> object:
        raise error or ImportError(name="torch")

    profile = get_profile(OFFLINE)
    tokenizer = ProxyTokenizer.shipped(profile.tokenizer)
    assert tokenizer is not None
    return Proxy(profile, tokenizer, missing)  # type: ignore[arg-type]


TEXTS = recorded_texts.MARKED["texts"]


@given(st.integers(0, 12), st.integers(1, 9), st.integers(0, 2**32 - 1), st.integers(-300, 300))
def test_a_tail_is_that_of_the_whole_convolution(contexts: int, colours: int, seed: int, score: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.integers(-40, 40, (contexts, colours), dtype=np.int32)
    table *= rng.integers(0, 2, (contexts, 1), dtype=np.int32)  # a context may have one score for all colours
    assert tail_of(table, score) == pytest.approx(null_of(table).tail(score), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("widest", [9, 500, 3000, 20_000])
def test_a_tail_has_nine_digits_however_wide_one_context_s_row_is(widest: int) -> None:
    """Against integers: the coefficients of a product of polynomials, packed into one integer each."""
    rng = np.random.default_rng(widest)
    table = rng.integers(0, 8, (40, 20), dtype=np.int32)
    table[7] = rng.integers(0, widest, 20)
    table -= table.min(axis=1, keepdims=True)
    bits, top = 40 * (20).bit_length(), int(table.max(axis=1).sum())
    ways = math.prod(sum(1 << bits * step for step in row) for row in table.tolist())
    for score in (top, top - 1, top - 4, top * 99 // 100, top * 9 // 10, top // 2):
        upper, count = ways >> bits * score, 0
        while upper:
            upper, count = upper >> bits, count + (upper & ((1 << bits) - 1))
        assert tail_of(table, score) == pytest.approx(float(Fraction(count, 20**40)), rel=1e-9, abs=0)


def test_a_marked_text_is_read_without_the_proxy_lm(marked: str) -> None:
    report = Decoder(refuses()).decode(marked)
    assert (report.read, report.arithmetic, report.code) == ("light", "integer", Beacon(700, 9, 21).code)
    (span,) = report.spans
    assert (span.start, span.end) == (0, len(marked))
    assert report.record is not None and report.record.layout == "beacon"
    assert "ranks alone" in describe(report)


def test_a_text_that_shows_nothing_asks_for_the_proxy_lm() -> None:
    with pytest.raises(ExtraMissing, match=r"'ctwl-decoder\[torch\]'$"):
        Decoder(refuses()).decode(PLAIN)


def command_refuses(proxy: Proxy, *options: str) -> list[str]:
    """What the command says of a text that shows nothing by the ranks, where the proxy LM cannot be loaded."""
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stderr(said):
        patch.setattr("ctwl_decoder.profiles.open_proxy", lambda *_, **__: proxy)
        patch.setattr("ctwl_decoder.command.texts_of", lambda name: [Found(name, PLAIN)])
        assert main(["--profile", OFFLINE, "-", *options]) == 2
    return said.getvalue().splitlines()


def test_the_command_says_that_the_ranks_may_be_enough() -> None:
    (said,) = command_refuses(refuses())
    assert said.endswith("'ctwl-decoder[torch]'. If the ranks alone are enough, add --light.")
    assert "--light" not in command_refuses(refuses(), "--full")[0]


@pytest.mark.parametrize("text", ["", "The council met on Tuesday and talked about it."])
def test_a_text_that_is_too_short_never_asks_for_the_proxy_lm(text: str) -> None:
    report = Decoder(refuses()).decode(text)
    assert report.outcome == "too-short" and report.tokens < 12 < report.needed < 20


def test_whether_a_text_is_too_short_does_not_hang_on_the_slots_that_were_read() -> None:
    """Of a record that was not read, slot 0 alone counts as scored: a third or a quarter of the positions."""
    words, outcomes, scored, decoder = topics["exceptions"].split(), set(), set(), Decoder(refuses())
    for i in range(0, len(words) - 20, 10):
        report = decoder.decode(" ".join(words[i : i + 20]), score="light", beacons=[(700, 9)])
        assert report.tokens >= report.needed
        outcomes.add(report.outcome)
        scored.add(2 * report.scored < report.needed)
    assert (outcomes, scored) == ({"none"}, {False, True})


def test_a_proxy_lm_that_is_not_here_leaves_the_ranks() -> None:
    proxy = refuses(ProxyNotFound("the weights are nowhere", "fetch the weights"))
    said = command_refuses(proxy)
    assert f"The quick reading says: {say('none')} (p = " in said[0] and "not here" in said[1]
    assert any("--light" in line for line in said) and "  fetch the weights" in said
    assert all(len(line) <= 120 for line in said[1:])
    assert command_refuses(proxy, "--full") == ["ctwl-decode: proxy-not-found: the weights are nowhere"]
    with pytest.raises(ProxyNotFound, match=r"^the weights are nowhere$"):
        Decoder(proxy).decode(PLAIN)


def test_the_command_leaves_registered_layouts_to_their_owners(monkeypatch: pytest.MonkeyPatch) -> None:
    """Named layouts alone are tried after every beacon."""
    given: list[Any] = []

    def made(*_: object, layouts: Any, **options: object) -> None:
        given.append(layouts)
        raise ExtraMissing("enough")

    monkeypatch.setattr("ctwl_decoder.profiles.Decoder", made)
    for options in ([], ["--layout", "tagged"]):
        command_refuses(refuses(), *options)
    assert given[0] is None and [layout.name for layout in given[1]] == ["tagged"]


def test_the_examples_of_the_decoder_are_right(marked: str) -> None:
    failed, tried = doctest.testmod(ctwl_decoder.decoder, extraglobs={"letter": marked})
    assert (failed, tried) == (0, 6)
    failed, tried = doctest.testmod(ctwl_decoder.profiles, extraglobs={"letter": marked})
    assert (failed, tried) == (0, 4)


def test_a_long_stretch_that_light_cannot_read_is_not_passed_over(marked: str) -> None:
    """What another provider may have written there shows by the proxy LM alone."""
    other = " ".join(f"{i} {word}" for i, word in enumerate(PLAIN.split() * 2))
    asked = []
    text, decoder = marked + "\n\n" + other, Decoder(refuses())
    report = decoder.decode(text, alpha=1e-3, score="light")
    assert report.detected
    with pytest.raises(ExtraMissing):
        decoder.decode(text, alpha=1e-3, progress=lambda done, total: asked.append((done, total)))
    assert asked == [(0, report.tokens - 10)]


def test_all_scores_share_one_level() -> None:
    profile = get_profile(OFFLINE)
    for name in ("auto", "light", "whole"):
        shares = SearchPlan.of(profile, None, alpha=ALPHA, score=name).score_shares  # type: ignore[arg-type]
        assert sum(shares.values()) == pytest.approx(1)
    plan = SearchPlan.of(profile, None, alpha=ALPHA)
    assert sum(plan.light.score_shares.values()) == pytest.approx(NUMBERS.search.light_first)
    assert {**plan.light.score_shares, **plan.whole.score_shares} == plan.score_shares


def test_the_command_reads_light_without_torch(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from ctwl_decoder.command import main\n"
        "status = main(sys.argv[1:])\n"
        "print(status, sorted({'torch', 'transformers', 'numba', 'huggingface_hub'} & set(sys.modules)))"
    )
    asked = ["--json", "--profile", OFFLINE, "--beacon", "700:9", str(RECORDED)]
    ran = subprocess.run([sys.executable, "-c", code, *asked], capture_output=True, text=True, check=True, cwd=tmp_path)
    report, _, told = ran.stdout.rpartition("}\n")
    assert told == "0 []\n"
    assert json.loads(report + "}")["read"] == "light"


@pytest.mark.slow
def test_the_command_reads_whole_without_torch(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules.update(torch=None, transformers=None)\n"
        "from ctwl_decoder.command import main\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    asked = ["--json", "--full", "--profile", OFFLINE, "--beacon", "700:9", str(RECORDED)]
    command = [sys.executable, "-c", code, *asked]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    report = json.loads(ran.stdout)
    assert (report["read"], report["arithmetic"], report["provider"]) == ("whole", "float32", 700)
    refused = [*command, "--device", "auto"]
    ran = subprocess.run(refused, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert ran.returncode == 2 and ran.stderr.startswith("ctwl-decode: extra-missing: the proxy LM needs t")


def test_a_text_may_be_read_light_only_or_never(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    letter = tmp_path / "letter"
    letter.write_text(PLAIN, encoding="utf-8")
    vanilla = ["--json", "--profile", "org.ctwl.smollm2-135m.vanilla.1", str(letter)]
    told = {}
    for way in ((), ("--light",), ("--full",)):
        main([*way, *vanilla])
        report = json.loads(capsys.readouterr().out)
        told[way] = report["read"], report["score"].startswith("light")
    assert told[("--light",)] == ("light", True) and told[("--full",)] == ("whole", False)
    assert told[()][0] == "whole"


@pytest.mark.parametrize("name", [OFFLINE, "org.ctwl.gpt2.1", "org.ctwl.gpt2.vanilla.1"])
def test_the_tokenizers_of_published_profiles_come_with_the_package(name: str) -> None:
    """Written out as the profile's files are, the vocabulary has the profile's digest."""
    from hashlib import sha256

    spec = get_profile(name).tokenizer
    tokenizer = ProxyTokenizer.shipped(spec)
    assert tokenizer is not None
    spaced = json.dumps(tokenizer.vocabulary)
    compact = json.dumps(tokenizer.vocabulary, ensure_ascii=False, separators=(",", ":"))
    assert spec.vocab.sha256 in [sha256(file.encode()).digest() for file in (spaced, compact)]
    ids = tokenizer.encode("It's 12 o'clock in K\u00f6ln.")
    assert tokenizer.decode(ids) == "It's 12 o'clock in K\u00f6ln."


def test_a_passage_that_a_page_does_not_show_is_reported_beside_a_clearer_one(decoder: Decoder) -> None:
    """One variant of the text has it. Without it, whoever adds a clearer text would hide a code."""
    text = f"<!-- {TEXTS[2]} -->\n\n{TEXTS[1]}"
    report = decoder.decode(text, score="light")
    assert [span.code for span in report.spans] == [43210, 43211] and report.code == 43211
    hidden, shown = report.spans
    assert hidden.end <= shown.start and shown.start > len(TEXTS[2])


@pytest.mark.parametrize("refrain", [" OK", " very"])
def test_a_refrain_behind_a_passage_does_not_belong_to_it(decoder: Decoder, refrain: str) -> None:
    """Its words suit the code by chance. They come back, and so are no more evidence than once."""
    human = " ".join(topics["exceptions"].split())[:400]
    text = f"{TEXTS[0]}\n\n{human}{refrain * 120}"
    (span,) = decoder.decode(text, score="light").spans
    assert len(TEXTS[0]) - 60 < span.end < len(TEXTS[0]) + 60

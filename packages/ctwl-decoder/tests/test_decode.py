"""The decoder from the outside: text in, report out."""

import io
import json
import os
import pydoc_data.topics
import subprocess
import sys
import textwrap
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from numpy.typing import NDArray
from numpy_scores import score_codes
from rich.console import Console
from scipy import stats
from scipy.special import softmax
from small_lm import small_proxy

from ctwl_decoder import Decoder, Report, describe
from ctwl_decoder.command import main
from ctwl_decoder.errors import InputTooLarge, NotText, OptionOutOfRange
from ctwl_decoder.options import MAX_CHARACTERS
from ctwl_decoder.report.html import html_report
from ctwl_decoder.report.terminal import show
from ctwl_decoder.search.candidates import CodeSet, ScoredText
from ctwl_decoder.search.plan import SCORE_SHARES
from ctwl_decoder.search.windows import find_candidates
from ctwl_decoder.statistics.code_scores import code_space, score_all
from ctwl_decoder.statistics.evidence import permutations
from ctwl_decoder.statistics.null import null_of
from ctwl_decoder.statistics.scored_positions import ScoredPositions, ScoreTable
from ctwl_decoder.statistics.scores import Score, position_scores
from ctwl_decoder.text.input import text_of
from ctwl_decoder.text.tokens import TokenizedVariant
from ctwl_decoder.words import say
from ctwl_protocol import Beacon, Profile, hashing
from ctwl_protocol.partition.reference import quantize
from ctwl_protocol.profile import TOY
from ctwl_protocol.proxy import Proxy, Rivals, open_proxy
from ctwl_protocol.text.blocks import Block
from ctwl_protocol.text.normalization import normalize
from ctwl_protocol.text.positions import positions
from ctwl_services.serve.turns import Turns

HUMAN = pydoc_data.topics.topics
FIELDS = {"detected", "spans", "code", "provider", "version", "p_value", "tokens", "scored", "profile"}


@pytest.fixture(scope="session")
def decoder(offline_proxy: Proxy) -> Decoder:
    """The offline profile's decoder, which weighs the same text once only."""
    known: dict[bytes, Rivals] = {}

    def remembered(variant: TokenizedVariant, progress: Callable[[int], None]) -> Rivals:
        key = variant.ids.tobytes()
        if key not in known:
            known[key] = offline_proxy.rivals(variant.ids, progress)
        return known[key]

    return Decoder(offline_proxy, weigh=remembered)


def marked_text(proxy: Proxy, code: int, tokens: int, seed: int) -> str:
    """A text that the proxy itself samples under the code, written from the specification without the encoder.

    The fixture ``marked`` is what it wrote with 160 tokens and the seed 4.
    """
    profile, rng = proxy.profile, np.random.default_rng(seed)
    ids = proxy.tokenizer.encode("The council said on Tuesday that the new bridge over the river").tolist()
    for _ in range(tokens):
        window = np.array(ids[-profile.prefix_length :])
        mass = proxy.weights(window[None])[0].astype(np.float64)
        colour = hashing.code_colours(
            hashing.colour_seed(profile.key, ids[-1:]), np.array([code], dtype=np.uint32), profile.colours
        )
        seeds = hashing.permutation_seeds(hashing.partition_seed(profile.key, ids[-1:]), profile.colours)
        order = np.argsort(hashing.ranks(int(seeds[colour][0]), len(mass)))
        running, kept = np.cumsum(mass[order]), np.zeros_like(mass)
        kept[order] = np.clip(running[-1] / 2 - (running - mass[order]), 0, mass[order])  # spec section 8.3
        ids.append(int(rng.choice(len(kept), p=kept / kept.sum())))
    return proxy.tokenizer.decode(np.array(ids))


VANILLA = ("--profile", "org.ctwl.smollm2-135m.vanilla.1")


@pytest.fixture(scope="module")
def letter(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file with a code under the profile without a proxy LM, which the command reads in no time."""
    file = tmp_path_factory.mktemp("letter") / "text"
    file.write_text(marked_text(open_proxy(VANILLA[1]), Beacon(700, 9, 21).code, 100, 4), encoding="utf-8")
    return str(file)


def test_the_code_is_read_back_with_its_p_value(decoder: Decoder, marked: str) -> None:
    report = decoder.decode(marked, score="whole")
    assert (report.detected, report.provider, report.version, report.nonce) == (True, 700, 9, 21)
    assert report.p_value < 1e-6
    assert report.hits > report.expected
    (span,) = report.spans
    assert (span.start, span.end, span.code) == (0, len(marked), report.code)
    assert "provider 700, not registered, model version 9" in describe(report)
    assert (report.outcome, report.likeliest, report.arithmetic) == ("found", None, "float32")


def views_of(proxy: Proxy, ids: NDArray[np.int64], rivals: Rivals) -> list[ScoredText]:
    cut, profile = positions(ids, 10, 1), proxy.profile
    units = position_scores(rivals, 10, permutations(profile, cut.contexts), profile.sigma)
    marks = {score: ScoredPositions.of(profile, cut, units[score]) for score in SCORE_SHARES}
    return [ScoredText(marks[score], score, share) for score, share in SCORE_SHARES.items()]


def test_decoding_twice_or_with_numpy_gives_identical_scores(offline_proxy: Proxy, marked: str) -> None:
    profile, ids = offline_proxy.profile, offline_proxy.tokenizer.encode(marked)[:24]
    assert offline_proxy._reader is not None
    model = offline_proxy._reader()
    logits = model.head(model.hidden(ids[:-1])[9:])[:, : profile.tokenizer.vocabulary]
    weights = quantize(softmax(logits.astype(np.float64), axis=1), profile.weight_bits)
    weights[:, list(profile.tokenizer.special)] = 0
    plain = Rivals.of(np.arange(10, 24), weights, ids[10:], 1 << profile.weight_bits)
    codes, scores = code_space(profile), []
    for rivals in (plain, offline_proxy.rivals(ids), offline_proxy.rivals(ids)):
        tables = [ScoreTable.of(view.positions) for view in views_of(offline_proxy, ids, rivals)]
        scores.append([score_all(table, codes) for table in tables])
    np.testing.assert_array_equal(scores[0], scores[1])
    np.testing.assert_array_equal(scores[1], scores[2])
    np.testing.assert_array_equal(scores[0], [score_codes(table, codes) for table in tables])


@pytest.mark.slow
def test_a_block_of_the_proxy_lm_holds_tokens_of_one_text() -> None:
    """So a text has the same p-value to the last digit alone, in a scan and in the service, whatever else is decoded.

    The same block gives the same weights; one of another shape gives others, as sums in float32 change their order.
    """
    profile = {**small_proxy(64).profile.model_dump(), "code_bits": 10, "name": "org.example.small.1"}
    proxy, blocks = small_proxy(64).shared_with(Profile.model_validate(profile)), list[bytes]()
    weigh = proxy.rivals_in

    def recording(ids: NDArray[np.int64], block: Block) -> Rivals:
        blocks.append(ids[block.start : block.end].tobytes())
        return weigh(ids, block)

    proxy.rivals_in = recording  # type: ignore[method-assign]
    decoder = Decoder(proxy)
    texts = [HUMAN["exceptions"][:900], "A short one.", "The river rose overnight. " * 9, HUMAN["objects"][:2000]]

    def asked(decode: Callable[[], list[Report]]) -> tuple[list[Report], list[bytes]]:
        blocks.clear()
        return decode(), blocks.copy()

    alone, seen = asked(lambda: [decoder.decode(text) for text in texts])
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(len(texts)) as many:
        service = Decoder(proxy, weigh=Turns(proxy, one, lambda positions: None))
        together, again = asked(lambda: list(many.map(service.decode, texts)))
    assert together == alone and sorted(again) == sorted(seen) and len(seen) > 10


@pytest.mark.slow
def test_a_text_longer_than_a_block_is_read(marked: str) -> None:
    """A passage far behind the first block is found where it is; the digits hang on nobody who watches or waits."""
    proxy = small_proxy()
    head, tail = HUMAN["specialnames"][:5500], HUMAN["objects"][:900]
    text = f"{head}\n\n{marked}\n\n{tail}"
    done: list[tuple[int, int]] = []
    asked: Any = {"score": "whole", "beacons": [(700, 9)]}
    report = Decoder(proxy).decode(text, **asked, progress=lambda *part: done.append(part))
    blocks = proxy.blocks(report.tokens)
    assert len(blocks) > 1 and report.tokens > 1024
    assert done[1:] == [(0, report.tokens - 10)] + [(block.end - 10, report.tokens - 10) for block in blocks]
    with ThreadPoolExecutor(1) as one:
        other = Decoder(proxy, weigh=Turns(proxy, one, lambda positions: None))
        assert other.decode(text, **asked) == report
    (span,) = report.spans
    assert (span.provider, span.version) == (700, 9)
    start, end = len(head) + 2, len(head) + 2 + len(marked)
    assert min(end, span.end) - max(start, span.start) > 0.6 * (max(end, span.end) - min(start, span.start))


@pytest.mark.slow
def test_another_device_gives_the_same_code_and_verdict(decoder: Decoder, marked: str) -> None:
    """torch, in whatever it is quickest in here."""
    other = Decoder.open(decoder.profile, device="auto")
    ours, theirs = (each.decode(marked, score="whole") for each in (decoder, other))
    assert (ours.code, ours.detected, ours.arithmetic) == (theirs.code, theirs.detected, "float32")
    assert theirs.arithmetic == other.load()


@pytest.mark.parametrize(("length", "found"), [(60, False), (110, True)])
def test_a_code_that_a_kind_of_text_fits_is_not_found(length: int, found: bool) -> None:
    """Each token is what the model expects, and comes before its only rival in rank: one unit for the code.

    No other code fits this text as well. But such texts are common: a code is found only if the e-value is high, too.
    """
    proxy, code = open_proxy(TOY), 69
    profile, rng = proxy.profile, np.random.default_rng(1)
    text = "".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), length + profile.prefix_length))

    def weigh(variant: TokenizedVariant, progress: Callable[[int], None]) -> Rivals:
        contexts, observed = variant.positions.contexts, variant.positions.observed
        seeds = np.array([hashing.colour_seed(profile.key, context) for context in contexts.tolist()], np.uint32)
        colours = hashing.code_colours(seeds, np.full(len(seeds), code, np.uint32), profile.colours).astype(np.int64)
        chosen = permutations(profile, contexts)[np.arange(len(seeds)), colours]
        weights = np.zeros((len(seeds), 256), np.uint32)
        for row, seed, token in zip(weights, chosen.tolist(), observed.tolist(), strict=True):
            row[int(hashing.ranks(seed, 256).argmax())] = 150
            row[token] = 850
        return Rivals.of(np.arange(len(seeds)) + profile.prefix_length, weights, observed, 1000)

    report = Decoder(proxy, weigh=weigh).decode(text, alpha=1e-4, score="half")
    assert report.p_value < 1e-5 and report.detected is found
    assert ("No other code fits this text as well" in describe(report)) is not found
    assert (report.code if found else report.likeliest and report.likeliest.code) == code


def test_a_text_survives_pasting(decoder: Decoder, marked: str) -> None:
    pasted = "\ufeff  " + marked.replace("'", "\u2019").replace(" ", "\u00a0", 5).replace("e", "e\u200b", 3) + "\r\n"
    ours, theirs = decoder.decode(marked), decoder.decode(pasted)
    assert theirs.model_dump(exclude={"spans"}) == ours.model_dump(exclude={"spans"})
    assert normalize(pasted[theirs.spans[0].start : theirs.spans[0].end]) == normalize(marked)


@pytest.mark.slow
def test_a_passage_is_found_in_the_text_that_it_was_pasted_into(decoder: Decoder, marked: str) -> None:
    """Between human lines, with its own lines wrapped: characters of the text as given."""
    head, tail = HUMAN["exceptions"][:900], HUMAN["objects"][:500]
    passage = "\n".join(textwrap.wrap(marked, 70))
    text = f"{head}\n\n{passage}\n\n{tail}"
    analysis = decoder.analyse(text)
    (span,) = analysis.report.spans
    assert (span.provider, span.version) == (700, 9)
    start, end = len(head) + 2, len(head) + 2 + len(passage)
    assert min(end, span.end) - max(start, span.start) > 0.8 * (max(end, span.end) - min(start, span.start))
    page = html_report(analysis)
    assert f"{say('found-part')}: provider 700, not registered, model version 9" in page
    assert "<script" not in page and page.count("<mark") == 1
    console = Console(record=True, width=100, file=io.StringIO())
    show(analysis, console)
    assert f"{say('found-whole')}: provider 700" in console.export_text()


def test_a_report_of_hostile_text_is_harmless() -> None:
    """Markup of HTML and of the terminal is shown, never obeyed."""
    decoder = Decoder(open_proxy(VANILLA[1]))
    text = "<script>alert(1)</script> [bold red]&amp; \x1b[2J\x9b1m\u202e\x07 " * 8
    analysis = decoder.analyse(text)
    assert "<script" not in html_report(analysis)
    console = Console(record=True, width=100, file=io.StringIO())
    show(replace(analysis, report=analysis.report.model_copy(update={"detected": True})), console)  # shows the text
    shown = console.export_text()
    assert "[bold red]" in shown.replace("\n", "")
    assert not set(shown) & set("\x1b\x9b\x07\u202e")


def test_of_a_long_text_a_report_shows_what_was_found(decoder: Decoder, marked: str) -> None:
    analysis = decoder.analyse(marked)
    assert analysis.shown(len(analysis.contributions)).all()
    (span,) = analysis.report.spans
    text = "".join(piece for (piece, _), here in zip(analysis.pieces(), analysis.shown(30), strict=True) if here)
    assert text and text in analysis.text[max(span.start - 400, 0) :]


def test_the_report_in_json_has_its_schema(letter: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--json", *VANILLA, "--html", str(tmp_path / "page"), letter]) == 0
    report = json.loads(capsys.readouterr().out)
    with pytest.raises(SystemExit):
        main(["--schema"])
    jsonschema.validate(report, json.loads(capsys.readouterr().out))
    assert report.keys() >= FIELDS
    assert (report["detected"], report["provider"], report["version"]) == (True, 700, 9)
    assert {"start", "end", "provider", "version", "p_value"} <= report["spans"][0].keys()
    assert say("found-whole") in (tmp_path / "page").read_text(encoding="utf-8")


def test_a_page_that_cannot_be_written_costs_no_verdict(letter: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*VANILLA, "--html", "/dev/full", letter]) == 2
    told = capsys.readouterr()
    assert say("found-whole") in told.out and "cannot write /dev/full: No space left on device; make room" in told.err


def test_a_pipe_that_nobody_writes_to_is_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert main([*VANILLA, str(tmp_path / "pipe")]) == 2
    assert "input-unreadable: cannot read" in (told := capsys.readouterr().err) and "it is a pipe" in told


def test_a_page_that_cannot_be_written_or_would_replace_the_text_is_refused_before_it_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "text"
    text.write_text("A letter.")
    (tmp_path / "again").symlink_to(text)
    for page in (tmp_path / "no folder" / "page", tmp_path, text, tmp_path / "again"):
        assert main([*VANILLA, "--html", str(page), str(text)]) == 2
        told = capsys.readouterr()
        assert told.out == "" and told.err.startswith("ctwl-decode: file-unwritable: ")
    assert text.read_text() == "A letter."


def test_a_page_is_written_behind_a_broken_pipe(letter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(io.StringIO):
        def write(self, _: str) -> int:
            raise BrokenPipeError

        def fileno(self) -> int:
            return os.open(os.devnull, os.O_WRONLY)

    monkeypatch.setattr(sys, "stdout", Gone())
    page = tmp_path / "page"
    assert main([*VANILLA, "--html", str(page), letter]) == 0
    assert say("found-whole") in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("data", [b"PK\x03\x04\x00\x00", "plain".encode("utf-16"), b"caf\xe9 au lait"])
def test_what_is_no_plain_text_is_said_with_what_to_do(data: bytes) -> None:
    with pytest.raises(NotText) as refused:
        text_of(data, "letter.docx")
    said = str(refused.value)
    assert said.startswith("letter.docx is no plain text") and "save it as plain text (UTF-8)" in said
    assert "binary" not in said


def test_an_empty_file_is_said_to_be_empty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "letter.txt").touch()
    assert main(["--light", "--profile", TOY, str(tmp_path / "letter.txt")]) == 1
    assert "letter.txt: the file is empty" in capsys.readouterr().err


def test_what_no_terminal_shows_is_escaped(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit status 1 says that no code was found: a fault of ours is none of that."""

    class Terminal(io.TextIOWrapper):
        def isatty(self) -> bool:
            return True

    narrow = Terminal(io.BytesIO(), encoding="cp1252")

    def told(_: list[str]) -> int:
        print("\u3042 \U0001f600")
        return 0

    monkeypatch.setattr(sys, "stdout", narrow)
    monkeypatch.setattr("ctwl_operations.prove.command.main_verify", told)
    assert main(["verify", "proof"]) == 0
    narrow.flush()
    assert narrow.buffer.getvalue().split() == [rb"\u3042", rb"\U0001f600"]  # type: ignore[attr-defined]
    monkeypatch.setattr("ctwl_operations.prove.command.main_verify", lambda _: 1 // 0)
    assert main(["verify", "proof"]) == 2
    assert "ZeroDivisionError" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([""], "the file's name is empty"),
        (["--epoch", "1", "text"], "--epoch needs --keys"),
        (["--registered", "--beacon", "42", "text"], "not allowed with"),
        (["scam", "corpus/"], "scam is not a file and not a command; did you mean scan?"),
        (["--profle", "x"], "unrecognized arguments: --profle"),
    ],
)
def test_wrong_arguments_are_refused(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        status: object = main(arguments)
    except SystemExit as stopped:
        status = stopped.code
    assert status == 2 and says in capsys.readouterr().err


def test_a_score_alone_has_the_whole_level(decoder: Decoder, marked: str) -> None:
    whole, half, race = (decoder.decode(marked, score=score) for score in ("whole", "half", "race"))
    assert (whole.score, half.score, race.score) == ("half", "half", "race")
    assert whole.code == half.code
    assert whole.p_value == pytest.approx(half.p_value / SCORE_SHARES[Score.HALF], abs=0)
    assert half.p_value < race.p_value  # the text is by a mark that kept a half
    assert race.needed <= whole.needed < half.needed


def test_a_search_for_one_providers_beacons_needs_less_text(decoder: Decoder, marked: str) -> None:
    short = marked[: len(marked) * 3 // 5]
    known = decoder.decode(short, beacons=[(700, 9)])
    assert (known.provider, known.version, known.searched) == (700, 9, 64)
    assert known.p_value < decoder.decode(short).p_value
    assert not decoder.decode(marked, beacons=[(701, 9), (700, 8)]).detected
    with pytest.raises(OptionOutOfRange, match="no beacon to search for"):
        decoder.decode(marked, beacons=[])


@pytest.mark.parametrize(
    "profile", ["org.ctwl.smollm2-135m.vanilla.1", pytest.param("org.ctwl.smollm2-135m.1", marks=pytest.mark.slow)]
)
def test_p_values_hold_on_human_text(profile: str) -> None:
    """A small version of evaluation/reading/false_positives.py: documentation that people wrote."""
    proxy = open_proxy(profile)
    rng = np.random.default_rng(8)
    texts = [text[200:900] for text in HUMAN.values() if len(text) > 1200][:12]
    reported: list[float] = []
    randomised: dict[Score, list[float]] = {score: [] for score in SCORE_SHARES}
    for text in texts:
        ids = proxy.tokenizer.encode(text)[:80]
        views = views_of(proxy, ids, proxy.rivals(ids))
        code = rng.integers(2**20, size=1, dtype=np.uint32)
        for view in views:
            table = ScoreTable.of(view.positions)
            (score,) = score_codes(table, code)
            randomised[view.score].append(null_of(table.scores).randomised(int(score), float(rng.random())))
        reported.append(min(c.p_value for c in find_candidates(views, [CodeSet(code_space(proxy.profile))])))
    assert len(texts) == 12
    assert all(stats.kstest(p_values, "uniform").pvalue > 0.01 for p_values in randomised.values())
    assert stats.kstest(reported, "uniform", alternative="greater").pvalue > 0.01
    assert min(reported) > 1e-4


@pytest.mark.parametrize("text", ["", "   ", "Hello.", "\u200b"])
def test_a_text_too_short_gets_a_report_that_says_so(decoder: Decoder, text: str) -> None:
    report = decoder.decode(text)
    assert (report.detected, report.p_value, report.scored) == (False, 1.0, 0)
    assert (report.outcome, report.code, report.provider, report.likeliest) == ("too-short", None, None, None)
    assert f"It has {report.tokens} tokens and the test needs at least {report.needed}" in describe(report)


def test_codes_of_another_size_are_reported_as_numbers() -> None:
    proxy = small_proxy()
    document = {**proxy.profile.model_dump(), "code_bits": 10, "name": "org.example.small.1"}
    report = Decoder(proxy.shared_with(Profile.model_validate(document))).decode(HUMAN["exceptions"][:600])
    assert report.likeliest is not None and 0 <= report.likeliest.code < 1024
    assert report.likeliest.provider is None


def test_a_text_too_long_is_refused_before_any_work(decoder: Decoder) -> None:
    with pytest.raises(InputTooLarge):
        decoder.decode("a" * (MAX_CHARACTERS + 1))


def test_a_picture_makes_no_text_too_long(decoder: Decoder) -> None:
    picture = f"data:image/png;base64,{'Ab3/' * (MAX_CHARACTERS // 4)}"
    assert decoder.decode(f"One ![two]({picture}) three.").outcome == "too-short"


def test_a_string_that_is_no_text_is_refused(decoder: Decoder) -> None:
    with pytest.raises(NotText):
        decoder.decode("caf\udce9 au lait")
    with pytest.raises(TypeError, match="decode its bytes"):
        decoder.decode(b"text")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "a" + "\u0301\u0327" * 100_000,
        "a" + "\u0301\u0316\u200b" * 100_000,  # what keeps the marks apart is deleted
    ],
)
def test_a_pile_of_marks_is_refused_before_it_is_ordered(decoder: Decoder, text: str) -> None:
    """Ordering marks takes time that grows with their square: where it happened, this would stand still."""
    with pytest.raises(NotText, match="combining marks"):
        decoder.decode(text)


@pytest.mark.parametrize("alpha", [0.0, 1.0, -1.0, float("nan")])
def test_a_level_outside_its_range_is_refused(decoder: Decoder, alpha: float) -> None:
    with pytest.raises(OptionOutOfRange, match="alpha"):
        decoder.decode("text", alpha=alpha)


# ---- the command ----


@pytest.mark.slow
def test_the_command_is_a_program(marked: str, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(marked, encoding="utf-8")
    asked = ["--profile", "org.ctwl.smollm2-135m.1", "--json", str(tmp_path / "text.txt")]
    found = subprocess.run([sys.executable, "-m", "ctwl_decoder", *asked], capture_output=True, check=False)
    report = json.loads(found.stdout)
    assert report.keys() >= FIELDS
    assert (found.returncode, report["detected"], report["provider"], report["version"]) == (0, True, 700, 9)
    assert found.stderr == b""


def test_the_command_looks_for_what_it_is_told(letter: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Provider 700 is nobody's in the registry; a beacon is no record of four codes."""
    assert main([*VANILLA, "--registered", letter]) == 1
    assert capsys.readouterr().out.startswith(say("none"))
    assert main([*VANILLA, "--layout", "beacon", letter]) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"{say('found-whole')}: provider 700, not registered, model version 9\n")
    assert "registry  test registry, version 1" in told


def given(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes on standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))


@pytest.mark.parametrize("named", [["-"], []], ids=["named", "without a name"])
def test_the_command_finds_nothing_in_human_text_on_standard_input(
    named: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given(HUMAN["exceptions"][:500].encode(), monkeypatch)
    assert main([*VANILLA, *named]) == 1
    assert capsys.readouterr().out.startswith(f"{say('none')} (p = ")


def test_a_terminal_is_no_text_to_read(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    given(b"", monkeypatch)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    with pytest.raises(SystemExit, match="2"):
        main(VANILLA)
    assert "name a text, or - for standard input" in capsys.readouterr().err


BAD_INPUT: dict[str, tuple[list[str], bytes, str]] = {
    "no file": (["/nowhere/text.txt"], b"", "input-unreadable"),
    "a folder": (["/"], b"", "input-too-large"),
    "latin-1": (["-"], b"caf\xe9 au lait", "not-text"),
    "binary": (["-"], b"\x7fELF\x02\x01\x01\x00\x00", "not-opened"),
    "too large": (["-"], b"a" * ((1 << 22) + 1), "input-too-large"),
    "unknown profile": (["--profile", "org.nobody.1", "-"], b"text", "profile-unknown"),
    "bad level": (["--alpha", "2", "-"], b"text", "option-out-of-range"),
    "no such layout": (["--layout", "shop", "-"], b"text", "layout-unknown"),
    "no keys": (["--keys", "/nowhere/our.keys", "-"], b"text", "key-file-malformed"),
}


@pytest.mark.parametrize(("arguments", "stdin", "code"), BAD_INPUT.values(), ids=BAD_INPUT)
def test_the_command_answers_bad_input_in_a_line(
    arguments: list[str], stdin: bytes, code: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given(stdin, monkeypatch)
    assert main(arguments) == 2
    told = capsys.readouterr()
    assert told.err.startswith(f"ctwl-decode: {code}: ")
    assert (told.out, told.err.count("\n")) == ("", 1)

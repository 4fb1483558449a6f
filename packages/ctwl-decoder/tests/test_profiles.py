"""Reading by several profiles: nobody knows the profile of a text, and each one that is tried is paid for."""

import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import recorded_texts

from ctwl_decoder import Decoder, Decoders, decode, describe
from ctwl_decoder.command import main
from ctwl_decoder.errors import TextRefused
from ctwl_decoder.files import Found
from ctwl_decoder.profiles import paying
from ctwl_decoder.report.wording import held_back, not_tried, why_none
from ctwl_decoder.several import read_all
from ctwl_decoder.words import say
from ctwl_protocol import get_profile
from ctwl_protocol.errors import ProxyNotFound
from ctwl_protocol.profile import OFFLINE, STANDARD, TOY, read_by_default
from ctwl_protocol.proxy import Proxy, open_proxy

RECORDED = recorded_texts.HALF
"""A text with a code of provider 700, version 9, written by the offline profile."""
LETTER = Path(__file__).parents[2] / "ctwl-web" / "page" / "examples" / "marked.txt"
PLAIN = (Path(__file__).parents[2] / "ctwl-web" / "page" / "examples" / "human.txt").read_text("utf-8")


@pytest.fixture(autouse=True)
def nobody_named_a_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CTWL_PROFILE", raising=False)


def without_model(name: str) -> Proxy:
    """The proxy of a profile whose language model is nowhere."""

    def missing() -> Any:
        raise ProxyNotFound(f"{name}: nowhere", f"fetch {name}")

    return Proxy(get_profile(name), open_proxy(name).tokenizer, missing)


def decoders(*, optional: bool = True) -> Decoders:
    """Of the published profiles, whose language models are not here."""
    return Decoders([Decoder(without_model(name)) for name in (STANDARD, OFFLINE)], optional=optional)


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(list(arguments))
    said = capsys.readouterr()
    return status, said.out, said.err


def test_toys_and_twins_are_not_read_by_default() -> None:
    assert read_by_default() == [STANDARD, OFFLINE]


def test_the_command_finds_a_code_whose_profile_nobody_named(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = told(capsys, str(LETTER))
    assert (status, err) == (0, "") and out.startswith(f"{say('found-whole')}: Example Forty-Two")
    assert f"profile {OFFLINE} (ranks alone)" in out
    assert f"Tried: {STANDARD} (ranks alone), {OFFLINE} (ranks alone); the p-value pays for 2 profiles." in out
    assert "No language model was asked, as the ranks were clear enough." in out


def test_the_p_value_pays_for_each_profile(capsys: pytest.CaptureFixture[str]) -> None:
    found = {}
    for names in ([OFFLINE], [STANDARD, OFFLINE], []):
        options = [part for name in names for part in ("--profile", name)]
        status, out, _ = told(capsys, "--json", "--beacon", "700:9", *options, str(RECORDED))
        assert status == 0
        found[tuple(names)] = json.loads(out)
    one, two, every = found.values()
    assert two == every and two["p_value"] == pytest.approx(2 * one["p_value"])
    assert two["spans"][0]["p_value"] == two["p_value"] and two["alpha"] == one["alpha"]
    assert [each["name"] for each in two["profiles"]] == [STANDARD, OFFLINE]
    assert [each["name"] for each in one["profiles"]] == [OFFLINE]


def test_profiles_of_one_name_are_told_apart() -> None:
    """Only published names are taken: two private profiles, such as an old key's and a new one's, may share a name."""
    toy, name = get_profile(TOY), "com.example.mark.1"
    profiles = [toy.model_copy(update={"name": name, "key": bytes([key] * 32)}) for key in (1, 2)]
    report = Decoders.open(profiles).decode(PLAIN[:200], score="light")
    assert report.profile_digest in [profile.digest for profile in profiles] and len(report.profiles) == 2


def test_another_profile_shows_no_code(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    command = ["--light", "--beacon", "700:9", str(RECORDED)]
    assert told(capsys, "--profile", STANDARD, *command)[0] == 1
    monkeypatch.setenv("CTWL_PROFILE", STANDARD)
    assert told(capsys, *command)[0] == 1


def test_a_model_that_is_missing_is_named_once_and_the_rest_is_read() -> None:
    report = decoders().decode(PLAIN)
    assert (report.outcome, report.read) == ("none", "light")
    assert [(each.read, each.fetch) for each in report.profiles] == [
        ("light", f"fetch {STANDARD}"),
        ("light", f"fetch {OFFLINE}"),
    ]
    said = describe(report)
    for name in (STANDARD, OFFLINE):
        assert said.count(f"get it with: fetch {name}") == 1
    assert "Not shown: a mark of org.ctwl.gpt2.1 or org.ctwl.smollm2-135m.1" in said
    with pytest.raises(ProxyNotFound):
        decoders(optional=False).decode(PLAIN)
    with pytest.raises(ProxyNotFound):
        decoders().decode(PLAIN, score="whole")  # nothing could read


@pytest.mark.parametrize("error", TextRefused.__subclasses__())
def test_what_is_wrong_with_one_text_ends_no_other(error: type[TextRefused]) -> None:
    verdicts = read_all([Found("one", "words"), Found("two", "words")], Mock(side_effect=error("no")), lines=False)
    assert [type(verdict.result) for verdict in verdicts] == [error] * 2


def test_several_texts_name_it_once_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("ctwl_decoder.profiles.open_proxy", lambda profile, **_: without_model(profile.name))
    for name in ("a", "b"):
        (tmp_path / name).write_text(PLAIN, encoding="utf-8")
    status, out, _ = told(capsys, "--beacon", "700:9", str(tmp_path))
    assert status == 1 and out.count(f"fetch {STANDARD}") == out.count(f"fetch {OFFLINE}") == 1
    assert f"Each was read by {STANDARD} and {OFFLINE}; its p-value pays for 2 profiles." in out
    together = told(capsys, "--beacon", "700:9", "--together", str(tmp_path))
    assert together[0] == 1 and together[1].count("fetch ") == 2 and "pays for 2 profiles" in together[1]


def test_nothing_is_fetched_for_a_profile_that_nobody_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CTWL_CACHE", str(tmp_path))
    monkeypatch.setattr("ctwl_protocol.proxy.files.hub_answers", lambda: pytest.fail("the hub was asked"))
    standard, _ = Decoders.open().decoders
    with pytest.raises(ProxyNotFound, match="only if you name its profile"):
        standard.proxy._reader and standard.load()


def test_a_proxy_s_folder_is_of_one_profile(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, _, err = told(capsys, "--proxy", str(tmp_path), str(LETTER))
    assert status == 2 and "name its profile too" in err


def test_a_command_that_takes_one_profile_refuses_two(capsys: pytest.CaptureFixture[str]) -> None:
    two = ["--profile", STANDARD, "--profile", OFFLINE]
    with pytest.raises(SystemExit):
        main(["prove", str(LETTER), "--out", "nowhere", *two])
    assert "--profile is given twice" in capsys.readouterr().err


def test_what_held_a_code_back_is_said() -> None:
    """By ranks alone a text of few contexts must show more than the level asks."""
    text = " ".join(RECORDED.read_text("utf-8").split()[:62])
    report = Decoders.open([OFFLINE]).decode(text, score="light", beacons=[(700, 9)])
    held = report.held_back
    assert report.outcome == "none" and report.p_value < report.alpha
    assert held is not None and held.rule == "few-contexts" and held.needed is not None
    assert held.needed < report.p_value and held.contexts < 64
    assert "held back: by ranks alone a text with so few different words" in why_none(report)
    assert held.advice in describe(report)
    human = Decoders.open([OFFLINE]).decode(PLAIN, score="light", beacons=[(700, 9)])
    assert human.held_back is not None and human.held_back.rule == "level"
    assert human.held_back.needed == human.alpha


def test_one_call_reads_by_all_published_profiles() -> None:
    report = decode(LETTER.read_text("utf-8"))
    assert (report.profile, len(report.profiles)) == (OFFLINE, 2)
    assert not_tried(report.profiles) == []


def test_a_rule_that_asks_for_no_p_value_asks_for_none_of_several_profiles() -> None:
    report = Decoder.open("org.ctwl.toy.1").decode(" ".join(map(str, range(80))))
    for rule, needed, paid in (("e-value", None, None), ("every-code", 1e-8, 3e-8)):
        held: Any = held_back(rule, needed, 70, light=True)
        told = paying(report.model_copy(update={"held_back": held}), 3, 1e-4).held_back
        assert told is not None and (told.rule, told.needed) == (rule, paid and pytest.approx(paid))

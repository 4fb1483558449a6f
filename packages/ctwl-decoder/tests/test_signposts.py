"""Signposts: from a code to the provider's own detector, in reports, by the command and by the service."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import recorded_texts
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from running_service import serving

from ctwl_decoder import Decoder, describe
from ctwl_decoder.command import main
from ctwl_decoder.options import STRONG
from ctwl_decoder.report.html import html_report
from ctwl_decoder.report.interpretation import Interpreter
from ctwl_decoder.report.signposts import signpost
from ctwl_decoder.report.terminal import show
from ctwl_decoder.words import say
from ctwl_operations.registry import drafts
from ctwl_protocol import Beacon, get_profile
from ctwl_protocol.environment import REGISTRY
from ctwl_protocol.profile.private import new_private
from ctwl_protocol.proxy import open_proxy
from ctwl_protocol.registry import Envelope, Registry, Root, Trusted, keys
from ctwl_protocol.registry.store import save_trusted
from ctwl_protocol.registry.workflow import begin
from ctwl_services.resolve.resolution import resolve_code, resolve_provider

OFFLINE = "org.ctwl.smollm2-135m.1"
RECORDED = recorded_texts.HALF  # provider 700, version 9, nonce 21
CODE = Beacon(700, 9, 21).code
MODEL = "sevenhundred/small-1.5B"
URL = "https://sevenhundred.example/detect"
SAYS = (
    f"Ask there: the detector of Seven Hundred for SynthID-Text is at {URL}. "
    "This is only an address; it proves nothing."
)
NOW = int(time.time())


SIGNERS = (keys.test_key(0), keys.test_key(1))


def first() -> tuple[Root, Registry]:
    """The first documents of a test registry, which has no entries."""
    roles = [drafts.role(1, [keys.public_bytes(key)]) for key in SIGNERS]
    return drafts.first(use="test", root=roles[0], registry=roles[1], now=NOW, root_days=999, days=90)


def with_provider(registry: Registry, code: int, name: str, contact: str) -> Registry:
    entry: dict[str, Any] = {"code": code, "name": name, "contact": contact, "until": None}
    return drafts.add(registry, "provider", **entry, state="active", since=registry.issued, models=[], epochs=[])


def signed(root: Root, registry: Registry) -> Trusted:
    documents = zip((root, registry), SIGNERS, strict=True)
    return begin(*(Envelope.unsigned(document).sign(key).to_bytes() for document, key in documents))


def trusting() -> Trusted:
    """A test registry: 700 names a detector, 701 was revoked with one, 702 names none. Each names a reading model."""
    root, registry = first()
    for code, name in {700: "Seven Hundred", 701: "Revoked", 702: "Silent"}.items():
        registry = with_provider(registry, code, name, "mail@sevenhundred.example")
    registry = drafts.add(registry, "model", code=700, version=9, name="Nine", since=NOW, until=None)
    for code in (700, 701):
        registry = drafts.set_detector(registry, code, {"scheme": "SynthID-Text", "url": URL})
        registry = drafts.set_reading_model(registry, code, MODEL)
    registry = drafts.set_reading_model(registry, 702, STRONG)
    registry = drafts.retire(registry, 701, revoke=True)
    return signed(root, registry)


TRUSTED = trusting()


@pytest.fixture
def trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trusted:
    """The registry above, as what this machine trusts."""
    save_trusted(TRUSTED, tmp_path / "registry")
    monkeypatch.setenv(REGISTRY.name, str(tmp_path / "registry"))
    return TRUSTED


@pytest.fixture(scope="module")
def reader() -> Decoder:
    return Decoder(open_proxy(OFFLINE), registry=TRUSTED)


def test_every_form_of_a_report_says_ask_there(reader: Decoder, marked: str) -> None:
    analysis = reader.analyse(marked, score="light")
    (found,) = analysis.report.signposts
    assert (found.provider, found.name, found.scheme, found.url) == (700, "Seven Hundred", "SynthID-Text", URL)
    assert found.says == SAYS
    assert describe(analysis.report).endswith(SAYS)
    assert SAYS in html_report(analysis)
    console = Console(file=io.StringIO(), width=300)
    show(analysis, console)
    assert SAYS in console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("provider", "option"), [(700, f"--reading-model {MODEL}"), (702, "--strong"), (701, None), (703, None)]
)
def test_a_report_names_the_model_that_reads_a_provider_best(
    provider: int, option: str | None, reader: Decoder, marked: str
) -> None:
    """Where nothing was found, and this provider was asked for; not for a revoked or an unknown one."""
    analysis = reader.analyse(marked, score="light", beacons=[(provider, 3)])
    better = analysis.report.better_reader
    assert analysis.report.outcome == "none" and (better is not None) is (option is not None)
    pages = describe(analysis.report), html_report(analysis)
    if better is None:
        assert not any("would show more" in page for page in pages)
        return
    assert better.provider == provider and better.says.endswith(f"would show more: ctwl-decode {option}.")
    assert all(better.says in page for page in pages)


def test_a_text_that_suits_no_provider_a_little_names_no_model(reader: Decoder, marked: str) -> None:
    found = reader.decode(marked, score="light")
    assert found.detected and found.better_reader is None
    faint = reader.decode(marked, score="light", alpha=found.p_value / 2)
    assert not faint.detected and faint.better_reader is not None and faint.better_reader.provider == 700
    people = "The registry says who owns a provider code, not that a text came from them. " * 3
    none = reader.decode(people, score="light")
    assert none.p_value > 0.1 and none.better_reader is None


def test_a_model_that_read_the_text_is_not_named_again(reader: Decoder, marked: str) -> None:
    analysis = reader.analyse(marked, score="light", beacons=[(700, 3)])
    assert say("report-stronger") not in describe(analysis.report.model_copy(update={"read": "whole"}))
    interpreter = Interpreter(get_profile(OFFLINE), TRUSTED, None, ())
    assert interpreter.better_reader(700, MODEL) is None and interpreter.better_reader(700, "other/model") is not None
    private = Interpreter(new_private("org.example.private.1", get_profile(OFFLINE)), TRUSTED, None, ())
    assert private.better_reader(700, None) is None


def test_without_a_code_or_a_detector_a_report_points_nowhere(decoder: Decoder, reader: Decoder, marked: str) -> None:
    plain = "The council met on Tuesday and talked about the bridge, the school and the weather. " * 3
    for found, report in ((False, reader.decode(plain, score="light")), (True, decoder.decode(marked, score="light"))):
        assert report.detected == found and report.signposts == [] and "Ask there" not in describe(report)


@given(st.integers(700, 703) | st.integers(0, 1023), st.integers(0, 1023))
def test_every_code_resolves_to_what_the_registry_says(provider: int, rest: int) -> None:
    """Nobody is sent to the detector of a revoked code."""
    code = provider << 10 | rest
    found, beacon = resolve_code(TRUSTED, code), Beacon.from_code(code)
    assert (found.provider, found.version, found.nonce) == (beacon.provider, beacon.version, beacon.nonce)
    assert (found.signpost is not None) == (signpost(TRUSTED, provider) is not None) == (provider == 700)
    assert (found.state == "unregistered") == (provider not in (700, 701, 702)) == (found.name is None)
    assert resolve_provider(TRUSTED, provider).says == found.says


def resolved(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    try:
        status = main(["resolve", *words])
    except SystemExit as stopped:
        status = int(stopped.code or 0)
    said = capsys.readouterr()
    return status, said.out, said.err


def test_the_command_resolves_a_code_a_provider_and_a_text(
    trusted: Trusted, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    status, out, _ = resolved(capsys, "--code", str(CODE))
    assert status == 0 and out.rstrip().endswith(SAYS)
    assert f"detector  {URL}" in out and "name      Seven Hundred" in out and "model     Nine" in out
    status, out, _ = resolved(capsys, "--provider", "700", "--json")
    (one,) = json.loads(out)
    assert (status, one["code"], one["version"], one["signpost"]["url"]) == (0, None, None, URL)
    status, out, _ = resolved(capsys, str(RECORDED), "--light", "--profile", OFFLINE, "--json")
    (one,) = json.loads(out)
    assert (status, one["code"], one["model"], one["says"]) == (0, CODE, "Nine", SAYS)
    (tmp_path / "plain.txt").write_text("The council met on Tuesday and talked about the bridge. " * 9)
    status, out, _ = resolved(capsys, str(tmp_path / "plain.txt"), "--light", "--profile", OFFLINE)
    assert (status, out) == (1, f"{say('none')}.\n")
    (tmp_path / "short.txt").write_text("Hello.")
    status, out, _ = resolved(capsys, str(tmp_path / "short.txt"), "--light", "--profile", OFFLINE)
    assert (status, out) == (1, f"{say('short')}.\n")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--provider 701", "The code of Revoked is revoked, so the registry points to no detector."),
        ("--provider 702", "The registry names no detector of Silent."),
        ("--provider 703", "The registry has no provider 703."),
    ],
)
def test_where_there_is_no_detector_the_answer_says_why(
    trusted: Trusted, capsys: pytest.CaptureFixture[str], words: str, says: str
) -> None:
    status, out, _ = resolved(capsys, *words.split())
    assert out.rstrip().endswith(says) and status == (1 if "703" in words else 0)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("", "option-out-of-range"),
        ("--code 1 --provider 1", "option-out-of-range"),
        ("a.txt --code 1", "option-out-of-range"),
        ("--code 1048576", "field-out-of-range"),
        ("--code=-1", "field-out-of-range"),
        ("--provider 1024", "field-out-of-range"),
        ("nothing.txt", "input-unreadable"),
        ("--code one", "invalid int"),
    ],
)
def test_what_cannot_be_resolved_is_an_error_in_a_line(
    trusted: Trusted, capsys: pytest.CaptureFixture[str], words: str, code: str
) -> None:
    status, out, err = resolved(capsys, *words.split())
    assert (status, out) == (2, "") and code in err


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    """A client of a service on a machine that trusts the registry above; it reads by ranks alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ctwl_services.serve.service.load_trusted", trusting)
        with serving(open_proxy("org.ctwl.smollm2-135m.vanilla.1")) as found:
            yield found


def test_the_service_resolves(client: httpx.Client) -> None:
    answer = client.get("/v1/resolve", params={"code": CODE})
    assert answer.status_code == 200 and answer.json()["says"] == SAYS
    assert answer.json() == resolve_code(TRUSTED, CODE).model_dump(mode="json")
    answer = client.get("/v1/resolve?provider=702").json()
    assert (answer["name"], answer["signpost"], answer["code"]) == ("Silent", None, None)


@pytest.mark.parametrize("query", ["", "code=1&provider=1", "code=1048576", "code=-1", "provider=1024", "code=a"])
def test_the_service_refuses_what_it_cannot_resolve(client: httpx.Client, query: str) -> None:
    answer = client.get(f"/v1/resolve?{query}")
    assert (answer.status_code, answer.json()["code"]) == (422, "option-out-of-range")

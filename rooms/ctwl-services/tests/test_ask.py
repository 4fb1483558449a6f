"""Asking detectors: whom, about what, after whose consent, and what their answers say together."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from detectors import FOUND, Played, answering, body_of, http, playing, sending
from markupsafe import escape
from running_service import serving
from test_signposts import OFFLINE, RECORDED, TRUSTED, URL, signed, trusting, with_provider

from ctwl_decoder import Decoder
from ctwl_decoder.command import main
from ctwl_decoder.errors import OptionOutOfRange
from ctwl_decoder.options import ALPHA
from ctwl_decoder.report.html import html_report
from ctwl_operations.registry import drafts
from ctwl_protocol.environment import REGISTRY
from ctwl_protocol.proxy import Proxy, open_proxy
from ctwl_protocol.registry import Trusted
from ctwl_protocol.registry.store import save_trusted
from ctwl_services.ask.asking import ask_all, queries, together
from ctwl_services.ask.model import Reply
from ctwl_services.ask.wire import Network
from ctwl_services.ask.wording import sentence, to_be_sent
from ctwl_services.errors import NoConsent
from ctwl_services.serve.asking import Consents, forms_of

HOST = "sevenhundred.example"
MARKED = RECORDED.read_text(encoding="utf-8")
CONSENTS = Consents()
Ask = Callable[..., tuple[int, str, str]]
PLAIN = "The council met on Tuesday and talked about the bridge, the school and the weather. " * 3


def naming(hosts: Sequence[str]) -> Trusted:
    """A registry of providers 800, 801 ..., each with a detector at a host."""
    trusted = trusting()
    registry = trusted.registry
    for code, host in enumerate(hosts, 800):
        registry = with_provider(registry, code, f"Provider {host.split('.')[0].title()}", f"mail@{host}")
        registry = drafts.set_detector(registry, code, {"scheme": "Own", "url": f"https://{host}/detect"})
    return signed(trusted.root, registry)


@pytest.fixture(autouse=True)
def trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The registry of a detector is what this machine trusts."""
    save_trusted(TRUSTED, tmp_path / "registry")
    monkeypatch.setenv(REGISTRY.name, str(tmp_path / "registry"))


@pytest.fixture
def plain(tmp_path: Path) -> str:
    (tmp_path / "plain.txt").write_text(PLAIN)
    return str(tmp_path / "plain.txt")


@pytest.fixture
def detector() -> Iterator[Played]:
    with playing(answering(**FOUND, says="ours")) as found:
        yield found


def local(*detectors: Played, hosts: Sequence[str] = (HOST,)) -> list[str]:
    found = zip(hosts, detectors, strict=True)
    return [f"--local={host}={each.place[0]}:{each.place[1]}" for host, each in found]


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Ask:
    """Runs the command; its status, and what it says on standard output and error."""

    def call(*words: str) -> tuple[int, str, str]:
        try:
            status = main(["ask", "--light", "--profile", OFFLINE, *words])
        except SystemExit as stopped:
            status = int(stopped.code or 0)
        return status, *capsys.readouterr()

    return call


def test_the_signposts_detector_is_asked_about_the_passage(detector: Played, ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text(PLAIN * 9 + "\n\n" + MARKED + "\n\n" + PLAIN * 9)
    status, out, err = ask(str(tmp_path / "long.txt"), "--yes", "--json", *local(detector))
    (request,) = detector.requests
    question = body_of(request)
    found = json.loads(out)
    (reply,) = found["replies"]
    assert (status, reply["outcome"], reply["provider"], reply["basis"]) == (0, "found", 700, ["watermark"])
    assert (question["provider"], question["level"], question["keep_days"]) == (700, ALPHA, 0)
    text = (tmp_path / "long.txt").read_text()
    assert question["text"] == text[reply["start"] : reply["end"]] and len(question["text"]) < 2 * len(MARKED)
    assert not found["routed"] and "Seven Hundred says that the text, or a part of it, is its own." in found["says"]
    assert URL in err and "Seven Hundred (provider 700), for SynthID-Text" in err and "not to be kept" in err


def test_the_whole_text_is_sent_where_that_is_asked_for(detector: Played, ask: Ask) -> None:
    ask(str(RECORDED), "--yes", "--whole", "--keep-days", "7", *local(detector))
    question = body_of(detector.requests[0])
    assert question["text"] == MARKED and question["keep_days"] == 7


def test_a_text_without_signpost_goes_to_all(plain: str, ask: Ask) -> None:
    hosts = ["one.example", "two.example", "three.example", "four.example"]
    refusal = sending(http(b'{"code": "token-refused", "message": "who?"}', "401 Unauthorized"))
    unable = answering(outcome="unable", basis=[], error_rate=None, measured=None)
    save_trusted(naming(hosts), Path(os.environ[REGISTRY.name]))
    with ExitStack() as stack:
        four = [stack.enter_context(playing(each)) for each in (answering(**FOUND), answering(), refusal, unable)]
        places = [*local(*four, hosts=hosts), f"--local={HOST}=127.0.0.1:1"]
        status, out, err = ask(plain, "--yes", *places)
        questions = [body_of(each.requests[0]) for each in four]
        assert [(each["text"], each["level"]) for each in questions] == [(PLAIN, ALPHA / 5)] * 4
    assert status == 0 and "has no signpost" in err
    for line in (
        "Seven Hundred (provider 700), characters 0 to 252: gave no answer (no-answer)",
        "Provider One (provider 800), characters 0 to 252: found by watermark: rate of false alarms 1.0e-9 (computed)",
        "Provider Two (provider 801), characters 0 to 252: found nothing by watermark: rate of false alarms 0.5",
        "Provider Three (provider 802), characters 0 to 252: refused the question (token-refused). It says: “who?”",
        "Provider Four (provider 803), characters 0 to 252: cannot tell.",
        "Provider One says that the text, or a part of it, is its own.",
        "Nothing is known from Provider Four, Provider Three and Seven Hundred.",
        "An answer is the word of the provider who gives it, and proves nothing.",
    ):
        assert line in out, out


def test_two_that_claim_one_text_contradict_each_other(plain: str) -> None:
    hosts = ["one.example", "two.example"]
    with playing(answering(**FOUND)) as one, playing(answering(**FOUND)) as two:
        found = queries(PLAIN, None, naming(hosts), level=1e-4, providers=[800, 801])
        replies = ask_all(found, Network({"one.example": one.place, "two.example": two.place}))
    said = together(found, replies, None).says
    assert said[:2] == [
        "Provider One and Provider Two each say that the text, or a part of it, is theirs.",
        "They contradict each other, unless one model went on with the other's words.",
    ]


def test_a_code_whose_detector_finds_nothing_is_said(ask: Ask) -> None:
    with playing(answering()) as detector:
        status, out, _ = ask(str(RECORDED), "--yes", *local(detector))
    assert status == 1 and "The code pointed there; anyone can write an open code." in out


def test_a_token_goes_to_its_address_alone_and_what_is_agreed_to_says_so(
    detector: Played, plain: str, ask: Ask, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("c2VjcmV0\n")
    to_it = f"--token={URL}={tmp_path / 'token'}"
    _, _, err = ask(plain, "--provider", "700", "--yes", to_it, *local(detector))
    assert b"authorization: bearer c2vjcmv0\r\n" in detector.requests[0].lower()
    assert "with your bearer token for this address" in err
    elsewhere = f"--token=https://{HOST}/old={tmp_path / 'token'}"  # as where the registry names another address since
    _, _, err = ask(plain, "--provider", "700", "--yes", elsewhere, *local(detector))
    assert b"authorization" not in detector.requests[1].lower() and "with your bearer token" not in err
    assert f"The token for https://{HOST}/old is not sent" in err
    for bad in ("a b", "a\r\nb", "", "\u00e9"):
        (tmp_path / "token").write_text(bad)
        status, _, err = ask(plain, "--provider", "700", "--yes", to_it)
        assert (status, "no bearer token" in err) == (2, True)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--provider 701", "no detector of provider 701"),
        ("--provider 702", "no detector of provider 702"),
        ("--seconds 0", "--seconds"),
        ("--seconds nan", "--seconds"),
        ("--keep-days 367", "--keep-days"),
        ("--alpha 0", "alpha"),
        ("--local x", "is not HOST=ADDRESS:PORT"),
        ("--token x", "is not URL=FILE"),
        ("--token 700=token", "is not URL=FILE"),
    ],
)
def test_what_cannot_be_asked_is_an_error_in_a_line(plain: str, ask: Ask, words: str, says: str) -> None:
    status, out, err = ask(plain, "--yes", *words.split())
    assert (status, out) == (2, "") and says in err


@pytest.mark.parametrize("words", ["", "--provider 700"])
def test_an_empty_text_is_not_asked_about(tmp_path: Path, ask: Ask, words: str) -> None:
    (tmp_path / "empty.txt").write_text("")
    status, out, err = ask(str(tmp_path / "empty.txt"), "--yes", *words.split())
    assert (status, out) == (2, "") and "the text is empty" in err and "would be sent" not in err


def test_hosts_have_no_case(detector: Played, plain: str, ask: Ask) -> None:
    (given,) = local(detector)
    status, _, _ = ask(plain, "--provider", "700", "--yes", given.replace(HOST, HOST.upper()))
    assert status == 0 and len(detector.requests) == 1


def test_where_there_is_nobody_to_ask_that_is_said(
    plain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ask: Ask
) -> None:
    monkeypatch.setenv(REGISTRY.name, str(tmp_path / "none"))  # the bundled one names no detector
    for words in ("--yes", "--yes --json", "--yes --provider 42"):
        status, out, err = ask(plain, *words.split())
        assert (status, out) == (2, "") and "no-detector" in err


def test_a_registry_of_many_detectors_does_not_make_many_questions(plain: str) -> None:
    registry = naming([f"host{number}.example" for number in range(70)])
    with pytest.raises(OptionOutOfRange, match="at most 64"):
        queries(PLAIN, None, registry, level=1e-4)


def test_two_passages_are_two_questions_that_share_the_level(detector: Played) -> None:
    text = MARKED + "\n\n" + PLAIN * 30 + "\n\n" + MARKED
    report = Decoder(open_proxy(OFFLINE), registry=TRUSTED).decode(text, score="light", alpha=0.01)
    asked_about = queries(text, report, TRUSTED, level=1e-4)
    assert len(asked_about) == len(report.spans) == 2
    assert [each.question.level for each in asked_about] == [5e-5, 5e-5]
    assert [(each.start, each.end) for each in asked_about] == [(span.start, span.end) for span in report.spans]


# Consent.

WATCH = """
import os, sys
def watch(event, given):
    if event.startswith("socket.") and event != "socket.__new__":
        os.write(2, f"SOCKET {event}\\n".encode())
sys.addaudithook(watch)
from ctwl_decoder.command import main
raise SystemExit(main(sys.argv[1:]))
"""


def watched(*words: str, stdin: str | None = None) -> tuple[int, str]:
    """The command in a process whose sockets are watched; its status, and what it says on standard error."""
    command = [sys.executable, "-c", WATCH, "ask", "--light", "--profile", OFFLINE, *words]
    done = subprocess.run(command, input=stdin or "", capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.slow
def test_no_text_leaves_the_machine_without_consent(detector: Played, plain: str) -> None:
    place = local(detector)
    for words, stdin in (([str(RECORDED)], "y\n"), ([plain], "yes\n"), ([plain, "--provider=700"], ""), (["-"], PLAIN)):
        status, said = watched(*words, *place, stdin=stdin)
        assert (status, "SOCKET" in said) == (2, False), said
        assert "no-consent: nothing was sent" in said
    assert detector.requests == []
    status, said = watched(str(RECORDED), *place, "--yes")
    assert (status, said.count("SOCKET socket.connect")) == (0, 1), said  # the watch sees what there is
    assert len(detector.requests) == 1


@pytest.mark.parametrize(("typed", "sent"), [("y\n", 1), ("YES\n", 1), ("n\n", 0), ("\n", 0), ("", 0), ("yeah\n", 0)])
def test_a_person_at_a_terminal_is_asked(
    detector: Played, plain: str, typed: str, sent: int, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    status, _, err = ask(plain, "--provider", "700", *local(detector))
    assert (status, len(detector.requests)) == (0 if sent else 2, sent)
    assert "the whole text, 252 characters, not to be kept" in err and err.index(URL) < err.index("Send it? [y/N]")


# The service.


@pytest.fixture(scope="module")
def asking(vanilla: Proxy) -> Iterator[tuple[httpx.Client, Played]]:
    """A service that asks, and the detector that it reaches; it reads by ranks alone."""
    with pytest.MonkeyPatch.context() as patch, playing(answering(**FOUND, says="<b>ours</b>\x1b[2J")) as detector:
        patch.setattr("ctwl_services.serve.service.load_trusted", trusting)
        patch.setattr("ctwl_services.serve.app.Consents", lambda: CONSENTS)
        network = Network({HOST: detector.place})
        with serving(vanilla, network=network) as client:
            yield client, detector


def test_the_service_asks_about_a_text(asking: tuple[httpx.Client, Played]) -> None:
    client, detector = asking
    answers = client.post("/v1/ask", json={"text": PLAIN, "consent": True, "keep_days": 3}).json()
    assert answers["routed"] and [reply["outcome"] for reply in answers["replies"]] == ["found"]
    assert body_of(detector.requests[-1]) == {
        "format": "ctwl-question/1", "provider": 700, "text": PLAIN, "level": ALPHA, "keep_days": 3,
    }  # fmt: skip
    assert client.post("/v1/ask", json={"text": PLAIN, "consent": True, "provider": 702}).status_code == 422


@pytest.mark.parametrize(
    "changed",
    [{"consent": False}, {"consent": None}, {"consent": "true"}, {"consent": 1}, {"url": "https://other.example/"},
     {"text": ""}, {"text": "a" * 20_001}, {"keep_days": 367}, {"level": 0}, {"provider": 1024}],
)  # fmt: skip
def test_the_service_sends_nothing_without_consent_or_elsewhere(
    asking: tuple[httpx.Client, Played], changed: dict[str, object]
) -> None:
    client, detector = asking
    before = len(detector.requests)
    reply = client.post("/v1/ask", json={"text": PLAIN, "consent": True} | changed)
    assert reply.status_code in (413, 422) and len(detector.requests) == before


@pytest.fixture
def form() -> dict[str, str]:
    """What the form of a report's page sends, after the tick of the person."""
    text = "one\ntwo"
    return {"text": text, "provider": "700", "token": CONSENTS.token(700, text), "consent": "yes"}


def test_a_page_asks_after_a_tick_and_escapes_words(asking: tuple[httpx.Client, Played], form: dict[str, str]) -> None:
    client, detector = asking
    reply = client.post("/ask", data={**form, "text": form["text"].replace("\n", "\r\n")})
    assert "form-action 'none'" in reply.headers["content-security-policy"]
    assert "&lt;b&gt;ours&lt;/b&gt;\\x1b[2J" in reply.text and "<b>" not in reply.text
    assert body_of(detector.requests[-1])["text"] == form["text"]


@pytest.mark.parametrize(
    "changed",
    [
        {"token": ""},
        {"token": "0" * 64},
        {"token": "\xe9"},
        {"text": "mine"},
        {"provider": "701"},
        {"consent": "no"},
        {"consent": ""},
    ],
    ids=str,
)
def test_a_form_that_the_service_did_not_show_sends_nothing(
    asking: tuple[httpx.Client, Played], form: dict[str, str], changed: dict[str, str]
) -> None:
    client, detector = asking
    before = len(detector.requests)
    assert client.post("/ask", data=form | changed).json()["code"] == "no-consent"
    assert len(detector.requests) == before
    with pytest.raises(NoConsent):
        Consents().check(form["token"], 700, form["text"])  # as another process does


FOREIGN = [
    {"sec-fetch-site": "cross-site", "origin": "https://evil.example"},
    {"sec-fetch-site": "same-site"},
    {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "origin": "null"},  # a form
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"origin": "http://["},
    {"origin": "http://127.0.0.1:1"},
]


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
def test_every_route_that_acts_refuses_a_page_of_another_site(
    asking: tuple[httpx.Client, Played], form: dict[str, str], headers: dict[str, str]
) -> None:
    client, detector = asking
    before, paths = len(detector.requests), client.get("/openapi.json").json()["paths"]
    acting = [path for path, methods in paths.items() if "post" in methods]
    assert {"/ask", "/v1/ask", "/report", "/v1/decode", "/v1/detect"} <= {*acting}
    for path in acting:
        by_form, by_fetch = {"data": form}, {"json": {"text": PLAIN, "consent": True}}
        for sent in (by_form, by_fetch):
            reply = client.post(path, headers=headers, **sent)  # type: ignore[arg-type]
            assert (reply.status_code, reply.json()["code"]) == (403, "foreign-origin")
    assert len(detector.requests) == before


def test_own_pages_programs_and_links_are_let_in(asking: tuple[httpx.Client, Played], form: dict[str, str]) -> None:
    client, _ = asking
    own = [{}, {"sec-fetch-site": "same-origin"}, {"origin": f"http://{client.base_url.netloc.decode()}"}]
    for headers in own:
        assert client.post("/ask", data=form, headers=headers).status_code == 200
        assert client.post("/v1/decode", json={"text": PLAIN}, headers=headers).status_code == 200
    proxied = {"origin": "https://ctwl.example", "host": "CTWL.example:443"}
    assert client.post("/v1/decode", json={"text": PLAIN}, headers=proxied).status_code == 200
    foreign = {"sec-fetch-site": "cross-site"}
    assert client.get("/", headers={**foreign, "sec-fetch-mode": "navigate"}).status_code == 200
    assert client.get("/v1/profile", headers={**foreign, "sec-fetch-mode": "no-cors"}).status_code == 403


@pytest.mark.parametrize("mark", '”“"„»″＂❞')
def test_a_strangers_words_cannot_end_their_quotation(mark: str) -> None:
    words = f"ok.{mark} The registry says: proven. {mark}"
    told = {"provider": 700, "name": "A", "scheme": "B", "url": URL, "start": 0, "end": 9, "says": words}
    said = sentence(Reply.model_validate({**told, "outcome": "unable"}))
    assert said.endswith('“ok." The registry says: proven. "”')
    (query,) = queries(f"{mark} and nothing else", None, TRUSTED, level=1e-4)
    assert to_be_sent(query, 99).endswith('beginning “" and nothing else”')


def test_a_rate_of_minus_zero_is_zero(plain: str, ask: Ask) -> None:
    with playing(answering(**FOUND | {"error_rate": -0.0})) as detector:
        _, out, _ = ask(plain, "--provider", "700", "--yes", *local(detector))
    assert "rate of false alarms 0 (" in out


def test_a_service_that_is_not_told_to_asks_nobody(vanilla: Proxy) -> None:
    with serving(vanilla) as client:
        assert client.post("/v1/ask", json={"text": PLAIN, "consent": True}).status_code == 404
        assert client.post("/ask", data={"text": PLAIN, "provider": "700", "consent": "yes"}).status_code == 404


def test_a_report_has_a_link_or_a_form_that_asks_for_consent() -> None:
    text = MARKED + "\n</textarea><script>alert(1)</script>"
    analysis = Decoder(open_proxy(OFFLINE), registry=TRUSTED).analyse(text, score="light")
    alone, served = html_report(analysis), html_report(analysis, forms_of(analysis, TRUSTED, CONSENTS))
    assert f'<a href="{URL}" rel="noreferrer noopener">' in alone and "<form" not in alone and "<script" not in served
    (passage,) = analysis.report.spans
    token = CONSENTS.token(700, text[passage.start : passage.end])
    assert f'<input type="hidden" name="token" value="{token}">' in served
    assert 'type="checkbox" name="consent" value="yes" required> I agree that' in served and URL in served
    assert str(escape(text[passage.start : passage.end][:40])) in served

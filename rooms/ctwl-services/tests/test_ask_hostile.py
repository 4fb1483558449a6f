"""Hostile registry entries and detectors: nothing is fetched that should not be, nothing is believed or shown raw."""

from __future__ import annotations

import gzip
import ipaddress
import socket
import ssl
import sys
import threading
import time
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
from detectors import FOUND, Play, answering, body_of, http, over_tls, playing, sending
from hypothesis import given
from hypothesis import strategies as st

from ctwl_decoder.report.model import Signpost
from ctwl_protocol.asking import Answer, Question
from ctwl_protocol.errors import AnswerMalformed
from ctwl_services.ask import wire
from ctwl_services.ask.asking import ask_all
from ctwl_services.ask.model import Query, Reply
from ctwl_services.ask.wire import Network, is_public
from ctwl_services.ask.wording import sentence
from ctwl_services.errors import AddressRefused, NoAnswer

HOST = "one.example"
TEXT = "The council met on Tuesday."
QUESTION = Question(provider=700, text=TEXT, level=1e-4)
SIGNPOST = Signpost(provider=700, name="Seven Hundred", scheme="Own", url=f"https://{HOST}/detect", says="")
QUERY = Query(SIGNPOST, 0, QUESTION)


def asked(play: Play, seconds: float = 5.0, query: Query = QUERY) -> Reply:
    with playing(play) as detector:
        (reply,) = ask_all([query], Network({HOST: detector.place}), seconds=seconds)
    return reply


# Addresses.


@pytest.mark.parametrize(
    "url", ["http://one.example/", "https://127.0.0.1/", "https://0x7f.1/", "https://[::1]/", "https://localhost/",
            "https://good.com@one.example/", "https://one.example/\r\nhost: other", "file:///etc/passwd"]
)  # fmt: skip
def test_no_other_address_is_asked_than_a_registry_may_name(url: str) -> None:
    network = Network(resolve=lambda *_, **__: pytest.fail("the name was looked up"))
    with pytest.raises(AddressRefused):
        network.post(url, b"{}", {})


PRIVATE = [
    "127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "100.64.0.1", "224.0.0.1",
    "255.255.255.255", "198.18.0.1", "192.0.2.1", "240.0.0.1", "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1",
    "fd12::1", "ff02::1", "fec0::1", "2001:db8::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1",
    "64:ff9b::7f00:1", "64:ff9b::a00:1", "64:ff9b:1::1", "2002:7f00:1::", "2001:0:1::1", "100::1", "",
]  # fmt: skip


@pytest.mark.parametrize("address", PRIVATE)
def test_a_private_address_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "8.8.8.8", "2606:4700:4700::1111", "64:ff9b::808:808"])
def test_a_public_address_is(address: str) -> None:
    assert is_public(address)


@given(st.integers(0, (1 << 32) - 1))
def test_an_address_of_ipv4_is_public_in_no_more_than_one_form_of_ipv6(number: int) -> None:
    plain = ipaddress.IPv4Address(number)
    assert not is_public(f"::ffff:{plain}") and not is_public(f"::{plain}")
    assert is_public(f"64:ff9b::{plain}") == is_public(str(plain))


def resolving(*addresses: str, port: int = 443) -> Any:
    """Looks a name up: these addresses."""
    family = {4: socket.AF_INET, 6: socket.AF_INET6}

    def look_up(*_: object, **__: object) -> list[Any]:
        return [
            (family[6 if ":" in each else 4], socket.SOCK_STREAM, 6, "", (each, port) + (0, 0) * (":" in each))
            for each in addresses
        ]

    return look_up


@pytest.mark.parametrize(
    "addresses", [["127.0.0.1"], ["1.1.1.1", "10.0.0.1"], ["::ffff:127.0.0.1"], ["::1", "1.1.1.1"], []]
)
def test_nobody_connects_where_one_address_is_private(addresses: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("a connection was made"))
    with pytest.raises(AddressRefused, match="not public"):
        Network(resolve=resolving(*addresses)).post(SIGNPOST.url, b"{}", {})


def test_a_name_that_changes_is_looked_up_once_and_the_checked_address_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up: list[Any] = []
    connected: list[Any] = []

    def resolve(*given: object, **_: object) -> Any:
        looked_up.append(given)
        return resolving("93.184.215.14" if len(looked_up) == 1 else "127.0.0.1")()

    def connect(_: socket.socket, address: Any) -> None:
        connected.append(address)
        raise ConnectionRefusedError("refused")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr(socket.socket, "connect", connect)
    with pytest.raises(NoAnswer):
        Network(resolve=resolve).post(SIGNPOST.url, b"{}", {})
    assert (len(looked_up), connected) == (1, [("93.184.215.14", 443)])


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with playing(answering()) as proxy, playing(answering()) as detector:
        for name in ("http_proxy", "https_proxy", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.place[1]}")
        (reply,) = ask_all([QUERY], Network({HOST: detector.place}))
        assert reply.outcome == "none" and proxy.requests == []


# Certificates.


@pytest.mark.parametrize(
    ("host", "trusted", "says"),
    [(HOST, True, ""), (HOST, False, "valid certificate"), ("two.example", True, "valid certificate")],
)
def test_a_detector_shows_a_certificate_of_its_host(
    certificate: Path, host: str, trusted: bool, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = ssl.create_default_context(cafile=str(certificate) if trusted else None)
    monkeypatch.setattr(wire, "is_public", lambda _: True)
    with playing(answering(), over_tls(certificate)) as detector:
        network = Network(context=context, resolve=resolving("127.0.0.1", port=detector.place[1]))
        if says:
            with pytest.raises(NoAnswer, match=says):
                network.post(f"https://{host}/detect", QUESTION.to_bytes(), {})
            assert detector.requests == []
        else:
            status, _ = network.post(f"https://{host}/detect", QUESTION.to_bytes(), {})
            assert status == 200 and detector.requests[0].startswith(b"POST /detect HTTP/1.1\r\nHost: one.example\r\n")


def test_what_is_sent_is_the_question_and_no_more() -> None:
    with playing(answering()) as detector:
        ask_all([QUERY], Network({HOST: detector.place}))
    (request,) = detector.requests
    names = {line.split(":")[0].lower() for line in request.decode().split("\r\n\r\n")[0].split("\r\n")[1:]}
    assert names == {"host", "accept", "accept-encoding", "content-type", "content-length", "connection"}
    fields = {"format": "ctwl-question/1", "provider": 700, "level": 1e-4, "keep_days": 0}
    assert body_of(request) == fields | {"text": TEXT}


# Answers.


def test_a_redirect_is_not_followed() -> None:
    with playing(answering()) as other:
        place = f"location: http://127.0.0.1:{other.place[1]}/"
        for status in ("301 Moved", "302 Found", "307 Temporary", "308 Permanent"):
            reply = asked(answering(status, place))
            assert (reply.outcome, reply.code) == ("refused", f"status-{status[:3]}")
        assert other.requests == []


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
ENDLESS = {
    "body": [HEAD + b"\r\n", *repeat(b" " * 65536, 40)],
    "chunks": [HEAD + b"transfer-encoding: chunked\r\n\r\n", *repeat(b"10000\r\n" + b" " * 65536 + b"\r\n", 40)],
    "small chunks": [HEAD + b"transfer-encoding: chunked\r\n\r\n", *repeat(b"1\r\n \r\n" * 10_000, 40)],
    "head": [HEAD, *repeat(b"x: y\r\n" * 90, 10), *repeat(b"a: " + b"b" * 60_000 + b"\r\n", 40)],
    "line": [b"HTTP/1.1 200 ", *repeat(b"O" * 65536, 40)],
    "interim answers": [*repeat(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000, 100)],
    "length": [HEAD + b"content-length: 99999999999\r\n\r\n", *repeat(b" " * 65536, 40)],
}


@pytest.mark.parametrize("name", ENDLESS)
def test_an_endless_answer_is_none(name: str) -> None:
    reply = asked(sending(*ENDLESS[name]))
    assert reply.outcome == "no-answer" and reply.code in ("no-answer", "answer-malformed") and len(reply.says) <= 500


@pytest.mark.slow
@pytest.mark.parametrize("start", [b"", b"HTTP/1.1 200 OK\r\n", HEAD + b"content-length: 999\r\n\r\n"])
def test_a_slow_drip_is_given_up_in_time(start: bytes) -> None:
    began = time.monotonic()
    reply = asked(sending(start, *repeat(b"x", 200), every=0.1), seconds=0.5)
    assert (reply.outcome, reply.code) == ("no-answer", "no-answer") and "0.5 seconds" in reply.says
    assert time.monotonic() - began < 10  # it would take 20


@pytest.mark.slow
def test_one_that_never_answers_delays_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even by a look-up of its name, which nothing can interrupt."""

    def resolve(*_: object, **__: object) -> Any:
        time.sleep(4)
        return []

    with playing(answering()) as detector:
        queries = [QUERY, Query(SIGNPOST.model_copy(update={"url": "https://slow.example/"}), 0, QUESTION)]
        first, second = ask_all(queries, Network({HOST: detector.place}, resolve=resolve), seconds=0.5)
    assert (first.outcome, second.outcome, second.code) == ("none", "no-answer", "no-answer")


@pytest.mark.parametrize(
    "changed",
    [{"provider": 701}, {"provider": 700.0}, FOUND | {"places": [[0, len(TEXT) + 1]]}, {"basis": []}, {"html": "<b>"}],
    ids=str,
)
def test_an_answer_that_cannot_be_true_is_none(changed: dict[str, Any]) -> None:
    reply = asked(answering(**changed))
    assert (reply.outcome, reply.code) == ("no-answer", "answer-malformed")


@pytest.mark.parametrize(
    "body", [b"", b"[" * 60_000, b'{"provider": 1, "provider": 1}', b'{"provider": ' + b"9" * 9000 + b"}", b"<html>"]
)
def test_what_is_no_answer_is_none(body: bytes) -> None:
    reply = asked(sending(http(body)))
    assert (reply.outcome, reply.code) == ("no-answer", "answer-malformed")


@given(st.binary(max_size=300))
def test_any_bytes_are_an_answer_or_malformed(data: bytes) -> None:
    with pytest.raises(AnswerMalformed):
        Answer.from_bytes(data, QUESTION)


HOSTILE = "<script>alert(1)</script>\x1b[2J\x1b]0;title\x07\u202eevil\u2066\r\nFound\u0085\u2028"


def test_words_of_a_stranger_steer_no_terminal() -> None:
    refusal = sending(http(b'{"code": "busy", "message": "\\u001b[2J"}', "503 Busy"))
    for play in (answering(says=HOSTILE), answering(says=HOSTILE, **FOUND), refusal):
        said = sentence(asked(play))
        assert said.isprintable() and "\\x1b[2J" in said


def test_a_refusal_without_a_reason_is_told_by_its_status() -> None:
    for body in (b"<html>", b'{"code": "\\u001b[2J"}', b'{"code": "UPPER"}', b"[]"):
        reply = asked(sending(http(body, "418 Teapot")))
        assert (reply.outcome, reply.code) == ("refused", "status-418")


def test_a_refusal_that_comes_before_the_question_is_sent_is_heard() -> None:
    """It closes its side of the connection, so what is still sent meets an error."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def refuse() -> None:
            plain, _ = listener.accept()
            with plain:
                plain.recv(100)
                plain.sendall(http(b'{"code": "input-too-large", "message": "too long"}', "413 Too Large"))

        threading.Thread(target=refuse, daemon=True).start()
        long = Question(provider=700, text="\N{GRINNING FACE}" * 100_000, level=1e-4)
        (reply,) = ask_all([Query(SIGNPOST, 0, long)], Network({HOST: listener.getsockname()}))
    assert (reply.outcome, reply.code, reply.says) == ("refused", "input-too-large", "too long")


def test_an_answer_is_not_unpacked() -> None:
    answer = Answer(provider=700, outcome="none", basis=("watermark",), error_rate=0.5, measured=False)
    plain = answer.model_dump_json().encode()
    assert asked(sending(http(plain))).outcome == "none"
    reply = asked(sending(http(gzip.compress(plain), "200 OK", "content-encoding: gzip")))
    assert (reply.outcome, reply.code) == ("no-answer", "answer-malformed")


def test_an_answer_leaves_nothing_behind() -> None:
    with playing(answering("200 OK", "set-cookie: who=you", "connection: keep-alive", **FOUND)) as detector:
        for _ in range(2):
            (reply,) = ask_all([QUERY], Network({HOST: detector.place}))
            assert reply.outcome == "found"
    assert len(detector.requests) == 2 and b"who=you" not in detector.requests[1]


def test_places_are_those_of_the_whole_text() -> None:
    query = Query(SIGNPOST, 1000, QUESTION)
    reply = asked(answering(places=[[4, 11]], **FOUND), query=query)
    assert (reply.outcome, reply.start, reply.end, reply.places) == ("found", 1000, 1000 + len(TEXT), [(1004, 1011)])


@pytest.fixture(autouse=True)
def no_thread_fails(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    failed: list[object] = []
    monkeypatch.setattr("threading.excepthook", failed.append)
    yield
    assert failed == [] and sys.exc_info()[0] is None

"""The web service from the outside: a real server on a real socket, friendly clients and hostile ones."""

from __future__ import annotations

import asyncio
import base64
import gc
import itertools
import json
import math
import pydoc_data.topics
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import get_args

import httpx
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from running_service import running, serving, until
from small_lm import small_proxy

from ctwl_decoder import Decoder, Decoders, Report
from ctwl_decoder.errors import InputRefused, OptionOutOfRange
from ctwl_decoder.options import ScoreName
from ctwl_decoder.report.html import html_report
from ctwl_decoder.text.tokens import TokenizedVariant, tokenize_variants
from ctwl_protocol import CTWLError
from ctwl_protocol.errors import RegistryError, TokenOutOfRange
from ctwl_protocol.proxy import Proxy, Rivals
from ctwl_protocol.registry import bundled
from ctwl_protocol.text.blocks import LENGTH, Block
from ctwl_services.errors import RequestCancelled, ServiceClosing
from ctwl_services.serve import front
from ctwl_services.serve.admission import Admission, client_of
from ctwl_services.serve.command import main
from ctwl_services.serve.limits import Limits
from ctwl_services.serve.schema import _CHARSETS, text_in
from ctwl_services.serve.server import trusted_proxies
from ctwl_services.serve.service import Service
from ctwl_services.serve.turns import Turns

VANILLA = "org.ctwl.smollm2-135m.vanilla.1"
HUMAN = pydoc_data.topics.topics["exceptions"]
KINDS = [f"text/plain; charset={charset}" for charset in sorted(_CHARSETS)]
QUESTION = {"text": HUMAN[:600]}


class Gated(Proxy):
    """A proxy without an LM that stops at a gate, so that tests can look at work in progress."""

    def __init__(self, proxy: Proxy) -> None:
        super().__init__(proxy.profile, proxy.tokenizer)
        self.gate = threading.Event()
        self.gate.set()
        self.sizes: list[int] = []

    def rivals_in(self, ids: NDArray[np.int64], block: Block) -> Rivals:
        self.sizes.append(block.end - block.first)
        assert self.gate.wait(30)
        return super().rivals_in(ids, block)

    @contextmanager
    def closed(self) -> Iterator[None]:
        self.gate.clear()
        try:
            yield
        finally:
            self.gate.set()


@pytest.fixture(scope="module")
def gated(small: Proxy) -> Gated:
    return Gated(small)


def metric(client: httpx.Client, name: str) -> float:
    lines = client.get("/metrics").text.splitlines()
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name))


def connect(client: httpx.Client) -> socket.socket:
    found = socket.create_connection((client.base_url.host, client.base_url.port))
    found.settimeout(30)
    return found


def request_of(question: object) -> bytes:
    body = json.dumps(question).encode()
    return b"POST /v1/decode HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n" + (
        b"content-length: %d\r\n\r\n%s" % (len(body), body)
    )


def answer_of(connection: socket.socket) -> bytes:
    """All that comes until the server closes."""
    parts = []
    try:
        while part := connection.recv(1 << 16):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


# ---- endpoints ----


def test_the_api_answers_as_the_decoder_does(vanilla: Proxy) -> None:
    options = {"alpha": 0.01, "score": "half", "beacons": [[700, 9]]}
    with serving(vanilla) as client:
        answer = client.post("/v1/decode", json=QUESTION | options)
    assert answer.status_code == 200
    expected = Decoders([Decoder(vanilla)]).decode(HUMAN[:600], alpha=0.01, score="half", beacons=[(700, 9)])
    assert Report.model_validate_json(answer.content) == expected


@pytest.mark.parametrize(
    "sent",
    [
        {"data": {"text": HUMAN[:600]}},
        {"data": {"text": HUMAN[:600].replace("\n", "\r\n")}},
        {"files": {"file": ("a.txt", HUMAN[:600].encode())}, "data": {"text": "something else"}},
        {"files": {"file": ("", b"")}, "data": {"text": HUMAN[:600]}},
        {"files": {"file": ("a.txt", HUMAN[:600].encode("utf-16"), "text/plain; charset=UTF-16")}},
    ],
    ids=["form", "a browser's line ends", "file", "no file chosen", "another charset"],
)
def test_the_report_is_a_page_with_only_its_own_style(client: httpx.Client, small: Proxy, sent: dict) -> None:
    answer = client.post("/report", **sent)
    assert answer.status_code == 200
    assert answer.text == html_report(Decoder(small).analyse(HUMAN[:600]))
    assert "script-src" not in answer.headers["content-security-policy"]


def test_every_answer_forbids_what_it_does_not_need(client: httpx.Client) -> None:
    for path in ["/", "/v1/profile", "/nowhere", "/report", "/metrics", "/openapi.json"]:
        headers = client.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert headers["cache-control"] == "no-store"


def test_the_page_may_ask_its_own_service_and_nothing_else(client: httpx.Client, small: Proxy) -> None:
    answer = client.get("/")
    policy = answer.headers["content-security-policy"].split("; ")
    assert "connect-src 'self'" in policy and not any("'unsafe" in each for each in policy)
    assert small.profile.key.hex() not in answer.text  # a private profile's key stays with the service
    assert base64.b64encode(small.profile.key).decode() not in answer.text


def test_the_page_asks_for_scores_that_there_are(client: httpx.Client) -> None:
    asked = set(re.findall(r'(?<!\.)\bask\("([^"]*)"\)', client.get("/").text))
    assert "whole" in asked and asked <= set(get_args(ScoreName))


def test_what_watches_services_may_ask_for_heads(client: httpx.Client) -> None:
    for path in ("/", "/healthz", "/readyz"):
        answer = client.head(path)
        assert (answer.status_code, answer.content) == (200, b"")


def test_the_profile_comes_with_the_limits(client: httpx.Client, small: Proxy) -> None:
    about = client.get("/v1/profile").json()
    (profile,) = about["profiles"]
    assert (profile["name"], profile["digest"]) == (small.profile.name, small.profile.digest)
    assert about["max_characters"] == Limits().characters
    assert "key" not in profile["profile"]  # a private profile's key stays with the service


def test_the_words_of_a_document_come_without_a_verdict(client: httpx.Client) -> None:
    rtf = rb"{\rtf1\ansi The bridge over the river was closed.\par}"
    answer = client.post("/v1/words", files={"file": ("letter.rtf", rtf)})
    assert answer.status_code == 200 and answer.json() == {"text": "The bridge over the river was closed."}
    assert client.post("/v1/words", files={"file": ("a.png", b"\x89PNG\r\n\x1a\n" + bytes(99))}).status_code == 422
    assert client.post("/v1/words", json={"text": "a"}).status_code == 415


def test_health_and_metrics_say_how_it_goes(small: Proxy) -> None:
    with serving(small) as client:
        assert client.get("/healthz").json() == {"status": "ok"}
        assert client.get("/readyz").json() == {"status": "ready"}
        before = metric(client, "ctwl_positions_total")
        tokens = client.post("/v1/decode", json={"text": "a bridge over the river " * 9}).json()["tokens"]
        assert metric(client, "ctwl_positions_total") == before + tokens - small.profile.prefix_length
        client.post("/v1/decode", json={"text": 5})
        assert metric(client, 'ctwl_requests_total{endpoint="/v1/decode",status="200"}') == 1
        assert metric(client, 'ctwl_requests_total{endpoint="/v1/decode",status="422"}') == 1
        assert metric(client, "ctwl_request_seconds_count") >= 2
        assert "river" not in client.get("/metrics").text


# ---- limits ----


def chunked(size: int) -> Iterator[bytes]:
    for _ in range(size >> 10):
        yield b" " * 1024


@pytest.mark.parametrize("path", ["/v1/decode", "/report", "/", "/nowhere"])
@pytest.mark.parametrize("body", [b" " * 10_000_000, chunked], ids=["announced", "in chunks"])
def test_a_body_too_large_is_refused(client: httpx.Client, path: str, body: bytes) -> None:
    content = body if isinstance(body, bytes) else body(10_000_000)
    answer = client.post(path, content=content, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (413, "input-too-large")


def test_the_last_part_of_a_body_counts_too(small: Proxy) -> None:
    whole = request_of(QUESTION | {"text": "a" * 3000}).partition(b"\r\n\r\n")[2]
    head = b"POST /v1/decode HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n"
    with serving(small, body=2000) as client, connect(client) as raw:
        raw.sendall(head + b"transfer-encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(whole), whole))
        assert answer_of(raw).startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize(
    ("limits", "score"), [({"characters": 500}, "auto"), ({"tokens": 40}, "auto"), ({"tokens": 40}, "light")]
)
def test_a_text_too_long_is_refused_first(
    small: Proxy, monkeypatch: pytest.MonkeyPatch, limits: dict[str, int], score: str
) -> None:
    with serving(small, **limits) as client:
        monkeypatch.setattr("ctwl_decoder.reading.Pipeline.scored", lambda *_: 1 / 0)
        answer = client.post("/v1/decode", json=QUESTION | {"score": score})
        assert (answer.status_code, answer.json()["code"]) == (413, "input-too-large")
        assert "tokens" not in limits or "at most 40 are allowed here; cut it into parts" in answer.json()["message"]


def test_one_address_has_only_so_many_requests_at_once(gated: Gated) -> None:
    with serving(gated, per_client=2) as client, ThreadPoolExecutor() as threads, gated.closed():
        first = [threads.submit(client.post, "/v1/decode", json=QUESTION) for _ in range(2)]
        until(lambda: metric(client, "ctwl_working ") == 2)
        refused = client.post("/v1/decode", json=QUESTION)
        assert (refused.status_code, refused.json()["code"]) == (429, "too-many-at-once")
        assert int(refused.headers["retry-after"]) > 0
        gated.gate.set()
        assert [each.result().status_code for each in first] == [200, 200]
        assert client.post("/v1/decode", json=QUESTION).status_code == 200


def test_a_cancelled_request_leaves_nothing_behind_while_the_places_are_taken() -> None:
    class Text(str):
        pass

    async def live() -> None:
        admission, gate, begun = Admission(Limits(working=1)), threading.Event(), threading.Event()
        working = asyncio.ensure_future(admission.run("a", lambda: begun.set() or gate.wait(30)))
        text = Text("a letter")
        kept = weakref.ref(text)
        waiting = asyncio.ensure_future(admission.run("b", partial(len, text)))
        del text
        await asyncio.to_thread(begun.wait)
        assert (admission.working, admission.waiting) == (1, 1)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        del waiting
        await asyncio.sleep(0)  # the loop forgets it too
        gc.collect()
        assert (admission.working, admission.waiting, kept()) == (1, 0, None)
        gate.set()
        assert await working is True
        assert await admission.run("b", lambda: 7) == 7
        admission.close()
        with pytest.raises(ServiceClosing):
            await admission.run("b", lambda: 7)
        assert admission.working == 0

    asyncio.run(live())


def test_a_full_queue_refuses_and_says_when_to_come_back(gated: Gated) -> None:
    with serving(gated, working=1, waiting=1, per_client=9) as client, ThreadPoolExecutor() as threads, gated.closed():
        first = [threads.submit(client.post, "/v1/decode", json=QUESTION) for _ in range(2)]
        until(lambda: (metric(client, "ctwl_working "), metric(client, "ctwl_waiting ")) == (1, 1))
        refused = client.post("/v1/decode", json=QUESTION)
        assert (refused.status_code, refused.json()["code"]) == (503, "busy")
        assert int(refused.headers["retry-after"]) > 0
        assert client.get("/readyz").status_code == 503
        assert client.get("/healthz").status_code == 200
        assert metric(client, 'ctwl_rejected_total{reason="busy"}') == 2
        gated.gate.set()
        assert [each.result().status_code for each in first] == [200, 200]


def test_work_that_takes_too_long_is_given_up(gated: Gated) -> None:
    with serving(gated, seconds=0.2, working=1) as client, gated.closed():
        late = client.post("/v1/decode", json=QUESTION)
        assert (late.status_code, late.json()["code"]) == (503, "timed-out")
        assert "retry-after" in late.headers
        gated.gate.set()  # the work ends with its block
        until(lambda: metric(client, "ctwl_working ") == 0)


def test_a_slow_body_is_given_up(small: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front, "_DROPPING", 0.2)
    with serving(small, seconds=0.2) as client, connect(client) as slow:
        slow.sendall(request_of(QUESTION)[:-5])
        assert answer_of(slow).startswith(b"HTTP/1.1 408 ")


def test_a_client_that_hangs_up_frees_its_place(gated: Gated) -> None:
    with serving(gated, working=1, per_client=1) as client:
        for _ in range(3):
            with gated.closed():
                with connect(client) as impatient:
                    impatient.sendall(request_of(QUESTION))
                    until(lambda: metric(client, "ctwl_working ") == 1)
                until(lambda: metric(client, 'ctwl_requests_total{endpoint="/v1/decode",status="499"}'))
            until(lambda: metric(client, "ctwl_working ") == 0)
        assert client.post("/v1/decode", json=QUESTION).status_code == 200
        assert metric(client, 'ctwl_requests_total{endpoint="/v1/decode",status="499"}') == 3


def test_a_server_that_stops_tells_those_who_wait(gated: Gated, capfd: pytest.CaptureFixture[str]) -> None:
    with running(gated) as (server, client), ThreadPoolExecutor() as threads, gated.closed():
        waiting = threads.submit(client.post, "/v1/decode", json=QUESTION)
        until(lambda: metric(client, "ctwl_working ") == 1)
        server.config.timeout_graceful_shutdown = 0
        server.should_exit = True
        answer = waiting.result()
    assert (answer.status_code, answer.json()["code"]) == (503, "closing")
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize(
    "bad", [{"tokens": 0}, {"working": -1}, {"body": (1 << 20) + 1}, {"characters": 1 << 30}, {"seconds": math.inf}]
)
def test_limits_that_make_no_sense_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(OptionOutOfRange):
        Limits(**bad)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("address", "client"),
    [
        (("192.0.2.7", 5), "192.0.2.7"),
        (("::ffff:192.0.2.7", 5), "192.0.2.7"),
        (("2001:db8:1:2:3:4:5:6", 5), "2001:db8:1:2::/64"),
        (("fe80::1%eth0", 5), "fe80::/64"),
        (None, ""),
    ],
)
def test_an_ipv6_network_counts_as_one_client(address: tuple[str, int] | None, client: str) -> None:
    assert client_of(address) == client


# ---- hostile clients ----


parameters = st.text(st.characters(max_codepoint=255), max_size=30)


@given(st.binary(max_size=40), parameters | parameters.map("text/plain; charset={}".format) | st.sampled_from(KINDS))
@example(b"", "text/plain; charset*=\0''utf-8")
def test_bytes_of_any_content_type_are_text_or_refused(data: bytes, kind: str) -> None:
    try:
        assert "\0" not in text_in(data, kind, "the body")
    except CTWLError as error:
        assert error.code in ("not-text", "unsupported-type") and len(str(error)) < 400


DECODE, REPORT, JSON, FORM = "/v1/decode", "/report", "application/json", "multipart/form-data; boundary=x"
FILE = b'--x\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n%s\r\n--x--'


@pytest.mark.parametrize(
    ("path", "body", "kind", "status"),
    [
        (DECODE, b"\x00\xff\x80garbage", JSON, 400),
        (DECODE, b'{"text": "caf\xe9"}', JSON, 400),
        (DECODE, b'{"text": "\\ud800"}', JSON, 422),
        (DECODE, b'{"text": "a", "\\ud800": 1}', JSON, 422),
        (DECODE, b'{"text": "a", "text2": "b"}', JSON, 422),
        (DECODE, b'{"text": "a", "alpha": NaN}', JSON, 422),
        (DECODE, b'{"text": "a", "alpha": 1e999}', JSON, 422),
        (DECODE, b'{"text": "a", "beacons": [[1, 16]]}', JSON, 422),
        (DECODE, b'{"text": "a", "beacons": []}', JSON, 422),
        (DECODE, b'{"text": ["a"]}', JSON, 422),
        (DECODE, b"[" * 100_000 + b"]" * 100_000, JSON, 400),
        (DECODE, b'{"text": ' + b"9" * 100_000 + b"}", JSON, 400),
        (DECODE, b"", JSON, 422),
        (DECODE, b'{"text": "a"}', "text/plain", 415),
        (DECODE, b'{"text": "a"}', "", 415),
        (REPORT, FILE % b"\xff", FORM, 422),
        (REPORT, FILE % b"\x00", FORM, 422),
        (REPORT, b"no boundary at all", FORM, 400),
        (REPORT, b"--x\r\n\r\n", FORM, 400),
        (REPORT, b"text=a", "multipart/form-data", 400),
        (REPORT, b"text=a", JSON, 415),
        (REPORT, b"text=a", "", 415),
    ],
)
def test_a_bad_body_is_answered_in_words(client: httpx.Client, path: str, body: bytes, kind: str, status: int) -> None:
    answer = client.post(path, content=body, headers={"content-type": kind} if kind else {})
    assert answer.status_code == status
    assert answer.json().keys() == {"code", "message"}


@pytest.mark.parametrize(
    "sent",
    [
        np.random.default_rng(1).bytes(2000),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/1.1\r\n\r\n",
        b"POST /v1/decode HTTP/1.1\r\nhost: x\r\ncontent-length: -5\r\n\r\n",
        b"POST /v1/decode HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999999999999999\r\n\r\n",
        b"POST /v1/decode HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\ncontent-length: 5\r\n\r\nabcde",
        b"POST /v1/decode HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"GET / HTTP/1.1\r\nhost: x\r\nlong: " + b"a" * 100_000,
        b"GET /\xff\xfe HTTP/1.1\r\nhost: x\r\n\r\n",
        request_of(QUESTION)[:-30],
    ],
    ids=lambda sent: repr(sent[:60]),
)
def test_broken_http_is_refused_and_others_are_served(client: httpx.Client, sent: bytes) -> None:
    with connect(client) as hostile:
        hostile.sendall(sent)
        hostile.shutdown(socket.SHUT_WR)
        answer = answer_of(hostile)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 4")
    assert client.post("/v1/decode", json={"text": "Hello."}).status_code == 200


@pytest.mark.parametrize("step", [1 << 20, 1000, 1], ids=["at once", "in parts", "byte by byte"])
@pytest.mark.parametrize(("size", "status"), [(16 << 10, b"200"), ((16 << 10) + 1, b"400")])
def test_a_head_has_the_same_bound_however_it_comes(client: httpx.Client, step: int, size: int, status: bytes) -> None:
    start, end = b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\nlong: ", b"\r\n\r\n"
    head = start + b"a" * (size - len(start) - len(end)) + end
    for before in ([], [b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"]):  # the first of its connection, or the second
        with connect(client) as raw, suppress(OSError):
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for part in [*before, *(head[start : start + step] for start in range(0, size, step))]:
                raw.sendall(part)
            assert re.findall(rb"HTTP/1.1 (\d+)", answer_of(raw)) == [b"200"] * len(before) + [status]


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", b"400"),
        (b"transfer-encoding: chunked\r\ncontent-length: 0\r\n\r\n0\r\n\r\n", b"400"),
        (b"transfer-encoding: chunked\r\n\r\n0\r\n" + b"a:\r\n" * 20_000 + b"\r\n", b"400"),
        (b"transfer-encoding: chunked\r\n\r\n" + b"1\r\na\r\n" * 2000 + b"0\r\n\r\n", b"400"),
        (b"transfer-encoding: chunked\r\n\r\n" + b"1\r\na\r\n" * 900 + b"0\r\n\r\n", b"415"),
        (b"transfer-encoding: chunked\r\n\r\n" + b"100\r\n%s\r\n" % (b"a" * 256) * 1023 + b"0\r\n\r\n", b"415"),
    ],
    ids=["both lengths", "the other way round", "fields behind", "tiny pieces", "some tiny pieces", "many pieces"],
)
def test_a_body_has_one_length_and_pieces_of_some_size(client: httpx.Client, sent: bytes, status: bytes) -> None:
    with connect(client) as raw:
        with suppress(OSError):
            raw.sendall(b"POST /v1/decode HTTP/1.1\r\nhost: x\r\n" + sent)
        raw.settimeout(2)
        with suppress(TimeoutError):
            assert re.findall(rb"HTTP/1.1 (\d+)", raw.recv(1 << 16)) == [status]


def test_a_body_of_a_stated_length_may_come_byte_by_byte(client: httpx.Client) -> None:
    head, _, body = request_of({"text": "Hello. " * 200}).partition(b"\r\n\r\n")
    with connect(client) as raw:
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        raw.sendall(head + b"\r\n\r\n")
        for byte in body:
            raw.sendall(bytes([byte]))
        assert raw.recv(1 << 16).startswith(b"HTTP/1.1 200 ")


def test_after_a_refusal_the_rest_is_bounded(client: httpx.Client, caplog: pytest.LogCaptureFixture) -> None:
    endless, sent = b" " * (1 << 16), 0
    with connect(client) as raw, suppress(OSError):
        raw.sendall(b"POST /v1/decode HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % (1 << 40))
        answer = b""
        while b"}" not in answer:
            answer += raw.recv(1 << 16)
        assert answer.startswith(b"HTTP/1.1 413 ") and b"connection: close" in answer
        while sent < 64 << 20:
            raw.sendall(endless)
            sent += len(endless)
    assert 15 << 20 < sent < 40 << 20  # what the system holds back for both sides counts, too
    with connect(client) as raw:
        raw.sendall(b"POST /v1/decode HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n")
        raw.sendall(b"80000\r\n" + b" " * 0x80000)
        assert raw.recv(1 << 16).startswith(b"HTTP/1.1 413 ")
        raw.sendall(b"no size\r\n")
        assert b"HTTP" not in answer_of(raw)  # no second answer
    assert caplog.text == ""


def test_no_answer_repeats_the_host_that_a_client_names(client: httpx.Client) -> None:
    paths = [*client.get("/openapi.json").json()["paths"], "/docs", "/docs/assets", "/nowhere"]
    assert len(paths) > 9
    targets = [target for path in paths for target in (path, f"{path}/", f"/{path}", f"http://evil.example{path}/")]
    for method, target in itertools.product(("GET", "POST"), targets):
        with connect(client) as raw:
            head = f"{method} {target} HTTP/1.1\r\nhost: evil.example\r\nx-forwarded-host: evil.example\r\n"
            raw.sendall(f"{head}connection: close\r\n\r\n".encode())
            answer = answer_of(raw)
        assert b"evil.example" not in answer and not answer.startswith(b"HTTP/1.1 3")


def test_a_client_is_its_address_behind_a_reverse_proxy(small: Proxy, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="ctwl_services.serve")
    with running(small, trusted=["127.0.0.1"]) as (_, client):
        for forwarded in ("192.0.2.7:1234", "192.0.2.7:4321", "192.0.2.7", "198.51.100.1, 192.0.2.7:1, 127.0.0.1:2"):
            client.get("/healthz", headers={"x-forwarded-for": forwarded})
    assert {record.getMessage().split()[0] for record in caplog.records} == {"192.0.2.7"}


@pytest.mark.parametrize(
    ("given", "listens_at"),
    [("127.0.0.1", "0.0.0.0"), ("127.0.0.1, 10.0.0.0/8", "127.0.0.1"), ("::1,fd00::/8,fe80::1%eth0", "::")],
)
def test_reverse_proxies_have_addresses_and_networks(given: str, listens_at: str) -> None:
    assert trusted_proxies(given, listens_at) == [each.strip() for each in given.split(",")]


@pytest.mark.parametrize(
    ("given", "listens_at"),
    [
        ("*", "0.0.0.0"),
        ("", "0.0.0.0"),
        ("nginx", "0.0.0.0"),
        ("127.0.0.1:80", "127.0.0.1"),
        ("10.0.0.1/8", "0.0.0.0"),
        ("::1", "127.0.0.1"),
        ("127.0.0.1", "::1"),
        ("::ffff:127.0.0.1", "::1"),
        ("0.0.0.0", "0.0.0.0"),
        ("224.0.0.0/4", "0.0.0.0"),
    ],
)
def test_a_reverse_proxy_that_can_never_match_is_refused(given: str, listens_at: str) -> None:
    with pytest.raises(OptionOutOfRange, match="--trust-proxy"):
        trusted_proxies(given, listens_at)


def test_unfinished_requests_do_not_keep_others_out(small: Proxy) -> None:
    with serving(small, per_client=2) as client, ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(connect(client)).sendall(request_of(QUESTION)[:-9])
        assert client.post("/v1/decode", json=QUESTION).status_code == 200


def test_connections_are_bounded(small: Proxy) -> None:
    with serving(small, connections=8) as client, ExitStack() as stack:
        held = [stack.enter_context(connect(client)) for _ in range(20)]
        time.sleep(0.1)  # for the server to accept them
        assert httpx.get(client.base_url.join("/healthz")).status_code == 503
        for connection in held:
            connection.close()
        until(lambda: httpx.get(client.base_url.join("/healthz")).status_code == 200)


def test_the_registry_is_read_once_for_all_requests(small: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(small) as client:
        monkeypatch.setattr("ctwl_services.serve.service.load_trusted", lambda: 1 / 0)
        assert client.post("/v1/decode", json=QUESTION).status_code == 200


def test_an_error_of_the_decoder_is_logged_without_the_text(
    small: Proxy, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(small) as client:

        def fail(self: Decoders, text: str, **options: object) -> None:
            raise RuntimeError(f"cannot read {text}")

        monkeypatch.setattr(Decoders, "analyse", fail)
        answer = client.post("/v1/decode", json={"text": "a secret"})
    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
    assert "RuntimeError at" in caplog.text and "secret" not in caplog.text


def test_a_new_kind_of_refusal_is_no_fault_of_the_service(small: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    class TextTooStrange(InputRefused):
        pass

    def refuse(self: Decoders, text: str, **options: object) -> None:
        raise TextTooStrange("it is strange")

    with serving(small) as client:
        monkeypatch.setattr(Decoders, "analyse", refuse)
        answer = client.post("/v1/decode", json=QUESTION)
    assert (answer.status_code, answer.json()["code"]) == (422, "text-too-strange")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("mode", ["positive", "negative"])
@pytest.mark.parametrize("c2pa", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_api_keeps_what_its_schema_promises(vanilla: Proxy, mode: str, c2pa: bool) -> None:
    """Schemathesis makes up requests, valid ones and others."""
    schemathesis = pytest.importorskip("schemathesis")
    from hypothesis import HealthCheck, given, settings
    from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

    with serving(vanilla, (lambda codes: []) if c2pa else None) as client:
        schema = schemathesis.openapi.from_url(f"{client.base_url}/openapi.json")
        for found in (schema.include(tag="C2PA") if c2pa else schema).get_all_operations():
            operation = found.ok()
            if mode == "negative" and operation.method == "get" and "/matches/" not in operation.path:
                continue  # there is nothing to get wrong
            if mode == "negative" and operation.path == "/v1/words":
                continue  # whatever a form has in its one part is a file

            @settings(max_examples=6, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
            @given(case=operation.as_strategy(generation_mode=schemathesis.GenerationMode(mode)))
            def check(case: schemathesis.Case) -> None:
                # No schema says "UTF-8", "one of the two", that a value is base64, or which algorithm there is.
                unsaid = []
                if "/matches/" in case.path:
                    unsaid = [positive_data_acceptance, negative_data_rejection]
                elif case.path in ("/report", "/v1/words", "/v1/resolve"):
                    unsaid = [positive_data_acceptance]
                case.call_and_validate(timeout=60, excluded_checks=unsaid)

            check()


# ---- one proxy LM for many texts ----


def cut(proxy: Proxy, characters: int) -> TokenizedVariant:
    text = pydoc_data.topics.topics["specialnames"][:characters]
    return tokenize_variants(text, proxy.tokenizer, proxy.profile)[0]


def test_each_of_many_texts_gets_its_own_report(small: Proxy) -> None:
    texts = [HUMAN[i * 97 : i * 97 + 60 + 150 * (i % 4)] for i in range(6)]
    decoder = Decoder(small)
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(3) as threads:
        reports = list(threads.map(lambda text: Decoder(small, weigh=Turns(small, one)).decode(text), texts))
    assert reports == [decoder.decode(text) for text in texts]


@pytest.mark.slow
def test_a_short_text_need_not_wait_for_a_long_one(small: Proxy) -> None:
    gated = Gated(small)
    long, short = cut(small, 12_000), cut(small, 120)
    done: list[str] = []
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor() as threads:
        with gated.closed():
            first = threads.submit(lambda: (Turns(gated, one)(long), done.append("long")))
            until(lambda: gated.sizes)
            second = threads.submit(lambda: (Turns(gated, one)(short), done.append("short")))
            until(lambda: one._work_queue.qsize() == 1)
        first.result(), second.result()
    assert done == ["short", "long"]


def test_a_cancelled_text_leaves_its_blocks_unread(small: Proxy) -> None:
    gated = Gated(small)
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor() as threads:
        given_up = threading.Event()
        cancelled = Turns(gated, one, cancelled=given_up)
        with gated.closed():
            waiting = threads.submit(cancelled, cut(small, 8000))
            until(lambda: gated.sizes)
            given_up.set()
        assert isinstance(waiting.exception(), RequestCancelled)
        with pytest.raises(RequestCancelled):
            cancelled(cut(small, 8000))
        assert len(Turns(gated, one)(cut(small, 600))) == len(cut(small, 600).positions)
    assert sum(gated.sizes) == LENGTH - small.profile.prefix_length + len(cut(small, 600).positions)


def test_an_error_reaches_only_the_caller_whose_text_made_it() -> None:
    proxy = small_proxy()
    good = cut(proxy, 700)
    bad = replace(good, ids=good.ids + 10**6)
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor() as threads:
        results = [threads.submit(Turns(proxy, one), each) for each in (good, bad, good, bad)]
        failing = Turns(proxy, one, lambda positions: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            failing(good)
        assert [len(results[0].result()), len(results[2].result())] == [len(good.positions)] * 2
        assert all(isinstance(results[i].exception(), TokenOutOfRange) for i in (1, 3))


def test_the_end_ends_the_wait_of_those_in_line(small: Proxy) -> None:
    gated = Gated(small)
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor() as threads:
        with gated.closed():
            waiting = [threads.submit(Turns(gated, one), cut(small, 9000)) for _ in range(2)]
            until(lambda: gated.sizes and one._work_queue.qsize() == 1)
            one.shutdown(wait=False, cancel_futures=True)
        assert all(isinstance(each.exception(), ServiceClosing) for each in waiting)


@pytest.mark.parametrize("when", ["warming up", "serving"])
def test_the_threads_end_whatever_ends_the_server(small: Proxy, monkeypatch: pytest.MonkeyPatch, when: str) -> None:
    service = Service([small], Limits())

    async def live() -> None:
        async with service.lifespan(None):
            raise RuntimeError(when)

    if when == "warming up":
        monkeypatch.setattr(Decoders, "decode", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError if when == "warming up" else RuntimeError):
        asyncio.run(live())
    for executor in (service._proxy_thread, service.admission._threads):
        with pytest.raises(RuntimeError, match="after shutdown"):
            executor.submit(live)


def test_an_updated_registry_is_loaded_and_a_damaged_one_is_not(
    small: Proxy, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("ctwl_services.serve.service._REFRESH_SECONDS", 0.01)
    service = Service([small], Limits())

    async def live() -> None:
        async with service.lifespan(None):
            first = service.page
            await asyncio.to_thread(until, lambda: service.page is not first)
            monkeypatch.setattr("ctwl_services.serve.service.load_trusted", damaged)
            await asyncio.to_thread(until, lambda: "the registry cannot be reloaded: damaged" in caplog.text)
            assert service.registry is bundled()

    def damaged() -> None:
        raise RegistryError("registry-malformed", "damaged")

    asyncio.run(live())


# ---- the command ----


def test_the_command_serves_until_stopped(capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    asked: list[httpx.Response] = []

    def ask_and_stop() -> None:
        printed = ""

        def started() -> bool:
            nonlocal printed
            printed += capfd.readouterr().out
            return "(Ctrl+C ends it)" in printed

        until(started)
        url = printed.split(" at ")[1].split(maxsplit=1)[0]
        asked.append(httpx.post(f"{url}v1/decode?text=secret", json={"text": "Hello."}))
        signal.raise_signal(signal.SIGTERM)

    with ThreadPoolExecutor(1) as threads:
        client = threads.submit(ask_and_stop)
        assert main(["--port", "0", "--profile", VANILLA, "--access-log"]) == 0
    client.result()
    assert asked[0].json()["detected"] is False
    assert [record.getMessage() for record in caplog.records] == ['127.0.0.1 "POST /v1/decode" 200']


@pytest.mark.slow
def test_a_process_that_serves_ends_cleanly() -> None:
    command = "from ctwl_services.serve.command import main; raise SystemExit(main())"
    options = ["--port", "0", "--profile", VANILLA, "--access-log"]
    with subprocess.Popen(
        [sys.executable, "-W", "error::ResourceWarning", "-c", command, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().split(" at ")[1].split()[0]
        asked = httpx.post(f"{url}v1/decode?text=secret", json=QUESTION, timeout=60)
        assert asked.json()["detected"] is False
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate()
    assert process.returncode == 0
    assert log.count("\n") == 1 and log.strip().endswith('127.0.0.1 "POST /v1/decode" 200')


def test_a_service_that_fails_is_an_error(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(Decoders, "decode", lambda *_, **__: 1 / 0)  # the first text, before any request
    assert main(["--port", "0", "--profile", VANILLA]) == 2
    said = capfd.readouterr()
    assert "ctwl-decode: cannot-serve: the service did not start" in said.err and "serving" not in said.out


@pytest.fixture
def taken() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield str(listener.getsockname()[1])


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--profile", "org.nobody.1"], "profile-unknown"),
        (["--profile", VANILLA, "--port", "TAKEN"], "cannot-serve"),
        (["--profile", VANILLA, "--port", "99999"], "cannot-serve"),
        (["--profile", VANILLA, "--host", "no.such.host.invalid"], "cannot-serve"),
        (["--profile", VANILLA, "--host", "no..host"], "cannot-serve"),
        (["--max-tokens", "0"], "option-out-of-range"),
        (["--profile", VANILLA, "--port", "0", "--trust-proxy", "nginx"], "option-out-of-range"),
    ],
)
def test_the_command_says_what_is_wrong_in_a_line(
    arguments: list[str], code: str, taken: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    assert main([taken if each == "TAKEN" else each for each in arguments]) == 2
    assert signal.getsignal(signal.SIGTERM) is before
    complaint = capsys.readouterr().err
    assert complaint.startswith(f"ctwl-decode: {code}: ") and complaint.count("\n") == 1

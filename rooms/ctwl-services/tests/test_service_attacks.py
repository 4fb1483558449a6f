"""Attacks on the service: whatever a stranger sends, ``/healthz`` answers within a second, on an idle machine.

The service is a process of its own, and each attack comes by several connections at once.
"""

from __future__ import annotations

import itertools
import json
import pydoc_data.topics
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

import httpx
import pytest
from beside_attacks import is_answered_beside
from running_service import in_a_process

BODY = 250 << 10
"""Bytes, a little less than the service takes."""

POST = b"POST %s HTTP/1.1\r\nhost: localhost\r\ncontent-type: %s\r\n"
JSON, FORM, PARTS = b"application/json", b"application/x-www-form-urlencoded", b"multipart/form-data; boundary=x"


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    """The service. The API that it asks for manifests takes connections and never says a word."""
    profile = "org.ctwl.smollm2-135m.vanilla.1"
    with socket.create_server(("127.0.0.1", 0), backlog=512) as silent:
        api = f"https://localhost:{silent.getsockname()[1]}/v1"
        with in_a_process("--profile", profile, "--manifests", api) as url:
            yield url


def chunked(pieces: Iterable[bytes], path: bytes = b"/v1/decode", kind: bytes = JSON) -> Iterator[bytes]:
    yield POST % (path, kind) + b"transfer-encoding: chunked\r\n\r\n"
    yield from pieces


def whole(path: bytes, kind: bytes, body: bytes) -> Iterator[bytes]:
    yield POST % (path, kind) + b"content-length: %d\r\n\r\n" % len(body) + body


def text(score: str) -> bytes:
    return json.dumps({"text": pydoc_data.topics.topics["specialnames"][:15_000], "score": score}).encode()


PART = b'--x\r\ncontent-disposition: form-data; name="a"\r\n'
ATTACKS: dict[str, Callable[[], Iterable[bytes]]] = {
    "a body in pieces of a byte": lambda: chunked([b"1\r\na\r\n" * 1_000_000]),
    "many fields behind a body": lambda: itertools.chain.from_iterable(
        chunked([b"0\r\n" + b"a:\r\n" * 60_000 + b"\r\n"]) for _ in range(8)
    ),
    "pieces with long extensions": lambda: chunked([b"1;" + b"a" * 5000_000]),
    "a body without end": lambda: chunked(itertools.repeat(b"8000\r\n" + b" " * 0x8000 + b"\r\n", 4000)),
    "a body without end that is refused at once": lambda: itertools.chain(
        [POST % (b"/v1/decode", JSON) + b"content-length: 1000000000000\r\n\r\n"], itertools.repeat(b" " * 0x8000, 4000)
    ),
    "a head of many fields, all at once": lambda: [
        b"GET / HTTP/1.1\r\nhost: localhost\r\n" + b"a:\r\n" * 60_000 + b"\r\n"
    ],
    "heads of as many fields as one may have": lambda: (
        [b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n" + b"a:\r\n" * 3900 + b"\r\n"] * 300
    ),
    "a head of one field": lambda: [b"GET / HTTP/1.1\r\nhost: localhost\r\na: " + b"a" * 5_000_000 + b"\r\n\r\n"],
    "requests that do not wait for answers": lambda: [b"GET /v1/profile HTTP/1.1\r\nhost: localhost\r\n\r\n" * 20_000],
    "JSON of many lists": lambda: itertools.chain.from_iterable(
        whole(b"/v1/decode", JSON, b'{"text":"a","beacons":[' + b",".join([b"[1,1]"] * (BODY // 6)) + b"]}")
        for _ in range(8)
    ),
    "JSON of many names": lambda: (
        [*whole(b"/v1/decode", JSON, b"{" + b",".join(b'"%d":1' % i for i in range(BODY // 10)) + b"}")] * 10
    ),
    "a form of many fields": lambda: itertools.chain.from_iterable(
        whole(b"/report", FORM, b"&" * BODY) for _ in range(8)
    ),
    "a form of many lines": lambda: whole(b"/report", PARTS, PART + b"a:b\r\n" * (BODY // 5) + b"\r\n\r\n--x--"),
    "codes for an API that is down": lambda: [
        b"GET /v1/matches/byBinding?alg=org.ctwl.smollm2-135m.vanilla.1&value=AKjH HTTP/1.1\r\nhost: localhost\r\n\r\n"
    ],
    "texts that cost most, by ranks": lambda: whole(b"/v1/decode", JSON, text("light")),
    "texts that cost most": lambda: whole(b"/v1/decode", JSON, text("whole")),
}


QUICK = ("JSON of many names",)
"""The attacks of the quick tests."""


def send(url: str, parts: Iterable[bytes], until: threading.Event) -> None:
    """Send what a hostile client sends, without a look at the answers, and stay connected."""
    where = httpx.URL(url)
    with suppress(OSError), socket.create_connection((where.host, where.port)) as connection:
        connection.settimeout(10)
        for part in parts:
            if until.is_set():
                return
            connection.sendall(part)
        until.wait()


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200), ("127.0.0.1:8000", 200), ("[::1]:8000", 200), ("a.localhost:1", 200),
        ("evil.example", 421), ("127.0.0.1.evil.example:8000", 421), ("localhost.evil.example", 421), ("[", 421),
    ],
)  # fmt: skip
def test_a_service_of_this_machine_answers_to_no_other_name(service: str, host: str, status: int) -> None:
    """A page that leads its own name to this machine reads nothing."""
    reply = httpx.get(f"{service}/v1/profile", headers={"host": host})
    assert reply.status_code == status
    if status == 421:
        assert reply.json()["code"] == "host-unknown"


@pytest.mark.parametrize(
    "attack", [pytest.param(each, marks=[] if each in QUICK else pytest.mark.slow) for each in ATTACKS]
)
def test_health_is_answered_beside_an_attack(service: str, attack: str) -> None:
    parts = ATTACKS[attack]
    assert is_answered_beside(f"{service}/healthz", lambda over: send(service, parts(), over))

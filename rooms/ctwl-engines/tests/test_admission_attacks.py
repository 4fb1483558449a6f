"""Attacks on a server of an engine: whatever a stranger sends, another client's question is answered within a second.

The server is a process of its own that reads bodies as engines do. Each attack comes by several connections at once.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator

import pytest
from beside_attacks import is_answered_beside, slowest

pytest.importorskip("uvicorn")

MANY = 16 << 20
"""Bytes of a body, which would take seconds to parse."""

SERVER = """
import sys
import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
from ctwl_engines.admission import Admission

async def models(request):
    return JSONResponse([])

async def completions(request):
    try:
        body = await request.json()
    except (ValueError, RecursionError):
        return JSONResponse({}, 400)
    return JSONResponse({"parts": len(body)})

app = Starlette(routes=[Route("/v1/models", models), Route("/v1/completions", completions, methods=["POST"])])
app.add_middleware(Admission, check=lambda path, body: None)
uvicorn.run(app, fd=int(sys.argv[1]), log_level="error")
"""


def filled(piece: bytes, size: int = MANY, *, first: bytes = b"[", last: bytes = b"]") -> bytes:
    """A body of one piece again and again."""
    return first + b",".join([piece] * (size // (len(piece) + 1))) + last


def names(count: int) -> bytes:
    """An object of so many names."""
    return b"{" + b",".join(b'"%d":1' % number for number in range(count)) + b"}"


REFUSED: dict[str, Callable[[], bytes]] = {
    "many small lists": lambda: filled(b"[]"),
    "many small objects": lambda: filled(b'{"a":{}}'),
    "many small lists in two bytes a character": lambda: filled(b"[]").decode().encode("utf-16"),
    "many names": lambda: names(1_000_000),
    "many fractions": lambda: filled(b"1.2345e-7"),
    "many texts": lambda: filled(b'"a"'),
    "numbers of many digits": lambda: filled(b"1" * 4300),
    "one number of many digits": lambda: b"[" + b"1" * MANY + b"]",
    "lists in lists": lambda: b"[" * 100_000 + b"]" * 100_000,
    "objects in objects": lambda: b'{"a":' * 60_000,
}
SERVED: dict[str, Callable[[], bytes]] = {
    "a picture": lambda: json.dumps({"prompt": "data:image/png;base64," + "iVBORw0KGgo" * (2 << 20)}).encode(),
    "a long chat": lambda: json.dumps(
        {"messages": [{"role": "user", "content": "Once, upon a time: " * 20}] * 2000}
    ).encode(),
    "a prompt of token ids": lambda: json.dumps({"prompt": list(range(1, 131_073))}).encode(),
    "an object of many names": lambda: names(50_000),
    "fractions of many digits": lambda: b'{"a":' + filled(b"1." + b"1" * 15_000) + b"}",
    "white space": lambda: b" " * MANY + b"{}",
    "escapes": lambda: b'{"prompt":"' + b"\\n" * (MANY // 2) + b'"}',
}


QUICK = ("many names",)
"""The attacks of the quick tests."""


@pytest.fixture(scope="module")
def server() -> Iterator[int]:
    """The port of a server."""
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listener:
        command = [sys.executable, "-c", SERVER, str(listener.fileno())]
        with subprocess.Popen(command, pass_fds=[listener.fileno()]) as process:
            port = listener.getsockname()[1]
            try:
                slowest(f"http://127.0.0.1:{port}/v1/models", 0.0)  # it is there
                yield port
            finally:
                process.kill()


def posted(port: int, body: bytes) -> tuple[int, bytes]:
    """The status and the body of an answer."""
    asked = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/completions", body, {"content-type": "application/json"}
    )
    try:
        with urllib.request.urlopen(asked, timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


@pytest.mark.parametrize(
    "attack", [pytest.param(each, marks=[] if each in QUICK else pytest.mark.slow) for each in (*REFUSED, *SERVED)]
)
def test_others_are_answered_beside_an_attack(server: int, attack: str) -> None:
    body = (REFUSED | SERVED)[attack]()
    answers: list[tuple[int, bytes]] = []

    def send(until: threading.Event) -> None:
        while not until.is_set():
            answers.append(posted(server, body))

    in_time = is_answered_beside(f"http://127.0.0.1:{server}/v1/models", send)
    told = {(status, status == 400 and json.loads(told)["error"]["code"]) for status, told in answers}
    assert told == {(400, "option-out-of-range") if attack in REFUSED else (200, False)}
    assert in_time

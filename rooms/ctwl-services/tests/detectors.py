"""Detectors that tests play: each answers one connection after the other as its test wants."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Play = Callable[[socket.socket, bytes], None]
"""Answers a request, whole with its body, on its connection."""


@dataclass
class Played:
    """A detector in the test's process.

    Attributes:
        place: its address and port.
        requests: what it was sent, one for each connection.
    """

    place: tuple[str, int]
    requests: list[bytes] = field(default_factory=list)


@contextmanager
def playing(play: Play, wrap: Callable[[socket.socket], socket.socket] = lambda plain: plain) -> Iterator[Played]:
    """A detector that plays so."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        found = Played(listener.getsockname()[:2])

        def serve() -> None:
            while True:
                try:
                    plain, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=one, args=(plain,), daemon=True).start()

        def one(plain: socket.socket) -> None:
            with plain, suppress(OSError), wrap(plain) as connection:
                request = read_request(connection)
                found.requests.append(request)
                play(connection, request)
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_WR)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield found
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(5)


def over_tls(certificate: Path) -> Callable[[socket.socket], socket.socket]:
    """What wraps connections for a detector of this certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return lambda plain: context.wrap_socket(plain, server_side=True)


def read_request(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        if not (part := connection.recv(1 << 16)):
            return data
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    size = next((int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-l")), 0)
    while len(body) < size and (part := connection.recv(1 << 16)):
        body += part
    return head + b"\r\n\r\n" + body


def body_of(request: bytes) -> Any:
    return json.loads(request.partition(b"\r\n\r\n")[2])


def http(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", "content-type: application/json", f"content-length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def answering(status: str = "200 OK", *headers: str, **changed: Any) -> Play:
    """Answers "none" to the question's provider, but for what is changed; a value may be a function of the question."""

    def play(connection: socket.socket, request: bytes) -> None:
        question = body_of(request)
        answer: dict[str, Any] = {
            "format": "ctwl-answer/1", "provider": question["provider"], "outcome": "none", "basis": ["watermark"],
            "error_rate": 0.5, "measured": False, "places": [], "kept_days": 0, "says": "",
        }  # fmt: skip
        answer |= {name: value(question) if callable(value) else value for name, value in changed.items()}
        connection.sendall(http(json.dumps(answer).encode(), status, *headers))

    return play


def sending(*parts: bytes, every: float = 0.0) -> Play:
    """Sends these bytes, whatever it is asked, and waits between them."""

    def play(connection: socket.socket, _: bytes) -> None:
        for part in parts:
            connection.sendall(part)
            if every:
                threading.Event().wait(every)

    return play


FOUND = {"outcome": "found", "error_rate": 1e-9}

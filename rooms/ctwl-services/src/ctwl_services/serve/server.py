"""uvicorn's configuration for the service, with bounds on what costs its parser time.

docs/readers/serve.md says what is left to a reverse proxy.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from ctwl_decoder.errors import OptionOutOfRange

from .limits import Limits

_HEAD = 16 << 10
"""Bytes of a request's head, or of the fields after its body."""

_FIELDS = 128
"""Lines of a head. Chosen by hand: browsers behind proxies send 40. Each takes h11 a microsecond."""

_HEAD_ENDS = re.compile(rb"\n\r?\n")

_CHUNKS, _CHUNK = 1024, 256
"""A body may come in so many small chunks, and in further ones of so many bytes on average."""


class _Parser(h11.Connection):
    """h11's parser, which takes as much time for a chunk of one byte as for one of thousands."""

    _missing = 0  # bytes that the chunks of a body lack

    def next_event(self) -> Any:
        """The next part of a request.

        Raises:
            h11.RemoteProtocolError: it breaks the protocol or a bound; or says twice how long its body is, which a
                reverse proxy may understand in another way.
        """
        if self.their_state is h11.IDLE:
            data, _ = self.trailing_data
            end = _HEAD_ENDS.search(data, 0, _HEAD)
            if len(data) > _HEAD and not end:
                raise h11.RemoteProtocolError("the head is too long")
            if data.count(b"\n", 0, end.start() if end else _HEAD) > _FIELDS:
                raise h11.RemoteProtocolError("the head has too many fields")
            self._missing = 0
        event = super().next_event()
        if isinstance(event, h11.Request):
            if {b"content-length", b"transfer-encoding"} <= {name for name, _ in event.headers}:
                raise h11.RemoteProtocolError("a length beside chunks")
        elif isinstance(event, h11.Data):
            self._missing = max(0, self._missing + _CHUNK * event.chunk_start - len(event.data))
            if self._missing > _CHUNKS * _CHUNK:
                raise h11.RemoteProtocolError("the chunks of the body are too small")
        return event


class _Protocol(H11Protocol):
    """uvicorn's protocol with this parser, which is given little at once."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.conn = _Parser(h11.SERVER, _HEAD)

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), _HEAD):
            if self.transport.is_closing():
                return
            super().data_received(data[start : start + _HEAD])

    def send_400_response(self, msg: str) -> None:
        """Refuse a request; where its answer has been begun, cut it."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()


def trusted_proxies(given: str, listens_at: str) -> list[str]:
    """The addresses and networks of reverse proxies; uvicorn would take any other word for a name that never matches.

    Args:
        given: what the operator typed, separated by commas.
        listens_at: the address at which the service listens. Clients have addresses of its version.

    Raises:
        OptionOutOfRange: one of them is no address or network, or can be no client's.
    """
    version = ipaddress.ip_address(listens_at.partition("%")[0]).version
    found = [each.strip() for each in given.split(",")]
    for each in found:
        try:
            proxy = ipaddress.ip_network(each) if "/" in each else ipaddress.ip_address(each)
        except ValueError as error:
            raise OptionOutOfRange(f"--trust-proxy takes addresses and networks: {error}") from error
        if (
            proxy.version != version
            or proxy.is_multicast
            or proxy.is_unspecified
            or getattr(proxy, "ipv4_mapped", None)
        ):
            raise OptionOutOfRange(
                f"--trust-proxy {each}: no connection to {listens_at} comes from there; name the address from which "
                f"the reverse proxy connects, which is one of IPv{version}"
            )
    return found


def configure(app: ASGIApp, limits: Limits, *, trusted: list[str] | None = None) -> uvicorn.Config:
    """How uvicorn serves the app.

    Args:
        app: the app.
        limits: its limits.
        trusted: see :func:`trusted_proxies`; their X-Forwarded-For names the client.
    """
    return uvicorn.Config(
        app,
        http=_Protocol,
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="error",
        access_log=False,  # its lines have queries, in which a client may have put a text; Front logs without them
        server_header=False,
        proxy_headers=trusted is not None,
        forwarded_allow_ips=trusted,
        limit_concurrency=limits.connections,
        timeout_keep_alive=5,  # seconds between a connection's requests
        timeout_graceful_shutdown=10,  # seconds for the last requests
    )

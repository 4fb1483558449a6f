"""uvicorn as the service runs it: quiet, and with limits that its HTTP protocol lacks, on time and on connections."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from .admission import client_of
from .limits import Limits

__all__ = ["TimedProtocol", "configure"]

_GRACE_SECONDS = 10
_IDLE_SECONDS = 5


class TimedProtocol(H11Protocol):
    """Drops a connection whose request head does not arrive in time, or whose client does not fetch its answer.

    Connections beyond an address's share are dropped as they come, so that nobody can hold all that there are.

    Attributes:
        head_seconds: from the connection, or a later head's first byte, to the head's end.
        answer_seconds: for a client to fetch what is more than the socket takes at once.
        share: connections that an address may hold; None for any number.
        held: how many each address holds, in all of a server's protocols.
    """

    head_seconds = 10.0
    answer_seconds = 60.0
    share: int | None
    held: Counter[str]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first head."""
        super().connection_made(transport)
        self._start("head", self.head_seconds)
        self._host = client_of(transport.get_extra_info("peername"))
        self.held[self._host] += 1
        if self.share is not None and self.held[self._host] > self.share:
            transport.abort()

    def data_received(self, data: bytes) -> None:
        """Wait for the rest of a head, or no longer."""
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._start("head", self.head_seconds)
        else:
            self._stop("head")

    def pause_writing(self) -> None:
        """Wait for the client to read."""
        super().pause_writing()
        self._start("answer", self.answer_seconds)

    def resume_writing(self) -> None:
        """The client has read."""
        super().resume_writing()
        self._stop("answer")

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing more to wait for."""
        super().connection_lost(exc)
        self.held[self._host] -= 1
        if not self.held[self._host]:
            del self.held[self._host]
        self._stop("head")
        self._stop("answer")

    def _start(self, name: str, seconds: float) -> None:
        if name not in self._timers:
            self._timers[name] = self.loop.call_later(seconds, self.transport.abort)

    def _stop(self, name: str) -> None:
        if timer := self._timers.pop(name, None):
            timer.cancel()


def configure(app: ASGIApp, limits: Limits, *, access_log: bool = False, trusted: str | None = None) -> uvicorn.Config:
    """How uvicorn serves the app.

    Args:
        app: the app.
        limits: its limits.
        access_log: log a line per request, without queries and bodies.
        trusted: comma-separated addresses whose X-Forwarded-For is believed.
    """
    options: dict[str, object] = {
        "head_seconds": limits.head_seconds,
        "answer_seconds": limits.seconds,
        "share": None if trusted is not None else max(1, limits.connections // 4),  # a proxy holds for many
        "held": Counter(),
    }
    return uvicorn.Config(
        app,
        http=type("Protocol", (TimedProtocol,), options),
        ws="none",
        lifespan="on",
        log_config=_log_config(access_log),
        access_log=access_log,
        server_header=False,
        proxy_headers=trusted is not None,
        forwarded_allow_ips=trusted,
        limit_concurrency=limits.connections,
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )


class _WithoutQuery(logging.Filter):
    """Takes the query out of uvicorn's lines: a client may have put its text there."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple) and len(record.args) == 5:  # client, method, path, version, status
            client, method, path, *rest = record.args
            record.args = (client, method, str(path).partition("?")[0], *rest)
        return True


def _log_config(access: bool) -> dict[str, Any]:
    """Errors to stderr; a line per request only where asked for."""
    error = {"handlers": ["stderr"], "level": "ERROR", "propagate": False}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"plain": {"format": "%(asctime)s %(message)s"}},
        "filters": {"bare": {"()": _WithoutQuery}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "plain"}},
        "loggers": {
            "ctwl_decoder.apps.serve": error,
            "python_multipart": {"level": "CRITICAL"},  # tells of the bytes of a broken form
            "uvicorn.error": error,
            "uvicorn.access": {
                "handlers": ["stderr"] if access else [],
                "filters": ["bare"],
                "level": "INFO",
                "propagate": False,
            },
        },
    }

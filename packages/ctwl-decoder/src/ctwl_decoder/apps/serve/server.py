"""uvicorn's configuration for the service: its limits, and a log without any text.

uvicorn bounds the size of a request's head, the connections and the idle time between requests. It does not bound how
long a client takes to send a head or to fetch an answer, nor the connections of one address. A service that the world
can reach needs a reverse proxy for those (README.md, "Serving the world").
"""

from __future__ import annotations

import logging
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from .limits import Limits

__all__ = ["configure"]

_HEAD_BYTES = 16 << 10
_GRACE_SECONDS = 10
_IDLE_SECONDS = 5


def configure(app: ASGIApp, limits: Limits, *, access_log: bool = False, trusted: str | None = None) -> uvicorn.Config:
    """How uvicorn serves the app.

    Args:
        app: the app.
        limits: its limits.
        access_log: log a line per request, without queries and bodies.
        trusted: comma-separated addresses of reverse proxies, whose X-Forwarded-For names the client.
    """
    return uvicorn.Config(
        app,
        http="h11",
        ws="none",
        lifespan="on",
        log_config=_log_config(access_log),
        access_log=access_log,
        server_header=False,
        proxy_headers=trusted is not None,
        forwarded_allow_ips=trusted,
        limit_concurrency=limits.connections,
        h11_max_incomplete_event_size=_HEAD_BYTES,
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )


class _WithoutQuery(logging.Filter):
    """Removes the query from uvicorn's lines: a client may have put its text there."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple) and len(record.args) == 5:  # client, method, path, version, status
            client, method, path, *rest = record.args
            record.args = (client, method, str(path).partition("?")[0], *rest)
        return True


def _log_config(access: bool) -> dict[str, Any]:
    """Errors go to stderr, and a line per request where ``access`` is set."""
    error = {"handlers": ["stderr"], "level": "ERROR", "propagate": False}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"plain": {"format": "%(asctime)s %(message)s"}},
        "filters": {"without_query": {"()": _WithoutQuery}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "plain"}},
        "loggers": {
            "ctwl_decoder.apps.serve": error,
            "python_multipart": {"level": "CRITICAL"},  # it would log bytes of a malformed form
            "uvicorn.error": error,
            "uvicorn.access": {
                "handlers": ["stderr"] if access else [],
                "filters": ["without_query"],
                "level": "INFO",
                "propagate": False,
            },
        },
    }

"""uvicorn's configuration for the service. docs/readers/serve.md says what is left to a reverse proxy."""

from __future__ import annotations

import uvicorn
from starlette.types import ASGIApp

from .limits import Limits

__all__ = ["configure"]


def configure(app: ASGIApp, limits: Limits, *, trusted: str | None = None) -> uvicorn.Config:
    """How uvicorn serves the app.

    Args:
        app: the app.
        limits: its limits.
        trusted: comma-separated addresses of reverse proxies, whose X-Forwarded-For names the client.
    """
    return uvicorn.Config(
        app,
        http="h11",
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="error",
        access_log=False,  # its lines have queries, in which a client may have put a text; Front logs without them
        server_header=False,
        proxy_headers=trusted is not None,
        forwarded_allow_ips=trusted,
        limit_concurrency=limits.connections,
        h11_max_incomplete_event_size=16 << 10,  # bytes of a request's head
        timeout_keep_alive=5,  # seconds between a connection's requests
        timeout_graceful_shutdown=10,  # seconds for the last requests
    )

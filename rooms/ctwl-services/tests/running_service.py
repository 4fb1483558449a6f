"""The service, and folders of files, on a real socket, for tests from the outside."""

from __future__ import annotations

import asyncio
import functools
import http.server
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from starlette.types import ASGIApp

from ctwl_protocol.proxy import Proxy
from ctwl_services.ask.wire import Network
from ctwl_services.serve.app import create_app
from ctwl_services.serve.limits import Limits
from ctwl_services.serve.manifests import Manifests
from ctwl_services.serve.server import configure


def until(condition: Callable[[], object]) -> None:
    """Wait until something becomes true, which it must within half a minute."""
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it did not happen")


class Prompt(uvicorn.Server):
    """A server that looks every few milliseconds whether it is to stop, not ten times a second."""

    async def main_loop(self) -> None:
        while not self.should_exit:
            await self.on_tick(0)
            await asyncio.sleep(0.01)


@contextmanager
def started(app: ASGIApp, given: Limits, **told: Any) -> Iterator[tuple[uvicorn.Server, httpx.Client]]:
    """A server of an app and its client; see :func:`ctwl_services.serve.server.configure`."""
    server = Prompt(configure(app, given, **told))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=60) as client:
                while not server.started:
                    assert thread.is_alive()
                    time.sleep(0.01)
                yield server, client
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def running(
    proxy: Proxy,
    manifests: Manifests | None = None,
    trusted: list[str] | None = None,
    network: Network | None = None,
    **limits: float,
) -> Iterator[tuple[uvicorn.Server, httpx.Client]]:
    """A server and its client; the names of limits are those of :class:`ctwl_services.serve.limits.Limits`."""
    given = Limits(**limits)  # type: ignore[arg-type]
    with started(create_app([proxy], given, manifests, network), given, trusted=trusted) as both:
        yield both


@contextmanager
def serving(proxy: Proxy, manifests: Manifests | None = None, **told: Any) -> Iterator[httpx.Client]:
    """A client of a server of its own, see :func:`running`."""
    with running(proxy, manifests, **told) as (_, client):
        yield client


@contextmanager
def in_a_process(*options: str, **environment: str) -> Iterator[str]:
    """The address of the command's service, a process of its own: what its clients do costs it no time."""
    command = "from ctwl_services.serve.command import main; raise SystemExit(main())"
    with subprocess.Popen(
        [sys.executable, "-c", command, "--port", "0", *options],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split(" at ")[1].split()[0].rstrip("/")
        finally:
            process.kill()


@contextmanager
def serving_files(folder: Path) -> Iterator[str]:
    """The address of a server of a folder's files."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()

"""``ctwl-decode serve``: the decoder as a web page and an HTTP API."""

from __future__ import annotations

import argparse
import signal
import socket
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import fields

from ctwl_protocol import get_profile
from ctwl_protocol.command import run_command

from ...errors import CannotServe, ExtraMissing
from ...options import add_proxy_options
from .limits import Limits

__all__ = ["main"]

_EPILOG = """\
examples:
  ctwl-decode serve                                       http://127.0.0.1:8000/ for this machine
  ctwl-decode serve --profile org.ctwl.smollm2-135m.1     without a download
  ctwl-decode serve --host 0.0.0.0                        for a network that you trust
  ctwl-decode serve --trust-proxy 127.0.0.1               for the world, behind a reverse proxy on this machine

  curl -F file=@letter.txt http://127.0.0.1:8000/report > report.html
  curl --json '{"text": "..."}' http://127.0.0.1:8000/v1/decode

The API is described at /docs (/openapi.json for programs). /metrics is for Prometheus, /healthz and /readyz are for
whatever restarts the service. Texts are neither kept nor logged. An updated registry is loaded within ten minutes.

A service that everyone can reach needs a reverse proxy such as nginx or Caddy in front. It must limit how long a client
takes to send a request and to fetch the answer, limit the connections of one address, end TLS, and set X-Forwarded-For
to the client's address; name its own address with --trust-proxy, else all its clients share the limits of one. The
README of ctwl-decoder has both configurations.
exit status: 0 the service was stopped; 2 an error.
"""

_HELP = {
    "body": ("BYTES", "bytes of a request's body"),
    "characters": ("N", "characters of a text"),
    "tokens": ("N", "tokens of a text"),
    "working": ("N", "requests that are decoded at once"),
    "waiting": ("N", "requests that wait for their turn; more are refused"),
    "per_client": ("N", "requests of one address that are decoded or wait"),
    "seconds": ("S", "seconds for a request, from the end of its head to the end of its answer"),
    "connections": ("N", "connections open at once"),
}


def _port(given: str) -> int:
    if not given.isdecimal() or int(given) >= 1 << 16:
        raise argparse.ArgumentTypeError(f"{given} is not a port; ports are numbers from 0 to {(1 << 16) - 1}")
    return int(given)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ctwl-decode serve",
        description="Serve the decoder: a web page for people and an HTTP API for programs.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (default 127.0.0.1, this machine)")
    parser.add_argument("--port", type=_port, default=8000, help="port; 0 takes a free one (default 8000)")
    add_proxy_options(parser)
    parser.add_argument(
        "--trust-proxy",
        metavar="ADDRESSES",
        help="comma-separated addresses of reverse proxies: take the client's address from their X-Forwarded-For",
    )
    parser.add_argument("--access-log", action="store_true", help="log a line per request, without what was sent")
    limits = parser.add_argument_group("limits")
    for field in fields(Limits):
        metavar, text = _HELP[field.name]
        limits.add_argument(
            f"--max-{field.name.replace('_', '-')}",
            dest=field.name,
            metavar=metavar,
            type=type(field.default),
            default=field.default,
            help=f"{text} (default {field.default:g})",
        )
    return parser


def _bind(host: str, port: int) -> socket.socket:
    """A listening socket, bound before a model is loaded, so that a port in use is reported at once.

    Raises:
        CannotServe: the address is not this machine's, or the port is in use or reserved.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=512)
    except socket.gaierror as error:
        raise CannotServe(f"{host} is not an address of this machine ({error.strerror}); try 127.0.0.1") from error
    except OSError as error:
        raise CannotServe(
            f"cannot listen at {host} port {port}: {error}; try another --port, or --port 0 for a free one"
        ) from error


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def _serve(arguments: argparse.Namespace) -> int:
    limits = Limits(**{field.name: getattr(arguments, field.name) for field in fields(Limits)})
    profile = get_profile(arguments.profile)  # a wrong name fails before torch is loaded
    with closing(_bind(arguments.host, arguments.port)) as listener:
        try:
            import uvicorn

            from .app import create_app
            from .server import configure
        except ImportError as error:
            raise ExtraMissing(
                f"serving needs {error.name or error}; install it with: pip install 'ctwl-decoder[serve]'"
            ) from error
        from ctwl_protocol.proxy import open_proxy

        class Server(uvicorn.Server):
            async def startup(self, sockets: list[socket.socket] | None = None) -> None:
                await super().startup(sockets)
                print(f"ctwl-decode: serving {profile.name} at {_url(listener)} (Ctrl+C ends it)", flush=True)

        proxy = open_proxy(profile, path=arguments.proxy, device=arguments.device, fast=True)
        app = create_app(proxy, limits)
        config = configure(app, limits, access_log=arguments.access_log, trusted=arguments.trust_proxy)
        with suppress(KeyboardInterrupt):  # uvicorn raises the signal again when it has shut down
            Server(config).run(sockets=[listener])
    return 0


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status when the service was stopped."""
    arguments = _parser().parse_args(argv)
    before = signal.signal(signal.SIGTERM, _interrupt)  # a stop is no error, before and while uvicorn handles signals
    try:
        return run_command("ctwl-decode", lambda: _serve(arguments), interrupted=0)
    finally:
        signal.signal(signal.SIGTERM, before)

"""``ctwl-decode serve``: the decoder as a web page and an HTTP API."""

from __future__ import annotations

import argparse
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import fields

from ctwl_protocol import CTWLError, get_profile

from ...errors import CannotServe, ExtraMissing
from ...options import add_proxy_options
from .limits import Limits

__all__ = ["main"]

_EPILOG = """\
examples:
  ctwl-decode serve                                       http://127.0.0.1:8000/ for this machine
  ctwl-decode serve --profile org.ctwl.smollm2-135m.1     without a download
  ctwl-decode serve --host 0.0.0.0 --port 80              for everyone
  ctwl-decode serve --trust-proxy 127.0.0.1               behind nginx or the like, which sends X-Forwarded-For

  curl -F file=@letter.txt http://127.0.0.1:8000/report > report.html
  curl --json '{"text": "..."}' http://127.0.0.1:8000/v1/decode

The API is described at /docs (/openapi.json for programs); /metrics is for Prometheus, /healthz and /readyz for
whatever restarts it. Texts are neither kept nor logged. An updated registry is taken up within ten minutes. Behind a
proxy that is not trusted all clients have one address, and share its limits.
exit status: 0 stopped; 2 an error.
"""

_HELP = {
    "body": ("BYTES", "bytes of a request's body"),
    "characters": ("N", "characters of a text"),
    "tokens": ("N", "proxy tokens of a text"),
    "working": ("N", "requests that are decoded at once"),
    "waiting": ("N", "requests that wait for their turn; further ones are refused"),
    "per_client": ("N", "requests under way from one address"),
    "seconds": ("S", "seconds for a request, a slow body included"),
    "head_seconds": ("S", "seconds for a request's head to arrive"),
    "connections": ("N", "connections open at once, of one address a quarter of them"),
}


def _port(given: str) -> int:
    if not given.isdecimal() or int(given) >= 1 << 16:
        raise argparse.ArgumentTypeError(f"{given} is no port; ports run from 0 to {(1 << 16) - 1}")
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
        help="take the client's address from X-Forwarded-For where the request comes from these, comma-separated",
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
    """A listening socket; taken first, so that a port in use is known before a model is loaded."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=512)
    except socket.gaierror as error:
        raise CannotServe(f"{host} is no address of this machine ({error.strerror}); try 127.0.0.1") from error
    except OSError as error:
        raise CannotServe(
            f"cannot listen at {host} port {port}: {error}; another --port, or --port 0, may be free"
        ) from error


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def _serve(arguments: argparse.Namespace) -> None:
    limits = Limits(**{field.name: getattr(arguments, field.name) for field in fields(Limits)})
    profile = get_profile(arguments.profile)  # a wrong name fails before torch is loaded
    with closing(_bind(arguments.host, arguments.port)) as listener:
        try:
            import uvicorn

            from .app import create_app
            from .server import configure
        except ImportError as error:
            raise ExtraMissing(
                f"serving needs {error.name or error}; run: pip install 'ctwl-decoder[serve]'"
            ) from error
        from ctwl_protocol.proxy import open_proxy

        class Server(uvicorn.Server):
            async def startup(self, sockets: list[socket.socket] | None = None) -> None:
                await super().startup(sockets)
                print(f"ctwl-decode: serving {profile.name} at {_url(listener)} (Ctrl+C ends it)", flush=True)

        proxy = open_proxy(profile, path=arguments.proxy, device=arguments.device, fast=True)
        config = configure(
            create_app(proxy, limits), limits, access_log=arguments.access_log, trusted=arguments.trust_proxy
        )
        Server(config).run(sockets=[listener])


def _stop(*_: object) -> None:
    raise KeyboardInterrupt


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status when the service was stopped."""
    arguments = _parser().parse_args(argv)
    before = signal.signal(signal.SIGTERM, _stop)  # before uvicorn listens for it, and where it raises it at the end
    try:
        _serve(arguments)
    except CTWLError as error:
        print(f"ctwl-decode: {error.code}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 0
    finally:
        signal.signal(signal.SIGTERM, before)
    return 0

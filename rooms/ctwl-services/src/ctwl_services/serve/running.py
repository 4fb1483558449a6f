"""How a service is started: its options, its socket, and uvicorn until it is stopped."""

from __future__ import annotations

import argparse
import ipaddress
import logging
import socket
from contextlib import suppress
from typing import TYPE_CHECKING

from ctwl_protocol.command import closed_output_is_fine

from ..errors import CannotServe
from .limits import Limits

if TYPE_CHECKING:
    from starlette.types import ASGIApp


def add_service_options(parser: argparse.ArgumentParser, port: int) -> None:
    """Give a command the options that say where a service listens, and its limits."""
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (default 127.0.0.1, this machine)")
    parser.add_argument("--port", type=int, default=port, help=f"port; 0 takes a free one (default {port})")
    parser.add_argument(
        "--trust-proxy",
        metavar="ADDRESSES",
        help="comma-separated addresses and networks of reverse proxies: take the client's address from their "
        "X-Forwarded-For",
    )
    parser.add_argument("--access-log", action="store_true", help="log a line per request, without what was sent")
    limits = parser.add_argument_group("limits")
    for name, field in Limits.model_fields.items():
        limits.add_argument(
            f"--max-{name.replace('_', '-')}",
            dest=name,
            metavar="N",
            type=type(field.default),
            default=field.default,
            help=f"{field.description} (default {field.default:g})",
        )


def limits_of(arguments: argparse.Namespace) -> Limits:
    """The limits that were given.

    Raises:
        OptionOutOfRange: one is out of range.
    """
    return Limits(**{name: getattr(arguments, name) for name in Limits.model_fields})


def bind(host: str, port: int) -> socket.socket:
    """A listening socket, bound before a model is loaded, so that a port in use is reported at once.

    Raises:
        CannotServe: the address is not this machine's, or the port is in use or reserved.
    """
    if not 0 <= port < 1 << 16:
        raise CannotServe(f"{port} is not a port; ports are numbers from 0 to 65535")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=512)
    except (OSError, UnicodeError) as error:  # the look-up finds "no..host" to be no Unicode
        raise CannotServe(
            f"cannot listen at {host} port {port}: {error}; if another program has the port, --port 0 takes a free one"
        ) from error


def trusted_of(arguments: argparse.Namespace, listener: socket.socket) -> list[str] | None:
    """The reverse proxies that were named.

    Raises:
        OptionOutOfRange: one can be none.
    """
    from .server import trusted_proxies

    given = arguments.trust_proxy
    return None if given is None else trusted_proxies(given, listener.getsockname()[0])


def for_this_machine(app: ASGIApp, listener: socket.socket, trusted: list[str] | None) -> ASGIApp:
    """The app, which answers to names of this machine alone where it listens here, and no reverse proxy is named."""
    from .front import ThisMachine

    here = ipaddress.ip_address(listener.getsockname()[0]).is_loopback
    return ThisMachine(app) if here and trusted is None else app


def log_requests(*, access_log: bool) -> None:
    """Log errors; and where asked a line for each request, without what was sent."""
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.ERROR)
    logging.getLogger("python_multipart").setLevel(logging.CRITICAL)  # it would log bytes of a malformed form
    logging.getLogger(__package__).setLevel(logging.INFO if access_log else logging.ERROR)


def run_until_stopped(
    app: ASGIApp, limits: Limits, listener: socket.socket, trusted: list[str] | None, says: str
) -> None:
    """Serve an app until a signal ends it.

    Args:
        app: the app.
        limits: its limits.
        listener: see :func:`bind`.
        trusted: see :func:`trusted_of`.
        says: what is printed before the address when it has started.

    Raises:
        CannotServe: it does not start.
    """
    import uvicorn

    from .server import configure

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if not self.started:  # some versions of uvicorn return, others exit
                return
            host, port = listener.getsockname()[:2]
            url = f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
            with closed_output_is_fine():
                print(f"{says} at {url} (Ctrl+C ends it)")

    server = Server(configure(app, limits, trusted=trusted))
    with suppress(KeyboardInterrupt):  # uvicorn raises the signal again when it has shut down
        with suppress(SystemExit):  # of uvicorn, with a status of its own
            server.run(sockets=[listener])
        if not server.started:
            raise CannotServe("the service did not start; the log above says why")

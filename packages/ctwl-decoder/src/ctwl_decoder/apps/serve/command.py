"""``ctwl-decode serve``: the decoder as a web page and an HTTP API.

examples:
  ctwl-decode serve                                       http://127.0.0.1:8000/ for this machine
  ctwl-decode serve --profile org.ctwl.smollm2-135m.1     without a download
  ctwl-decode serve --host 0.0.0.0                        for a network that you trust
  ctwl-decode serve --trust-proxy 127.0.0.1               for the world, behind a reverse proxy on this machine

  ctwl-decode serve --manifests bindings.json             C2PA manifests of texts and codes, too

  curl -F file=@letter.txt http://127.0.0.1:8000/report > report.html
  curl --json '{"text": "..."}' http://127.0.0.1:8000/v1/decode
  curl 'http://127.0.0.1:8000/v1/resolve?code=43207'

The API is described at /docs (/openapi.json for programs). /metrics is for Prometheus, /healthz and /readyz are for
whatever restarts the service. Texts are neither kept nor logged. An updated registry is loaded within ten minutes.

A service that everyone can reach needs a reverse proxy such as nginx or Caddy in front; docs/readers/serve.md has
configurations of both. Name the reverse proxy's address with --trust-proxy, else all its clients share the limits of
one.

exit status: 0 the service was stopped; 2 an error.
"""  # noqa: D405 - as argparse writes its headings

from __future__ import annotations

import argparse
import logging
import socket
from collections.abc import Sequence
from contextlib import closing, suppress

from ctwl_protocol import get_profile
from ctwl_protocol.command import closed_output_is_fine, command_parser, help_in, run_command
from ctwl_protocol.environment import PROXY, REGISTRY

from ...errors import CannotServe, needing
from ...options import add_proxy_options
from .limits import Limits


def _parser() -> argparse.ArgumentParser:
    what = "Serve the decoder: a web page for people and an HTTP API for programs."
    parser = command_parser("ctwl-decode serve", what, help_in(__doc__), [*PROXY, REGISTRY])
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (default 127.0.0.1, this machine)")
    parser.add_argument("--port", type=int, default=8000, help="port; 0 takes a free one (default 8000)")
    add_proxy_options(parser)
    parser.add_argument(
        "--trust-proxy",
        metavar="ADDRESSES",
        help="comma-separated addresses and networks of reverse proxies: take the client's address from their "
        "X-Forwarded-For",
    )
    parser.add_argument(
        "--manifests",
        metavar="FILE",
        help="answer C2PA's Soft Binding Resolution API, from a JSON file that maps codes to manifests, or from a "
        "provider's own API (https://...), which is then asked",
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
    return parser


def _bind(host: str, port: int) -> socket.socket:
    """A listening socket, bound before a model is loaded, so that a port in use is reported at once.

    Raises:
        CannotServe: the address is not this machine's, or the port is in use or reserved.
    """
    if not 0 <= port < 1 << 16:
        raise CannotServe(f"{port} is not a port; ports are numbers from 0 to 65535")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=512)
    except OSError as error:
        raise CannotServe(
            f"cannot listen at {host} port {port}: {error}; if another program has the port, --port 0 takes a free one"
        ) from error


def _serve(arguments: argparse.Namespace) -> int:
    limits = Limits(**{name: getattr(arguments, name) for name in Limits.model_fields})
    profile = get_profile(arguments.profile)  # a wrong name fails before a model is loaded
    with closing(_bind(arguments.host, arguments.port)) as listener:
        with needing("serve", "serving"):
            import uvicorn

            from .app import create_app
            from .c2pa import manifests_of
            from .server import configure, trusted_proxies
        given = arguments.trust_proxy
        trusted = None if given is None else trusted_proxies(given, listener.getsockname()[0])
        from ctwl_protocol.proxy import open_proxy

        from ...decoder import Decoder

        class Server(uvicorn.Server):
            async def startup(self, sockets: list[socket.socket] | None = None) -> None:
                await super().startup(sockets)
                if not self.started:  # some versions of uvicorn return, others exit
                    return
                host, port = listener.getsockname()[:2]
                url = f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
                with closed_output_is_fine():
                    print(f"ctwl-decode: serving {profile.name} at {url} (Ctrl+C ends it)")

        logging.basicConfig(format="%(asctime)s %(message)s", level=logging.ERROR)
        logging.getLogger("python_multipart").setLevel(logging.CRITICAL)  # it would log bytes of a malformed form
        logging.getLogger(__package__).setLevel(logging.INFO if arguments.access_log else logging.ERROR)
        manifests = manifests_of(arguments.manifests, profile) if arguments.manifests else None
        proxy = open_proxy(profile, path=arguments.proxy, device=arguments.device)
        Decoder(proxy).load()  # what is missing is reported before anything is served
        config = configure(create_app(proxy, limits, manifests), limits, trusted=trusted)
        server = Server(config)
        with suppress(KeyboardInterrupt):  # uvicorn raises the signal again when it has shut down
            with suppress(SystemExit):  # of uvicorn, with a status of its own
                server.run(sockets=[listener])
            if not server.started:
                raise CannotServe("the service did not start; the log above says why")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status when the service was stopped."""
    arguments = _parser().parse_args(argv)
    return run_command("ctwl-decode", lambda: _serve(arguments), interrupted=0)  # a stop is not an error

"""``ctwl-decode serve``: the decoder as a web page and an HTTP API.

examples:
  ctwl-decode serve                                       http://127.0.0.1:8000/ for this machine
  ctwl-decode serve --profile org.ctwl.smollm2-135m.1     for texts of one profile
  ctwl-decode serve --host 0.0.0.0                        for a network that you trust
  ctwl-decode serve --trust-proxy 127.0.0.1               for the world, behind a reverse proxy on this machine

  ctwl-decode serve --manifests bindings.json --profile org.ctwl.smollm2-135m.1
                                                          C2PA manifests of texts and of a profile's codes, too
  ctwl-decode serve --ask                                 people may ask the providers' own detectors through it

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
from collections.abc import Sequence
from contextlib import closing

from ctwl_decoder.errors import OptionOutOfRange, needing
from ctwl_decoder.options import add_proxy_options, named_profiles
from ctwl_decoder.report import not_here
from ctwl_protocol.command import command_parser, help_in, note, run_command
from ctwl_protocol.environment import PROXY, REGISTRY

from ..ask.command import add_local
from .running import add_service_options, bind, for_this_machine, limits_of, log_requests, run_until_stopped, trusted_of


def _parser() -> argparse.ArgumentParser:
    what = "Serve the decoder: a web page for people and an HTTP API for programs."
    parser = command_parser("ctwl-decode serve", what, help_in(__doc__), [*PROXY, REGISTRY])
    add_service_options(parser, 8000)
    add_proxy_options(parser)
    parser.add_argument(
        "--manifests",
        metavar="FILE",
        help="answer C2PA's Soft Binding Resolution API, from a JSON file that maps codes to manifests, or from a "
        "provider's own API (https://...), which is then asked; for one --profile",
    )
    parser.add_argument(
        "--ask",
        action="store_true",
        help="let people and programs ask the detectors that the registry names, through "
        "this service, after their consent (default: it asks nobody)",
    )
    add_local(parser)
    return parser


def _serve(arguments: argparse.Namespace) -> int:
    limits = limits_of(arguments)
    profiles = named_profiles(arguments)  # a wrong name fails before a model is loaded
    if arguments.manifests and len(profiles or []) != 1:
        raise OptionOutOfRange("--manifests are of one profile's codes; name it: --profile NAME")
    with closing(bind(arguments.host, arguments.port)) as listener:
        with needing("serve", "serving"):
            from ..ask.wire import Network
            from .app import create_app
            from .c2pa import manifests_of
        trusted = trusted_of(arguments, listener)
        from ctwl_decoder import Decoders

        log_requests(access_log=arguments.access_log)
        manifests = manifests_of(arguments.manifests, profiles[0]) if arguments.manifests and profiles else None
        decoders = Decoders.open(profiles, proxy_path=arguments.proxy, device=arguments.device)
        for name, error in decoders.load().items():  # what is missing is reported before anything is served
            note(f"ctwl-decode: {not_here(name, error)}")
        proxies = [each.proxy for each in decoders.decoders]
        network = Network(dict(arguments.local)) if arguments.ask else None
        app = create_app(proxies, limits, manifests, network, optional=decoders.optional)
        guarded = for_this_machine(app, listener, trusted)
        names = " and ".join(each.profile.name for each in proxies)
        run_until_stopped(guarded, limits, listener, trusted, f"ctwl-decode: serving {names}")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status when the service was stopped."""
    arguments = _parser().parse_args(argv)
    return run_command("ctwl-decode", lambda: _serve(arguments), interrupted=0)  # a stop is not an error

"""``ctwl-detector``: a provider's own detector as a service that answers the questions of ``ctwl-decode ask``.

examples:
  ctwl-detector ours.json                                  http://127.0.0.1:8080/
  ctwl-detector ours.json --bearer tokens.txt              for those alone who have one of these tokens
  ctwl-detector ours.json --trust-proxy 127.0.0.1          for the world, behind a reverse proxy on this machine

ours.json holds the provider's number in the registry, and what the detector is; keep it as you keep keys:
  {"provider": 42, "kind": "kgw", "tokenizer": "model/", "hashing_key": 15485863}
  {"provider": 42, "kind": "synthid", "tokenizer": "model/", "keys": [654, 400, 836], "ngram_len": 5}
  {"provider": 42, "kind": "gumbel", "tokenizer": "model/", "key": 1234567}
  {"provider": 42, "kind": "ctwl", "profile": "mine.ctwl"}      "light": true reads quicker, and finds less
  {"provider": 42, "kind": "command", "command": ["our-detector", "--stdin"], "measured": true}
A command has the text on its standard input and the level as its last word, and prints
  {"error_rate": 0.003, "places": [[0, 812]], "says": "..."}
where error_rate is null if it cannot tell.

A reverse proxy in front ends TLS, and sends the path of the registry's address to /. Texts are neither kept nor logged.
/metrics is for Prometheus, /healthz and /readyz are for whatever restarts the service.

exit status: 0 the service was stopped; 2 an error.
"""  # noqa: D405 - as argparse writes its headings

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import closing

from ctwl_decoder.errors import OptionOutOfRange, needing
from ctwl_decoder.files import read_text
from ctwl_protocol.asking import is_token
from ctwl_protocol.command import command_parser, help_in, run_command
from ctwl_protocol.environment import PROXY

from ..serve.running import add_service_options, bind, limits_of, log_requests, run_until_stopped, trusted_of
from .settings import read_settings


def _parser() -> argparse.ArgumentParser:
    what = "Put a detector of your own behind the protocol that ctwl-decode ask speaks."
    parser = command_parser("ctwl-detector", what, help_in(__doc__), PROXY)
    parser.add_argument("file", metavar="FILE", help="a JSON file that describes the detector, see below")
    parser.add_argument("--bearer", metavar="FILE", help="bearer tokens, one a line; without it everybody may ask")
    parser.add_argument(
        "--rate", type=float, default=60.0, metavar="N", help="questions a minute of one asker (default 60)"
    )
    add_service_options(parser, 8080)
    return parser


def _tokens(file: str | None) -> list[str]:
    if file is None:
        return []
    tokens = [line.strip() for line in read_text(file).splitlines() if line.strip()]
    if not tokens or any(len(token) < 16 or not is_token(token) for token in tokens):
        wanted = "tokens of 16 characters or more, all printable ASCII without spaces, one a line"
        raise OptionOutOfRange(f"{file} must have {wanted}; draw them at random")
    return tokens


def _serve(arguments: argparse.Namespace) -> int:
    if not 1 <= arguments.rate <= 1e6:
        raise OptionOutOfRange("--rate lies between 1 and a million questions a minute")
    limits, tokens, settings = limits_of(arguments), _tokens(arguments.bearer), read_settings(arguments.file)
    with closing(bind(arguments.host, arguments.port)) as listener:
        with needing("detector", "a detector"):
            from .app import create_app
            from .detect import Detector
        trusted = trusted_of(arguments, listener)
        log_requests(access_log=arguments.access_log)
        app = create_app(Detector(settings, limits.tokens), limits, tokens=tokens, per_minute=arguments.rate)
        says = f"ctwl-detector: answering for provider {settings.provider} ({settings.kind})"
        run_until_stopped(app, limits, listener, trusted, says)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status when the service was stopped."""
    arguments = _parser().parse_args(argv)
    return run_command("ctwl-detector", lambda: _serve(arguments), interrupted=0)  # a stop is not an error

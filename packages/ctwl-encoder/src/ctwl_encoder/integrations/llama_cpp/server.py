"""``ctwl-llama-server``: the OpenAI-compatible server of llama-cpp-python, whose texts carry records.

It is that server, with all its options. A request may ask for another record, or for none, in HTTP headers.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from ctwl_protocol import CTWLError, published_names
from ctwl_protocol.command import command_parser, run_command
from ctwl_protocol.environment import PROFILE, PROXY

from ...arguments import add_options
from ...errors import ExtraMissing
from ...options import BeaconOptions, MarkingOptions
from ..request import PREFIX, Request

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["main"]

_PROG = "ctwl-llama-server"

_EPILOG = """\
all other options are those of llama-cpp-python's own server: python -m llama_cpp.server --help

examples:
  ctwl-llama-server --provider 42 --version 3 --model model.gguf --n_ctx 4096
  ctwl-llama-server --provider 42 --profile org.ctwl.smollm2-135m.1 --model model.gguf --port 8080

a request may have options of its own, as HTTP headers:
  ctwl-provider: 7      another provider; so do ctwl-version, ctwl-nonce, ctwl-strategy, ctwl-delta,
                        ctwl-skip-repeats, ctwl-layout and ctwl-codes
  ctwl-strategy: off    no mark
"""

_requested: ContextVar[dict[str, Any]] = ContextVar("requested", default={})  # noqa: B039 - it is never changed
"""The options of the request that is being served."""


def _parser() -> argparse.ArgumentParser:
    what = "Serve a GGUF model with llama-cpp-python; all that it writes carries a record."
    parser = command_parser(_PROG, what, _EPILOG, PROXY, version="--about")
    parser.allow_abbrev = False
    add_options(parser.add_argument_group("record"), BeaconOptions, BeaconOptions.model_fields)
    add_options(parser.add_argument_group("marking"), MarkingOptions, MarkingOptions.model_fields)
    proxy = parser.add_argument_group("proxy LM")
    proxy.add_argument(
        "--profile",
        default=PROFILE.value(),
        help=f"a published profile or a profile file; published: {', '.join(published_names())} "
        f"(default: ${PROFILE.name}, else the standard one)",
    )
    proxy.add_argument("--proxy", metavar="PATH", help="folder with the proxy LM's files, which only delta asks")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    arguments, rest = _parser().parse_known_args(argv)
    return run_command(_PROG, lambda: _run(arguments, rest))


def _run(arguments: argparse.Namespace, rest: Sequence[str]) -> int:
    typed = {name: getattr(arguments, name) for name in (*BeaconOptions.model_fields, *MarkingOptions.model_fields)}
    typed |= {"profile": arguments.profile, "proxy_path": arguments.proxy}
    given = {name: value for name, value in typed.items() if value is not None}
    options = Request.of_command(given).model_dump(include=set(given))
    serve(options, rest)
    return 0


def serve(options: dict[str, Any], arguments: Sequence[str]) -> None:
    """Run the engine's server.

    Args:
        options: of :class:`ctwl_encoder.integrations.request.Request`: what all requests write.
        arguments: the engine's own.

    Raises:
        ExtraMissing: llama-cpp-python or its server is not installed.
    """
    try:
        from llama_cpp.server import __main__ as engine
        from llama_cpp.server.model import LlamaProxy
        from starlette.exceptions import HTTPException

        from .processor import CTWLLogitsProcessor, mark_all
    except ImportError as error:
        raise ExtraMissing(
            f"there is no {error.name or error}; install the server with: pip install 'llama-cpp-python[server]'"
        ) from error

    class Processor(CTWLLogitsProcessor):
        """Its refusals are answered with status 400."""

        def begin(self, temperature: float) -> Any:
            try:
                return super().begin(temperature)
            except CTWLError as error:
                raise HTTPException(400, f"ctwl: {error}") from error

    load, create = LlamaProxy.load_llama_from_model_settings, engine.create_app

    def load_marked(settings: Any) -> Any:
        llama = load(settings)
        mark_all(llama, Processor(llama, requested=_requested.get, **options))
        return llama

    def create_listening(**settings: Any) -> Any:
        app = create(**settings)
        app.add_middleware(_Listening)
        return app

    LlamaProxy.load_llama_from_model_settings = staticmethod(load_marked)
    engine.create_app = create_listening
    sys.argv[:] = ["llama_cpp.server", *arguments]
    engine.main()


class _Listening:
    """ASGI: notes the options of each request, which are read where its text begins."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            named = ((name.decode("latin-1").replace("-", "_"), value) for name, value in scope["headers"])
            _requested.set({name: _value(value) for name, value in named if name.startswith(PREFIX)})
        await self._app(scope, receive, send)


def _value(header: bytes) -> Any:
    """An option's value: JSON, or else text."""
    text = header.decode("latin-1")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text

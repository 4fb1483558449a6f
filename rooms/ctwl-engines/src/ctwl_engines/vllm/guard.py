"""Before vLLM's server: the operator's object is checked before a model is loaded, and what the server marks is said.

Of requests, what stands in a wrong place is refused, and beam search where texts have to be marked.

A worker of vLLM loads this too, before it is ready for what the plug-in imports. So nothing of that is imported here.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

_MISSING = """to mark texts, start with --additional-config '{"ctwl": {"provider": 42}}'"""

_COMMANDS = "OPENAI_API_SERVER", "OPENAI_BATCH_RUNNER"
"""How vLLM's commands name themselves; others make an engine in a program of theirs, which may catch an error."""

_log = logging.getLogger(__name__)
_VLLMS = logging.getLogger("vllm.plugins.ctwl")
"""A part of vLLM's log, which shows what is no warning too."""


def guard_server() -> None:
    """Check what the operator decided, and let :class:`ctwl_engines.admission.Admission` stand before the server.

    vLLM calls this in each of its processes, before it reads its configuration and makes its server: entry point group
    ``vllm.general_plugins``.
    """
    arguments = sys.modules.get("vllm.engine.arg_utils")
    if arguments is not None:
        _check_first(arguments.EngineArgs)
    _admit_first()


def _check_first(arguments: Any) -> None:
    """Check the operator's object where vLLM makes its configuration: before it starts a worker.

    Args:
        arguments: vLLM's class of its engine's arguments. A worker makes no configuration.
    """
    make = arguments.create_engine_config

    def checked(self: Any, usage_context: Any = None, *rest: Any, **more: Any) -> Any:
        from ..start import begin, ending
        from .admission import policy_of

        said: list[str] = []
        with ending() if getattr(usage_context, "name", "") in _COMMANDS else nullcontext():
            # Of several processes that take requests in, the first is their parent, which has the number -1.
            if getattr(self, "_api_process_count", 1) == 1 or self._api_process_rank < 0:
                begin(policy_of(self.additional_config), said.append, _MISSING)
        made = make(self, usage_context, *rest, **more)  # vLLM opens its log here, if no command did
        for line in said:
            _VLLMS.info(line)
        return made

    arguments.create_engine_config = checked


def _admit_first() -> None:
    """Let the admission stand before the server that this process will run.

    Raises:
        CTWLError: when the server is made: see :func:`.admission.policy_of`.
    """
    server = sys.modules.get("vllm.entrypoints.launchers.app")
    if server is None:  # a worker
        return
    others = getattr(server, "init_entrypoints_middleware", None)
    if others is None:
        _log.error("ctwl: this vLLM makes its server in another way, so options in a wrong place are ignored")
        return

    def guarded(arguments: Any, app: Any, *rest: Any, **more: Any) -> None:
        from ..admission import Admission
        from .admission import policy_of

        policy = policy_of(arguments.additional_config)
        if policy is not None and not policy.may_be_off:
            _refuse_beams()
        app.add_middleware(Admission, place=_place)  # after authentication
        others(arguments, app, *rest, **more)

    server.init_entrypoints_middleware = guarded  # type: ignore[attr-defined]


def _refuse_beams() -> None:
    """Let every beam search fail, of a body or of a form; vLLM answers 400 with the message of a ValueError."""
    try:
        from vllm.entrypoints.generate.beam_search.online import BeamSearchOnlineMixin
    except ImportError:
        _log.error("ctwl: this vLLM has beam search in another place, so it is not refused, and not marked")
        return

    def refused(*_: Any, **__: Any) -> None:
        raise ValueError(
            "ctwl: beam search cannot be marked, and the operator of this server lets no client switch the mark off; "
            "leave use_beam_search out"
        )

    BeamSearchOnlineMixin.beam_search = refused


def _place(path: str) -> Sequence[str]:
    """Where a request to a path has its options."""
    return ("sampling_params", "extra_args") if path.endswith("/inference/v1/generate") else ("vllm_xargs",)

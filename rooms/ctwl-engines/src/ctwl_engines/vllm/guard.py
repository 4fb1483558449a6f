"""Before vLLM's server: what stands in a wrong place is refused, and beam search where texts have to be marked.

A worker of vLLM loads this too, before it is ready for what the plug-in imports. So nothing of that is imported here.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from typing import Any

_BEAMS = (
    "beam search cannot be marked, and the operator of this server lets no client switch the mark off; leave "
    "use_beam_search out"
)

_log = logging.getLogger(__name__)


def guard_server() -> None:
    """Let :class:`ctwl_engines.admission.Admission` stand before the server that this process will run.

    vLLM calls this in each of its processes, before it makes its server: entry point group ``vllm.general_plugins``.

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
        raise ValueError(f"ctwl: {_BEAMS}")

    BeamSearchOnlineMixin.beam_search = refused


def _place(path: str) -> Sequence[str]:
    """Where a request to a path has its options."""
    return ("sampling_params", "extra_args") if path.endswith("/inference/v1/generate") else ("vllm_xargs",)

"""Before vLLM's server: what stands in a wrong place is refused, and beam search where texts have to be marked.

A worker of vLLM loads this too, before it is ready for what the plug-in imports. So nothing of that is imported here.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from typing import Any

from ...errors import NotLeftToClients

__all__ = ["guard_server"]

_MOST_BYTES = 1 << 30
"""Of a request's body. Chosen by hand: pictures and films fit, and vLLM itself reads whatever comes."""

_BEAMS = (
    "beam search cannot be marked, and the operator of this server lets no client switch the mark off; leave "
    "use_beam_search out"
)

_log = logging.getLogger(__name__)


def guard_server() -> None:
    """Let :class:`ctwl_encoder.integrations.admission.Admission` stand before the server that this process will run.

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
        may_be_off = policy is None or policy.may_be_off

        def check(_: str, body: dict[str, Any]) -> None:
            if body.get("use_beam_search") and not may_be_off:
                raise NotLeftToClients(_BEAMS)

        app.add_middleware(Admission, check=check, place=_place, most_bytes=_MOST_BYTES)  # behind authentication
        others(arguments, app, *rest, **more)

    server.init_entrypoints_middleware = guarded  # type: ignore[attr-defined]


def _place(path: str) -> Sequence[str]:
    """Where a request to a path has its options."""
    return ("sampling_params", "extra_args") if path.endswith("/inference/v1/generate") else ("vllm_xargs",)

"""What others know of vLLM, and the command that ``ctwl-encode plan`` prints for it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

from ctwl_protocol.environment import Variable

from ..engine import Engine


def start(model: str, policy: Mapping[str, Any], sampling: Mapping[str, Any]) -> str:
    """The server; the sampling is that of requests that name none, the length is left to them."""
    told = {"--additional-config": {"ctwl": policy}, "--override-generation-config": {"top_k": 0, **sampling}}
    return shlex.join(["vllm", "serve", model, *(word for name in told for word in (name, json.dumps(told[name])))])


ENGINE = Engine(
    name="vLLM",
    tests="vllm",
    starts="entry points that vLLM loads; the object `ctwl` in its configuration",
    command="vllm serve",
    switch='"vllm_xargs": {"ctwl_strategy": "off"}',
    counters="`/metrics`, with the variable `PROMETHEUS_MULTIPROC_DIR`",
    unmarked="leave the object `ctwl` out",
    variables={
        Variable(
            "PROMETHEUS_MULTIPROC_DIR", "an empty folder, in which the processes of a vLLM server share their counters"
        ): "`/metrics` lacks the plug-in's counters"
    },
    start=start,
)

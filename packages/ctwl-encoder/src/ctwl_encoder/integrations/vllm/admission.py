"""The admission of vLLM's requests: checks each where it comes in, and notes what the workers need that serve it."""

from __future__ import annotations

import inspect
import json
import os
import secrets
import sys
from functools import lru_cache
from typing import Any

from pydantic import Field

from ctwl_protocol import get_profile
from ctwl_protocol.records.beacon import NONCE_COUNT

from ...core.expected_evidence import warn_of_short_text
from ...core.strategies import Strategy
from ...errors import OptionOutOfRange
from ...options import Options
from ..log import TextLog, began
from ..policy import OFF, Policy
from ..request import PREFIX, Request, own_options

__all__ = ["Admitted", "admit", "policy_of", "without_note"]

ADMITTED = f"{PREFIX}admitted"
"""The extra argument in which the plug-in notes an :class:`Admitted`; whatever a client writes there is replaced."""


def without_note(extra_args: dict[str, Any] | None) -> dict[str, Any]:
    """A request's own extra arguments; a note is an object, as no client can send one in ``vllm_xargs``."""
    given = extra_args or {}
    return {name: value for name, value in given.items() if name != ADMITTED or not isinstance(value, dict)}


_OPEN = (0, 1.0, 0.0)
"""Top-k, top-p and min-p that leave nothing out."""

_logs: dict[tuple[int, str, str], TextLog] = {}


class Admitted(Options):
    """What is noted of a request where it comes in, so that all workers agree.

    vLLM gives completion ``i`` of one request (``n``) the seed of the request plus ``i``, and nothing else that tells
    completions apart. So a request for several without a seed gets one, and completion ``i`` has the nonce plus ``i``,
    and the salt plus ``i``.

    ``unbiased`` and ``gumbel`` must run after top-k, top-p and min-p. vLLM runs plug-ins before, so the plug-in
    truncates by itself, and vLLM's truncation is switched off.
    """

    nonce: int = Field(0, ge=0, lt=NONCE_COUNT)
    salt: int = Field(0, ge=0, lt=1 << 32)
    seed: int | None = None
    drawn: bool = False
    """Whether the seed is the plug-in's."""
    top_k: int = Field(0, ge=-1)
    top_p: float = Field(1.0, gt=0, le=1)
    min_p: float = Field(0.0, ge=0, le=1)
    name: str = ""
    """The request's id in vLLM."""
    process: str = ""
    line: int = 0
    """In the log of texts, the process and the number of the line of the request's first completion."""

    @classmethod
    def of(cls, extra_args: dict[str, Any] | None) -> Admitted | None:
        """What was noted; None where nothing was, or something else (a client can write there too)."""
        try:
            return cls.model_validate((extra_args or {}).get(ADMITTED))
        except OptionOutOfRange:
            return None

    @property
    def truncation(self) -> tuple[int, float, float]:
        """Top-k, top-p and min-p."""
        return self.top_k, self.top_p, self.min_p

    def number_of(self, seed: int | None) -> int:
        """The number of the request's completion that has this seed."""
        return 0 if self.seed is None or seed is None else seed - self.seed

    def drawn_for(self, number: int) -> tuple[int, int]:
        """The nonce and the salt of the request's completion of this number."""
        return (self.nonce + number) % NONCE_COUNT, (self.salt + number) % (1 << 32)


def admit(params: Any) -> None:
    """Check a request, take over what the plug-in does in vLLM's place, and note in its arguments what workers need.

    Raises:
        CTWLError: what is wrong and what to do.
    """
    _restore(params)
    engine, name = _engine_and_name()
    policy = None if engine is None else policy_of(engine.additional_config)
    asked = without_note(params.extra_args)
    if policy is None:
        own = own_options(asked)
        if own and own.get("strategy") != OFF:
            raise OptionOutOfRange(
                """this server was not told to serve CTWL records; start it with --additional-config '{"ctwl": """
                """{"provider": 42}}'"""
            )
        return
    request = policy.request(asked, params.temperature)
    if request is None:
        if policy.log is not None:
            _log_of(policy).write([began(policy, name, None)] * params.n)
        return
    _refuse_unsupported(engine, request.strategy)
    profile, codes, most = get_profile(request.profile), len(request.codes or (0,)), params.max_tokens or sys.maxsize
    warn_of_short_text(profile, request.strategy, codes, most, temperature=params.temperature, option="max_tokens")
    note = _take_over(request, params)
    if policy.log is not None:
        payloads = [request.payload(*note.drawn_for(number)) for number in range(params.n)]
        process, line = _log_of(policy).write([began(policy, name, request, each) for each in payloads])
        note = note.model_copy(update={"name": name, "process": process, "line": line})
    params.extra_args = {**(params.extra_args or {}), ADMITTED: note.model_dump()}


def _take_over(request: Request, params: Any) -> Admitted:
    """Draw the request's nonce, salt and, where needed, seed; take truncation over."""
    drawn = params.n > 1 and params.seed is None
    if drawn:
        params.seed = secrets.randbits(31)
    noted = {"nonce": secrets.randbelow(NONCE_COUNT), "salt": secrets.randbits(32), "seed": params.seed, "drawn": drawn}
    if request.strategy.keeps_distribution:
        noted |= {"top_k": params.top_k, "top_p": params.top_p, "min_p": params.min_p}
        params.top_k, params.top_p, params.min_p = _OPEN
    return Admitted.model_construct(**noted)


def _restore(params: Any) -> None:
    """Undo what an earlier :func:`admit` changed: a client in the same process may use its parameters again."""
    before = Admitted.of(params.extra_args)
    if before is not None:
        if (params.top_k, params.top_p, params.min_p) == _OPEN:
            params.top_k, params.top_p, params.min_p = before.truncation
        if before.drawn and params.seed == before.seed:
            params.seed = None
    if params.extra_args and ADMITTED in params.extra_args:
        params.extra_args = without_note(params.extra_args) or None


def _refuse_unsupported(config: Any, strategy: Strategy) -> None:
    """Refuse to mark where this engine cannot: OptionOutOfRange, with what to change."""
    if config.speculative_config is not None and not config.use_v2_model_runner:
        raise OptionOutOfRange(
            "the V1 model runner runs no plug-in under speculative decoding; serve with VLLM_USE_V2_MODEL_RUNNER=1 or "
            "without --speculative-config"
        )
    if config.scheduler_config.async_scheduling and not config.use_v2_model_runner:
        raise OptionOutOfRange(
            "the V1 model runner does not tell a plug-in the last tokens under async scheduling; serve with "
            "--no-async-scheduling or VLLM_USE_V2_MODEL_RUNNER=1"
        )
    shared_out = getattr(config.parallel_config, "enable_batch_sharded_sampling", False)  # not every vLLM has it
    if shared_out and not strategy.keeps_distribution:
        raise OptionOutOfRange(
            f"{strategy} asks the proxy LM, which all workers do together, and this server shares its requests out "
            "among them; serve without --enable-batch-sharded-sampling, or sample with unbiased or gumbel"
        )


def policy_of(additional: Any) -> Policy | None:
    """What the operator decided in the server's additional configuration; None where that has no ``ctwl`` object.

    Raises:
        CTWLError: it is no object, or see :class:`ctwl_encoder.integrations.policy.Policy`.
    """
    found = additional.get("ctwl") if isinstance(additional, dict) else None
    if found is None:
        return None
    if not isinstance(found, dict):
        raise OptionOutOfRange('additional_config["ctwl"] must be an object, as {"provider": 42, "version": 3}')
    return _policy(json.dumps(found))


@lru_cache(maxsize=16)
def _policy(told: str) -> Policy:
    """A server has one; it is asked for at each request."""
    return Policy(**json.loads(told))


def _log_of(policy: Policy) -> TextLog:
    """The log of this process: each of a server's processes that take requests in has its own."""
    key = os.getpid(), str(policy.log), policy.digest
    if key not in _logs:
        _logs[key] = TextLog(policy, wait=True)
    return _logs[key]


def _engine_and_name() -> tuple[Any, str]:
    """The engine's configuration, and the id of the request that is being validated; None where there is none.

    ``validate_params`` is a class method that vLLM (0.32) calls in the front-end process with the request alone; only
    the workers' ``__init__`` gets the configuration. Without it, neither what the operator decided nor what the engine
    cannot do would be known here. So the caller's frames are searched for it; remove this when vLLM passes it.
    """
    config, frame = None, inspect.currentframe()
    while frame is not None:
        known = frame.f_locals
        if config is None:
            found = getattr(known.get("self"), "vllm_config", None)
            config = found if hasattr(found, "scheduler_config") else None
        if config is not None and "request_id" in known:
            return config, str(known["request_id"])
        frame = frame.f_back
    return config, ""

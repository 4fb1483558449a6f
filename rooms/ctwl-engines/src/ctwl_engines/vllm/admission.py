"""The admission of vLLM's requests: checks each where it comes in, and notes what the workers need that serve it."""

from __future__ import annotations

import inspect
import json
import secrets
from traceback import walk_stack
from typing import Any

from ctwl_encoder import Strategy
from ctwl_encoder.errors import OptionOutOfRange

from ..form import is_fixed
from ..note import NOTED, TRUNCATION, Note, admitted, temperature_of, warn_if_short, without_note
from ..policy import OFF, Policy, read_policy
from ..request import own_options

_OPEN = 0, 1.0, 0.0
"""Top-k, top-p and min-p that leave nothing out."""


class SeededNote(Note):
    """The note of a request, among its extra arguments.

    vLLM gives completion ``i`` of one request (``n``) the seed of the request plus ``i``, and nothing else that tells
    completions apart. So a request for several without a seed gets one.

    Attributes:
        seed: the request's.
        own_seed: whether the seed is the plug-in's.
    """

    seed: int | None = None
    own_seed: bool = False

    def number_of(self, seed: int | None) -> int:
        """The number of the request's completion that has this seed."""
        return 0 if self.seed is None or seed is None else seed - self.seed


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
    temperature = temperature_of(params)
    request = admitted(policy, asked, temperature, name, params.n, fixed_form=has_fixed_form(params))
    if request is None:
        return
    _refuse_unsupported(engine, request.strategy)
    warn_if_short(request, params.max_tokens, temperature, "max_tokens")
    taken: dict[str, Any] = {}
    if params.n > 1 and params.seed is None:
        params.seed, taken["own_seed"] = secrets.randbits(31), True
    if request.strategy.keeps_distribution:
        taken |= {each: getattr(params, each) for each in TRUNCATION}
        params.top_k, params.top_p, params.min_p = _OPEN
    note = SeededNote.drawn(name, seed=params.seed, **taken).logged(policy, request, params.n)
    params.extra_args = {**(params.extra_args or {}), NOTED: note.model_dump()}


def has_fixed_form(params: Any) -> bool:
    """Whether a request's answer has a fixed form. A response format and a call that is required stand there too."""
    asked = params.structured_outputs  # has one of the ways to say a form
    return asked is not None and (asked.structural_tag is None or is_fixed(tag=asked.structural_tag))


def _restore(params: Any) -> None:
    """Undo what an earlier :func:`admit` changed: a client in the same process may use its parameters again."""
    before = SeededNote.of(params.extra_args)
    if before is not None:
        if (params.top_k, params.top_p, params.min_p) == _OPEN:
            params.top_k, params.top_p, params.min_p = (getattr(before, each) for each in TRUNCATION)
        if before.own_seed and params.seed == before.seed:
            params.seed = None
    if params.extra_args and NOTED in params.extra_args:
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
            "among them; serve without --enable-batch-sharded-sampling, or sample with race"
        )


def policy_of(additional: Any) -> Policy | None:
    """What the operator decided in the server's additional configuration; None where that has no ``ctwl`` object.

    Raises:
        CTWLError: see :func:`ctwl_engines.policy.read_policy`.
    """
    found = additional.get("ctwl") if isinstance(additional, dict) else None
    return None if found is None else read_policy(json.dumps(found))


def _engine_and_name() -> tuple[Any, str]:
    """The engine's configuration, and the id of the request that is being validated; None where there is none.

    ``validate_params`` is a class method that vLLM (0.32) calls in the front-end process with the request alone; only
    the workers' ``__init__`` gets the configuration. Without it, neither what the operator decided nor what the engine
    cannot do would be known here. So the caller's frames are searched for it; remove this when vLLM passes it.
    """
    config = None
    for frame, _ in walk_stack(inspect.currentframe()):
        known = frame.f_locals
        if config is None:
            found = getattr(known.get("self"), "vllm_config", None)
            config = found if hasattr(found, "scheduler_config") else None
        if config is not None and "request_id" in known:
            return config, str(known["request_id"])
    return config, ""

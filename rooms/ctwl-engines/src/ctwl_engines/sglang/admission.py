"""The admission of SGLang's requests: checks each where it goes to the workers, and notes there what they need."""

from __future__ import annotations

import copy
from typing import Any

from sglang.srt.constants import HEALTH_CHECK_RID_PREFIX
from sglang.srt.managers.io_struct import TokenizedGenerateReqInput
from sglang.srt.sampling.sampling_params import TOP_K_ALL

from ctwl_encoder.errors import OptionOutOfRange
from ctwl_protocol import CTWLError

from ..form import is_fixed
from ..note import NOTED, TRUNCATION, Note, admitted, temperature_of, warn_if_short, without_note
from ..policy import Policy, read_policy
from .about import POLICY


def policy_of() -> Policy:
    """What the operator has decided.

    Raises:
        CTWLError: see :func:`ctwl_engines.policy.read_policy`.
    """
    return read_policy(POLICY.value() or "")


def has_fixed_form(params: Any) -> bool:
    """Whether a request's answer has a fixed form. A response format and a call that is required stand there too."""
    return is_fixed(params.json_schema, params.regex, params.ebnf, tag=params.structural_tag)


def admit(tokenized: Any) -> None:
    """Check a request, take over what the plug-in does in SGLang's place, and note what the workers need.

    Raises:
        ValueError: what is wrong and what to do.
    """
    if not isinstance(tokenized, TokenizedGenerateReqInput):
        return
    # The texts that a request asks for (n) share one object. A client may have written a note.
    params = tokenized.sampling_params = copy.copy(tokenized.sampling_params)
    params.custom_params = without_note(params.custom_params) or None
    if tokenized.rid.startswith(HEALTH_CHECK_RID_PREFIX) and params.max_new_tokens == 1:
        return  # SGLang's own; a client that names its request so gets one token, which carries nothing
    try:
        _admit(tokenized, params)
    except CTWLError as error:
        raise ValueError(f"ctwl: {error}") from error


def _admit(tokenized: Any, params: Any) -> None:
    policy, given = policy_of(), params.custom_params or {}
    if params.max_new_tokens == 0:  # a prompt is read and nothing written
        policy.request(given, temperature_of(params))
        return
    request = admitted(policy, given, temperature_of(params), tokenized.rid, fixed_form=has_fixed_form(params))
    if request is None:
        return
    if (params.beam_width or 1) > 1:
        raise OptionOutOfRange("beam search cannot be marked; leave beam_width out")
    warn_if_short(request, params.max_new_tokens, temperature_of(params), "max_new_tokens")
    taken: dict[str, Any] = {}
    if request.strategy.keeps_distribution:
        taken = {each: getattr(params, each) for each in TRUNCATION}
        params.top_k, params.top_p, params.min_p = TOP_K_ALL, 1.0, 0.0
    note = Note.drawn(tokenized.rid, **taken).logged(policy, request)
    params.custom_params = {**given, NOTED: note.model_dump()}

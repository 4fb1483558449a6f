"""The rows of SGLang's batches: each is of a request that has the list of its tokens."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import torch
from sglang.srt.environ import envs
from sglang.srt.runtime_context import get_disagg, get_exec, get_parallel, get_schedule, get_serving, get_spec

from ctwl_encoder import PROMPT_TOKENS, open_bridge
from ctwl_encoder.errors import OptionOutOfRange

from ..note import Note, temperature_of, without_note
from ..served import Served
from ..serving import Serving, together
from ..truncation import keep_top, truncated
from .admission import has_fixed_form, policy_of


class Rows:
    """What the rows of a worker's batches go on from.

    Attributes:
        served: by SGLang's requests, their texts; None where they are not marked. A request that SGLang drops without a
            word leaves nothing here.
    """

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self.served: MutableMapping[Any, Served | None] = WeakKeyDictionary()

    def mark(self, logits: torch.Tensor, requests: Sequence[Any]) -> None:
        """Mark the rows of a step, in place.

        Args:
            logits: float (rows, size), before temperature and truncation.
            requests: SGLang's own, one for each row.
        """
        for request in requests:
            if request not in self.served:
                served = self.served[request] = self._begin(request.sampling_params)
                if served is not None:
                    served.follow(list(request.origin_input_ids[-PROMPT_TOKENS:]))
        self._read(requests)  # nothing is new but where SGLang went back
        found = enumerate(self.served[request] for request in requests)
        self._serving.mark(logits, {row: (served, served.text) for row, served in found if served is not None})
        self._serving.end_step(logits.device)

    def drawn(self, requests: Sequence[Any]) -> None:
        """The tokens of a step are known. The texts of requests that are finished are finished.

        They are read now and not before the next step: another batch may be marked before these texts go on, and the
        device forgets what a text was offered.
        """
        self._read(requests)
        for request in requests:
            if request.finished():
                self.leave(request)

    def leave(self, request: Any) -> None:
        """A request is finished, or given up before."""
        served = self.served.pop(request, None)
        if served is not None:
            served.finish()

    def _read(self, requests: Sequence[Any]) -> None:
        found = [(served, request) for request in requests if (served := self.served.get(request)) is not None]
        new = [served.new_in(request.output_ids) for served, request in found]
        self._serving.extend([served for served, _ in found], new)

    def _begin(self, params: Any) -> Served | None:
        given = params.custom_params
        note, fixed = Note.of(given), has_fixed_form(params)
        return self._serving.begin(without_note(given), temperature_of(params), note, fixed_form=fixed)


def open_rows(runner: Any) -> Rows:
    """The rows of a worker.

    Args:
        runner: SGLang's own model runner, of this worker.

    Raises:
        CTWLError: the operator has told what cannot be done.
    """
    _refuse_unsupported()
    policy, group = policy_of(), get_parallel().attn_tp_group
    bridge = open_bridge(policy.profile, get_serving().tokenizer_path, policy.proxy_path, policy.device)
    agree = bool if group.world_size == 1 else together(group.cpu_group)
    serving = Serving(policy, bridge, noting=group.rank_in_group == 0, agree=agree, truncate=_TRUNCATE)
    serving.warm_up(runner.model_config.vocab_size, torch.device(runner.device))
    return Rows(serving)


def _refuse_unsupported() -> None:
    """Refuse to start where this engine cannot be marked: OptionOutOfRange, with what to change."""
    by_grpc = [getattr(get_serving(), f"{name}grpc_mode", False) for name in ("smg_", "")]
    refused = {
        "this kind of server does not let a plug-in check its requests; serve without SGLANG_RUST_SERVER, "
        "--smg-grpc-mode and --grpc-mode": envs.SGLANG_RUST_SERVER.get() or any(by_grpc),
        "the overlap scheduler does not tell a plug-in the last tokens; serve with --disable-overlap-schedule":
            not get_schedule().disable_overlap_schedule,
        "a text cannot be marked where its tokens are not drawn one by one; serve without --speculative-algorithm and "
        "--dllm-algorithm": (get_spec().speculative_algorithm, get_exec().dllm.dllm_algorithm) != (None, None),
        "a text cannot be marked where other processes begin it; serve without --pp-size and --disaggregation-mode":
            get_parallel().pp_size > 1 or get_disagg().disaggregation_mode != "null",
    }  # fmt: skip
    if advice := next((advice for advice, asked in refused.items() if asked), None):
        raise OptionOutOfRange(advice)


def _joint(logits: torch.Tensor, top_k: torch.Tensor | None, top_p: torch.Tensor | None) -> torch.Tensor:
    """Top-k and top-p as SGLang does them: each of the whole distribution."""
    return torch.minimum(keep_top(logits, top_k, None), keep_top(logits, None, top_p))


_TRUNCATE = partial(truncated, top_k_top_p=_joint, min_p_last=True)
"""As SGLang does it."""

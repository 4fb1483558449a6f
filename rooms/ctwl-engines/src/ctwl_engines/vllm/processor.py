"""The vLLM plug-in: every request of a server carries a record, its own or the server's (docs/providers/vllm.md).

vLLM finds it through the entry point group ``vllm.logits_processors``. It serves where the server's configuration has a
``ctwl`` object. One class serves both of vLLM's model runners: V1 constructs it with a device and calls
``update_state`` and ``apply(logits)``, V2 constructs it with its request buffers and calls ``add_request`` and
``apply(logits, context)``. Requests are checked in :meth:`CTWLLogitsProcessor.validate_params`, where they come in.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from vllm.distributed.parallel_state import get_tp_group
from vllm.v1.sample import logits_processor as v1
from vllm.v1.sample.ops.topk_topp_sampler import apply_top_k_top_p
from vllm.v1.worker.gpu.sample import logits_processor as v2

from ctwl_encoder import open_bridge
from ctwl_protocol import CTWLError

from ..note import temperature_of, without_note
from ..parts import Part
from ..policy import Policy
from ..served import Served
from ..serving import Serving, together
from ..truncation import truncated
from .admission import SeededNote, admit, has_fixed_form, policy_of
from .rows_v1 import RowsV1
from .rows_v2 import RowsV2, calls_of_a_step


class CTWLLogitsProcessor(v2.LogitsProcessor, v1.LogitsProcessor):  # type: ignore[misc]
    """Marks the rows of requests that carry a record; see the module's text.

    Attributes:
        serving: what marks them; None where the server was not told to.
        rows: what they go on from: V1's or V2's.
    """

    def __init__(self, vllm_config: Any, *runner: Any) -> None:
        """Called by vLLM: ``runner`` is (request states,) from V2, (device, pinned memory) from V1."""
        policy = policy_of(vllm_config.additional_config)
        self.serving = None if policy is None else _serving(policy, vllm_config)
        self.rows: Any = None
        if self.serving is not None:
            v2_runs = len(runner) == 1
            self.rows = RowsV2(self.serving, runner[0], vllm_config) if v2_runs else RowsV1(self.serving)
            self._device: torch.device = runner[0].device if v2_runs else runner[0]
            self.serving.warm_up(vllm_config.model_config.get_vocab_size(), self._device)

    @classmethod
    def validate_params(cls, sampling_params: Any) -> None:
        """Check a request where it comes in; vLLM answers 400 with the message, and copies the parameters afterwards.

        Raises:
            ValueError: what is wrong and what to do.
        """
        try:
            admit(sampling_params)
        except CTWLError as error:
            raise ValueError(f"ctwl: {error}") from error

    def is_argmax_invariant(self) -> bool:
        """V1: marking changes the best token."""
        return False

    def add_request(self, req_idx: int, sampling_params: Any) -> bool:
        """V2: a request comes into a slot; whether it is marked."""
        if self.serving is None:
            return False
        served = self._begin(sampling_params)
        self.rows.add(req_idx, served)
        return served is not None

    def update_state(self, batch_update: Any) -> None:
        """V1: requests that left, came and moved, in this order."""
        if batch_update is None or self.serving is None:
            return
        for row in batch_update.removed:
            self.rows.leave(row)
        for row, params, prompt, output in batch_update.added:
            self.rows.add(row, self._begin(params), prompt, output)
        for one, other, direction in batch_update.moved:
            self.rows.move(one, other, direction)

    def _begin(self, params: Any) -> Served | None:
        """The text of a request; None where it is not marked."""
        found = SeededNote.of(params.extra_args)
        note = None if found is None else found.of_text(found.number_of(params.seed))
        assert self.serving is not None  # noqa: S101 - its callers know
        given, fixed = without_note(params.extra_args), has_fixed_form(params)
        return self.serving.begin(given, temperature_of(params), note, fixed_form=fixed)

    def apply(self, logits: torch.Tensor, ctx: Any = None) -> torch.Tensor:
        """Mark the rows of one step.

        Args:
            logits: float (rows, size), before temperature and truncation.
            ctx: V2's layout of the batch; V1 has none.
        """
        if self.serving is not None:
            self.serving.mark(logits, self.rows.of_step(len(logits) if ctx is None else ctx))
            if ctx is None:
                self.serving.end_step(logits.device)
        return logits

    def apply_staged_writes(self) -> None:
        """V2, once a step before the forward pass: the tokens of the step before are on the device from here on."""
        if self.serving is not None:
            self.serving.end_step(self._device)


def _tags(vllm_config: Any) -> dict[int, tuple[Part, bool]]:
    """The tags that the server's parser of reasoning knows, where each is a token; there is none without the option."""
    known = getattr(vllm_config, "reasoning_config", None)
    names = {"reasoning_start_token_ids": True, "natural_reasoning_end_token_ids": False}
    found: dict[bool, list[int]] = {opens: getattr(known, name, None) or [] for name, opens in names.items()}
    return {ids[0]: (Part.REASONING, opens) for opens, ids in found.items() if len(ids) == 1}


def _serving(policy: Policy, vllm_config: Any) -> Serving:
    """What marks the rows of this worker.

    Raises:
        CTWLError: what the operator told cannot be done.
    """
    model, parallel = vllm_config.model_config, vllm_config.parallel_config
    alone = parallel.tensor_parallel_size == 1
    shared_out = getattr(parallel, "enable_batch_sharded_sampling", False)
    bridge = open_bridge(
        policy.profile, str(model.tokenizer), policy.proxy_path, policy.device, model.tokenizer_revision
    )
    return Serving(
        policy,
        bridge,
        noting=alone or shared_out or get_tp_group().rank_in_group == 0,
        kept=calls_of_a_step(vllm_config),
        agree=bool if alone else together(get_tp_group().cpu_group),
        truncate=partial(truncated, top_k_top_p=apply_top_k_top_p),  # a kernel where there is Triton
        tags=_tags(vllm_config),
    )

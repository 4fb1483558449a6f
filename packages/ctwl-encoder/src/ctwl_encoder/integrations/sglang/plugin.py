"""The SGLang plug-in: every request of a server carries a record, its own or the server's (docs/providers/sglang.md).

SGLang finds it through the entry point group ``sglang.srt.plugins``, and calls :func:`register` in each of its
processes. It hooks where requests go to the workers, where a worker is made, and around the sampling of a step.
"""

from __future__ import annotations

from typing import Any

import torch
from sglang.srt.disaggregation.utils import DisaggregationMode
from sglang.srt.plugins.hook_registry import HookRegistry, HookType
from sglang.srt.runtime_context import get_parallel, get_serving

from ctwl_protocol.environment import POLICY

from ...errors import OptionOutOfRange
from ...models import open_bridge
from ..serving import Serving, together
from ..truncation import keep_top
from .admission import admit, policy_of
from .rows import Rows

__all__ = ["register"]


def register() -> None:
    """Hook into this process of SGLang, where the operator has told a policy."""
    if POLICY.value() is None:
        return
    managers, runs = "sglang.srt.managers", "sglang.srt.model_executor"
    for target, hook, kind in (
        (f"{managers}.tokenizer_manager.TokenizerManager._send_one_request", _admit_one, HookType.BEFORE),
        (f"{managers}.tokenizer_manager.TokenizerManager._send_batch_request", _admit_many, HookType.BEFORE),
        (f"{managers}.scheduler.Scheduler.__init__", _open, HookType.AFTER),
        (f"{managers}.scheduler.Scheduler.process_batch_result", _finish, HookType.AFTER),
        (f"{runs}.forward_batch_info.ForwardBatch.init_new", _note_rows, HookType.AFTER),
        (f"{runs}.model_runner.ModelRunner._preprocess_logits", _mark, HookType.AFTER),
    ):
        HookRegistry.register(target, hook, kind)


def _admit_one(_: Any, tokenized: Any) -> None:
    """A request goes to the workers; SGLang answers 400 with the message of a ValueError."""
    admit(tokenized)


def _admit_many(_: Any, tokenized: list[Any]) -> None:
    for one in tokenized:
        admit(one)


def _open(_: None, scheduler: Any, *__: Any, **___: Any) -> None:
    """A worker is ready: open what marks its rows. What fails here keeps the server from starting.

    Raises:
        CTWLError: the operator has told what cannot be done.
    """
    _refuse_unsupported(scheduler)
    policy, runner, group = policy_of(), scheduler.tp_worker.model_runner, scheduler.attn_tp_group
    bridge = open_bridge(policy.profile, get_serving().tokenizer_path, policy.proxy_path, policy.device)
    serving = Serving(
        policy,
        bridge,
        noting=group.rank_in_group == 0,
        agree=bool if group.world_size == 1 else together(group.cpu_group),
        top_k_top_p=_joint,
    )
    serving.warm_up(runner.model_config.vocab_size, torch.device(runner.device))
    runner.ctwl = Rows(serving)


def _refuse_unsupported(scheduler: Any) -> None:
    """Refuse to start where this engine cannot be marked: OptionOutOfRange, with what to change."""
    if scheduler.enable_overlap:
        raise OptionOutOfRange(
            "the overlap scheduler does not tell a plug-in the last tokens; serve with --disable-overlap-schedule"
        )
    if not scheduler.spec_algorithm.is_none() or scheduler.dllm_config is not None:
        raise OptionOutOfRange(
            "a text cannot be marked where its tokens are not drawn one by one; serve without "
            "--speculative-algorithm and --dllm-algorithm"
        )
    if get_parallel().pp_size > 1 or scheduler.disaggregation_mode != DisaggregationMode.NULL:
        raise OptionOutOfRange(
            "a text cannot be marked where other processes begin it; serve without --pp-size and --disaggregation-mode"
        )


def _joint(logits: torch.Tensor, top_k: torch.Tensor | None, top_p: torch.Tensor | None) -> torch.Tensor:
    """Top-k and top-p as SGLang does them: each of the whole distribution."""
    return torch.minimum(keep_top(logits, top_k, None), keep_top(logits, None, top_p))


def _note_rows(forward: Any, _: Any, batch: Any, *__: Any, **___: Any) -> None:
    """A batch goes to the model: what samples its logits sees the requests of their rows."""
    if forward.sampling_info is not None:
        forward.sampling_info.ctwl = list(batch.reqs)


def _mark(_: Any, runner: Any, output: Any, info: Any, *__: Any, **___: Any) -> None:
    """Grammar, penalties and biases have changed a step's logits: mark them, before temperature and the draw."""
    rows, requests = getattr(runner, "ctwl", None), getattr(info, "ctwl", None)
    if rows is not None and requests is not None:
        rows.mark(output.next_token_logits, requests)


def _finish(_: None, scheduler: Any, batch: Any, *__: Any) -> None:
    """The tokens of a step are known: finish the texts that they end."""
    scheduler.tp_worker.model_runner.ctwl.leave(batch.reqs)

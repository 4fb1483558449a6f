"""The SGLang plug-in: every request of a server carries a record, its own or the server's (docs/providers/sglang.md).

SGLang finds it through the entry point group ``sglang.srt.plugins``, and calls :func:`register` in each of its
processes. It hooks where a server's options are checked, before it loads a model; where requests go to the workers;
where a worker is made; and around the sampling of a step.
"""

from __future__ import annotations

import logging
from typing import Any

from sglang.srt.plugins.hook_registry import HookRegistry, HookType

from ..start import begin, ending
from .about import POLICY
from .admission import admit, policy_of

_log = logging.getLogger(__name__)


def register() -> None:
    """Hook into this process of SGLang; but for the line at the start only where the operator has told a policy."""
    HookRegistry.register("sglang.srt.server_args.ServerArgs.check_server_args", _begin, HookType.AFTER)
    if POLICY.value() is None:
        return
    managers, runs = "sglang.srt.managers", "sglang.srt.model_executor"
    for target, hook, kind in (
        (f"{managers}.tokenizer_manager.TokenizerManager._send_one_request", _admit_one, HookType.BEFORE),
        (f"{managers}.tokenizer_manager.TokenizerManager._send_batch_request", _admit_many, HookType.BEFORE),
        (f"{managers}.scheduler.Scheduler.__init__", _open, HookType.AFTER),
        (f"{managers}.scheduler.Scheduler.process_batch_result", _drawn, HookType.AFTER),
        (f"{managers}.scheduler.Scheduler._release_aborted_request", _leave, HookType.AFTER),
        (f"{runs}.forward_batch_info.ForwardBatch.init_new", _note_rows, HookType.AFTER),
        (f"{runs}.model_runner.ModelRunner._preprocess_logits", _mark, HookType.AFTER),
    ):
        HookRegistry.register(target, hook, kind)


def _begin(*_: Any, **__: Any) -> None:
    """A server is about to start its workers: check what the operator decided, and say it.

    SGLang calls this once in a server. An error ends the process, as SGLang itself does where a worker fails.
    """
    with ending():
        policy = None if POLICY.value() is None else policy_of()
        begin(policy, _log.info, f"""to mark texts, start with {POLICY.name}='{{"provider": 42}}'""")


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
    from .rows import open_rows  # in no other process: it imports Prometheus, which SGLang itself imports late

    scheduler.tp_worker.model_runner.ctwl = open_rows(scheduler.tp_worker.model_runner)


def _note_rows(forward: Any, _: Any, batch: Any, *__: Any, **___: Any) -> None:
    """A batch goes to the model: what samples its logits sees the requests of their rows."""
    if forward.sampling_info is not None:
        forward.sampling_info.ctwl = list(batch.reqs)


def _mark(_: Any, runner: Any, output: Any, info: Any, *__: Any, **___: Any) -> None:
    """Grammar, penalties and biases have changed a step's logits: mark them, before temperature and the draw."""
    rows, requests = getattr(runner, "ctwl", None), getattr(info, "ctwl", None)
    if rows is not None and requests is not None:
        rows.mark(output.next_token_logits, requests)


def _drawn(_: None, scheduler: Any, batch: Any, *__: Any) -> None:
    """The tokens of a step are known: read them, and finish the texts that they end."""
    scheduler.tp_worker.model_runner.ctwl.drawn(batch.reqs)


def _leave(_: Any, scheduler: Any, request: Any, *__: Any, **___: Any) -> None:
    """A request is given up while it waits."""
    scheduler.tp_worker.model_runner.ctwl.leave(request)

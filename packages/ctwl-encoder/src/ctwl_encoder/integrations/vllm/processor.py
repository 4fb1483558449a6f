"""The vLLM plug-in: every request of a server carries a record, its own or the server's (docs/providers/vllm.md).

vLLM finds it through the entry point group ``vllm.logits_processors``. It serves where the server's configuration has a
``ctwl`` object. One class serves both of vLLM's model runners: V1 constructs it with a device and calls
``update_state`` and ``apply(logits)``, V2 constructs it with its request buffers and calls ``add_request`` and
``apply(logits, context)``. Nothing that a client sends may raise in a worker, where it would end the engine: requests
are checked in :meth:`CTWLLogitsProcessor.validate_params`, which runs where they come in.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias

import torch
from vllm.distributed.parallel_state import get_tp_group
from vllm.v1.sample import logits_processor as v1
from vllm.v1.sample.ops.topk_topp_sampler import apply_top_k_top_p

from ctwl_protocol import CTWLError

from ...core.device.marker import DeviceMarker
from ...core.device.step import to_device, to_host
from ...core.strategies import Strategy
from ...core.text_state import TextState
from ...errors import StrategyUnsuitable
from ...models import open_bridge
from ..log import TextLog, began, finished, why_unmarked
from . import metrics
from .admission import Admitted, admit, policy_of, without_note

try:
    from vllm.v1.worker.gpu.sample import logits_processor as v2
except ImportError:  # a vLLM that has the V1 model runner alone
    v2 = v1

__all__ = ["CTWLLogitsProcessor"]

_BASES = (v1.LogitsProcessor,) if v2 is v1 else (v2.LogitsProcessor, v1.LogitsProcessor)
"""Of the two model runners; a plug-in that does not load keeps vLLM from starting."""

_PAUSE = 1000
"""Steps for which a proxy LM that failed is not asked again: it may look for its files for long each time. Chosen by
hand. They are counted, as the workers of a tensor-parallel group have one count and different clocks."""

_CHUNK_BYTES = 1 << 30
"""Logits in float32 that V2 verifies at once, where it verifies drafts (vLLM 0.32); more take several calls."""

_log = logging.getLogger(__name__)


@dataclass
class _Served:
    """A request that is being served.

    Attributes:
        empty: its text without tokens.
        output: V1: the runner's own list of the tokens generated so far.
        tokens: the tokens that ``text`` has.
        drafts: V2 under speculative decoding: the tokens that the last step verified.
        ahead: ``text``, and what becomes of it with each of the drafts.
        called: V2: number of the last call that had its row.
        begun: what the log has of its beginning.
        again: whether its text was put off, and is taken up again.
        finished: whether its text is finished, or put off.
        offered: why the rows of the last step were not marked, None where they were.
        places: the same of the tokens that were drawn, counted.
    """

    marker: DeviceMarker
    empty: TextState
    temperature: float
    admitted: Admitted
    text: TextState = field(init=False)
    output: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    drafts: list[int] = field(default_factory=list)
    ahead: list[TextState] = field(default_factory=list)
    called: int = 0
    begun: dict[str, Any] = field(default_factory=dict)
    again: bool = False
    finished: bool = False
    offered: list[str | None] = field(default_factory=list)
    places: Counter[str | None] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.text = self.empty

    def restart(self) -> None:
        """Begin the text anew: the runner went back."""
        self.tokens, self.text, self.drafts, self.ahead = [], self.empty, [], []

    def offer(self, text: TextState, unmarked: str | None) -> None:
        """A row of the step was marked, or not: that of the text, or behind drafts."""
        self.offered = [*(() if text is self.text else self.offered), unmarked]

    def draw(self, count: int) -> None:
        """So many tokens were drawn from the rows of the last step."""
        self.places.update(self.offered[:count])
        self.offered = []

    def draft(self, tokens: list[int]) -> None:
        """Look ahead: these tokens may follow."""
        self.drafts, self.ahead = tokens, self.marker.ahead(self.text, tokens)

    def extend(self, tokens: list[int]) -> None:
        """Add the tokens that were generated since the last step."""
        self.draw(len(tokens))
        for count, token in enumerate(tokens, 1):
            self.text = self.marker.extend(self.text, token)
            if count < len(self.ahead) and tokens[:count] == self.drafts[:count]:
                self.text.offers = self.ahead[count].offers  # an accepted draft: its row was marked too
        self.tokens += tokens
        self.ahead = []


_Row: TypeAlias = tuple[_Served, TextState]
"""What a row of logits goes on from: a request, and its text at this row."""


class CTWLLogitsProcessor(*_BASES):  # type: ignore[misc]
    """Marks the rows of requests that carry a record; see the module's text."""

    def __init__(self, vllm_config: Any, *runner: Any) -> None:
        """Called by vLLM: ``runner`` is (request states,) from V2, (device, pinned memory) from V1."""
        self._policy = policy_of(vllm_config.additional_config)
        self._states = runner[0] if len(runner) == 1 else None
        self._drafts = vllm_config.speculative_config is not None
        self._workers = vllm_config.parallel_config.tensor_parallel_size
        self._calls_of_a_step = _calls_of_a_step(vllm_config)
        self._calls = 0
        self._last_step: torch.cuda.Event | None = None
        """On a GPU: the end of the last step."""
        self._stream: torch.cuda.Stream | None = None
        self._requests: dict[int, _Served] = {}
        """By row (V1) or slot (V2)."""
        self._markers: dict[Strategy, DeviceMarker] = {}
        self._asks_again = 0
        """The call at which a proxy LM that failed is asked next."""
        self._log: TextLog | None = None
        if self._policy is not None:
            self._policy.request(None, 1.0)  # a wrong configuration is refused when the server starts
            config, model = self._policy, vllm_config.model_config
            if config.log is not None and self._has_log(vllm_config.parallel_config):
                self._log = TextLog(config, wait=False)
            self._bridge = open_bridge(
                config.profile, str(model.tokenizer), config.proxy_path, config.device, model.tokenizer_revision
            )
            self._bridge.check_size(model.get_vocab_size())
            if not config.strategy.keeps_distribution:
                self._bridge.proxy.load_for_writing()  # what is missing is said when the server starts
            self._warm_up(model.get_vocab_size(), runner[0] if self._states is None else self._states.device)

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

    def _has_log(self, parallel: Any) -> bool:
        """Whether this worker notes texts: one of those that mark the same ones."""
        shared_out = getattr(parallel, "enable_batch_sharded_sampling", False)
        return self._workers == 1 or shared_out or get_tp_group().rank_in_group == 0

    def is_argmax_invariant(self) -> bool:
        """V1: marking changes the best token."""
        return False

    def add_request(self, req_idx: int, sampling_params: Any, output: list[int] | None = None) -> bool:
        """V2: a request enters the batch in a slot; whether it is marked. V1: in a row, with its output.

        V2 does not say which requests are finished. Those that have tokens and were in no call of the last step are.
        """
        self._leave(req_idx)
        for other in self._requests.values() if self._states is not None else ():
            if other.tokens and other.called <= self._calls - self._calls_of_a_step:
                self._finish(other)
        served = self._serve(sampling_params)
        if served is not None:
            served.called = self._calls
            served.output = [] if output is None else output
            served.again = bool(output)
            self._requests[req_idx] = served
        return served is not None

    def update_state(self, batch_update: Any) -> None:
        """V1: requests that left, came and moved, in this order."""
        if batch_update is None:
            return
        for index in batch_update.removed:
            self._leave(index)
        for index, params, _, output in batch_update.added:
            self.add_request(index, params, output)
        for one, other, direction in batch_update.moved:
            first, second = self._requests.pop(one, None), self._requests.pop(other, None)
            if first is not None:
                self._requests[other] = first
            if second is not None and direction == v1.MoveDirectionality.SWAP:
                self._requests[one] = second

    def _leave(self, index: int) -> None:
        """A request has left its row or slot: its text is finished, or put off."""
        served = self._requests.pop(index, None)
        if served is not None:
            self._finish(served)

    def _finish(self, served: _Served) -> None:
        """A text is finished, or put off: count its evidence and note it, once."""
        if served.finished:
            return
        served.finished = True
        served.draw(1)  # the last token is never read
        log2_p = served.marker.expected_log2_p(served.text)
        if not served.again and len(served.text.written):
            metrics.finish(served.marker.strategy, log2_p)
        if self._log is not None and served.places:
            line = served.admitted.process, served.admitted.line
            self._log.write([finished(served.begun, line, served.places, log2_p, again=served.again)])

    def apply(self, logits: torch.Tensor, ctx: Any = None) -> torch.Tensor:
        """Mark the rows of one step.

        Args:
            logits: float (rows, size), before temperature and truncation.
            ctx: V2's layout of the batch; V1 has none.
        """
        self._calls += 1
        if not self._requests:
            return logits
        groups: dict[int, dict[int, _Row]] = {}
        for row, (request, text) in (self._rows_v1(len(logits)) if ctx is None else self._rows_v2(ctx)).items():
            groups.setdefault(id(request.marker), {})[row] = request, text
        for group in groups.values():
            strategy = next(iter(group.values()))[0].marker.strategy
            marked = self._try_to_mark(logits, group, strategy)
            unmarked = [why_unmarked(text, failed=not marked) for _, text in group.values()]
            metrics.count(strategy, unmarked)
            for (request, text), why in zip(group.values(), unmarked, strict=True):
                request.offer(text, why)
        if ctx is None:
            self._record_end(logits.device)
        return logits

    def _try_to_mark(self, logits: torch.Tensor, group: dict[int, _Row], strategy: Strategy) -> bool:
        """Mark the rows, all of one marker, in place; False where the strategy asks the proxy LM and that fails."""
        if strategy.keeps_distribution:
            index, marked = _marked(logits, group)
            logits[index] = marked
            return True
        if self._calls < self._asks_again:
            return False
        found = None
        try:
            found = _marked(logits, group)
        except (CTWLError, OSError, RuntimeError):  # it has no files, or wrong ones, or no memory on its device
            _log.exception("ctwl: the proxy LM failed; texts by %s are served unmarked for %d steps", strategy, _PAUSE)
        agreed = self._all_workers(found is not None)
        if found is None or not agreed:
            self._asks_again = self._calls + _PAUSE
            for _, text in group.values():
                text.offers = None
            return False
        index, marked = found
        logits[index] = marked
        return True

    def _all_workers(self, done: bool) -> bool:
        """Whether all workers of the tensor-parallel group did it: rows that one marks alone would end its texts."""
        if self._workers == 1:
            return done
        failed = torch.tensor([not done], dtype=torch.int32)
        torch.distributed.all_reduce(failed, group=get_tp_group().cpu_group)
        return not failed.item()

    def _rows_v1(self, count: int) -> dict[int, _Row]:
        """V1: the rows to mark, their texts up to date."""
        rows = {row: request for row, request in self._requests.items() if row < count}
        for request in rows.values():
            known = len(request.tokens)
            if request.output[known - 1 : known] != request.tokens[-1:]:  # the whole would be compared at each step
                request.restart()
        with self._behind_the_last_step():
            _extend(list(rows.values()), [request.output[len(request.tokens) :] for request in rows.values()])
        return {row: (request, request.text) for row, request in rows.items()}

    def apply_staged_writes(self) -> None:
        """V2, once a step before the forward pass: the tokens of the step before are on the device from here on."""
        if self._states is not None:
            self._record_end(self._states.device)

    def _record_end(self, device: torch.device) -> None:
        """All of a step is queued on the device, and nothing of the next one is."""
        if device.type == "cuda":
            self._last_step = self._last_step or torch.cuda.Event()  # type: ignore[no-untyped-call]
            self._last_step.record()

    def _rows_v2(self, ctx: Any) -> dict[int, _Row]:
        """V2: the rows to mark, their texts up to date.

        Without drafts the layout of the batch is known on the host. With them a request has a row for each draft and
        one more, and how many tokens it has is known on the device alone, where the row's drafts are too. So the host
        waits for it.
        """
        drafts: dict[int, list[int]] = {}
        if self._drafts:
            columns = (ctx.expanded_idx_mapping, ctx.expanded_local_pos, ctx.pos, ctx.input_ids)
            layout = to_host(torch.stack([column.long() for column in columns], dim=1)).tolist()
            found = [(row, slot, pos + 1) for row, (slot, offset, pos, _) in enumerate(layout) if offset == 0]
            for row, (_, offset, _, token) in enumerate(layout):
                drafts.setdefault(row - offset, []).extend([token] if offset else [])
        else:
            lengths = zip(ctx.idx_mapping_np.tolist(), ctx.seq_lens_upper_bound_np.tolist(), strict=True)
            found = [(row, slot, length) for row, (slot, length) in enumerate(lengths)]
        found = [(row, slot, length) for row, slot, length in found if slot in self._requests]
        for _, slot, _ in found:
            self._requests[slot].called = self._calls
        self._read([(slot, length) for _, slot, length in found])
        rows: dict[int, _Row] = {}
        for first, slot, _ in found:
            request = self._requests[slot]
            if self._drafts:
                request.draft(drafts[first])
            rows |= {first + k: (request, text) for k, text in enumerate(request.ahead or [request.text])}
        return rows

    def _read(self, found: list[tuple[int, int]]) -> None:
        """V2: add the tokens that are new since the last step to the texts of some slots, each of a known length.

        They are on the device, and are copied from there, all rows at once.
        """
        buffers: Any = self._states
        requests = [self._requests[slot] for slot, _ in found]
        starts, new = [], []
        for request, (slot, length) in zip(requests, found, strict=True):
            prompt = int(buffers.prompt_len.np[slot])
            if length < prompt + len(request.tokens):
                request.restart()
            elif not request.tokens and length > prompt + 1:
                request.again = True
            starts.append(prompt + len(request.tokens))
            new.append(length - starts[-1])
        width = max(new, default=0)
        if width > 0:
            tokens: torch.Tensor = buffers.all_token_ids.gpu
            with self._behind_the_last_step():
                slots = to_device(torch.tensor([[slot] for slot, _ in found]), tokens.device)
                columns = to_device(torch.tensor(starts)[:, None], tokens.device)
                columns = (columns + torch.arange(width, device=tokens.device)).clamp(max=tokens.shape[1] - 1)
                copied = to_host(tokens[slots, columns]).tolist()
                # A count is below 0 while the prompt is read in chunks.
                _extend(requests, [some[: max(n, 0)] for some, n in zip(copied, new, strict=True)])

    @contextmanager
    def _behind_the_last_step(self) -> Iterator[None]:
        """Where copies wait for the step before, and not for this step's forward pass: on a GPU, a stream beside it."""
        if self._last_step is None:
            yield
            return
        self._stream = self._stream or torch.cuda.Stream()  # type: ignore[no-untyped-call]
        self._stream.wait_event(self._last_step)
        with torch.cuda.stream(self._stream):
            yield

    def _serve(self, params: Any) -> _Served | None:
        """A request that enters the batch; None where it is not marked."""
        if self._policy is None:
            return None
        try:
            request = self._policy.request(without_note(params.extra_args), params.temperature)
        except CTWLError as error:
            _log.error("ctwl: a request is served unmarked, because it was not checked where it came in: %s", error)
            return None
        if request is None:
            return None
        admitted = Admitted.of(params.extra_args)
        if admitted is None:
            _warn_of_requests_that_were_not_checked()
            return None
        number = admitted.number_of(params.seed)
        marker, payload = self._marker_of(request.strategy), request.payload(*admitted.drawn_for(number))
        served = _Served(marker, marker.start(payload, **request.of_text), params.temperature, admitted)
        if self._log is not None:
            served.begun = began(self._policy, admitted.name, request, payload)
            served.admitted = admitted.model_copy(update={"line": admitted.line + number})
        return served

    def _warm_up(self, size: int, device: torch.device) -> None:
        """Compile what requests may ask for, before the first one waits for it."""
        for strategy in Strategy:
            if strategy.keeps_distribution:
                with suppress(StrategyUnsuitable):  # the profile's sigma allows no such request
                    self._marker_of(strategy).warm_up(size, device)

    def _marker_of(self, strategy: Strategy) -> DeviceMarker:
        """The marker of a strategy, one for all requests."""
        if strategy not in self._markers:
            self._markers[strategy] = DeviceMarker(self._bridge, strategy, kept=self._calls_of_a_step)
        return self._markers[strategy]


def _extend(requests: Sequence[_Served], tokens: Sequence[list[int]]) -> None:
    """Add the tokens that were generated since the last step; what a marker needs of them is copied at once."""
    by_marker: dict[int, list[tuple[DeviceMarker, TextState, int]]] = {}
    for request, some in zip(requests, tokens, strict=True):
        for text, token in zip(request.ahead or [request.text], some, strict=False):
            by_marker.setdefault(id(request.marker), []).append((request.marker, text, token))
    for group in by_marker.values():
        group[0][0].look_up([text for _, text, _ in group], [token for *_, token in group])
    for request, some in zip(requests, tokens, strict=True):
        request.extend(some)


def _marked(logits: torch.Tensor, group: dict[int, _Row]) -> tuple[slice | torch.Tensor, torch.Tensor]:
    """The index of some rows, all of one marker, and what the mark makes of their logits.

    A row without a finite maximum, which a mask or an overflow left, has no probabilities, so it stays as it is.
    """
    requests, texts = [request for request, _ in group.values()], [text for _, text in group.values()]
    marker = requests[0].marker
    every = list(group) == list(range(len(logits)))
    index = slice(None) if every else to_device(torch.tensor(list(group)), logits.device)
    values = logits[index].float()  # may be the logits themselves
    wait = logits.device.type == "cpu"
    if marker.strategy.keeps_distribution:
        # What is marked is what is sampled from: the distribution after temperature and truncation.
        scale = to_device(torch.tensor([[request.temperature] for request in requests]), logits.device)
        values = _truncated(values / scale, [request.admitted for request in requests]).contiguous()
        marker.mark(texts, values, wait=wait)
        values *= scale
    else:
        values = values.clone()
        marker.mark(texts, values, wait=wait)
    return index, values.to(logits.dtype)


def _truncated(logits: torch.Tensor, admitted: list[Admitted]) -> torch.Tensor:
    """Min-p, then the engine's own top-k and top-p: float32 (rows, size), minus infinity for what they leave out."""
    device, size, top_k, top_p = logits.device, logits.shape[1], None, None
    if any(each.min_p > 0 for each in admitted):
        least = to_device(torch.tensor([[each.min_p] for each in admitted]), device)
        logits = logits.masked_fill(logits < logits.amax(dim=1, keepdim=True) + least.log(), -torch.inf)
    if any(0 < each.top_k < size for each in admitted):
        most = [each.top_k if 0 < each.top_k < size else size for each in admitted]
        top_k = to_device(torch.tensor(most), device)
    if any(each.top_p < 1 for each in admitted):
        top_p = to_device(torch.tensor([each.top_p for each in admitted]), device)
    truncated: torch.Tensor = apply_top_k_top_p(logits, top_k, top_p)
    return truncated


@cache
def _warn_of_requests_that_were_not_checked() -> None:
    """Say it once: vLLM's own requests, which warm a server up, are not checked either."""
    _log.warning("ctwl: requests that vLLM did not check where they came in, as those of its warm-up, are not marked")


def _calls_of_a_step(vllm_config: Any) -> int:
    """Most calls of ``apply`` in one step of all texts.

    Under pipeline parallelism batches take turns. Where drafts are verified, V2 makes several calls of a large batch.
    """
    size = vllm_config.model_config.get_vocab_size()
    rows = vllm_config.scheduler_config.max_num_seqs * (1 + vllm_config.num_speculative_tokens)
    chunk = max(1, _CHUNK_BYTES // (4 * size) - vllm_config.num_speculative_tokens)  # no request is split
    chunks = -(-rows // chunk) if vllm_config.speculative_config is not None else 1
    return int(vllm_config.parallel_config.pipeline_parallel_size * chunks)

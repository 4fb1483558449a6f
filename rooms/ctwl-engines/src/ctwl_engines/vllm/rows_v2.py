"""The rows of vLLM's model runner V2: slots of requests, whose tokens are on the device, and rows for drafts."""

from __future__ import annotations

from collections.abc import Sequence
from operator import add
from typing import Any

import torch

from ctwl_encoder import PROMPT_TOKENS, to_device, to_host

from ..served import Row, Served
from ..serving import Serving

_CHUNK_BYTES = 1 << 30
"""Logits in float32 that V2 verifies at once, where it verifies drafts (vLLM 0.32); more take several calls."""


class RowsV2:
    """What the rows of V2's batches go on from.

    V2 does not say which requests are finished. Those that have tokens and were in no call of the last step are.

    Attributes:
        served: the texts that are marked, by slot.
    """

    def __init__(self, serving: Serving, states: Any, vllm_config: Any) -> None:
        """Begin without requests; ``states`` are the runner's buffers of them."""
        self._serving = serving
        self._states = states
        self._drafts = vllm_config.speculative_config is not None
        self._calls_of_a_step = calls_of_a_step(vllm_config)
        self._calls = 0
        self._called: dict[int, int] = {}
        """By slot, the number of the last call that had its row."""
        self._new: set[int] = set()
        """Slots of requests whose prompt was not read yet."""
        self.served: dict[int, Served] = {}

    def add(self, slot: int, served: Served | None) -> None:
        """A request comes into a slot; None where it is not marked."""
        before = self.served.pop(slot, None)
        if before is not None:
            before.finish()
        for other, text in self.served.items():
            if text.tokens and self._called[other] <= self._calls - self._calls_of_a_step:
                text.finish()
        if served is not None:
            self.served[slot], self._called[slot] = served, self._calls
            self._new.add(slot)

    def of_step(self, ctx: Any) -> dict[int, Row]:
        """The rows to mark, their texts up to date.

        Without drafts the layout of the batch is known on the host. With them a request has a row for each draft and
        one more, and how many tokens it has is known on the device alone, where the row's drafts are too. So the host
        waits for it.

        Args:
            ctx: the runner's layout of the batch.
        """
        self._calls += 1
        if not self.served:
            return {}
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
        found = [(row, slot, length) for row, slot, length in found if slot in self.served]
        self._called.update({slot: self._calls for _, slot, _ in found})
        self._read([(slot, length) for _, slot, length in found])
        rows: dict[int, Row] = {}
        for first, slot, _ in found:
            served = self.served[slot]
            if self._drafts:
                served.draft(drafts[first])
            rows |= {first + k: (served, text) for k, text in enumerate(served.ahead or [served.text])}
        return rows

    def _read(self, found: Sequence[tuple[int, int]]) -> None:
        """Add the tokens that are new since the last step to the texts of some slots, each of a known length.

        Of a new request the end of its prompt is read, too.
        """
        served, starts, before, new = [self.served[slot] for slot, _ in found], list[int](), list[int](), list[int]()
        for one, (slot, length) in zip(served, found, strict=True):
            prompt = int(self._states.prompt_len.np[slot])
            if length < prompt + len(one.tokens):
                one.restart()
            elif not one.tokens and length > prompt + 1:
                one.again = True
            new.append(max(0, length - prompt - len(one.tokens)))  # below 0 while the prompt is read in chunks
            before.append(min(prompt, PROMPT_TOKENS) if slot in self._new and length >= prompt else 0)
            starts.append(prompt + len(one.tokens) - before[-1])
        width = max(map(add, before, new), default=0)
        if width:
            copied = self._copied([slot for slot, _ in found], starts, width)
            for (slot, _), one, some, count in zip(found, served, copied, before, strict=True):
                if count:
                    one.follow(some[:count])
                    self._new.discard(slot)
            drawn = zip(copied, before, new, strict=True)
            self._serving.extend(served, [some[count : count + more] for some, count, more in drawn])

    def _copied(self, slots: Sequence[int], starts: Sequence[int], width: int) -> list[list[int]]:
        """So many tokens of some slots, each from its own start on, copied from the device at once."""
        tokens: torch.Tensor = self._states.all_token_ids.gpu
        with self._serving.copying():
            rows, columns = to_device(torch.tensor([slots, starts]), tokens.device)[:, :, None]
            columns = (columns + torch.arange(width, device=tokens.device)).clamp(max=tokens.shape[1] - 1)
            copied: list[list[int]] = to_host(tokens[rows, columns]).tolist()
        return copied


def calls_of_a_step(vllm_config: Any) -> int:
    """Most calls of ``apply`` in one step of all texts.

    Under pipeline parallelism batches take turns. Where drafts are verified, V2 makes several calls of a large batch.
    """
    size = vllm_config.model_config.get_vocab_size()
    rows = vllm_config.scheduler_config.max_num_seqs * (1 + vllm_config.num_speculative_tokens)
    chunk = max(1, _CHUNK_BYTES // (4 * size) - vllm_config.num_speculative_tokens)  # no request is split
    chunks = -(-rows // chunk) if vllm_config.speculative_config is not None else 1
    return int(vllm_config.parallel_config.pipeline_parallel_size * chunks)

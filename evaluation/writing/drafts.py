"""Are drafts of speculative decoding accepted as often with a mark as without?

A larger model answers questions of a chat, unmarked and marked, and a smaller one of the same vocabulary drafts each
next token behind the same text. Stated is the probability that the larger model takes the draft, by the rule of
speculative sampling (Leviathan et al. 2023), averaged over steps and then over answers:

- ``likeliest``: the draft is the smaller model's likeliest token, or what a search of the text gives; it is taken with
  the probability that the larger model gives it. Over all keys the mark keeps it;
- ``drawn``: the draft is drawn from the smaller model's distribution q, and taken with min(1, p / q).

``with the mark`` and ``without`` are of the same steps of the marked answers, so their difference is the mark's alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import LogitsProcessor

from ctwl_encoder import Encoder
from ctwl_protocol.proxy import open_proxy

from ..shared import real_models
from ..shared.answers import prompts_of
from ..shared.experiment import OFFLINE, Options, Result, experiment, tracked
from ..shared.measures import beside
from ..shared.texts import PROVIDER, VERSION

SETTINGS = ((0.7, 0.95), (1.0, 1.0))
"""Temperature and top-p."""

KINDS = ("likeliest", "drawn")

Row = dict[str, Any]


class Drafting(LogitsProcessor):  # type: ignore[misc]
    """Goes on to what marks, and notes at each step how probable it is that a draft is taken.

    Attributes:
        taken: for each step, float64 (rows, kinds, 2): without the mark and with it.
    """

    def __init__(self, marking: LogitsProcessor, drafter: Any, mask: torch.Tensor, temperature: float) -> None:
        self._marking, self._drafter, self._mask, self._temperature = marking, drafter, mask, temperature
        self._cache: Any = None
        self.taken: list[NDArray[np.float64]] = []

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """See :class:`ctwl_encoder.CTWLLogitsProcessor`."""
        drafts = self._drafts(input_ids)[:, : scores.shape[1]]
        plain = torch.softmax(scores.double(), dim=1)
        marked_scores: torch.Tensor = self._marking(input_ids, scores)
        both = torch.stack([plain, torch.softmax(marked_scores.double(), dim=1)], dim=1)
        likeliest = both.gather(2, drafts.argmax(dim=1)[:, None, None].expand(-1, 2, 1))[:, :, 0]
        drawn = torch.minimum(both, drafts[:, None]).sum(dim=2)
        self.taken.append(torch.stack([likeliest, drawn], dim=1).numpy())
        return marked_scores

    def _drafts(self, ids: torch.Tensor) -> torch.Tensor:
        mask = torch.nn.functional.pad(self._mask, (0, ids.shape[1] - self._mask.shape[1]), value=1)
        places = (mask.cumsum(dim=1) - 1).clamp(min=0)
        new = ids.shape[1] if self._cache is None else 1
        found = self._drafter(
            ids[:, -new:],
            attention_mask=mask,
            position_ids=places[:, -new:],
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
        )
        self._cache = found.past_key_values
        return torch.softmax(found.logits[:, -1].double() / self._temperature, dim=1)


class DraftingEncoder(Encoder):
    """An encoder beside a model that drafts.

    Attributes:
        drafter: that model.
        last: what was noted of the last texts.
    """

    drafter: Any
    last: Drafting

    def run(self, batch: Any, processor: LogitsProcessor, options: Any, *given: Any, **named: Any) -> Any:
        """See :meth:`Encoder.run`."""
        self.last = Drafting(processor, self.drafter, batch["attention_mask"], options.temperature)
        return super().run(batch, self.last, options, *given, **named)


def measured(
    encoder: DraftingEncoder, prompts: list[str], setting: tuple[float, float], options: Options
) -> Iterator[Row]:
    """One row for each kind of draft."""
    taken = list[NDArray[np.float64]]()
    for start in tracked(range(0, len(prompts), options.batch), f"T = {setting[0]}"):
        written = encoder.generate(
            prompts[start : start + options.batch], PROVIDER, VERSION, temperature=setting[0], top_p=setting[1],
            max_new_tokens=options.tokens, seed=options.seed + start,
        )  # fmt: skip
        steps = np.stack(encoder.last.taken, axis=1)
        taken += [row[: max(text.tokens, 1)].mean(axis=0) for row, text in zip(steps, written, strict=True)]
    for kind, (plain, marked) in zip(KINDS, np.stack(taken, axis=2), strict=True):
        yield {
            "temperature": setting[0],
            "top-p": setting[1],
            "draft": kind,
            "without": round(float(plain.mean()), 4),
            "with the mark": round(float(marked.mean()), 4),
            "share kept": round(float(marked.mean() / plain.mean()), 4),
            **beside(marked, plain),
        }


@experiment(
    quick={"model": "smollm2", "drafter": "smollm2", "texts": 2, "tokens": 24},
    model="qwen2.5-coder-1.5b",
    drafter="qwen2.5-coder-0.5b",
    texts=32,
    tokens=120,
    batch=16,
    seed=1,
)
def main(options: Options) -> Result:
    """Run the experiment."""
    encoder = DraftingEncoder(*real_models.load(options.model), open_proxy(OFFLINE))
    encoder.drafter, _ = real_models.load(options.drafter)
    measure = partial(measured, encoder, prompts_of(options.model, "chat", options.texts))
    return {"rows": [row for setting in SETTINGS for row in measure(setting, options)]}


if __name__ == "__main__":
    main()

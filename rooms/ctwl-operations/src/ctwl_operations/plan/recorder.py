"""What is measured at each step while a text is written."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import LogitsProcessor

Process = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def expected_change(marked: torch.Tensor, unmarked: torch.Tensor, surprise: torch.Tensor) -> torch.Tensor:
    """What marking changes in the NLL that the next token is expected to have: float (rows,), nats.

    It is known at each step without sampling, so it says more than the NLL of a few texts.

    Args:
        marked: float (rows, size), probabilities from which the token is drawn.
        unmarked: float (rows, size), the same without the mark.
        surprise: float (rows, size), the NLL of each token under the model; infinite where it has no probability.
    """
    return ((marked - unmarked) * torch.where(surprise.isinf(), 0.0, surprise)).sum(dim=1)


class Recorder:
    """Measures one call of ``generate`` from two places: before temperature and top-p, and after the mark.

    Attributes:
        marking: seconds that marking took.
        measuring: seconds that the measuring itself took.
    """

    def __init__(self, mark: Process | None, samples: bool, device: torch.device) -> None:
        """Begin.

        Args:
            mark: what marks a step; None for plain sampling.
            samples: whether tokens are sampled.
            device: of the model.
        """
        self.marking = self.measuring = 0.0
        self._mark = mark
        self._draws = samples
        self._device = device
        self._surprise = self._drawn = torch.empty(0)
        self._steps: list[torch.Tensor] = []
        self._nll: list[torch.Tensor] = []
        self._of_drawn: list[torch.Tensor] = []

    def before(self, ids: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
        """See the model's own logits, after a repetition penalty."""
        began = self._now()
        if self._surprise.numel():
            self._choose(ids[:, -1])
        self._surprise = -torch.log_softmax(logits.float(), dim=1)
        self.measuring += self._now() - began
        return logits

    def after(self, ids: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
        """See what tokens are drawn from, and mark it."""
        began = self._now()
        marked = logits if self._mark is None else self._mark(ids, logits)
        ended = self._now()
        unmarked = self._probabilities(logits)
        self._drawn = -torch.log(unmarked)
        entropy = torch.special.entr(unmarked).sum(dim=1)
        change = decided = torch.zeros_like(entropy)
        if marked is not logits:
            drawn = self._probabilities(marked)
            change = expected_change(drawn, unmarked, self._surprise)
            decided = torch.special.xlogy(drawn, drawn / unmarked.clamp(min=1e-30)).sum(dim=1)
        self._steps.append(torch.stack([change, entropy, decided]))
        self.marking += ended - began
        self.measuring += self._now() - ended
        return marked

    def steps(self, last: NDArray[np.int64]) -> NDArray[np.float64]:
        """What was measured: float64 (5, steps, rows).

        These are the NLL of the chosen tokens under the model, what marking changes in its expectation, the entropy of
        what each token is drawn from without the mark, the part of it that the mark decides, and the NLL of the chosen
        tokens under what they are drawn from without the mark; all in nats.

        Args:
            last: int64 (rows,), the tokens of the last step.
        """
        self._choose(torch.from_numpy(last).to(self._device))
        measured = [torch.stack(self._nll), *torch.stack(self._steps).unbind(dim=1), torch.stack(self._of_drawn)]
        found: NDArray[np.float64] = torch.stack(measured).double().cpu().numpy()
        return found

    def _choose(self, tokens: torch.Tensor) -> None:
        """These tokens, int64 (rows,), were chosen at the step that was measured last."""
        for nll, of_all in ((self._nll, self._surprise), (self._of_drawn, self._drawn)):
            nll.append(of_all.gather(1, tokens[:, None])[:, 0])

    def _now(self) -> float:
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        return time.perf_counter()

    def _probabilities(self, logits: torch.Tensor) -> torch.Tensor:
        """What tokens are drawn from, float32 (rows, size); all on the likeliest one where none is drawn."""
        if self._draws:
            return torch.softmax(logits, dim=1, dtype=torch.float32)
        return torch.zeros_like(logits, dtype=torch.float32).scatter_(1, logits.argmax(dim=1, keepdim=True), 1.0)


class Step(LogitsProcessor):  # type: ignore[misc]  # transformers has no types
    """A function as transformers takes it."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> Any:
        """What the function makes of the scores."""
        return self._process(input_ids, scores)

"""Marks the batches of a serving engine whose logits are torch's. The engine says which row goes on from which text.

Nothing that a client sends may raise here, in a worker, where it would end the engine. Requests are refused where they
come in, see :mod:`.note`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from typing import Any

import torch

from ctwl_encoder import DeviceMarker, Strategy, to_device
from ctwl_encoder.errors import StrategyUnsuitable
from ctwl_protocol import CTWLError
from ctwl_protocol.bridge import Bridge

from . import metrics
from .log import TextLog
from .note import Note
from .parts import Part
from .policy import Policy
from .served import Row, Served, extend, why_unmarked
from .truncation import truncated

PAUSE = 1000
"""Steps for which a proxy LM that failed is not asked again: it may look for its files for long each time. Chosen by
hand. They are counted, as the workers of a tensor-parallel group have one count and different clocks."""

_log = logging.getLogger(__name__)


class Serving:
    """Marks what one worker of an engine samples from.

    Attributes:
        log: where the ends of texts are noted; None for nowhere.
        marker_of: the marker of a strategy, one for all requests.
    """

    def __init__(
        self,
        policy: Policy,
        bridge: Bridge,
        *,
        noting: bool = True,
        kept: int = 1,
        agree: Callable[[bool], bool] = bool,
        truncate: Callable[[torch.Tensor, Sequence[Note]], torch.Tensor] = truncated,
        tags: Mapping[int, tuple[Part, bool]] | None = None,
    ) -> None:
        """Say how to mark.

        Args:
            policy: the server's.
            bridge: from the model's vocabulary to the proxy's.
            noting: whether this worker writes the ends of texts to the log. One of the workers that mark the same texts
                does.
            kept: most calls of :meth:`mark` in one step of all texts.
            agree: asks all workers that mark the same rows whether each could mark them, and says whether all could.
            truncate: does what :func:`ctwl_engines.truncation.truncated` does, as the engine does it.
            tags: see :class:`ctwl_engines.parts.Parts`.

        Raises:
            CTWLError: the policy has something to write, and cannot write it.
        """
        policy.request(None, 1.0)
        self._policy = policy
        self._bridge = bridge
        self._agree = agree
        self._truncate = truncate
        self._parts = policy.parts(bridge.vocabulary, tags)
        self.log = TextLog(policy, wait=False) if policy.log is not None and noting else None
        self.marker_of = cache(partial(DeviceMarker, bridge, kept=kept))
        self._steps = 0
        self._asks_again = 0
        """The step at which a proxy LM that failed is asked next."""
        self._last_step: torch.cuda.Event | None = None
        self._stream: torch.cuda.Stream | None = None

    def warm_up(self, size: int, device: torch.device) -> None:
        """Compile what requests may ask for, before the first one waits for it.

        Args:
            size: tokens in a row of the logits.
            device: where the logits will be.

        Raises:
            TokenizerUnsupported: the tokenizer is another model's.
            CTWLError: the server's strategy asks the proxy LM, and there is none.
        """
        self._bridge.check_size(size)
        if not self._policy.strategy.keeps_distribution:
            self.marker_of(self._policy.strategy).load()  # what is missing is said when the server starts
        for strategy in Strategy:
            if strategy.keeps_distribution:
                with suppress(StrategyUnsuitable):  # the profile's sigma allows no such request
                    self.marker_of(strategy).warm_up(size, device)

    def begin(
        self, given: dict[str, Any], temperature: float, note: Note | None, *, fixed_form: bool = False
    ) -> Served | None:
        """Begin the text of a request; None where it is not marked.

        Args:
            given: the request's own options.
            temperature: 0 for greedy decoding.
            note: what was noted where the request came in, see :meth:`ctwl_engines.note.Note.of_text`.
            fixed_form: whether its answer has a fixed form, see :mod:`.form`.
        """
        try:
            request = self._policy.request(given, temperature, fixed_form=fixed_form)
        except CTWLError as error:
            _log.error("ctwl: a request is served unmarked, because it was not checked where it came in: %s", error)
            return None
        if request is None:
            metrics.leave(self._policy.why_unmarked(given, fixed_form=fixed_form))
            return None
        if note is None:
            _warn_of_requests_that_were_not_checked()
            return None
        marker, told = self.marker_of(request.strategy), {"log": self.log, "observe": metrics.finish}
        return Served.begin(self._policy, request, marker, note, self._parts, temperature=temperature, **told)

    def extend(self, served: Sequence[Served], tokens: Sequence[Sequence[int]]) -> None:
        """Add the tokens that were drawn for some texts since the last step; all that they need is copied at once."""
        with self.copying():
            extend(served, tokens)

    def mark(self, logits: torch.Tensor, rows: Mapping[int, Row]) -> None:
        """Mark the rows of a step, in place.

        A row without a finite maximum, which a mask or an overflow left, has no probabilities, so it stays as it is.

        Args:
            logits: float (rows, size), before temperature and truncation.
            rows: by the number of a row, what it goes on from; other rows stay as they are.
        """
        self._steps += 1
        groups: dict[Strategy, dict[int, Row]] = {}
        for row, (served, text) in rows.items():
            groups.setdefault(served.marker.strategy, {})[row] = served, text
        for strategy, group in groups.items():
            marked = self._try_to_mark(logits, group, strategy)
            unmarked = why_unmarked(list(group.values()), failed=not marked)
            metrics.count(strategy, unmarked)
            for (served, text), why in zip(group.values(), unmarked, strict=True):
                served.offer(text, why)

    def _try_to_mark(self, logits: torch.Tensor, group: Mapping[int, Row], strategy: Strategy) -> bool:
        """Mark rows of one strategy; False where it asks the proxy LM, and that fails in this worker or another one."""
        asks, found = not strategy.keeps_distribution, None
        if asks and self._steps < self._asks_again:
            return False
        try:
            found = self._marked(logits, group, strategy)
        except (CTWLError, OSError, RuntimeError):  # it has no files, or wrong ones, or no memory on its device
            if not asks:
                raise
            _log.exception("ctwl: the proxy LM failed; texts by %s are served unmarked for %d steps", strategy, PAUSE)
        if asks and not self._agree(found is not None):  # rows that one worker marks alone would end its texts
            found = None
        if found is None:
            self._asks_again = self._steps + PAUSE
            self.marker_of(strategy).texts.columns.offers[[text for _, text in group.values()]] = 0
            return False
        index, marked = found
        logits[index] = marked
        return True

    def _marked(
        self, logits: torch.Tensor, group: Mapping[int, Row], strategy: Strategy
    ) -> tuple[slice | torch.Tensor, torch.Tensor]:
        """The index of some rows, all of one strategy, and what the mark makes of their logits."""
        every = list(group) == list(range(len(logits)))
        index = slice(None) if every else to_device(torch.tensor(list(group)), logits.device)
        values = logits[index].float()  # may be the logits themselves
        served, texts = [one for one, _ in group.values()], [text for _, text in group.values()]
        if strategy.keeps_distribution:
            # What is marked is what is sampled from: the distribution after temperature and truncation.
            scale = to_device(torch.tensor([[one.temperature] for one in served]), logits.device)
            values = self._truncate(values / scale, [one.note for one in served]).contiguous()
        else:
            values, scale = values.clone(), None
        self.marker_of(strategy).mark(texts, values, wait=logits.device.type == "cpu")
        return index, (values if scale is None else values.mul_(scale)).to(logits.dtype)

    def end_step(self, device: torch.device) -> None:
        """All of a step is queued on the device, and nothing of the next one is."""
        if device.type == "cuda":
            self._last_step = self._last_step or torch.cuda.Event()  # type: ignore[no-untyped-call]
            self._last_step.record()

    @contextmanager
    def copying(self) -> Iterator[None]:
        """Where copies wait for the step before, and not for this step's forward pass: on a GPU, a stream beside it."""
        if self._last_step is None:
            yield
            return
        self._stream = self._stream or torch.cuda.Stream()  # type: ignore[no-untyped-call]
        self._stream.wait_event(self._last_step)
        with torch.cuda.stream(self._stream):
            yield


def together(group: Any) -> Callable[[bool], bool]:
    """How the workers of a group of torch's processes say whether all could do something."""

    def agree(done: bool) -> bool:
        failed = torch.tensor([not done], dtype=torch.int32)
        torch.distributed.all_reduce(failed, group=group)
        return not failed.item()

    return agree


@cache
def _warn_of_requests_that_were_not_checked() -> None:
    """Say it once: an engine's own requests, which warm a server up, are not checked either."""
    _log.warning("ctwl: a request that was not checked when it came in, such as a warm-up's, is not marked")

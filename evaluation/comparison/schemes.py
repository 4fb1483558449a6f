"""Watermarks to run beside this project's, each behind one small interface, and the texts that they write.

Code of other authors is imported from a checkout that the caller names; nothing of it is part of this repository. Each
scheme has the settings that its authors propose. Where a scheme marks one text at a time, each row of a batch has a
processor of its own. A scheme that says how likely its evidence is by chance is asked for this p-value, over all
messages; its null is stated with it. All but ours read the tokens of the model that wrote, without the prompt.
"""

from __future__ import annotations

import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from importlib import import_module
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import stats
from transformers import LogitsProcessor, LogitsProcessorList, TemperatureLogitsWarper

from ctwl_decoder import Decoder
from ctwl_encoder import Bridge, CTWLLogitsProcessor
from ctwl_encoder.core.payload import Payload
from ctwl_encoder.integrations.transformers import ProcessorConfig
from ctwl_encoder.options import strategy_for
from ctwl_protocol.registry import bundled

from ..shared.readers import likeliest, reader
from ..shared.secret_marks import SECRET
from ..shared.texts import SECRET_KEY, Nucleus

BITS = 20
LEVELS = (0.01, 1e-4)
"""False-positive rates at which a text counts as found."""


@dataclass(frozen=True)
class Sampling:
    """How a batch is written."""

    temperature: float
    top_p: float
    tokens: int
    seed: int


@dataclass(frozen=True)
class Written:
    """A text.

    Attributes:
        text: what was written.
        ids: the model's tokens.
        message: what it carries; 0 where a scheme has no bits.
        nll: nats a token under the model, the last token left out.
        seconds: of one core, its share of its batch's.
    """

    text: str
    ids: list[int]
    message: int
    nll: float
    seconds: float


class Reading(NamedTuple):
    """What a reader says of a text.

    Attributes:
        message: the likeliest; None where the scheme has no bits, or the text nothing to read.
        found: whether it is found at each of :data:`LEVELS`; None where the scheme has no such test.
    """

    message: int | None
    found: tuple[bool, ...] | None


class Scheme(ABC):
    """A watermark.

    Attributes:
        bits: of its messages; 0 where it has none.
        says: what differs from ours, and where its p-value comes from.
    """

    bits = BITS
    says = ""

    @abstractmethod
    def marking(self, messages: Sequence[int], sampling: Sampling) -> dict[str, Any]:
        """What the model's ``generate`` takes; ``logits_processor`` runs before the temperature."""

    @abstractmethod
    def read(self, text: str) -> Reading:
        """What its own reader says of a text."""


class Plain(Scheme):
    """No watermark."""

    bits = 0

    def marking(self, messages: Sequence[int], sampling: Sampling) -> dict[str, Any]:  # noqa: ARG002
        """See :class:`Scheme`."""
        return {}

    def read(self, text: str) -> Reading:  # noqa: ARG002
        """See :class:`Scheme`."""
        return Reading(None, None)


class Ours(Scheme):
    """This project's, by the encoder's default strategy for the temperature, read as the public reads it."""

    says = "no key; read by another model's tokens; p over all 2^20 codes, no provider registered"

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    @cached_property
    def _decoder(self) -> Decoder:
        return reader(registry=bundled().without_entries())

    def marking(self, messages: Sequence[int], sampling: Sampling) -> dict[str, Any]:
        """See :class:`Scheme`."""
        bridge, strategy = Bridge(self._tokenizer, self._decoder.proxy), strategy_for(None, sampling.temperature)
        processor = CTWLLogitsProcessor(bridge, [Payload((each,)) for each in messages], strategy=strategy)
        return {"watermarking_config": ProcessorConfig(processor)}

    def read(self, text: str) -> Reading:
        """See :class:`Scheme`."""
        reports = [self._decoder.decode(text, alpha=level) for level in LEVELS]
        return Reading(likeliest(reports[-1]), tuple(report.detected for report in reports))


class Secret(Scheme):
    """One of :data:`..shared.secret_marks.SECRET`: no bits, and an exact p-value."""

    bits = 0
    says = "secret key; no message; exact p of distinct pairs under a random key"

    def __init__(self, tokenizer: Any, size: int, name: str) -> None:
        self._tokenizer, self._mark = tokenizer, SECRET[name](size, SECRET_KEY)

    def marking(self, messages: Sequence[int], sampling: Sampling) -> dict[str, Any]:  # noqa: ARG002
        """See :class:`Scheme`."""
        return {"watermarking_config": self._mark.config()}

    def read(self, text: str) -> Reading:
        """See :class:`Scheme`."""
        return Reading(None, _at_levels(self._mark.p_value(self._tokenizer.encode(text))))


class Mpac(Scheme):
    """MPAC in its paper's settings: digits of two bits, delta 2 before the temperature, the last token as context.

    Its detector's p-value is that of one message, though it takes the best of all, so the null is ours: the fullest of
    four lists at each digit, all lists alike in chance, each pair of context and token counted once.
    """

    says = "secret key; exact p of the fullest lists, computed here: its own p leaves the choice of the message out"
    _SETTINGS: ClassVar[dict[str, Any]] = {
        "gamma": 0.25, "base": 4, "seeding_scheme": "simple_1", "message_length": BITS, "code_length": BITS,
        "use_position_prf": False, "device": "cpu",
    }  # fmt: skip

    def __init__(self, tokenizer: Any, folder: Path) -> None:
        self._tokenizer = tokenizer
        self._code = _imported(folder / "watermark_reliability_release", "mb_watermark_processor")
        self._vocabulary = list(tokenizer.get_vocab().values())

    def marking(self, messages: Sequence[int], sampling: Sampling) -> dict[str, Any]:  # noqa: ARG002
        """See :class:`Scheme`."""
        own = [self._code.WatermarkLogitsProcessor(self._vocabulary, delta=2.0, **self._SETTINGS) for _ in messages]
        for each, message in zip(own, messages, strict=True):
            each.set_message(_binary(message))
        return {"logits_processor": LogitsProcessorList([Rows(own)])}

    def read(self, text: str) -> Reading:
        """See :class:`Scheme`."""
        detector = self._code.WatermarkDetector(
            self._vocabulary, tokenizer=self._tokenizer, normalizers=[], ignore_repeated_ngrams=True, **self._SETTINGS
        )
        # its list of 16 other messages, which nobody asks for, would fail at fewer digits
        detector._predict_message = partial(detector._predict_message, num_candidates=detector.converted_msg_length)
        ids = torch.tensor(self._tokenizer.encode(text))
        found = detector.detect(tokenized_text=ids, message=_binary(0), position="")
        lists, _, digits, *_ = detector._score_ngrams_in_passage(ids)
        counts: NDArray[np.int64] = np.zeros((detector.converted_msg_length, detector.base), dtype=np.int64)
        for pair, inside in lists.items():
            counts[digits[pair] - 1] += np.array(inside)
        return Reading(int(found["pred_message"], 4), _at_levels(fullest_p_value(counts)))


class ThreeBricks(Scheme):
    """Three Bricks with the marks and the test of its README's example: Aaronson's, two tokens as context, "v2".

    A message turns the vocabulary, so there are no more messages than tokens.
    """

    says = "secret key; fewer bits: a message is below the vocabulary's size; exact Gamma p, best of all messages"
    _SETTINGS: ClassVar[dict[str, Any]] = {"ngram": 2, "seed": 0, "seeding": "hash", "salt_key": 35317}

    def __init__(self, tokenizer: Any, size: int, folder: Path) -> None:
        self.bits = min(BITS, size.bit_length() - 1)
        self._code = _imported(folder, "wm")
        config = SimpleNamespace(max_sequence_length=0, pad_token_id=0, eos_token_id=0)  # of its own ``generate``
        self._model = SimpleNamespace(config=config)
        # its two sides must see one size, the logits', which is above the tokenizer's
        self._tokenizer = SimpleNamespace(vocab_size=size, encode=tokenizer.encode)

    def marking(self, messages: Sequence[int], sampling: Sampling) -> dict[str, Any]:
        """See :class:`Scheme`."""
        generator = self._code.OpenaiGenerator(self._model, self._tokenizer, **self._SETTINGS)

        def chosen(message: int) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
            def process(ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
                generator.payload = message
                token = generator.sample_next(scores.float(), ids[:, -2:], sampling.temperature, sampling.top_p)
                return torch.full_like(scores, -torch.inf).scatter(1, token[:, None], 0.0)

            return process

        return {"logits_processor": LogitsProcessorList([Rows([chosen(each) for each in messages])])}

    def read(self, text: str) -> Reading:
        """See :class:`Scheme`."""
        detector, messages = self._code.OpenaiDetector(self._tokenizer, **self._SETTINGS), 1 << self.bits
        scores = detector.get_scores_by_t([text], scoring_method="v2", payload_max=messages - 1)
        values = detector.get_pvalues(scores)[0]
        best = int(values.argmin())
        return Reading(best, _at_levels(-float(np.expm1(messages * np.log1p(-values[best])))))


class XMark(Scheme):
    """XMark as its ``args.py`` sets it, delta 2 before the temperature.

    Its detector gives a message alone, so there is no test.
    """

    says = "secret key; its detector has no statistic"

    def __init__(self, tokenizer: Any, folder: Path) -> None:
        self._code, self._tokenizer = _imported(folder, "watermark_methods.xmark"), tokenizer

    def marking(self, messages: Sequence[int], sampling: Sampling) -> dict[str, Any]:  # noqa: ARG002
        """See :class:`Scheme`."""
        given = {"vocab": self._tokenizer.get_vocab(), "bits": BITS, "delta": 2.0}
        own = [self._code.XMARKProcessor(**given, current_binary_code=_binary(each)) for each in messages]
        return {"logits_processor": LogitsProcessorList([Rows(own)])}

    def read(self, text: str) -> Reading:
        """See :class:`Scheme`."""
        detector = self._code.XMARKDetector(len(self._tokenizer), "cpu", self._tokenizer, BITS)
        with redirect_stdout(StringIO()):
            return Reading(int(detector.detect([text]), 2), None)


class Rows(LogitsProcessor):  # type: ignore[misc]
    """Each row has a processor of its own."""

    def __init__(self, own: Sequence[Callable[[torch.Tensor, torch.Tensor], torch.Tensor]]) -> None:
        self._own = own

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Int64 (rows, length), float (rows, tokens) -> float (rows, tokens)."""
        return torch.cat([own(input_ids[[i]], scores[[i]]) for i, own in enumerate(self._own)])


class Likelihoods(LogitsProcessor):  # type: ignore[misc]
    """Notes how likely each token was under the model, when the next is asked for."""

    def __init__(self) -> None:
        self._before: torch.Tensor | None = None
        self.noted: list[torch.Tensor] = []

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """The scores as they are."""
        if self._before is not None:
            self.noted.append(-self._before.gather(1, input_ids[:, -1:])[:, 0])
        self._before = torch.log_softmax(scores.float(), dim=1)
        return scores


def write(
    scheme: Scheme, model: Any, tokenizer: Any, prompts: Sequence[str], messages: Sequence[int], sampling: Sampling
) -> list[Written]:
    """A text of each prompt, in one batch; the end of a text is ruled out."""
    batch, likely = tokenizer(list(prompts), return_tensors="pt", padding=True), Likelihoods()
    marking = scheme.marking(messages, sampling)
    processors = LogitsProcessorList([likely, *marking.pop("logits_processor", [])])
    processors += [TemperatureLogitsWarper(sampling.temperature)] if sampling.temperature != 1 else []
    processors += [Nucleus(sampling.top_p)] if sampling.top_p < 1 else []
    torch.manual_seed(sampling.seed)
    begun = time.process_time()
    made = model.generate(
        **batch, **marking, logits_processor=processors, do_sample=True, temperature=1.0, top_p=1.0, top_k=0,
        max_new_tokens=sampling.tokens, min_new_tokens=sampling.tokens, pad_token_id=tokenizer.pad_token_id,
    )[:, -sampling.tokens :].tolist()  # fmt: skip
    seconds = (time.process_time() - begun) / len(made)
    nll = torch.stack(likely.noted).mean(dim=0).tolist()
    texts = (tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False) for ids in made)
    return [Written(*each, seconds) for each in zip(texts, made, messages, nll, strict=True)]


def fullest_p_value(counts: NDArray[np.int64]) -> float:
    """The chance that the fullest lists of all digits hold so many tokens together, where all lists are alike.

    Args:
        counts: tokens in each list of each digit, int64 (digits, lists).
    """
    together: NDArray[np.float64] = reduce(np.convolve, [fullest(int(row.sum()), len(row)) for row in counts])
    return float(min(together[int(counts.max(axis=1).sum()) :].sum(), 1.0))


def fullest(tokens: int, lists: int) -> NDArray[np.float64]:
    """How likely the fullest of some lists holds 0, 1, ... of some tokens: float64 (tokens + 1,).

    Counts of a multinomial are Poisson counts of a known sum (Levin, Annals of Statistics 9, 1981).
    """
    each = stats.poisson.pmf(np.arange(tokens + 1), tokens / lists)
    whole = stats.poisson.pmf(tokens, tokens)
    cut = (np.where(np.arange(tokens + 1) <= most, each, 0.0) for most in range(tokens + 1))
    at_most = [reduce(np.convolve, [one] * lists)[tokens] / whole for one in cut]
    found: NDArray[np.float64] = np.diff(at_most, prepend=0.0).clip(min=0)
    return found


def _at_levels(p_value: float) -> tuple[bool, ...]:
    return tuple(p_value <= level for level in LEVELS)


def _binary(message: int) -> str:
    return format(message, f"0{BITS}b")


def _imported(folder: Path, module: str) -> Any:
    """A module of a checkout."""
    if not folder.is_dir():
        raise SystemExit(f"there is no folder {folder}; name a checkout of the scheme's repository")
    sys.path.insert(0, str(folder.resolve()))
    return import_module(module)

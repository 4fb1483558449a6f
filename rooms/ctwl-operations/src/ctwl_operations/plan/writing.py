"""The texts: some of each prompt by plain sampling and by each marking, measured while they are written."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ctwl_encoder import CTWLLogitsProcessor, Encoder, Evidence, Payload
from ctwl_encoder.options import GenerationOptions, MarkingOptions
from ctwl_protocol import Beacon
from ctwl_protocol.records import NONCE_COUNT

from .markings import PLAIN, Marking
from .prompts import GROUP
from .recorder import Recorder, Step

_ROWS = 32
"""Texts that are written together, at most. Chosen by hand: a batch that most machines hold."""

_WARM_UP = 8
"""Marked tokens that are written and thrown away first: they compile what is compiled. Chosen by hand."""

_TRIAL = 8
"""Tokens of the trial that foretells the time. Chosen by hand."""


@dataclass(frozen=True)
class Text:
    """A text.

    Attributes:
        ids: the model's tokens, without the one that ends the text.
        text: the same as text.
        code: what it carries; None for a plain one.
        nll: nats a token, under the model; NaN for an empty text, as the next ones.
        change: what marking changed in the NLL that was expected, nats a token.
        entropy: nats a token, of what the tokens were drawn from, but for the mark.
        decided: nats a token, the part of it that the mark decides.
        first: of ``entropy``, nats of the tokens before the first one that is marked.
        nll_less_entropy: nats a token, the NLL of the tokens under what they were drawn from but for the mark, less its
            entropy. Where tokens are sampled and no mark is, it is 0 but for chance. NaN where nothing is drawn.
        evidence: what of it a reader may expect; None for a plain text.
    """

    ids: tuple[int, ...]
    text: str
    code: int | None
    nll: float
    change: float
    entropy: float
    decided: float
    first: float
    nll_less_entropy: float
    evidence: Evidence | None


class Writer:
    """Writes texts of the same prompts by any marking."""

    def __init__(
        self,
        encoder: Encoder,
        prompts: Sequence[str],
        options: GenerationOptions,
        *,
        provider: int,
        version: int,
        chat: bool = False,
    ) -> None:
        """Say what to write.

        Args:
            encoder: the model with its proxy.
            prompts: one for each group of texts.
            options: how tokens are chosen, and how many; with a seed. What it says of marking is not used.
            provider: of all texts.
            version: of all texts.
            chat: see :meth:`Encoder.generate`.

        Raises:
            OptionOutOfRange: a prompt and its text are longer than the model can read.
        """
        self._encoder, self._options, self._prompts = encoder, options, list(prompts)
        self._batch = partial(write_batch, encoder, chat=chat)
        self._sampling = options.model_dump(exclude={*MarkingOptions.model_fields})
        self._codes = [
            Beacon(provider, version, int(nonce)).code for group in self._nonces(len(prompts)) for nonce in group
        ]
        encoder.tokenize(self._prompts, options.max_new_tokens, chat=chat)

    def _nonces(self, groups: int) -> NDArray[np.int64]:
        """A nonce for each text: int64 (groups, GROUP). Without sampling, texts with one nonce are the same text."""
        rng = np.random.default_rng(self._options.seed)
        drawn = np.array([rng.choice(NONCE_COUNT, GROUP, replace=False) for _ in range(groups)])
        return drawn[:, [0, 0, 1, 1]] if self._options.drawn_at > 0 else drawn

    def cut(self, text: Text, tokens: int) -> str:
        """The first tokens of a text, without a character that is cut in two."""
        return text.text if tokens == len(text.ids) else _decoded(self._encoder, text.ids[:tokens]).rstrip("\ufffd")

    def _texts_of_a_prompt(self, marking: Marking) -> int:
        """How many are written; without sampling and mark they are all the same."""
        return 1 if marking is PLAIN and self._options.drawn_at == 0 else GROUP

    def write(self, marking: Marking, progress: Callable[[int], None] = lambda steps: None) -> tuple[list[Text], float]:
        """Write all texts of a marking, ``GROUP`` for each prompt.

        Args:
            marking: how to mark.
            progress: called after each step with the number of steps so far.

        Returns:
            The texts, and how many times as long a step takes with the mark.
        """
        options, each = GenerationOptions(**self._sampling | dict(marking.options)), self._texts_of_a_prompt(marking)
        rows = [prompt for prompt in self._prompts for _ in range(each)]
        codes = self._codes if marking is not PLAIN else None
        profile = self._encoder.proxy.profile
        warm = min(options.max_new_tokens, profile.prefix_length + _WARM_UP)
        short = options.model_copy(update={"max_new_tokens": warm, "min_new_tokens": 0})
        self._batch(rows[:1], codes and codes[:1], short)
        texts, timed = list[Text](), np.zeros(2)
        for start in range(0, len(rows), _ROWS):
            batch, done = slice(start, start + _ROWS), start // _ROWS * options.max_new_tokens

            def ahead(steps: int, done: int = done) -> None:
                progress(done + steps)

            # Every marking has the same seeds, and every batch another one: a prompt that comes again has new texts.
            seeded = options.model_copy(update={"seed": ((options.seed or 0) + start) % (1 << 63)})
            written, seconds = self._batch(rows[batch], codes and codes[batch], seeded, ahead)
            texts += written
            timed += seconds
            progress(done + options.max_new_tokens)  # also where all texts ended before
        of_marking, others = timed.tolist()
        return [text for text in texts for _ in range(GROUP // each)], 1 + of_marking / others

    def trial(self) -> tuple[float, str]:
        """Seconds of a step of a whole batch, and what it wrote, as one plain text of the length that is asked."""
        rows = [prompt for prompt in self._prompts for _ in range(GROUP)][:_ROWS]
        asked = min(self._options.max_new_tokens, _TRIAL)
        short = GenerationOptions(**self._sampling | {"max_new_tokens": asked, "min_new_tokens": asked})
        self._batch(rows, None, short)
        began = time.perf_counter()
        texts, _ = self._batch(rows, None, short)
        seconds = (time.perf_counter() - began) / asked
        ids = [token for text in texts for token in text.ids]
        return seconds, _decoded(self._encoder, ids[: self._options.max_new_tokens])

    def steps(self, marking: Marking) -> int:
        """The number of steps that :meth:`write` takes at most."""
        rows = len(self._prompts) * self._texts_of_a_prompt(marking)
        return -(-rows // _ROWS) * self._options.max_new_tokens


def write_batch(
    encoder: Encoder,
    prompts: Sequence[str],
    codes: Sequence[int] | None,
    options: GenerationOptions,
    progress: Callable[[int], None] = lambda steps: None,
    *,
    chat: bool = False,
) -> tuple[list[Text], tuple[float, float]]:
    """A batch of texts, and the seconds that marking and all else but the measuring took.

    Args:
        encoder: the model with its proxy.
        prompts: one for each text.
        codes: what the texts carry; None for plain ones.
        options: how tokens are chosen and marked.
        progress: called after each step with the number of steps so far.
        chat: see :meth:`Encoder.generate`.
    """
    mark: Any = None
    if codes is not None:
        mark = CTWLLogitsProcessor(encoder.bridge, [Payload((code,)) for code in codes], **options.marking)
    recorder = Recorder(mark, options.drawn_at > 0, encoder.model.device)
    batch = encoder.tokenize(prompts, options.max_new_tokens, chat=chat)
    began = time.perf_counter()
    rows = encoder.run(batch, Step(recorder.after), options, progress, before=[Step(recorder.before)])
    others = time.perf_counter() - began - recorder.marking - recorder.measuring
    measured = recorder.steps(rows[:, -1]).transpose(2, 0, 1)
    carried: Sequence[int | None] = [None] * len(rows) if codes is None else codes
    texts = [_text(encoder, mark, *each) for each in zip(rows, carried, measured, strict=True)]
    return texts, (recorder.marking, others)


def _text(
    encoder: Encoder,
    mark: CTWLLogitsProcessor | None,
    row: NDArray[np.int64],
    code: int | None,
    measured: NDArray[np.float64],
) -> Text:
    """A row of generated ids, int64 (steps,), with what was measured of it, float64 (5, steps)."""
    ends = np.flatnonzero(np.isin(row, encoder.stop_ids()))
    length = int(ends[0]) if len(ends) else len(row)
    ids = tuple(row[:length].tolist())
    means = measured[:, :length].mean(axis=1).tolist() if length else [np.nan] * len(measured)
    nll, change, entropy, decided, of_drawn = means
    _, _, choice, marked, _ = measured[:, :length]
    less = of_drawn - entropy if entropy else np.nan
    first = float(choice[: int((marked > 0).argmax())].sum()) if (marked > 0).any() else 0.0
    evidence = None
    if mark is not None and code is not None:
        evidence = mark.marker.evidence(mark.text(Payload((code,)), row[:length]))
    return Text(ids, _decoded(encoder, ids), code, nll, change, entropy, decided, first, less, evidence)


def _decoded(encoder: Encoder, ids: Sequence[int]) -> str:
    return str(encoder.tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False))

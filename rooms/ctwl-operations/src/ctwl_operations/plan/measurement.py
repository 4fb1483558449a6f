"""The measurement: texts by each marking, written, read, and put into a table with a recommendation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ctwl_encoder import Encoder
from ctwl_encoder.options import GenerationOptions

from ..budget import Budget
from .markings import PLAIN, Marking, default_marking
from .prompts import GROUP
from .reading import EDITS, Reader, reworded, words
from .result import Effect, Recommendation, Result, Row, Settings
from .rule import agreement, choose
from .statistics import Share, estimate, needed, resampled, share, shared_runs
from .writing import Text, Writer

LENGTHS = 8
"""Lengths, in equal steps, at which a text is read. Chosen by hand: the tokens needed are known to an eighth of the
asked length, which is finer than their interval."""

_READINGS = 4 + len(EDITS)
"""Of a marked text that is found: the whole, halving among the lengths, and after each edit."""

T = TypeVar("T")

Progress = Callable[[str, int, int], None]
"""Called with what is done, how much of it is done, and how much there is."""


@dataclass(frozen=True)
class _Measured:
    """The texts of a marking, in groups of one prompt each.

    Attributes:
        groups: the texts.
        found_at: the tokens after which each text's code is found; None where it is not.
        edited: for each text whether its code is found after each of :data:`.reading.EDITS`.
        wrong: in how many different texts a code is found that they do not carry, and how many there are.
        cost: how many times as long a step takes with the mark.
    """

    groups: list[list[Text]]
    found_at: list[list[int | None]]
    edited: NDArray[np.bool_]
    wrong: tuple[int, int]
    cost: float

    def mean(self, name: str) -> NDArray[np.float64]:
        """The mean of what was measured of a group's texts: float64 (groups,); NaN where all are empty."""
        values = np.array([[getattr(text, name) for text in group] for group in self.groups])
        known = ~np.isnan(values)
        sums, counts = np.where(known, values, 0).sum(axis=1), np.where(known.any(axis=1), known.sum(axis=1), np.nan)
        means: NDArray[np.float64] = sums / counts
        return means


def measure(
    encoder: Encoder,
    reader: Reader,
    prompts: Sequence[str],
    tried: Sequence[Marking],
    options: GenerationOptions,
    settings: Settings,
    progress: Progress,
    expect: Callable[[float], None],
) -> Result:
    """Write texts by plain sampling and by each marking, read them, and recommend one.

    Args:
        encoder: the model with its proxy.
        reader: reads what it writes.
        prompts: as the model takes them, one for each group of texts.
        tried: the ways of marking, the gentlest first.
        options: how tokens are chosen, and how many; with a seed.
        settings: what the result says of them.
        progress: see :data:`Progress`.
        expect: told before the work how many seconds it takes at most, as far as a short trial shows it.

    Raises:
        OptionOutOfRange: a prompt and its text are longer than the model can read.
        CTWLError: see :meth:`ctwl_encoder.Encoder.generate` and ``ctwl_decoder.Decoder.decode``.
    """
    writer = Writer(encoder, prompts, options, provider=settings.provider, version=settings.version, chat=settings.chat)
    a_step, trial = writer.trial()
    steps = sum(writer.steps(marking) for marking in (PLAIN, *tried))
    readings = GROUP * len(prompts) * (1 + _READINGS * len(tried))
    expect(steps * a_step + readings * reader.seconds(trial))
    for marking in (PLAIN, *tried):
        progress(f"writing: {marking.name}", 0, writer.steps(marking))
        progress(f"reading: {marking.name}", 0, GROUP * len(prompts))
    lengths = [max(1, options.max_new_tokens * k // LENGTHS) for k in range(1, LENGTHS + 1)]
    rng = np.random.default_rng(options.seed)
    plain = _measured(writer, reader, PLAIN, lengths, [], rng, progress)
    others = words(" ".join(text.text for group in plain.groups for text in group))
    marked = [_measured(writer, reader, marking, lengths, others, rng, progress) for marking in tried]
    picks = resampled(len(prompts), options.seed or 0)
    row = partial(_row, plain=plain, buckets=lengths, picks=picks, nonces=settings.nonces)
    rows = [row(how, of_it, twins=options.drawn_at > 0) for how, of_it in zip(tried, marked, strict=True)]
    found = np.array([[np.mean([at is not None for at in group]) for group in each.found_at] for each in marked])
    taken = choose(found.mean(axis=1).tolist())
    chosen = Recommendation(taken, agreement(found, picks), default_marking(options.temperature))
    return Result(settings, row(PLAIN, plain, twins=False), rows, chosen)


def _measured(
    writer: Writer,
    reader: Reader,
    marking: Marking,
    lengths: Sequence[int],
    others: Sequence[str],
    rng: np.random.Generator,
    progress: Progress,
) -> _Measured:
    """Write and read the texts of a marking; for ``others`` and ``rng`` see :func:`.reading.reworded`."""
    steps = writer.steps(marking)
    texts, cost = writer.write(marking, lambda done: progress(f"writing: {marking.name}", done, steps))
    found_at, edited, wrong = dict[Text, int | None](), dict[Text, list[bool]](), 0
    for done, text in enumerate(dict.fromkeys(texts), 1):
        code = reader.code(text.text)
        found_at[text], edited[text] = None, [False] * len(EDITS)
        if code is not None and code == text.code:
            own = [length for length in lengths if length < len(text.ids)] + [len(text.ids)]
            found_at[text] = reader.found_at(partial(writer.cut, text), code, own)
            edited[text] = [reader.code(reworded(text.text, each, others, rng)) == code for each in EDITS]
        wrong += code not in (None, text.code)
        progress(f"reading: {marking.name}", done, len(texts))
    progress(f"reading: {marking.name}", len(texts), len(texts))  # also where some were the same
    return _Measured(
        _grouped(texts),
        _grouped([found_at[text] for text in texts]),
        np.array([edited[text] for text in texts]),
        (wrong, len(found_at)),
        cost,
    )


def _grouped(values: Sequence[T]) -> list[list[T]]:
    return [list(values[start : start + GROUP]) for start in range(0, len(values), GROUP)]


def _row(
    marking: Marking,
    measured: _Measured,
    *,
    plain: _Measured,
    buckets: Sequence[int],
    picks: NDArray[np.int64],
    nonces: int,
    twins: bool,
) -> Row:
    """The row of a marking.

    Args:
        marking: how its texts were marked.
        measured: its texts.
        plain: the plain texts.
        buckets: the lengths, in tokens, by which they are told.
        picks: the resamples.
        nonces: from how many a text's is drawn.
        twins: whether the first two texts of a group share a nonce, and the last two another.
    """
    lengths = np.array([[len(text.ids) for text in group] for group in measured.groups])
    drawn, same = _shared(measured, nonces, twins=twins)
    of_plain, _ = _shared(plain, nonces, twins=False)
    usual = estimate(of_plain, picks).mean
    shared, effect = estimate(drawn, picks), None
    if marking is not PLAIN:
        tokens, curve = needed(lengths, measured.found_at, picks)
        flat = [at for group in measured.found_at for at in group]
        effect = Effect(
            found=share(sum(at is not None for at in flat), len(flat)),
            by_length=_by_length(lengths.reshape(-1).tolist(), flat, buckets),
            edited=[
                (each, share(int(n), len(flat))) for each, n in zip(EDITS, measured.edited.sum(axis=0), strict=True)
            ],
            needed=tokens,
            curve=curve,
            change=estimate(measured.mean("change"), picks),
            decided=estimate(measured.mean("decided"), picks).mean,
            nll_over_plain=estimate(measured.mean("nll") - plain.mean("nll"), picks),
            shared_over_plain=shared.mean / usual if usual else math.nan,
            shared_with_one_nonce=estimate(same, picks) if twins else None,
            cost=measured.cost,
            budget=_budget([text for group in measured.groups for text in group]) if twins else None,
        )
    return Row(
        marking,
        tokens=float(np.median(lengths)),
        entropy=estimate(measured.mean("entropy"), picks).mean,
        nll=estimate(measured.mean("nll"), picks),
        nll_less_entropy=estimate(measured.mean("nll_less_entropy"), picks),
        wrong=share(*measured.wrong),
        shared=shared,
        effect=effect,
    )


def _by_length(
    lengths: Sequence[int], found_at: Sequence[int | None], buckets: Sequence[int]
) -> list[tuple[int, Share]]:
    """Of the texts of so many tokens or more, how many are found by their first so many."""
    told = []
    for bucket in dict.fromkeys(buckets):
        long = [
            at is not None and at <= bucket for length, at in zip(lengths, found_at, strict=True) if length >= bucket
        ]
        if long:
            told.append((bucket, share(sum(long), len(long))))
    return told


def _budget(texts: Sequence[Text]) -> Budget | None:
    """Where the evidence of the mean text goes; None where no token was marked."""
    written = [
        (len(text.ids), text.entropy * len(text.ids), text.decided * len(text.ids), text.first, *text.evidence)
        for text in texts
        if text.ids and text.evidence is not None
    ]
    if not written:
        return None
    tokens, choice, decided, first, at_places, repeats, reader = np.mean(written, axis=0).tolist()
    if not at_places:
        return None
    # The choice of the first tokens would have been decided as the rest was.
    would = decided * first / max(choice - first, 1e-9)
    return Budget(tokens, choice, would, max(0.0, decided - at_places), at_places, repeats, reader)


def _shared(measured: _Measured, nonces: int, *, twins: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The share of runs of three tokens that another text of the prompt has: float64 (groups,) each.

    The first is for nonces that are drawn from so many, the second for texts with the same nonce.
    """
    drawn, same = [], []
    for group in measured.groups:
        pairs = [
            (shared_runs(own.ids, [other.ids]), twins and i // 2 == k // 2)
            for i, own in enumerate(group)
            for k, other in enumerate(group)
            if i != k
        ]
        alike, others = (
            _mean([value for value, twin in pairs if twin is which and not math.isnan(value)])
            for which in (True, False)
        )
        same.append(alike)
        drawn.append((alike + (nonces - 1) * others) / nonces if twins else others)
    return np.array(drawn), np.array(same)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else math.nan

"""What the experiments share: prompts, texts by the encoder, reading with what is kept, and exact intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from hashlib import sha256
from importlib import metadata
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import joblib
import numpy as np
from experiment import OFFLINE, RESULTS, tracked
from numpy.typing import NDArray
from scipy import stats

import ctwl_encoder
import ctwl_protocol.hashing
import ctwl_protocol.partition
import ctwl_protocol.proxy
import ctwl_protocol.text.blocks
from ctwl_decoder import Decoder, Report
from ctwl_decoder.statistics.evidence import permutations
from ctwl_decoder.statistics.scored_positions import ScoredPositions
from ctwl_decoder.statistics.scores import Score, position_scores
from ctwl_encoder import Encoder, Generation
from ctwl_protocol.proxy import Rivals, Weigher, open_weigher
from ctwl_protocol.text.positions import positions

KEPT = joblib.Memory(RESULTS.parent / "kept", verbose=0)
"""Where texts, and what the proxy LM says of them, are kept between runs; not part of the repository.

They are nearly the whole cost. So an experiment that was stopped goes on where it was, experiments share texts, and
another score or decoder reads the same texts in a fraction of the time.
"""

T = TypeVar("T")

_WHO = [
    "The state government", "A spokesman for the farmers' federation", "The mayor of the coastal town",
    "Scientists at the university", "The water authority", "Police in the northern district", "The wheat board",
    "A parliamentary committee", "The head of the hospital", "Residents of the valley", "The fishing industry",
    "The transport minister", "The shire council",
]  # fmt: skip
_WHAT = [
    "said on Monday that heavy rain over the weekend had",
    "has warned that the rising cost of fuel will",
    "is calling for an inquiry into the way that",
    "announced a plan to spend 12 million dollars on",
    "has rejected claims that last year's drought",
    "says the new rules, which start next month, are",
    "expects a better season after a difficult year, but",
    "has welcomed the decision of the court to",
    "will meet representatives of the union today to discuss",
]


def news_prompts(count: int) -> list[str]:
    """Openings of made-up news items in an order that mixes who and what; 117 different ones, then they come again."""
    pairs = [f"{who} {what}" for what, who in product(_WHAT, _WHO)]
    return [pairs[i * 55 % len(pairs)] for i in range(count)]  # 55 is coprime to 117


def generated(
    encoder: Encoder,
    texts: int,
    tokens: int,
    *,
    batch: int,
    seed: int,
    beacon: Callable[[int], tuple[int, int]] = lambda start: ((37 * start + 5) % 1024, start % 16),
    **options: Any,
) -> list[Generation]:
    """Texts of so many tokens from news prompts, by the encoder.

    Args:
        encoder: the encoder.
        texts: their number.
        tokens: of each.
        batch: texts that are written together.
        seed: plus the number of a batch's first text, it seeds the batch.
        beacon: gives provider and version of the batch that begins with the text of a number.
        **options: see :meth:`ctwl_encoder.Encoder.generate`.
    """
    prompts, found = news_prompts(texts), list[Generation]()
    for start in tracked(range(0, texts, batch), "writing"):
        found += encoder.generate(
            prompts[start : start + batch], *beacon(start), max_new_tokens=tokens, min_new_tokens=tokens,
            seed=seed + start, **options,
        )  # fmt: skip
    return found


@cache
def digest(*parts: ModuleType | Path) -> str:
    """One digest of modules and files. A package stands for all its modules."""
    paths = [part if isinstance(part, Path) else Path(part.__file__ or "") for part in parts]
    files = [
        file for path in paths for file in (sorted(path.parent.rglob("*.py")) if path.stem == "__init__" else [path])
    ]
    return sha256(b"".join(sha256(file.read_bytes()).digest() for file in files)).hexdigest()


def sources() -> str:
    """A digest of what a text depends on beside its options: the code that writes it, and the libraries underneath."""
    names = ("common", "texts", "baselines", "secret_marks", "attacks", "substitution", "transplant")
    own = [Path(__file__).with_name(f"{name}.py") for name in names]
    return f"{digest(ctwl_protocol, ctwl_encoder, *own)} {_versions('torch', 'transformers', 'tokenizers')}"


def _versions(*names: str) -> str:
    return " ".join(metadata.version(name) for name in names)


@KEPT.cache(ignore=["make"])  # type: ignore[untyped-decorator]
def _made(decided: tuple[object, ...], make: Callable[[], Any]) -> Any:  # noqa: ARG001  # it is looked up
    return make()


def recalled(make: Callable[[], T], *decided: object) -> T:
    """What a function makes, made once for all that decides it, and kept on disk."""
    found: T = _made(decided, make)
    return found


def kept(weigher: Weigher, ids: NDArray[np.int64]) -> Rivals:
    """The rivals of a text of these proxy tokens, kept. The proxy LM computes in the reference arithmetic."""
    code = digest(ctwl_protocol.proxy, ctwl_protocol.partition, ctwl_protocol.hashing, ctwl_protocol.text.blocks)
    decided = weigher.profile.digest, _versions("numpy"), code, ids
    return recalled(partial(weigher.rivals, ids), "rivals", *decided)


def reader(weigher: Weigher | None = None, **options: Any) -> Decoder:
    """A decoder that keeps the rivals of each text, by default of the offline profile.

    Args:
        weigher: the proxy LM.
        **options: see :class:`ctwl_decoder.Decoder`.
    """
    weigher = weigher or open_weigher(OFFLINE)
    return Decoder(weigher, weigh=lambda variant, progress: kept(weigher, variant.ids), **options)


def likeliest(report: Report) -> int | None:
    """The decoder's best code, whether or not it was found; None where the text has no position to score."""
    return (report.likeliest or report).code


def scored_positions(weigher: Weigher, ids: NDArray[np.int64]) -> dict[Score, ScoredPositions]:
    """What a text's proxy tokens, int64 (tokens,), say about every code by each score."""
    profile = weigher.profile
    cut = positions(ids, profile.prefix_length, profile.context_length)
    seeds = permutations(profile, cut.contexts)
    units = position_scores(kept(weigher, ids), profile.prefix_length, seeds, profile.sigma)
    return {score: ScoredPositions.of(profile, cut, each) for score, each in units.items()}


def rate(successes: int, trials: int) -> dict[str, Any]:
    """A rate with its exact (Clopper-Pearson) 95 % interval."""
    interval = stats.binomtest(successes, trials).proportion_ci(0.95, "exact")
    return {
        "successes": successes,
        "trials": trials,
        "rate": round(successes / trials, 4),
        "interval_95": [round(interval.low, 4), round(interval.high, 4)],
    }


def mean(values: NDArray[np.float64]) -> dict[str, Any]:
    """The mean with its 95 % interval by the t distribution."""
    half = float(stats.sem(values) * stats.t.ppf(0.975, len(values) - 1))
    middle = float(values.mean())
    return {
        "mean": round(middle, 4),
        "interval_95": [round(middle - half, 4), round(middle + half, 4)],
        "interval holds 0": bool(abs(middle) <= half),
    }


def beside(values: NDArray[np.float64], plain: NDArray[np.float64]) -> dict[str, Any]:
    """How the means of paired values differ, see :func:`mean`."""
    found = mean(values - plain)
    return {"difference to plain": found.pop("mean")} | found


def distinct(ids: Sequence[int], n: int) -> float:
    """The share of a text's runs of ``n`` tokens that are different ones."""
    runs = [tuple(ids[i : i + n]) for i in range(len(ids) - n + 1)]
    return len(set(runs)) / max(len(runs), 1)


def repeats(ids: Sequence[int]) -> float:
    """The share of the pairs of neighbouring tokens that came before."""
    return 1 - distinct(ids, 2)

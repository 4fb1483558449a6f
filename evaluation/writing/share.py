"""How should a mark that keeps the distribution be dosed?

Models write plain texts. At each of their steps the distribution that the token was drawn from is marked by several
schemes, each under the same random keys, so that they meet the same choices:

- ``race`` with several shares (spec section 8.3);
- ``half``: the first half of the mass in the order of rank is kept and doubled;
- ``channels``: the ranks are cut into 16 channels, and the first is preferred (MCmark, Chen et al. 2025);
- ``tournament``: twelve rounds over the bits of the rank (SynthID-Text, Dathathri et al. 2024).

For each scheme, per token:

- told: the evidence in nats that a reader gets who knows the scheme and the distribution, which is the part of the
  choice that the mark decides;
- read: what the public score ``race`` gets from it, weighing by the model at temperature 1, as a reader who does not
  know how the text was sampled;
- alike: how likely two texts with one code that meet this step write the same token, and three such tokens in a row;
- change: of the NLL that the model expects of the token; 0 for a scheme that keeps the distribution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from ctwl_decoder.statistics.scores import UNMARKED
from ctwl_encoder.core.strategies.race.lots import RANKS, lots, quantiles

from ..shared import real_models
from ..shared.answers import prompts_of
from ..shared.experiment import Options, Result, experiment, tracked
from ..shared.measures import mean
from ..shared.texts import Nucleus
from .variety import SETTINGS, Answers

Chances: TypeAlias = NDArray[np.float64]
Scheme: TypeAlias = Callable[[Chances, NDArray[np.uint32]], Chances]
"""Gives the marked probabilities, float64 (n,), of tokens with these probabilities and ranks."""

SHARES = (0.2, 0.35, 0.5, 0.65, 0.8, 0.95)
CHANNELS, ROUNDS = 16, 12
COLOURS = 32
"""Permutations that the score compares."""

LEAST = 1e-7
"""Less likely tokens are left out."""


def race(share: float, q: Chances, ranks: NDArray[np.uint32]) -> Chances:
    """See :func:`ctwl_encoder.core.strategies.race.reference.gained`."""
    numbers = (np.log(q) + lots(share, ranks)) / (1 - share)
    raised = np.exp(numbers - numbers.max())
    found: Chances = raised / raised.sum()
    return found


def half(q: Chances, ranks: NDArray[np.uint32]) -> Chances:
    """The first half of the mass in the order of rank, doubled; the token at its end in part."""
    order = np.argsort(ranks)
    before = np.cumsum(q[order]) - q[order]
    marked = np.empty_like(q)
    marked[order] = 2 * q[order] * np.clip((0.5 - before) / q[order], 0, 1)
    return marked


def channels(q: Chances, ranks: NDArray[np.uint32]) -> Chances:
    """The first of equal intervals of the ranks is preferred, as far as the mean over permutations allows."""
    channel = (ranks >> np.uint32(32 - (CHANNELS - 1).bit_length())).astype(np.int64)
    mass = np.bincount(channel, weights=q, minlength=CHANNELS)
    factor = np.zeros(CHANNELS)
    factor[0] = min(CHANNELS, 1 / max(mass[0], 1e-300))
    excess = np.maximum(CHANNELS * mass - 1, 0) * (np.arange(CHANNELS) > 0)
    rest = 1 - factor[0] * mass[0]
    if excess.sum() > 0:
        factor += rest * excess / excess.sum() / np.maximum(mass, 1e-300)
    marked = q * factor[channel]
    found: Chances = marked / marked.sum()
    return found


def tournament(q: Chances, ranks: NDArray[np.uint32]) -> Chances:
    """Round by round, tokens whose next bit of the rank is 0 win against the others."""
    for bit in range(31, 31 - ROUNDS, -1):
        wins = (ranks >> np.uint32(bit)) % 2 == 0
        q = q * (1 + wins - (wins * q).sum())
    return q


SCHEMES: Mapping[str, Scheme] = {
    **{f"race {share:g}": partial(race, share) for share in SHARES},
    "half": half, f"{CHANNELS} channels": channels, f"tournament of {ROUNDS}": tournament,
}  # fmt: skip


def ratios(weights: Chances, ranks: NDArray[np.uint32]) -> Chances:
    """The ratios of the score ``race`` (spec section 10.1): float64 (colours, n).

    Args:
        weights: float64 (n,), of the tokens, for the reader.
        ranks: uint32 (colours, n).
    """
    speed = weights * np.exp(quantiles(ranks))
    won = speed / speed.sum(axis=1, keepdims=True)
    ratio = (1 - UNMARKED) * won / won.mean(axis=0) + UNMARKED
    found: Chances = ratio / (ratio @ weights)[:, None]
    return found


def measured(drawn: Chances, weighed: Chances, keys: int, rng: np.random.Generator) -> Iterator[tuple[str, Chances]]:
    """What each scheme does at one step: float64 (keys, 4), told, read, alike, change.

    Args:
        drawn: float64 (|V|,), what the token is drawn from.
        weighed: float64 (|V|,), by the model at temperature 1.
        keys: random keys.
        rng: draws them.
    """
    tokens = np.flatnonzero(drawn > LEAST)
    q, weights = drawn[tokens] / drawn[tokens].sum(), weighed[tokens] / weighed[tokens].sum()
    entropy, told_by_q = -(q * np.log(q)).sum(), np.log(q)
    ranks = rng.integers(RANKS, size=(max(keys, COLOURS), len(tokens)), dtype=np.uint32)
    logs = np.log(ratios(weights, ranks))[:keys]
    for name, scheme in SCHEMES.items():
        rows = []
        for each, log in zip(ranks[:keys], logs, strict=True):
            marked = scheme(q, each)
            some = marked > 0
            told = (marked[some] * (np.log(marked[some]) - told_by_q[some])).sum()
            rows.append((told, marked @ log, marked @ marked, -(marked @ told_by_q) - entropy))
        yield name, np.array(rows)


def distributions(model: Any, prompt: list[int], ids: list[int], how: tuple[float, float]) -> tuple[Chances, Chances]:
    """What each token of a plain text was drawn from, and the model's own distribution: float64 (tokens, |V|) each."""
    temperature, top_p = how
    with torch.inference_mode():
        logits = model(torch.tensor([[*prompt, *ids]])).logits[0, len(prompt) - 1 : -1].float()
        cooled = logits / temperature
        kept = cooled if top_p >= 1 else Nucleus(top_p)(None, cooled)
        drawn, weighed = (torch.softmax(each.double(), dim=1).numpy() for each in (kept, logits))
    return drawn, weighed


@experiment(
    quick={"texts": 1, "tokens": 30, "keys": 2, "models": "smollm2"},
    models="smollm2 qwen2.5-coder-0.5b", kind="prose", texts=8, tokens=100, keys=16, seed=1,
)  # fmt: skip
def main(options: Options) -> Result:
    """Run the experiment."""
    rows = []
    for name in options.models.split():
        prompts = prompts_of(name, options.kind, options.texts)
        model, tokenizer = real_models.load(name)
        for how in SETTINGS:
            rng = np.random.default_rng(options.seed)
            texts = Answers(name, 0.0, *how, tokens=options.tokens, seed=options.seed).of(prompts)
            found: dict[str, list[Chances]] = {scheme: [] for scheme in SCHEMES}
            plain, runs = list[Chances](), {scheme: list[float]() for scheme in SCHEMES}
            for prompt, text in tracked(list(zip(prompts, texts, strict=True)), f"{name}, T = {how[0]}"):
                steps = zip(*distributions(model, tokenizer(prompt)["input_ids"], list(text.ids), how), strict=True)
                alike: dict[str, list[float]] = {scheme: [] for scheme in SCHEMES}
                for drawn, weighed in steps:
                    plain.append(np.array([-(drawn[drawn > 0] * np.log(drawn[drawn > 0])).sum(), drawn @ drawn]))
                    for scheme, each in measured(drawn, weighed, options.keys, rng):
                        found[scheme].append(each)
                        alike[scheme].append(float(each[:, 2].mean()))
                for scheme, one in alike.items():
                    runs[scheme] += (np.array(one[2:]) * one[1:-1] * one[:-2]).tolist()
            entropy, same = np.array(plain).mean(axis=0)
            where = {"model": name, "temperature": how[0], "top-p": how[1], "choice": round(float(entropy), 3)}
            rows.append(where | {"scheme": "plain", "alike": round(float(same), 3)})
            for scheme, every in found.items():
                told, read, alike_by, change = np.concatenate(every).T
                rows.append(
                    where
                    | {"scheme": scheme, "told": round(float(told.mean()), 3), "read": round(float(read.mean()), 3)}
                    | {"alike": round(float(alike_by.mean()), 3), "runs alike": round(float(np.mean(runs[scheme])), 4)}
                    | {"change": mean(change)}
                )
    return {"rows": rows}


if __name__ == "__main__":
    main()

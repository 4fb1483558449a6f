"""What does a mark change where contexts come back, and what evidence stands there?

Over fresh keys each step of ``race`` keeps the model's distribution. A context that comes back in a text meets the same
permutation again, so the key is fresh only where a context stands first. SmolLM2, whose tokens are those of the proxy
LM, writes articles with a nonce for each, by the default share. The marked steps of a text are of two kinds: the
context stands first, or it came back. For each kind: what the mark changes in the NLL that the model expects of the
token, and the part of the steps. And of the evidence that the mark decides, in pairs of context and token that are new,
the part behind contexts that came back: what it would cost to leave such contexts alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ctwl_encoder import CTWLLogitsProcessor, Encoder, Payload
from ctwl_encoder.core.strategies.race.shares import share_for
from ctwl_encoder.options import GenerationOptions
from ctwl_operations.plan.recorder import Recorder, Step
from ctwl_protocol import Beacon
from ctwl_protocol.proxy import open_proxy

from ..shared import real_models
from ..shared.answers import OWN, prompts_of
from ..shared.experiment import OFFLINE, Options, Result, experiment, tracked
from ..shared.measures import mean
from ..shared.texts import PROVIDER, VERSION
from .variety import SETTINGS

LENGTHS = (60, 100, 200)
"""Tokens at which the evidence is counted."""

_CHANGE, _CHOICE, _DECIDED = 1, 2, 3
"""Of what a :class:`Recorder` measures at a step."""


def written(
    encoder: Encoder, prompts: Sequence[str], options: GenerationOptions
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Texts of some prompts: ids, int64 (tokens,), and what was measured of their steps, float64 (5, tokens)."""
    nonces = np.random.default_rng(options.seed).integers(64, size=len(prompts)).tolist()
    payloads = [Payload((Beacon(PROVIDER, VERSION, nonce).code,)) for nonce in nonces]
    recorder = Recorder(CTWLLogitsProcessor(encoder.bridge, payloads, **options.marking), True, encoder.model.device)
    batch = encoder.tokenize(prompts, options.max_new_tokens)
    rows = encoder.run(batch, Step(recorder.after), options, lambda _: None, before=[Step(recorder.before)])
    measured = recorder.steps(rows[:, -1])
    for i, row in enumerate(rows):
        ends = np.flatnonzero(np.isin(row, encoder.stop_ids()))
        length = int(ends[0]) if len(ends) else len(row)
        yield row[:length], measured[:, :length, i]


def kinds(ids: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Where the context, one token, came before in a text, and where the pair of it and the token did: bool (tokens,).

    The first token has no context of its text.
    """
    again, twice = np.zeros((2, len(ids)), dtype=bool)
    contexts, pairs = set[int](), set[tuple[int, int]]()
    for at, (context, token) in enumerate(zip(ids[:-1].tolist(), ids[1:].tolist(), strict=True), 1):
        again[at], twice[at] = context in contexts, (context, token) in pairs
        contexts.add(context)
        pairs.add((context, token))
    return again, twice


def over_steps(values: Sequence[NDArray[np.float64]]) -> dict[str, Any]:
    """The mean over the steps of all texts, with its interval; steps of one text are not independent.

    The ratio of two means over texts, linearized: sum of the values by number of steps.
    """
    sums, counts = (np.array([float(of(each)) for each in values]) for of in (np.sum, len))
    ratio = sums.sum() / counts.sum()
    return mean(ratio + (sums - ratio * counts) / counts.mean())


@experiment(quick={"texts": 4, "tokens": 60}, texts=144, tokens=200, batch=24, seed=1)
def main(options: Options) -> Result:
    """Run the experiment."""
    proxy = open_proxy(OFFLINE)
    encoder = Encoder(*real_models.load(OWN), proxy)
    prompts, rows = prompts_of(OWN, "articles", min(options.batch, options.texts)), list[dict[str, Any]]()
    for temperature, top_p in SETTINGS:
        share, found = share_for(temperature), list[tuple[NDArray[np.int64], NDArray[np.float64]]]()
        for first in tracked(list(range(0, options.texts, options.batch)), f"T = {temperature}"):
            sampling = {"temperature": temperature, "top_p": top_p, "seed": options.seed + first, "share": share}
            found += written(encoder, prompts, GenerationOptions(max_new_tokens=options.tokens, **sampling))
        again, twice = zip(*(kinds(ids) for ids, _ in found), strict=True)
        changes = [measured[_CHANGE, proxy.profile.prefix_length :] for _, measured in found]
        came = [each[proxy.profile.prefix_length :] for each in again]
        new = [
            (measured[_DECIDED] * ~before)[: max(LENGTHS)] for (_, measured), before in zip(found, twice, strict=True)
        ]
        rows.append(
            {
                "temperature": temperature, "top-p": top_p, "share": share, "texts": len(found),
                "entropy of the choice": round(float(np.mean([measured[_CHOICE].mean() for _, measured in found])), 3),
                "change": over_steps(changes),
                "change, context first": over_steps([a[~b] for a, b in zip(changes, came, strict=True)]),
                "change, context came back": over_steps([a[b] for a, b in zip(changes, came, strict=True)]),
                "steps whose context came back": round(float(np.concatenate(came).mean()), 3),
                "evidence behind them": {
                    str(length): round(
                        float(
                            sum((a * b)[:length].sum() for a, b in zip(new, again, strict=True))
                            / sum(a[:length].sum() for a in new)
                        ), 3)
                    for length in LENGTHS if length <= options.tokens
                },
            }
        )  # fmt: skip
    return {"rows": rows}


if __name__ == "__main__":
    main()

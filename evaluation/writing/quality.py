"""Does the ``race`` strategy change what the model writes?

Plain sampling and the strategy write from the same prompts and seeds. Each text is judged by its mean negative
log-likelihood (NLL, nats a token) under the model that wrote it, given its prompt, and by how much it repeats itself:
the share of its pairs of neighbouring tokens that came before. The intervals are of the paired differences of means,
prompt by prompt over all seeds, by the t distribution.

Two texts of one prompt differ by chance far more than a watermark changes them. So the change is also computed without
sampling, at each step of the marked texts: the NLL that the marked distribution is expected to show there, less that of
the model's own, both under the model. The same is done for ``race`` through the token bridge, with the pairs of
``reading/bridge.py``.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ctwl_encoder import CTWLWatermarkingConfig, Encoder
from ctwl_encoder.plan.recorder import expected_change
from ctwl_protocol import Beacon

from ..shared.experiment import OFFLINE, Options, Result, experiment, tracked
from ..shared.measures import beside, mean, repeats
from ..shared.prompts import news_prompts
from ..shared.transplant import PAIRS, encoder_of, transplant


class Judged(NamedTuple):
    """Texts, without their prompts: float64 (texts,) each.

    Attributes:
        nll: the mean NLL of their tokens.
        change: the mean over their steps of how much the expected NLL was changed.
        repeats: the share of their pairs of tokens that came before.
    """

    nll: NDArray[np.float64]
    change: NDArray[np.float64]
    repeats: NDArray[np.float64]


def sample(encoder: Encoder, prompts: list[str], tokens: int, seed: int, strategy: str, **marking: Any) -> Judged:
    """What texts that go on from prompts are like; "plain" is the model's own sampling."""
    batch = encoder.tokenizer(prompts, return_tensors="pt", padding=True)
    rng = np.random.default_rng(seed)
    codes = [Beacon(int(p), int(v), int(n)).code for p, v, n in rng.integers(0, (1024, 16, 64), (len(prompts), 3))]
    if strategy != "plain":
        config = CTWLWatermarkingConfig(codes=codes, strategy=strategy, **marking).attach(encoder.bridge)
        marking = {"watermarking_config": config}
    torch.manual_seed(seed)
    made: Any = encoder.model.generate(
        **batch, do_sample=True, top_k=0, max_new_tokens=tokens, min_new_tokens=tokens,
        pad_token_id=encoder.tokenizer.pad_token_id, output_logits=True, output_scores=True,
        return_dict_in_generate=True, **marking,
    )  # fmt: skip
    ids = made.sequences[:, -tokens:]
    nll, change = torch.zeros(ids.shape, dtype=torch.float64), torch.zeros(ids.shape, dtype=torch.float64)
    for step, (logits, scores) in enumerate(zip(made.logits, made.scores, strict=True)):
        logits[:, encoder.stop_ids()] = -torch.inf  # the end of text was ruled out
        surprise = -torch.log_softmax(logits.double(), dim=1)
        nll[:, step] = surprise.gather(1, ids[:, step, None])[:, 0]
        change[:, step] = expected_change(torch.softmax(scores.double(), dim=1), torch.exp(-surprise), surprise)
    again = np.array([repeats(row) for row in ids.tolist()])
    return Judged(nll.mean(dim=1).numpy(), change.mean(dim=1).numpy(), again)


def samples(encoder: Encoder, prompts: list[str], options: Options, seed: int, strategy: str, **marking: Any) -> Judged:
    """:func:`sample`, batch by batch; ``seed`` plus the number of a batch's first prompt seeds it."""
    batches = [
        sample(encoder, prompts[start : start + options.batch], options.tokens, seed + start, strategy, **marking)
        for start in range(0, len(prompts), options.batch)
    ]
    return Judged(*map(np.concatenate, zip(*batches, strict=True)))


def through_bridge(encoder: Encoder, prompts: list[str], options: Options) -> Result:
    """NLL of ``race`` minus that of plain sampling, paired by prompt, and what the steps were expected to add."""
    plain, marked = (samples(encoder, prompts, options, 0, strategy) for strategy in ("plain", "race"))
    return mean(marked.nll - plain.nll) | {"expected change": mean(marked.change)}


@experiment(
    quick={"prompts": 4, "seeds": 1, "bridged": 2, "tokens": 20},
    prompts=48, seeds=2, bridged=40, tokens=100, batch=25, delta=2.0,
)  # fmt: skip
def main(options: Options) -> Result:
    """Run the experiment."""
    encoder = Encoder.open("smollm2", OFFLINE)
    prompts = news_prompts(options.prompts)
    methods: dict[str, dict[str, Any]] = {
        "plain": {"strategy": "plain"},
        "race": {"strategy": "race"},
        f"delta {options.delta}": {"strategy": "delta", "delta": options.delta},
    }
    found: dict[str, dict[str, Any]] = {}
    plain: Judged | None = None
    for name, marking in tracked(list(methods.items()), "quality"):
        judged = [samples(encoder, prompts, options, 1000 * seed, **marking) for seed in range(options.seeds)]
        means = Judged(*np.mean(judged, axis=0))  # over the seeds, one for each prompt
        found[name] = {
            "mean NLL": round(float(means.nll.mean()), 4),
            "pairs that repeat": round(float(means.repeats.mean()), 4),
        }
        if plain is None:
            plain = means
            continue
        found[name] |= beside(means.nll, plain.nll)
        found[name]["expected change"] = mean(means.change)
        found[name]["repeats"] = beside(means.repeats, plain.repeats)
    pairs, prompts = [], news_prompts(options.bridged)
    with tempfile.TemporaryDirectory() as folder:
        transplant(Path(folder))
        for writer, reader in tracked(PAIRS, "bridge"):
            row = through_bridge(encoder_of(writer, reader, Path(folder)), prompts, options)
            pairs.append({"provider's vocabulary": writer, "proxy's vocabulary": reader, **row})
    return {"methods": found, "pairs": pairs}


if __name__ == "__main__":
    main()

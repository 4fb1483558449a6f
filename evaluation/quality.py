"""Does the ``unbiased`` strategy change what the model writes?

Texts from the same prompts and seeds, plain sampling beside the strategy, each judged by the mean negative
log-likelihood (NLL, nats a token) under the generating model, given its prompt, and by how much it repeats itself: the
share of its pairs of neighbouring tokens that the text has before. The intervals are of the paired differences of
means, prompt by prompt over all seeds, by the t distribution.

    python evaluation/quality.py --out evaluation/results/quality.json
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from common import OFFLINE, arguments, beside, news_prompts, repeats, settings, tracked, write

from ctwl_encoder import Encoder


def sample(encoder: Encoder, prompts: list[str], tokens: int, seed: int, strategy: str, **marking: Any) -> torch.Tensor:
    """Ids of prompt and text, (prompts, length); "plain" is the model's own sampling."""
    from ctwl_encoder import CTWLWatermarkingConfig
    from ctwl_protocol import Beacon

    batch = encoder.tokenizer(prompts, return_tensors="pt", padding=True)
    rng = np.random.default_rng(seed)
    codes = [Beacon(int(p), int(v), int(n)).code for p, v, n in rng.integers(0, (1024, 16, 64), (len(prompts), 3))]
    if strategy != "plain":
        config = CTWLWatermarkingConfig(codes=codes, strategy=strategy, **marking).attach(encoder.bridge)
        marking = {"watermarking_config": config}
    torch.manual_seed(seed)
    ids: torch.Tensor = encoder.model.generate(
        **batch, do_sample=True, top_k=0, max_new_tokens=tokens, min_new_tokens=tokens,
        pad_token_id=encoder.tokenizer.pad_token_id, **marking,
    )  # fmt: skip
    return ids


def nll(encoder: Encoder, ids: torch.Tensor, tokens: int, pad: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Mean NLL of the last ``tokens`` tokens of each row under the model that wrote them."""
    mask = torch.ones_like(ids)
    prompt = ids[:, :-tokens]
    mask[:, :-tokens] = (prompt != pad).long()
    with torch.inference_mode():
        logits = encoder.model(ids, attention_mask=mask, position_ids=(mask.cumsum(1) - 1).clamp(min=0)).logits
        # The end of text was ruled out while sampling, so it is ruled out here too.
        logits[:, :, encoder._stop_ids()] = -torch.inf
        chosen = torch.log_softmax(logits[:, -tokens - 1 : -1], -1).gather(2, ids[:, -tokens:, None])
    return (-chosen[..., 0].double().mean(dim=1)).numpy()


def main() -> None:
    """Run the experiment."""
    options = arguments(__doc__, prompts=48, seeds=3, tokens=100, batch=16, delta=2.0)
    encoder = Encoder.open("smollm2", OFFLINE)
    prompts = news_prompts(options.prompts)
    methods: dict[str, dict[str, Any]] = {
        "plain": {},
        "unbiased": {},
        "unbiased, repeats skipped": {"skip_repeats": True},
        f"delta {options.delta}": {"delta": options.delta},
    }
    values = {name: np.zeros((options.seeds, options.prompts)) for name in methods}
    again = {name: np.zeros((options.seeds, options.prompts)) for name in methods}
    jobs = [
        (s, i, name) for s in range(options.seeds) for i in range(0, options.prompts, options.batch) for name in methods
    ]
    for seed, start, name in tracked(jobs, "quality"):
        rows = slice(start, start + options.batch)
        ids = sample(
            encoder,
            prompts[rows],
            options.tokens,
            1000 * seed + start,
            name.split(",", maxsplit=1)[0].split()[0],
            **methods[name],
        )
        values[name][seed, rows] = nll(encoder, ids, options.tokens, encoder.tokenizer.pad_token_id)
        again[name][seed, rows] = [repeats(row) for row in ids[:, -options.tokens :].tolist()]
    result: dict[str, Any] = {}
    for name, value in values.items():
        result[name] = {
            "mean NLL": round(float(value.mean()), 4),
            "pairs that repeat": round(float(again[name].mean()), 4),
        }
        if name != "plain":
            result[name] |= beside(value.mean(axis=0), values["plain"].mean(axis=0))
            result[name]["repeats"] = beside(again[name].mean(axis=0), again["plain"].mean(axis=0))
    write(
        {"experiment": "quality", "settings": settings(options, model="smollm2", profile=OFFLINE), "methods": result},
        options.out,
    )


if __name__ == "__main__":
    main()

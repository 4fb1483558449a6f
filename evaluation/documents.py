"""Does the decoder find a passage in a long text, and nothing where there is none?

- pasted: a text of so many tokens, written ``unbiased``, stands between two lines of a human document. Found: a span
  with its code. Overlap: characters that the span and the passage share, over those that either has; 0 where none is
  found. The same texts are also read as the paper does: windows whose best code has a posterior of 1 - 1e-5.
- human: documents of so many tokens by people. The p-value is the report's, corrected for all codes and windows.

The documents are cut from the given text files, evenly spread.

    python evaluation/documents.py --out evaluation/results/documents.json FILE...
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from common import OFFLINE, kept, news_prompts, rate, settings, tracked, write
from scipy import stats

from ctwl_decoder import Decoder
from ctwl_encoder import Encoder
from ctwl_protocol.proxy import open_proxy


def cut(decoder: Decoder, text: str, sizes: list[int]) -> list[str]:
    """Passages of so many tokens each that start at lines, evenly spread over a text."""
    tokenizer = decoder.proxy.tokenizer
    found = []
    for start, size in zip(np.linspace(0, len(text) - 20_000, len(sizes)).astype(int), sizes, strict=True):
        piece = text[text.find("\n", start) + 1 :][:20_000]
        found.append(tokenizer.decode(tokenizer.encode(piece)[:size]))
    return found


def documents(decoder: Decoder, files: list[Path], sizes: list[int]) -> list[str]:
    """Human documents of so many tokens, taken from the files in turn."""
    parts = [cut(decoder, file.read_text(encoding="utf-8"), sizes[i :: len(files)]) for i, file in enumerate(files)]
    return [parts[i % len(files)][i // len(files)] for i in range(len(sizes))]


def pasted(decoder: Decoder, options: argparse.Namespace) -> dict[str, Any]:
    """Passages in human documents."""
    rng, encoder = np.random.default_rng(options.seed), Encoder.open("smollm2", OFFLINE)
    humans = documents(decoder, options.files, [options.around] * options.pasted)
    prompts, written = news_prompts(options.pasted), []
    for start in tracked(range(0, options.pasted, options.batch), "writing"):
        written += encoder.generate(
            prompts[start : start + options.batch], provider=(37 * start + 5) % 1024, version=start % 16,
            max_new_tokens=options.tokens, min_new_tokens=options.tokens, seed=options.seed + start,
        )  # fmt: skip
    right, overlaps, others = 0, [], 0
    paper = {"right": 0, "others": 0}
    for human, generation in tracked(list(zip(humans, written, strict=True)), "pasted"):
        place = human.find("\n", rng.integers(len(human)))
        head, tail = (human[:place], human[place:]) if place >= 0 else (human, "")
        text = f"{head}\n{generation.text}{tail}"
        start, end = len(head) + 1, len(head) + 1 + len(generation.text)
        report = decoder.decode(text, alpha=options.alpha)
        spans = [span for span in report.spans if span.code == generation.beacon.code]
        others += len(report.spans) - len(spans)
        right += bool(spans)
        both = sum(max(0, min(end, s.end) - max(start, s.start)) for s in spans)
        either = (end - start) + sum(s.end - s.start for s in spans) - both
        overlaps.append(both / either)
        windows = decoder.decode(text, test="posterior").spans
        paper["right"] += any(span.code == generation.beacon.code for span in windows)
        paper["others"] += sum(span.code != generation.beacon.code for span in windows)
    return {
        "found with the right code": rate(right, options.pasted),
        "overlap, mean": round(float(np.mean(overlaps)), 4),
        "overlap of those found, median": round(float(np.median([o for o in overlaps if o])), 4),
        "spans with another code": others,
        "the paper's windows": {
            "found with the right code": rate(paper["right"], options.pasted),
            "spans with another code": paper["others"],
        },
    }


def human(decoder: Decoder, options: argparse.Namespace) -> dict[str, Any]:
    """Documents without a watermark."""
    sizes = np.random.default_rng(options.seed).integers(1000, 3001, options.human).tolist()
    texts = documents(decoder, options.files, sizes)
    p_values = np.array([decoder.decode(text).p_value for text in tracked(texts, "human")])
    return {
        "documents": len(texts),
        "tokens": int(sum(sizes)),
        "smallest p": float(p_values.min()),
        "at most": {str(level): int((p_values <= level).sum()) for level in (0.05, 0.01, 1e-3, 1e-4, 1e-5)},
        "KS p, one-sided": round(float(stats.kstest(p_values, "uniform", alternative="greater").pvalue), 4),
    }


def main() -> None:
    """Run the experiment."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, help="human text, UTF-8")
    parser.add_argument("--pasted", type=int, default=100, help="documents with a passage (default 100)")
    parser.add_argument("--human", type=int, default=200, help="documents without (default 200)")
    parser.add_argument("--tokens", type=int, default=200, help="tokens of a passage (default 200)")
    parser.add_argument("--around", type=int, default=1000, help="tokens of the document around it (default 1000)")
    parser.add_argument("--alpha", type=float, default=1e-4, help="level (default 1e-4)")
    parser.add_argument("--batch", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    proxy = open_proxy(OFFLINE, fast=True)
    decoder = Decoder(proxy, kept(proxy))
    files = [file.name for file in options.files]
    result: dict[str, Any] = {"experiment": "documents", "settings": settings(options, profile=OFFLINE, files=files)}
    if options.pasted:
        result["pasted"] = pasted(decoder, options)
    if options.human:
        result["human"] = human(decoder, options)
    write(result, options.out)


if __name__ == "__main__":
    main()

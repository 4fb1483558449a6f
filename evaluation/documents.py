"""Does the decoder find nothing in long texts by people?

Documents of 1,000 to 3,000 tokens are cut from the given files, evenly spread. Each is read as any text is. The p-value
is the report's, corrected for all codes and windows, so it may not lie below uniform.

    python evaluation/documents.py --out evaluation/results/documents.json FILE...
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from common import reader
from experiment import Options, Result, experiment, tracked
from scipy import stats

from ctwl_protocol.proxy import ProxyTokenizer


def cut(tokenizer: ProxyTokenizer, text: str, sizes: list[int], room: int = 20_000) -> list[str]:
    """Passages of so many tokens each that start at lines, evenly spread over a text.

    Args:
        tokenizer: the proxy LM's.
        text: the text.
        sizes: tokens of each passage.
        room: characters within which a passage lies.
    """
    found = []
    for start, size in zip(np.linspace(0, len(text) - room, len(sizes)).astype(int), sizes, strict=True):
        piece = text[text.find("\n", start) + 1 :][:room]
        found.append(tokenizer.decode(tokenizer.encode(piece)[:size]))
    return found


def documents(tokenizer: ProxyTokenizer, files: list[Path], sizes: list[int]) -> list[str]:
    """Human documents of so many tokens, taken from the files in turn."""
    parts = [cut(tokenizer, file.read_text(encoding="utf-8"), sizes[i :: len(files)]) for i, file in enumerate(files)]
    return [parts[i % len(files)][i // len(files)] for i in range(len(sizes))]


@experiment(quick={"texts": 2, "longest": 1100}, takes="human", texts=200, longest=3000, seed=1)
def main(options: Options) -> Result:
    """Run the experiment."""
    decoder = reader()
    sizes = np.random.default_rng(options.seed).integers(1000, options.longest + 1, options.texts).tolist()
    texts = documents(decoder.tokenizer, options.files, sizes)
    p_values = np.array([decoder.decode(text).p_value for text in tracked(texts, "reading")])
    return {
        "human": {
            "documents": len(texts),
            "tokens": sum(sizes),
            "smallest p": float(p_values.min()),
            "at most": {str(level): int((p_values <= level).sum()) for level in (0.05, 0.01, 1e-3, 1e-4, 1e-5)},
            "KS p, one-sided": round(float(stats.kstest(p_values, "uniform", alternative="greater").pvalue), 4),
        }
    }


if __name__ == "__main__":
    main()

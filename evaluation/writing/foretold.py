"""Does the encoder's forecast hold: are the texts found that it calls readable?

``Generation.expected_log2_p`` says what p-value a reader may be expected to find, over all codes, and ``readable``
whether that reaches the level of 1e-4. SmolLM2 goes on from news items; other models answer questions that were not
used to choose any number. Texts have several lengths and are read as ``ctwl-decode`` does it, by a decoder whose
registry lists nobody.

- foretold and found: how many texts are readable, and how many are found with the right code. The forecast holds if
  the first lies in the interval of the second;
- tenths: the texts of a model in the order of their forecasts, in ten parts; how many of each part are found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import log2
from typing import Any

import numpy as np

from ctwl_decoder import Decoder
from ctwl_encoder import Generation
from ctwl_protocol.registry import bundled

from ..shared.answers import Writing, held_out_prompts
from ..shared.experiment import Options, Result, experiment, tracked
from ..shared.measures import rate
from ..shared.readers import reader

LENGTHS = (100, 200, 400)
"""The model's tokens of a text."""

SETTINGS = ((0.7, 0.95), (1.0, 1.0))
"""Temperature and top-p."""

PARTS = 10


@dataclass(frozen=True)
class Read:
    """A text's forecast and what came of it.

    Attributes:
        foretold: log2 of the p-value that was expected.
        readable: whether the encoder expects that it is found.
        log2_p: of the p-value that was read.
        found: whether the code was found that was written.
    """

    foretold: float
    readable: bool
    log2_p: float
    found: bool

    @classmethod
    def of(cls, decoder: Decoder, text: Generation) -> Read:
        """Read a text."""
        report = decoder.decode(text.text)
        found = report.code == text.beacon.code
        return cls(text.expected_log2_p, text.readable, log2(report.p_value), found)


def held(texts: Sequence[Read]) -> dict[str, Any]:
    """How many texts were foretold to be found, and how many were."""
    foretold, found = sum(text.readable for text in texts), rate(sum(text.found for text in texts), len(texts))
    low, high = found["interval_95"]
    return {
        "foretold": foretold,
        "found": found,
        "holds": low <= foretold / len(texts) <= high,
        "right for the text": sum(text.readable == text.found for text in texts),
        "median log2 p, foretold": round(float(np.median([text.foretold for text in texts])), 1),
        "median log2 p, read": round(float(np.median([text.log2_p for text in texts])), 1),
    }


def tenths(texts: Sequence[Read]) -> Iterator[dict[str, Any]]:
    """The texts in ten parts by their forecasts, from the clearest on; fewer where texts are few."""
    ordered = sorted(texts, key=lambda text: text.foretold)
    for part in np.array_split(np.arange(len(ordered)), min(PARTS, len(ordered))):
        some = [ordered[i] for i in part]
        yield {"log2 p, foretold": [round(some[0].foretold, 1), round(some[-1].foretold, 1)], **held(some)}


@experiment(
    quick={"texts": 2, "tokens": 100, "models": "smollm2"},
    texts=64, tokens=400, models="smollm2,qwen2.5-coder-0.5b", seed=1, batch=32,
)  # fmt: skip
def main(options: Options) -> Result:
    """Run the experiment; ``models`` are names or folders, with commas between."""
    decoder, rows, models, parts = reader(registry=bundled().without_entries()), [], [], []
    lengths = [length for length in LENGTHS if length <= options.tokens]
    for model in options.models.split(","):
        prompts, every = held_out_prompts(model, options.texts), list[Read]()
        for (temperature, top_p), length in product(SETTINGS, lengths):
            writing = Writing(model, temperature, top_p, length, seed=options.seed + length, batch=options.batch)
            texts = writing.texts(prompts)
            read = [Read.of(decoder, text) for text in tracked(texts, f"{model}, T = {temperature}, {length} tokens")]
            every += read
            settings = {"temperature": temperature, "top-p": top_p, "strategy": texts[0].strategy.value}
            rows.append({"model": model, **settings, "tokens": length, "texts": len(texts), **held(read)})
        models.append({"model": model, "texts": len(every), **held(every)})
        parts += [{"model": model, **part} for part in tenths(every)]
    return {"rows": rows, "models": models, "tenths": parts}


if __name__ == "__main__":
    main()

"""What is left of a text after the changes that programs make to it on its way to a reader?

Each change of ``changes.py`` is made to the same texts of the watermark, which are read by the light scores. The median
p-value counts a text whose code is not found as 1.

Human text goes through them, too: passages of 100 to 200 tokens, half of them from the given files and half of many
kinds from the installed packages, each changed in one way. Cleaning gives a text several forms, of which one is chosen
by what it shows, and the p-value pays for that: so the p-values must not lie below uniform (one-sided
Kolmogorov-Smirnov). Some of the passages are read whole as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ctwl_decoder import Decoder
from ctwl_encoder import Encoder

from ..shared.experiment import OFFLINE, Options, Result, experiment, tracked
from ..shared.human import ROOM, packaged_kinds, passages
from ..shared.measures import rate, small_p_values
from ..shared.outcomes import LEVEL
from ..shared.prompts import generated
from ..shared.readers import reader
from .changes import CHANGES, Change


def found_after(decoder: Decoder, texts: Sequence[tuple[str, int]], change: Change) -> dict[str, Any]:
    """How many texts are found after a change; each has its code."""
    least = []
    for text, code in texts:
        spans = decoder.decode(change(text), alpha=LEVEL, score="light").spans
        least.append(min((span.p_value for span in spans if span.code == code), default=1.0))
    return {
        "found with the right code": rate(sum(each < 1 for each in least), len(least)),
        "median p": float(f"{np.median(least):.3g}"),
    }


def by_people(decoder: Decoder, options: Options) -> list[str]:
    """Passages by people, one after the other changed in each way."""
    rng, ways = np.random.default_rng(options.seed), list(CHANGES.values())
    count = options.each * len(ways)
    packaged = [text for text in packaged_kinds().values() if len(text) > 3 * ROOM]
    own = [file.read_text(encoding="utf-8") for file in options.files]
    found = [
        text for texts in (own, packaged) for text in passages(decoder.tokenizer, texts, count // 2, rng, 100, 200)
    ]
    rng.shuffle(found)
    return [ways[i % len(ways)](text) for i, text in enumerate(found[:count])]


@experiment(
    quick={"texts": 1, "tokens": 60, "each": 1, "whole": 1},
    takes="human", texts=20, tokens=200, each=8, whole=20, seed=1,
)  # fmt: skip
def main(options: Options) -> Result:
    """Run the experiment."""
    decoder, levels = reader(), (0.05, 0.01, 1e-3, LEVEL)
    written = generated(Encoder.open("smollm2", OFFLINE), options.texts, options.tokens, batch=20, seed=options.seed)
    texts = [(each.text, each.beacon.code) for each in written]
    human = by_people(decoder, options)
    light = [decoder.decode(text, score="light").p_value for text in tracked(human, "by people")]
    some = human[:: max(1, len(human) // options.whole)][: options.whole]
    whole = [decoder.decode(text, score="whole").p_value for text in tracked(some, "by people, whole")]
    return {
        "marked": {name: found_after(decoder, texts, change) for name, change in tracked([*CHANGES.items()], "marked")},
        "by people": {"passages": len(light), **small_p_values(np.array(light), levels)},
        "by people, whole": {"passages": len(whole), **small_p_values(np.array(whole), levels)},
    }


if __name__ == "__main__":
    main()

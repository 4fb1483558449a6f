"""Is a passage found in a long text?

A text of so many tokens, written by ``race``, stands between two lines of a human document, which is cut from the
given files. Found: a span with its code. Overlap: characters that the span and the passage share, over those that
either has; 0 where none is found. The same texts are also read as the paper does: windows whose best code has a
posterior of 1 - 1e-5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from ctwl_decoder.report.model import Span
from ctwl_encoder import Encoder
from ctwl_protocol.proxy import open_proxy

from ..shared.experiment import OFFLINE, Options, Result, experiment, tracked
from ..shared.human import documents
from ..shared.measures import rate
from ..shared.outcomes import LEVEL
from ..shared.paper import Passage, passages
from ..shared.prompts import generated
from ..shared.readers import reader

T = TypeVar("T", Span, Passage)


def overlap(spans: list[Span], start: int, end: int) -> float:
    """Characters that spans share with a passage, over those that either has."""
    both = sum(max(0, min(end, span.end) - max(start, span.start)) for span in spans)
    return both / ((end - start) + sum(span.end - span.start for span in spans) - both)


def right_of(found: Sequence[T], code: int) -> tuple[list[T], int]:
    """What was found with the right code, and the number of others."""
    right = [each for each in found if each.code == code]
    return right, len(found) - len(right)


def summary(found: Sequence[tuple[Sequence[object], int]]) -> dict[str, Any]:
    """How many passages were found, from what was found with the right code and the number of others in each text."""
    return {
        "found with the right code": rate(sum(bool(spans) for spans, _ in found), len(found)),
        "spans with another code": sum(others for _, others in found),
    }


@experiment(
    quick={"texts": 2, "tokens": 60, "around": 100},
    takes="human", texts=100, tokens=200, around=1000, batch=20, seed=1,
)  # fmt: skip
def main(options: Options) -> Result:
    """Run the experiment."""
    proxy, encoder = open_proxy(OFFLINE), Encoder.open("smollm2", OFFLINE)
    decoder, rng = reader(), np.random.default_rng(options.seed)
    humans = documents(proxy.tokenizer, options.files, [options.around] * options.texts)
    written = generated(encoder, options.texts, options.tokens, batch=options.batch, seed=options.seed)
    overlaps = []
    found, papers = list[tuple[list[Span], int]](), list[tuple[list[Passage], int]]()
    for human, generation in tracked(list(zip(humans, written, strict=True)), "reading"):
        place = human.find("\n", rng.integers(len(human)))
        head, tail = (human[:place], human[place:]) if place >= 0 else (human, "")
        text = f"{head}\n{generation.text}{tail}"
        found.append(right_of(decoder.decode(text, alpha=LEVEL).spans, generation.beacon.code))
        papers.append(right_of(passages(proxy, proxy.tokenizer.encode(text)), generation.beacon.code))
        overlaps.append(overlap(found[-1][0], len(head) + 1, len(head) + 1 + len(generation.text)))
    seen = [each for each in overlaps if each]
    return {
        "pasted": {
            **summary(found),
            "overlap, mean": round(float(np.mean(overlaps)), 4),
            "overlap of those found, median": round(float(np.median(seen)), 4) if seen else None,
            "the paper's windows": summary(papers),
        },
    }


if __name__ == "__main__":
    main()

"""One text in full: what the pages of the documentation explain the watermark with.

SmolLM2 writes a text that carries a code. The result has the text with the evidence of each token, one position with
the proxy LM's likeliest tokens and the half that each is in, and the score of the code after each token beside that of
the best wrong code. ``tools/figures.py`` draws it.

    python evaluation/example.py --out evaluation/results/example.json
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from common import scored_positions
from experiment import OFFLINE, Options, Result, experiment
from numpy.typing import NDArray

from ctwl_decoder import Decoder
from ctwl_decoder.report.analysis import Analysis
from ctwl_decoder.statistics.code_scores import code_space
from ctwl_decoder.statistics.evidence import permutations
from ctwl_decoder.statistics.scored_positions import ScoredPositions
from ctwl_decoder.statistics.scores import NAT, Score
from ctwl_encoder import Encoder
from ctwl_protocol import hashing
from ctwl_protocol.profile import Profile
from ctwl_protocol.proxy import ProxyTokenizer, Rivals


@experiment(
    quick={"tokens": 60},
    prompt="The council said on Tuesday that",
    provider=42,
    version=3,
    nonce=19,
    seed=5,
    tokens=150,
)
def main(options: Options) -> Result:
    """Run the experiment."""
    encoder, decoder = Encoder.open("smollm2", OFFLINE), Decoder.open(OFFLINE, reference=True)
    (written,) = encoder.generate(
        options.prompt, options.provider, options.version, nonce=options.nonce, seed=options.seed,
        min_new_tokens=options.tokens, max_new_tokens=options.tokens,
    )  # fmt: skip
    first, whole = decoder.analyse(written.text), decoder.analyse(written.text, score="soft")
    proxy, profile = decoder.proxy, decoder.profile
    cut = positions(proxy.tokenizer.encode(written.text), profile.prefix_length, profile.context_length)
    marks = ScoredPositions.of(profile, cut, position_scores(Score.SOFT, observe(proxy, cut), profile.sigma))
    return {
        "text": written.text,
        "code": written.beacon.code,
        "report": first.report.model_dump(mode="json"),
        "p_value by the proxy LM": whole.report.p_value,
        "tokens": pieces_of(whole, first),
        "position": position_of(proxy, cut, marks, written.beacon.code),
        "growth": growth_of(marks, written.beacon.code, code_space(profile)),
    }


def pieces_of(whole: Analysis, first: Analysis) -> list[dict[str, Any]]:
    """The text's tokens with their evidence in nats; None where a token is not scored.

    Args:
        whole: the text read by the proxy LM.
        first: the text as the decoder reads it by default, which is by ranks if these are conclusive.
    """
    rows = zip(whole.pieces(), first.contributions.tolist(), strict=True)
    return [
        {"text": piece, "evidence": _rounded(worth), "evidence by default": _rounded(default)}
        for (piece, worth), default in rows
    ]


def _rounded(worth: float) -> float | None:
    return None if math.isnan(worth) else round(worth, 3)


def position_of(proxy: Proxy, cut: Positions, marks: ScoredPositions, code: int) -> dict[str, Any]:
    """The first position at which the likeliest token is outside the half, and a likely one inside it was written.

    Args:
        proxy: the proxy LM.
        cut: the text's positions.
        marks: the same, scored.
        code: the text's code.
    """
    profile = proxy.profile
    colours = hashing.code_colours(marks.seeds, np.full(len(marks), code, dtype=np.uint32), profile.colours)
    for row, colour in enumerate(colours.tolist()):
        weights = proxy.weights(cut.prefixes[row : row + 1])[0]
        seeds = permutations(profile, cut.contexts[row : row + 1])[0, colour : colour + 1]
        inside = members(weights[None], seeds, profile.sigma)[0]
        observed, likeliest = int(cut.observed[row]), np.argsort(-weights.astype(np.int64), kind="stable")[:12].tolist()
        if inside[observed] and not inside[likeliest[0]] and observed in likeliest[1:8]:
            break
    else:
        raise ValueError("no such position in this text; draw another one (--seed)")
    total = int(weights.sum(dtype=np.uint64))
    return {
        "token": len(cut.prefixes[0]) + row,
        "prefix": proxy.tokenizer.decode(cut.prefixes[row]),
        "colour": colour,
        "chosen": proxy.tokenizer.decode(cut.observed[row : row + 1]),
        "share of the half": round(int(weights[inside].sum(dtype=np.uint64)) / total, 4),
        "candidates": [
            {
                "token": proxy.tokenizer.decode(np.array([token])),
                "probability": round(int(weights[token]) / total, 4),
                "in the half": bool(inside[token]),
            }
            for token in likeliest
        ],
    }


def growth_of(marks: ScoredPositions, code: int, codes: NDArray[np.uint32]) -> dict[str, list[float]]:
    """The score in nats after each position: of the code, and of the best of all others."""
    first, scores = marks.first_occurrences(), np.zeros(len(codes), dtype=np.int32)
    right, wrong = list[float](), list[float]()
    for row, counts in enumerate(first.tolist()):
        if counts:
            scores += marks.scores[row][hashing.code_colours(int(marks.seeds[row]), codes, marks.scores.shape[1])]
        right.append(int(scores[code]) / NAT)
        wrong.append(int(max(scores[:code].max(initial=-(2**31)), scores[code + 1 :].max())) / NAT)
    return {"right": right, "best wrong": wrong}


if __name__ == "__main__":
    main()

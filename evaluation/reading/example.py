"""One text in full: what the pages of the documentation explain the watermark with.

SmolLM2 writes a text that carries a code. The result has the text with the evidence of each token, one position with
the proxy LM's likeliest tokens and the half that each is in, and the score of the code after each token beside that of
the best wrong code. ``tools/figures.py`` draws it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ctwl_decoder import Decoder
from ctwl_decoder.report.analysis import Analysis
from ctwl_decoder.statistics.code_scores import code_space
from ctwl_decoder.statistics.evidence import permutations
from ctwl_decoder.statistics.scored_positions import ScoredPositions
from ctwl_decoder.statistics.scores import NAT, Score
from ctwl_encoder import Encoder
from ctwl_protocol import hashing
from ctwl_protocol.partition.reference import Sigma
from ctwl_protocol.proxy import Proxy, Rivals

from ..shared.experiment import OFFLINE, Options, Result, experiment
from ..shared.readers import scored_positions


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
    encoder, decoder = Encoder.open("smollm2", OFFLINE), Decoder.open(OFFLINE)
    (written,) = encoder.generate(
        options.prompt, options.provider, options.version, nonce=options.nonce, seed=options.seed,
        min_new_tokens=options.tokens,
    )  # fmt: skip
    first, whole = decoder.analyse(written.text), decoder.analyse(written.text, score=Score.RACE)
    proxy, code = decoder.proxy, written.beacon.code
    ids = proxy.tokenizer.encode(written.text)
    marks = scored_positions(proxy, ids)[Score.RACE]
    return {
        "text": written.text,
        "code": code,
        "report": first.report.model_dump(mode="json"),
        "p_value by the proxy LM": whole.report.p_value,
        "tokens": pieces_of(whole, first),
        "position": position_of(proxy, ids, marks, code),
        "growth": growth_of(marks, code, code_space(decoder.profile)),
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


def half_of(rivals: Rivals, at: int, seed: np.uint32, sigma: Sigma) -> tuple[NDArray[np.bool_], float]:
    """Which rivals at a place are in the half of a permutation, as a reader sees it: bool (rivals,); and its mass."""
    its = slice(*rivals.starts[at : at + 2])
    mass = rivals.weights[its] / rivals.total[at]
    x = hashing.ranks_of(seed, rivals.tokens[its]) / 2**32
    order, before = np.argsort(x), (1 - mass.sum()) * x
    before[order] += np.cumsum(mass[order]) - mass[order]
    inside = before < sigma[0] / sigma[1]
    return inside, max(sigma[0] / sigma[1], float((before + mass)[inside].max(initial=0)))


def position_of(proxy: Proxy, ids: NDArray[np.int64], marks: ScoredPositions, code: int) -> dict[str, Any]:
    """The first position at which the likeliest token is outside the half, and a likely one inside it was written.

    Args:
        proxy: the proxy LM.
        ids: the text's tokens.
        marks: its positions, scored.
        code: the text's code.
    """
    profile, tokenizer, rivals = proxy.profile, proxy.tokenizer, proxy.rivals(ids)
    colours = hashing.code_colours(marks.seeds, np.full(len(marks), code, dtype=np.uint32), profile.colours)
    seeds = permutations(profile, marks.pairs[:, :-1])
    for at, colour in enumerate(colours.tolist()):
        inside, share = half_of(rivals, at, seeds[at, colour], profile.sigma)
        its = slice(*rivals.starts[at : at + 2])
        tokens, weights, shown = rivals.tokens[its], rivals.weights[its], int(rivals.shown[at] - rivals.starts[at])
        likeliest = np.argsort(-weights.astype(np.int64), kind="stable")[:12].tolist()
        if inside[shown] and not inside[likeliest[0]] and shown in likeliest[1:8]:
            break
    else:
        raise ValueError("no such position in this text; draw another one (--seed)")
    place = int(rivals.places[at])
    return {
        "token": place,
        "prefix": tokenizer.decode(ids[place - profile.prefix_length : place]),
        "colour": colour,
        "chosen": tokenizer.decode(ids[place : place + 1]),
        "share of the half": round(share, 4),
        "candidates": [
            {
                "token": tokenizer.decode(tokens[each : each + 1].astype(np.int64)),
                "probability": round(int(weights[each]) / int(rivals.total[at]), 4),
                "in the half": bool(inside[each]),
            }
            for each in likeliest
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

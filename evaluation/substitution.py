"""How well does a code survive that tokens are replaced?

A share of each text's tokens is replaced by others that the same LM finds likely there: of its four likeliest
proposals, other than the token itself, one is drawn by its probability after the text before and with the three tokens
behind it. Both scores read the same texts, each in two ways: as the decoder does, which looks for registered codes, for
parts of the text and for records of several codes too, and where it finds nothing names the likeliest; and by one test
of the whole text over all codes, which pays for nothing else.

    python evaluation/substitution.py --out evaluation/results/substitution.json
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from common import OFFLINE, arguments, kept, marks_of, news_prompts, rate, settings, tracked, write
from reading import read_whole

from ctwl_decoder import Decoder
from ctwl_decoder.units import Score
from ctwl_encoder import Encoder
from ctwl_protocol.proxy.model import fast_dtype

PROPOSALS, BEFORE, BEHIND = 4, 16, 3
SHARES = (0.0, 0.1, 0.2, 0.3)
NAMES = ("exact", "exact at p <= 1e-4", "whole text: exact", "whole text: exact at p <= 1e-4")


def logits(model: Any, ids: list[list[int]], places: torch.Tensor) -> torch.Tensor:
    """Log-probabilities of the token after each of ``places`` (rows, places): float32 (rows, places, vocabulary)."""
    device = model.device
    quick = fast_dtype() if device.type == "cpu" else torch.bfloat16  # proposals need no more
    with torch.inference_mode(), torch.autocast(device.type, quick, enabled=quick != torch.float32):
        hidden = model.base_model(torch.tensor(ids, device=device)).last_hidden_state
        chosen = hidden.gather(1, places.to(device)[..., None].expand(-1, -1, hidden.shape[-1]))
        found: torch.Tensor = torch.log_softmax(model.lm_head(chosen).float(), dim=-1)
    return found.cpu().clone()  # an inference tensor may not be written to


def substitute(encoder: Encoder, ids: list[int], share: float, rng: np.random.Generator) -> list[int]:
    """``ids`` with a share of the tokens replaced."""
    places = np.sort(rng.choice(np.arange(1, len(ids) - BEHIND), round(share * len(ids)), replace=False))
    likely = logits(encoder.model, [ids], torch.tensor(places - 1)[None])[0]
    likely[torch.arange(len(places)), torch.tensor([ids[p] for p in places])] = -torch.inf
    likely[:, encoder.tokenizer.all_special_ids] = -torch.inf
    before, proposals = likely.topk(PROPOSALS)
    rows, at = [], []
    for place, candidates in zip(places.tolist(), proposals.tolist(), strict=True):
        left, right = ids[max(0, place - BEFORE) : place], ids[place + 1 : place + 1 + BEHIND]
        for candidate in candidates:
            rows.append((left + [candidate] + right + [0] * BEFORE)[: BEFORE + 1 + BEHIND])
            at.append([len(left) + i for i in range(BEHIND)])
    behind = logits(encoder.model, rows, torch.tensor(at))
    following = torch.tensor([[row[i + 1] for i in steps] for row, steps in zip(rows, at, strict=True)])
    fit = before.flatten() + behind.gather(2, following[..., None])[..., 0].sum(dim=1)
    chances = torch.softmax(fit.view(-1, PROPOSALS).double(), dim=1).numpy()
    out = list(ids)
    for place, candidates, chance in zip(places.tolist(), proposals.tolist(), chances, strict=True):
        out[place] = candidates[rng.choice(PROPOSALS, p=chance / chance.sum())]
    return out


def main() -> None:
    """Run the experiment."""
    options = arguments(__doc__, texts=100, delta_texts=50, tokens=200, batch=20, seed=1)
    encoder, proxy = Encoder.open("smollm2", OFFLINE), Decoder.open(OFFLINE).proxy
    observe = kept(proxy)
    decoder = Decoder(proxy, observe)
    rows = []
    for strategy in ("unbiased", "gumbel", "delta"):
        texts = options.delta_texts if strategy == "delta" else options.texts
        prompts, rng = news_prompts(texts), np.random.default_rng(options.seed)
        found: dict[tuple[float, Score], list[tuple[bool, bool, bool, bool]]] = {}
        for start in tracked(range(0, texts, options.batch), strategy):
            written = encoder.generate(
                prompts[start : start + options.batch], provider=(37 * start + 5) % 1024, version=start % 16,
                strategy=strategy, max_new_tokens=options.tokens, min_new_tokens=options.tokens,
                seed=options.seed + start,
            )  # fmt: skip
            for generation in written:
                ids = encoder.tokenizer(generation.text, add_special_tokens=False)["input_ids"]
                for share in SHARES:
                    text = encoder.tokenizer.decode(substitute(encoder, ids, share, rng)) if share else generation.text
                    for score in Score:
                        report, code = decoder.decode(text, score=score), generation.beacon.code
                        right = report.code == code
                        whole = read_whole(
                            proxy.profile, marks_of(proxy, proxy.tokenizer.encode(text), score, observe), code
                        )
                        found.setdefault((share, score), []).append(
                            (right, right and report.detected, whole.exact, whole.found)
                        )
        for (share, score), outcomes in found.items():
            rates = (rate(sum(each), len(outcomes)) for each in zip(*outcomes, strict=True))
            row = {"strategy": strategy, "substituted": share, "score": score.value}
            rows.append(row | dict(zip(NAMES, rates, strict=True)))
    write({"experiment": "substitution", "settings": settings(options), "rows": rows}, options.out)


if __name__ == "__main__":
    torch.manual_seed(0)
    main()

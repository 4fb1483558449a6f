"""Tokens that an LM finds likely at a place, and texts some of whose tokens are replaced by such."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import torch
from common import news_prompts, tracked

from ctwl_encoder import Encoder
from ctwl_encoder.options import Strategy
from ctwl_protocol.proxy import fast_arithmetic

__all__ = ["PROPOSALS", "SHARES", "edited", "logits", "substitute"]

PROPOSALS = 4
"""So many of the likeliest tokens are proposed at a place."""

SHARES = (0.0, 0.1, 0.2, 0.3)
"""Shares of the tokens that :func:`edited` replaces."""

BEFORE, BEHIND = 16, 3
"""A proposal is judged behind so many tokens, and by so many that follow it."""


def logits(model: Any, ids: list[list[int]], places: torch.Tensor) -> torch.Tensor:
    """Log-probabilities of the token after each of ``places`` (rows, places): float32 (rows, places, vocabulary)."""
    device = model.device
    quick = fast_arithmetic(device) == "bfloat16"  # proposals need no more
    with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=quick):
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


def edited(encoder: Encoder, strategy: Strategy, texts: int, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Texts and what their edits make of them, a text for each of :data:`SHARES`, beside the code that they carry."""
    prompts, rng = news_prompts(texts), np.random.default_rng(options.seed)
    found = []
    for start in tracked(range(0, texts, options.batch), strategy):
        written = encoder.generate(
            prompts[start : start + options.batch], provider=(37 * start + 5) % 1024, version=start % 16,
            strategy=strategy, max_new_tokens=options.tokens, min_new_tokens=options.tokens,
            seed=options.seed + start,
        )  # fmt: skip
        for generation in written:
            ids = encoder.tokenizer(generation.text, add_special_tokens=False)["input_ids"]
            changed = [encoder.tokenizer.decode(substitute(encoder, ids, share, rng)) for share in SHARES[1:]]
            found.append({"code": generation.beacon.code, "texts": [generation.text, *changed]})
    return found

"""Tokens that an LM finds likely at a place, and texts some of whose tokens are replaced by such."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ctwl_encoder import Encoder
from ctwl_protocol.proxy import fast_arithmetic

PROPOSALS = 4
"""So many of the likeliest tokens are proposed at a place."""

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

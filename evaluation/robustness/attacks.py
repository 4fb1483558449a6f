"""How much of a code survives what people do to a text?

Texts of 200 tokens by ``race`` are edited in a share of their tokens:

- substitution: by what the LM finds likely there, see :func:`substitute`;
- deletion: of tokens drawn at random;
- insertion: of what the LM finds likely after the text before, at places drawn at random;
- paraphrase: SmolLM2, which was tuned to follow instructions, is asked to say each passage of some sentences in other
  words. It is bad at that, so the share of the text's runs of four tokens that it leaves is stated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import torch

from ctwl_encoder import Encoder
from ctwl_protocol.proxy.model import fast_arithmetic

from ..shared.cache import recalled, sources
from ..shared.experiment import Options, Result, experiment, tracked
from ..shared.measures import rate
from ..shared.outcomes import read
from ..shared.texts import Recipe, Text, Writer

Attack: TypeAlias = Callable[[Encoder, list[int], float, np.random.Generator], list[int]]

PROPOSALS = 4
"""So many of the likeliest tokens are proposed at a place."""

BEFORE, BEHIND = 16, 3
"""A proposal is judged behind so many tokens, and by so many that follow it."""

CHAT = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
"""How SmolLM2-Instruct is asked; the markers are special tokens."""

PASSAGE = 60
"""Tokens that are paraphrased at once, up to the end of a sentence."""


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
    """``ids`` with a share of the tokens replaced by others that fit between the tokens before and behind."""
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


def delete(encoder: Encoder, ids: list[int], share: float, rng: np.random.Generator) -> list[int]:  # noqa: ARG001
    """``ids`` without a share of the tokens."""
    gone = set(rng.choice(len(ids), round(share * len(ids)), replace=False).tolist())
    return [token for i, token in enumerate(ids) if i not in gone]


def insert(encoder: Encoder, ids: list[int], share: float, rng: np.random.Generator) -> list[int]:
    """``ids`` with so many more tokens."""
    places = np.sort(rng.choice(np.arange(1, len(ids)), round(share * len(ids)), replace=False))
    likely = logits(encoder.model, [ids], torch.tensor(places - 1)[None])[0]
    likely[:, encoder.tokenizer.all_special_ids] = -torch.inf
    values, tokens = likely.topk(PROPOSALS)
    chances = torch.softmax(values.double(), dim=1).numpy()
    drawn = [int(rng.choice(row, p=chance)) for row, chance in zip(tokens.numpy(), chances, strict=True)]
    out = list(ids)
    for place, token in zip(places[::-1].tolist(), drawn[::-1], strict=True):
        out.insert(place, token)
    return out


def paraphrase(encoder: Encoder, ids: list[int], share: float, rng: np.random.Generator) -> list[int]:  # noqa: ARG001
    """The text in other words, passage by passage."""
    tokenizer, out = encoder.tokenizer, []
    for passage in passages(encoder, ids):
        asked = f"Rewrite the following text in your own words. Keep its meaning and its length.\n\n{passage}"
        given = tokenizer(CHAT.format(asked), return_tensors="pt").to(encoder.model.device)
        length = len(tokenizer(passage)["input_ids"])
        torch.manual_seed(int(rng.integers(1 << 31)))
        answer = encoder.model.generate(
            **given, do_sample=True, temperature=0.7, top_p=0.9, top_k=0, min_new_tokens=length // 2,
            max_new_tokens=length * 3 // 2, pad_token_id=tokenizer.pad_token_id,
        )  # fmt: skip
        said = tokenizer.decode(answer[0, given["input_ids"].shape[1] :], skip_special_tokens=True)
        out.append(said.strip())
    return [int(token) for token in tokenizer(" ".join(out), add_special_tokens=False)["input_ids"]]


def passages(encoder: Encoder, ids: list[int]) -> list[str]:
    """A text in pieces of some sentences."""
    found, piece = [], []
    for token in ids:
        piece.append(token)
        if len(piece) >= PASSAGE and encoder.tokenizer.decode([token]).rstrip().endswith((".", "!", "?")):
            found.append(encoder.tokenizer.decode(piece).strip())
            piece = []
    found.append(encoder.tokenizer.decode(piece).strip())
    return [passage for passage in found if passage]


def runs_left(before: list[int], after: list[int]) -> float:
    """The share of a text's runs of four tokens that another one has too."""
    runs = [{tuple(ids[i : i + 4]) for i in range(len(ids) - 3)} for ids in (before, after)]
    return len(runs[0] & runs[1]) / max(len(runs[0]), 1)


ATTACKS: dict[str, tuple[Attack, tuple[float, ...]]] = {
    "none": (lambda encoder, ids, share, rng: ids, (0.0,)),
    "substitution": (substitute, (0.05, 0.1, 0.2)),
    "deletion": (delete, (0.1, 0.2)),
    "insertion": (insert, (0.1, 0.2)),
    "paraphrase": (paraphrase, (1.0,)),
}


def edited(encoder: Encoder, texts: list[list[int]], name: str, share: float, seed: int) -> list[list[int]]:
    """The tokens of texts after an edit by a share of them."""
    rngs = (np.random.default_rng([seed, i, round(1000 * share)]) for i in range(len(texts)))
    return [ATTACKS[name][0](encoder, ids, share, rng) for ids, rng in zip(texts, rngs, strict=True)]


def attacked(writer: Writer, recipe: Recipe, texts: list[Text], name: str, share: float) -> Result:
    """What is left of the codes."""
    exact = passed = 0
    left, lengths = [], []
    asked = [text.ids for text in texts], name, share, recipe.seed
    changes = recalled(partial(edited, writer.encoder, *asked), "edits", sources(__file__), *asked)
    for text, ids in zip(texts, changes, strict=True):
        changed = replace(text, text=writer.encoder.tokenizer.decode(ids, skip_special_tokens=True))
        (outcome,) = read(writer.proxy, recipe, changed, (len(ids) + 64,))
        exact += outcome.exact
        passed += outcome.found
        left.append(runs_left(text.ids, ids))
        lengths.append(len(ids))
    return {
        "exact": rate(exact, len(texts)),
        "found": rate(passed, len(texts)),
        "runs of four tokens left": round(float(np.mean(left)), 3),
        "tokens": round(float(np.mean(lengths)), 1),
    }


@experiment(quick={"texts": 4, "paraphrased": 1}, texts=40, tokens=200, paraphrased=20, seed=1, batch=40)
def main(options: Options) -> Result:
    """Run the experiment."""
    writer = Writer()
    jobs = [(name, share) for name, (_, shares) in ATTACKS.items() for share in shares]
    rows, recipe = [], Recipe(tokens=options.tokens, seed=options.seed, batch=options.batch)
    for name, share in tracked(jobs, "attacks"):
        texts = writer.texts(recipe, options.texts)[: options.paraphrased if name == "paraphrase" else None]
        found = attacked(writer, recipe, texts, name, share)
        rows.append({"attack": name, "share": share, **found})
    return {"rows": rows}


if __name__ == "__main__":
    main()

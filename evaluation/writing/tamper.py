"""Does a provider see who edits by the public key, and what does a public reader lose by that?

Texts at temperature 1 by ``race`` at the default share, each under a public key of its own, in three ways: ``public``,
as it is; ``half``: at half of the contexts, drawn by a private key, the private key's permutation stands in for the
public one (TextSeal, Sander et al. 2026); ``tenth``: at a tenth of them.

Measured: ``read``, the nats a token that the score ``race`` gives a public reader who has the model; and what a reader
gets who is told which contexts are public, and so leaves out the others.

Then 3 of 10 tokens are replaced: ``blindly``, by draws from the model anywhere; ``to remove``, where the public score
is highest, by the worst of eight draws by the public key; ``to forge``, where it is lowest, by the best of eight. Seen
is an editor who knows the public key:

- ``half``: by the exact test of exchanged labels. Sum the differences of the score under the two keys; a fair coin for
  each token's sign gives the null. In untouched texts the keys are alike;
- ``public``: by the text that the provider has kept. Where a text differs, an editor who does not know the key
  writes tokens of any rank, and minus the sum of the logarithms of ranks has a gamma distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import stats
from transformers import LogitsProcessor, LogitsProcessorList

from ctwl_encoder.core.strategies.race.lots import RANKS, lots, quantiles
from ctwl_encoder.core.strategies.race.shares import SHARE
from ctwl_protocol.hashing import ranks_of

from ..shared import real_models
from ..shared.answers import prompts_of
from ..shared.experiment import Options, Result, experiment, tracked
from ..shared.measures import mean, rate
from .share import COLOURS, Chances, ratios

Ids = NDArray[np.int64]


PRIVATE = 20_260_513
"""The provider's key."""
LEVEL = 0.05
LEAST = 1e-5
"""Less likely tokens are left out; all together they are about one in a hundred."""
EDITED, DRAWS = 0.3, 8
WAYS = {"public": 0.0, "half": 0.5, "tenth": 0.1}
"""The part of the contexts that are private."""
EDITS = ("untouched", "blindly", "to remove", "to forge")


def seed_of(key: int, *context: int) -> int:
    """The seed of a permutation: a hash of key and context."""
    for token in context:
        key = int(ranks_of(np.uint32(key), np.array([token]))[0])
    return key


def ranks(key: int, context: int, tokens: Ids) -> NDArray[np.uint32]:
    """The ranks of tokens behind a context, under a key."""
    return ranks_of(np.uint32(seed_of(key, context)), tokens)


def is_private(part: float, context: int) -> bool:
    """Whether the private key marks behind this context."""
    return seed_of(PRIVATE + 1, context) < part * RANKS


class Writing(LogitsProcessor):  # type: ignore[misc]
    """Draws the tokens of a batch in one of the ways: it leaves one token each."""

    def __init__(self, way: str, keys: Sequence[int], start: int, end: int, seed: int) -> None:
        self._way, self._keys, self._start, self._end = way, keys, start, end
        self._rng = np.random.default_rng(seed)

    def __call__(self, ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        """See ``transformers``."""
        scores[:, self._end] = -torch.inf
        chances = torch.softmax(scores.double(), dim=1).numpy()
        chosen = [self._next(row.tolist(), q, key) for row, q, key in zip(ids, chances, self._keys, strict=True)]
        scores[:] = -torch.inf
        scores[torch.arange(len(scores)), torch.tensor(chosen)] = 0.0
        return scores

    def _next(self, ids: list[int], chances: Chances, key: int) -> int:
        tokens = np.flatnonzero(chances > LEAST)
        numbers = np.log(chances[tokens])
        if len(ids) > self._start:  # a text's first token has no context
            key = PRIVATE if is_private(WAYS[self._way], ids[-1]) else key
            numbers = (numbers + lots(SHARE, ranks(key, ids[-1], tokens))) / (1 - SHARE)
        luck = self._rng.integers(RANKS, size=len(tokens), dtype=np.uint32)
        return int(tokens[np.argmax(numbers + quantiles(luck))])


def written(name: str, way: str, options: Options, keys: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """The prompts and the texts, as tokens."""
    model, tokenizer = real_models.load(name)
    tokenizer.padding_side, tokenizer.pad_token = "left", tokenizer.eos_token
    given = tokenizer(prompts_of(name, "prose", options.texts), return_tensors="pt", padding=True)
    start = given["input_ids"].shape[1]
    writing = Writing(way, keys, start, tokenizer.eos_token_id, options.seed)
    with torch.inference_mode():
        out = model.generate(
            **given, do_sample=False, max_new_tokens=options.tokens, logits_processor=LogitsProcessorList([writing])
        )
    prompts = [ids[mask.bool()].tolist() for ids, mask in zip(given["input_ids"], given["attention_mask"], strict=True)]
    return list(zip(prompts, out[:, start:].tolist(), strict=True))


@dataclass(frozen=True)
class Read:
    """What is read of a text, for the tokens that have a context and stand behind it for the first time.

    Attributes:
        places: int64 (n,), where they stand.
        public, private: float64 (n,), nats of the score under either key; the private one only of ``half``.
        open: bool (n,), the context is a public one.
    """

    places: Ids
    public: Chances
    private: Chances
    open: NDArray[np.bool_]


def scores(weights: Chances, tokens: Ids, key: int, context: int, rng: np.random.Generator) -> Chances:
    """The logarithms of the ratios of tokens: float64, as tokens has them."""
    others = rng.integers(RANKS, size=(COLOURS - 1, len(tokens)), dtype=np.uint32)
    found: Chances = np.log(ratios(weights, np.vstack([ranks(key, context, tokens), others]))[0])
    return found


class Reading:
    """Reads and edits texts by the model that wrote them."""

    def __init__(self, name: str, seed: int) -> None:
        self._model, self._tokenizer = real_models.load(name)
        self._rng = np.random.default_rng(seed)

    def chances(self, prompt: list[int], ids: list[int]) -> list[tuple[Ids, Chances]]:
        """The likely tokens at each place of a text, and their probabilities."""
        with torch.inference_mode():
            logits = self._model(torch.tensor([[*prompt, *ids]])).logits[0, len(prompt) - 1 : -1].double()
            logits[:, self._tokenizer.eos_token_id] = -torch.inf
            chances = torch.softmax(logits, dim=1).numpy()
        found = []
        for each, token in zip(chances, ids, strict=True):
            each[token] = max(each[token], 2 * LEAST)
            tokens = np.flatnonzero(each > LEAST)
            found.append((tokens, each[tokens] / each[tokens].sum()))
        return found

    def read(self, prompt: list[int], ids: list[int], key: int, part: float) -> Read:
        """See :class:`Read`."""
        rows, seen = [], set[tuple[int, int]]()
        for place, (tokens, weights) in enumerate(self.chances(prompt, ids)):
            token, context = ids[place], ids[place - 1]
            if not place or (context, token) in seen:
                continue
            seen.add((context, token))
            at = int(np.flatnonzero(tokens == token)[0])
            public, private = (
                float(scores(weights, tokens, each, context, self._rng)[at]) if each else 0.0
                for each in (key, PRIVATE if part == WAYS["half"] else 0)
            )
            rows.append((place, public, private, not is_private(part, context)))
        places, public, private, is_open = np.array(rows, dtype=float).T
        return Read(places.astype(np.int64), public, private, is_open.astype(bool))

    def edited(self, prompt: list[int], ids: list[int], key: int, how: str) -> list[int]:
        """The text with a part of its tokens replaced."""
        if how == "untouched":
            return ids
        all_chances, count = self.chances(prompt, ids), int(EDITED * len(ids))
        if how == "blindly":
            places = self._rng.choice(np.arange(1, len(ids)), count, replace=False)
        else:
            read = self.read(prompt, ids, key, 0.0)
            order = np.argsort(read.public * (1 if how == "to forge" else -1))
            places = read.places[order][:count]
        new = list(ids)
        for place in sorted(places.tolist()):
            tokens, weights = all_chances[place]
            drawn = self._rng.choice(len(tokens), size=1 if how == "blindly" else DRAWS, p=weights)
            if how != "blindly":
                by_key = scores(weights, tokens, key, new[place - 1], self._rng)[drawn]
                drawn = drawn[[np.argmax(by_key) if how == "to forge" else np.argmin(by_key)]]
            new[place] = int(tokens[drawn[0]])
        return new


def exchanged(read: Read, rng: np.random.Generator) -> tuple[float, float]:
    """The p-values of too little and of too much public evidence, by exchanging the labels of the two keys."""
    differences = read.public - read.private
    null = rng.choice([-1.0, 1.0], size=(4000, len(differences))) @ differences
    less, more = (null <= differences.sum()).sum(), (null >= differences.sum()).sum()
    return (1 + less) / 4001, (1 + more) / 4001


def kept(old: list[int], new: list[int], key: int) -> tuple[float, float]:
    """The p-values of too high and of too low ranks under the public key, where a text differs from the one kept."""
    pairs = {(new[at - 1], new[at]) for at in range(1, len(new)) if old[at] != new[at]}
    if not pairs:
        return 1.0, 1.0
    drawn = np.array([int(ranks(key, context, np.array([token]))[0]) for context, token in pairs])
    total = -np.log((drawn + 0.5) / RANKS).sum()
    return float(stats.gamma.cdf(total, len(pairs))), float(stats.gamma.sf(total, len(pairs)))


def seen(p_values: list[tuple[float, float]]) -> dict[str, Any]:
    """In how many texts a test sees that evidence was removed, or forged."""
    small = (np.array(p_values) <= LEVEL).sum(axis=0).tolist()
    return {"removed": rate(small[0], len(p_values)), "forged": rate(small[1], len(p_values))}


@experiment(quick={"texts": 4, "tokens": 30}, model="smollm2", texts=24, tokens=120, seed=1)
def main(options: Options) -> Result:
    """Run the experiment."""
    rows, rng = [], np.random.default_rng(options.seed)
    keys = rng.integers(RANKS, size=options.texts, dtype=np.uint32).tolist()
    for way, part in WAYS.items():
        whole, tested = list[Read](), {how: list[tuple[float, float]]() for how in EDITS}
        every = written(options.model, way, options, keys)
        reading = Reading(options.model, options.seed)
        for (prompt, ids), key in tracked(list(zip(every, keys, strict=True)), way):
            whole.append(reading.read(prompt, ids, key, part))
            for how in EDITS if way != "tenth" else ():
                new = reading.edited(prompt, ids, key, how)
                if way == "half":
                    tested[how].append(exchanged(reading.read(prompt, new, key, part), rng))
                else:
                    tested[how].append(kept(ids, new, key))
        row: dict[str, Any] = {"way": way, "read": mean(np.array([read.public.mean() for read in whole]))}
        if part:
            told = [read.public[read.open].sum() / len(read.public) for read in whole]
            row["read where told"] = mean(np.array(told))
        if way != "tenth":
            row["seen"] = {how: seen(each) for how, each in tested.items()}
        rows.append(row)
    return {"rows": rows}


if __name__ == "__main__":
    main()

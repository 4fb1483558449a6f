"""Does ``race`` keep the model's distribution over many texts of one provider?

One text is as likely as before, averaged over codes. But a provider writes many texts with few codes. The permutation
at a frequent token such as " the" is then the same in all of them, and the tokens that it bars are barred in all. A
nonce drawn for each text mends that (spec section 8.3). Two views, both at frequent contexts:

- exact: at places of plain texts where the context stands, the distribution that was drawn from and what ``race``
  makes of it, both averaged over the places and over codes; their distance in total variation, without any sampling.
  With one code; with the 64 nonces of a provider and version; and over all permutations alike, where what is left
  comes from their finite number A.
- sampled: texts of the same provider and version from the same prompts, with a fixed nonce and with one each, beside
  two sets of plain texts: total variation between token frequencies after the
  first L_prefix tokens, which carry nothing. 200 permutations that swap texts of one prompt say how much is chance.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ctwl_encoder.core.host import probabilities
from ctwl_encoder.core.shares import SHARE
from ctwl_encoder.core.strategies.race.reference import add_lots
from ctwl_protocol import Beacon, Profile, hashing
from ctwl_protocol.bridge import Branch
from ctwl_protocol.records.record import slot_seed

from ..shared.experiment import Options, Result, experiment, tracked
from ..shared.prompts import news_prompts
from ..shared.texts import PROVIDER, VERSION, Recipe, Text, Writer

PERMUTATIONS = 200


def distributions(
    writer: Writer, texts: list[Text], prompts: list[str], context: int, most: int
) -> NDArray[np.float64]:
    """What was drawn from behind a context, at its places in texts: float64 (places, |V|)."""
    found: list[NDArray[np.float64]] = []
    for text, prompt in zip(texts, prompts, strict=True):
        places = [i + 1 for i, token in enumerate(text.ids[:-1]) if token == context]
        if places:
            logits = writer.logits(writer.encoder.tokenizer(prompt)["input_ids"], text.ids)[places]
            found += list(probabilities(logits).astype(np.float64))
        if len(found) >= most:
            break
    return np.array(found[:most])


def colours(profile: Profile, context: int, codes: list[int]) -> NDArray[np.int64]:
    """How often codes have each colour behind a context: int64 (colours,)."""
    seed = slot_seed(profile, [context])
    found = hashing.code_colours(seed, np.array(codes, dtype=np.uint32), profile.colours)
    return np.bincount(found, minlength=profile.colours)


def by_colour(profile: Profile, likely: NDArray[np.float64], context: int) -> NDArray[np.float64]:
    """What ``race`` makes of distributions, their mean for each colour: float64 (colours, |V|)."""
    seeds = hashing.permutation_seeds(hashing.partition_seed(profile.key, [context]), profile.colours)
    tokens, made = np.arange(likely.shape[1]), np.zeros((profile.colours, likely.shape[1]))
    for p in likely:
        for colour, seed in enumerate(seeds.tolist()):
            made[colour] += p * np.exp(add_lots(Branch((), tokens, tokens, p), seed, SHARE)) / len(likely)
    return made


def variation(p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Total variation between distributions, float64 (..., tokens) each."""
    return np.asarray(np.abs(p - q).sum(axis=-1) / 2)


def exact(
    writer: Writer, texts: list[Text], prompts: list[str], context: int, places: int, codes: dict[str, list[int]]
) -> dict[str, Any]:
    """Distances behind one context, averaged over places and codes."""
    profile = writer.proxy.profile
    likely = distributions(writer, texts, prompts, context, places)
    plain, made = likely.mean(axis=0), by_colour(profile, likely, context)
    row: dict[str, Any] = {"context": writer.encoder.tokenizer.decode([context]), "places": len(likely)}
    for name, some in codes.items():
        share = colours(profile, context, some) / len(some)
        row[name] = round(float(variation(plain, share @ made)), 4)
    return row | {"all permutations": round(float(variation(plain, made.mean(axis=0))), 4)}


def counts(texts: list[Text], skipped: int, size: int, behind: int | None) -> NDArray[np.float64]:
    """How often each token occurs in each text, anywhere or behind one token: float64 (texts, tokens)."""
    found = np.zeros((len(texts), size))
    for row, text in zip(found, texts, strict=True):
        ids = np.array(text.ids[skipped:])
        np.add.at(row, ids if behind is None else ids[1:][ids[:-1] == behind], 1)
    return found


def sampled(
    plain: list[Text], other: list[Text], skipped: int, contexts: list[int], rng: np.random.Generator
) -> dict[str, Any]:
    """Distances between two sets of texts, with the share of permutations that are as far apart."""
    row: dict[str, Any] = {}
    size = 1 + max(max(text.ids) for text in (*plain, *other))
    swaps = np.zeros((1 + PERMUTATIONS, len(plain)))  # the first swaps nothing
    swaps[1:] = rng.random((PERMUTATIONS, len(plain))) < 0.5
    for name, behind in (("all tokens", [None]), ("behind the contexts, mean", contexts)):
        found = np.zeros(len(swaps))
        for context in behind:
            a, b = (counts(texts, skipped, size, context) for texts in (plain, other))
            swapped = swaps @ (b - a)
            mixed = a.sum(axis=0) + swapped, b.sum(axis=0) - swapped
            found += variation(*(each / each.sum(axis=1, keepdims=True).clip(1) for each in mixed)) / len(behind)
        row[name] = round(float(found[0]), 4)
        row[f"{name}, by chance"] = round(float(found[1:].mean()), 4)
        row[f"{name}, p"] = round(float((found >= found[0]).mean()), 4)
    return row


@experiment(
    quick={"texts": 20, "contexts": 2, "places": 5}, texts=500, tokens=60, contexts=8, places=60, seed=1, batch=50
)
def main(options: Options) -> Result:
    """Run the experiment."""
    writer = Writer()
    shared: dict[str, Any] = {"tokens": options.tokens, "batch": options.batch}
    of_one: dict[str, Any] = {"provider": PROVIDER, "version": VERSION, **shared}
    recipes = {
        "plain": Recipe("plain", seed=options.seed, **shared),
        "plain again": Recipe("plain", seed=options.seed + 1, **shared),
        "a nonce for each text": Recipe(seed=options.seed + 2, **of_one),
        "one nonce": Recipe(seed=options.seed + 2, nonce=0, **of_one),
    }
    written = {name: writer.texts(recipe, options.texts) for name, recipe in tracked(list(recipes.items()), "writing")}
    codes = {
        "one code": [Beacon(PROVIDER, VERSION, 0).code],
        "64 nonces": [Beacon(PROVIDER, VERSION, nonce).code for nonce in range(64)],
    }
    plain, prompts = written["plain"], news_prompts(options.texts)
    tokens = Counter(token for text in plain for token in text.ids[:-1])
    contexts = [token for token, _ in tokens.most_common(options.contexts)]
    skipped = writer.proxy.profile.prefix_length
    rng = np.random.default_rng(options.seed)
    rows = [
        {"texts": name, **sampled(plain, texts, skipped, contexts, rng)}
        for name, texts in tracked([pair for pair in written.items() if pair[0] != "plain"], "comparing")
    ]
    return {
        "exact": [
            exact(writer, plain, prompts, context, options.places, codes) for context in tracked(contexts, "contexts")
        ],
        "sampled": rows,
    }


if __name__ == "__main__":
    main()

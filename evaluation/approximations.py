"""What do the two approximations of the paper's method leave out, at places of real texts?

The paper derives what an encoder adds to the logit of a token ``v``: ``delta`` times the log-probability of the message
given ``v``, less its mean over all messages, less the log of a normalizer. It takes the last two for constant and adds
``delta`` to the tokens of ``V`` and nothing else. Here both are computed, over all colours (messages are spread evenly
over them), at places of plain texts, for halves of the proxy LM's mass (balance) and of the vocabulary (vanilla):

- the mean: in which share of the colours a token lies in ``V``. It differs from 1/2 for likely tokens only; the exact
  logit prefers them less, whether or not a colour holds them. What that changes: total variation between the two ways
  to write, the mass that each puts on ``V``, how far it is from the model (Kullback-Leibler), and by how much NLL
  grows, which is no distance: it falls where likely tokens are preferred;
- the normalizer: ``log sum q(v) exp(delta [v in V])``, which is ``log((1 + e^delta) / 2)`` where exactly half of the
  model's mass ``q`` is in ``V``: its mean, and its spread over colours at a place and over places.

    python evaluation/approximations.py --out evaluation/results/approximations.json
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from common import news_prompts
from experiment import Options, Result, experiment, tracked
from numpy.typing import NDArray
from scipy.stats import entropy
from texts import Recipe, Text, Writer

from ctwl_encoder.core.strategies import probabilities
from ctwl_protocol import hashing
from ctwl_protocol.partition import kernel
from ctwl_protocol.proxy import Proxy

DELTAS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0)


@dataclass(frozen=True)
class Place:
    """Where a token is drawn.

    Attributes:
        likely: float64 (tokens,), the model's distribution.
        inside: bool (colours, tokens), which tokens lie in each colour's half.
    """

    likely: NDArray[np.float64]
    inside: NDArray[np.bool_]

    @cached_property
    def share(self) -> NDArray[np.float64]:
        """In which share of the colours each token lies: float64 (tokens,)."""
        return np.asarray(self.inside.mean(axis=0))


def places(
    writer: Writer, proxy: Proxy, text: Text, prompt: str, count: int, rng: np.random.Generator
) -> Iterator[Place]:
    """Some places of a text, behind its first L_prefix tokens."""
    profile, ids = proxy.profile, np.array(text.ids)
    likely = probabilities(writer.logits(writer.encoder.tokenizer(prompt)["input_ids"], text.ids)).astype(np.float64)
    for i in rng.choice(np.arange(profile.prefix_length, len(ids)), count, replace=False).tolist():
        weights = proxy.weights(ids[None, i - profile.prefix_length : i])
        seed = hashing.partition_seed(profile.key, ids[i - profile.context_length : i].tolist())
        seeds = hashing.permutation_seeds(seed, profile.colours)
        inside = kernel.members(np.repeat(weights, len(seeds), axis=0), seeds, profile.sigma)
        yield Place(likely[i], inside[:, : likely.shape[1]])


def mean_term(place: Place, delta: float, colours: int) -> dict[str, float]:
    """What the mean over the messages changes, averaged over the first so many colours."""
    q, inside = place.likely, place.inside[:colours]
    surprise = -np.log(np.maximum(q, 1e-45))
    found = {}
    written = {}
    for name, mean in (("left out", np.zeros(len(q))), ("exact", place.share)):
        made = q * np.exp(delta * (inside - mean))
        made /= made.sum(axis=1, keepdims=True)
        written[name] = made
        found[f"mass in V, {name}"] = float(made[inside].sum() / colours)
        found[f"KL to the model, {name}"] = float((made @ surprise - entropy(made, axis=1)).mean())
        found[f"NLL grows by, {name}"] = float((made @ surprise).mean() - q @ surprise)
    found["total variation"] = float(np.abs(written["exact"] - written["left out"]).sum() / (2 * colours))
    return found


def normalizers(place: Place) -> NDArray[np.float64]:
    """The log of the normalizer for every strength and colour: float64 (deltas, colours)."""
    return np.asarray(np.log1p(np.outer(np.expm1(DELTAS), place.inside @ place.likely)))


@experiment(quick={"texts": 2, "places": 2}, texts=40, tokens=200, places=10, colours=20, seed=1, batch=40)
def main(options: Options) -> Result:
    """Run the experiment."""
    writer = Writer()
    recipe = Recipe("plain", tokens=options.tokens, seed=options.seed, batch=options.batch)
    texts, prompts = writer.texts(recipe, options.texts), news_prompts(options.texts)
    means, spreads = [], []
    for name, half in (("balance", writer.proxy), ("vanilla", writer.proxy.vanilla())):
        rng = np.random.default_rng(options.seed)
        changed: dict[float, list[dict[str, float]]] = {delta: [] for delta in DELTAS}
        logs: list[NDArray[np.float64]] = []
        for text, prompt in tracked(list(zip(texts, prompts, strict=True)), name):
            for place in places(writer, half, text, prompt, options.places, rng):
                logs.append(normalizers(place))
                for delta in DELTAS:
                    changed[delta].append(mean_term(place, delta, options.colours))
        for delta, table in zip(DELTAS, np.stack(logs, axis=1), strict=True):
            row: dict[str, Any] = {"partition": name, "delta": delta}
            columns = changed[delta][0]
            means.append(row | {key: round(float(np.mean([c[key] for c in changed[delta]])), 4) for key in columns})
            spreads.append(
                row
                | {
                    "taken for": round(float(np.log((1 + np.exp(delta)) / 2)), 4),
                    "mean": round(float(table.mean()), 4),
                    "spread over colours": round(float(table.std(axis=1).mean()), 4),
                    "spread over places": round(float(table.mean(axis=1).std()), 4),
                }
            )
    return {"mean of the messages": means, "normalizer": spreads}


if __name__ == "__main__":
    main()

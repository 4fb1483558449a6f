"""Are the constants of the scores by a language model well chosen?

SmolLM2 goes on from news items, and Qwen2.5-Coder answers questions of ``chat_prompts.json``, at two temperatures, by
``race`` and by ``delta``. Of each text is kept what the scores need: the tokens of at least one part in 4,096 of
the proxy LM's mass, and what the masses add up to at each temperature. Then each constant is moved around today's
value, the others left alone, and all texts are read anew: ``race`` by the score of this name, ``delta`` by ``half``.

- temperature: of the proxy LM; its masses to the power of 1 / temperature;
- sharpness: the scale of the Gumbel distribution of the factor between the writer's probability and the proxy LM's;
- unmarked: the share of the positions that are taken to be unmarked;
- rivals: the parts in one of which a token's mass must reach one, to be a rival;
- border, border by mass: the two numbers of the ramp.

Counted are the texts that one test of the whole text finds over all codes. The mean of log10 of the written code's
chance under the null says more where nearly all texts are found, or few; texts below 1e-40 count as that.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ctwl_decoder.statistics.code_scores import code_space
from ctwl_decoder.statistics.evidence import permutations
from ctwl_decoder.statistics.null import tail_of
from ctwl_decoder.statistics.scored_positions import ScoredPositions, ScoreTable
from ctwl_decoder.statistics.scores import NAT, RAMP, UNMARKED, Score
from ctwl_encoder import Strategy
from ctwl_protocol import Profile, hashing
from ctwl_protocol.proxy import Proxy, open_proxy
from ctwl_protocol.proxy.rivals import SHARE
from ctwl_protocol.text.positions import positions

from ..shared import real_models
from ..shared.answers import OWN, Writing
from ..shared.cache import recalled, sources
from ..shared.experiment import OFFLINE, Options, Result, experiment, tracked
from ..shared.measures import rate
from ..shared.outcomes import LEVEL, is_clear, own_score
from ..shared.prompts import news_prompts

PROMPTS = Path(__file__).with_name("chat_prompts.json")
KINDS = ("question", "explanation", "story", "list")
"""Of the prompts: the plain questions."""

SETTINGS = ((0.7, 0.95), (1.0, 1.0))
"""Temperature and top-p of writing."""

STRATEGIES = tuple(strategy.value for strategy in Strategy)
RECORDED = 4096
"""Tokens of at least one part of the mass in so many are kept."""

CLEAREST = -40.0
"""Log10 of the least chance that counts as such in a mean."""


@dataclass(frozen=True)
class Constants:
    """What the scores of a position depend on beside the text; by default as the decoder has it."""

    temperature: float = 1.0
    sharpness: float = 1.0
    unmarked: float = UNMARKED
    rivals: int = SHARE
    border: float = RAMP[0]
    border_by_mass: float = RAMP[1]


GRID: Mapping[str, tuple[Sequence[float], Sequence[str]]] = {
    "temperature": ((0.6, 0.7, 0.85, 1.0, 1.2, 1.5), STRATEGIES),
    "sharpness": ((0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0), ("race",)),
    "unmarked": ((0.05, 0.1, 0.15, UNMARKED, 0.3, 0.4), STRATEGIES),
    "rivals": ((32, 64, 128, SHARE, 512, 1024), STRATEGIES),
    "border": ((0.0, 0.05, RAMP[0], 0.15, 0.2, 0.3), ("delta",)),
    "border_by_mass": ((0.0, 0.2, 0.3, RAMP[1], 0.5, 0.7), ("delta",)),
}
"""What each constant is set to, and the strategies whose score it changes."""


@dataclass(frozen=True)
class Place:
    """What the proxy LM says of one position.

    Attributes:
        tokens: int64 (n,), the likeliest, and the token that the text shows.
        mass: float64 (n,), of each, at temperature 1.
        shown: where in ``tokens`` the token stands that the text shows.
        sums: what the masses of all tokens add up to at each temperature of the grid.
    """

    tokens: NDArray[np.int64]
    mass: NDArray[np.float64]
    shown: int
    sums: Mapping[float, float]

    @classmethod
    def of(cls, weights: NDArray[np.uint32], observed: int, total: int) -> Place:
        """From the weights of the vocabulary, and of all there is."""
        mass = weights / np.float64(total)
        mass[observed] = max(mass[observed], 1 / total)
        kept = np.flatnonzero((mass * RECORDED >= 1) | (np.arange(len(mass)) == observed))
        sums = {each: float((mass[mass > 0] ** (1 / each)).sum()) for each in GRID["temperature"][0]}
        return cls(kept, mass[kept], int(np.searchsorted(kept, observed)), sums)

    def rivals(self, constants: Constants) -> tuple[NDArray[np.int64], NDArray[np.float64], int]:
        """The tokens of enough mass and the masses, at a temperature; and where the shown token stands among them."""
        mass = self.mass
        if constants.temperature != 1:
            mass = mass ** (1 / constants.temperature) / self.sums[constants.temperature]
        kept = mass * constants.rivals >= 1
        kept[self.shown] = True
        return self.tokens[kept], mass[kept], int(kept[: self.shown].sum())


def units(
    place: Place, seeds: NDArray[np.uint32], sigma: float, constants: Constants, score: Score
) -> NDArray[np.int8]:
    """The units of a position for every colour: int8 (colours,); as spec section 10.1, with other numbers."""
    tokens, mass, shown = place.rivals(constants)
    rest = max(1 - mass.sum(), 0.0)
    x = (hashing.ranks_of(seeds[:, None], tokens[None]) + 0.5) / 2**32
    if score is Score.HALF:
        order = np.argsort(x, axis=1)
        ranked = np.cumsum(mass[order], axis=1) - mass[order]
        before = np.empty_like(x)
        np.put_along_axis(before, order, ranked, axis=1)
        width = constants.border + constants.border_by_mass * np.sqrt((mass**2).sum())
        row = np.clip((sigma + width - before - rest * x) / np.maximum(mass + 2 * width, 1e-12), 0, 1) / sigma
    else:
        speed = (mass / -np.log1p(-x)) ** (1 / constants.sharpness)
        row = speed / (rest + speed.sum(axis=1, keepdims=True))
        row /= row.mean(axis=0)
    ratio = (1 - constants.unmarked) * row + constants.unmarked
    nats = np.log(ratio[:, shown] / (rest + ratio @ mass))
    found: NDArray[np.int8] = np.clip(np.floor(NAT * nats + 0.5), -127, 127).astype(np.int8)
    return found


@dataclass(frozen=True)
class Evidence:
    """A text that carries a code, and what the proxy LM says of its positions.

    Attributes:
        ids: int64 (tokens,).
        code: what was written.
        places: of its positions.
    """

    ids: NDArray[np.int64]
    code: int
    places: Sequence[Place]

    @classmethod
    def of(cls, proxy: Proxy, text: str, code: int, tokens: int) -> Evidence:
        """Of a text's first proxy tokens, kept on disk."""
        ids = proxy.tokenizer.encode(text)[:tokens]
        return cls(ids, code, recalled(partial(_places, proxy, ids), "places", sources(__file__), ids))

    def read(self, profile: Profile, constants: Constants, score: Score) -> tuple[bool, float]:
        """Whether one test over all codes finds the code; log10 of its chance under the null."""
        cut = positions(self.ids, profile.prefix_length, profile.context_length)
        seeds, sigma = permutations(profile, cut.contexts), profile.sigma[0] / profile.sigma[1]
        rows = [units(place, row, sigma, constants, score) for place, row in zip(self.places, seeds, strict=True)]
        table = ScoreTable.of(ScoredPositions.of(profile, cut, np.array(rows)))
        chance = max(tail_of(table.scores, table.score(self.code)), 10**CLEAREST)
        return is_clear(table, self.code) and chance * len(code_space(profile)) <= LEVEL, float(np.log10(chance))


def _places(proxy: Proxy, ids: NDArray[np.int64]) -> list[Place]:
    first, total = proxy.profile.prefix_length, 1 << proxy.profile.weight_bits
    weights = proxy.weights_at(ids, np.arange(first, len(ids)))
    return [Place.of(row, int(ids[first + i]), total) for i, row in enumerate(weights)]


def prompts(model: str, count: int) -> list[str]:
    """Prompts of which none is held out."""
    if model == OWN:
        return news_prompts(count)
    chats = json.loads(PROMPTS.read_text(encoding="utf-8"))
    return real_models.chat(model, [chats[kind][i] for i in range(len(chats[KINDS[0]])) for kind in KINDS][:count])


def evidence(options: Options, proxy: Proxy, strategy: str) -> Iterator[Evidence]:
    """The texts of a strategy, by all models and at all temperatures."""
    for model in options.models.split(","):
        tokens = options.tokens if model == OWN else options.tokens * 3 // 2  # its tokens may be shorter
        for temperature, top_p in SETTINGS:
            writing = Writing(model, temperature, top_p, tokens, strategy, options.seed, options.batch)
            for answer in tracked(writing.answers(prompts(model, options.texts)), f"weighing, {model}, {strategy}"):
                found = Evidence.of(proxy, answer.whole.text, answer.whole.beacon.code, options.tokens)
                if len(found.places):  # an answer of a few words has none
                    yield found


@experiment(
    quick={"texts": 2, "tokens": 60, "models": OWN},
    texts=48, tokens=120, models=f"{OWN},qwen2.5-coder-0.5b", seed=1000, batch=32,
)  # fmt: skip
def main(options: Options) -> Result:
    """Run the experiment; ``models`` are names or folders, with commas between."""
    proxy = open_proxy(OFFLINE)
    texts = {strategy: list(evidence(options, proxy, strategy)) for strategy in STRATEGIES}
    rows = []
    for name, value, changed in tracked([(n, v, g[1]) for n, g in GRID.items() for v in g[0]], "reading"):
        constants = replace(Constants(), **{name: value})
        row: dict[str, Any] = {"constant": name.replace("_", " "), "value": value, "today": constants == Constants()}
        for strategy in changed:
            read = [each.read(proxy.profile, constants, own_score(strategy)) for each in texts[strategy]]
            chances = [chance for _, chance in read]
            found = rate(sum(found for found, _ in read), len(read))
            row[strategy] = {"found": found, "mean log10 chance": round(float(np.mean(chances)), 2)}
        rows.append(row)
    return {"rows": rows}


if __name__ == "__main__":
    main()

"""How much variety does a strategy cost for how much strength, and what lies between ``unbiased`` and ``gumbel``?

Several texts of each of a few prompts, all with one code: the worst case, since a provider draws a nonce for each text.
Every rule below keeps the model's distribution at a step. It says, for each token, how the two strategies are mixed:

- ``fresh e``: ``gumbel``, but each proxy token's lot is drawn anew with probability ``e``, else it is the
  permutation's;
- ``mixed q``: each step is by ``gumbel`` with probability ``q``, else by ``unbiased``;
- ``sure below H``: a step whose entropy is below ``H`` nats is by ``gumbel``, the others by ``unbiased``;
- ``until clear``: ``gumbel`` until a reader may be expected to find the code with a margin of ``MARGIN`` bits, then
  ``unbiased``;
- ``new in prompt``: ``gumbel`` at a place that no other text of the prompt has come to, else ``unbiased``; a server
  would have to remember the places of its texts;
- ``halves n``: ``unbiased`` n times in a row, a tournament: what one permutation leaves is halved by the next. The
  further permutations are those of other codes, see ``LAYERS``. A reader adds up what it sees under each.

Measured are

- shared runs: the share of a text's runs of three tokens that another text of its prompt has, too, behind the first ten
  tokens, which are never marked; self-BLEU: BLEU of each text against the others of its prompt; distinct runs of two
  over all texts of a prompt, and over all texts of all prompts;
- found: texts that the light scores alone read at p <= 1e-4 over all codes, by tokens; bits: what a token adds to the
  evidence, the median over texts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ctwl_decoder.statistics.light import light_units
from ctwl_decoder.statistics.null import FLOOR, tail_of
from ctwl_decoder.statistics.scored_positions import ScoredPositions, ScoreTable
from ctwl_encoder import Bridge, CTWLLogitsProcessor
from ctwl_encoder.core.expected_evidence import READERS_LEVEL, expected_log2_p
from ctwl_encoder.core.host import HostMarker, multiply
from ctwl_encoder.core.offers import BranchOffers
from ctwl_encoder.core.payload import Payload, Seeds
from ctwl_encoder.core.strategies import Strategy
from ctwl_encoder.core.strategies.gumbel.reference import exponential_minimum
from ctwl_encoder.core.strategies.traits import Lots
from ctwl_encoder.core.strategies.unbiased.reference import keep_first_half
from ctwl_encoder.core.text_state import TextState
from ctwl_encoder.integrations.transformers import ProcessorConfig
from ctwl_encoder.plan.statistics import shared_runs
from ctwl_protocol.bridge import Branch
from ctwl_protocol.records.beacon import BEACON_BITS
from ctwl_protocol.text.positions import Positions, positions

from ..shared.cache import recalled, sources
from ..shared.experiment import Options, Result, experiment, tracked
from ..shared.measures import rate, self_bleu
from ..shared.prompts import news_prompts
from ..shared.texts import Recipe, Text, Writer, mean_choice

SETTINGS = ((0.7, 0.95), (1.0, 1.0), (0.4, 0.95))
"""Temperature and top-p."""

LENGTHS = (40, 50, 60, 80, 100, 125, 150)
MARGIN = 20
"""Bits beyond the reader's level: some words may be lost before a reader sees the text."""

LAYERS = 3
"""Permutations at a place: in layer k that of the code exclusive or k. No published profile's reader knows but the
first; to read the others, spec section 10.1 would have to change."""

UNMARKED = 10
"""Tokens at the beginning of a text that are not marked, the profile's L_prefix."""


class At(NamedTuple):
    """A step at which a rule decides.

    Attributes:
        branch: the candidates.
        seeds: of the permutations, one a layer; the first is the code's own.
        new: whether no other text of the prompt has come to this place.
        text: the text so far.
        entropy: nats, of the model's distribution.
        random: for what is drawn.
    """

    branch: Branch
    seeds: tuple[int, ...]
    new: bool
    text: TextState
    entropy: float
    random: np.random.Generator


Rule = Callable[[At], NDArray[np.float64]]
"""Gives the factors of the candidates' probabilities, float64 (n,)."""


def race(at: At) -> NDArray[np.float64]:
    """``gumbel``."""
    return exponential_minimum(at.branch, Lots(at.seeds[0]))


def half(at: At) -> NDArray[np.float64]:
    """``unbiased``."""
    return keep_first_half(at.branch, Lots(at.seeds[0]))


def fresh(share: float, at: At) -> NDArray[np.float64]:
    """``gumbel`` with a share of lots that are drawn anew."""
    return exponential_minimum(at.branch, Lots(at.seeds[0], int(at.random.integers(1 << 32)), share))


def mixed(share: float, at: At) -> NDArray[np.float64]:
    """``gumbel`` at a share of the steps."""
    return race(at) if at.random.random() < share else half(at)


def sure(below: float, at: At) -> NDArray[np.float64]:
    """``gumbel`` where the model is sure."""
    return race(at) if at.entropy < below else half(at)


def until_clear(at: At) -> NDArray[np.float64]:
    """``gumbel`` until the code is clear with a margin."""
    clear = expected_log2_p(at.text.last, BEACON_BITS, Strategy.GUMBEL) <= math.log2(READERS_LEVEL) - MARGIN
    return half(at) if clear else race(at)


def new_in_prompt(at: At) -> NDArray[np.float64]:
    """``gumbel`` where no other text of the prompt has come."""
    return race(at) if at.new else half(at)


def halves(layers: int, at: At) -> NDArray[np.float64]:
    """``unbiased`` in each of some layers."""
    factors = np.ones(len(at.branch.mass))
    for seed in at.seeds[:layers]:
        left = at.branch._replace(mass=at.branch.mass * factors)
        factors = factors * keep_first_half(left, Lots(seed))
    return factors


RULES: dict[str, Rule | None] = {
    "plain": None,
    "unbiased": half,
    "gumbel": race,
    "until clear": until_clear,
    "new in prompt": new_in_prompt,
    **{f"sure below {nats:g}": partial(sure, nats) for nats in (1.0, 2.0, 3.0)},
    **{f"fresh {share:g}": partial(fresh, share) for share in (0.1, 0.2)},
    **{f"mixed {share:g}": partial(mixed, share) for share in (0.5, 0.75)},
    **{f"halves {layers}": partial(halves, layers) for layers in range(2, LAYERS + 1)},
}


class ByRule(CTWLLogitsProcessor):
    """Marks by a rule, row by row in NumPy; its positions count as those of ``gumbel``."""

    def __init__(self, bridge: Bridge, payloads: Sequence[Payload], rule: Rule, seed: int) -> None:
        super().__init__(bridge, payloads, strategy="gumbel")
        self._host = HostMarker(bridge, Strategy.GUMBEL)
        self._rule, self._random = rule, np.random.default_rng(seed)
        self._seeds = Seeds(self.marker.profile)
        self._first: dict[tuple[bytes, int], int] = {}
        self._offered: list[TextState] = []

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Mark one step; see the class above."""
        if self._prompts is None:
            self._prompts = input_ids.numpy()
            self.payloads = self._payloads_of_rows(self._prompts)
        rows = input_ids.numpy()[:, self._prompts.shape[1] :]
        marked, likely = scores.float().numpy().copy(), torch.softmax(scores.float(), dim=-1)
        entropy = torch.special.entr(likely).sum(dim=1).tolist()
        texts = [self.text(payload, row) for payload, row in zip(self.payloads, rows, strict=True)]
        for text in self._offered:
            text.offers = None  # large, and of use for one step only
        self._offered = texts
        for n, text in enumerate(texts):
            payloads = payloads_of_layers(text.payload)
            begun = len(text.written) >= self.marker.profile.prefix_length
            offers = self._host.offers(text, likely[n].numpy()) if begun else []
            text.offers = BranchOffers.of(offers)
            for offer in offers:
                seeds = tuple(self._seeds.of(each, offer.place) for each in payloads)
                new = self._first.setdefault((self._prompts[n].tobytes(), seeds[0]), n) == n
                at = At(offer.branch, seeds, new, text, entropy[n], self._random)
                multiply(marked[n], offer.branch, self._rule(at))
        return torch.from_numpy(marked)


def payloads_of_layers(payload: Payload) -> list[Payload]:
    """What selects the permutation of each layer."""
    return [Payload((payload.carried[0] ^ layer,)) for layer in range(LAYERS)]


class RuleWriter(Writer):
    """Writes texts by a rule, which is a recipe's method."""

    def marking(self, recipe: Recipe, codes: list[int]) -> dict[str, Any]:
        """What ``generate`` takes to write by a rule."""
        rule = RULES[recipe.method]
        if rule is None:
            return {}
        bridge = Bridge(self.encoder.tokenizer, self.proxy)
        processor = ByRule(bridge, [Payload((code,)) for code in codes], rule, recipe.seed)
        return {"watermarking_config": ProcessorConfig(processor)}


def p_values(writer: Writer, text: Text, lengths: Sequence[int], layers: int) -> list[float]:
    """The p-value of a text's code among all codes by the better of the light scores, at each length.

    The scores of several layers are added up; under a wrong code they are independent.
    """
    profile = writer.proxy.profile
    whole = positions(writer.proxy.tokenizer.encode(text.text), profile.prefix_length, profile.context_length)
    units = [*light_units(profile, whole).values()]
    found = []
    for length in lengths:
        part = Positions(*(column[: length - UNMARKED] for column in whole))
        tables = [ScoreTable.of(ScoredPositions.of(profile, part, each[: length - UNMARKED])) for each in units]
        least = min(
            tail_of(np.tile(table.scores, (layers, 1)), sum(table.score(text.code ^ layer) for layer in range(layers)))
            for table in tables
        )
        found.append(max(len(tables) * least, FLOOR) * 2.0**BEACON_BITS)
    return found


def strength(writer: Writer, texts: Sequence[Text], lengths: Sequence[int], layers: int) -> dict[str, Any]:
    """How many texts are found at each length, and what a token adds to the evidence."""
    read = np.array([p_values(writer, text, lengths, layers) for text in texts])
    bits = (BEACON_BITS - np.log2(read[:, -1])) / (lengths[-1] - UNMARKED)
    return {
        "found": {str(n): rate(int((read[:, i] <= READERS_LEVEL).sum()), len(texts)) for i, n in enumerate(lengths)},
        "bits a token": round(float(np.median(bits)), 3),
    }


def layers_of(method: str) -> int:
    """How many permutations a rule marks by."""
    return int(method.removeprefix("halves ")) if method.startswith("halves ") else 1


def variety(alike: Sequence[Sequence[Text]]) -> dict[str, float]:
    """How alike the texts of one prompt are: means over all texts."""
    behind = [[text.ids[UNMARKED:] for text in texts] for texts in alike]
    pairs = [[pair for ids in texts for pair in pairwise(ids)] for texts in behind]
    every = [pair for each in pairs for pair in each]
    measures: dict[str, list[float]] = {
        "shared runs of three": [
            shared_runs(own, [other for other in texts if other is not own]) for texts in behind for own in texts
        ],
        "self-BLEU": [float(self_bleu([text.text for text in texts]).mean()) for texts in alike],
        "distinct runs of two": [len(set(each)) / len(each) for each in pairs],
        "distinct runs of two, over prompts": [len(set(every)) / len(every)],
    }
    return {name: round(float(np.mean(values)), 4) for name, values in measures.items()}


@experiment(quick={"tokens": 40, "prompts": 1, "alike": 2}, tokens=150, prompts=4, alike=16, seed=1, batch=64)
def main(options: Options) -> Result:
    """Run the experiment."""
    writer, rows = RuleWriter(), list[dict[str, Any]]()
    lengths = [length for length in LENGTHS if length <= options.tokens]
    prompts = [prompt for prompt in news_prompts(options.prompts) for _ in range(options.alike)]
    for temperature, top_p in SETTINGS:
        for method in tracked(list(RULES), f"T = {temperature:g}"):
            recipe = Recipe(
                method, tokens=options.tokens, temperature=temperature, top_p=top_p, provider=42, version=3, nonce=5,
                seed=options.seed, batch=options.batch,
            )  # fmt: skip
            texts: list[Text] = []
            for start in range(0, len(prompts), options.batch):
                batch = prompts[start : start + options.batch]
                write = partial(writer.write, recipe, start, batch)
                texts += recalled(write, "dial", sources(__file__), recipe, start, batch)
            alike = [texts[start : start + options.alike] for start in range(0, len(texts), options.alike)]
            row: dict[str, Any] = {"temperature": temperature, "top-p": top_p, "method": method}
            row |= {} if method == "plain" else strength(writer, texts, lengths, layers_of(method))
            row |= variety(alike) | {
                "entropy of the choice": mean_choice(texts),
                "NLL": round(float(np.mean([np.mean(text.nll) for text in texts])), 3),
            }
            rows.append(row)
    return {"settings": {"level": READERS_LEVEL, "margin, bits": MARGIN}, "rows": rows}


if __name__ == "__main__":
    main()

"""Does averaging several providers' models wash their codes out?

WASH (arXiv 2605.30501) averages the distributions of three models with secret watermarks, draws each token from the
average, and finds none of the watermarks again. Whoever draws each token from one of the models at random does the
same, so a provider's programming interface is enough.

Here three providers of one registry each mark what a model of their own says: SmolLM2, which reads another
opening before the same prompt. Their marked distributions are averaged, and one token is drawn for all three. Beside
that, each provider writes alone. The texts are read in two ways, in whole and in their first tokens:

- *by the decoder*, as any text: does it name one of the codes that were written?
- *by one test for each provider* over the whole text, which pays for the 64 nonces of all three alone. A reader who
  knows whom to suspect can have no more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
from transformers import LogitsProcessor

from ctwl_decoder import Decoder, Report
from ctwl_decoder.statistics.code_scores import score_all
from ctwl_decoder.statistics.null import FLOOR, null_of
from ctwl_decoder.statistics.scored_positions import ScoreTable
from ctwl_encoder import CTWLLogitsProcessor, Encoder
from ctwl_encoder.core.payload import Payload
from ctwl_encoder.options import GenerationOptions
from ctwl_protocol import Beacon
from ctwl_protocol.proxy import open_proxy
from ctwl_protocol.records.beacon import NONCE_COUNT

from ..shared.cache import recalled, sources
from ..shared.detectors import PROVIDERS, registry
from ..shared.experiment import OFFLINE, Options, Result, experiment, tracked
from ..shared.measures import rate
from ..shared.outcomes import LEVEL, own_score
from ..shared.prompts import news_prompts
from ..shared.readers import first_tokens, reader, scored_positions
from ..shared.texts import VERSION

WAYS = (("race", 1.0), ("race", 0.7))
"""Strategies and temperatures."""

OPENINGS = (
    "From the news agency's wire this morning.\n\n",
    "My diary, on a long and tiring day at the office.\n\n",
    "A story that is read to children on the radio.\n\n",
)
"""What each provider's model reads before the prompt."""

_APART_EVERY = 10
"""Steps after which it is measured how far the models are apart."""


@dataclass(frozen=True)
class Written:
    """A text, and the codes of those whose distributions it was drawn from."""

    text: str
    codes: tuple[int, ...]


@dataclass
class Averaged(LogitsProcessor):  # type: ignore[misc]  # transformers has no types
    """Marks each row, and draws one token for the rows of a text from the mean of their distributions.

    Attributes:
        marking: marks each row by its own code.
        models: rows of a text.
        apart: how far the models' own distributions are from their mean, in total variation, at some steps.
    """

    marking: CTWLLogitsProcessor
    models: int
    apart: list[float] = field(default_factory=list)
    supports_continuous_batching = False
    _steps: int = 0

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Int64 (rows, length), float (rows, size) -> float (rows, size), minus infinity but for the token drawn."""
        if self._steps % _APART_EVERY == 0:
            own = self._by_text(scores)
            self.apart.append(float((own - own.mean(dim=1, keepdim=True)).abs().sum(dim=2).mean() / 2))
        self._steps += 1
        mean = self._by_text(self.marking(input_ids, scores)).mean(dim=1)
        drawn = torch.multinomial(mean, 1).repeat_interleave(self.models, dim=0)
        return torch.full_like(scores, -torch.inf).scatter(1, drawn, 0.0)

    def _by_text(self, scores: torch.Tensor) -> torch.Tensor:
        """Probabilities: float32 (texts, models, size)."""
        likely = torch.softmax(scores.float(), dim=1)
        return likely.view(-1, self.models, likely.shape[1])


def written(encoder: Encoder, way: tuple[str, float], alone: bool, options: dict[str, int]) -> dict[str, Any]:
    """Texts of all three providers together, or of each in turn alone; how far their models are apart."""
    strategy, temperature = way
    rng, prompts, count = np.random.default_rng(options["seed"]), news_prompts(options["texts"]), len(PROVIDERS)
    rows = [(i, j) for i in range(len(prompts)) for j in ([i % count] if alone else range(count))]
    codes = [Beacon(PROVIDERS[j].number, VERSION, int(rng.integers(NONCE_COUNT))).code for _, j in rows]
    asked = GenerationOptions(
        strategy=strategy, temperature=temperature, seed=options["seed"],
        max_new_tokens=options["tokens"], min_new_tokens=options["tokens"],
    )  # fmt: skip
    marking = CTWLLogitsProcessor(encoder.bridge, [Payload((code,)) for code in codes], **asked.marking)
    averaged = Averaged(marking, 1 if alone else count)
    given = encoder.tokenize([OPENINGS[j] + prompts[i] for i, j in rows], options["tokens"])
    ids = encoder.run(given, averaged, asked, lambda _: None)[:: averaged.models]
    texts = encoder.tokenizer.batch_decode(ids, skip_special_tokens=True)
    carried = zip(*[iter(codes)] * averaged.models, strict=True)
    return {"texts": [Written(*each) for each in zip(texts, carried, strict=True)], "apart": averaged.apart}


def by_one_test(decoder: Decoder, text: str, code: int, strategy: str) -> tuple[bool, float]:
    """Whether one test of the whole text finds a provider's code among all that the three may write.

    Returns:
        Whether it does; and minus log10 of the p-value of this code alone, had it been known.
    """
    scored = scored_positions(decoder.proxy, decoder.tokenizer.encode(text))[own_score(strategy)]
    table = ScoreTable.of(scored)
    first = code - code % NONCE_COUNT
    codes = np.arange(first, first + NONCE_COUNT, dtype=np.uint32)
    scores, null = score_all(table, codes), null_of(table.scores)
    best = int(scores.argmax())
    found = first + best == code and null.p_value(int(scores[best]), NONCE_COUNT * len(PROVIDERS)) <= LEVEL
    return found, -math.log10(max(null.tail(int(scores[code - first])), FLOOR))


def named(report: Report) -> set[int]:
    """The codes that a report names."""
    return {code for span in report.spans for code in (span.record.codes if span.record else [span.code])}


def read(decoder: Decoder, texts: Sequence[Written], strategy: str, tokens: int) -> dict[str, Any]:
    """What the first tokens of texts say."""
    right, strengths, tested, wrong = 0, list[float](), list[list[bool]](), 0
    for each in tracked(texts, f"{strategy}, {tokens} tokens"):
        text = first_tokens(decoder.tokenizer, each.text, tokens)
        codes = named(decoder.decode(text, alpha=LEVEL))
        right += bool(codes & set(each.codes))
        wrong += bool(codes - set(each.codes))
        found = [by_one_test(decoder, text, code, strategy) for code in each.codes]
        tested.append([one for one, _ in found])
        strengths += [strength for _, strength in found]
    return {
        "tokens": tokens,
        "named by the decoder": rate(right, len(texts)),
        "texts in which it names another code": wrong,
        "a code found by one test": rate(sum(map(any, tested)), len(texts)),
        "codes found by one test": rate(sum(map(sum, tested)), sum(map(len, tested))),
        "median -log10 p of a code": round(float(np.median(strengths)), 1),
    }


@experiment(quick={"texts": 3, "tokens": 60, "shorter": 40}, texts=15, tokens=400, shorter=200, seed=1)
def main(options: Options) -> Result:
    """Run the experiment."""
    encoder = Encoder.open("smollm2", OFFLINE)
    decoder = reader(open_proxy(OFFLINE), registry=registry())
    size = {name: getattr(options, name) for name in ("texts", "tokens", "seed")}
    rows, apart = list[dict[str, Any]](), list[float]()
    for way in WAYS:
        for alone in (True, False):
            decided = sources(__file__), way, alone, size
            made = recalled(partial(written, encoder, way, alone, size), "averaging", *decided)
            apart += [] if alone else made["apart"]
            told = {"strategy": way[0], "temperature": way[1], "averaged": 1 if alone else len(PROVIDERS)}
            rows += [told | read(decoder, made["texts"], way[0], n) for n in (options.shorter, options.tokens)]
    return {
        "settings": {"models apart": round(float(np.mean(apart)), 3)},
        "rows": rows,
    }


if __name__ == "__main__":
    main()

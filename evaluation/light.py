"""What do the light scores find alone, what does it cost to read by them first, and what does their screen let pass?

- Texts of several strategies that were not used to choose the scores, read at several lengths by a decoder whose
  registry lists nobody: over all codes by the light scores alone, by the proxy LM alone, and light first. The shares of
  the two light scores, and of light reading before the whole, are varied.
- The same through the token bridge, by a provider with another vocabulary.
- The screen of a scan, at several levels: how many of the texts pass it that the whole decoder finds among the codes of
  46 providers, the text's own among them.
- Human text of many kinds, in passages of 100 to 400 tokens: the p-values that the light scores report over all codes
  must not lie below uniform (one-sided Kolmogorov-Smirnov), and few passages should pass the screen. Beside the given
  files: source code, licences, tables and lists of the installed packages.
- A prior of the token's frequency: its id in the order of the merges sets the probabilities that the ranks are weighed
  with. Of the same texts, what is found with it and without it.

    python evaluation/light.py --out evaluation/results/light.json FILE...
"""

from __future__ import annotations

import sysconfig
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from common import generated, kept, rate, recalled, sources
from documents import cut
from experiment import Options, Result, experiment, tracked
from numpy.typing import NDArray
from scipy import stats
from texts import Recipe, Writer
from transplant import encoder_of

from ctwl_decoder import Decoder
from ctwl_decoder.search.plan import LIGHT_SHARES
from ctwl_decoder.statistics.evidence import Evidence, Observe, observe_again
from ctwl_decoder.statistics.light import STEP_BITS, light_ranks, light_scores
from ctwl_decoder.statistics.null import tail_of
from ctwl_decoder.statistics.scored_positions import ScoredPositions, ScoreTable
from ctwl_decoder.statistics.scores import NAT, Score
from ctwl_protocol import Beacon
from ctwl_protocol.proxy import Proxy, ProxyTokenizer
from ctwl_protocol.registry import load_trusted
from ctwl_protocol.text.positions import Positions, positions

ALPHA = 1e-4
METHODS: dict[str, dict[str, Any]] = {
    "unbiased, T = 1": {"method": "unbiased"},
    "gumbel, T = 1": {"method": "gumbel"},
    "gumbel, T = 0.7, top-p 0.95": {"method": "gumbel", "temperature": 0.7, "top_p": 0.95},
    "delta 2, T = 1": {"method": "delta", "delta": 2.0},
}
SOFT_SHARES = (1 / 2, 3 / 4, 7 / 8)
FIRST_SHARES = (1 / 8, 1 / 4, 1 / 2)
LEVELS = (0.01, 0.02, 0.05, 0.1, 0.2)


def beginning(tokenizer: ProxyTokenizer, text: str, tokens: int) -> str:
    """The first tokens of a text."""
    return tokenizer.decode(tokenizer.encode(text)[:tokens])


def observing(proxy: Proxy, text: str) -> Observe:
    """What observes the beginnings of a text, whose proxy LM was asked about the whole of it once."""
    profile, observe = proxy.profile, kept(proxy)
    whole = positions(proxy.tokenizer.encode(text), profile.prefix_length, profile.context_length)
    evidence = observe(whole, lambda done: None)

    def look_up(asked: Positions, progress: Callable[[int], None]) -> Evidence:
        return observe_again(observe, asked, (whole, evidence), lambda done, total: progress(done))

    return look_up


def read(decoder: Decoder, text: str) -> dict[str, float]:
    """The p-values of a text over all codes: by each light score alone, and by the proxy LM."""
    ways = {"soft": Score.LIGHT_SOFT, "rank": Score.LIGHT_RANK}
    light = {name: decoder.decode(text, score=score).p_value for name, score in ways.items()}
    return light | {"whole": decoder.decode(text, score="both").p_value}


def counted(rows: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    """Finds by each way, for several shares of the two light scores, and of light reading before the whole."""
    soft, rank, whole = (np.array([row[name] for row in rows]) for name in ("soft", "rank", "whole"))
    light = {share: np.minimum(soft / share, rank / (1 - share)) for share in SOFT_SHARES}
    chosen = light[LIGHT_SHARES[Score.LIGHT_SOFT]]
    both = (chosen <= ALPHA) & (whole <= ALPHA)
    return {
        "texts": len(rows),
        "whole": int((whole <= ALPHA).sum()),
        "light": {f"{share:g} of its level for light-soft": int((p <= ALPHA).sum()) for share, p in light.items()},
        "light, of what the whole finds": rate(int(both.sum()), max(int((whole <= ALPHA).sum()), 1)),
        "light first": {
            f"{share:g} of the level for light": {
                "found": int(((chosen <= ALPHA * share) | (whole <= ALPHA * (1 - share))).sum()),
                "by light": int((chosen <= ALPHA * share).sum()),
            }
            for share in FIRST_SHARES
        },
        "median p": {"light": float(np.median(chosen)), "whole": float(np.median(whole))},
    }


def screened(decoder: Decoder, code: int, text: str, registered: Sequence[tuple[int, int]]) -> dict[str, float]:
    """The whole decoder's p-value among the codes of registered providers and the text's own, and the screen's."""
    own = Beacon.from_code(code)
    beacons = sorted({*registered[1:], (own.provider, own.version)})
    whole = decoder.decode(text, score="both", beacons=beacons).p_value
    passes = {
        str(level): float(decoder.screened(text, level, beacons=beacons)[0] is None)
        for level in (LEVELS if whole <= ALPHA else ())
    }
    return {"whole": whole, **passes}


def kinds(files: Sequence[Path]) -> dict[str, list[str]]:
    """Texts by kind: the given files, and what the installed packages and the standard library hold."""
    library, packages = Path(sysconfig.get_path("stdlib")), Path(sysconfig.get_path("purelib"))
    found = {
        "source code": sorted(library.glob("*.py")),
        "licences": sorted(packages.glob("*.dist-info/**/LICEN*")),
        "tables": sorted(packages.glob("*/**/*.csv")),
        "lists of files": sorted(packages.glob("*.dist-info/RECORD")),
        "other languages": sorted(library.glob("test/cjkencodings/*-utf8.txt")),
    }
    texts = {file.name: [file.read_text(encoding="utf-8")] for file in files}
    for kind, paths in found.items():
        texts[kind] = [path.read_bytes()[: 1 << 20].decode(errors="replace") for path in paths if path.is_file()]
    return {kind: many for kind, many in texts.items() if sum(map(len, many)) > 2000}


def human(decoder: Decoder, options: Options) -> Result:
    """The p-values and the screen on human text."""
    rng, by_kind = np.random.default_rng(options.seed), kinds(options.files)
    each = -(-options.passages // len(by_kind))
    registered = load_trusted().registry.beacons()
    p_values: dict[str, list[float]] = {}
    passed = dict.fromkeys(LEVELS, 0)
    for kind, many in tracked(list(by_kind.items()), "human text"):
        sizes = rng.integers(100, 401, each).tolist()
        text = "\n".join(many)
        passages = cut(decoder.tokenizer, text, sizes[: max(1, len(text) // 2000)], room=8000)
        p_values[kind] = [decoder.decode(passage, score="light").p_value for passage in passages]
        for passage in passages:
            for level in LEVELS:
                passed[level] += decoder.screened(passage, level, beacons=registered)[0] is None
    every = np.array([p for values in p_values.values() for p in values])
    return {
        "passages": {kind: len(values) for kind, values in p_values.items()},
        "mean": round(float(every.mean()), 4),
        "smallest": float(every.min()),
        "KS p, one-sided": round(float(stats.kstest(every, "uniform", alternative="greater").pvalue), 4),
        "at most": {str(a): int((every <= a).sum()) for a in (0.05, 0.01, 1e-3, 1e-4)},
        "pass the screen": {str(level): rate(count, len(every)) for level, count in passed.items()},
    }


def by_id(ranks: NDArray[np.uint32], ids: NDArray[np.int64]) -> NDArray[np.int8]:
    """``light-rank`` with a prior: a token of rank ``i`` in the order of merges has about the probability ``1 / 2i``.

    The writer's probability is a power of that, 0.1, 0.3, 0.6 or 1, and one position in ten is unmarked.
    """
    x = (ranks >> (32 - 2 * STEP_BITS)) / 2 ** (2 * STEP_BITS)
    y = x + 2.0 ** -(2 * STEP_BITS)
    rarity = np.log2(2.0 * np.maximum(ids - 250, 1))[:, None]
    ratios = [(((1 - x) ** f - (1 - y) ** f) / (y - x)) for f in (2 ** (k * rarity) for k in (0.1, 0.3, 0.6, 1))]
    units: NDArray[np.int8] = np.round(NAT * np.log(0.9 * np.mean(ratios, axis=0) + 0.1)).astype(np.int8)
    return units


def prior(decoder: Decoder, code: int, text: str) -> dict[str, float]:
    """The p-value of a text's code over all codes by the better light score, with and without a prior."""
    profile = decoder.profile
    cut_ = positions(decoder.tokenizer.encode(text), profile.prefix_length, profile.context_length)
    ranks = light_ranks(profile, cut_)

    def p_value(*units: NDArray[np.int8]) -> float:
        tables = [ScoreTable.of(ScoredPositions.of(profile, cut_, each)) for each in units]
        return min(1.0, 2 * profile.codes * min(tail_of(table.scores, table.score(code)) for table in tables))

    soft, rank = (light_scores(score, ranks, profile.sigma) for score in (Score.LIGHT_SOFT, Score.LIGHT_RANK))
    return {"without": p_value(soft, rank), "with": p_value(soft, by_id(ranks, cut_.observed))}


def bridged(proxy: Proxy, options: Options) -> Result:
    """Texts of a provider with GPT-2's vocabulary, read with SmolLM2's."""
    asked: dict[str, Any] = {"batch": 10, "seed": options.seed, "strategy": "unbiased"}
    length = round(1.2 * options.tokens)  # a provider's tokens may be shorter than the proxy's
    with tempfile.TemporaryDirectory() as folder:
        encoder = encoder_of("gpt2", "smollm2", Path(folder))
    write = partial(generated, encoder, options.bridged, length, **asked)
    written = recalled(write, "light, bridge", sources(), options.bridged, length, asked)
    rows = []
    for generation in tracked(written, "bridge"):
        text = beginning(proxy.tokenizer, generation.text, options.tokens)
        rows.append(read(Decoder(proxy, observing(proxy, text), registry=load_trusted().without_entries()), text))
    return counted(rows)


@experiment(
    quick={"texts": 2, "tokens": 60, "passages": 8, "bridged": 2, "batch": 2},
    takes="human", texts=60, tokens=200, shorter=150, passages=2000, bridged=30, seed=2, batch=40,
)  # fmt: skip
def main(options: Options) -> Result:
    """Run the experiment."""
    writer = Writer()
    proxy, registered = writer.proxy, load_trusted().registry.beacons()
    nobody = load_trusted().without_entries()
    lengths = sorted({min(options.shorter, options.tokens), options.tokens})
    rows, priors, screens = [], [], list[dict[str, float]]()
    for name, how in METHODS.items():
        recipe = Recipe(**how, tokens=options.tokens, seed=options.seed, batch=options.batch)
        texts = writer.texts(recipe, options.texts)
        found: dict[int, list[dict[str, float]]] = {length: [] for length in lengths}
        weighed: dict[int, list[dict[str, float]]] = {length: [] for length in lengths}
        for text in tracked(texts, name):
            decoder = Decoder(proxy, observing(proxy, text.text), registry=nobody)
            for length in lengths:
                part = beginning(proxy.tokenizer, text.text, length)
                found[length].append(read(decoder, part))
                weighed[length].append(prior(decoder, text.code, part))
                screens.append(screened(decoder, text.code, part, registered))
        for length in lengths:
            rows.append({"method": name, "tokens": length, **counted(found[length])})
            finds = {way: sum(each[way] <= ALPHA for each in weighed[length]) for way in ("without", "with")}
            priors.append({"method": name, "tokens": length, **finds})
    whole = [row for row in screens if row["whole"] <= ALPHA]
    result = {
        "rows": rows,
        "screen, of what the whole decoder finds": {
            str(level): rate(sum(int(row[str(level)]) for row in whole), len(whole)) for level in LEVELS
        },
        "finds by the better light score, with a prior by id": priors,
        "human": recalled(
            partial(human, Decoder(proxy), options), "light, human", sources(), options.passages, options.seed
        ),
    }
    if options.bridged:
        result["unbiased, T = 1, through the bridge from GPT-2's vocabulary"] = bridged(proxy, options)
    return result


if __name__ == "__main__":
    main()

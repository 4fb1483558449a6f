"""What do the light scores find alone, what does it cost to read by them first, and what does their screen let pass?

- Texts of several strategies that were not used to choose the scores, at several lengths: what the test of the whole
  text finds over all codes, for one code, by the light scores alone, by the proxy LM, and light first. The shares of
  the two light scores, and of light reading before the whole, are varied. So are the levels of a scan's screen, among
  the codes of registered providers.
- The same through the token bridge, by a provider with another vocabulary.
- ``light-rank`` takes tokens with small ids to be common. What is found where all tokens are taken to be alike?
- Human text of many kinds, in passages of 100 to 400 tokens: the p-values by the light scores, of registered codes,
  must not lie below uniform (one-sided Kolmogorov-Smirnov), and few passages should pass the screen. Beside the given
  files: source code, licences, tables, lists and other scripts from the installed packages.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ctwl_decoder
import ctwl_protocol
from ctwl_decoder import Decoder
from ctwl_decoder.search.plan import (
    LIGHT_SHARES,
    SCORE_SHARES,
    registered_codes,
)
from ctwl_decoder.search.windows import ONE_CODE, WHOLE
from ctwl_decoder.statistics.light import light_ranks, light_scores, light_units
from ctwl_decoder.statistics.null import tail_of
from ctwl_decoder.statistics.scored_positions import ScoredPositions, ScoreTable
from ctwl_decoder.statistics.scores import Score
from ctwl_protocol.numbers import NUMBERS
from ctwl_protocol.profile import Profile
from ctwl_protocol.proxy import Proxy
from ctwl_protocol.registry import load_trusted
from ctwl_protocol.text.positions import Positions, positions

from ..shared import human as human_texts
from ..shared.cache import digest, recalled, sources
from ..shared.experiment import Options, Result, experiment, tracked
from ..shared.human import cut, packaged_kinds
from ..shared.measures import rate, small_p_values
from ..shared.outcomes import LEVEL, is_clear
from ..shared.prompts import generated
from ..shared.readers import scored_positions
from ..shared.texts import Recipe, Writer
from ..shared.transplant import encoder_of

METHODS: dict[str, dict[str, Any]] = {
    "race, T = 1": {},
    "race, T = 0.7, top-p 0.95": {"temperature": 0.7, "top_p": 0.95},
    "delta 2, T = 1": {"method": "delta", "delta": 2.0},
}
SOFT_SHARES = (1 / 8, 1 / 4, 1 / 2)
FIRST_SHARES = (1 / 8, 1 / 4, 1 / 2)
LEVELS = (0.01, 0.02, 0.05, 0.1, 0.2)
ALIKE, MIDDLE = "light-rank, all tokens alike", 8


def read(proxy: Proxy, text: str, code: int, lengths: Sequence[int]) -> list[dict[str, float]]:
    """For each length, by each score: how often a wrong code would score as high as the one that was written."""
    profile, ids = proxy.profile, proxy.tokenizer.encode(text)
    cut = positions(ids, profile.prefix_length, profile.context_length)
    scored: dict[str, ScoredPositions] = dict(scored_positions(proxy, ids).items())
    scored |= {score: ScoredPositions.of(profile, cut, units) for score, units in light_units(profile, cut).items()}
    scored[ALIKE] = ScoredPositions.of(profile, cut, alike(profile, cut))
    rows = []
    for length in lengths:
        end = max(length - profile.prefix_length, 0)
        tables = {name: ScoreTable.of(each[:end]) for name, each in scored.items()}
        rows.append({name: tail_of(table.scores, table.score(code)) for name, table in tables.items()})
        rows[-1] |= {score: 1.0 for score in SCORE_SHARES if not is_clear(tables[score], code)}
    return rows


def counted(rows: Sequence[Mapping[str, float]], codes: int, registered: int) -> dict[str, Any]:
    """What the test of the whole text finds by each way of reading, and what passes the screen.

    Args:
        rows: of each text, how often a wrong code would score as high, by each score.
        codes: how many codes are searched.
        registered: how many a scan searches.
    """
    tail = {name: np.array([row[name] for row in rows]) / (ONE_CODE * WHOLE) for name in rows[0]}
    whole = np.minimum(*(tail[score.value] / share for score, share in SCORE_SHARES.items()))
    by_share = {
        share: np.minimum(tail["light-soft"] / share, tail["light-rank"] / (1 - share)) for share in SOFT_SHARES
    }
    light = by_share[LIGHT_SHARES[Score.LIGHT_SOFT]]
    finds = codes * whole <= LEVEL
    all_alike = np.minimum(tail["light-soft"], tail[ALIKE]) / LIGHT_SHARES[Score.LIGHT_RANK]
    scanned = registered * whole <= LEVEL
    return {
        "texts": len(rows),
        "whole": int(finds.sum()),
        "light": {f"{s:g} of its level for light-soft": int((codes * p <= LEVEL).sum()) for s, p in by_share.items()},
        "light, all tokens alike": int((codes * all_alike <= LEVEL).sum()),
        "light, of what the whole finds": rate(int((finds & (codes * light <= LEVEL)).sum()), max(int(finds.sum()), 1)),
        "light first": {
            f"{share:g} of the level for light": {
                "found": int(((codes * light <= LEVEL * share) | (codes * whole <= LEVEL * (1 - share))).sum()),
                "by light": int((codes * light <= LEVEL * share).sum()),
            }
            for share in FIRST_SHARES
        },
        "median p": {"light": float(codes * np.median(light)), "whole": float(codes * np.median(whole))},
        "scan": {
            "whole": int(scanned.sum()),
            "pass the screen, of these": {
                str(level): int((scanned & (registered * light <= level)).sum()) for level in LEVELS
            },
        },
    }


def passing(scans: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Of what the whole finds at one length, by all methods: the share that passes the screen, by its level."""
    found = sum(scan["whole"] for scan in scans)
    passed = {str(level): sum(scan["pass the screen, of these"][str(level)] for scan in scans) for level in LEVELS}
    return {level: rate(count, max(found, 1)) for level, count in passed.items()}


def human(proxy: Proxy, options: Options) -> Result:
    """The p-values of a scan's screen on human text: of all registered codes, of the whole text and of windows."""
    rng, beacons = np.random.default_rng(options.seed), load_trusted().registry.beacons()
    texts = {file.name: file.read_text(encoding="utf-8") for file in options.files} | packaged_kinds()
    by_kind = {kind: text for kind, text in texts.items() if len(text) > 2000}
    decoder = Decoder(proxy)
    p_values: dict[str, list[float]] = {}
    for kind, text in tracked(sorted(by_kind.items(), key=lambda item: len(item[1])), "human text"):
        # What a kind with little text lacks, the kinds with more of it make up for.
        left = options.passages - sum(map(len, p_values.values()))
        each = min(-(-left // (len(by_kind) - len(p_values))), max(1, len(text) // 2000))
        sizes = rng.integers(100, 401, each).tolist()
        passages = cut(proxy.tokenizer, text, sizes, room=min(len(text) // 2, 4000))
        screens = [decoder.screened(passage, LEVEL, every=True, beacons=beacons) for passage in passages]
        p_values[kind] = [screened.p_value for screened in screens]
    every = np.array([p for values in p_values.values() for p in values])
    return {
        "passages": {kind: len(values) for kind, values in p_values.items()},
        **small_p_values(every, (0.05, 0.01, 1e-3, LEVEL)),
        "pass the screen": {str(level): rate(int((every <= level).sum()), len(every)) for level in LEVELS},
    }


def alike(profile: Profile, positions: Positions) -> NDArray[np.int8]:
    """``light-rank`` as if every token were the one whose table does best for all."""
    size = profile.tokenizer.vocabulary
    tokens = np.full_like(positions.observed, size // MIDDLE)
    return light_scores(Score.LIGHT_RANK, light_ranks(profile, positions), tokens, profile.sigma, size)


def bridged(proxy: Proxy, options: Options, lengths: Sequence[int]) -> list[list[dict[str, float]]]:
    """:func:`read` for texts of a provider with GPT-2's vocabulary, read with SmolLM2's."""
    asked: dict[str, Any] = {"batch": 10, "seed": options.seed}
    length = round(1.2 * options.tokens)  # a provider's tokens may be shorter than the proxy's
    with tempfile.TemporaryDirectory() as folder:
        encoder = encoder_of("gpt2", "smollm2", Path(folder))
    write = partial(generated, encoder, options.bridged, length, **asked)
    written = recalled(write, "light, bridge", sources(), options.bridged, length, asked)
    return [read(proxy, each.text, each.beacon.code, lengths) for each in tracked(written, "bridge")]


@experiment(
    quick={"texts": 2, "cooler": 2, "tokens": 60, "passages": 16, "bridged": 2, "batch": 2},
    takes="human", texts=60, cooler=120, tokens=200, shorter=150, passages=2000, bridged=20, seed=2, batch=40,
)  # fmt: skip
def main(options: Options) -> Result:
    """Run the experiment."""
    writer, rows = Writer(), list[dict[str, Any]]()
    proxy, profile = writer.proxy, writer.proxy.profile
    registered = len(registered_codes(profile, load_trusted().registry))
    lengths = sorted({min(options.shorter, options.tokens), options.tokens})
    for name, how in METHODS.items():
        recipe = Recipe(**how, tokens=options.tokens, seed=options.seed, batch=options.batch)
        count = options.cooler if "temperature" in how else options.texts  # less is found there
        texts = tracked(writer.texts(recipe, count), name)
        found = [read(proxy, text.text, text.code, lengths) for text in texts]
        for length, at_length in zip(lengths, zip(*found, strict=True), strict=True):
            rows.append({"method": name, "tokens": length, **counted(at_length, profile.codes, registered)})
    for length, at_length in zip(lengths, zip(*bridged(proxy, options, lengths), strict=True), strict=True):
        what = "race, T = 1, through the bridge from GPT-2's vocabulary"
        rows.append({"method": what, "tokens": length, **counted(at_length, profile.codes, registered)})
    files = [(file.name, digest(file)) for file in options.files]
    code = digest(ctwl_decoder, ctwl_protocol, Path(__file__), human_texts)
    decided = profile.digest, code, registered, files, options.passages, options.seed
    return {
        "settings": {"registered codes": registered, "light first": NUMBERS.search.light_first},
        "rows": rows,
        "screen, of what the whole finds": {
            str(length): passing([row["scan"] for row in rows if row["tokens"] == length]) for length in lengths
        },
        "human": recalled(partial(human, proxy, options), "light, human", *decided),
    }


if __name__ == "__main__":
    main()

"""Can an owner fit a private profile to its key, so that texts by others carry its code?

A proof (spec section 4.6) shows that a text carries a code of a certified profile. The owner chooses the profile: the
key, the ids of the tokens, the proxy LM. A forger fits ids, proxy LM or both to the key, by the first halves of the
given files. Texts from their second halves, which the forger has not seen, are then read in two ways:

- *the key known*: under the profile as the forger made it, as if its own key marked;
- *certified*: under the profile that follows from a registry's challenge, drawn after the forger was done; for each
  text under several challenges. Beside what the decoder reports, the p-value of the forger's code alone is tested
  for uniformity (Kolmogorov-Smirnov), randomised, by both scores of the proxy LM.

Beside that, texts are written by ``race`` at temperature 1 under a certified profile with SmolLM2 as proxy LM, and
proved: a registry certifies, the owner proves, anyone verifies.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from ctwl_decoder import Decoder
from ctwl_decoder.statistics.null import null_of
from ctwl_decoder.statistics.scored_positions import ScoreTable
from ctwl_encoder import Encoder, Strategy
from ctwl_encoder.models import load_model
from ctwl_operations.prove import Proof, verify
from ctwl_operations.registry import drafts
from ctwl_protocol import Profile, get_profile
from ctwl_protocol.profile.private import certificate_of, certified, commitment
from ctwl_protocol.proxy import Proxy, find_files, open_proxy
from ctwl_protocol.registry import bundled

from ..shared.cache import kept_rivals
from ..shared.experiment import OFFLINE, VANILLA, Options, Result, experiment, tracked
from ..shared.forging import Pairs, fitted_ids, seeds_of, with_ids, with_proxy
from ..shared.human import cut
from ..shared.measures import rate
from ..shared.prompts import news_prompts
from ..shared.readers import scored_positions
from ..shared.texts import PROVIDER, VERSION

CODE = PROVIDER << 10
"""The code that the forger wants in every text."""

FITTED = ("ids", "proxy LM", "both")

_LEAST, _MOST = 400, 1500
"""Tokens of a text that is read."""

_UNIT = 1000
"""Tokens of a text that the forger fits to."""

_DAY = 86_400


def private(name: str, like: str, rng: np.random.Generator) -> Profile:
    """A private profile with a key by these draws."""
    return get_profile(like).model_copy(update={"name": name, "key": rng.bytes(32)})


def forged(fitted: str, halves: Sequence[str], tries: int, rng: np.random.Generator, folder: Path) -> Profile:
    """A profile that was fitted to its key by the texts; the files of tokenizer and proxy LM are in the folder."""
    own, tokenizer = private("com.example.forger.1", VANILLA, rng), open_proxy(VANILLA).tokenizer
    seeds, ids = seeds_of(own, CODE), np.arange(own.tokenizer.vocabulary)
    if fitted != "proxy LM":
        read = np.concatenate([tokenizer.encode(text) for text in halves])
        pairs = Pairs.of(np.array_split(read, max(1, len(read) // _UNIT)))
        ids = fitted_ids(seeds, pairs, own.tokenizer.special, rng, tries)
    made = with_ids(own, tokenizer.vocabulary, find_files(get_profile(VANILLA)).merges.read_bytes(), ids, folder)
    return made if fitted == "ids" else with_proxy(made, seeds, rng, folder)


def keyed(proxy: Proxy, profile: Profile) -> Decoder:
    """A decoder under another key; what the proxy LM says of a text is the same and kept."""
    return Decoder(proxy.shared_with(profile), weigh=lambda variant, progress: kept_rivals(proxy, variant.ids))


def alone(proxy: Proxy, profile: Profile, text: str, u: float) -> list[float]:
    """The randomised p-values of the forger's code alone, by each score.

    Args:
        proxy: the proxy LM.
        profile: that has it, under whose key the text is read.
        text: the text.
        u: uniform on [0, 1].
    """
    tables = map(ScoreTable.of, scored_positions(proxy, proxy.tokenizer.encode(text), profile).values())
    return [null_of(table.scores).randomised(table.score(CODE), u) for table in tables]


def read(proxy: Proxy, texts: Sequence[str], challenges: int, rng: np.random.Generator, title: str) -> dict[str, Any]:
    """What is found in texts by others under the forger's own key, and after challenges."""
    decoder = keyed(proxy, proxy.profile)
    known = [decoder.decode(text, score="whole") for text in tracked(texts, f"{title}, key known")]
    reports, single = [], list[list[float]]()
    for text in tracked([text for text in texts for _ in range(challenges)], f"{title}, certified"):
        marking = certified(proxy.profile, rng.bytes(32))
        reports.append(keyed(proxy, marking).decode(text, score="whole"))
        single.append(alone(proxy, marking, text, rng.random()))
    return {
        "key known": {
            "verified": rate(sum(report.detected for report in known), len(known)),
            "median p": float(np.median([report.p_value for report in known])),
            "largest p": max(report.p_value for report in known),
        },
        "certified": {
            "verified": rate(sum(report.detected for report in reports), len(reports)),
            "smallest p": min(report.p_value for report in reports),
            "p of the code alone": {
                score: {"mean": round(float(np.mean(found)), 4), "KS p": float(stats.kstest(found, "uniform").pvalue)}
                for score, found in zip(("half", "race"), zip(*single, strict=True), strict=True)
            },
        },
    }


def proved(texts: int, tokens: int, rng: np.random.Generator, seed: int) -> dict[str, Any]:
    """How many texts of a true owner are verified at default settings, by every step from commitment to proof."""
    own, brought, proxy = private("com.example.owner.1", OFFLINE, rng), bundled(), open_proxy(OFFLINE)
    given = drafts.add(brought.registry, "certificate", commitment=commitment(own), owner="Owner", since=None)
    trusted = replace(brought, registry=given)
    marking = proxy.shared_with(certified(own, certificate_of(own, given).challenge))
    written = Encoder(*load_model("smollm2"), marking).generate(
        news_prompts(texts), PROVIDER, VERSION, strategy=Strategy.RACE, temperature=1.0, seed=seed,
        max_new_tokens=tokens, min_new_tokens=tokens,
    )  # fmt: skip
    verified, p_values = 0, list[float]()
    for each in tracked(written, "proved"):
        report = Decoder(marking).decode(each.text, score="whole")
        p_values.append(report.p_value)
        if report.detected:
            proof = Proof.from_bytes(Proof.of(own, each.text, report).to_bytes())
            appeared = given.issued + _DAY
            verified += verify(
                proof, trusted, appeared, lambda profile: Decoder(proxy.shared_with(profile)), text=each.text
            ).verified
    return {"verified": rate(verified, texts), "median p": float(np.median(p_values)), "largest p": max(p_values)}


@experiment(
    quick={"texts": 3, "challenges": 2, "tries": 16, "proofs": 1},
    takes="human", texts=20, challenges=5, tries=512, proofs=20, tokens=150, seed=1,
)  # fmt: skip
def main(options: Options) -> Result:
    """Run the experiment."""
    rng, tokenizer = np.random.default_rng(options.seed), open_proxy(OFFLINE).tokenizer
    files = [file.read_text(encoding="utf-8") for file in options.files]
    seen = [text[: len(text) // 2] for text in files]
    unseen = "\n".join(text[len(text) // 2 :] for text in files)
    sizes = rng.integers(_LEAST, _MOST + 1, options.texts).tolist()
    texts, rows = cut(tokenizer, unseen, sizes), list[dict[str, Any]]()
    for fitted in FITTED:
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            profile = forged(fitted, seen, options.tries, rng, Path(folder))
            told = {"fitted": fitted, "seconds": round(time.perf_counter() - start, 1)}
            rows.append(told | read(open_proxy(profile, path=folder), texts, options.challenges, rng, fitted))
    return {
        "settings": {"profile": f"{VANILLA}, its ids, its proxy LM or both replaced", "code": CODE},
        "rows": rows,
        "true proofs": proved(options.proofs, options.tokens, rng, options.seed),
    }


if __name__ == "__main__":
    main()

"""Does some beacon fit a whole kind of text, so that a reader who asks for it finds it in texts without a mark?

The key is public and a context is one token, so texts of a narrow kind share their pairs of context and token. A
p-value is over keys: it does not see that one code may fit all texts of a kind. For each kind the beacon that fits half
of its texts best is searched for in the other half, as ``ctwl-decode --beacon`` does: by the light scores alone, by the
language model alone. What is found of a kind is kept on disk, so a run that was stopped goes on where it was.

Counted are the held-out texts that are found at each level, and those that would be by the p-value alone, without the
rules against it (spec section 10, step 8).
"""

from __future__ import annotations

import json
import random
import string
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ctwl_decoder
import ctwl_protocol
from ctwl_decoder import Decoder
from ctwl_decoder.options import ScoreName
from ctwl_decoder.search.plan import SearchPlan
from ctwl_decoder.statistics.code_scores import code_space, score_all
from ctwl_decoder.statistics.scored_positions import ScoreTable
from ctwl_decoder.text.tokens import tokenize_variants
from ctwl_protocol import Beacon

from ..shared.cache import digest, recalled
from ..shared.experiment import OFFLINE, Options, Result, experiment, tracked
from ..shared.human import packaged_kinds
from ..shared.outcomes import LEVEL

Made = Callable[[random.Random], str]

LEVELS = (1e-2, 1e-3, LEVEL)
WAYS: tuple[ScoreName, ...] = ("light", "whole")
NONCES = 64

FIRST = (
    "James Mary John Linda Robert Anna Peter Laura Thomas Susan Daniel Karen Carlos Maria Ahmed Fatima Wei Li Yuki Ivan"
)
LAST = (
    "Smith Johnson Brown Taylor Miller Davis Wilson Moore Clark Hall King Wright Scott Garcia Chen Wang Tanaka Ivanov"
)
CITIES = "Springfield Franklin Greenville Bristol Clinton Fairview Salem Madison Georgetown Arlington"
STREETS = "Main Oak Pine Maple Cedar Elm Washington Lake Hill Park River Church Mill"
MONTHS = "January February March April May June July August September October November December"
FOOD = "milk eggs flour sugar butter rice beans apples bread salt onions carrots oil"


def lines(count: int, one: Made, between: str = "\n") -> Made:
    """A text of so many parts."""
    return lambda rng: between.join(one(rng) for _ in range(count))


def one_of(words: str) -> Made:
    """One of some words."""
    return lambda rng: rng.choice(words.split())


def digits(count: int, alphabet: str = string.digits) -> Made:
    """A row of characters."""
    return lambda rng: "".join(rng.choices(alphabet, k=count))


MADE: Mapping[str, Made] = {
    "whole numbers": lines(120, lambda r: str(r.randrange(1000)), ", "),
    "numbers, one a line": lines(80, lambda r: str(r.randrange(100000))),
    "telephone numbers": lines(30, lambda r: f"+{r.randrange(1, 99)} {digits(3)(r)} {digits(7)(r)}"),
    "amounts of money": lines(60, lambda r: f"${r.randrange(1, 9999)}.{digits(2)(r)}"),
    "decimals": lines(50, lambda r: f"{r.random():.6f}", " "),
    "table, CSV": lines(40, lambda r: f"{r.randrange(99)},{r.uniform(0, 100):.2f},{r.randrange(500)}"),
    "table, Markdown": lines(30, lambda r: f"| {r.randrange(99)} | {r.randrange(99)} | {r.randrange(99)} |"),
    "DNA": lines(8, digits(60, "ACGT")),
    "proteins": lines(6, digits(60, "ACDEFGHIKLMNPQRSTVWY")),
    "dates, ISO": lines(40, lambda r: f"{r.randrange(1950, 2026)}-{r.randrange(1, 13):02d}-{r.randrange(1, 29):02d}"),
    "dates, words": lines(40, lambda r: f"{one_of(MONTHS)(r)} {r.randrange(1, 29)}, {r.randrange(1900, 2026)}"),
    "times": lines(50, lambda r: f"{r.randrange(24):02d}:{r.randrange(60):02d}:{r.randrange(60):02d}"),
    "names": lines(110, lambda r: f"{one_of(FIRST)(r)} {one_of(LAST)(r)}"),
    "names, last first": lines(80, lambda r: f"{one_of(LAST)(r)}, {one_of(FIRST)(r)[0]}.", "; "),
    "addresses": lines(25, lambda r: f"{r.randrange(999)} {one_of(STREETS)(r)} St, {one_of(CITIES)(r)} {digits(5)(r)}"),
    "e-mail addresses": lines(40, lambda r: f"{one_of(FIRST)(r).lower()}.{one_of(LAST)(r).lower()}@example.com"),
    "IP addresses": lines(30, lambda r: ".".join(str(r.randrange(256)) for _ in range(4))),
    "bytes": lines(160, digits(2, "0123456789abcdef"), " "),
    "UUIDs": lines(12, lambda r: "-".join(digits(n, "0123456789abcdef")(r) for n in (8, 4, 4, 4, 12))),
    "links": lines(28, lambda r: f"https://www.{one_of(LAST)(r).lower()}.com/{one_of(STREETS)(r).lower()}/{r.randrange(9999)}"),
    "logs": lines(14, lambda r: f"2025-{r.randrange(1, 13):02d}-{r.randrange(1, 29):02d} {digits(2)(r)}:{digits(2)(r)} "
                                f"{one_of('INFO WARN ERROR')(r)} worker {r.randrange(16)}: {r.randrange(900)} ms"),
    "JSON": lambda r: json.dumps([{"id": r.randrange(999), "name": one_of(FIRST)(r), "age": r.randrange(99)}
                                  for _ in range(20)]),
    "coordinates": lines(22, lambda r: f"{r.uniform(-90, 90):.5f}, {r.uniform(-180, 180):.5f}"),
    "chess": lines(70, lambda r: f"{one_of('N B R Q K')(r)}{r.choice('abcdefgh')}{r.randrange(1, 9)}", " "),
    "bits": digits(300, "01"),
    "letters": lines(250, digits(1, string.ascii_uppercase), " "),
    "yes and no": lines(120, one_of("yes no")),
    "shopping": lines(50, lambda r: f"- {r.randrange(1, 9)} {one_of('kg g l pieces')(r)} {one_of(FOOD)(r)}"),
    "sums": lines(40, lambda r: f"{r.randrange(99)} + {r.randrange(99)} = {r.randrange(199)}"),
    "formulas": lines(20, lambda r: f"x_{{{r.randrange(9)}}} = \\frac{{{r.randrange(99)}}}{{{r.randrange(99)}}}"),
    "results of matches": lines(50, lambda r: f"{one_of(CITIES)(r)} {r.randrange(6)} {one_of(CITIES)(r)}"),
    "weather": lines(25, lambda r: f"{one_of(MONTHS)(r)[:3]} {r.randrange(1, 29)}: high {r.randrange(30, 99)}, "
                                   f"low {r.randrange(60)}, {one_of('sunny cloudy rain snow')(r)}"),
}  # fmt: skip
"""Kinds of text that are made here."""


def passages_of(text: str) -> Made:
    """Passages of a long text."""

    def cut(rng: random.Random) -> str:
        start = rng.randrange(max(1, len(text) - 2000))
        return text[start : start + 2000]

    return cut


def kinds(files: Sequence[Path]) -> dict[str, Made]:
    """All kinds by name: those made here, those of the installed packages, and the given files."""
    texts = {f"human text, {file.stem}": file.read_text(encoding="utf-8") for file in files} | packaged_kinds()
    return dict(MADE) | {name: passages_of(text) for name, text in texts.items() if len(text) > 6000}


def texts_of(decoder: Decoder, made: Made, count: int, tokens: int, seed: str) -> list[str]:
    """So many texts of a kind, each of so many proxy tokens."""
    rng, encode = random.Random(seed), decoder.tokenizer.encode

    def one() -> str:
        text = made(rng)
        while len(encode(text)) < tokens:
            text += "\n" + made(rng)
        return decoder.tokenizer.decode(encode(text)[:tokens])

    return [one() for _ in range(count)]


def fit(decoder: Decoder, text: str, way: ScoreName) -> NDArray[np.float64]:
    """How well each beacon fits a text, in standard deviations of the clearer score: float64 (beacons,)."""
    variant = tokenize_variants(text, decoder.tokenizer, decoder.profile)[0]
    plan = SearchPlan.of(decoder.profile, None, alpha=LEVELS[-1], score=way)
    best = np.full(decoder.profile.codes // NONCES, -np.inf)
    for positions in decoder.pipeline.scored(variant, plan).values():
        table = ScoreTable.of(positions)
        spread = max(float(np.sqrt(table.scores.var(axis=1).sum())), 1e-9)
        scores = (score_all(table, code_space(decoder.profile)) - table.expected) / spread
        best = np.maximum(best, scores.reshape(-1, NONCES).max(axis=1))
    return best


def worst_beacon(decoder: Decoder, texts: Sequence[str], way: ScoreName) -> tuple[int, int]:
    """The pair of (provider, version) that fits texts best on average."""
    fitting = np.mean([fit(decoder, text, way) for text in texts], axis=0)
    beacon = Beacon.from_code(int(fitting.argmax()) * NONCES)
    return beacon.provider, beacon.version


def totals(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Over the held-out texts of all kinds: how many have a p-value at each level, and how many are found there."""
    values = np.array([value for row in rows for value in row["p"]])
    return {
        f"{level:g}": {
            "p": int((values <= level).sum()),
            "found": sum(row[f"found at {level:g}"] for row in rows),
            "kinds with one found": sum(row[f"found at {level:g}"] > 0 for row in rows),
        }
        for level in LEVELS
    }


@cache
def opened() -> Decoder:
    """The decoder of this process."""
    return Decoder.open(OFFLINE)


Sizes = tuple[str, int, int, int]
"""Of texts: their seed, how many choose a beacon, their length in tokens, and how many are held out."""


def one_kind(name: str, files: Sequence[Path], way: ScoreName, sizes: Sizes) -> dict[str, Any]:
    """What is found of one kind of text, read in one way."""
    decoder, (seed, fitted, length, held_out) = opened(), sizes
    texts = texts_of(decoder, kinds(files)[name], fitted + held_out, length, f"{seed}/{name}")
    beacon = worst_beacon(decoder, texts[:fitted], way)
    rest = texts[fitted:]
    row: dict[str, Any] = {"kind": name, "beacon": list(beacon)}
    for level in LEVELS:  # what is found at a level is found at the looser one before it
        reports = [decoder.decode(text, score=way, beacons=[beacon], alpha=level) for text in rest]
        row.setdefault("p", [report.p_value for report in reports])
        rest = [text for text, report in zip(rest, reports, strict=True) if report.detected]
        row[f"found at {level:g}"] = len(rest)
    return row


def kept_kind(name: str, files: Sequence[Path], way: ScoreName, sizes: Sizes) -> dict[str, Any]:
    """:func:`one_kind`, made once."""
    decided = ("kinds", digest(ctwl_protocol, ctwl_decoder, Path(__file__), *files), name, way, *sizes)
    return recalled(partial(one_kind, name, files, way, sizes), *decided)


@experiment(
    quick={"light": "200x2x3", "whole": "200x2x3", "fitted": 2},
    takes="human",
    light="200x40,800x40,2000x40",
    whole="200x40,800x40",
    fitted=8,
    seed=1,
    processes=1,
)
def main(options: Options) -> Result:
    """Run the experiment.

    ``light`` and ``whole`` are lengths in tokens, how many texts of each kind are held out, and how many of the kinds,
    in their order, are read; all where that is left out.
    """
    names, readings = list(kinds(options.files)), []
    with ProcessPoolExecutor(options.processes) as pool:
        for way in WAYS:
            for size in filter(None, getattr(options, way).split(",")):
                length, held_out, *most = map(int, size.split("x"))
                some = names[: most[0]] if most else names
                sizes = f"{options.seed}/{length}", options.fitted, length, held_out
                found = pool.map(partial(kept_kind, files=options.files, way=way, sizes=sizes), some)
                rows = [row for row, _ in zip(found, tracked(some, f"{way}, {length} tokens"), strict=True)]
                readings.append({
                    "way": way, "tokens": length, "kinds": len(rows), "texts": len(rows) * held_out,
                    "totals": totals(rows), "rows": rows,
                })  # fmt: skip
    return {"kinds": len(names), "readings": readings}


if __name__ == "__main__":
    main()

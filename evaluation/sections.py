"""The sections of the page: what was asked, how to read the answer, its table and its figure."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tables
from common import RESULTS
from plots import FIGURES

__all__ = ["SECTIONS", "Section", "sections"]


@dataclass(frozen=True)
class Section:
    """What a page shows of a result.

    Attributes:
        title: its heading.
        reading: what was asked and how to read the answer.
        table: the lines of its table.
    """

    title: str
    reading: str
    table: Callable[[tables.Result], list[str]]


SECTIONS = {
    "recovery": Section(
        "Recovery",
        "Texts by `unbiased` at T = 1, read by the whole decoder. Exact: the likeliest code is the one that was written; "
        "found: its p-value, over all that was searched, is below the level. Codes of registered providers are looked "
        "for first, so others take a little more evidence.",
        tables.recovery,
    ),
    "quality": Section(
        "Quality",
        "NLL under the provider's own model, in nats a token: of sampled texts, less plain ones from the same prompts; "
        "and, step by step along marked texts, expected under the marked distribution less under the model's own, which "
        "asks the same with less noise. An interval that holds 0 does not exclude a change as large as its ends.",
        tables.quality,
    ),
    "modes": Section(
        "Modes",
        "Every way of decoding that a provider may use. A wrong code's hit rate is above one half, because a likely token "
        "is on the favoured side of most partitions; the p-values allow for it.",
        tables.modes,
    ),
    "bridge": Section(
        "Other tokenizers",
        "A model over one vocabulary, read by a proxy over another. Seen: marked positions that stand in the reader's "
        "tokens as the encoder expected.",
        tables.bridge,
    ),
    "lookahead": Section(
        "Parts of the token bridge",
        "Hit rates of the code that was written: the whole bridge; without branches behind a candidate's first proxy token; and without tokenizing candidates "
        "together with the word that they may make go on.",
        tables.lookahead,
    ),
    "records": Section(
        "Records",
        "Several codes in one text. A record is whole if each of its codes is right. Texts are read twice, with the bundled "
        "registry and with one that lists nobody.",
        tables.records,
    ),
    "private": Section(
        "Private profiles",
        "Who has the key reads the code; to anybody else the same texts are to look like human ones.",
        tables.private,
    ),
    "pasted": Section(
        "Passages in long texts",
        "A marked passage pasted into human text at an unknown place.",
        tables.pasted,
    ),
    "documents": Section(
        "Human documents",
        "Long human texts, searched as any text is: their p-values may not lie below uniform.",
        tables.documents,
    ),
    "substitution": Section(
        "Tokens replaced",
        "By others that the model finds likely between what stands before and behind. The decoder searches windows and "
        "records too and pays for it; where the table names the whole text, that is one test over all codes.",
        tables.substitution,
    ),
    "load": Section(
        "The service under load",
        "Clients that send texts and wait, beside one that sends garbage and one that sends bodies of 10 MB.",
        tables.load,
    ),
    "curves": Section(
        "Success against quality",
        "Each method at several strengths, from the same prompts; higher success at lower NLL is better. Soft and count "
        "are two of the decoder's scores. At equal success strengths are interpolated to where both methods read equally many "
        "codes: below 0, Balance-Marking's is lower. NLL is no distance, it falls where likely tokens are preferred; for that "
        "see The paper's approximations.",
        tables.curves,
    ),
    "ablations": Section(
        "Parameters of the profile",
        "One parameter changed at a time: the permutations that a code chooses from (`colours`), the tokens that the "
        "proxy looks back on (`prefix_length`), the size of the code, and how many of the proxy's layers are left (0: all "
        "tokens alike). `unbiased` asks no proxy while it writes and is the same at a step in every row, so its NLL differs "
        "between rows by the draw of the texts.",
        tables.ablations,
    ),
    "entropy": Section(
        "Tokens needed, by entropy",
        "The length from which nine codes in ten are read. The entropy of the choice is what a way of sampling leaves of "
        "the model's: the room that a code has. Greedy decoding and beams choose by the mark itself. `delta` is added "
        "behind the temperature.",
        tables.entropy,
    ),
    "gumbel": Section(
        "Gumbel beside unbiased",
        "What the clearest strategy gains, each read by the score that was made for it, and what it takes: nothing from a text, "
        "but texts that go on from one prompt with one code are more alike, for only their first words are drawn freely.",
        tables.gumbel,
    ),
    "lengths": Section("Tokens needed, by bits", "Whole records of one to four codes, by `unbiased`.", tables.lengths),
    "attacks": Section(
        "Edits",
        "Texts edited, then read in one test over all codes. Runs of four tokens left: how much of the text's wording "
        "survives.",
        tables.attacks,
    ),
    "preservation": Section(
        "Preservation",
        "What becomes of the distribution behind frequent tokens when one provider writes much, in total variation to the "
        "model's own. Exact, averaged over places of plain texts: with one code (nonce 0), with all nonces of a version, and with "
        "all permutations of a profile alike, the least that their number allows.",
        tables.preservation,
    ),
    "diversity": Section(
        "Diversity",
        "Shares of n-grams that are distinct, pairs that come back, likeness to the prompt (MiniLM), and self-BLEU among "
        "texts of one provider and version, where less is more varied.",
        tables.diversity,
    ),
    "detection": Section(
        "Marked or not",
        "Texts told apart by the score of the likeliest code: how often a marked one has the higher one. Plain texts are the "
        "same model's, from the same prompts; human ones are others' words, more or less predictable.",
        tables.detection,
    ),
    "reference": Section(
        "Beside the paper's own code",
        "The same model, prompts, bits, strength and sampling; both by `delta`, which adds to the logits.",
        tables.reference,
    ),
    "approximations": Section(
        "The paper's approximations",
        "Two terms that the paper leaves out to be quick, computed at places of plain texts.",
        tables.approximations,
    ),
    "false_positives": Section(
        "False positives",
        "Human text. The randomised p-value of one code is uniform where the null holds; that of the best of all codes, in "
        "one test of the whole passage, may not lie below uniform. (The decoder's whole search: Human documents.) The "
        "last rows are tests that do not hold, for comparison.",
        tables.false_positives,
    ),
    "numerics": Section(
        "Numerics",
        "Ways of running the proxy beside its float32 reference. The profile lets a reader differ by 0.03 and by 1 % of the "
        "memberships. So 8 bits are too few: rounding alone goes beyond that, of the weights a little, of the inputs, some of "
        "which are far larger than the rest, by much. The time is of a forward pass, the ways in turn, on a CPU without units "
        "for bfloat16: there float32 is bound by arithmetic, where compilers and runtimes find little to save; integers of 16 bits "
        "it multiplies twice as fast.",
        tables.numerics,
    ),
    "asked": Section(
        "How often the proxy is asked",
        "By `delta`, where it is known how tokens are chosen: windows that the proxy weighs for a token of text. One that "
        "always asks weighs one at least. The distribution, and a greedy text, are the same.",
        tables.asked,
    ),
    "bench": Section(
        "Speed",
        "Ratios within one run, which hold on a noisy machine; the seconds are of one machine, whose CPU has units for "
        "bfloat16 matrices (AMX), in which the proxy then computes. Measured before the decoder added less to the forward "
        "pass and `delta` asked the proxy less often, see the next table.",
        tables.bench,
    ),
    "bench_int16": Section(
        "Speed without units for bfloat16",
        "The same on a CPU with AVX2 alone, on which the proxy computes in 16-bit integers (Numerics).",
        tables.bench,
    ),
}
"""The sections of a page in their order, by the name of the result."""


@dataclass(frozen=True)
class Printed:
    """A rate that others printed, of their models and texts, and what asks for the same here.

    Attributes:
        scheme: and where it was printed.
        asked: of the scheme.
        percent: the rate.
        result: the experiment.
        row: what marks the row of its result.
        column: of the row, the keys one under the other.
    """

    scheme: str
    asked: str
    percent: float
    result: str
    row: dict[str, Any]
    column: tuple[str, ...] = ("exact",)

    def measured(self, results: Path) -> dict[str, Any]:
        """The rate here; empty where nobody asked."""
        file = results / f"{self.result}.json"
        rows = json.loads(file.read_text())["rows"] if file.exists() else []
        found: dict[str, Any] = next((row for row in rows if self.row.items() <= row.items()), {})
        for key in self.column:
            found = found.get(key, {})
        return found


_EDITED = {"bits": 24, "attack": "substitution", "share": 0.1}
PRINTED = (
    Printed("WeaveMark", "32 bits in 200 tokens, here 40", 89.8, "lengths", {"bits": 40}, ("whole", "200")),
    Printed("WeaveMark", "24 bits in 200 tokens, 10 % of them substituted", 60.1, "attacks", _EDITED),
)


def printed(results: Path) -> list[str]:
    """What others printed beside what this project measures."""
    rows = [
        f"{each.scheme} | {each.asked} | {each.percent} | {tables.counted(rate)}"
        for each in PRINTED
        if (rate := each.measured(results))
    ]
    head = [
        "",
        "### Beside printed figures",
        "",
        "Of other models and texts, so no more than an order of magnitude.",
        "",
    ]
    return [*head, *tables.table("scheme | asked | printed, % | `unbiased` here, %", rows)] if rows else []


def sections(results: Path = RESULTS, figures: str = "figures") -> list[str]:
    """The lines of every section whose result is there, each with its figure.

    Args:
        results: folder of the results.
        figures: folder of the figures, as the page names it.
    """
    lines: list[str] = []
    for name, section in SECTIONS.items():
        file = results / f"{name}.json"
        if file.exists():
            found = json.loads(file.read_text())
            lines += ["", f"### {section.title} ({found['settings']['date']})", "", section.reading, ""]
            lines += [f"![{section.title}]({figures}/{name}.svg)", ""] if name in FIGURES else []
            lines += section.table(found)
    return [*lines, *printed(results)][1:]

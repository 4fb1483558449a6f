"""Write the figures of the results into the pages that show them, so that none is typed by hand.

python evaluation/report.py          # rewrite the marked blocks of README.md and evaluation/README.md
python evaluation/report.py --check  # exit status 1 where a block is not what the results say
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

from common import RESULTS
from sections import sections
from tables import moved, percent

__all__ = ["PAGES", "rendered"]

ROOT = RESULTS.parents[1]
PAGES = (ROOT / "README.md", RESULTS.parent / "README.md")


def result(name: str) -> dict[str, Any]:
    """One checked-in result."""
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text())
    return found


def known(name: str) -> bool:
    """Whether an experiment's result is checked in."""
    return (RESULTS / f"{name}.json").exists()


def summary() -> str:
    """The table of README.md."""
    recovery, quality, humans = (result(name) for name in ("recovery", "quality", "false_positives"))
    tokens = recovery["settings"]["tokens"]
    unbiased = quality["methods"]["unbiased"]
    randomised, reported = humans["randomised p of one code"], humans["reported p"]
    ranked = humans["randomised p of one code, by rank"]
    crossed = next(row for row in result("bridge")["pairs"] if row["proxy's vocabulary"] == "smollm2")
    pasted = result("pasted")
    rows = [
        ("20-bit code read back exactly from " + f"{tokens} tokens, `unbiased`, T = 1", percent(recovery["exact"])),
        (
            "the same, found at p <= 1e-4; of a provider that is not registered",
            f"{percent(recovery['detected']['p <= 0.0001'])}; "
            f"{percent(recovery['provider not registered']['p <= 0.0001'])}",
        ),
        (
            f"the same from {crossed['proxy tokens']} tokens of a model with another tokenizer (GPT-2's)",
            percent(crossed["exact"]),
        ),
        (
            f"{pasted['settings']['tokens']} tokens inside {pasted['settings']['around']:,} human ones, found with the "
            "right code",
            percent(pasted["pasted"]["found with the right code"]),
        ),
        (
            "`unbiased` against plain sampling, NLL in nats a token; the expectation at each step",
            f"{moved(unbiased)}; {moved(unbiased['expected change'], 'mean')}",
        ),
        *sampled(),
        *edited(),
        (
            f"p-values on {humans['passages']} human passages",
            f"uniform (Kolmogorov-Smirnov p = {randomised['KS p']:.2f}, by ranks {ranked['KS p']:.2f}); smallest reported "
            f"{reported['smallest']:.2g}",
        ),
        *speed(),
    ]
    return "| | |\n|---|---|\n" + "\n".join(f"| {what} | {value} |" for what, value in rows)


def speed() -> list[tuple[str, str]]:
    """What decoding and writing take, on CPUs with and without units for bfloat16."""
    machines = {"bench": "with AMX", "bench_int16": "without"}
    found = {machine: result(name) for name, machine in machines.items() if known(name)}
    *_, last = found.values()
    decoding = (
        f"{last['decode']['decode']['over forward']:.2f} times its bare proxy forward, "
        f"{last['megabytes']['decode, above loaded']:.0f} MB above the model"
    )
    batches = {machine: each["encode, batch 8"] for machine, each in found.items()}
    writing = "; ".join(
        f"{machine}: `unbiased` {batch['unbiased']['of plain']:.2f}, `delta` {batch['delta']['of plain']:.2f}"
        for machine, batch in batches.items()
    )
    return [
        ("decode of 200 tokens", decoding),
        ("writing, batch of 8, of plain generation's speed, on CPUs with AMX and without", writing),
    ]


def sampled() -> list[tuple[str, str]]:
    """How many tokens a code takes, by sampling, where it was measured."""
    if not known("entropy"):
        return []
    found = result("entropy")["rows"]
    unbiased = [row for row in found if row["sampling"].startswith("unbiased")]
    what = "tokens from which nine codes in ten are exact, `unbiased` (entropy of the choice, nats a token)"
    told = [(what, _needed({row["sampling"].removeprefix("unbiased, "): row for row in unbiased}))]
    if known("gumbel"):
        rows = [row for row in result("gumbel")["rows"] if row["method"] == "gumbel"]
        told.append(("the same, `gumbel`", _needed({f"T = {row['temperature']:g}": row for row in rows})))
    return told


def _needed(rows: dict[str, dict[str, Any]]) -> str:
    """Tokens for nine codes in ten, by the name of a way of sampling."""
    longest = list(next(iter(rows.values()))["exact"])[-1]
    return "; ".join(
        f"{name}: {row['tokens for 90 % exact']['tokens'] or f'over {longest}'} ({row['entropy of the choice']:.1f})"
        for name, row in rows.items()
    )


def edited() -> list[tuple[str, str]]:
    """What edits leave, where it was measured."""
    if not known("attacks"):
        return []
    found = result("attacks")
    rows = [row for row in found["rows"] if row["bits"] == 20 and row["share"] == 0.2]
    told = ", ".join(f"{row['attack']} {row['exact']['successes']} of {row['exact']['trials']}" for row in rows)
    what = (
        f"20-bit code in {found['settings']['tokens']} tokens, a fifth of them edited: exact in one test over all codes"
    )
    return [(what, f"`unbiased`: {told}"), *replaced()]


def replaced() -> list[tuple[str, str]]:
    """What the decoder reads where tokens were replaced, where it was measured."""
    if not known("substitution"):
        return []
    found = result("substitution")
    rows = {(row["strategy"], row["substituted"]): row for row in found["rows"] if row["score"] != "count"}
    told = "; ".join(
        f"{100 * share:.0f} %: `{strategy}` {rows[strategy, share]['exact']['successes']} of "
        f"{rows[strategy, share]['exact']['trials']}"
        for share in (0.1, 0.2, 0.3) for strategy in ("unbiased", "gumbel")
    )  # fmt: skip
    return [(f"the decoder's code is exact, {found['settings']['tokens']} tokens, so many of them replaced", told)]


def rendered(page: str) -> str:
    """A page with its marked blocks written anew."""
    for name, text in (("summary", summary), ("details", lambda: "\n".join(sections()))):
        pattern = rf"(<!-- {name} -->\n).*?(<!-- end {name} -->)"
        if found := re.search(pattern, page, re.S):
            page = f"{page[: found.start()]}{found[1]}{text()}\n{found[2]}{page[found.end() :]}"
    return page


def main(arguments: list[str]) -> int:
    """Rewrite or check the pages."""
    stale = [page for page in PAGES if rendered(page.read_text(encoding="utf-8")) != page.read_text(encoding="utf-8")]
    if "--check" in arguments:
        for page in stale:
            print(f"{page.relative_to(ROOT)} is not what the results say; run: python evaluation/report.py")
        return 1 if stale else 0
    for page in stale:
        page.write_text(rendered(page.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

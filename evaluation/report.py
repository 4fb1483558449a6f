"""Write the figures of the results into the pages that show them, so that none is typed by hand.

python evaluation/report.py          # rewrite the marked blocks of README.md and evaluation/README.md
python evaluation/report.py --check  # exit status 1 where a block is not what the results say
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import comparison
from common import RESULTS
from comparison import moved

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


def percent(rate: dict[str, Any]) -> str:
    """A rate as counts with its exact interval."""
    low, high = (f"{100 * bound:.0f}" for bound in rate["interval_95"])
    return f"{rate['successes']} of {rate['trials']} (95 % interval {low} to {high} %)"


def pair(row: dict[str, Any]) -> str:
    """Whose vocabularies a row is about."""
    return ", ".join(row[f"{whose}'s vocabulary"] for whose in ("provider", "proxy"))


def summary() -> str:
    """The table of README.md."""
    recovery, quality, humans, bench = (result(name) for name in ("recovery", "quality", "false_positives", "bench"))
    tokens = recovery["settings"]["tokens"]
    unbiased = quality["methods"]["unbiased"]
    randomised, reported = humans["randomised p of one code"], humans["reported p"]
    memory = bench["megabytes"]["decode, above loaded"]
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
            f"uniform (Kolmogorov-Smirnov p = {randomised['KS p']:.2f}); smallest reported {reported['smallest']:.2g}",
        ),
        (
            "decode of 200 tokens",
            f"{bench['decode']['decode']['over forward']:.2f} times its bare proxy forward, {memory:.0f} MB above the model",
        ),
        (
            "writing, batch of 8, of plain generation's speed",
            f"`unbiased` {bench['encode, batch 8']['unbiased']['of plain']:.2f}, "
            f"`delta` {bench['encode, batch 8']['delta']['of plain']:.2f}",
        ),
    ]
    return "| | |\n|---|---|\n" + "\n".join(f"| {what} | {value} |" for what, value in rows)


def sampled() -> list[tuple[str, str]]:
    """How many tokens a code takes, by sampling, where it was measured."""
    if not known("entropy"):
        return []
    found = result("entropy")["rows"]
    longest = list(found[0]["exact"])[-1]
    told = [
        f"{row['sampling'].removeprefix('unbiased, ')}: {row['tokens for 90 % exact']['tokens'] or f'over {longest}'} "
        f"({row['entropy of the choice']:.1f})"
        for row in found
        if row["sampling"].startswith("unbiased")
    ]
    what = "tokens from which nine codes in ten are exact, `unbiased` (entropy of the choice, nats a token)"
    return [(what, "; ".join(told))]


def edited() -> list[tuple[str, str]]:
    """What edits leave, where it was measured."""
    if not known("attacks"):
        return []
    found = result("attacks")
    rows = [row for row in found["rows"] if row["bits"] == 20 and row["share"] == 0.2]
    told = ", ".join(f"{row['attack']} {row['exact']['successes']} of {row['exact']['trials']}" for row in rows)
    return [
        (
            f"20-bit code in {found['settings']['tokens']} tokens, a fifth of them edited: exact in one test over all codes",
            told,
        )
    ]


def details() -> str:
    """The tables of evaluation/README.md."""
    recovery, quality, modes, numerics = (result(name) for name in ("recovery", "quality", "modes", "numerics"))
    humans, bench = result("false_positives"), result("bench")
    lines = [f"### Recovery ({recovery['settings']['date']})", "", "| | |", "|---|---|"]
    lines += [f"| exact | {percent(recovery['exact'])} |"]
    lines += [f"| found at {level} | {percent(rate)} |" for level, rate in recovery["detected"].items()]
    others = recovery["provider not registered"]
    lines += [
        f"| of providers that are not registered: exact; found at p <= 0.0001 | {percent(others['exact'])}; "
        f"{percent(others['p <= 0.0001'])} |"
    ]
    lines += [
        f"| hit rate; of a wrong code | {recovery['hit rate of exact ones']:.3f}; {recovery['hit rate of a wrong code']:.3f} |",
        f"| median p; median that the encoder expected | {recovery['median p']:.1e}; {recovery['median expected p']:.1e} |",
        f"| positions lost to re-tokenisation, mean | {recovery['positions lost to re-tokenisation']:.1f} |",
    ]
    lines += [
        "",
        f"### Quality ({quality['settings']['date']})",
        "",
        "| method; provider's vocabulary, proxy's | mean NLL | difference to plain | change of the expectation, step by step |",
        "|---|---|---|---|",
    ]
    for name, entry in quality["methods"].items():
        told = "|" if name == "plain" else f"{moved(entry)} | {moved(entry['expected change'], 'mean')}"
        lines.append(f"| {name} | {entry['mean NLL']:.3f} | {told} |")
    for row in quality["pairs"]:
        lines.append(f"| unbiased; {pair(row)} | | {moved(row, 'mean')} | {moved(row['expected change'], 'mean')} |")
    lines += ["", f"### Modes ({modes['settings']['date']})", ""]
    lines += [
        "| mode, 200 tokens | exact | hit rate of the best code | of a wrong code | median p |",
        "|---|---|---|---|---|",
    ]
    for name, entry in modes["modes"].items():
        exact = f"{entry['exact']['successes']} of {entry['exact']['trials']}"
        wrong = entry["hit rate of a wrong code"]
        lines.append(f"| {name} | {exact} | {entry['hit rate']:.3f} | {wrong:.3f} | {entry['median p']:.1e} |")
    bridge = result("bridge")
    lines += [
        "",
        f"### Other tokenizers ({bridge['settings']['date']})",
        "",
        "| provider's vocabulary, proxy's | strategy, proxy tokens | exact | hit rate; of a wrong code | seen |",
        "|---|---|---|---|---|",
    ]
    for row in bridge["pairs"]:
        lines.append(
            f"| {pair(row)} | {row['strategy']}, {row['proxy tokens']} | "
            f"{percent(row['exact'])} | {row['hit rate']:.3f}; {row['hit rate of a wrong code']:.3f} | "
            f"{100 * row['marked positions seen by the reader']:.2f} % |"
        )
    for section in (_records, _private, _long_texts, _edited_texts, _load):
        lines += ["", *found] if (found := section()) else []
    lines += comparison.sections()
    randomised, reported, other = humans["randomised p of one code"], humans["reported p"], humans["for comparison"]
    lines += ["", f"### False positives ({humans['settings']['date']})", "", "| | |", "|---|---|"]
    lines += [
        f"| passages of 100 to 200 tokens | {humans['passages']} |",
        f"| randomised p of one code: mean, Kolmogorov-Smirnov p | {randomised['mean']:.3f}, {randomised['KS p']:.3f} |",
        f"| reported p: mean, smallest, one-sided Kolmogorov-Smirnov p | {reported['mean']:.3f}, "
        f"{reported['smallest']:.2g}, {reported['KS p, one-sided']:.3f} |",
        *(f"| reported p <= {level} | {count} |" for level, count in reported["at most"].items()),
        *(f"| {name} | {count} |" for name, count in other.items()),
    ]
    lines += ["", f"### Numerics ({numerics['settings']['date']})", ""]
    lines += ["| runtime | mean total variation | memberships that differ |", "|---|---|---|"]
    for name, entry in numerics["runtimes"].items():
        lines.append(
            f"| {name} | {entry['mean total variation']:.1e} | {100 * entry['memberships that differ']:.2f} % |"
        )
    lines += ["", f"### Speed ({bench['settings']['date']}, {bench['settings']['machine']['cores']} cores)", ""]
    lines += ["| | tokens a second | of plain generation |", "|---|---|---|"]
    for size in ("encode, batch 8", "encode, one row"):
        for name, entry in bench[size].items():
            lines.append(f"| {size}, {name} | {entry['tokens per second']:.0f} | {entry['of plain']:.2f} |")
    decode, scanned = bench["decode"], bench["scan"]
    lines += [
        "",
        f"A scan takes {scanned[BEACONS]:.2f} times the bare forward pass at its best "
        f"batch for one provider's beacons, {scanned['all codes, over the best forward']:.2f} times for all codes.",
        "",
        f"Decoding 200 tokens took {decode['decode']['seconds']:.2f} s, {decode['decode']['over forward']:.2f} times its "
        f"bare forward pass, which is {decode['plain float32 forward']['over forward']:.2f} times as fast as "
        f"transformers' float32 model, and {bench['megabytes']['decode, above loaded']:.0f} MB above the loaded model. The token "
        f"bridge took {bench['bridge']['milliseconds per row and token']:.2f} ms for a row and a token.",
    ]
    return "\n".join(lines)


BEACONS = "one provider's beacons, over the best forward"


def _records() -> list[str]:
    """Records of several codes."""
    if not known("records"):
        return []
    found = result("records")
    lines = [
        f"### Records ({found['settings']['date']})",
        "",
        "| | whole records | of a provider that is not registered | found at p <= 1e-4 | every code at p <= 1e-3 |",
        "|---|---|---|---|---|",
    ]
    for name, what in (("attributed", "whole texts"), ("excerpts", "middle thirds of texts")):
        row = found[name]
        lines.append(
            f"| sealed user and beacon (3 codes), {what} of {row['tokens']} tokens | {percent(row['whole records'])} | "
            f"{percent(row['whole records, provider not registered'])} | "
            f"{percent(row['detected at p <= 1e-4'])} | {percent(row['every code at p <= 1e-3'])} |"
        )
    beacons, replay, wrong = found["beacons"], found["replay"], found["wrong records"]
    return [
        *lines,
        "",
        f"One code among {beacons['registered beacons']} registered beacons ({beacons['codes searched']:,} codes, records "
        f"of 1 to {beacons['numbers of codes in a record tried']} codes), {beacons['tokens']} tokens: the right one at "
        f"p <= 1e-6 in {percent(beacons['the right code at p <= 1e-6'])}, median p {beacons['median p']:.1e}.",
        "",
        f"Authenticated texts of {replay['tokens']} tokens: genuine ones pass in "
        f"{percent(replay['genuine texts authenticated'])}; of {replay['copied records read']} whose codes were copied "
        f"without the key, {replay['copied records authenticated']}.",
        "",
        f"Of {found['records read in all']} records read in all these runs {wrong['read']} had a code that was not written; "
        f"{wrong['at p <= 1e-3']} of them at p <= 1e-3.",
    ]


def _private() -> list[str]:
    """Profiles with a secret key."""
    if not known("private"):
        return []
    found = result("private")
    lines = [
        f"### Private profiles ({found['settings']['date']})",
        "",
        "| profile, tokens | exact | found at p <= 1e-4 | median p |",
        "|---|---|---|---|",
    ]
    for who, lengths in found["owners"].items():
        for length, row in lengths.items():
            lines.append(
                f"| {who}, {length} | {percent(row['exact'])} | {percent(row['detected at p <= 1e-4'])} | "
                f"{row['median p']:.1e} |"
            )
    lines += ["", "| who reads the secret ones' texts | texts | p of one code: mean, KS p | smallest reported p |"]
    lines.append("|---|---|---|---|")
    for who, row in found["outsiders"].items():
        one = row["randomised p of one code"]
        lines.append(
            f"| {who} | {row['passages']} | {one['mean']:.3f}, {one['KS p']:.3f} | {row['reported p']['smallest']:.2g} |"
        )
    return lines


def _load() -> list[str]:
    """The web service under load."""
    found = result("load")
    latency, answers, memory = found["latency of good clients, seconds"], found["answers"], found["resident MiB"]
    served = answers["good clients"]
    waits = sum(count for status, count in served.items() if status != "200")
    return [
        f"### The service under load ({found['settings']['date']}, {found['settings']['machine']['cores']} cores)",
        "",
        f"{found['settings']['clients']} clients for {found['settings']['seconds']} s, one more sending garbage and one "
        f"bodies of 10 MB: {served['200']} texts decoded ({found['windows per second']:.0f} windows a second), "
        f"{waits} requests told to come back; wait of those served, from the first attempt: median {latency['p50']:.0f} s, "
        f"95 % within {latency['p95']:.0f} s. Every body of 10 MB was refused (413: {answers['10 MB bodies']['413']}). "
        f"Memory {memory['before']:.0f} MiB before, {memory['after']:.0f} MiB after; "
        f"{'it crashed' if found['crashed'] else 'nothing crashed'}.",
    ]


def _long_texts() -> list[str]:
    """Passages in human documents, and documents without."""
    pasted = result("pasted")
    found, settings = pasted["pasted"], pasted["settings"]
    lines = [
        f"### Long texts ({settings['date']})",
        "",
        "| | |",
        "|---|---|",
        f"| {settings['tokens']} tokens inside {settings['around']} human ones: found with the right code | "
        f"{percent(found['found with the right code'])} |",
        f"| overlap of found and true passage, mean over all; median of those found | {found['overlap, mean']:.2f}; "
        f"{found['overlap of those found, median']:.2f} |",
        f"| passages with another code | {found['spans with another code']} |",
    ]
    if not known("documents"):
        return lines
    texts = result("documents")["human"]
    return [
        *lines,
        f"| human documents of 1,000 to 3,000 tokens | {texts['documents']} ({texts['tokens']:,} tokens) |",
        f"| smallest p; one-sided Kolmogorov-Smirnov p | {texts['smallest p']:.2g}; {texts['KS p, one-sided']:.3f} |",
        *(f"| documents with p <= {level} | {count} |" for level, count in texts["at most"].items()),
    ]


def _edited_texts() -> list[str]:
    """Tokens replaced."""
    if not known("substitution"):
        return []
    found = result("substitution")
    names = [name for name in found["rows"][0] if name not in ("strategy", "substituted", "score")]
    return [
        f"### Tokens replaced ({found['settings']['date']})",
        "",
        f"| strategy, {found['settings']['tokens']} tokens | replaced | score | {' | '.join(names)} |",
        "|---|---|---|" + "---|" * len(names),
        *(
            f"| {row['strategy']} | {100 * row['substituted']:.0f} % | {row['score']} | "
            f"{' | '.join(percent(row[name]) for name in names)} |"
            for row in found["rows"]
        ),
    ]


def rendered(page: str) -> str:
    """A page with its marked blocks written anew."""
    for name, text in (("summary", summary), ("details", details)):
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

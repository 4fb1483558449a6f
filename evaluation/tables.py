"""The tables of the results, as lines of Markdown: a function for each result."""

from __future__ import annotations

from typing import Any

from plots import NAMES

Result = dict[str, Any]


def percent(rate: dict[str, Any]) -> str:
    """A rate as counts with its exact interval."""
    low, high = (f"{100 * bound:.0f}" for bound in rate["interval_95"])
    return f"{rate['successes']} of {rate['trials']} (95 % interval {low} to {high} %)"


def counted(rate: dict[str, Any]) -> str:
    """A rate in per cent with its exact interval."""
    low, high = (f"{100 * bound:.0f}" for bound in rate["interval_95"])
    return f"{100 * rate['rate']:.0f} ({low} to {high})"


def moved(row: dict[str, Any], name: str = "difference to plain") -> str:
    """A difference to plain texts, or another mean, with its interval."""
    low, high = row["interval_95"]
    return f"{row[name]:+.3f} ({low:+.3f} to {high:+.3f})"


def tokens(needed: dict[str, Any], longest: str) -> str:
    """How many tokens it takes, with the interval; over the longest that was tried where None."""
    value, low, high = (f"over {longest}" if n is None else n for n in (needed["tokens"], *needed["interval_95"]))
    return f"{value} ({low} to {high})"


def table(head: str, rows: list[str]) -> list[str]:
    """A table, its columns parted by ``|``."""
    return [f"| {head} |", "|" + "---|" * (head.count("|") + 1), *(f"| {row} |" for row in rows)]


def pairs(rows: dict[str, str]) -> list[str]:
    """A table without a head: what was asked, and the answer."""
    return ["| | |", "|---|---|", *(f"| {what} | {value} |" for what, value in rows.items())]


def pair(row: dict[str, Any]) -> str:
    """Whose vocabularies a row is about."""
    return ", ".join(row[f"{whose}'s vocabulary"] for whose in ("provider", "proxy"))


def recovery(found: Result) -> list[str]:
    """Codes read back."""
    others = found["provider not registered"]
    return pairs({
        "exact": percent(found["exact"]),
        **{f"found at {level}": percent(rate) for level, rate in found["detected"].items()},
        "of providers that are not registered: exact": percent(others["exact"]),
        "of providers that are not registered: found at p <= 0.0001": percent(others["p <= 0.0001"]),
        "hit rate; of a wrong code": f"{found['hit rate of exact ones']:.3f}; {found['hit rate of a wrong code']:.3f}",
        "median p, registered codes first; the encoder's bound beforehand, over all codes": f"{found['median p']:.1e}; {found['median expected p']:.1e}",
        "positions lost to re-tokenization, mean": f"{found['positions lost to re-tokenization']:.1f}",
    })  # fmt: skip


def quality(found: Result) -> list[str]:
    """What marking does to the likelihood."""
    rows = []
    for name, entry in found["methods"].items():
        told = " | " if name == "plain" else f"{moved(entry)} | {moved(entry['expected change'], 'mean')}"
        rows.append(f"{name} | {entry['mean NLL']:.3f} | {told}")
    rows += [
        f"unbiased; {pair(row)} | | {moved(row, 'mean')} | {moved(row['expected change'], 'mean')}"
        for row in found["pairs"]
    ]
    head = "method; provider's vocabulary, proxy's | mean NLL | difference to plain"
    return table(f"{head} | change of the expectation, step by step", rows)


def modes(found: Result) -> list[str]:
    """Every way of decoding."""
    rows = [
        f"{name} | {entry['exact']['successes']} of {entry['exact']['trials']} | {entry['hit rate']:.3f} | "
        f"{entry['hit rate of a wrong code']:.3f} | {entry['median p']:.1e}"
        for name, entry in found["modes"].items()
    ]
    head = f"mode, {found['settings']['tokens']} tokens"
    return table(f"{head} | exact | hit rate of the best code | of a wrong code | median p", rows)


def bridge(found: Result) -> list[str]:
    """Providers with other tokenizers than the proxy's."""
    rows = [
        f"{pair(row)} | {row['strategy']}, {row['proxy tokens']} | {percent(row['exact'])} | {row['hit rate']:.3f}; "
        f"{row['hit rate of a wrong code']:.3f} | {100 * row['marked positions seen by the reader']:.2f} %"
        for row in found["pairs"]
    ]
    head = "provider's vocabulary, proxy's | strategy, proxy tokens"
    return table(f"{head} | exact | hit rate; of a wrong code | seen", rows)


def lookahead(found: Result) -> list[str]:
    """The token bridge without some of its parts."""
    rows = [
        f"{row['family']} | {row['bridge']} | {row['hit rate']:.3f} | {counted(row['exact'])} | {row['median p']:.1e}"
        for row in found["rows"]
    ]
    return table("provider's vocabulary | bridge | hit rate | exact, % | median p", rows)


def records(found: Result) -> list[str]:
    """Records of several codes."""
    kinds = (("attributed", "whole texts"), ("excerpts", "middle thirds of texts"))
    columns = (
        "whole records", "whole records, provider not registered", "detected at p <= 1e-4", "every code at p <= 1e-3",
    )  # fmt: skip
    rows = [
        f"sealed user and beacon (3 codes), {what} of {found[name]['tokens']} tokens | "
        + " | ".join(percent(found[name][column]) for column in columns)
        for name, what in kinds
    ]
    beacons, replay, wrong = found["beacons"], found["replay"], found["wrong records"]
    return [
        *table(" | ".join(("", *columns)), rows),
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


def private(found: Result) -> list[str]:
    """Profiles with a secret key."""
    owners = [
        f"{who}, {length} | {percent(row['exact'])} | {percent(row['detected at p <= 1e-4'])} | {row['median p']:.1e}"
        for who, lengths in found["owners"].items()
        for length, row in lengths.items()
    ]
    outsiders = [
        f"{who} | {row['passages']} | {row['randomised p of one code']['mean']:.3f}, "
        f"{row['randomised p of one code']['KS p']:.3f} | {row['reported p']['smallest']:.2g}"
        for who, row in found["outsiders"].items()
    ]
    return [
        *table("profile, tokens | exact | found at p <= 1e-4 | median p", owners),
        "",
        *table("who reads the secret ones' texts | texts | p of one code: mean, KS p | smallest reported p", outsiders),
    ]


def pasted(found: Result) -> list[str]:
    """Passages in human documents."""
    passages, given = found["pasted"], found["settings"]
    paper = {}
    if windows := passages.get("the paper's windows"):
        paper["by the paper's windows: found with the right code; passages with another code"] = (
            f"{percent(windows['found with the right code'])}; {windows['spans with another code']}"
        )
    return pairs({
        f"{given['tokens']} tokens inside {given['around']} human ones: found with the right code": percent(
            passages["found with the right code"]
        ),
        "overlap of found and true passage, mean over all; median of those found": (
            f"{passages['overlap, mean']:.2f}; {passages['overlap of those found, median']:.2f}"
        ),
        "passages with another code": str(passages["spans with another code"]),
        **paper,
    })  # fmt: skip


def documents(found: Result) -> list[str]:
    """Human documents."""
    texts = found["human"]
    return pairs({
        "documents of 1,000 to 3,000 tokens": f"{texts['documents']} ({texts['tokens']:,} tokens)",
        "smallest p; one-sided Kolmogorov-Smirnov p": f"{texts['smallest p']:.2g}; {texts['KS p, one-sided']:.3f}",
        **{f"documents with p <= {level}": str(count) for level, count in texts["at most"].items()},
    })  # fmt: skip


def substitution(found: Result) -> list[str]:
    """Tokens replaced."""
    names = [name for name in found["rows"][0] if name not in ("strategy", "substituted", "score")]
    rows = [
        f"{row['strategy']} | {100 * row['substituted']:.0f} % | {row['score']} | "
        + " | ".join(percent(row[name]) for name in names)
        for row in found["rows"]
    ]
    head = f"strategy, {found['settings']['tokens']} tokens | replaced | score"
    return table(f"{head} | {' | '.join(names)}", rows)


def load(found: Result) -> list[str]:
    """The web service under load."""
    latency, answers, memory = found["latency of good clients, seconds"], found["answers"], found["resident MiB"]
    given, served = found["settings"], answers["good clients"]
    waits = sum(count for status, count in served.items() if status != "200")
    return pairs({
        "good clients; seconds; cores": f"{given['clients']}; {given['seconds']}; {given['machine']['cores']}",
        "texts decoded; windows a second": f"{served['200']}; {found['windows per second']:.0f}",
        "requests told to come back later": str(waits),
        "wait from the first attempt: median, 95 % within": f"{latency['p50']:.0f} s, {latency['p95']:.0f} s",
        "bodies of 10 MB; refused by 413": (
            f"{sum(answers['10 MB bodies'].values())}; {answers['10 MB bodies']['413']}"
        ),
        "resident memory before; after": f"{memory['before']:.0f} MiB; {memory['after']:.0f} MiB",
        "crashed": "yes" if found["crashed"] else "no",
    })  # fmt: skip


def curves(found: Result) -> list[str]:
    """Success against quality: a row for each method, strength and score, all lengths side by side."""
    lengths = sorted({row["tokens"] for row in found["rows"]})
    cells: dict[str, dict[int, str]] = {}
    for row in found["rows"]:
        if row["method"] == "plain":
            continue
        name = f"{NAMES[row['method']]} {row.get('delta', '')} | {row['score']}"
        cells.setdefault(name, {})[row["tokens"]] = f"{counted(row['exact'])} | {moved(row)}"
    rows = [f"{name} | " + " | ".join(by[length] for length in lengths) for name, by in cells.items()]
    head = " | ".join(f"{length} tokens: exact, % | NLL minus plain's" for length in lengths)
    levels = sorted({row["success"] for row in found["at equal success"]})
    equal: dict[str, dict[float, str]] = {}
    for row in found["at equal success"]:
        at, name = row["NLL"], f"{NAMES[row['other']]} | {row['tokens']}"
        low, high = at["interval_95"] if at else (0, 0)
        told = f"{at['difference']:+.2f} ({low:+.2f} to {high:+.2f})" if at else "reached too seldom"
        equal.setdefault(name, {})[row["success"]] = told
    return [
        *table(f"method | score | {head}", rows),
        "",
        "NLL of Balance-Marking by `delta` minus that of another method, where both succeed equally often:",
        "",
        *table(
            "other method | tokens | " + " | ".join(f"{100 * level:.0f} % exact" for level in levels),
            [f"{name} | " + " | ".join(by[level] for level in levels) for name, by in equal.items()],
        ),
    ]


def ablations(found: Result) -> list[str]:
    """A row for each value of a parameter."""
    lengths = list(found["rows"][0]["exact"])
    rows = []
    for row in found["rows"]:
        rates = " | ".join(counted(row["exact"][length]) for length in lengths)
        changed = ", ".join(f"{name}: {value}" for name, value in row["changed"].items()) or "none"
        times = row.get("milliseconds a token")
        plain = times["writing, plain"] if times else 1.0
        took = f"{times['writing'] / plain:.2f}; {times['reading'] / plain:.2f}" if times else ""
        rows.append(f"{changed} | {row['method']} | {rates} | {moved(row)} | {took}")
    head = " | ".join(f"{length} tokens, %" for length in lengths)
    published = ", ".join(f"{name} {value}" for name, value in found["settings"]["published"].items())
    return [
        f"As published: {published}.",
        "",
        *table(f"changed | method | {head} | NLL minus plain's | writing; reading a token, of plain writing", rows),
    ]


def gumbel(found: Result) -> list[str]:
    """Gumbel beside unbiased."""
    longest = list(found["rows"][-1]["exact"])[-1]
    rows = []
    for row in found["rows"]:
        cells = [f"{row['method']}, T = {row['temperature']:g}", "", "", ""]
        if row["method"] != "plain":
            cells[1:3] = [tokens(row[f"tokens for 90 % {what}"], longest) for what in ("exact", "at p <= 1e-4")]
            cells[3] = moved(row["NLL"])
        rows.append(" | ".join([*cells, f"{100 * row['pairs that repeat']:.0f}"]))
    between = [
        f"{method} | {entry['mean']:.1f} | {moved(entry) if method != 'plain' else ''}"
        for method, entry in found["self-BLEU of one prompt's texts, one code"].items()
    ]
    head = "method | tokens for 90 % exact | for 90 % at p <= 1e-4 | NLL, difference to plain | pairs that repeat, %"
    return [*table(head, rows), "", *table("texts of one prompt and code | self-BLEU | difference to plain", between)]


def entropy(found: Result) -> list[str]:
    """Tokens needed for each way of sampling."""
    longest = list(found["rows"][0]["exact"])[-1]

    def drawn(row: dict[str, Any]) -> str:
        searched = any(way in row["sampling"] for way in ("greedy", "beams"))  # nothing is drawn there
        return "" if searched else f"{row['entropy of the choice']:.2f}"

    rows = [
        f"{row['sampling']} | {row['entropy of the model']:.2f} | {drawn(row)} | "
        f"{tokens(row['tokens for 90 % exact'], longest)} | {tokens(row['tokens for 90 % at p <= 1e-4'], longest)}"
        for row in found["rows"]
    ]
    head = "sampling | entropy of the model, nats a token | of the choice"
    return table(f"{head} | tokens for 90 % exact | for 90 % at p <= 1e-4", rows)


def lengths(found: Result) -> list[str]:
    """Records read whole, by length."""
    tokens = sorted(map(int, found["rows"][0]["whole"]))
    rows = [
        f"{row['bits']} ({row['layout']}) | " + " | ".join(counted(row["whole"][str(n)]) for n in tokens)
        for row in found["rows"]
    ]
    return table("bits (layout) | " + " | ".join(f"{n} tokens, %" for n in tokens), rows)


def attacks(found: Result) -> list[str]:
    """What edits leave."""
    rows = [
        f"{row['attack']}, {100 * row['share']:.0f} % | {row['bits']} | "
        f"{counted(row['exact'])} | {counted(row['exact at p <= 1e-4'])} | {row['runs of four tokens left']:.2f}"
        for row in found["rows"]
    ]
    return table("edit | bits | exact, % | exact at p <= 1e-4, % | runs of four tokens left", rows)


def preservation(found: Result) -> list[str]:
    """How far distributions move."""
    kinds = [name for name in found["exact"][0] if name not in ("context", "places")]
    rows = [
        f"`{row['context']!r}` ({row['places']}) | " + " | ".join(f"{row[kind]:.3f}" for kind in kinds)
        for row in found["exact"]
    ]
    names = [name for name in found["sampled"][0] if name != "texts"]
    sampled = [f"{row['texts']} | " + " | ".join(f"{row[name]:.3f}" for name in names) for row in found["sampled"]]
    return [
        *table("behind (places) | " + " | ".join(kinds), rows),
        "",
        "Token frequencies of texts, in total variation to one set of plain texts:",
        "",
        *table("texts | " + " | ".join(names), sampled),
    ]


def diversity(found: Result) -> list[str]:
    """Quality beyond likelihood."""
    names = [name for name in found["rows"][0] if name != "method"]
    rows = [
        f"{row['method']} | "
        + " | ".join(f"{row[n]['mean']:.3f}" if row["method"] == "plain" else moved(row[n]) for n in names)
        for row in found["rows"]
    ]
    bleu = [
        f"{row['texts']} | {row['mean']:.2f} | {moved(row) if 'interval_95' in row else ''}"
        for row in found["self-BLEU of one provider and version"]
    ]
    return [
        *table("texts; but for plain the difference to it | " + " | ".join(names), rows),
        "",
        *table("texts of one provider and version | self-BLEU | difference to plain", bleu),
    ]


def detection(found: Result) -> list[str]:
    """How well marked texts and others are told apart."""
    against, kinds = ("plain", "human"), ("marked", "plain", "human")
    rows = []
    for row in found["rows"]:
        areas = " | ".join(moved(row[f"against {kind}"], "area").replace("+", "") for kind in against)
        rates = (row.get(f"{kind} at p <= 1e-4") for kind in kinds)
        told = " | ".join(counted(rate) if rate else "" for rate in rates)
        rows.append(f"{row['method']} | {row['tokens']} | {areas} | {told}")
    head = " | ".join([f"area against {kind}" for kind in against] + [f"{kind} at p <= 1e-4, %" for kind in kinds])
    return table(f"method | tokens | {head}", rows)


def reference(found: Result) -> list[str]:
    """This implementation and the paper's own."""
    rows = [
        f"{row['by']} | {counted(row['exact']) if 'exact' in row else ''} | {row['mean NLL']:.3f} | "
        f"{moved(row) if 'exact' in row else ''} | {row['seconds to write']:.1f} | {row.get('seconds to read', '')}"
        for row in found["rows"]
    ]
    return table("by | 20 bits exact, % | mean NLL | minus plain's | seconds a text: to write | to read", rows)


def approximations(found: Result) -> list[str]:
    """What the paper's two approximations leave out."""
    means = [
        f"{row['partition']} | {row['delta']} | {row['total variation']:.3f} | "
        + " | ".join(f"{row[f'mass in V, {n}']:.3f}" for n in ("left out", "exact"))
        + " | "
        + " | ".join(f"{row[f'KL to the model, {n}']:.3f}" for n in ("left out", "exact"))
        + " | "
        + " | ".join(f"{row[f'NLL grows by, {n}']:+.3f}" for n in ("left out", "exact"))
        for row in found["mean of the messages"]
    ]
    logs = [
        f"{row['partition']} | {row['delta']} | {row['taken for']:.3f} | {row['mean']:.3f} | "
        f"{row['spread over colours']:.3f} | {row['spread over places']:.3f}"
        for row in found["normalizer"]
    ]
    return [
        "The mean of the message's log-probability over all messages, left out and exact:",
        "",
        *table(
            "halves | delta | total variation | mass in V, left out | exact | KL to the model, left out | exact | "
            "NLL grows by, left out | exact",
            means,
        ),
        "",
        "The log of the normalizer, which is taken for constant:",
        "",
        *table("halves | delta | taken for | mean | standard deviation over colours | over places", logs),
    ]


def false_positives(found: Result) -> list[str]:
    """P-values of human text."""
    reported = found["reported p"]
    return pairs({
        "passages of 100 to 200 tokens": str(found["passages"]),
        **{
            f"{name}: mean, Kolmogorov-Smirnov p": f"{entry['mean']:.3f}, {entry['KS p']:.3f}"
            for name, entry in found.items() if name.startswith("randomised")
        },
        "reported p: mean, smallest, one-sided Kolmogorov-Smirnov p": (
            f"{reported['mean']:.3f}, {reported['smallest']:.2g}, {reported['KS p, one-sided']:.3f}"
        ),
        **{f"reported p <= {level}": str(count) for level, count in reported["at most"].items()},
        **{name: str(count) for name, count in found["for comparison"].items()},
    })  # fmt: skip


def numerics(found: Result) -> list[str]:
    """Ways of running the proxy."""
    time = "milliseconds a window"
    rows = [
        f"{name} | {entry.get('mean total variation', 0):.1e} | {100 * entry.get('memberships that differ', 0):.2f} % | "
        + (f"{entry[time]:.1f}" if time in entry else "")
        for name, entry in found["runtimes"].items()
    ]
    return table(f"runtime | mean total variation | memberships that differ | {time}", rows)


def asked(found: Result) -> list[str]:
    """How often the proxy is asked, by sampling and strength."""
    deltas = sorted({row["delta"] for row in found["rows"]})
    windows = {(row["temperature"], row["delta"]): row["windows a token"] for row in found["rows"]}
    rows = [
        f"{f'T = {t:g}' if t else 'greedy'} | " + " | ".join(f"{windows[t, delta]:.2f}" for delta in deltas)
        for t in sorted({row["temperature"] for row in found["rows"]}, reverse=True)
    ]
    return table("windows a token | " + " | ".join(f"delta = {delta:g}" for delta in deltas), rows)


def bench(found: Result) -> list[str]:
    """Speed and memory."""
    rows = [
        f"{size}, {name} | {entry['tokens per second']:.0f} | {entry['of plain']:.2f}"
        for size in ("encode, batch 8", "encode, one row")
        for name, entry in found[size].items()
    ]
    decoding, over = found["decode"], "over the best forward"
    beacons = "one provider's beacons"
    scans = {
        f"a scan of documents of {scan['tokens'] // scan['documents']} tokens for {beacons}; for all codes, times the best "
        "forward pass": f"{scan[f'{beacons}, {over}']:.2f}; {scan[f'all codes, {over}']:.2f}"
        for name, scan in found.items()
        if name.startswith("scan")
    }
    return [
        *table("writing | tokens a second | of plain generation", rows),
        "",
        *pairs({
            "decoding 200 tokens: seconds; times its bare forward pass": (
                f"{decoding['decode']['seconds']:.2f}; {decoding['decode']['over forward']:.2f}"
            ),
            "transformers' float32 forward pass, times the decoder's": (
                f"{decoding['plain float32 forward']['over forward']:.2f}"
            ),
            "memory of decoding above the loaded model": f"{found['megabytes']['decode, above loaded']:.0f} MB",
            **scans,
            "the token bridge, for a row and a token": f"{found['bridge']['milliseconds per row and token']:.2f} ms",
        }),
    ]  # fmt: skip

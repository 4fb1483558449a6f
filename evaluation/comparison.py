"""The tables and figures of the comparison with other methods; :mod:`report` puts them on the page."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common import RESULTS
from plots import FIGURES, NAMES

__all__ = ["moved", "sections"]


def counted(rate: dict[str, Any]) -> str:
    """A rate in per cent with its exact interval."""
    low, high = (f"{100 * bound:.0f}" for bound in rate["interval_95"])
    return f"{100 * rate['rate']:.0f} ({low} to {high})"


def moved(row: dict[str, Any], name: str = "difference to plain") -> str:
    """A difference to plain texts, or another mean, with its interval."""
    low, high = row["interval_95"]
    return f"{row[name]:+.3f} ({low:+.3f} to {high:+.3f})"


def table(head: str, rows: list[str]) -> list[str]:
    """A table, its columns parted by ``|``."""
    return [f"| {head} |", "|" + "---|" * (head.count("|") + 1), *(f"| {row} |" for row in rows)]


def curves(found: dict[str, Any]) -> list[str]:
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
        told = f"{at['difference']:+.2f} ({low:+.2f} to {high:+.2f})" if at else "not reached"
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


def ablations(found: dict[str, Any]) -> list[str]:
    """A row for each value of a parameter."""
    lengths = list(found["rows"][0]["exact"])
    rows = []
    for row in found["rows"]:
        rates = " | ".join(counted(row["exact"][length]) for length in lengths)
        times = row.get("milliseconds a token")
        rows.append(
            f"{row['parameter']}: {row['value']} | {row['method']} | {rates} | {row['mean NLL']:.3f} | "
            + (f"{times['writing']:.1f} ({times['writing, plain']:.1f}); {times['reading']:.1f}" if times else "")
        )
    head = " | ".join(f"{length} tokens, %" for length in lengths)
    return table(f"parameter | method | {head} | mean NLL | ms a token: writing (plain); reading", rows)


def entropy(found: dict[str, Any]) -> list[str]:
    """Tokens needed for each way of sampling."""
    longest = list(found["rows"][0]["exact"])[-1]

    def told(needed: dict[str, Any]) -> str:
        value, low, high = (f"over {longest}" if n is None else n for n in (needed["tokens"], *needed["interval_95"]))
        return f"{value} ({low} to {high})"

    rows = [
        f"{row['sampling']} | {row['entropy of the model']:.2f} | {row['entropy of the choice']:.2f} | "
        f"{told(row['tokens for 90 % exact'])} | {told(row['tokens for 90 % at p <= 1e-4'])}"
        for row in found["rows"]
    ]
    head = "sampling | entropy of the model, nats a token | of the choice"
    return table(f"{head} | tokens for 90 % exact | for 90 % at p <= 1e-4", rows)


def lengths(found: dict[str, Any]) -> list[str]:
    """Records read whole, by length."""
    tokens = sorted(map(int, found["rows"][0]["whole"]))
    rows = [
        f"{row['bits']} ({row['layout']}) | " + " | ".join(counted(row["whole"][str(n)]) for n in tokens)
        for row in found["rows"]
    ]
    return table("bits (layout) | " + " | ".join(f"{n} tokens, %" for n in tokens), rows)


def attacks(found: dict[str, Any]) -> list[str]:
    """What edits leave."""
    rows = [
        f"{row['attack']}, {100 * row['share']:.0f} % | {row['bits']} | "
        f"{counted(row['exact'])} | {counted(row['exact at p <= 1e-4'])} | {row['runs of four tokens left']:.2f}"
        for row in found["rows"]
    ]
    return table("edit | bits | exact, % | exact at p <= 1e-4, % | runs of four tokens left", rows)


def preservation(found: dict[str, Any]) -> list[str]:
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


def diversity(found: dict[str, Any]) -> list[str]:
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


def approximations(found: dict[str, Any]) -> list[str]:
    """What the paper's two approximations leave out."""
    means = [
        f"{row['partition']} | {row['delta']} | {row['total variation']:.3f} | {row['mass in V, left out']:.3f} | "
        f"{row['mass in V, exact']:.3f} | {row['NLL grows by, left out']:+.3f} | {row['NLL grows by, exact']:+.3f}"
        for row in found["mean of the messages"]
    ]
    logs = [
        f"{row['partition']} | {row['delta']} | {row['taken for']:.3f} | {row['mean']:.3f} | "
        f"{row['spread over colours']:.3f} | {row['spread over places']:.3f}"
        for row in found["normaliser"]
    ]
    return [
        "The mean of the message's log-probability over all messages, left out and exact:",
        "",
        *table(
            "halves | delta | total variation | mass in V, left out | exact | NLL grows by, left out | exact", means
        ),
        "",
        "The log of the normaliser, which is taken for constant:",
        "",
        *table("halves | delta | taken for | mean | standard deviation over colours | over places", logs),
    ]


def detection(found: dict[str, Any]) -> list[str]:
    """How well marked and human texts are told apart."""
    rows = [
        f"{row['method']} | {row['tokens']} | {row['area']:.3f} ({row['interval_95'][0]:.3f} to "
        f"{row['interval_95'][1]:.3f}) | {counted(row['marked above 99 % of human'])} | "
        + " | ".join(counted(row[n]) if n in row else "" for n in ("marked at p <= 1e-4", "human at p <= 1e-4"))
        for row in found["rows"]
    ]
    head = "method | tokens | area under the curve | marked above 99 % of human, %"
    return table(f"{head} | marked at p <= 1e-4, % | human at p <= 1e-4, %", rows)


def reference(found: dict[str, Any]) -> list[str]:
    """This implementation and the paper's own."""
    rows = [
        f"{row['by']} | {counted(row['exact']) if 'exact' in row else ''} | {row['mean NLL']:.3f} | "
        f"{moved(row) if 'exact' in row else ''} | {row['seconds to write']:.1f} | {row.get('seconds to read', '')}"
        for row in found["rows"]
    ]
    return table("by | 20 bits exact, % | mean NLL | minus plain's | seconds a text: to write | to read", rows)


SECTIONS: dict[str, tuple[str, Callable[[dict[str, Any]], list[str]]]] = {
    "curves": ("Success against quality", curves),
    "ablations": ("Parameters of the profile", ablations),
    "entropy": ("Tokens needed, by entropy", entropy),
    "lengths": ("Tokens needed, by bits", lengths),
    "attacks": ("Edits", attacks),
    "preservation": ("Preservation", preservation),
    "diversity": ("Diversity", diversity),
    "detection": ("Marked or human", detection),
    "reference": ("Beside the paper's own code", reference),
    "approximations": ("The paper's approximations", approximations),
}


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
        f"{each.scheme} | {each.asked} | {each.percent} | {counted(rate)}"
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
    return [*head, *table("scheme | asked | printed, % | `unbiased` here, %", rows)] if rows else []


def sections(results: Path = RESULTS, figures: str = "figures") -> list[str]:
    """The lines of every section whose result is there, each with its figure.

    Args:
        results: folder of the results.
        figures: folder of the figures, as the page names it.
    """
    lines: list[str] = []
    for name, (title, told) in SECTIONS.items():
        file = results / f"{name}.json"
        if file.exists():
            found = json.loads(file.read_text())
            lines += ["", f"### {title} ({found['settings']['date']})", ""]
            lines += [f"![{title}]({figures}/{name}.svg)", ""] if name in FIGURES else []
            lines += told(found)
    return lines + printed(results)

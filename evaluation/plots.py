"""Draw the figures of evaluation/README.md from the results: SVG for the page, PNG for slides.

python evaluation/plots.py
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
from common import RESULTS
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

__all__ = ["FIGURES", "FOLDER", "NAMES", "draw", "draw_all"]

FOLDER = RESULTS.parent / "figures"
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F", "#882255", "#44AA99")
"""Colours that the colour-blind tell apart (Okabe and Ito), and four more; lines differ by their markers too."""

MARKERS = "osD^vPX*<>"
NAMES = {
    "delta": "Balance-Marking, delta",
    "vanilla": "Vanilla-Marking, delta",
    "mpac": "position allocation (after MPAC)",
    "cyclic": "cyclic shift (after Three Bricks)",
    "unbiased": "unbiased",
}


def error(rate: dict[str, Any]) -> tuple[float, float, float]:
    """A rate in per cent, and how far its interval reaches below and above."""
    low, high = rate["interval_95"]
    return 100 * rate["rate"], 100 * (rate["rate"] - low), 100 * (high - rate["rate"])


def growing(axes: Axes, rates: dict[str, Any], label: str, i: int) -> None:
    """A line of rates by the number of tokens."""
    values = [error(rate) for rate in rates.values()]
    axes.errorbar(
        [int(length) for length in rates], [value for value, _, _ in values],
        yerr=[[low for _, low, _ in values], [high for _, _, high in values]],
        label=label, color=PALETTE[i % len(PALETTE)], marker=MARKERS[i % len(MARKERS)], capsize=2,
        linewidth=1.2, markersize=4,
    )  # fmt: skip


def titled(axes: Axes, title: str, x: str, y: str) -> None:
    """Words around a panel."""
    axes.set_title(title)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(visible=True, alpha=0.3)


def curves(found: dict[str, Any]) -> Figure:
    """Success against quality."""
    figure, panels = plt.subplots(1, 2, figsize=(11, 4.5), sharey=True)
    for axes, tokens in zip(panels, (200, 100), strict=True):
        for i, (method, name) in enumerate(NAMES.items()):
            rows = [row for row in found["rows"] if row["method"] == method and row["tokens"] == tokens]
            rows = [row for row in rows if row["score"] == rows[0]["score"]]  # what methods are compared by
            values = [error(row["exact"]) for row in rows]
            across = [row["difference to plain"] for row in rows]
            axes.errorbar(
                across, [value for value, _, _ in values],
                yerr=[[low for _, low, _ in values], [high for _, _, high in values]],
                xerr=[[a - row["interval_95"][0] for a, row in zip(across, rows, strict=True)],
                      [row["interval_95"][1] - a for a, row in zip(across, rows, strict=True)]],
                label=name, color=PALETTE[i], marker=MARKERS[i], capsize=2, linewidth=1.2, markersize=5,
                elinewidth=0.6, alpha=0.9,
            )  # fmt: skip
        axes.axvline(0, color="black", linewidth=0.6)
        titled(
            axes,
            f"20 bits in {tokens} tokens",
            "NLL minus plain sampling's, nats a token",
            "codes read back exactly, %",
        )
    panels[0].legend(fontsize=8)
    return figure


def ablations(found: dict[str, Any]) -> Figure:
    """Success by length for each value of a parameter."""
    titles = {
        "colours": "permutations A",
        "prefix_length": "prefix of the proxy, tokens",
        "code_bits": "code space, bits",
        "layers": "layers of the proxy LM, of 30",
    }
    figure, panels = plt.subplots(2, 2, figsize=(11, 8), sharey=True)
    for axes, (parameter, title) in zip(panels.flat, titles.items(), strict=True):
        rows = [row for row in found["rows"] if parameter in row["changed"] or not row["changed"]]
        for i, row in enumerate(rows):
            value = row["changed"].get(parameter, found["settings"]["published"][parameter])
            growing(axes, row["exact"], f"{value}, {row['method']}", i)
        titled(axes, title, "tokens", "codes read back exactly, %")
        axes.legend(fontsize=8)
    return figure


def entropy(found: dict[str, Any]) -> Figure:
    """Success by length for each way of sampling."""
    figure, panels = plt.subplots(1, 2, figsize=(11, 4.5), sharey=True)
    for i, row in enumerate(found["rows"]):
        axes = panels[0 if row["sampling"].startswith("unbiased") else 1]
        growing(axes, row["p <= 1e-4"], f"{row['sampling']} ({row['entropy of the choice']:.1f} nats)", i)
    for axes in panels:
        titled(axes, "found at p <= 1e-4, by the choice's entropy a token", "tokens", "codes found, %")
        axes.legend(fontsize=7)
    return figure


def lengths(found: dict[str, Any]) -> Figure:
    """Success by length for each number of bits."""
    figure, axes = plt.subplots(figsize=(6.5, 4.5))
    for i, row in enumerate(found["rows"]):
        growing(axes, row["whole"], f"{row['bits']} bits", i)
    titled(axes, "records, unbiased, T = 1", "tokens", "read back whole, %")
    axes.legend()
    return figure


def attacks(found: dict[str, Any]) -> Figure:
    """What is left after edits."""
    rows = [row for row in found["rows"] if row["bits"] == 20]
    figure, axes = plt.subplots(figsize=(8, 4.5))
    for i, row in enumerate(rows):
        value, low, high = error(row["exact"])
        axes.bar(i, value, yerr=[[low], [high]], color=PALETTE[0], capsize=3)
    told = [row["attack"] + (f"\n{100 * row['share']:.0f} %" if 0 < row["share"] < 1 else "") for row in rows]
    axes.set_xticks(range(len(rows)), told, fontsize=8)
    titled(axes, f"20 bits in {found['settings']['tokens']} tokens, edited", "", "codes read back exactly, %")
    return figure


def preservation(found: dict[str, Any]) -> Figure:
    """How far distributions behind frequent contexts move."""
    rows = found["exact"]
    kinds = [name for name in rows[0] if name not in ("context", "places")]
    figure, axes = plt.subplots(figsize=(8, 4.5))
    for k, kind in enumerate(kinds):
        places = [i + 0.8 * (k - (len(kinds) - 1) / 2) / len(kinds) for i in range(len(rows))]
        axes.bar(places, [row[kind] for row in rows], 0.8 / len(kinds), label=kind, color=PALETTE[k])
    axes.set_xticks(range(len(rows)), [repr(row["context"]) for row in rows])
    titled(axes, "unbiased, averaged over texts", "context", "total variation to the model's distribution")
    axes.set_ylim(top=1.2 * max(row[kind] for row in rows for kind in kinds))
    axes.legend(ncols=len(kinds), loc="upper right")
    return figure


def diversity(found: dict[str, Any]) -> Figure:
    """How far marked texts are from plain ones in each measure."""
    rows = [row for row in found["rows"] if row["method"] != "plain"]
    names = [name for name in rows[0] if name != "method"]
    figure, panels = plt.subplots(1, len(names), figsize=(13, 3.5), sharey=True)
    for axes, name in zip(panels, names, strict=True):
        values = [row[name] for row in rows]
        across = [value["difference to plain"] for value in values]
        reach = [value["interval_95"][1] - value["difference to plain"] for value in values]
        axes.errorbar(across, range(len(rows)), xerr=reach, fmt="o", color=PALETTE[0], capsize=3)
        axes.axvline(0, color="black", linewidth=0.6)
        axes.set_yticks(range(len(rows)), [row["method"] for row in rows], fontsize=8)
        titled(axes, name, "difference to plain", "")
    return figure


def detection(found: dict[str, Any]) -> Figure:
    """How well methods tell marked texts from others, by length."""
    figure, panels = plt.subplots(1, 2, figsize=(11, 4.5), sharey=True)
    for axes, kind in zip(panels, ("plain", "human"), strict=True):
        for i, method in enumerate(dict.fromkeys(row["method"] for row in found["rows"])):
            rows = [row for row in found["rows"] if row["method"] == method]
            areas = {str(row["tokens"]): {"rate": (told := row[f"against {kind}"])["area"]} | told for row in rows}
            growing(axes, areas, method, i)
        titled(axes, f"marked against {kind} texts", "tokens", "area under the curve, %")
    panels[0].legend(fontsize=8)
    return figure


FIGURES: dict[str, Callable[[dict[str, Any]], Figure]] = {
    "curves": curves, "ablations": ablations, "entropy": entropy, "lengths": lengths, "attacks": attacks,
    "preservation": preservation, "diversity": diversity, "detection": detection,
}  # fmt: skip
"""A figure for each experiment."""


def draw(name: str, result: dict[str, Any], folder: Path) -> list[Path]:
    """Write a figure as SVG and PNG, the same bytes for the same result."""
    mpl.use("agg")
    folder.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": "ctwl", "font.size": 9}):
        figure = FIGURES[name](result)
        figure.tight_layout()
        files = [folder / f"{name}.svg", folder / f"{name}.png"]
        figure.savefig(files[0], metadata={"Date": None})
        figure.savefig(files[1], dpi=150, metadata={"Software": None})
        plt.close(figure)
    return files


def draw_all(results: Path, folder: Path) -> list[Path]:
    """Draw every figure whose result is there."""
    files: list[Path] = []
    for name in FIGURES:
        if (file := results / f"{name}.json").exists():
            files += draw(name, json.loads(file.read_text()), folder)
    return files


if __name__ == "__main__":
    print(*draw_all(RESULTS, FOLDER), sep="\n")

"""The figures of evaluation/RESULTS.md."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from .shared.experiment import Result

MARKERS = "osD^vPX*<>"
STYLE = {"svg.hashsalt": "ctwl", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3, "errorbar.capsize": 2}
"""Beside matplotlib's own colours for the colour-blind; the salt gives the same result the same bytes."""


def intervals(rows: Iterable[Result], name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Values float64 (rows,), and how far their intervals reach below and above, float64 (2, rows)."""
    values, bounds = np.array([row[name] for row in rows]), np.array([row["interval_95"] for row in rows]).T
    return values, np.abs(bounds - values)


def plot_rates(axes: Axes, x: Any, rates: Iterable[Result], name: str = "rate", **how: Any) -> None:
    """A line of rates, in per cent, with their intervals."""
    values, reach = intervals(list(rates), name)
    axes.errorbar(x, 100 * values, yerr=100 * reach, linewidth=1.2, markersize=4, **how)


def plot_growth(panel: Axes, lines: Mapping[str, Mapping[str, Result]]) -> None:
    """A line for each name: its rates by the number of tokens."""
    for (name, rates), marker in zip(lines.items(), MARKERS, strict=False):
        plot_rates(panel, [int(length) for length in rates], rates.values(), label=name, marker=marker)
    panel.set(xlabel="tokens")
    panel.legend(fontsize=7)


def entropy(found: Result) -> Figure:
    """Success by length for each way of sampling."""
    figure, panels = plt.subplots(1, 2, figsize=(11, 4.5), sharey=True)
    for panel, adds in zip(panels, (False, True), strict=True):
        rows = [row for row in found["rows"] if ("delta" in row["sampling"]) is adds]
        named = [f"{row['sampling']} ({row['entropy of the choice']:.1f} nats)".replace("`", "") for row in rows]
        plot_growth(panel, dict(zip(named, (row["found"] for row in rows), strict=True)))
        panel.set(title="found, by the choice's entropy a token", ylabel="codes found, %")
    return figure


def lengths(found: Result) -> Figure:
    """Success by length for each number of bits."""
    figure, panel = plt.subplots(figsize=(6.5, 4.5))
    plot_growth(panel, {f"{row['bits']} bits": row["whole"] for row in found["rows"]})
    panel.set(title="records, T = 1", ylabel="read back whole, %")
    return figure


FIGURES = (entropy, lengths)
"""A figure for the result of the same name."""


def draw_all(results: Path) -> list[Path]:
    """Draw every figure whose result is there, into the folder ``figures`` beside it."""
    mpl.use("agg")
    folder, files = results.parent / "figures", list[Path]()
    folder.mkdir(exist_ok=True)
    for draw in FIGURES:
        name = draw.__name__
        if not (result := results / f"{name}.json").exists():
            continue
        with plt.style.context(["tableau-colorblind10", STYLE]):
            figure = draw(json.loads(result.read_text()))
            figure.tight_layout()
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
            plt.close(figure)
        files.append(folder / f"{name}.svg")
    return files

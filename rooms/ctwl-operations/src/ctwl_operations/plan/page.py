"""The result as one HTML page that needs nothing else."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from .configs import configs
from .result import Result
from .statistics import NINE_IN_TEN, Estimate
from .wording import COLUMNS, LEGEND, READ, cells, headline, reading_legend, reading_rows, sentences, setting

_LEFT, _RIGHT, _TOP, _BOTTOM = 60.0, 700.0, 10.0, 230.0
"""The edges of the first plot in the coordinates of its SVG; the template has the same."""

_LINE = 14.0
"""Height of a label."""

_STEP = 34.0
"""Height of a row in the second plot."""

_PAGES = Environment(
    loader=PackageLoader(__package__, "."), autoescape=True, undefined=StrictUndefined, trim_blocks=True
)


def page(result: Result) -> str:
    """A complete HTML document without scripts."""
    rows = (result.plain, *result.rows)
    changes = [(row.marking.name, row.effect.change) for row in result.rows if row.effect]
    shares = [(row.marking.name, Estimate(*(100 * value for value in row.shared))) for row in rows]
    return _PAGES.get_template("page.html").render(
        headline=headline(result),
        sentences=sentences(result),
        setting=setting(result.settings),
        columns=COLUMNS,
        rows=[(row is result.taken, cells(row, result.settings)) for row in rows],
        legend=LEGEND,
        reading_columns=[READ, *(row.marking.name for row in rows)],
        reading_rows=reading_rows(result),
        reading_legend=reading_legend(result),
        configs=configs(result),
        growth=_growth(result),
        costs=[
            _dots("Change of the expected NLL, nats a token", changes),
            _dots("Runs of three tokens that two texts of a prompt share, %", shares),
        ],
        settings=result.settings,
    )


def _growth(result: Result) -> dict[str, Any]:
    """The share of texts found by the number of tokens, as steps in the SVG's coordinates."""
    most = result.settings.sampling["max_new_tokens"]
    lines: list[dict[str, Any]] = []
    for row in result.rows:
        curve = row.effect.curve if row.effect else []
        corners = [(0.0, 0.0)]
        for tokens, share in curve:
            corners += [(tokens, corners[-1][1]), (tokens, share)]
        corners.append((most, corners[-1][1]))
        x = np.interp([tokens for tokens, _ in corners], [0, most], [_LEFT, _RIGHT])
        y = np.interp([share for _, share in corners], [0, 1], [_BOTTOM, _TOP])
        points = " ".join(f"{left:.1f},{top:.1f}" for left, top in zip(x, y, strict=True))
        lines.append({"name": row.marking.name, "points": points, "label": round(float(y[-1]), 1)})
    for above, below in pairwise(sorted(lines, key=itemgetter("label"))):
        below["label"] = max(below["label"], above["label"] + _LINE)
    nine = float(np.interp(NINE_IN_TEN, [0, 1], [_BOTTOM, _TOP]))
    return {"lines": lines, "most": most, "nine": nine}


def _dots(title: str, values: Sequence[tuple[str, Estimate]]) -> dict[str, Any]:
    """Means with their intervals, a line for each marking, in the SVG's coordinates; unknown ones are left out."""
    known = [(name, value) for name, value in values if not math.isnan(value.mean)]
    ends = [0.0, *(end for _, value in known for end in value)]
    low, high = min(ends), max(ends)
    high += (high == low) * 1.0
    place = [low, high], [_LEFT + 90, _RIGHT]
    dots = [
        {
            "name": name,
            "y": round(20 + _STEP * i, 1),
            **{which: round(float(np.interp(end, *place)), 1) for which, end in value._asdict().items()},
            "says": f"{value.mean:+.3f}" if low < 0 else f"{value.mean:.1f}",
        }
        for i, (name, value) in enumerate(known)
    ]
    zero = round(float(np.interp(0.0, *place)), 1)
    return {"title": title, "dots": dots, "zero": zero, "height": 20 + _STEP * max(len(dots), 1)}

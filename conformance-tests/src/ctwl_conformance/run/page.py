"""The report as one HTML page without other files."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from .classes import CLASSES
from .results import Report, Result

_WORDS = {"passed": "pass", "failed": "FAIL", "errored": "ERROR", "skipped": "skip", "xfailed": "xfail"}


def render(report: Report) -> str:
    """The page."""
    environment = Environment(
        loader=PackageLoader(__package__, "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.jinja").render(
        report=report,
        words=_WORDS,
        classes=CLASSES,
        matrix=_matrix(report),
        exact=_exact(report),
        alone=[
            result for result in report.results if result.kind == "statistical" and len(result.implementations) == 1
        ],
        measured=[result for result in report.results if result.kind == "numeric"],
        trouble=[result for result in report.results if result.verdict not in ("passed", "skipped")],
        skips=[result for result in report.results if result.verdict == "skipped"],
    )


def _matrix(report: Report) -> dict[str, Any]:
    """Encoders by decoders; each cell has the families of round trips."""
    given = {(v.implementation, CLASSES[v.conformance_class].role) for v in report.verdicts}
    labels = [implementation.label for implementation in report.implementations]
    cells: dict[tuple[str, str], list[Result]] = {}
    for result in report.results:
        if len(result.implementations) == 2:
            cells.setdefault((result.implementations[0], result.implementations[1]), []).append(result)
    return {
        "encoders": [label for label in labels if (label, "encoder") in given],
        "decoders": [label for label in labels if (label, "decoder") in given],
        "cells": cells,
    }


def _exact(report: Report) -> dict[str, Any]:
    """Families of exact vectors by implementations, with their results."""
    rows: dict[tuple[str, str], dict[str, list[Result]]] = {}
    for result in report.results:
        if result.kind == "exact":
            row = rows.setdefault((result.section, result.family), {})
            row.setdefault(result.implementations[0], []).append(result)
    labels = [i.label for i in report.implementations if any(i.label in row for row in rows.values())]
    return {"labels": labels, "rows": rows}

"""The result on a terminal: the table, the recommendation, and what to paste."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from .configs import configs
from .result import Result
from .wording import COLUMNS, LEGEND, READ, cells, headline, reading_legend, reading_rows, sentences, setting


def show(result: Result, console: Console) -> None:
    """Print the result; nothing of it is read as markup."""
    table = Table(title=None, header_style="bold")
    for column in COLUMNS:
        table.add_column(column)
    for row in (result.plain, *result.rows):
        style = "bold" if row is result.taken else None
        table.add_row(*("\n".join(lines) for lines in cells(row, result.settings)), style=style)
    console.print(setting(result.settings), markup=False, highlight=False)
    console.print(table)
    console.print(LEGEND, style="dim", markup=False, highlight=False)
    reading = Table(READ, *(row.marking.name for row in (result.plain, *result.rows)), header_style="bold")
    for cells_of_row in reading_rows(result):
        reading.add_row(*cells_of_row)
    console.print(reading)
    console.print(reading_legend(result), style="dim", markup=False, highlight=False)
    console.print(f"\n{headline(result)}", style="bold", markup=False, highlight=False)
    for sentence in sentences(result):
        console.print(f"- {sentence}", markup=False, highlight=False)
    for name, snippet in configs(result).items():
        console.print(f"\n{name}:", style="bold", markup=False, highlight=False)
        console.print(snippet, markup=False, highlight=False, soft_wrap=True)

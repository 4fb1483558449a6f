"""The result on a terminal: the table, the recommendation, and what to paste."""

from __future__ import annotations

from functools import partial

from rich.console import Console
from rich.table import Table

from .configs import configs
from .result import Result
from .wording import COLUMNS, LEGEND, READ, cells, headline, reading_legend, reading_rows, sentences, setting


def show(result: Result, console: Console) -> None:
    """Print the result; nothing of it is read as markup."""
    say = partial(console.print, markup=False, highlight=False)
    table = Table(*COLUMNS, header_style="bold")
    for row in (result.plain, *result.rows):
        style = "bold" if row is result.taken else None
        table.add_row(*("\n".join(lines) for lines in cells(row, result.settings)), style=style)
    say(setting(result.settings))
    console.print(table)
    say(LEGEND, style="dim")
    reading = Table(READ, *(row.marking.name for row in (result.plain, *result.rows)), header_style="bold")
    for cells_of_row in reading_rows(result):
        reading.add_row(*cells_of_row)
    console.print(reading)
    say(reading_legend(result), style="dim")
    say(f"\n{headline(result)}", style="bold")
    for sentence in sentences(result):
        say(f"- {sentence}")
    for name, snippet in configs(result).items():
        say(f"\n{name}:", style="bold")
        say(snippet, soft_wrap=True)

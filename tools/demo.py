"""The main job in one go: a language model answers a question, its text carries a code, the public decoder reads it.

python tools/demo.py                                  asks QUESTION
python tools/demo.py "How does a lighthouse work?"

On a terminal the two answers, with the code and without, stand side by side.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text
from transformers.utils import logging

from ctwl_decoder import Decoders, describe
from ctwl_decoder.report.analysis import Analysis
from ctwl_decoder.report.terminal import heat, legend
from ctwl_decoder.report.wording import format_p_value, headline
from ctwl_encoder import Encoder

QUESTION = "Why do cats make good pets?"
OFFLINE = "org.ctwl.smollm2-135m.1"
PROVIDER, VERSION, TOKENS, TEMPERATURE = 42, 3, 250, 0.8


class Counting:
    """What transformers tells of each token: how many there are is told on."""

    def __init__(self, progress: Callable[[int], None]) -> None:
        self._progress, self._tokens = progress, -1  # the first call gives the question

    def put(self, _: object) -> None:
        """One more token."""
        self._tokens += 1
        self._progress(self._tokens)

    def end(self) -> None:
        """The answer is complete."""


@contextmanager
def doing(console: Console, what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Say what takes its time, and how far it is: in a line that goes away where there is a terminal."""
    if not console.is_terminal:
        console.print(what)
        yield lambda done: console.print(f"{done} tokens ...") if done and done % 100 == 0 else None
        return
    columns = [TextColumn("{task.description}"), BarColumn(), *([MofNCompleteColumn()] if total else [])]
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)


def show(title: str, text: str) -> None:
    """Print a titled, wrapped paragraph."""
    print(f"\n{title}\n")
    for line in text.strip().splitlines():
        print(textwrap.fill(line, 100, initial_indent="    ", subsequent_indent="    "))


def show_both(console: Console, marked: Analysis, plain: Analysis) -> None:
    """Print the two answers side by side, the marked one in the colours of its evidence, and both verdicts."""
    colours = console.color_system in ("256", "truecolor") and not console.no_color
    table = Table(expand=True, show_lines=True)
    table.add_column("with the code", ratio=1)
    table.add_column("without it", ratio=1)
    table.add_row(heat(marked, colours=colours), Text(plain.text))
    table.add_row(*(Text(f"{headline(each.report)}\np = {format_p_value(each.report.p_value)}", "bold")
                    for each in (marked, plain)))  # fmt: skip
    console.print(table, legend(colours=colours))


def main(question: str) -> int:
    """Run the demonstration; 0 where the code was read back."""
    logging.set_verbosity_error()
    console, out = Console(stderr=True), Console()
    with doing(console, "loading SmolLM2 (the first time it is unpacked, about 20 seconds) ..."):
        encoder = Encoder.open("smollm2", OFFLINE)
        decoders = Decoders.open()
    show("The question", question)
    options: dict[str, Any] = {"max_new_tokens": TOKENS, "temperature": TEMPERATURE}
    with doing(console, f"answering with the code, at most {TOKENS} tokens ...", TOKENS) as progress:
        (written,) = encoder.generate(question, PROVIDER, VERSION, chat=True, progress=progress, **options)
    with doing(console, f"answering without it, at most {TOKENS} tokens ...", TOKENS) as progress:
        asked = encoder.tokenize([question], TOKENS, chat=True)
        given = encoder.model.generate(**asked, do_sample=True, top_k=0, streamer=Counting(progress), **options)
        other = encoder.tokenizer.decode(given[0, asked["input_ids"].shape[1] :], skip_special_tokens=True)
    with doing(console, "reading both, by all published profiles ..."):
        marked, plain = decoders.analyse(written.text), decoders.analyse(other)
    beacon = written.beacon
    how = (
        f"as provider {beacon.provider}, version {beacon.version}, with a nonce drawn for this text ({beacon.nonce}), "
        f"by the default strategy for temperature {TEMPERATURE} ({written.strategy})"
    )
    if out.is_terminal:
        print(f"\nWhat the model answers {how}; and without a code\n")
        show_both(out, marked, plain)
    else:
        show(f"What the model answers {how}", written.text)
        show("What the same model answers without a code", other)
    show("What the public decoder says of the first, from the text alone", describe(marked.report))
    if not out.is_terminal:
        show("What it says of the second", describe(plain.report))
    right = marked.report.detected and marked.report.code == beacon.code
    print(f"\n{'The code was read back exactly.' if right else 'The code was NOT read back; run it again.'}")
    print("docs/readers/results.md explains each line of a report.")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main(" ".join(sys.argv[1:]) or QUESTION))

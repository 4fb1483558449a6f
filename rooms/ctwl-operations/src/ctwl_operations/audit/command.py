"""``ctwl-encode audit``: options, and what is printed."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from io import BufferedReader
from typing import BinaryIO, cast

from ctwl_encoder import nonces_for
from ctwl_encoder.errors import OptionOutOfRange
from ctwl_protocol import CTWLError, get_profile
from ctwl_protocol.command import closed_output_is_fine, command_parser, harmless, run_command
from ctwl_protocol.files import open_file
from ctwl_protocol.records import NONCE_COUNT

from ..budget import in_words
from .summary import Summary, parse_line

_PROG = "ctwl-encode audit"

_MOST_BYTES = 1 << 16
"""Of a line. Chosen by hand: a hundred times what a server writes."""

_WIDTHS = 10, 16, 9, 9, 9, 8, 13, 16
"""Of the columns of the table."""

_EPILOG = """\
examples:
  ctwl-encode audit ctwl.log
  ctwl-encode audit /var/log/ctwl/ctwl.log*           files that were moved away, in any order
  zcat ctwl.log.2.gz | ctwl-encode audit --json -

exit status: 0 no line is missing; 1 lines are missing, broken or repeated; 2 an error.
"""


def main(argv: Sequence[str]) -> int:
    """Entry point; returns the exit status."""
    what = "Sum up a server's log of texts, and find lines that are missing."
    parser = command_parser(_PROG, what, _EPILOG, version="--about")
    parser.add_argument("logs", nargs="+", metavar="LOG", help="a log, or - for standard input")
    parser.add_argument("--json", action="store_true", help="print the sums as JSON")
    arguments = parser.parse_args(argv)
    return run_command(_PROG, lambda: _run(arguments))


def _run(arguments: argparse.Namespace) -> int:
    summary = read_logs(arguments.logs)
    with closed_output_is_fine():
        if arguments.json:
            print(json.dumps(summary.as_json(), indent=2))
        else:
            print(harmless("\n".join(_in_words(summary)), "\n"))
    return 0 if summary.complete else 1


def read_logs(names: Sequence[str]) -> Summary:
    """What logs show, in any order; ``-`` is standard input.

    Raises:
        OptionOutOfRange: one cannot be read, or there is no line of a log in any.
    """
    with ExitStack() as files:
        summary = Summary.of(_lines([files.enter_context(opened(name)) for name in names]))
    if not summary.lines:
        raise OptionOutOfRange(
            'there is no line of a log of texts; a server writes one with "log" in its configuration'
        )
    return summary


@contextmanager
def opened(name: str) -> Iterator[BufferedReader]:
    """A log; ``-`` is standard input. It raises OptionOutOfRange where it cannot be read."""
    try:
        with nullcontext(cast(BufferedReader, sys.stdin.buffer)) if name == "-" else open_file(name) as file:
            yield file
    except OSError as error:
        raise OptionOutOfRange(f"cannot read {name}: {error.strerror}; name logs of texts") from error


def _lines(streams: Sequence[BinaryIO]) -> Iterator[bytes]:
    """The lines of several files, those of the file with the oldest first line first."""
    firsts = [stream.readline(_MOST_BYTES) for stream in streams]
    times = [line.time if line else "" for line in map(parse_line, firsts)]
    for number in sorted(range(len(streams)), key=times.__getitem__):
        yield firsts[number]
        yield from iter(partial(streams[number].readline, _MOST_BYTES), b"")


def _in_words(summary: Summary) -> Iterator[str]:
    yield f"lines: {summary.lines:,}, processes: {summary.processes:,}, from {summary.first} to {summary.last}"
    yield from _gaps(summary)
    yield ""
    yield _row("day", "policy", "marked", "unmarked", "ended", "expected", "tokens", "in marked places")
    left = Counter[str]()
    for (day, policy), sums in sorted(summary.days.items()):
        left.update(sums.left)
        found, marked = f"{sums.expected_found:,.1f}", _share(sums.marked, sums.tokens)
        texts = (f"{count:,}" for count in (sums.marked_texts, sums.unmarked_texts, sums.ended))
        yield _row(day, policy, *texts, found, f"{sums.tokens:,}", marked)
    yield "expected: of the texts that ended, how many a reader may be expected to find"
    if summary.without_end:
        yield f"{summary.without_end:,} marked texts have no end: the server was writing them, or was stopped"
    yield ""
    for (profile, provider, version, strategy, strength), count in sorted(summary.written.items()):
        how = f"{strategy} {strength:g}" if strength else strategy
        yield f"texts marked: {count:,}, {how}, provider {provider}, version {version}, profile {profile}"
    for reason, count in summary.unmarked.most_common():
        yield f"texts not to be marked: {count:,}, {reason}"
    for reason, count in left.most_common():
        yield f"tokens not marked: {count:,}, {reason}"
    if (budget := summary.accounts.budget) is not None:
        yield from in_words(budget, _most_nonces(summary))
    for digest, decided in sorted(summary.policies.items()):
        yield f"policy {digest}: {json.dumps(decided, sort_keys=True)}"


def _most_nonces(summary: Summary) -> int:
    """The most nonces of a model version whose texts were written, as the registry on this machine declares them."""
    try:
        return max(nonces_for(get_profile(profile), *model) for profile, *model, _, _ in summary.written)
    except CTWLError:  # a profile that is not here, or a model version that there is none of
        return NONCE_COUNT


def _gaps(summary: Summary) -> Iterator[str]:
    for gap in summary.gaps:
        between = f"between {gap.after} and {gap.before}" if gap.after else f"before {gap.before}"
        lines = f"line {gap.first}" if gap.first == gap.last else f"lines {gap.first} to {gap.last}"
        yield f"missing: {lines} of process {gap.process}, {between}"
    for count, what in (
        (summary.broken, "lines cannot be read"),
        (summary.repeated, "lines stand twice, or after later ones of their process"),
        (summary.unbegun, "texts end that have not begun"),
    ):
        if count:
            yield f"wrong: {count:,} {what}"
    if summary.complete:
        yield "complete: no line is missing between those that are here"


def _row(*cells: str) -> str:
    return "  ".join(f"{cell:>{width}}" for cell, width in zip(cells, _WIDTHS, strict=True))


def _share(part: float, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "-"

"""``ctwl-decode scan``: options, progress, summary."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ctwl_protocol import CTWLError, get_profile
from ctwl_protocol.registry import load_trusted

from ...errors import OptionOutOfRange
from ...options import ALPHA, add_proxy_options, beacons
from .corpus import Columns, require_arrow
from .job import here, parts_of, scan
from .work import Decoded, Engine, Settings, Watch

__all__ = ["main"]

_DESCRIPTION = """\
Decode every document of a corpus: .txt (one document each), .jsonl and .ndjson (one a line), these also as .gz, and
.parquet; folders with all below them. One row for each document goes to a Parquet file. A document that cannot be read
becomes a row with an error. A job that was ended, in whatever way, goes on where it was with the same command.
"""

_EPILOG = """\
examples:
  ctwl-decode scan corpus/ --out results.parquet
      look for the texts of all registered providers (ctwl-registry show lists them)
  ctwl-decode scan corpus/ --out results.parquet --beacon 700:9
      look for the texts of provider 700's model version 9
  ctwl-decode scan a.jsonl.gz b.parquet --out results.parquet --beacon 700 --beacon 31 --text-column body
      look for all versions of two providers, in records whose text is called body
  ctwl-decode scan corpus/ --out results.parquet --all-codes
      look for all 2^20 codes: slower, and a text must be some tokens longer to be told
  ctwl-decode scan corpus/ --out results.parquet --beacon 700 --ray
      on a Ray cluster, or on all cores of this machine; needs the extra [ray]

Read the results with any Parquet reader, in Python with pyarrow.parquet.read_table("results.parquet"). The fewer codes
are searched, the shorter a text may be, and the smaller its p-value: ctwl-decode looks for all codes beside the
registered ones, and says twice as much. Each document is tested at the level alpha: of a million human texts, a
hundred pass the default by chance, so read the p_value.
exit status: 0 done; 2 an error; 130 interrupted.
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ctwl-decode scan",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paths", metavar="PATH", nargs="+", type=Path, help="a file or a folder")
    parser.add_argument("--out", metavar="FILE", type=Path, required=True, help="the Parquet file to write")
    what = parser.add_argument_group("what to look for")
    what.add_argument(
        "--beacon",
        metavar="PROVIDER[:VERSION]",
        type=beacons,
        action="extend",
        help="search for this provider's codes, of one model version (0 to 15) or of all; may be given again (default: "
        "every registered provider)",
    )
    what.add_argument("--all-codes", action="store_true", help="search the whole code space")
    what.add_argument("--alpha", type=float, default=ALPHA, help="level of each document's test (default 1e-4)")
    add_proxy_options(parser)
    records = parser.add_argument_group("records")
    records.add_argument("--text-column", metavar="NAME", default="text", help="field that holds the text")
    records.add_argument("--id-column", metavar="NAME", help="field that is copied to the results' id")
    job = parser.add_argument_group("the job")
    job.add_argument("--restart", action="store_true", help="forget what an unfinished job has done, and start over")
    job.add_argument("--overwrite", action="store_true", help="replace a finished job's output")
    job.add_argument("--quiet", action="store_true", help="no progress bar and no summary")
    job.add_argument(
        "--ray",
        metavar="ADDRESS",
        nargs="?",
        const="",
        help="decode on a Ray cluster, whose nodes see the inputs at the same paths; without an address that of "
        "$RAY_ADDRESS, else this machine",
    )
    return parser


def _settings(arguments: argparse.Namespace) -> Settings:
    if arguments.beacon is not None and arguments.all_codes:
        raise OptionOutOfRange("say what to look for in one way: --beacon or --all-codes")
    profile = get_profile(arguments.profile)
    registry = load_trusted()
    searched = arguments.beacon or registry.registry.beacons()
    if arguments.all_codes or (arguments.beacon is None and not profile.is_public):  # whose codes are its owner's
        searched = None
    return Settings(
        profile=profile,
        alpha=arguments.alpha,
        beacons=None if searched is None else tuple(searched),
        columns=Columns(arguments.text_column, arguments.id_column),
        registry=registry,
    )


def _engine(arguments: argparse.Namespace, settings: Settings, watch: Watch) -> Engine:
    if arguments.ray is not None:
        from .ray import cluster

        return cluster(arguments.ray or None, proxy_path=arguments.proxy, device=arguments.device)

    return here(lambda: settings.open_decoder(arguments.proxy, arguments.device), watch)


class _Bar(Watch):
    """A progress bar on stderr where that is a terminal."""

    def __init__(self, *, quiet: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        console = Console(stderr=True)
        words = "{task.fields[documents]} documents  {task.fields[rate]:.0f} tokens/s  {task.fields[found]} found  "
        self._bar = Progress(
            BarColumn(),
            TaskProgressColumn(),
            TextColumn(words + "{task.fields[errors]} errors"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=quiet or not console.is_terminal,
            speed_estimate_period=600,  # a chunk may take minutes
        )
        self._counts: dict[str, Any] = {"documents": 0, "found": 0, "errors": 0}
        self._task = self._bar.add_task("scan", total=None, rate=0.0, **self._counts)
        self._size = self._tokens = 0
        self._begun = 0.0

    def __enter__(self) -> _Bar:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def begin(self, total: int, done: int) -> None:
        self._size, self._begun = done, time.monotonic()
        self._bar.reset(self._task, total=total, completed=done)

    def inside(self, size: float) -> None:
        self._bar.update(self._task, completed=self._size + size)

    def add(self, decoded: Decoded) -> None:
        import pyarrow.compute as pc

        table = decoded.table
        self._size += decoded.size
        self._tokens += pc.sum(table["tokens"]).as_py() or 0
        self._counts["documents"] += table.num_rows
        self._counts["found"] += pc.sum(table["detected"]).as_py() or 0
        self._counts["errors"] += table.num_rows - table["error"].null_count
        rate = self._tokens / max(time.monotonic() - self._begun, 1e-9)
        self._bar.update(self._task, completed=self._size, rate=rate, **self._counts)


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    arguments = _parser().parse_args(argv)
    begun = time.monotonic()
    try:
        require_arrow()
        settings = _settings(arguments)
        with _Bar(quiet=arguments.quiet) as bar:
            summary = scan(
                arguments.paths,
                arguments.out,
                settings,
                _engine(arguments, settings, bar),
                restart=arguments.restart,
                overwrite=arguments.overwrite,
                watch=bar,
            )
        if not arguments.quiet:
            print(f"{summary}\ntime       {_span(time.monotonic() - begun)}\nresult     {arguments.out}", flush=True)
    except CTWLError as error:
        print(f"ctwl-decode: {error.code}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of the summary went away; the result is there
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:  # a full disk, a folder that cannot be written
        print(f"ctwl-decode: {error}; when that is mended, the same command goes on where it was", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(
            f"ctwl-decode: interrupted; what is done lies in {parts_of(arguments.out)}: the same command goes on there",
            file=sys.stderr,
        )
        return 130
    return 0


def _span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"

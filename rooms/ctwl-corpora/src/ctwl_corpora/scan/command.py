"""``ctwl-decode scan``: options, progress, summary.

Read every document of a corpus: .txt (one document a file); .jsonl, .ndjson and .json (one a line); .parquet (one a
row); .warc and .wet (one a record of text). All but .parquet also as .gz and .zst. Give files, folders with all below
them, or URLs of either, such as s3:// and hf://. One row for each document goes to a Parquet file. A document that
cannot be read becomes a row with an error. If a job ends early, for whatever reason, the same command goes on where it
was.

examples:
  ctwl-decode scan corpus/ --out results.parquet
      look for the texts of all registered providers (ctwl-registry show lists them)
  ctwl-decode scan corpus/ --out results.parquet --beacon 700:9
      look for the texts of provider 700's model version 9
  ctwl-decode scan a.jsonl.gz b.parquet --out results.parquet --beacon 700 --beacon 31 --text-column body --keep url
      look for all versions of two providers, in records whose text is called body; keep the field url
  ctwl-decode scan chats.jsonl.zst --out results.parquet --text-column "messages[].content"
      read the messages of each chat as one text
  ctwl-decode scan corpus/ --out results.parquet --full
      read every document by the proxy LM; the screen loses few finds, mostly of short texts
  ctwl-decode scan corpus/ --out results.parquet --all-codes
      look for all 2^20 codes: slower, and a text must have some more tokens
  ctwl-decode scan corpus/ --out results.parquet --beacon 700 --ray
      on a Ray cluster, or on all cores of this machine; needs the extra [ray]

Read the results with any Parquet reader, in Python with pyarrow.parquet.read_table("results.parquet"). The fewer codes
are searched, the shorter a text may be, and the smaller its p-value. ctwl-decode, without scan, searches all codes
beside the registered ones: read in the same way (--full, --light), its p-values are twice as large. A published
profile that you do not name, and whose language model is not here, is read by ranks alone; the first lines name it.
Each document is tested at the level alpha, which so many human texts pass by chance, so read the p_value.
exit status: 0 done; 1 done, but some files were skipped or not read to their end, and the last lines name them; 2 an
error; 130 interrupted.
"""  # noqa: D405 - as argparse writes its headings

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from ctwl_decoder.errors import needing
from ctwl_decoder.options import SCREEN, add_alpha, add_beacons, add_proxy_options, named_profiles
from ctwl_decoder.report import not_here
from ctwl_protocol.command import command_parser, harmless, help_in, note, run_command
from ctwl_protocol.environment import PROXY, REGISTRY

if TYPE_CHECKING:
    import pyarrow as pa

    from .. import Settings
    from .job import Watch

_EVERY = 60.0
"""Seconds between two lines about the progress, where there is no terminal."""


def _parser() -> argparse.ArgumentParser:
    what, _, more = help_in(__doc__).partition("\n\n")
    parser = command_parser("ctwl-decode scan", what, more, [*PROXY, REGISTRY])
    parser.add_argument("places", metavar="PATH", nargs="+", help="a file, a folder, or a URL of either")
    parser.add_argument("--out", metavar="FILE", type=_here, required=True, help="the Parquet file to write")
    _add_search(parser)
    add_proxy_options(parser)
    _add_records(parser)
    job = parser.add_argument_group("the job")
    job.add_argument(
        "--restart", action="store_true", help="start over, and replace what a job has done, finished or not"
    )
    job.add_argument("--overwrite", action="store_true", help="replace a finished job's output")
    job.add_argument("--quiet", action="store_true", help="no progress bar and no summary")
    job.add_argument(
        "--ray",
        metavar="ADDRESS",
        nargs="?",
        const="",
        help="decode on the Ray cluster at this address; without an address, at that of $RAY_ADDRESS, else on all "
        "cores of this machine",
    )
    return parser


def _here(given: str) -> Path:
    """Read a path of this machine, as a type of argparse."""
    if "://" in given:
        raise argparse.ArgumentTypeError(f"{given!r} is a URL; name a file of this machine, and copy it from there")
    return Path(given)


def _add_search(parser: argparse.ArgumentParser) -> None:
    """Give the command the options that say what to look for, and how far to read."""
    search = parser.add_argument_group("what to look for")
    add_beacons(search, "every registered provider's codes")
    search.add_argument("--all-codes", action="store_true", help="search the whole code space")
    add_alpha(search, "each document's test")
    way = search.add_mutually_exclusive_group()
    way.add_argument(
        "--screen",
        metavar="LEVEL",
        type=float,
        default=SCREEN,
        help="read a document whole only where the ranks of its tokens, which take a 400th of the time, give a "
        f"p-value of at most this (default {SCREEN:g})",
    )
    way.add_argument("--full", dest="screen", action="store_const", const=None, help="read every document whole")
    search.add_argument(
        "--light", action="store_true", help="read by the ranks alone, without the proxy LM; finds less"
    )
    search.add_argument(
        "--p-values",
        action="store_true",
        help="give screened documents a p-value, too, by the ranks of their tokens; takes a little longer",
    )


def _add_records(parser: argparse.ArgumentParser) -> None:
    """Give the command the options that name the fields of records."""
    records = parser.add_argument_group("records")
    records.add_argument(
        "--text-column",
        metavar="NAME",
        default="text",
        help="field that holds the text: a name, or a path such as messages[].content (default text)",
    )
    records.add_argument(
        "--keep",
        metavar="NAME",
        action="append",
        default=[],
        help="field that the results keep, a name or a path; may be repeated",
    )


def _settings(arguments: argparse.Namespace) -> Settings:
    from .. import Settings

    return Settings(
        profiles=named_profiles(arguments),
        alpha=arguments.alpha,
        beacons=arguments.beacon,
        all_codes=arguments.all_codes,
        screen=arguments.screen,
        light=arguments.light,
        p_values=arguments.p_values,
    )


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Watch]:
    """A progress bar on stderr where that is a terminal; elsewhere a line a minute."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    hidden = quiet or not console.is_terminal
    counts, told = Counter(documents=0, found=0, errors=0), time.monotonic()
    with Progress(console=console, transient=True, disable=hidden, speed_estimate_period=600) as bar:  # slow chunks
        task = bar.add_task("", total=None)

        def watch(done: float, total: int | None, rows: pa.Table | None) -> None:
            nonlocal told
            if rows is not None:
                found = rows["outcome"].to_pylist().count("found")
                counts.update(documents=len(rows), found=found, errors=len(rows) - rows["error"].null_count)
            description = "  ".join(f"{count} {name}" for name, count in counts.items())
            bar.update(task, completed=done, total=total, description=description)
            if not quiet and hidden and time.monotonic() - told >= _EVERY:
                told = time.monotonic()
                part = "the documents are being counted"
                if total is not None:
                    part = f"{100 * done / max(total, 1):.0f} % of {total:,} documents are read"
                note(f"ctwl-decode: {part}; in the results so far: {description}")

        yield watch


def _scan(arguments: argparse.Namespace) -> int:
    begun = time.monotonic()
    with needing("scan", "a scan"):
        import pyarrow.parquet  # noqa: F401
    settings = _settings(arguments)  # a wrong option fails before a model is loaded, which takes seconds
    from .chunks import ChunkReader
    from .fields import Columns
    from .job import Engine, in_process, scan

    engine: Engine = in_process
    if arguments.ray is not None:
        from .ray import on_cluster

        engine = on_cluster(arguments.ray or None)
    reader = ChunkReader(settings, arguments.proxy, arguments.device)
    for name, error in reader.missing.items():
        note(f"ctwl-decode: {not_here(name, error)}")
    with _progress(quiet=arguments.quiet) as watch:
        summary = scan(
            [place if "://" in place else Path(place) for place in arguments.places],
            arguments.out,
            reader,
            columns=Columns(arguments.text_column, tuple(arguments.keep)),
            engine=engine,
            restart=arguments.restart,
            overwrite=arguments.overwrite,
            watch=None if arguments.quiet else watch,
        )
    if not arguments.quiet:
        took = timedelta(seconds=round(time.monotonic() - begun))
        print(harmless(f"{summary}\ntime       {took}\nresult     {arguments.out}", "\n"))
    for line in summary.left_out:
        note(f"ctwl-decode: {line}")
    return 1 if summary.left_out else 0


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    arguments = _parser().parse_args(argv)
    return run_command("ctwl-decode", lambda: _scan(arguments), advice=lambda: _advice(arguments), interrupted=130)


def _advice(arguments: argparse.Namespace) -> str:
    """How to go on after a job that ended early."""
    from .job import parts_of

    if not any(parts_of(arguments.out).glob("part-*.parquet")):
        return "nothing was done yet; the same command begins again"
    command = "the same command without --restart" if arguments.restart else "the same command"
    return f"what is done is kept beside {arguments.out}, and {command} goes on there"

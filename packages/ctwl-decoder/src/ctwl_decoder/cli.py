"""``ctwl-decode``: does this text carry a code, and which?"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ctwl_protocol import STANDARD, CTWLError, get_profile, published_names

from . import __version__
from .errors import DecoderError, InputTooLarge, InputUnreadable, NotText

if TYPE_CHECKING:
    from .report import Report

__all__ = ["main"]

_MAX_BYTES = 1 << 22

_EPILOG = """\
examples:
  ctwl-decode letter.txt
  ctwl-decode --json --profile org.ctwl.smollm2-135m.1 - < letter.txt

The p-value says how often chance alone would show some code as clearly, over all codes searched. A text of 150 tokens
(about 110 words) or more gives a clear answer. No watermark does not mean that a person wrote the text.
exit status: 0 a watermark was found; 1 none; 2 an error.
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ctwl-decode",
        description="Read the public watermark code that a language model's provider put in a text.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE", help="a UTF-8 text file; - reads standard input")
    parser.add_argument(
        "--profile",
        default=os.environ.get("CTWL_PROFILE") or STANDARD,
        help=f"a published profile or a profile file; published: {', '.join(published_names())} "
        f"(default: $CTWL_PROFILE, else {STANDARD})",
    )
    parser.add_argument(
        "--proxy", metavar="PATH", help="folder with the proxy LM's files (default: cache, then source)"
    )
    parser.add_argument("--device", default="auto", help="torch device (default: cuda where there is one)")
    parser.add_argument("--alpha", type=float, default=1e-4, help="level of the test, on the p-value (default 1e-4)")
    parser.add_argument(
        "--test",
        choices=["exact", "posterior"],
        default="exact",
        help="exact p-value (default), or the paper's posterior with its threshold 1 - 1e-5, for comparison",
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--version", action="version", version=f"ctwl-decode {__version__}")
    return parser


def _read(name: str) -> str:
    """The text of a file or of standard input, bounded and checked before any work."""
    try:
        if name == "-" and sys.stdin is None:
            raise InputUnreadable("standard input is closed")
        if name == "-":
            data = sys.stdin.buffer.read(_MAX_BYTES + 1)
        else:
            with Path(name).open("rb") as file:
                data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise InputUnreadable(f"cannot read {name}: {error.strerror}") from error
    if len(data) > _MAX_BYTES:
        raise InputTooLarge(f"{name} has more than {_MAX_BYTES} bytes; cut it into parts")
    if b"\0" in data:
        raise NotText(f"{name} holds zero bytes, so it is a binary file; save it as plain UTF-8 text first")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise NotText(
            f"{name} is no UTF-8 text (byte {error.start} is 0x{data[error.start]:02x}); save it as UTF-8 first"
        ) from error


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """A progress bar on stderr where that is a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("reading")
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _run(arguments: argparse.Namespace) -> Report:
    if not 0 < arguments.alpha < 1:
        raise DecoderError(f"alpha is {arguments.alpha}; it must lie between 0 and 1")
    text = _read(arguments.file)
    profile = get_profile(arguments.profile)  # a wrong name fails before torch is loaded
    from .decode import Decoder

    decoder = Decoder.open(profile, proxy_path=arguments.proxy, device=arguments.device)
    with _progress() as progress:
        return decoder.decode(text, alpha=arguments.alpha, test=arguments.test, progress=progress)


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    arguments = _parser().parse_args(argv)
    report = None
    try:
        report = _run(arguments)
        print(report.model_dump_json(indent=2) if arguments.json else report, flush=True)
    except CTWLError as error:
        print(f"ctwl-decode: {error.code}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of our output went away; the verdict still stands
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:  # a full disk, a cache that cannot be written
        print(f"ctwl-decode: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("ctwl-decode: interrupted", file=sys.stderr)
        return 2
    return 0 if report is not None and report.detected else 1

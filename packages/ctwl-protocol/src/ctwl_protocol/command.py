"""What all commands share: the parser's form, exit statuses and error messages."""

from __future__ import annotations

import argparse
import gc
import inspect
import os
import signal
import sys
import textwrap
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, date, datetime, time
from difflib import get_close_matches
from io import TextIOWrapper
from itertools import chain
from typing import Any, NoReturn, TextIO

from . import __version__
from .environment import Variable
from .errors import CTWLError, FileUnwritable
from .files import what_helps

FAILED = 2
"""Exit status of a command that could not do its work. Some commands use 1 for an answer, such as "none found"."""


class _Parser(argparse.ArgumentParser):
    """A parser that makes the end of its help when the help is asked for, and knows what a mistyped option means."""

    last_words: Callable[[], str] | None = None
    _given: Sequence[str] = ()

    def format_help(self) -> str:
        """The help."""
        if self.last_words is not None:
            self.epilog = self.last_words()
        return super().format_help()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As every parser; what was given is remembered."""
        self._given = sys.argv[1:] if args is None else list(args)
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Print a message and what a mistyped option may mean, and end the program."""
        known = self.options()
        names = [each.partition("=")[0] for each in self._given if each.startswith("--")]
        unknown = [name for name in names if not any(option.startswith(name) for option in known)]
        meant = [close for name in unknown for close in get_close_matches(name, known, n=1)]
        super().error(f"{message}; did you mean {' '.join(meant)}?" if meant else message)

    def options(self) -> set[str]:
        """The options of the command, and of the commands below it."""
        below = [each.choices.values() for each in self._actions if isinstance(each, argparse._SubParsersAction)]
        return {*self._option_string_actions, *(name for parser in chain(*below) for name in parser.options())}


def command_parser(
    prog: str,
    description: str,
    epilog: str | Callable[[], str],
    variables: Iterable[Variable] = (),
    *,
    version: str = "--version",
) -> argparse.ArgumentParser:
    """The parser of a command: its help keeps the line breaks of both texts.

    Args:
        prog: the command.
        description: what it does.
        epilog: what its help says after the options; a function where that takes a while to know.
        variables: the environment variables that it reads, with which its help ends.
        version: the option that prints the program's version.
    """
    read = [
        textwrap.fill(each.meaning, 120, initial_indent=f"  {each.name:17}", subsequent_indent=" " * 19)
        for each in variables
    ]

    def last_words() -> str:
        told = epilog if isinstance(epilog, str) else epilog()
        return "\n".join([told, "environment:", *read]) if read else told

    parser = _Parser(prog=prog, description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.last_words = last_words
    parser.add_argument(version, action="version", version=f"{prog} {__version__}", help="print the program's version")
    return parser


def help_in(docstring: str | None) -> str:
    """The help after a docstring's first line: what a command's help says after the options stands in its module's."""
    return inspect.cleandoc(docstring or "").partition("\n\n")[2] + "\n"


def run_command(
    prog: str, run: Callable[[], int], *, advice: Callable[[], str] = str, interrupted: int | None = None
) -> int:
    """Run a command; every error becomes a message on standard error and an exit status.

    Args:
        prog: the command's name; every message begins with it.
        run: does the work and returns the exit status. If the reader of its output goes away (``| head``) before it
            returns, the work may not be done, so that is an error: ``run`` prints progress by :func:`note`, and much
            output inside :func:`closed_output_is_fine`.
        advice: says what to do after an interrupt or an error of the system, such as a full disk.
        interrupted: the exit status after an interrupt, where it may end the work. SIGTERM, by which schedulers end a
            job, is then an interrupt as Ctrl-C is.
    """
    # A short command makes many objects that stay. By default Python looks for garbage among them a hundred times.
    gc.set_threshold(100_000)
    if isinstance(sys.stdout, TextIOWrapper):  # a name may have what a terminal of another encoding cannot show
        sys.stdout.reconfigure(encoding=_encoding(sys.stdout), errors="backslashreplace")
    try:
        status = run() if interrupted is None else _stoppable(run)
    except (CTWLError, OSError) as error:
        code = f"{error.code}: " if isinstance(error, CTWLError) else ""
        system = isinstance(error, (FileUnwritable, OSError))  # a full disk, a cache that cannot be written
        hint = advice() if system else ""
        message = f"{code}{error}{what_helps(error) if isinstance(error, OSError) else ''}"
        note(f"{prog}: {message}; {hint}" if hint else f"{prog}: {message}")
        return FAILED
    except KeyboardInterrupt:
        hint = advice()
        note(f"{prog}: interrupted; {hint}" if hint else f"{prog}: interrupted")
        return FAILED if interrupted is None else interrupted
    except Exception:  # a bug: Python's own exit status would be 1
        traceback.print_exc()
        return FAILED
    _send_output()
    return status


def _encoding(output: TextIOWrapper) -> str | None:
    """UTF-8 for a file or another program, such as the decoder, whatever the system's own; None leaves it as it is."""
    return None if output.isatty() or os.environ.get("PYTHONIOENCODING") else "utf-8"


def _stoppable(run: Callable[[], int]) -> int:
    if threading.current_thread() is not threading.main_thread():  # only there may a handler be set
        return run()
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return run()
    finally:
        signal.signal(signal.SIGTERM, before)


def day(text: str) -> int:
    """The first instant of a day in UTC, in Unix seconds: the type of an option whose value is a day."""
    try:
        return int(datetime.combine(date.fromisoformat(text), time(), UTC).timestamp())
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a day such as 2026-11-01") from error


def whole_number(least: int, most: int) -> Callable[[str], int]:
    """The type of an option whose value is a whole number between bounds."""

    def parse(text: str) -> int:
        if not text.isdecimal() or len(text) > len(str(most)) or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} to {most}")
        return int(text)

    return parse


@contextmanager
def closed_output_is_fine() -> Iterator[None]:
    """Print inside this block where a reader that goes away must neither end the work nor change the exit status."""
    with suppress(BrokenPipeError):
        yield
    _send_output()


def note(message: str) -> None:
    """Print lines on standard error, whether or not anybody reads them."""
    with closed_output_is_fine():
        print(harmless(message, "\n\t"), file=sys.stderr)


def harmless(words: str, kept: str = "") -> str:
    """Words of a stranger, such as a file's name, for a terminal: what would steer it stands there as an escape.

    Args:
        words: the words.
        kept: characters that stay, such as line ends.
    """
    return "".join(
        each if each.isprintable() or each in kept else each.encode("unicode_escape").decode() for each in words
    )


def _send_output() -> None:
    """Send what is buffered; where its reader went away to nowhere, else Python reports the closed pipe at its exit."""
    streams: tuple[TextIO | None, ...] = (sys.stdout, sys.stderr)
    for stream in filter(None, streams):
        try:
            stream.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())

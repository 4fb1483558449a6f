"""What all commands share: exit statuses and messages for what goes wrong."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .errors import CTWLError

__all__ = ["FAILED", "closed_output_is_fine", "run_command"]

FAILED = 2
"""Exit status of a command that could not do its work; 1 is an answer of some commands ("none found")."""


def run_command(prog: str, run: Callable[[], int], *, advice: str = "", interrupted: int = FAILED) -> int:
    """Run a command; every error becomes a message on standard error and an exit status.

    Args:
        prog: the command's name, with which every message begins.
        run: does the work and returns the exit status. Where its output's reader goes away (``| head``), the status is
            0; a ``run`` whose status is an answer prints inside :func:`closed_output_is_fine`.
        advice: what to do after an interrupt or an error of the system, such as a full disk.
        interrupted: the exit status after an interrupt.
    """
    try:
        status = run()
        if sys.stdout is not None:
            sys.stdout.flush()
    except CTWLError as error:
        return _failed(prog, f"{error.code}: {error}")
    except BrokenPipeError:
        _discard_output()
        return 0
    except OSError as error:  # a full disk, a cache that cannot be written
        return _failed(prog, f"{error}; {advice}" if advice else str(error))
    except KeyboardInterrupt:
        return _failed(prog, f"interrupted; {advice}" if advice else "interrupted", interrupted)
    except Exception:  # a fault of the program: Python's own exit status would be 1
        traceback.print_exc()
        return FAILED
    return status


@contextmanager
def closed_output_is_fine() -> Iterator[None]:
    """Print inside this block where the exit status must not depend on whether anyone reads the output."""
    try:
        yield
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()


def _failed(prog: str, message: str, status: int = FAILED) -> int:
    print(f"{prog}: {message}", file=sys.stderr)
    return status


def _discard_output() -> None:
    """Write what is still buffered to nowhere, so that Python does not report the closed pipe again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

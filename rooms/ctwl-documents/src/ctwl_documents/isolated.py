"""Opening a file in a process of its own, with bounds on its time and memory."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator

from ctwl_decoder.errors import DecoderError, DocumentRefused, InputRefused
from ctwl_decoder.files import Found

from . import limits
from .found import AS_TEXT


def _kinds(of: type[InputRefused]) -> Iterator[type[InputRefused]]:
    yield of
    for kind in of.__subclasses__():
        yield from _kinds(kind)


_ERRORS = {error.code: error for error in _kinds(InputRefused)}


def open_isolated(data: bytes, name: str) -> list[Found]:
    """Each text in a file, and why some of its parts have none; at least one of them.

    Args:
        data: the file's bytes.
        name: what messages call the file.
    """
    # -P: no module comes from the current folder, where a stranger's files may lie.
    command = [sys.executable, "-P", "-m", "ctwl_documents.child", name]
    late = DocumentRefused(f"it takes too long to open, as hostile files do; {AS_TEXT}")
    try:
        done = subprocess.run(command, input=data, capture_output=True, timeout=limits.WAIT, check=False)
    except subprocess.TimeoutExpired:
        return [Found(name, late)]
    if done.returncode == -getattr(signal, "SIGXCPU", signal.SIGTERM):
        return [Found(name, late)]
    try:
        given = json.loads(done.stdout)
    except ValueError:  # the process ended without an answer
        return [Found(name, DocumentRefused(f"it is broken, or takes too much memory to open; {AS_TEXT}"))]
    return [Found(each["name"], each["text"] if "text" in each else _error(each)) for each in given]


def _error(given: dict[str, str]) -> DecoderError:
    return _ERRORS.get(given["code"], DocumentRefused)(given["message"])

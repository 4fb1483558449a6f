"""The log of texts: one line when a text begins, one when it is finished, and not a word of it.

A line is appended to a file that is opened anew each time, so the system's own tools may move or cut the file. What one
call wrote is in the system's hands when the call returns: a process that is killed loses none of it. Each process
numbers its lines from 0, so a line that is missing shows. ``ctwl-encode audit`` reads the log.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import secrets
import stat
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from ctwl_encoder import Evidence, Payload
from ctwl_encoder.errors import OptionOutOfRange
from ctwl_protocol import Beacon, __version__, get_profile

from .policy import Policy
from .request import Request

_MOST_WAITING = 1 << 16
"""Lines that may wait for a disk. Chosen by hand: 30 MB of memory; further ones are lost, and their numbers missing."""

_log = logging.getLogger(__name__)


class TextLog:
    """The lines of one process."""

    def __init__(self, policy: Policy, *, wait: bool) -> None:
        """Begin with a line that says what the operator has decided.

        Args:
            policy: the server's, with the path of its log.
            wait: write each line before :meth:`write` returns; False where a step of the model would wait for it.

        Raises:
            OptionOutOfRange: the file cannot be written.
        """
        self._policy = policy
        self._process = secrets.token_hex(4)
        self._numbers = 0
        self._lock = threading.Lock()
        self._thread = None if wait else ThreadPoolExecutor(1, "ctwl-log")
        self._waiting: list[bytes] = []
        told = {"event": "start", "software": f"ctwl-encoder {__version__}"}
        line = self._lines([{**told, "policy": policy.digest, "decided": policy.decided}])
        try:
            append(str(policy.log), line)
        except OSError as error:
            raise OptionOutOfRange(
                f"cannot write the log {policy.log}: {error.strerror or error}; name a file in a folder that this "
                "server may write to"
            ) from error

    def write(self, texts: Sequence[Mapping[str, Any]]) -> tuple[str, int]:
        """Write a line for each of some texts; return the process and the number of the first line.

        A disk that fails stops no text: the server's own log says so, and the numbers are missing.
        """
        with self._lock:  # numbers stand in the file in their order
            first = self._process, self._numbers
            lines = self._lines(texts)
            if self._thread is None:
                self._append(lines)
            elif len(self._waiting) < _MOST_WAITING:
                self._waiting.append(lines)
                if len(self._waiting) == 1:
                    self._thread.submit(self._append_waiting)
        return first

    def _lines(self, texts: Sequence[Mapping[str, Any]]) -> bytes:
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        lines = [
            {"process": self._process, "line": number, "time": now, **text}
            for number, text in enumerate(texts, self._numbers)
        ]
        self._numbers += len(texts)
        return "".join(json.dumps(line) + "\n" for line in lines).encode()

    def _append_waiting(self) -> None:
        """All lines that wait, at once: a disk or an interpreter that is slow falls no further behind."""
        with self._lock:
            lines, self._waiting = b"".join(self._waiting), []
        self._append(lines)

    def _append(self, lines: bytes) -> None:
        try:
            append(str(self._policy.log), lines)
        except OSError as error:
            _log.error("ctwl: the log %s cannot be written (%s); a line is missing", self._policy.log, error)


def append(path: str, lines: bytes) -> None:
    """Append whole lines to a file by one call of the system; a line that was cut off there before is ended first.

    Raises:
        OSError: the file cannot be written, or only a part of the lines.
    """
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
    flags |= getattr(os, "O_NONBLOCK", 0)  # a FIFO has to refuse, not to wait
    flags |= getattr(os, "O_BINARY", 0)  # Windows would write each line end as two bytes
    descriptor = os.open(path, flags, 0o666)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError("it is no file")
        if found.st_size:
            os.lseek(descriptor, found.st_size - 1, os.SEEK_SET)  # another may have cut the file since
            lines = b"\n" * (os.read(descriptor, 1) != b"\n") + lines
        if os.write(descriptor, lines) < len(lines):
            raise OSError("only a part of a line was written")
    finally:
        os.close(descriptor)


_logs: dict[tuple[int, str, str], TextLog] = {}


def log_of(policy: Policy) -> TextLog | None:
    """The log of this process, None where the server has none. All processes that take requests in have their own.

    Raises:
        OptionOutOfRange: the file cannot be written.
    """
    if policy.log is None:
        return None
    key = os.getpid(), policy.log, policy.digest
    if key not in _logs:
        _logs[key] = TextLog(policy, wait=True)
    return _logs[key]


def unmarked(policy: Policy, name: str, why: str) -> dict[str, Any]:
    """What is noted of a text that shall carry no mark; for ``why`` see :meth:`.policy.Policy.why_unmarked`."""
    return {"event": "unmarked", **_noted(policy, name), "why": why}


def began(policy: Policy, name: str, request: Request, payload: Payload) -> dict[str, Any]:
    """What is noted when a text begins.

    Args:
        policy: the server's.
        name: the request's id, of which a hash is noted.
        request: what it writes.
        payload: what it carries; of its codes the beacon's fields are noted alone, for others may stand for people.
    """
    profile, beacon = get_profile(request.profile), Beacon.from_code(payload.carried[0])
    strength = request.strength_of(request.strategy)
    of_text = {"layout": request.layout, "strategy": str(request.strategy), "strength": strength}
    return {"event": "begin", **_noted(policy, name), "profile": profile.name, **asdict(beacon), **of_text}


def _noted(policy: Policy, name: str) -> dict[str, Any]:
    return {"request": hashlib.sha256(name.encode()).hexdigest()[:32], "policy": policy.digest}


def finished(
    begun: Mapping[str, Any],
    line: tuple[str, int],
    drawn: Mapping[str | None, int],
    chance: float,
    evidence: Evidence,
    *,
    again: bool = False,
) -> dict[str, Any]:
    """What is noted when a text is finished, or put off.

    Args:
        begun: what was noted when it began.
        line: the process and the number of that line.
        drawn: how many of its tokens were drawn at a marked place (None), and how many elsewhere, by the reason.
        chance: how likely a reader finds its record.
        evidence: where its evidence goes.
        again: whether this is the rest of a text that was put off.
    """
    left = {reason: count for reason, count in drawn.items() if reason is not None}
    counted = {"tokens": sum(drawn.values()), "marked": drawn.get(None, 0), "left": left, "chance": round(chance, 3)}
    counted["nats"] = {name: round(nats, 2) for name, nats in evidence._asdict().items()}
    return {**begun, "event": "again" if again else "end", "begun": list(line), **counted}

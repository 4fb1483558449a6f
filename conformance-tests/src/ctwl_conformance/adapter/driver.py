"""The driver: an adapter as a child process that may crash, hang or talk nonsense, and is always reaped."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import sys
import threading
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeVar

from pydantic import BaseModel

from .messages import (
    MAX_LINE,
    Malformed,
    Refused,
    Reply,
    Request,
    Skipped,
    Start,
    Started,
    Stop,
    Stopped,
    VectorRequest,
    parse,
    read_line,
    write_line,
)

Kind = Literal["not-started", "crashed", "timed-out", "malformed-reply", "wrong-id", "line-too-long", "given-up"]
"""How an adapter can fail to answer; none of them says anything about the protocol behind it."""

_KEPT, _SHOWN = 16 << 10, 2000
"""The driver keeps this many bytes of an adapter's standard error and shows this many characters. Chosen by hand."""

_Answer = TypeVar("_Answer", bound=BaseModel)


def command_words(command: str, *, separator: str = os.sep) -> list[str]:
    """The words of a command line; a backslash escapes, unless it separates folders, as on Windows.

    Raises:
        ValueError: a quotation has no end.
    """
    words = shlex.shlex(command, posix=True, punctuation_chars=False)
    words.whitespace_split, words.commenters = True, ""
    if separator == "\\":
        words.escape = ""
    return list(words)


@dataclass(frozen=True)
class Limits:
    """How long an adapter may take, in seconds, and how often the suite restarts it.

    Attributes:
        start: until it has told what it is; models are loaded here.
        request: for any other request.
        stop: to end by itself.
        starts: how many times it is started before the suite gives it up.
    """

    start: float = 300.0
    request: float = 120.0
    stop: float = 5.0
    starts: int = 10


class AdapterErrored(Exception):
    """An adapter gave no answer. This says nothing about its partner.

    Attributes:
        kind: what happened.
        label: of the adapter.
        stderr: the last that the adapter wrote to its standard error, without control characters.
    """

    def __init__(self, kind: Kind, message: str, stderr: str = "", label: str = "") -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.label = label
        self.stderr = stderr


class Adapter:
    """An implementation under test.

    It is started at the first request, and anew after every error, so that one crash costs one case. Requests come one
    at a time; threads may share an adapter.

    Attributes:
        command: program and arguments.
    """

    def __init__(self, command: Sequence[str], limits: Limits | None = None) -> None:
        """Keep the command. The process starts at the first request."""
        self.command = tuple(command)
        self._limits = limits or Limits()
        self._runner = asyncio.Runner()
        self._lock = threading.Lock()
        self._process: Process | None = None
        self._heard = b""
        """The last that the process wrote to its standard error."""
        self._hearing = set[asyncio.Task[None]]()
        self._started: Started | None = None
        self._failed: AdapterErrored | None = None
        self._last = ""
        """What went wrong last."""
        self.label = ""
        self._starts = 0
        self._id = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def describe(self) -> Started:
        """What the implementation says of itself.

        Raises:
            AdapterErrored: it did not start.
        """
        with self._lock:
            return self._runner.run(self._open())

    def vector(self, family: str, data: dict[str, Any]) -> dict[str, Any] | Refused | Skipped:
        """Its answer to an exact question; see :meth:`ask`."""
        request = VectorRequest(id=0, family=family, input=data)
        with self._lock:
            answer: dict[str, Any] | Refused | Skipped = self._runner.run(self._answered(request, None))
        return answer

    def ask(self, request: Request, model: type[_Answer]) -> _Answer | Refused | Skipped:
        """Its answer to any other request.

        Args:
            request: what is asked; it gets an id of its own.
            model: of the answer.

        Returns:
            The answer, an error of the implementation's own, or a declared skip.

        Raises:
            AdapterErrored: there was none of these.
        """
        with self._lock:
            answer: _Answer | Refused | Skipped = self._runner.run(self._answered(request, model))
        return answer

    def close(self) -> None:
        """Ask it to stop, then end what is left of it: on POSIX its whole process group."""
        with self._lock:
            if self._process is not None:
                with suppress(AdapterErrored):
                    self._runner.run(self._stop())
                self._runner.run(self._end())
            self._runner.close()

    def abort(self) -> None:
        """End it at once and for good, from any thread. A thread that waits for its answer gets an error."""
        self._failed = self._errored("given-up", "the run was broken off")
        process = self._process  # once: the thread that waits may be ending it
        if process is not None:
            _kill(process)

    async def _answered(self, request: Request, model: type[_Answer] | None) -> Any:
        try:
            await self._open()
            return await self._exchange(request, model, self._limits.request)
        except (AdapterErrored, asyncio.CancelledError) as error:
            if isinstance(error, AdapterErrored) and error.kind != "given-up":
                self._last = str(error)
            await self._end()
            raise

    async def _open(self) -> Started:
        """Start the process, where none is running."""
        if self._failed is not None:
            raise self._failed
        if self._process is not None and self._started is not None:
            return self._started
        if self._starts == self._limits.starts:
            raise self._errored("given-up", f"it was started {self._starts} times; the last one ended so: {self._last}")
        self._starts += 1
        try:
            await self._spawn()
            if self._failed is not None:
                raise self._failed  # aborted just now
            told: Started = await self._exchange(Start(id=0), Started, self._limits.start)
            if self._started not in (None, told):
                raise self._errored("malformed-reply", "started anew, it says something else of itself")
        except (AdapterErrored, asyncio.CancelledError) as error:
            await self._end()
            if self._started is None and isinstance(error, AdapterErrored):
                self._failed = error  # what does not start will not start: nobody waits for that again
            raise
        self._started = told
        return told

    async def _spawn(self) -> None:
        self._heard = b""
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self.command,
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                limit=MAX_LINE - 1,  # without the end of a line
                start_new_session=sys.platform != "win32",
            )
        except (OSError, ValueError) as error:
            raise self._errored("not-started", f"{self.command[0]}: {error}") from error
        self._hearing = {asyncio.create_task(self._hear(self._process))}

    async def _hear(self, process: Process) -> None:
        assert process.stderr is not None  # noqa: S101 - it is a pipe
        while data := await process.stderr.read(_KEPT):
            self._heard = (self._heard + data)[-_KEPT:]

    async def _exchange(self, request: Request, model: type[_Answer] | None, limit: float) -> Any:
        """Send a request, read one line."""
        self._id += 1
        line, process = write_line(request.model_copy(update={"id": self._id})), self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise self._errored("crashed", "it is not running")
        process.stdin.write(line)
        try:
            async with asyncio.timeout(limit):
                answer = await process.stdout.readline()
                if not answer.endswith(b"\n"):
                    await process.wait()
                    await asyncio.wait(self._hearing, timeout=1)
        except TimeoutError:
            raise self._errored("timed-out", f"no reply to {request.op} within {limit:g} s") from None
        except ValueError:
            raise self._errored("line-too-long", f"a reply to {request.op} of more than {MAX_LINE} bytes") from None
        if not answer.endswith(b"\n"):
            how = _ended(process.returncode)
            raise self._errored("crashed", f"it ended with {how} instead of a reply to {request.op}")
        return self._read(answer, request, model)

    def _read(self, line: bytes, request: Request, model: type[_Answer] | None) -> Any:
        op = request.op
        try:
            reply: Reply = parse(Reply, read_line(line))
            if reply.id != self._id:
                raise self._errored("wrong-id", f"the reply to {op} {self._id} has the id {reply.id}")
            if reply.skip is not None:
                answer: Any = Skipped(skip=clean(reply.skip))
            elif reply.error is not None:
                answer = Refused(status=clean(reply.error.status), message=clean(reply.error.message))
            else:
                answer = reply.ok if model is None else parse(model, reply.ok)
        except Malformed as error:
            raise self._errored("malformed-reply", f"to {op}: {error}") from error
        if op in ("start", "stop") and isinstance(answer, Refused | Skipped):
            raise self._errored("not-started" if op == "start" else "malformed-reply", f"to {op}: {answer}")
        return answer

    async def _stop(self) -> None:
        await self._exchange(Stop(id=0), Stopped, self._limits.stop)
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()  # an adapter that reads on finds the end
            with suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), self._limits.stop)

    async def _end(self) -> None:
        """End the process and whatever it started, and reap it."""
        process, self._process = self._process, None
        if process is None:
            return
        _kill(process)
        await process.wait()
        for task in self._hearing:
            task.cancel()
        await asyncio.wait(self._hearing)
        with suppress(TimeoutError):  # what it started in a session of its own may hold the pipes
            await asyncio.wait_for(process.communicate(), 1)

    def _errored(self, kind: Kind, message: str) -> AdapterErrored:
        told = clean(self._heard.decode("utf-8", errors="replace"))
        return AdapterErrored(kind, message, told[-_SHOWN:].strip(), self.label)


def _kill(process: Process) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)  # its own session, see _spawn: it leads the group


def _ended(status: int | None) -> str:
    if status is not None and status < 0:
        with suppress(ValueError):
            return f"signal {signal.Signals(-status).name}"
    return f"exit status {status}"


def clean(text: str) -> str:
    """The text without characters that control a terminal or that XML does not allow."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "?" for letter in text)

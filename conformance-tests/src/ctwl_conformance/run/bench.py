"""The implementations of one run, started once, and the texts that were written so far."""

from __future__ import annotations

import re
import shlex
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from ctwl_protocol.records.record import RecordDocument

from ..adapter import Adapter, AdapterErrored, Encoded, Limits, Refused, Skipped, Started
from ..adapter.messages import Class, Encode
from .plan import prompt, record
from .results import Implementation

__all__ = ["Bench", "Commands", "Subject", "Written"]


@dataclass(frozen=True)
class Commands:
    """Which commands are adapters of what, as a user gives them."""

    encoders: Sequence[str] = ()
    decoders: Sequence[str] = ()
    clients: Sequence[str] = ()

    def roles(self) -> dict[str, list[Class]]:
        """Each distinct command with the classes that it was given for, in order."""
        found: dict[str, list[Class]] = {}
        given: list[tuple[Class, Sequence[str]]] = [
            ("encoder", self.encoders),
            ("decoder", self.decoders),
            ("registry-client", self.clients),
        ]
        for role, commands in given:
            for command in commands:
                roles = found.setdefault(command, [])
                if role not in roles:
                    roles.append(role)
        return found


@dataclass
class Subject:
    """One implementation under test.

    Attributes:
        label: unique in the run, without white space.
        roles: the classes that it is judged for.
        told: what it says of itself; None where it did not start.
        failure: why it did not.
    """

    label: str
    command: str
    adapter: Adapter
    roles: list[Class]
    told: Started | None
    failure: AdapterErrored | None = None

    @property
    def profiles(self) -> list[str]:
        """The profiles that it knows."""
        return self.told.profiles if self.told else []

    def describe(self) -> Implementation:
        """As a report has it."""
        return Implementation(label=self.label, command=self.command, told=self.told)


@dataclass(frozen=True)
class Written:
    """A text that an encoder was asked for, with what it answered."""

    record: RecordDocument
    answer: Encoded | Refused | Skipped


class Bench:
    """Implementations and texts, shared by all cases; threads may run cases side by side."""

    def __init__(self, commands: Commands, *, size: str, seed: int = 1, limits: Limits | None = None) -> None:
        """Start every implementation and ask what it is.

        Args:
            commands: the adapters.
            size: how many texts, see :data:`~.plan.SIZES`.
            seed: of records, samples and edits.
            limits: of time.
        """
        self.size, self.seed = size, seed
        self.subjects: list[Subject] = []
        self._texts: dict[tuple[str, str, int, int], list[Written]] = {}
        self._guard = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        try:
            for command, roles in commands.roles().items():
                self.subjects.append(_started(command, roles, {s.label for s in self.subjects}, limits))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def abort(self) -> None:
        """End every implementation at once, whatever it is asked."""
        for subject in self.subjects:
            subject.adapter.abort()

    def close(self) -> None:
        """End every implementation."""
        for subject in self.subjects:
            subject.adapter.close()

    def of(self, role: Class) -> list[Subject]:
        """Those that are judged for a class and have started."""
        return [subject for subject in self.subjects if role in subject.roles and subject.told]

    def texts(self, encoder: Subject, profile: str, layout: int, tokens: int, count: int) -> list[Written]:
        """So many texts of an encoder; each is asked for once, whoever reads it.

        Raises:
            AdapterErrored: it gave no answer; the next call asks again.
        """
        key = (encoder.label, profile, layout, tokens)
        with self._guard:
            lock = self._locks.setdefault(encoder.label, threading.Lock())
        with lock:
            found = self._texts.setdefault(key, [])
            while len(found) < count:
                i = len(found)
                wanted = record(layout, self.seed, i)
                seed = self.seed * 1000 + i
                request = Encode(id=0, profile=profile, prompt=prompt(i), record=wanted, tokens=tokens, seed=seed)
                answer = encoder.adapter.ask(request, Encoded)
                found.append(Written(wanted, answer))
            return found[:count]


def _started(command: str, roles: list[Class], taken: Iterable[str], limits: Limits | None) -> Subject:
    adapter = Adapter(shlex.split(command), limits)
    told, failure = None, None
    try:
        told = adapter.describe()
    except AdapterErrored as error:
        failure = error
    except BaseException:
        adapter.close()
        raise
    label = base = re.sub(r"[^A-Za-z0-9._-]+", "-", told.name if told else command).strip("-")[-60:] or "adapter"
    number = 1
    while label in taken:
        number += 1
        label = f"{base}-{number}"
    return Subject(label, command, adapter, roles, told, failure)

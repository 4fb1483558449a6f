"""The implementations of one run, each started once, and the texts that they wrote so far."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self, TypeAlias

from ctwl_protocol.records.record import RecordDocument

from ..adapter import Adapter, AdapterErrored, Encode, Encoded, Limits, Started
from ..adapter.driver import command_words
from ..adapter.messages import Refused, Role, Skipped
from .results import Implementation
from .texts import prompt, record

Commands: TypeAlias = Mapping[Role, Sequence[str]]
"""The commands that a user gives for each class."""


@dataclass(frozen=True)
class Written:
    """A record that an encoder had to write, and its answer."""

    record: RecordDocument
    answer: Encoded | Refused | Skipped


@dataclass
class Subject:
    """One implementation under test.

    Attributes:
        label: unique in the run, without white space.
        roles: the classes that it is judged for.
        told: what it says of itself; None where it did not start.
        failure: why it did not.
        lock: held while it writes texts.
        written: the texts that it wrote so far, by profile, layout and length.
    """

    label: str
    command: str
    adapter: Adapter
    roles: list[Role]
    told: Started | None
    failure: AdapterErrored | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    written: dict[tuple[str, int, int], list[Written]] = field(default_factory=dict)

    @property
    def profiles(self) -> list[str]:
        """The profiles that it knows."""
        return self.told.profiles if self.told else []

    def describe(self) -> Implementation:
        """Its entry in a report."""
        return Implementation(label=self.label, command=self.command, told=self.told)


class Bench:
    """Implementations and texts, shared by all cases; threads may run cases side by side."""

    def __init__(self, commands: Commands, *, size: str, seed: int = 1, limits: Limits | None = None) -> None:
        """Start every implementation and ask what it is.

        Args:
            commands: the adapters.
            size: how many texts, see :data:`~.texts.SIZES`.
            seed: of records, samples and edits.
            limits: of time.
        """
        self.size, self.seed = size, seed
        self.subjects: list[Subject] = []
        try:
            for command, roles in _roles(commands).items():
                self.subjects.append(_started(command, roles, {s.label for s in self.subjects}, limits))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def all_started(self) -> bool:
        """Whether every implementation has told what it is."""
        return all(subject.told for subject in self.subjects)

    def abort(self) -> None:
        """End every implementation at once, whatever it is asked."""
        for subject in self.subjects:
            subject.adapter.abort()

    def close(self) -> None:
        """End every implementation."""
        for subject in self.subjects:
            subject.adapter.close()

    def of(self, role: Role) -> list[Subject]:
        """The implementations that are judged for a class and have started."""
        return [subject for subject in self.subjects if role in subject.roles and subject.told]

    def texts(self, encoder: Subject, profile: str, layout: int, tokens: int, count: int) -> list[Written]:
        """The first ``count`` texts of an encoder. It writes each text once, however many decoders read it.

        Raises:
            AdapterErrored: it gave no answer; the next call asks again.
        """
        with encoder.lock:
            found = encoder.written.setdefault((profile, layout, tokens), [])
            while len(found) < count:
                i = len(found)
                wanted = record(layout, self.seed, i)
                seed = self.seed * 1000 + i
                request = Encode(id=0, profile=profile, prompt=prompt(i), record=wanted, tokens=tokens, seed=seed)
                answer = encoder.adapter.ask(request, Encoded)
                found.append(Written(wanted, answer))
            return found[:count]


def _roles(commands: Commands) -> dict[str, list[Role]]:
    """Each distinct command with the classes that it was given for, in order."""
    found: dict[str, list[Role]] = {}
    for role, given in commands.items():
        for command in given:
            if role not in found.setdefault(command, []):
                found[command].append(role)
    return found


def _words(command: str) -> list[str]:
    """The words of a command; where it is the suite's own, of the suite that runs, whatever lies on the PATH."""
    words = command_words(command)
    return [sys.executable, "-m", "ctwl_conformance", *words[1:]] if words[:1] == ["ctwl-conformance"] else words


def _started(command: str, roles: list[Role], taken: Iterable[str], limits: Limits | None) -> Subject:
    adapter = Adapter(_words(command), limits)
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
    adapter.label = label
    return Subject(label, command, adapter, roles, told, failure)

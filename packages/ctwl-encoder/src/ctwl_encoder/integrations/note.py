"""What is noted of a request where it comes in, so that all processes that serve it agree.

A server takes requests in by one process, and its workers mark them in others. The first checks a request, draws its
nonce, and writes the line of the log that says that its text begins. The workers find the note in the request.
"""

from __future__ import annotations

import secrets
from typing import Any, Self

from pydantic import Field

from ctwl_protocol.records.beacon import NONCE_COUNT

from ..errors import OptionOutOfRange
from ..options import Options
from .log import began, log_of
from .policy import Policy
from .request import PREFIX, Request
from .served import Truncation

__all__ = ["NOTED", "Note", "admitted", "without_note"]

NOTED = f"{PREFIX}admitted"
"""The option of a request in which its note stands; whatever a client writes there is replaced."""

_SALTS = 1 << 32


def without_note(given: dict[str, Any] | None) -> dict[str, Any]:
    """A request's own options: a note is an object, as no client can send one."""
    return {name: value for name, value in (given or {}).items() if name != NOTED or not isinstance(value, dict)}


def admitted(policy: Policy, given: dict[str, Any], temperature: float, name: str, texts: int = 1) -> Request | None:
    """What a request writes, as :meth:`ctwl_encoder.integrations.policy.Policy.request` says; None where nothing.

    Args:
        policy: the server's.
        given: the request's own options.
        temperature: 0 for greedy decoding.
        name: the request's id.
        texts: how many it asks for; those without a mark are noted in the log.

    Raises:
        CTWLError: what the client should change.
    """
    request = policy.request(given, temperature)
    if request is None and policy.log is not None:
        log_of(policy).write([began(policy, name, None)] * texts)
    return request


class Note(Options):
    """A request's note.

    A strategy that keeps the distribution must mark behind top-k, top-p and min-p. An engine that runs plug-ins before
    them is told to leave them out, and they are noted here.

    Attributes:
        nonce, salt: see :meth:`ctwl_encoder.integrations.request.Request.payload`.
        top_k, top_p, min_p: see :class:`ctwl_encoder.integrations.served.Truncation`.
        name: the request's id.
        process, line: in the log of texts, the process and the number of the line of the request's first text.
    """

    nonce: int = Field(0, ge=0, lt=NONCE_COUNT)
    salt: int = Field(0, ge=0, lt=_SALTS)
    top_k: int = Field(0, ge=-1)
    top_p: float = Field(1.0, gt=0, le=1)
    min_p: float = Field(0.0, ge=0, le=1)
    name: str = ""
    process: str = ""
    line: int = 0

    @classmethod
    def drawn(cls, request: Request, truncation: Truncation, **more: Any) -> Self:
        """A new note.

        Args:
            request: what is written.
            truncation: the request's; it is noted where the strategy keeps the distribution.
            **more: other fields.
        """
        drawn: dict[str, Any] = {"nonce": secrets.randbelow(NONCE_COUNT), "salt": secrets.randbelow(_SALTS)}
        kept = truncation._asdict() if request.strategy.keeps_distribution else {}
        return cls().model_copy(update={**drawn, **kept, **more})

    @classmethod
    def of(cls, given: dict[str, Any] | None) -> Self | None:
        """What was noted in a request's options; None where nothing was, or something else, which a client wrote."""
        try:
            return cls.model_validate((given or {}).get(NOTED))
        except OptionOutOfRange:
            return None

    @property
    def truncation(self) -> Truncation:
        """What the plug-in does in the engine's place."""
        return Truncation(self.top_k, self.top_p, self.min_p)

    def of_text(self, number: int) -> Self:
        """The note of one of the texts that a request asks for, numbered from 0: each has a nonce of its own."""
        return self.model_copy(
            update={
                "nonce": (self.nonce + number) % NONCE_COUNT,
                "salt": (self.salt + number) % _SALTS,
                "line": self.line + number,
            }
        )

    def logged(self, policy: Policy, request: Request, name: str, texts: int = 1) -> Self:
        """Write the line of each of the request's texts into the log, if there is one; the note then says where."""
        if policy.log is None:
            return self
        notes = [self.of_text(number) for number in range(texts)]
        payloads = [request.payload(note.nonce, note.salt) for note in notes]
        process, line = log_of(policy).write([began(policy, name, request, payload) for payload in payloads])
        return self.model_copy(update={"name": name, "process": process, "line": line})

"""What is noted of a request where it comes in, so that all processes that serve it agree.

A server takes requests in by one process, and its workers mark them in others. The first checks a request, draws its
nonce, and writes the line of the log that says that its text begins. The workers find the note in the request.
"""

from __future__ import annotations

import secrets
import sys
from typing import Any, Self

from pydantic import Field

from ctwl_encoder import warn_of_short_text
from ctwl_encoder.errors import OptionOutOfRange
from ctwl_encoder.options import Options
from ctwl_protocol import get_profile

from .log import began, log_of, unmarked
from .policy import Policy
from .request import PREFIX, Request

NOTED = f"{PREFIX}admitted"
"""The option of a request in which its note stands; whatever a client writes there is replaced."""

_RANDOM = 1 << 62
"""Random numbers lie below this: so many that each remainder is as likely as any other."""

TRUNCATION = "top_k", "top_p", "min_p"
"""What leaves tokens out before one is drawn, as the engines and :class:`Note` name it."""

_LEAST_TOP_P = 0.01
"""Below this top-p, hardly ever a second token is left. Chosen by hand; callers that want no chance give 0 or 1e-6."""


def without_note(given: dict[str, Any] | None) -> dict[str, Any]:
    """A request's own options, without a note, whoever wrote it: an object of this name."""
    return {name: value for name, value in (given or {}).items() if name != NOTED or not isinstance(value, dict)}


def admitted(
    policy: Policy,
    given: dict[str, Any],
    temperature: float,
    name: str,
    texts: int = 1,
    *,
    fixed_form: bool = False,
) -> Request | None:
    """What a request writes, see :meth:`.policy.Policy.request`; texts without a mark are noted in the log.

    Args:
        policy: the server's.
        given: the request's own options.
        temperature: 0 for greedy decoding.
        name: the request's id.
        texts: how many it asks for.
        fixed_form: whether its answer has a fixed form, see :mod:`.form`.

    Raises:
        CTWLError: what the client should change.
    """
    request, log = policy.request(given, temperature, fixed_form=fixed_form), log_of(policy)
    if request is None and log is not None:
        log.write([unmarked(policy, name, policy.why_unmarked(given, fixed_form=fixed_form))] * texts)
    return request


def only_the_likeliest(top_k: int | None, top_p: float | None, min_p: float | None) -> bool:
    """Whether a truncation leaves the likeliest token alone, which is greedy decoding by another name."""
    return top_k == 1 or min_p == 1 or (top_p is not None and top_p < _LEAST_TOP_P)


def temperature_of(params: Any) -> float:
    """The temperature of a request's sampling; 0 also where its truncation leaves the likeliest token alone.

    Args:
        params: of the engine, with ``temperature`` and the fields of :data:`TRUNCATION`.
    """
    single = only_the_likeliest(*(getattr(params, each) for each in TRUNCATION))
    return 0.0 if single else float(params.temperature)


def warn_if_short(request: Request, most: int | None, temperature: float, option: str) -> None:
    """Warn where a request lets its text have too few tokens for a reader.

    Args:
        request: what it writes.
        most: the most tokens that it lets a text have; None where it does not say.
        temperature: 0 for greedy decoding.
        option: how the engine names this.
    """
    codes = len(request.codes or (0,))
    profile, most = get_profile(request.profile), most or sys.maxsize
    strength = request.strength_of(request.strategy, temperature)
    how: dict[str, Any] = {"temperature": temperature, "strength": strength}
    warn_of_short_text(profile, request.strategy, codes, most, **how, option=option)


class Note(Options):
    """A request's note.

    A strategy that keeps the distribution must mark after top-k, top-p and min-p. An engine that runs plug-ins before
    them is told to leave nothing out, and the plug-in does it.

    Attributes:
        random: see :meth:`.request.Request.payload`.
        number: of the text among those that the request asks for.
        top_k: how many tokens stay; 0 and less for all.
        top_p: the smallest probability that the likeliest tokens, which stay, have together.
        min_p: the smallest probability of a token that stays, as a share of the likeliest token's.
        name: the request's id.
        process, line: in the log of texts, the process and the number of the line of the request's first text.
    """

    random: int = Field(0, ge=0, lt=_RANDOM)
    number: int = 0
    top_k: int = Field(0, ge=-1)
    top_p: float = Field(1.0, gt=0, le=1)
    min_p: float = Field(0.0, ge=0, le=1)
    name: str = ""
    process: str = ""
    line: int = 0

    @classmethod
    def of(cls, given: dict[str, Any] | None) -> Self | None:
        """What was noted in a request's options; None where nothing was, or something else, which a client wrote."""
        try:
            return cls.model_validate((given or {}).get(NOTED))
        except OptionOutOfRange:
            return None

    @classmethod
    def drawn(cls, name: str, **more: Any) -> Self:
        """A new note of a request of this id, with other fields."""
        return cls().model_copy(update={"name": name, "random": secrets.randbelow(_RANDOM), **more})

    def of_text(self, number: int) -> Self:
        """The note of one of the texts that a request asks for, numbered from 0: their nonces follow each other."""
        following = (self.random + number) % _RANDOM
        return self.model_copy(update={"random": following, "number": number, "line": self.line + number})

    def logged(self, policy: Policy, request: Request, texts: int = 1) -> Self:
        """Write the line of each of the request's texts into the log, if there is one; the note then says where."""
        log = log_of(policy)
        if log is None:
            return self
        payloads = [request.payload(self.of_text(number).random) for number in range(texts)]
        process, line = log.write([began(policy, self.name, request, payload) for payload in payloads])
        return self.model_copy(update={"process": process, "line": line})

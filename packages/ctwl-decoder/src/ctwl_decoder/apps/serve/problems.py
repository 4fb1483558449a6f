"""Refusals: a status, a stable code and a message, as JSON; and pages with their security policy."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pydantic import BaseModel, Field
from starlette.responses import HTMLResponse, JSONResponse, Response

from ctwl_protocol import CTWLError
from ctwl_protocol.errors import FieldOutOfRange, QuestionMalformed, QuestionTooLarge

from ...errors import (
    BodyTooSlow,
    DetectorFailed,
    DocumentRefused,
    InputTooLarge,
    KeepRefused,
    NoConsent,
    NoDetector,
    NotOpened,
    NotText,
    OptionOutOfRange,
    ProviderUnknown,
    RateExceeded,
    ServiceError,
    TokenRefused,
    TooManyAtOnce,
    UnsupportedType,
)
from ..page.build import source_of

_STATUS: dict[type[CTWLError], int] = {
    InputTooLarge: 413,
    UnsupportedType: 415,
    NotText: 422,
    NotOpened: 422,
    DocumentRefused: 422,
    OptionOutOfRange: 422,
    NoConsent: 422,
    NoDetector: 422,
    FieldOutOfRange: 422,
    BodyTooSlow: 408,
    QuestionMalformed: 400,
    QuestionTooLarge: 413,
    TokenRefused: 401,
    ProviderUnknown: 422,
    KeepRefused: 422,
    RateExceeded: 429,
    DetectorFailed: 503,
    TooManyAtOnce: 429,
    ServiceError: 503,  # the base of the two before it: the first that fits counts
}

_LATER = {"retry-after": "5"}
_ADVICE = {401: {"www-authenticate": "Bearer"}, 429: _LATER, 503: _LATER}
"""The headers that go with a status."""


class Problem(BaseModel):
    """The body of every refusal."""

    code: str = Field(description="What is wrong, for programs; stable.")
    message: str = Field(description="What is wrong and what to do, for people.")


def problem_of(error: CTWLError) -> tuple[int, Problem]:
    """The status and the body of an error; status 500 where the service is at fault."""
    status = next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 500)
    return status, Problem(code=error.code, message=str(error))


def answer(status: int, problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    """A problem as an answer."""
    headers = {**_ADVICE.get(status, {}), **(headers or {})}
    # A message may quote what a client sent, with lone surrogates in it.
    message = problem.message.encode("utf-8", "backslashreplace").decode()
    return JSONResponse({"code": problem.code, "message": message}, status, headers)


def page(document: str, policy: str | None = None, *, forms: bool = False) -> Response:
    """An HTML page that no other page may frame; its policy, where none is given, allows its own inline style alone.

    Args:
        document: the page.
        policy: its content security policy.
        forms: whether it has forms for this service.
    """
    if policy is None:
        style = re.search("<style>(.*?)</style>", document, re.S)  # the first one, before any text of a client
        policy = f"default-src 'none'; style-src {source_of(style[1])}" if style else "default-src 'none'"
        policy += f"; base-uri 'none'; form-action '{'self' if forms else 'none'}'"
    return HTMLResponse(document, headers={"content-security-policy": f"{policy}; frame-ancestors 'none'"})

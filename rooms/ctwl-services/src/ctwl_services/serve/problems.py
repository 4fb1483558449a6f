"""Refusals: a status, a stable code and a message, as JSON; and pages with their security policy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field
from starlette.responses import HTMLResponse, JSONResponse, Response

from ctwl_decoder.errors import InputRefused, InputTooLarge
from ctwl_protocol import CTWLError
from ctwl_protocol.errors import FieldOutOfRange, QuestionMalformed, QuestionTooLarge

from .. import errors
from ..page.build import source_of

PROBLEMS = {
    400: "The body cannot be parsed.",
    403: "A browser asks for another site's page.",
    408: "The body did not arrive in time.",
    413: "The body or the text is too long.",
    415: "The body is of another media type or charset.",
    422: "An option is out of its range, or the text is no text or a container that is not opened.",
    429: "The client has too many requests under way.",
    500: "The service failed.",
    503: "The service is busy, or the request took too long.",
}
"""The statuses of refusals."""

_STATUS: dict[int, tuple[type[CTWLError], ...]] = {
    400: (QuestionMalformed,),
    401: (errors.TokenRefused,),
    403: (errors.ForeignOrigin,),
    408: (errors.BodyTooSlow,),
    413: (InputTooLarge, QuestionTooLarge),
    415: (errors.UnsupportedType,),
    421: (errors.HostUnknown,),
    422: (
        *(InputRefused, FieldOutOfRange),
        *(errors.NoConsent, errors.NoDetector, errors.ProviderUnknown, errors.KeepRefused),
    ),
    429: (errors.RateExceeded, errors.TooManyAtOnce),
    503: (errors.DetectorFailed, errors.ServiceError),
}
"""The kinds of errors of a status. Some are the base of others: the first that fits counts."""

_LATER = {"retry-after": "5"}
_ADVICE = {401: {"www-authenticate": "Bearer"}, 429: _LATER, 503: _LATER}
"""The headers that go with a status."""


class Problem(BaseModel):
    """The body of every refusal."""

    code: str = Field(description="What is wrong, for programs; stable.")
    message: str = Field(description="What is wrong and what to do, for people.")


def refusals(problems: Mapping[int, str] = PROBLEMS) -> dict[int | str, dict[str, Any]]:
    """The refusals of an endpoint as FastAPI describes them, from their statuses and what they mean."""
    return {status: {"model": Problem, "description": why} for status, why in problems.items()}


def problem_of(error: CTWLError) -> tuple[int, Problem]:
    """The status and the body of an error; status 500 where the service is at fault."""
    status = next((status for status, kinds in _STATUS.items() if isinstance(error, kinds)), 500)
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

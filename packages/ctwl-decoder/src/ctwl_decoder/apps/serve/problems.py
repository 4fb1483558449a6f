"""Refusals: a status, a stable code and a message, as JSON or as a small page; and the pages' security policy."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping

from pydantic import BaseModel, Field
from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import Scope

from ctwl_protocol import CTWLError
from ctwl_protocol.errors import FieldOutOfRange

from ...errors import (
    BodyTooSlow,
    InputTooLarge,
    NotText,
    OptionOutOfRange,
    ServiceError,
    TooManyAtOnce,
    UnsupportedType,
)
from ...report.html import render_page

__all__ = ["Problem", "answer", "page", "problem_of"]

_STATUS: dict[type[CTWLError], int] = {
    InputTooLarge: 413,
    UnsupportedType: 415,
    NotText: 422,
    OptionOutOfRange: 422,
    FieldOutOfRange: 422,
    BodyTooSlow: 408,
    TooManyAtOnce: 429,
    ServiceError: 503,  # the base of the two before it: the first that fits counts
}

_LATER = {"retry-after": "5"}
_ADVICE = {408: {"connection": "close"}, 429: _LATER, 503: _LATER}
"""The headers that go with a status."""


class Problem(BaseModel):
    """The body of every refusal."""

    code: str = Field(description="What is wrong, for programs; stable.")
    message: str = Field(description="What is wrong and what to do, for people.")


def problem_of(error: CTWLError) -> tuple[int, Problem]:
    """The status and the body of an error; status 500 where the service is at fault."""
    status = next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 500)
    return status, Problem(code=error.code, message=str(error))


def answer(scope: Scope, status: int, problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    """A problem as an answer: a page for a browser that posted the form, JSON for all others."""
    headers = {**(headers or {}), **_ADVICE.get(status, {})}
    # A message may quote what a client sent, with lone surrogates in it.
    message = problem.message.encode("utf-8", "backslashreplace").decode()
    if scope["path"] == "/report" and "text/html" in Headers(scope=scope).get("accept", ""):
        document = render_page("problem.html", message=f"{message[:1].upper()}{message[1:]}.")
        return page(document, status, headers, frame_ancestors="'self'")
    return JSONResponse({"code": problem.code, "message": message}, status, headers)


def page(document: str, status: int = 200, headers: Mapping[str, str] | None = None, **policy: str) -> Response:
    """An HTML page whose policy allows its own inline style and what ``policy`` names (``_`` for ``-``)."""
    style = re.search("<style>(.*?)</style>", document, re.S)  # the first one, which stands before any text of a client
    directives = {"default_src": "'none'", "style_src": inline(style[1]) if style else "'none'", "base_uri": "'none'"}
    directives |= {"form_action": "'none'", "frame_ancestors": "'none'", **policy}
    content = "; ".join(f"{name.replace('_', '-')} {value}" for name, value in directives.items())
    return HTMLResponse(document, status, {**(headers or {}), "content-security-policy": content})


def inline(code: str) -> str:
    """The source expression of a content security policy that allows one inline style or script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}'"

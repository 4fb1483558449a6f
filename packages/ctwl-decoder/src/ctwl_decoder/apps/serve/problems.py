"""Refusals: a status, a stable code and a message, as JSON or as a small page; and the pages' security policy."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from html import escape

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

__all__ = ["Problem", "answer", "page", "problem_of"]

_STATUS: list[tuple[type[CTWLError], int]] = [
    (InputTooLarge, 413),
    (UnsupportedType, 415),
    (NotText, 422),
    (OptionOutOfRange, 422),
    (FieldOutOfRange, 422),
    (BodyTooSlow, 408),
    (TooManyAtOnce, 429),
    (ServiceError, 503),
]
_RETRY_SECONDS = "5"

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Not read</title>
<style>body { margin: 2rem auto; max-width: 44rem; padding: 0 1rem; font: 16px/1.55 system-ui, sans-serif; }</style>
</head>
<body>
<h1>The text was not read</h1>
<p id="problem" role="alert">MESSAGE</p>
<p><a href="/">Back to the form</a></p>
</body>
</html>
"""


class Problem(BaseModel):
    """The body of every refusal."""

    code: str = Field(description="What is wrong, for programs; stable.")
    message: str = Field(description="What is wrong and what to do, for people.")


def problem_of(error: CTWLError) -> tuple[int, Problem]:
    """The status and the body of an error; status 500 where the service is at fault."""
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
    return status, Problem(code=error.code, message=str(error))


def answer(scope: Scope, status: int, problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    """A problem as an answer: a page for a browser that posted the form, JSON for all others."""
    headers = dict(headers or {})
    if status in {429, 503}:
        headers["retry-after"] = _RETRY_SECONDS
    message = problem.message.encode(
        "utf-8", "backslashreplace"
    ).decode()  # it may quote a client, who may send lone surrogates
    if scope["path"] == "/report" and "text/html" in Headers(scope=scope).get("accept", ""):
        document = _PAGE.replace("MESSAGE", escape(f"{message[:1].upper()}{message[1:]}."))
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

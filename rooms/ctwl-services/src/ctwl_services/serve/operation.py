"""What each service has beside its own endpoints: health, metrics, and errors as answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import prometheus_client
from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse
from starlette.exceptions import HTTPException
from starlette.responses import Response

from ctwl_decoder.errors import OptionOutOfRange

from ..errors import UnsupportedType
from .admission import Admission
from .c2pa import PREFIX
from .metrics import Metrics
from .problems import Problem, answer, refusals
from .schema import media_type


def add_operation(app: FastAPI, admission: Admission, collected: Metrics) -> None:
    """Add what operators need."""

    @app.head("/healthz", include_in_schema=False)  # some monitors send HEAD
    @app.get("/healthz", summary="Whether the process runs")
    async def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @app.head("/readyz", include_in_schema=False)
    @app.get("/readyz", responses={503: {"model": Problem}}, summary="Whether it takes requests")
    async def readyz() -> dict[str, str]:
        admission.check()
        return {"status": "ready"}

    @app.get("/metrics", response_class=PlainTextResponse, summary="Metrics for Prometheus")
    async def metrics() -> Response:
        return Response(
            prometheus_client.generate_latest(collected.registry), media_type=prometheus_client.CONTENT_TYPE_PLAIN_0_0_4
        )


def accepts(*types: str, advice: str = "") -> Any:
    """A dependency of an endpoint that reads bodies of these media types; it raises UnsupportedType for all others.

    Args:
        types: the media types.
        advice: how the message goes on.
    """

    async def check(request: Request) -> None:
        if media_type(request) not in types:
            raise UnsupportedType(f"the body must be {' or '.join(types)}{advice}")

    return Depends(check)


def takes_json(advice: str = "") -> dict[str, Any]:
    """How an endpoint of JSON is declared; see :func:`accepts`."""
    return {"responses": refusals(), "dependencies": [accepts("application/json", advice=advice)]}


def add_error_handlers(app: FastAPI, collected: Metrics) -> None:
    """Give every error the form of a problem, and count it."""

    def refusal(status: int, problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
        collected.rejected.labels(problem.code).inc()
        return answer(status, problem, headers)

    @app.exception_handler(HTTPException)
    async def refused(_: Request, error: HTTPException) -> Response:
        message = str(error.detail)
        code = "malformed" if error.status_code == 400 else message.lower().replace(" ", "-")
        return refusal(error.status_code, Problem(code=code, message=message), error.headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        """Say what is wrong with the fields, without their content."""
        if any(each["type"] == "json_invalid" for each in error.errors()):
            return refusal(400, Problem(code="malformed", message="the body is not JSON"))
        found = [(".".join(str(part) for part in each["loc"][1:]), str(each["msg"])) for each in error.errors()[:3]]
        message = "; ".join(f"{place}: {what}" if place else what for place, what in found)
        status = 400 if request.scope["path"].startswith(PREFIX) else 422  # C2PA's API has no 422
        return refusal(status, Problem(code=OptionOutOfRange.code, message=message))

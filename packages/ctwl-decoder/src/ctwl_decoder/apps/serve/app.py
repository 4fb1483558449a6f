"""The endpoints: a page for people, an API for programs, and what operators need."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import prometheus_client
from fastapi import Depends, FastAPI, File, Form, Query, Request, UploadFile
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, PlainTextResponse
from fastapi_offline import FastAPIOffline
from starlette.exceptions import HTTPException
from starlette.responses import Response

from ctwl_protocol.proxy import Proxy

from ... import __version__
from ...documents.files import words_in
from ...documents.kinds import outer_kind
from ...errors import OptionOutOfRange, UnsupportedType
from ...report.html import html_report
from ...report.model import Report
from ...report.signposts import Resolution, resolve_code, resolve_provider
from ..page.build import policy_of
from .c2pa import PREFIX, add_c2pa
from .detect import Detection
from .front import Front
from .limits import Limits
from .manifests import Manifests
from .problems import Problem, answer, page
from .schema import PROBLEMS, About, Question, media_type, text_in
from .service import Service

_PROBLEM = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}


def create_app(proxy: Proxy, limits: Limits | None = None, manifests: Manifests | None = None) -> FastAPI:
    """The service as an ASGI app, which takes over the proxy LM; it is loaded when the app starts.

    Args:
        proxy: the proxy LM of the profile to decode.
        limits: the limits.
        manifests: the C2PA manifests of codes; None leaves out the routes of the Soft Binding Resolution API.
    """
    service = Service(proxy, limits or Limits())
    app = FastAPIOffline(  # FastAPI's own documentation page loads its scripts from another site
        redoc_url=None,
        redirect_slashes=False,  # a redirect would repeat the client's Host
        static_url="/docs/assets",
        title="CTWL decoder",
        version=__version__,
        description="Reads the public watermark codes that language models put in text. Texts are not kept or logged. "
        "If no watermark is found, a model may still have written the text. A watermark does not show who put it "
        "there.",
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        lifespan=service.lifespan,
    )
    _add_decoding(app, service)
    _add_resolver(app, service)
    if manifests is not None:
        add_c2pa(app, service, proxy.profile, manifests)
    _add_operation(app, service, About.of(proxy.profile, service.limits))
    _add_error_handlers(app)
    endpoints = frozenset([*app.openapi()["paths"], "/openapi.json", "/docs"])
    app.add_middleware(Front, limits=service.limits, metrics=service.metrics, endpoints=endpoints)
    return app


def _add_decoding(app: FastAPI, service: Service) -> None:
    @app.head("/", include_in_schema=False)
    @app.get("/", response_class=HTMLResponse, summary="The page")
    async def home() -> Response:
        return page(service.page, policy_of(service.page))

    @app.post(
        "/v1/decode",
        responses={status: {"model": Problem, "description": why} for status, why in PROBLEMS.items()},
        dependencies=[_accepts("application/json")],
        summary="Decode a text",
    )
    async def decode(question: Question, request: Request) -> Report:
        options = question.model_dump(exclude={"text"})
        return await service.decode(request, question.text, lambda analysis: analysis.report, **options)

    @app.post(
        "/v1/detect",
        responses={status: {"model": Problem, "description": why} for status, why in PROBLEMS.items()},
        dependencies=[_accepts("application/json")],
        summary="Decode a text, for verification plug-ins",
    )
    async def detect(question: Question, request: Request) -> Detection:
        options = question.model_dump(exclude={"text"})
        return await service.decode(request, question.text, lambda found: Detection.of(found.report), **options)

    @app.post(
        "/report",
        responses={status: {"description": why, "content": _PROBLEM} for status, why in PROBLEMS.items()},
        dependencies=[_accepts("multipart/form-data", "application/x-www-form-urlencoded")],
        response_class=HTMLResponse,
        summary="Decode a text into a page",
    )
    async def report(
        request: Request,
        text: Annotated[str, Form(description="The text.")] = "",
        file: Annotated[
            UploadFile | None,
            File(description="A text file in UTF-8, or that says what it is, or a document, instead of the text."),
        ] = None,
    ) -> Response:
        data = await file.read() if file else b""  # a browser sends an empty file where none was chosen
        given: str | Callable[[], str] = text.replace("\r\n", "\n")  # its line ends are all \r\n
        if data:
            kind = outer_kind(data)
            named = file.content_type if file else None
            given = partial(words_in, data, kind, "the file") if kind else text_in(data, named, "the file")
        return await service.decode(request, given, lambda analysis: page(html_report(analysis)))


def _add_resolver(app: FastAPI, service: Service) -> None:
    @app.get(
        "/v1/resolve",
        responses={422: {"model": Problem, "description": "Neither a code nor a provider, or both, or out of range."}},
        summary="The provider of a code, and its own detector",
    )
    async def resolve(
        code: Annotated[int | None, Query(ge=0, lt=1 << 20, description="A code.")] = None,
        provider: Annotated[int | None, Query(ge=0, lt=1 << 10, description="A provider's number.")] = None,
    ) -> Resolution:
        if code is not None and provider is None:
            return resolve_code(service.registry, code)
        if provider is not None and code is None:
            return resolve_provider(service.registry, provider)
        raise OptionOutOfRange("name one thing to resolve: code or provider")


def _add_operation(app: FastAPI, service: Service, about: About) -> None:
    @app.get("/v1/profile", summary="The profile and the limits")
    async def profile() -> About:
        return about

    @app.head("/healthz", include_in_schema=False)  # some monitors send HEAD
    @app.get("/healthz", summary="Whether the process runs")
    async def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @app.head("/readyz", include_in_schema=False)
    @app.get("/readyz", responses={503: {"model": Problem}}, summary="Whether it takes requests")
    async def readyz() -> dict[str, str]:
        service.admission.check()
        return {"status": "ready"}

    @app.get("/metrics", response_class=PlainTextResponse, summary="Metrics for Prometheus")
    async def metrics() -> Response:
        return Response(
            prometheus_client.generate_latest(service.metrics.registry),
            media_type=prometheus_client.CONTENT_TYPE_PLAIN_0_0_4,
        )


def _accepts(*types: str) -> Any:
    """A dependency of an endpoint that reads bodies of these media types; it raises UnsupportedType for all others."""

    async def check(request: Request) -> None:
        if media_type(request) not in types:
            raise UnsupportedType(f"the body must be {' or '.join(types)}")

    return Depends(check)


def _add_error_handlers(app: FastAPI) -> None:
    @app.exception_handler(HTTPException)
    async def refused(_: Request, error: HTTPException) -> Response:
        message = str(error.detail)
        code = "malformed" if error.status_code == 400 else message.lower().replace(" ", "-")
        return answer(error.status_code, Problem(code=code, message=message), error.headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        """Say what is wrong with the fields, without their content."""
        if any(each["type"] == "json_invalid" for each in error.errors()):
            return answer(400, Problem(code="malformed", message="the body is not JSON"))
        found = [(".".join(str(part) for part in each["loc"][1:]), str(each["msg"])) for each in error.errors()[:3]]
        message = "; ".join(f"{place}: {what}" if place else what for place, what in found)
        status = 400 if request.scope["path"].startswith(PREFIX) else 422  # C2PA's API has no 422
        return answer(status, Problem(code=OptionOutOfRange.code, message=message))

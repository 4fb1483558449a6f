"""The endpoints: a page for people, an API for programs, and what operators need."""

from __future__ import annotations

from importlib import resources

import prometheus_client
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import HTMLResponse, PlainTextResponse
from fastapi.staticfiles import StaticFiles
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.responses import Response

from ctwl_protocol.proxy import Proxy

from ... import __version__
from ...errors import OptionOutOfRange, UnsupportedType
from ...report.analysis import Analysis
from ...report.html import html_report
from ...report.model import Report
from ...text.input import text_of
from .front import Front
from .limits import Limits
from .problems import Problem, answer, inline, page
from .schema import FORM, PROBLEMS, About, Question, State
from .service import Service

__all__ = ["create_app"]

_JSON_PROBLEM = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
_HTML_PROBLEM = {"text/html": {"schema": {"type": "string"}}}


def create_app(proxy: Proxy, limits: Limits | None = None) -> FastAPI:
    """The service as an ASGI app, which takes over the proxy.

    Args:
        proxy: the proxy of the profile to decode.
        limits: the limits.
    """
    service = Service(proxy, limits or Limits())
    app = FastAPI(
        title="CTWL decoder",
        version=__version__,
        description="Reads the public watermark codes that language models put in text. Texts are not kept or logged. "
        "No watermark does not show that a person wrote a text, and a watermark does not show who put it there.",
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        docs_url=None,  # FastAPI's own pages load scripts from other sites; see _add_docs
        redoc_url=None,
        lifespan=service.lifespan,
    )
    _add_decoding(app, service)
    _add_operation(app, service)
    _add_error_handlers(app)
    endpoints = frozenset([*app.openapi()["paths"], "/openapi.json", "/docs"])
    _add_docs(app)
    app.add_middleware(Front, limits=service.limits, metrics=service.metrics, endpoints=endpoints)
    return app


def _add_decoding(app: FastAPI, service: Service) -> None:
    front_page = _front_page(service.limits)

    @app.head("/", include_in_schema=False)
    @app.get("/", response_class=HTMLResponse, summary="The page")
    async def home() -> Response:
        return front_page

    @app.post(
        "/v1/decode",
        responses={status: {"model": Problem, "description": why} for status, why in PROBLEMS.items()},
        summary="Decode a text",
    )
    async def decode(question: Question, request: Request) -> Report:
        options = question.model_dump(exclude={"text"})
        return await service.decode(request, question.text, lambda analysis: analysis.report, **options)

    @app.post(
        "/report",
        responses={
            status: {"description": why, "content": _JSON_PROBLEM | _HTML_PROBLEM} for status, why in PROBLEMS.items()
        },
        openapi_extra={"requestBody": {"required": True, "content": {"multipart/form-data": FORM}}},
        response_class=HTMLResponse,
        summary="Decode a text into a page",
    )
    async def report(request: Request) -> Response:
        _require_type(request, "multipart/form-data", "application/x-www-form-urlencoded")
        return await service.decode(request, await _text_of_form(request, service.limits), _report_page)


async def _text_of_form(request: Request, limits: Limits) -> str:
    """The text of the posted file; of the text field where no file was chosen.

    Raises:
        NotText: the file is not UTF-8 text.
    """
    async with request.form(max_files=1, max_fields=8, max_part_size=limits.body) as form:
        text, file = form.get("text", ""), form.get("file")
        if isinstance(file, UploadFile) and (data := await file.read()):
            return text_of(data, "the file")
    return text.replace("\r\n", "\n") if isinstance(text, str) else ""  # browsers send every line end as \r\n


def _add_operation(app: FastAPI, service: Service) -> None:
    about = About.of(service.proxy.profile, service.limits)

    @app.get("/v1/profile", summary="The profile and the limits")
    async def profile() -> About:
        return about

    @app.head("/healthz", include_in_schema=False)  # some monitors send HEAD
    @app.get("/healthz", summary="Whether the process runs")
    async def healthz() -> State:
        return State(status="ok")

    @app.head("/readyz", include_in_schema=False)
    @app.get("/readyz", responses={503: {"model": Problem}}, summary="Whether it takes requests")
    async def readyz() -> State:
        service.check_ready()
        return State(status="ready")

    @app.get("/metrics", response_class=PlainTextResponse, summary="Metrics for Prometheus")
    async def metrics() -> Response:
        return Response(
            prometheus_client.generate_latest(service.metrics.registry),
            media_type=prometheus_client.CONTENT_TYPE_PLAIN_0_0_4,
        )


def _add_docs(app: FastAPI) -> None:
    """Swagger UI over the API's description; its scripts come from this server, out of the package fastapi-offline."""
    assets = "/docs/assets"
    app.mount(assets, StaticFiles(packages=[("fastapi_offline", "static")]))
    document = get_swagger_ui_html(
        openapi_url="/openapi.json",
        title=f"{app.title}: API",
        swagger_js_url=f"{assets}/swagger-ui-bundle.js",
        swagger_css_url=f"{assets}/swagger-ui.css",
        swagger_favicon_url=f"{assets}/favicon.png",
    )
    text = bytes(document.body).decode()
    script = text.rpartition("<script>")[2].partition("</script>")[0]
    docs_page = page(
        text,
        script_src=f"'self' {inline(script)}",
        style_src="'self' 'unsafe-inline'",
        img_src="'self' data:",
        connect_src="'self'",
    )

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return docs_page


def _front_page(limits: Limits) -> Response:
    document = resources.files(__package__).joinpath("page.html").read_text("utf-8")
    document = document.replace("MAX_CHARACTERS", str(limits.characters)).replace("MAX_BYTES", str(limits.body))
    script = document.partition("<script>")[2].partition("</script>")[0]
    return page(document, script_src=inline(script), form_action="'self'", frame_src="'self'", img_src="data:")


def _report_page(analysis: Analysis) -> Response:
    return page(html_report(analysis), frame_ancestors="'self'")


def _add_error_handlers(app: FastAPI) -> None:
    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        message = str(error.detail)
        code = "malformed" if error.status_code == 400 else message.lower().replace(" ", "-")
        return answer(request.scope, error.status_code, Problem(code=code, message=message), error.headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        """Say what is wrong with the fields, without their content."""
        if request.url.path == "/v1/decode":
            _require_type(request, "application/json")
        if any(each["type"] == "json_invalid" for each in error.errors()):
            return answer(request.scope, 400, Problem(code="malformed", message="the body is not JSON"))
        found = [(".".join(str(part) for part in each["loc"][1:]), str(each["msg"])) for each in error.errors()[:3]]
        message = "; ".join(f"{place}: {what}" if place else what for place, what in found)
        return answer(request.scope, 422, Problem(code=OptionOutOfRange.code, message=message))


def _require_type(request: Request, *types: str) -> None:
    """Check a body's media type.

    Raises:
        UnsupportedType: it is none of these.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() not in types:
        raise UnsupportedType(f"the body must be {' or '.join(types)}")

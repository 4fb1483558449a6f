"""The endpoints: a page for people, an API for programs, and what operators look at."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib import resources
from typing import Annotated, Any, Literal, TypeVar

import prometheus_client
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import HTMLResponse, PlainTextResponse
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Strict
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.responses import Response

from ctwl_protocol import CTWLError, Profile
from ctwl_protocol.proxy import Proxy

from ... import __version__
from ...decoder import Decoder
from ...errors import InputTooLarge, OptionOutOfRange, ServiceBusy, ServiceClosing, UnsupportedType
from ...options import ALPHA, ScoreName
from ...report.html import html_report
from ...report.model import Analysis, Report
from ...text.input import text_of
from .admission import Admission, Visit
from .batching import SharedObserver
from .front import Front
from .limits import Limits
from .metrics import Metrics
from .problems import Problem, answer, inline, page

__all__ = ["Question", "Service", "create_app"]

T = TypeVar("T")

_WARM_UP = "The council said on Tuesday that the bridge over the river would be closed until the end of the month."

_REFRESH_SECONDS = 600.0

_log = logging.getLogger(__name__)

_REFUSALS = {
    400: "The body cannot be parsed.",
    408: "The body did not arrive in time.",
    413: "The body or the text is too long.",
    415: "The body is of another type.",
    422: "An option is out of its range, or the text is no Unicode text.",
    429: "The client has too many requests under way.",
    500: "Something went wrong in the service.",
    503: "The service is busy, or the time was up.",
}
_AS_JSON = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
_AS_PAGE = {"text/html": {"schema": {"type": "string"}}}

_FORM = {
    "schema": {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "The text."},
            "file": {"type": "string", "format": "binary", "description": "A UTF-8 text file, instead of the text."},
        },
    },
    "encoding": {"file": {"contentType": "text/plain"}},
}


def _whole(value: object) -> object:
    """JSON has one kind of number: 3.0 is an integer."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


_Provider = Annotated[int, Field(ge=0, lt=1 << 10), BeforeValidator(_whole)]
_Version = Annotated[int, Field(ge=0, lt=1 << 4), BeforeValidator(_whole)]


class Question(BaseModel):
    """What to decode, and how."""

    model_config = ConfigDict(extra="forbid", strict=True)

    text: str = Field(description="The text; GET /v1/profile says how long it may be.")
    alpha: float = Field(default=ALPHA, gt=0, lt=1, description="Level of the test.")
    score: ScoreName = Field(
        default="both", description="How positions are scored: by halves, by ranks, by both side by side, by the count."
    )
    beacons: list[Annotated[tuple[_Provider, _Version], Strict(False)]] | None = Field(
        default=None,
        min_length=1,
        max_length=1024,
        description="Search for the beacons of these providers and model versions only, which needs less text. "
        "Only where the profile's codes are beacons, of 20 bits.",
    )


class About(BaseModel):
    """What this service decodes, and what it takes."""

    name: str = Field(description="The profile's name.")
    digest: str = Field(description="SHA-256 of the profile's canonical encoding.")
    profile: dict[str, Any] = Field(description="The profile; a private one without its key.")
    max_bytes: int = Field(description="Bytes that a request's body may have.")
    max_characters: int = Field(description="Characters that a text may have.")
    max_tokens: int = Field(description="Proxy tokens that a text may have.")
    max_seconds: float = Field(description="Seconds that a request may take.")


class State(BaseModel):
    """How the service is."""

    status: Literal["ok", "ready"]


class Service:
    """A proxy that many requests share.

    Attributes:
        proxy: the proxy.
        limits: the limits.
        admission: the places.
        metrics: the metrics.
        observer: the proxy's work in common batches.
    """

    def __init__(self, proxy: Proxy, limits: Limits) -> None:
        self.proxy = proxy
        self.limits = limits
        self.admission = Admission(limits)
        self.metrics = Metrics(self.admission)
        self.observer = SharedObserver(proxy, self.metrics.windows.inc)
        self._decoder = Decoder(proxy, self.observer)

    async def decode(self, visit: Visit, text: str, then: Callable[[Analysis], T], **options: Any) -> T:
        """Analyse a text in a thread when it is its turn, and what is made of that.

        Raises:
            InputTooLarge: the text is too long.
            CTWLError: see :meth:`ctwl_decoder.Decoder.decode` and :meth:`Visit.run`.
        """
        most = self.limits.characters
        if len(text) > most:
            raise InputTooLarge(
                f"the text has {len(text):,} characters and at most {most:,} are read here at once; cut it into parts"
            )
        caller = self.observer.caller(self.limits.tokens)
        decoder = self._decoder.observing(caller)
        return await visit.run(lambda: then(decoder.analyse(text, **options)), caller.cancel)

    @asynccontextmanager
    async def lifespan(self, _: FastAPI) -> AsyncIterator[None]:
        """Compile and load what the first request would wait for; end the threads afterwards."""
        await asyncio.to_thread(self._decoder.decode, _WARM_UP)
        refreshing = asyncio.create_task(self._refresh())
        yield
        refreshing.cancel()
        await asyncio.to_thread(self.close)

    async def _refresh(self) -> None:
        """Take up the registry that this machine trusts, as it is updated; where it is damaged, keep the old one."""
        while True:
            await asyncio.sleep(_REFRESH_SECONDS)
            try:
                self._decoder = await asyncio.to_thread(Decoder, self.proxy, self.observer)
            except (CTWLError, OSError) as error:
                _log.error("the registry cannot be read anew: %s", error)

    def close(self) -> None:
        """End the threads; what still waits for the proxy fails with :class:`ServiceClosing`."""
        self.observer.close()
        self.admission.close()


def create_app(proxy: Proxy, limits: Limits | None = None) -> FastAPI:
    """The service as an ASGI app; it takes over the proxy.

    Args:
        proxy: the proxy of the profile to decode.
        limits: what it takes.
    """
    limits = limits or Limits()
    service = Service(proxy, limits)
    app = FastAPI(
        title="CTWL decoder",
        version=__version__,
        description="Reads the public watermark codes that language models put in text. Texts are not kept or logged. "
        "No watermark does not show that a person wrote a text, and a watermark does not show who put it there.",
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        docs_url=None,  # its pages load scripts from elsewhere; see _add_docs
        redoc_url=None,
        lifespan=service.lifespan,
    )
    _add_decoding(app, service)
    _add_about(app, service)
    _add_refusals(app)
    endpoints = frozenset([*app.openapi()["paths"], "/openapi.json", "/docs"])
    _add_docs(app)
    app.add_middleware(Front, admission=service.admission, metrics=service.metrics, endpoints=endpoints)
    return app


def _add_decoding(app: FastAPI, service: Service) -> None:
    @app.head("/", include_in_schema=False)
    @app.get("/", response_class=HTMLResponse, summary="The page")
    async def home() -> Response:
        return front_page

    front_page = _front_page(service.limits)

    @app.post(
        "/v1/decode",
        responses={status: {"model": Problem, "description": why} for status, why in _REFUSALS.items()},
        summary="Decode a text",
    )
    async def decode(question: Question, request: Request) -> Report:
        options = question.model_dump(exclude={"text"})
        return await service.decode(request.scope["ctwl.visit"], question.text, lambda found: found.report, **options)

    @app.post(
        "/report",
        responses={status: {"description": why, "content": _AS_JSON | _AS_PAGE} for status, why in _REFUSALS.items()},
        openapi_extra={"requestBody": {"required": True, "content": {"multipart/form-data": _FORM}}},
        response_class=HTMLResponse,
        summary="Decode a text into a page",
    )
    async def report(request: Request) -> Response:
        _refuse_other_types(request, "multipart/form-data", "application/x-www-form-urlencoded")
        async with request.form(max_files=1, max_fields=8, max_part_size=service.limits.body) as form:
            text, file = form.get("text", ""), form.get("file")
            given = text.replace("\r\n", "\n") if isinstance(text, str) else ""  # forms send every line end so
            if isinstance(file, UploadFile) and (data := await file.read()):
                given = text_of(data, "the file")
        return await service.decode(request.scope["ctwl.visit"], given, _report_page)


def _add_about(app: FastAPI, service: Service) -> None:
    about = _about(service.proxy.profile, service.limits)

    @app.get("/v1/profile", summary="The profile and the limits")
    async def profile() -> About:
        return about

    @app.head("/healthz", include_in_schema=False)  # as what watches services asks
    @app.get("/healthz", summary="Whether the process lives")
    async def healthz() -> State:
        return State(status="ok")

    @app.head("/readyz", include_in_schema=False)
    @app.get("/readyz", responses={503: {"model": Problem}}, summary="Whether it takes requests")
    async def readyz() -> State:
        if not service.observer.working:
            raise ServiceClosing("the proxy has stopped; restart the service")
        if service.admission.full:
            raise ServiceBusy("every place is taken")
        return State(status="ready")

    @app.get("/metrics", response_class=PlainTextResponse, summary="Metrics for Prometheus")
    async def metrics() -> Response:
        return Response(
            prometheus_client.generate_latest(service.metrics.registry),
            media_type=prometheus_client.CONTENT_TYPE_PLAIN_0_0_4,
        )


def _add_docs(app: FastAPI) -> None:
    """Swagger UI over the API's description; its scripts, which fastapi-offline packages, come from here."""
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


def _about(profile: Profile, limits: Limits) -> About:
    return About(
        name=profile.name,
        digest=profile.digest,
        profile=profile.model_dump(mode="json", exclude=set() if profile.is_public else {"key"}),
        max_bytes=limits.body,
        max_characters=limits.characters,
        max_tokens=limits.tokens,
        max_seconds=limits.seconds,
    )


def _front_page(limits: Limits) -> Response:
    document = resources.files(__package__).joinpath("page.html").read_text("utf-8")
    document = document.replace("MAX_CHARACTERS", str(limits.characters)).replace("MAX_BYTES", str(limits.body))
    script = document.partition("<script>")[2].partition("</script>")[0]
    return page(document, script_src=inline(script), form_action="'self'", frame_src="'self'", img_src="data:")


def _report_page(analysis: Analysis) -> Response:
    return page(html_report(analysis), frame_ancestors="'self'")


def _add_refusals(app: FastAPI) -> None:
    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        message = str(error.detail)
        code = "malformed" if error.status_code == 400 else message.lower().replace(" ", "-")
        return answer(request.scope, error.status_code, Problem(code=code, message=message), error.headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        """Say what is wrong with the fields, without quoting them."""
        if request.url.path == "/v1/decode":
            _refuse_other_types(request, "application/json")
        if any(each["type"] == "json_invalid" for each in error.errors()):
            return answer(request.scope, 400, Problem(code="malformed", message="the body is no JSON"))
        found = [(".".join(str(part) for part in each["loc"][1:]), str(each["msg"])) for each in error.errors()[:3]]
        message = "; ".join(f"{place}: {what}" if place else what for place, what in found)
        return answer(request.scope, 422, Problem(code=OptionOutOfRange.code, message=message))


def _refuse_other_types(request: Request, *types: str) -> None:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() not in types:
        raise UnsupportedType(f"the body must be {' or '.join(types)}")

"""The endpoints: a page for people, an API for programs, and what operators need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated

from fastapi import FastAPI, File, Form, Query, Request, UploadFile
from fastapi.responses import HTMLResponse
from fastapi_offline import FastAPIOffline
from starlette.responses import Response

from ctwl_decoder import __version__
from ctwl_decoder.errors import OptionOutOfRange
from ctwl_decoder.files import words_in
from ctwl_decoder.kinds import outer_kind
from ctwl_decoder.report import Analysis, Report
from ctwl_decoder.report.html import html_report
from ctwl_protocol.proxy import Proxy
from ctwl_protocol.registry import ProviderCode

from ..ask.wire import Network
from ..page.build import policy_of
from ..resolve.resolution import Resolution, resolve_code, resolve_provider
from .asking import Consents, add_asking, forms_of
from .c2pa import add_c2pa
from .detect import Detection
from .front import Front
from .limits import Limits
from .manifests import Manifests
from .operation import accepts, add_error_handlers, add_operation, takes_json
from .problems import PROBLEMS, Problem, page, refusals
from .schema import About, Question, Words, text_in
from .service import Service

_FILES = "; send a file to /report, in a form (multipart/form-data)"
_PROBLEM = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}


def create_app(
    proxies: Sequence[Proxy],
    limits: Limits | None = None,
    manifests: Manifests | None = None,
    network: Network | None = None,
    *,
    optional: bool = False,
) -> FastAPI:
    """The service as an ASGI app, which takes over the proxy LMs; they are loaded when the app starts.

    Args:
        proxies: the proxy LMs of the profiles to decode.
        limits: the limits.
        manifests: the C2PA manifests of codes of the one profile; None leaves out the routes of the Soft Binding
            Resolution API.
        network: by which the detectors of the registry are asked; None leaves out the routes that ask.
        optional: see :class:`.Decoders`.
    """
    service = Service(proxies, limits or Limits(), optional=optional)
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
    consents = Consents() if network is not None else None
    _add_decoding(app, service, consents)
    _add_resolver(app, service)
    if manifests is not None:
        add_c2pa(app, service, proxies[0].profile, manifests)
    if network is not None and consents is not None:
        add_asking(app, service, network, consents)
    _add_about(app, About.of([each.profile for each in proxies], service.limits))
    add_operation(app, service.admission, service.metrics)
    add_error_handlers(app, service.metrics)
    endpoints = frozenset([*app.openapi()["paths"], "/openapi.json", "/docs"])
    app.add_middleware(Front, limits=service.limits, metrics=service.metrics, endpoints=endpoints)
    return app


def _add_decoding(app: FastAPI, service: Service, consents: Consents | None) -> None:
    @app.head("/", include_in_schema=False)
    @app.get("/", response_class=HTMLResponse, summary="The page")
    async def home() -> Response:
        return page(service.page, policy_of(service.page))

    @app.post("/v1/decode", summary="Decode a text", **takes_json(_FILES))
    async def decode(question: Question, request: Request) -> Report:
        options = question.model_dump(exclude={"text"})
        return await service.decode(request, question.text, lambda analysis: analysis.report, **options)

    @app.post("/v1/detect", summary="Decode a text, for verification plug-ins", **takes_json(_FILES))
    async def detect(question: Question, request: Request) -> Detection:
        return Detection.of(await decode(question, request))

    @app.post(
        "/v1/words",
        responses=refusals(),
        dependencies=[accepts("multipart/form-data", advice="; send a file in a form")],
        summary="The words of a document, such as a PDF",
    )
    async def words(request: Request, file: Annotated[UploadFile, File(description="The document.")]) -> Words:
        data = await file.read()
        kind = outer_kind(data)
        opens = partial(words_in, data, kind, "the file") if kind else partial(text_in, data, None, "the file")
        return Words(text=await service.open(request, opens))

    @app.post(
        "/report",
        responses={status: {"description": why, "content": _PROBLEM} for status, why in PROBLEMS.items()},
        dependencies=[accepts("multipart/form-data", "application/x-www-form-urlencoded", advice=_FILES)],
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
        given: str | Callable[[], str] = text.replace("\r\n", "\n")  # its line ends are all \r\n
        if file and (data := await file.read()):  # a browser sends an empty file where none was chosen
            kind = outer_kind(data)
            given = partial(words_in, data, kind, "the file") if kind else text_in(data, file.content_type, "the file")

        def shown(analysis: Analysis) -> Response:
            forms = forms_of(analysis, service.registry, consents) if consents else []
            return page(html_report(analysis, forms), forms=bool(forms))

        return await service.decode(request, given, shown)


def _add_resolver(app: FastAPI, service: Service) -> None:
    @app.get(
        "/v1/resolve",
        responses={422: {"model": Problem, "description": "Neither a code nor a provider, or both, or out of range."}},
        summary="The provider of a code, and its own detector",
    )
    async def resolve(
        code: Annotated[int | None, Query(ge=0, lt=1 << 20, description="A code.")] = None,
        provider: Annotated[ProviderCode | None, Query(description="A provider's number.")] = None,
    ) -> Resolution:
        if code is not None and provider is None:
            return resolve_code(service.registry, code)
        if provider is not None and code is None:
            return resolve_provider(service.registry, provider)
        raise OptionOutOfRange("name one thing to resolve: code or provider")


def _add_about(app: FastAPI, about: About) -> None:
    @app.get("/v1/profile", summary="The profiles and the limits")
    async def profile() -> About:
        return about

"""C2PA's Soft Binding Resolution API, version 2.4.0, without its store: from a text or its codes to C2PA manifests.

The manifests themselves are elsewhere: each match names where.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from functools import partial
from itertools import islice
from threading import Event
from typing import Annotated

from fastapi import FastAPI, Query, Request
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from ctwl_decoder.errors import NotOpened, NotText, OptionOutOfRange
from ctwl_decoder.report import Report
from ctwl_protocol import Profile

from ..errors import UnsupportedType
from .manifests import MAX_RESULTS, Codes, Manifests, Match, Matches, codes_of_value, open_manifests
from .problems import PROBLEMS, refusals
from .schema import media_type, text_in
from .service import Service

PREFIX = "/v1/matches/"

VERSION = "2.4.0"
"""Of the API's OpenAPI document, and of C2PA's specification."""

_MAX_VALUE = 1024
"""Characters of a value in an address. That of the longest record has far fewer."""

_PROBLEMS = {status: why for status, why in PROBLEMS.items() if status != 422} | {
    400: "The query or the body is invalid, or of another algorithm.",
    414: "The query is too long.",
    415: "The asset is no text, or of a charset that is not read.",
    500: "The service, or the provider's API that it asks, failed, or took too long.",
}

_TAGS: list[str | Enum] = ["C2PA"]

_Alg = Annotated[str, Query(max_length=255, description="The soft binding algorithm: the name of this profile.")]
_Value = Annotated[str, Query(description="The codes, 3 bytes each, in base64.")]
_MaxResults = Annotated[
    int, Query(alias="maxResults", ge=1, description=f"Most matches to return; never more than {MAX_RESULTS}.")
]


class BindingQuery(BaseModel):
    """The API's ``c2pa.softBindingQuery``."""

    alg: str = Field(description="The soft binding algorithm: the name of this profile.")
    value: str = Field(max_length=_MAX_VALUE, description="The codes, 3 bytes each, in base64.")


class Algorithm(BaseModel):
    """A soft binding algorithm."""

    alg: str = Field(description="Its name in C2PA's list.")


class Algorithms(BaseModel):
    """The API's ``c2pa.softBindingAlgList``."""

    watermarks: list[Algorithm] = Field(description="The watermarks that this service reads.")


class Capabilities(BaseModel):
    """The API's ``c2pa.serviceCapabilities``."""

    c2paSpecificationVersion: str = VERSION  # noqa: N815 - the API's own name
    supportedCapabilities: list[str] = ["queryByContent"]  # noqa: N815


class Status(BaseModel):
    """The API's ``c2pa.serviceStatus``: a service that answers is well."""

    status: str = "ok"


class Discovery(BaseModel):
    """The API's ``c2pa.wellKnownDiscovery``."""

    apiEndpoint: str = "/v1"  # noqa: N815
    c2paSpecificationVersion: str = VERSION  # noqa: N815
    capabilitiesEndpoint: str = "/v1/services/capabilities"  # noqa: N815
    statusEndpoint: str = "/v1/services/status"  # noqa: N815


def manifests_of(source: str, profile: Profile) -> Manifests:
    """Where the manifests of a profile's codes are looked up.

    Raises:
        OptionOutOfRange: the profile is private, so that its name is no algorithm that anybody could read.
        CTWLError: see :func:`~.manifests.open_manifests`.
    """
    if not profile.is_public:
        raise OptionOutOfRange(
            f"{profile.name} is private, and C2PA's algorithms are public; serve a published profile"
        )
    return open_manifests(source, profile.name)


def add_c2pa(app: FastAPI, service: Service, profile: Profile, manifests: Manifests) -> None:
    """Add the routes to the service."""
    _add_discovery(app, profile)
    answers = refusals(_PROBLEMS)

    @app.get(f"{PREFIX}byBinding", responses=answers, tags=_TAGS, summary="C2PA manifests of codes")
    async def by_binding(request: Request, value: _Value, alg: _Alg, most: _MaxResults = 10) -> Matches:
        if len(value) > _MAX_VALUE:
            raise HTTPException(414, "Query too long")
        return await look_up(request, alg, value.replace(" ", "+"), most)  # many clients do not escape a plus

    @app.post(f"{PREFIX}byBinding", responses=answers, tags=_TAGS, summary="C2PA manifests of codes in a body")
    async def by_large_binding(request: Request, query: BindingQuery, most: _MaxResults = 10) -> Matches:
        return await look_up(request, query.alg, query.value, most)

    @app.post(
        f"{PREFIX}byContent",
        responses=answers,
        tags=_TAGS,
        summary="C2PA manifests of a text",
        openapi_extra={"requestBody": {"required": True, "content": {"text/*": {"schema": {"type": "string"}}}}},
    )
    async def by_content(request: Request, alg: _Alg = profile.name, most: _MaxResults = 10) -> Matches:
        check(alg)
        if not media_type(request).startswith("text/"):
            raise UnsupportedType("the asset must be a text, with a media type of text/*")
        try:
            text = text_in(await request.body(), request.headers["content-type"], "the body")
            found = await service.decode(request, text, lambda analysis: codes_of_report(analysis.report))
        except (NotText, NotOpened) as error:
            raise HTTPException(400, str(error)) from error
        return await service.look_up(request, partial(_matches, manifests, found, most))

    def check(alg: str) -> None:
        if alg != profile.name:
            raise HTTPException(400, f"this service resolves {profile.name} alone")

    async def look_up(request: Request, alg: str, value: str, most: int) -> Matches:
        check(alg)
        try:
            codes = codes_of_value(value)
        except OptionOutOfRange as error:
            raise HTTPException(400, str(error)) from error
        await request.body()  # so that the next message is the disconnect
        return await service.look_up(request, partial(_matches, manifests, [codes], most))


def _add_discovery(app: FastAPI, profile: Profile) -> None:
    """Add the routes that say what there is, and the one for manifests, which the API asks for and which has none."""

    @app.get("/v1/services/supportedAlgorithms", tags=_TAGS, summary="The algorithms whose bindings are resolved")
    async def supported() -> Algorithms:
        return Algorithms(watermarks=[Algorithm(alg=profile.name)])

    @app.get("/v1/services/capabilities", tags=_TAGS, summary="Which optional parts of the API there are")
    async def capabilities() -> Capabilities:
        return Capabilities()

    @app.get("/v1/services/status", tags=_TAGS, summary="Whether the service is well")
    async def status() -> Status:
        return Status()

    @app.get("/.well-known/c2pa-soft-binding-resolution", tags=_TAGS, summary="Where the API is")
    async def discovery() -> Discovery:
        return Discovery()

    missing = refusals({404: "There is none here."})

    @app.get("/v1/manifests/{manifest_id}", tags=_TAGS, responses=missing, summary="No manifest: they are elsewhere")
    async def manifest(manifest_id: str) -> None:  # noqa: ARG001
        raise HTTPException(404, "this service has no manifests; each match names the API that has it")


def codes_of_report(report: Report) -> list[Codes]:
    """The codes of each record that was found, the clearest passage's first."""
    spans = sorted(report.spans, key=lambda span: span.p_value)
    return list(dict.fromkeys(tuple(span.record.codes) for span in spans if span.record))


def _matches(manifests: Manifests, found: Iterable[Codes], most: int, given_up: Event) -> Matches:
    matches: Iterator[Match] = (match for codes in found if not given_up.is_set() for match in manifests(codes))
    return Matches(matches=list(islice(dict.fromkeys(matches), min(most, MAX_RESULTS))))

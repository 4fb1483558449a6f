"""The routes by which people and programs ask the registry's detectors through a service, after consent."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import FastAPI, Form, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from starlette.responses import Response

from ctwl_decoder.errors import InputTooLarge
from ctwl_decoder.options import ALPHA
from ctwl_decoder.report import Analysis
from ctwl_decoder.report.html import Ask, html_answers
from ctwl_protocol.numbers import NUMBERS
from ctwl_protocol.registry import ProviderCode, Trusted

from ..ask.asking import ask_all, queries, together
from ..ask.model import Answers, Query
from ..ask.wire import Network
from ..ask.wording import in_lines
from ..errors import NoConsent
from .operation import accepts, takes_json
from .problems import page
from .schema import Provider
from .service import Service

_SECONDS = 8.0
"""For all answers to one request."""


def _true(value: object) -> object:
    """True itself: Python takes 1 for it."""
    if value is not True:
        raise ValueError("true is wanted, where the person agrees")
    return value


class Asking(BaseModel):
    """Whom to ask about what; ``consent`` says that the person whose question it is agrees that the text is sent."""

    model_config = ConfigDict(extra="forbid", strict=True)

    text: str = Field(min_length=1, description="The text; GET /v1/profile says how long it may be.")
    consent: Annotated[Literal[True], BeforeValidator(_true)] = Field(
        description="The person who asks agrees that the text is sent to the detectors."
    )
    provider: Provider | None = Field(
        default=None, description="Ask this provider's detector about the whole text, without reading it first."
    )
    level: float = Field(default=ALPHA, gt=0, lt=1, description="Level of all questions together.")
    keep_days: int = Field(
        default=0, ge=0, le=NUMBERS.asking.days, description="Days that a detector may keep the text."
    )
    whole: bool = Field(default=False, description="Send the whole text, not the passages found alone.")


class Consents:
    """Tokens of this service's pages: a form has one, for the question alone that the page shows to the person."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)

    def token(self, provider: int, text: str) -> str:
        """The token of a form that asks a provider's detector about a text."""
        said = f"{provider}\n{_as_sent(text)}".encode("utf-8", "surrogatepass")
        return hmac.new(self._secret, said, hashlib.sha256).hexdigest()

    def check(self, token: str, provider: int, text: str) -> None:
        """Refuse (NoConsent) a form that is of no page of this service, or that was changed."""
        if not hmac.compare_digest(token.encode(), self.token(provider, text).encode()):
            raise NoConsent("nothing was sent; read the text on this service's page, and agree there")


def _as_sent(text: str) -> str:
    """A text as a browser sends it in a form, with its line ends as they were."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def add_asking(app: FastAPI, service: Service, network: Network, consents: Consents) -> None:
    """Add the routes; nobody is asked but detectors whose addresses the trusted registry names."""

    async def answered(request: Request, asked: Asking) -> Answers:
        report = None
        if len(asked.text) > service.limits.characters:
            raise InputTooLarge(
                f"at most {service.limits.characters:,} characters are allowed here; ask about a passage"
            )
        if asked.provider is None:
            report = await service.decode(request, asked.text, lambda analysis: analysis.report, alpha=asked.level)
        providers = [] if asked.provider is None else [asked.provider]
        found = queries(
            asked.text, report, service.registry, level=asked.level, providers=providers, keep_days=asked.keep_days,
            whole=asked.whole,
        )  # fmt: skip
        replies = await service.look_up(request, lambda _: ask_all(found, network, seconds=_SECONDS))
        return together(found, replies, report)

    @app.post("/v1/ask", summary="Ask the providers' own detectors about a text", **takes_json())
    async def ask(asked: Asking, request: Request) -> Answers:
        return await answered(request, asked)

    @app.post(
        "/ask",
        dependencies=[accepts("application/x-www-form-urlencoded")],
        response_class=HTMLResponse,
        summary="Ask one provider's detector, for the page",
    )
    async def ask_page(
        request: Request,
        provider: Annotated[ProviderCode, Form()],
        text: Annotated[str, Form(min_length=1)],
        consent: Annotated[str, Form()] = "",
        token: Annotated[str, Form(description="What the page has in its form.")] = "",
    ) -> Response:
        if consent != "yes":
            raise NoConsent("nothing was sent; agree first that it is")
        consents.check(token, provider, text)
        asked = Asking(text=_as_sent(text), consent=True, provider=provider)
        found = await answered(request, asked)
        return page(html_answers("What the detector answers", in_lines(found)))


def forms_of(analysis: Analysis, registry: Trusted, consents: Consents) -> list[Ask]:
    """The forms of a report's page: one for each passage that a detector can be asked about."""
    if not analysis.report.signposts:
        return []
    asked: Sequence[Query] = queries(analysis.text, analysis.report, registry, level=ALPHA)
    return [_form(each, consents) for each in asked]


def _form(query: Query, consents: Consents) -> Ask:
    who, text = query.detector, query.question.text
    return Ask(who.provider, who.name, who.url, text, consents.token(who.provider, text))

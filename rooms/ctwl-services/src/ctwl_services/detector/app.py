"""The endpoints of a detector: questions, a line for people, and what operators need."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse, Response
from prometheus_client import Counter

from ctwl_decoder.errors import InputTooLarge
from ctwl_protocol.asking import QUESTION, Question

from ..errors import TokenRefused, UnsupportedType
from ..serve.admission import Admission, client_of
from ..serve.front import Front
from ..serve.limits import Limits
from ..serve.metrics import Metrics
from ..serve.operation import add_error_handlers, add_operation
from ..serve.schema import media_type
from ..serve.service import while_connected
from .detect import Detector
from .rates import Rates


def create_app(detector: Detector, limits: Limits, *, tokens: Collection[str], per_minute: float) -> FastAPI:
    """The service as an ASGI app. It keeps no text and logs none.

    Args:
        detector: what answers.
        limits: the limits.
        tokens: bearer tokens, one of which a question must have; empty where everybody may ask.
        per_minute: questions that one asker may ask a minute: a token, or else an address.
    """
    admission = Admission(limits)
    metrics = Metrics(admission)
    outcomes = Counter("ctwl_answers", "Answers to questions.", ["outcome"], registry=metrics.registry)
    gate = _Gate(tokens, per_minute)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(detector.close)
        await asyncio.to_thread(admission.close)

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False, lifespan=lifespan)

    @app.post("/")
    async def asked(request: Request) -> Response:
        if media_type(request) != "application/json" or "content-encoding" in request.headers:
            raise UnsupportedType("the body must be application/json, without a content coding")
        gate.check(request)
        question = Question.from_bytes(await request.body())
        if len(question.text) > limits.characters:
            raise InputTooLarge(f"a text has at most {limits.characters:,} characters here; ask about a passage")
        detector.check(question)
        answer = await while_connected(request, admission, lambda given_up: detector.answer(question, given_up))
        outcomes.labels(answer.outcome).inc()
        return Response(answer.to_bytes(), media_type="application/json")

    @app.head("/")
    @app.get("/")
    async def home() -> Response:
        provider = detector.settings.provider
        return PlainTextResponse(f"The detector of provider {provider} takes questions by POST ({QUESTION}).\n")

    add_operation(app, admission, metrics)
    add_error_handlers(app, metrics)
    endpoints = frozenset(["/", "/healthz", "/readyz", "/metrics"])
    app.add_middleware(Front, limits=limits, metrics=metrics, endpoints=endpoints)
    return app


class _Gate:
    """Who may ask, and how often."""

    def __init__(self, tokens: Collection[str], per_minute: float) -> None:
        self._tokens = {_digest(token) for token in tokens}  # digests, so that no comparison tells how much is right
        self._rates = Rates(per_minute)

    def check(self, request: Request) -> None:
        """Let a request in.

        Raises:
            TokenRefused: it has none of the tokens.
            RateExceeded: its asker asks too often.
        """
        asker = client_of(request.scope["client"])
        if self._tokens:
            scheme, _, token = request.headers.get("authorization", "").partition(" ")
            asker = _digest(token.strip())
            if scheme.lower() != "bearer" or asker not in self._tokens:
                raise TokenRefused("this detector answers those alone who have a token of its provider's")
        self._rates.take(asker)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()

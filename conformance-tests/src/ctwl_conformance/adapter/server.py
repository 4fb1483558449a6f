"""A small OpenAI-compatible server that marks its texts, to try the endpoint adapter without vLLM.

One request at a time, ``/v1/models`` and ``/v1/completions`` alone. It is no server for production; that is vLLM with
the plug-in of ``ctwl-encoder``, whose names of extra arguments it shares.
"""

from __future__ import annotations

import threading
from typing import Annotated, Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from ctwl_encoder import Encoder
from ctwl_protocol import CTWLError
from ctwl_protocol.records.layouts import find_layout
from ctwl_protocol.records.record import Record

from .encoder import write


class Extra(BaseModel):
    """What the record is."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    ctwl_codes: Annotated[list[int], Field(min_length=1, max_length=8)]
    ctwl_layout: int = 1


class Completion(BaseModel):
    """The part of OpenAI's request that the server reads."""

    model_config = ConfigDict(frozen=True)

    model: str
    prompt: Annotated[str, Field(min_length=1, max_length=1 << 20)]
    max_tokens: Annotated[int, Field(ge=1, le=4096)] = 16
    min_tokens: Annotated[int, Field(ge=0, le=4096)] = 0
    temperature: Annotated[float, Field(ge=0, le=10)] = 1.0
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    seed: Annotated[int, Field(ge=0)] | None = None
    vllm_xargs: Extra


def application(encoder: Encoder, name: str) -> FastAPI:
    """The server's application."""
    app, busy = FastAPI(title="CTWL test endpoint"), threading.Lock()

    @app.exception_handler(CTWLError)
    def refused(request: Request, error: CTWLError) -> JSONResponse:  # noqa: ARG001
        return JSONResponse({"error": {"type": error.code, "message": f"ctwl: {error}"}}, status_code=400)

    @app.get("/v1/models")
    def models() -> dict[str, Any]:
        return {"object": "list", "data": [{"id": name, "object": "model"}]}

    @app.post("/v1/completions")
    def completions(body: Completion) -> dict[str, Any]:
        extra = body.vllm_xargs
        record = Record(find_layout(extra.ctwl_layout), tuple(extra.ctwl_codes))
        with busy:
            text = write(
                encoder,
                body.prompt,
                record,
                max_new_tokens=body.max_tokens,
                min_new_tokens=min(body.min_tokens, body.max_tokens),
                temperature=body.temperature,
                top_p=body.top_p,
                seed=body.seed,
            )
        choice = {"index": 0, "text": text, "finish_reason": "length", "logprobs": None}
        return {"id": "cmpl-ctwl", "object": "text_completion", "model": name, "choices": [choice]}

    return app


class _Announcing(uvicorn.Server):
    """Prints its base URL once it listens."""

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        for server in self.servers:
            for listening in server.sockets:
                host, port = listening.getsockname()[:2]
                print(f"http://{host}:{port}/v1", flush=True)


def run(encoder: Encoder, name: str, host: str, port: int) -> None:
    """Serve until the process is told to end; port 0 takes a free one."""
    config = uvicorn.Config(application(encoder, name), host=host, port=port, log_level="warning", lifespan="off")
    _Announcing(config).run()

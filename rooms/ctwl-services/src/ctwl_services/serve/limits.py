"""What one request, one client and all of them together may ask of the service."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ctwl_decoder.errors import OptionOutOfRange
from ctwl_decoder.options import MAX_CHARACTERS, MAX_TOKENS
from ctwl_protocol.schema import describe_error

_IN_MEMORY = 1 << 20
"""Starlette keeps uploads of up to this many bytes in memory and writes larger ones to disk; texts are never stored."""


class Limits(BaseModel):
    """The service's limits. The defaults were chosen by hand; ``evaluation/speed/load.py`` shows how they hold.

    Raises:
        OptionOutOfRange: a limit is not above 0, or higher than the decoder's own.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    body: int = Field(256 << 10, gt=0, le=_IN_MEMORY, description="bytes of a request's body")
    characters: int = Field(20_000, gt=0, le=MAX_CHARACTERS, description="characters of a text")
    tokens: int = Field(4096, gt=0, le=MAX_TOKENS, description="tokens of a text")
    working: int = Field(8, gt=0, description="requests that are decoded at once")
    waiting: int = Field(32, gt=0, description="requests that wait for their turn; more are refused")
    per_client: int = Field(4, gt=0, description="requests of one address that are decoded or wait")
    seconds: float = Field(60.0, gt=0, description="seconds from the end of a request's head to the end of its answer")
    connections: int = Field(512, gt=0, description="connections open at once")

    def __init__(self, **given: Any) -> None:
        try:
            super().__init__(**given)
        except ValidationError as error:
            raise OptionOutOfRange(f"a limit is out of range: {describe_error(error)}") from error

"""The messages of ``ctwl-adapter/2``: one JSON object a line in both directions (``ADAPTERS.md``).

Both sides read them as hostile: lines are bounded, nothing is converted, unknown fields are refused.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, Field, TypeAdapter, ValidationError, model_validator

from ctwl_protocol.numbers import NUMBERS
from ctwl_protocol.records.record import RecordDocument
from ctwl_protocol.registry.entries import ProviderCode
from ctwl_protocol.schema import Part, describe_error, read_json

PROTOCOL: Literal["ctwl-adapter/2"] = "ctwl-adapter/2"
"""Version of the protocol; another one would be another protocol."""

MAX_LINE = 16 << 20
"""Longest line, its end included, in bytes."""

Role: TypeAlias = Literal["decoder", "encoder", "registry-client", "detector"]
"""What an implementation is driven as. The conformance classes (spec section 14) are judged by what it then answers."""

_Name = Annotated[str, Field(min_length=1, max_length=200)]
_Names = Annotated[list[_Name], Field(max_length=1000)]
_Hex = Annotated[str, Field(pattern="^([0-9a-f]{2})*$")]
_Level = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
_Count = Annotated[int, Field(ge=0)]


class Malformed(ValueError):
    """A line that is no message; the text says why, on one line."""


class Refused(Part):
    """An implementation's own error, with a status code of the specification's section 11 where there is one."""

    status: _Name
    message: str = ""


class Skipped(Part):
    """A request that an implementation says it does not do, and why."""

    skip: Annotated[str, Field(min_length=1, max_length=2000)]


class Started(Part):
    """What an implementation says of itself.

    Attributes:
        name: what it is called in reports.
        version: its version.
        roles: what it can be driven as.
        profiles: names of the profiles that it encodes or decodes under.
        families: the families of vectors that it answers.
        provider: the registry's number of the provider for whom a detector answers; null where it is none.
        keep_days: how many days a detector keeps texts.
        found: a text of the maker's own in which a detector must find its mark; null where none is named.
    """

    name: _Name
    version: _Name
    roles: Annotated[list[Role], Field(min_length=1, max_length=4)]
    profiles: _Names = Field([])
    families: _Names = Field([])
    provider: ProviderCode | None = None
    keep_days: Annotated[int, Field(ge=0, le=NUMBERS.asking.days)] = 0
    found: Annotated[str, Field(min_length=1, max_length=NUMBERS.asking.least_characters)] | None = None


class Encoded(Part):
    """A text that carries the record that was asked for; of the length that decoders take at most."""

    text: Annotated[str, Field(max_length=1 << 20)]


class Span(Part):
    """A passage that carries a code: from ``start`` up to ``end``, in characters (code points) of the text as given."""

    start: _Count
    end: _Count
    code: _Count
    p_value: _Level


class Decoded(Part):
    """What a decoder found in a text.

    Attributes:
        detected: whether a code was found: its p-value, corrected for all that was searched, is at most the level, and
            its e-value is high enough (spec section 10, step 8).
        code: the strongest span's, or the best candidate; null where there is no position to judge.
        p_value: of that code.
        spans: the passages found; empty where nothing was detected.
        record: the record of the strongest span, where it was read in a layout that the decoder knows.
    """

    detected: bool
    code: _Count | None
    p_value: _Level
    spans: Annotated[list[Span], Field(max_length=100_000)]
    record: RecordDocument | None


class Heard(Part):
    """What a detector answered to a POST: the status, the body in hexadecimal, its media type without parameters."""

    status: Annotated[int, Field(ge=100, lt=600)]
    body: Annotated[_Hex, Field(max_length=2 << 20)]
    media_type: Annotated[str, Field(max_length=200)] = "application/json"


class Stopped(Part):
    """Goodbye."""


class _Asked(Part):
    id: _Count


class Start(_Asked):
    """The first request."""

    op: Literal["start"] = "start"
    protocol: Literal["ctwl-adapter/2"] = PROTOCOL


class VectorRequest(_Asked):
    """One exact question; the answer has the shape of the vector's ``expected``."""

    op: Literal["vector"] = "vector"
    family: _Name
    input: dict[str, Any]


class Encode(_Asked):
    """Write a text of about so many proxy tokens that carries a record, its nonce included."""

    op: Literal["encode"] = "encode"
    profile: _Name
    prompt: str
    record: RecordDocument
    tokens: Annotated[int, Field(ge=1, le=1 << 17)]
    seed: Annotated[int, Field(ge=0, lt=1 << 31)]


class Decode(_Asked):
    """Read a text at a level."""

    op: Literal["decode"] = "decode"
    profile: _Name
    text: str
    alpha: Annotated[float, Field(gt=0, lt=1)]


class Ask(_Asked):
    """POST a body to a detector (spec section 20); without its token where it is not to be authorized."""

    op: Literal["ask"] = "ask"
    body: _Hex
    media_type: _Name
    authorized: bool


class Stop(_Asked):
    """The last request; the process then ends with status 0."""

    op: Literal["stop"] = "stop"


Request: TypeAlias = Start | VectorRequest | Encode | Decode | Ask | Stop
REQUEST: TypeAdapter[Request] = TypeAdapter(Annotated[Request, Field(discriminator="op")])

Body: TypeAlias = Started | Encoded | Decoded | Heard | Stopped | dict[str, Any]


class Reply(Part):
    """One answer: what was asked for, an error or a declared skip; it repeats the request's id."""

    id: _Count
    ok: dict[str, Any] | None = None
    error: Refused | None = None
    skip: Annotated[str, Field(min_length=1, max_length=2000)] | None = None

    @model_validator(mode="after")
    def _one(self) -> Reply:
        if sum(part is not None for part in (self.ok, self.error, self.skip)) != 1:
            raise ValueError("a reply has one of ok, error and skip")
        return self


def read_line(line: bytes) -> Any:
    """The JSON value of a line.

    Raises:
        Malformed: it is no JSON in UTF-8, or holds what JSON for exchange has not: NaN, a key twice, lone surrogates.
    """
    try:
        return read_json(line)
    except ValueError as error:
        raise Malformed(f"no JSON object on one line: {describe_error(error)}") from error


def write_line(message: BaseModel | dict[str, Any]) -> bytes:
    """A message as one line.

    Raises:
        ValueError: it has no form in JSON, or is longer than :data:`MAX_LINE`.
    """
    value = message.model_dump(mode="json") if isinstance(message, BaseModel) else message
    line = json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8") + b"\n"
    if len(line) > MAX_LINE:
        raise ValueError(f"a message of {len(line)} bytes; at most {MAX_LINE} go on a line")
    return line


def parse(model: type[BaseModel], value: Any) -> Any:
    """A value, as JSON has it, as a message.

    Raises:
        Malformed: it is none.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise Malformed(describe_error(error)) from error

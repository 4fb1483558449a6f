"""The three kinds of entry: the owner of a provider code, a layout, and a certificate for a private profile.

Entries are append-only and stay for good: a retired provider's code can still be read, and the report says that it is
retired (spec 9.6, Registry).
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from ..errors import LayoutMalformed
from ..numbers import NUMBERS
from ..records import layouts
from ..records.beacon import NONCE_COUNT
from ..records.sealing import MAX_EPOCH
from ..schema import Bytes32, Many, Part, as_tuple
from .spelling import check_name

Name = Annotated[str, Field(min_length=1, max_length=NUMBERS.registry.name), AfterValidator(check_name)]
"""A name for people."""

Time = Annotated[int, Field(ge=0, lt=NUMBERS.registry.end_of_time)]
"""Unix seconds, up to the year 9999."""

ProviderCode = Annotated[int, Field(ge=0, lt=1 << NUMBERS.records.beacon["provider"])]
Version = Annotated[int, Field(ge=0, lt=1 << NUMBERS.records.beacon["version"])]

_LABEL = "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST = rf"({_LABEL}\.)+[A-Za-z][A-Za-z0-9-]{{0,61}}[A-Za-z0-9]"
_PATH = r"(/([A-Za-z0-9._~!$&*+,;=@:/-]|%[0-9A-Fa-f]{2})*)?"

_HUB_PART = "[A-Za-z0-9][A-Za-z0-9._-]*"

_PAGE, _MAIL = f"https://{_HOST}{_PATH}", f"[A-Za-z0-9.+_-]+@{_HOST}"


def _of_form(pattern: str, advice: str) -> AfterValidator:
    form = re.compile(pattern)

    def check(text: str) -> str:
        if not form.fullmatch(text):
            raise ValueError(advice)
        return text

    return AfterValidator(check)


_SAID = "https://, a host by name, then nothing or a path, without a port, a query or a fragment"

Url = Annotated[str, Field(max_length=NUMBERS.registry.address), _of_form(_PAGE, f"give {_SAID}")]
"""A web page: https, a host by name, a path. No credentials, port, query or fragment, and no IP address: the last label
of the host begins with a letter. So every reader of addresses, and every person, sees the same host."""

Contact = Annotated[
    str, Field(max_length=NUMBERS.registry.address), _of_form(f"{_PAGE}|{_MAIL}", f"give a mail address, or {_SAID}")
]
"""A web page or a mail address."""

ModelName = Annotated[
    str,
    Field(max_length=NUMBERS.registry.name),
    _of_form(rf"{_HUB_PART}/{_HUB_PART}", "give the model's name on a hub, such as Qwen/Qwen2.5-1.5B-Instruct"),
]
"""A language model by its name on a hub: an owner and a name, of ASCII. It is shown, and fetched only by a person."""

State = Literal["active", "retired", "revoked"]
"""No new texts are written with a retired code; from ``until`` on, a revoked code is no evidence, whoever wrote it."""


def _not_nil(value: object) -> object:
    if value is None:
        raise ValueError("leave the field out where there is none")
    return value


_NOT_NIL = BeforeValidator(_not_nil)


class _Shortened(Part):
    """A map whose fields of :attr:`OPTIONAL` may be left out, and are never nil: older documents keep their bytes."""

    OPTIONAL: ClassVar[tuple[str, ...]]

    @model_serializer(mode="wrap")
    def _without_nil(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = serialize(self)
        return {name: value for name, value in fields.items() if name not in self.OPTIONAL or value is not None}


class ModelVersion(_Shortened):
    """One model version of a provider.

    Attributes:
        version, name: its number, and its name for people.
        since, until: while it is in use; ``until`` is None where that has not ended.
        nonces: its texts have the nonces 0 to this less 1, so that readers need not pay for others; None where the
            document has no such field, for all 64.
    """

    OPTIONAL = ("nonces",)

    version: Version
    name: Name
    since: Time
    until: Time | None
    nonces: Annotated[int | None, Field(ge=1, le=NONCE_COUNT), _NOT_NIL] = None

    @property
    def nonce_count(self) -> int:
        """How many nonces its texts have, 1 to 64."""
        return self.nonces or NONCE_COUNT

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        _check_span(self.since, self.until)
        return self


class Epoch(Part):
    """A key epoch of a provider's sealed user ids, in force from ``since`` until the next epoch begins."""

    epoch: Annotated[int, Field(ge=0, le=MAX_EPOCH)]
    since: Time


class Detector(Part):
    """A provider's own detector. It points, and proves nothing.

    Attributes:
        scheme: the name of the watermark that it reads, for people.
        url: where to ask (spec section 20). Nothing in these packages asks without the consent of a person.
    """

    scheme: Name
    url: Url


class _Entry(Part):
    """What the three kinds share; ``KEY`` is the field that no other entry of the kind has the same value in."""

    KEY: ClassVar[str]

    kind: str

    @property
    def identity(self) -> tuple[str, int | bytes]:
        """The kind, and the value of the key; no other entry of a registry has the same."""
        return (self.kind, getattr(self, self.KEY))

    @property
    def label(self) -> str:
        """The identity in words, for messages."""
        kind, value = self.identity
        return f"{kind} {value.hex() if isinstance(value, bytes) else value}"


class ProviderEntry(_Shortened, _Entry):
    """Who owns a provider code.

    Attributes:
        code: 0 to 1023, never given to anyone else.
        name, contact: for people.
        state: "active", "retired" or "revoked"; it never moves back.
        since: when the code was given.
        until: when it was retired or revoked; None while it is active.
        models: the model versions, each number once.
        epochs: ascending in number and in time.
        detector: the provider's own; None where the document has no such field.
        reading_model: the open language model that reads the provider's texts best, by its name on a hub; None where
            the document has no such field.
    """

    KEY = "code"
    OPTIONAL = ("detector", "reading_model")

    kind: Literal["provider"]
    code: ProviderCode
    name: Name
    contact: Contact
    state: State
    since: Time
    until: Time | None
    models: Annotated[Many[ModelVersion], Field(max_length=NUMBERS.registry.models)]
    epochs: Annotated[Many[Epoch], Field(max_length=NUMBERS.registry.epochs)]
    detector: Annotated[Detector | None, _NOT_NIL] = None
    reading_model: Annotated[ModelName | None, _NOT_NIL] = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        _check_span(self.since, self.until)
        if (self.state == "active") != (self.until is None):
            raise ValueError("until is set where the state is not active, and nowhere else")
        if len({model.version for model in self.models}) < len(self.models):
            raise ValueError("two models have one version; take another version, or change the one that is there")
        if any(a.epoch >= b.epoch or a.since >= b.since for a, b in pairwise(self.epochs)):
            raise ValueError("epochs must ascend in number and in time")
        return self


_Word = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,31}$")]
_Field = Annotated[tuple[_Word, Annotated[int, Field(ge=1, le=64)]], as_tuple]


class LayoutEntry(_Entry):
    """A registered layout: what the codes of a record mean, field by field, most significant first.

    Attributes:
        number: 64 to 127; the other numbers are the specification's, reserved, or for private use.
        name: one word, which no other registered layout has.
        owner: the provider code of the one who registered it.
        fields: names and widths in bits; they make a valid :class:`~ctwl_protocol.records.layouts.Layout` of
            several codes.
    """

    KEY = "number"

    kind: Literal["layout"]
    number: Annotated[int, Field(ge=layouts.REGISTERED.start, lt=layouts.REGISTERED.stop)]
    name: _Word
    owner: ProviderCode
    fields: Annotated[Many[_Field], Field(min_length=NUMBERS.registry.fields[0], max_length=NUMBERS.registry.fields[1])]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        try:
            codes = self.layout.codes
        except LayoutMalformed as error:
            raise ValueError(str(error)) from error
        if codes < 2:
            raise ValueError("a layout of one code is the beacon, which is the specification's")
        return self

    @property
    def layout(self) -> layouts.Layout:
        """The layout itself."""
        return layouts.Layout(self.number, self.name, tuple(layouts.Field(*field) for field in self.fields))


class CertificateEntry(_Entry):
    """A commitment to a private profile: at ``since`` the profile that opens it already existed.

    Attributes:
        commitment: 32 bytes (spec section 4.6).
        challenge: 32 bytes that the registry drew when it had the commitment; the key that marks follows from both.
        owner: who had it certified, for people.
        since: when, in Unix seconds.
    """

    KEY = "commitment"

    kind: Literal["certificate"]
    commitment: Bytes32
    challenge: Bytes32
    owner: Name
    since: Time


Entry = Annotated[ProviderEntry | LayoutEntry | CertificateEntry, Field(discriminator="kind")]


def _check_span(since: int, until: int | None) -> None:
    if until is not None and until < since:
        raise ValueError("until lies before since")

"""From codes to C2PA manifests: a file of the provider's, or the provider's own Soft Binding Resolution API.

The models have the shapes of that API ("C2PA Soft Binding API", version 2.4).
"""

from __future__ import annotations

import base64
import http.client
import re
import ssl
import time
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Annotated, Any
from urllib.parse import urlencode

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

from ctwl_decoder.errors import OptionOutOfRange
from ctwl_decoder.files import read_bytes
from ctwl_protocol.errors import first_line
from ctwl_protocol.records import BEACON_BITS, MAX_CODES
from ctwl_protocol.schema import describe_error

from ..errors import ManifestsMalformed, ManifestsUnavailable

MAX_FILE = 64 << 20
"""Bytes of a file of bindings."""

MAX_ANSWER = 1 << 20
"""Bytes of an answer of the provider's API."""

MAX_RESULTS = 100
"""Most matches of one answer, whatever a client asks for."""

SECONDS = 10.0
"""Seconds that the provider's API has to begin an answer, and to send it."""

_CODE_BYTES = 3

Codes = tuple[int, ...]
"""The codes of a record that anyone can read, the beacon first."""

ManifestId = Annotated[str, Field(max_length=300, pattern=r"^urn:(c2pa|uuid):[A-Za-z0-9:._-]+$")]
Https = Annotated[str, Field(max_length=500, pattern=r"^https://[A-Za-z0-9.~:/?!$&*+,;=%_-]+$")]

_ADDRESS = re.compile(r"https://[A-Za-z0-9._-]+(:[0-9]+)?(/[A-Za-z0-9.~:/!$&*+,;=%_-]{,400})?")
"""An address that a match can name as its endpoint, without credentials, query and fragment."""


class Match(BaseModel):
    """A C2PA manifest that belongs to the codes."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, validate_by_name=True)

    manifest_id: ManifestId = Field(description="The manifest's identifier.")
    endpoint: Https = Field(description="The Soft Binding Resolution API that has the manifest.")


class Matches(BaseModel):
    """The API's ``c2pa.softBindingQueryResult``."""

    matches: list[Match] = Field(description="What belongs to the codes; empty where nothing does.")


class _Binding(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, alias_generator=to_camel)

    codes: list[Annotated[int, Field(ge=0, lt=1 << BEACON_BITS)]] = Field(min_length=1, max_length=MAX_CODES)
    manifest_id: ManifestId
    endpoint: Https


class _Answer(BaseModel):
    """A match of the provider's API, which need not name an endpoint where it is its own."""

    model_config = ConfigDict(alias_generator=to_camel)

    manifest_id: ManifestId
    endpoint: Https | None = None


class _Answers(BaseModel):
    matches: list[_Answer]


Manifests = Callable[[Codes], Sequence[Match]]
"""The manifests of codes.

Raises:
    ManifestsUnavailable: the provider's API does not answer.
"""


def value_of_codes(codes: Codes) -> str:
    """The value of the soft binding: three bytes for each code, most significant first, in base64."""
    return base64.b64encode(b"".join(code.to_bytes(_CODE_BYTES, "big") for code in codes)).decode()


def codes_of_value(value: str) -> Codes:
    """The codes of a soft binding's value.

    Raises:
        OptionOutOfRange: it is no base64 (RFC 4648, section 4), or not of as many codes as a record has.
    """
    try:
        data = base64.b64decode(value, validate=True)
    except ValueError as error:
        raise OptionOutOfRange("the value is not base64") from error
    codes = tuple(int.from_bytes(data[i : i + _CODE_BYTES], "big") for i in range(0, len(data), _CODE_BYTES))
    whole = len(data) % _CODE_BYTES == 0 and 1 <= len(codes) <= MAX_CODES
    if not whole or any(code >> BEACON_BITS for code in codes):
        raise OptionOutOfRange(f"the value is not of one to {MAX_CODES} codes of {BEACON_BITS} bits, 3 bytes each")
    return codes


def open_manifests(source: str, alg: str) -> Manifests:
    """Where the manifests of codes are looked up.

    Args:
        source: a JSON file, an array of bindings; or the https address of a Soft Binding Resolution API, which is asked
            for each code.
        alg: the name of the algorithm, for the API.

    Raises:
        InputUnreadable, InputTooLarge: see :func:`ctwl_decoder.text.input.read_bytes`.
        ManifestsMalformed: the file is no array of bindings.
        OptionOutOfRange: the address has credentials, a query or a fragment, or another scheme.
    """
    if "://" in source:
        return _Api(source, alg)
    try:
        bindings = TypeAdapter(list[_Binding]).validate_json(read_bytes(source, MAX_FILE))
    except ValidationError as error:
        raise ManifestsMalformed(f"{source} is no array of bindings: {describe_error(error)}") from error
    found: defaultdict[Codes, list[Match]] = defaultdict(list)
    for each in bindings:
        found[tuple(each.codes)].append(Match(manifest_id=each.manifest_id, endpoint=each.endpoint))
    return lambda codes: found.get(codes, [])


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """A redirect is an error: the operator named the address that may be asked."""


class _Api:
    """The provider's own Soft Binding Resolution API."""

    def __init__(self, url: str, alg: str) -> None:
        if not _ADDRESS.fullmatch(url):
            raise OptionOutOfRange(f"{url} is no https address of a named host without credentials, query and fragment")
        self._url, self._alg = url.rstrip("/"), alg
        https = urllib.request.HTTPSHandler(context=ssl.create_default_context())
        self._opener = urllib.request.build_opener(_NoRedirects, https)

    def __call__(self, codes: Codes) -> Sequence[Match]:
        query = urlencode({"alg": self._alg, "value": value_of_codes(codes), "maxResults": MAX_RESULTS})
        try:
            with self._opener.open(f"{self._url}/matches/byBinding?{query}", timeout=SECONDS) as response:
                data = _read(response)
        except (OSError, http.client.HTTPException) as error:  # URLError is an OSError
            raise ManifestsUnavailable(f"{self._url} does not answer: {first_line(error)}") from error
        if data is None:
            raise ManifestsUnavailable(f"{self._url} sends more than {MAX_ANSWER >> 10} KiB, or too slowly")
        try:
            found = _Answers.model_validate_json(data)
        except ValidationError as error:
            raise ManifestsUnavailable(
                f"{self._url} does not answer as the API does: {describe_error(error)}"
            ) from error
        return [Match(manifest_id=each.manifest_id, endpoint=each.endpoint or self._url) for each in found.matches]


def _read(response: http.client.HTTPResponse) -> bytes | None:
    """The body of an answer; None where it is too long, or takes too long."""
    data, ends = bytearray(), time.monotonic() + SECONDS
    while part := response.read1(1 << 16):
        data += part
        if len(data) > MAX_ANSWER or time.monotonic() > ends:
            return None
    return bytes(data)

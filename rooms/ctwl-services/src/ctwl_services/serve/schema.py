"""What the API takes and gives, beside the report: the question, and the facts about the service."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Strict
from starlette.requests import Request

from ctwl_decoder.files import text_of
from ctwl_decoder.options import ALPHA, ScoreName
from ctwl_protocol import Profile
from ctwl_protocol.profile import has_public_key
from ctwl_protocol.registry import ProviderCode

from ..errors import UnsupportedType
from .limits import Limits


def media_type(request: Request) -> str:
    """The media type of a request's body, without its parameters; empty where none is named."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


_CHARSET = re.compile(r";\s*charset\s*=\s*\"?([^\";]*)", re.I)
"""The parser of mail is not asked: there a parameter may have a charset of its own, and Python looks any name up."""

_CHARSETS = {"utf-8", "utf8", "us-ascii", "ascii", "utf-16", "utf-16le", "utf-16be", "koi8-r", "koi8-u", "macintosh"}
_CHARSETS |= {"gb2312", "gbk", "gb18030", "big5", "euc-jp", "iso-2022-jp", "shift_jis", "euc-kr"}
_CHARSETS |= {f"iso-8859-{part}" for part in range(1, 17)} - {"iso-8859-12"} | {f"windows-{1250 + i}" for i in range(9)}
"""What is read, by names that are Python's too. Others are not looked up, because Python remembers each of them."""


def text_in(data: bytes, content_type: str | None, name: str) -> str:
    """The text in bytes of this content type; they are UTF-8 where it names no charset.

    Args:
        data: the bytes.
        content_type: with its parameters.
        name: what a message calls them.

    Raises:
        UnsupportedType: a charset that is not read.
        NotText: see :func:`ctwl_decoder.text.input.text_of`; or the bytes are not of that charset.
    """
    named = _CHARSET.search(content_type or "")
    charset = named[1].strip().lower() if named else "utf-8"
    if charset not in _CHARSETS:
        raise UnsupportedType(f"the charset {charset[:40]!r} is not read here; send UTF-8")
    return text_of(data, name, charset)


def _whole(value: object) -> object:
    """JSON has one kind of number: 3.0 is an integer."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Provider = Annotated[ProviderCode, BeforeValidator(_whole)]
_Version = Annotated[int, Field(ge=0, lt=1 << 4), BeforeValidator(_whole)]


class Question(BaseModel):
    """What to decode, and how."""

    model_config = ConfigDict(extra="forbid", strict=True)

    text: str = Field(description="The text; GET /v1/profile says how long it may be.")
    alpha: float = Field(default=ALPHA, gt=0, lt=1, description="Level of the test.")
    score: ScoreName = Field(
        default="auto",
        description="How positions are scored: by the tokens' ranks alone (light); by the proxy LM (whole), which is "
        "the better of half and race; light where that is conclusive, else whole (auto).",
    )
    beacons: list[Annotated[tuple[Provider, _Version], Strict(False)]] | None = Field(
        default=None,
        min_length=1,
        max_length=1024,
        description="Search for the beacons of these providers and model versions only, which needs less text. "
        "Only for profiles whose codes have 20 bits, which are beacons.",
    )


class Words(BaseModel):
    """The words of a document."""

    text: str = Field(description="The words, as POST /v1/decode takes them.")


class AboutProfile(BaseModel):
    """A profile."""

    name: str = Field(description="The profile's name.")
    digest: str = Field(description="SHA-256 of the profile's canonical encoding.")
    profile: dict[str, Any] = Field(description="The profile; a private one without its key.")

    @classmethod
    def of(cls, profile: Profile) -> AboutProfile:
        """What anybody may know of a profile."""
        shown = profile.model_dump(mode="json", exclude=set() if has_public_key(profile) else {"key"})
        return cls(name=profile.name, digest=profile.digest, profile=shown)


class About(BaseModel):
    """The profiles that this service decodes, and its limits."""

    profiles: list[AboutProfile] = Field(description="The profiles. Each text is read by all of them.")
    max_bytes: int = Field(description="Bytes that a request's body may have.")
    max_characters: int = Field(description="Characters that a text may have.")
    max_tokens: int = Field(description="Tokens that a text may have.")
    max_seconds: float = Field(description="Seconds that a request may take.")

    @classmethod
    def of(cls, profiles: Iterable[Profile], limits: Limits) -> About:
        """The facts about a service of these profiles."""
        return cls(
            profiles=list(map(AboutProfile.of, profiles)),
            max_bytes=limits.body,
            max_characters=limits.characters,
            max_tokens=limits.tokens,
            max_seconds=limits.seconds,
        )

"""What the API takes and gives, beside the report: the question, and the facts about the service."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Strict
from starlette.requests import Request

from ctwl_protocol import Profile
from ctwl_protocol.profile import has_public_key

from ...options import ALPHA, ScoreName
from .limits import Limits

__all__ = ["PROBLEMS", "About", "Question", "media_type"]

PROBLEMS = {
    400: "The body cannot be parsed.",
    408: "The body did not arrive in time.",
    413: "The body or the text is too long.",
    415: "The body is of another media type.",
    422: "An option is out of its range, or the text is not Unicode text.",
    429: "The client has too many requests under way.",
    500: "The service failed.",
    503: "The service is busy, or the request took too long.",
}
"""The statuses of refusals."""


def media_type(request: Request) -> str:
    """The media type of a request's body, without its parameters; empty where none is named."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _whole(value: object) -> object:
    """JSON has one kind of number: 3.0 is an integer."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


_Provider = Annotated[int, Field(ge=0, lt=1 << 10), BeforeValidator(_whole)]
_Version = Annotated[int, Field(ge=0, lt=1 << 4), BeforeValidator(_whole)]


class Question(BaseModel):
    """What to decode, and how."""

    model_config = ConfigDict(extra="forbid", strict=True)

    text: str = Field(description="The text; GET /v1/profile says how long it may be.")
    alpha: float = Field(default=ALPHA, gt=0, lt=1, description="Level of the test.")
    score: ScoreName = Field(
        default="auto",
        description="How positions are scored: by the tokens' ranks alone (light); by the proxy LM (whole), which is "
        "the better of half, for unbiased and delta, and race, for gumbel; light where that is conclusive, else whole "
        "(auto).",
    )
    beacons: list[Annotated[tuple[_Provider, _Version], Strict(False)]] | None = Field(
        default=None,
        min_length=1,
        max_length=1024,
        description="Search for the beacons of these providers and model versions only, which needs less text. "
        "Only for profiles whose codes have 20 bits, which are beacons.",
    )


class About(BaseModel):
    """The profile that this service decodes, and its limits."""

    name: str = Field(description="The profile's name.")
    digest: str = Field(description="SHA-256 of the profile's canonical encoding.")
    profile: dict[str, Any] = Field(description="The profile; a private one without its key.")
    max_bytes: int = Field(description="Bytes that a request's body may have.")
    max_characters: int = Field(description="Characters that a text may have.")
    max_tokens: int = Field(description="Tokens that a text may have.")
    max_seconds: float = Field(description="Seconds that a request may take.")

    @classmethod
    def of(cls, profile: Profile, limits: Limits) -> About:
        """The facts about a service of this profile."""
        return cls(
            name=profile.name,
            digest=profile.digest,
            profile=profile.model_dump(mode="json", exclude=set() if has_public_key(profile) else {"key"}),
            max_bytes=limits.body,
            max_characters=limits.characters,
            max_tokens=limits.tokens,
            max_seconds=limits.seconds,
        )

"""Signposts: which detector of its own the registry names for a provider (spec section 9.8)."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import asdict
from typing import Literal

from ctwl_protocol import Beacon
from ctwl_protocol.records.beacon import BEACON_FIELDS, check_field
from ctwl_protocol.registry import Trusted

from ..words import say
from .model import BetterReader, Data, Signpost, Span
from .wording import no_detector, read_better


class Resolution(Data):
    """Who owns a code, and where to ask. It points, and proves nothing.

    Attributes:
        code: The code that was asked for; None where a provider was.
        provider: The provider's number.
        version: The code's model version; None where a provider was asked for.
        nonce: The code's nonce, as for the version.
        name: The provider's name; None where the registry has none for it.
        model: The model version's name.
        state: What the registry says of the provider.
        contact: The provider's contact.
        signpost: Where to ask; None where the registry names no detector.
        says: The answer in words.
        registry: Which registry answers.
    """

    code: int | None
    provider: int
    version: int | None
    nonce: int | None
    name: str | None
    model: str | None
    state: Literal["active", "retired", "revoked", "unregistered"]
    contact: str | None
    signpost: Signpost | None
    says: str
    registry: str


def signpost(registry: Trusted, provider: int) -> Signpost | None:
    """Where to ask about a provider's texts; None where the registry names no detector, or the code is revoked."""
    owner = registry.registry.provider(provider)
    if owner is None or owner.detector is None or owner.state == "revoked":
        return None
    named = {"name": owner.name, "scheme": owner.detector.scheme, "url": owner.detector.url}
    return Signpost(provider=provider, **named, says=say("ask", **named))


def signposts(registry: Trusted, spans: Iterable[Span]) -> list[Signpost]:
    """Where to ask about the texts in these passages: once for each provider, the newest model of a passage first."""
    hops = (hop.provider for span in spans if span.record for hop in span.record.chain)
    pointers = (signpost(registry, provider) for provider in dict.fromkeys(hops))
    return [each for each in pointers if each]


def better_reader(registry: Trusted, provider: int) -> BetterReader | None:
    """By what a provider's texts show more; None where the registry names no model, or the code is revoked."""
    owner = registry.registry.provider(provider)
    if owner is None or owner.reading_model is None or owner.state == "revoked":
        return None
    says = read_better(owner.name, owner.reading_model)
    return BetterReader(provider=provider, name=owner.name, reading_model=owner.reading_model, says=says)


def resolve_code(registry: Trusted, code: int) -> Resolution:
    """What the registry says of a code of 20 bits, read as a beacon.

    Raises:
        FieldOutOfRange: the code has more than 20 bits or is negative.
    """
    beacon = Beacon.from_code(code)
    model = registry.registry.model(beacon.provider, beacon.version)
    return _resolution(registry, **asdict(beacon), code=code, model=model.name if model else None)


def resolve_provider(registry: Trusted, provider: int) -> Resolution:
    """What the registry says of a provider.

    Raises:
        FieldOutOfRange: the number is out of range.
    """
    check_field("provider", provider, BEACON_FIELDS["provider"])
    return _resolution(registry, provider=provider, code=None, version=None, nonce=None, model=None)


def _resolution(registry: Trusted, provider: int, **fields: int | str | None) -> Resolution:
    owner = registry.registry.provider(provider)
    state = owner.state if owner else "unregistered"
    pointer = signpost(registry, provider)
    return Resolution.model_validate(
        {
            "provider": provider,
            **fields,
            "name": owner.name if owner else None,
            "state": state,
            "contact": owner.contact if owner else None,
            "signpost": pointer,
            "says": pointer.says if pointer else no_detector(provider, owner.name if owner else None, state),
            "registry": registry.label(int(time.time())),
        }
    )

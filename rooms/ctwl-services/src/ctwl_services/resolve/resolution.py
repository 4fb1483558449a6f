"""Who owns a code, and the provider's own detector, by the registry (spec section 9.8)."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Literal

from ctwl_decoder.report import Data, Signpost, signpost
from ctwl_decoder.words import say
from ctwl_protocol import Beacon
from ctwl_protocol.registry import Trusted


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
    Beacon(provider, 0, 0)  # refuses a number out of range
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
            "says": pointer.says if pointer else _no_detector(provider, owner.name if owner else None, state),
            "registry": registry.label(int(time.time())),
        }
    )


def _no_detector(provider: int, name: str | None, state: str) -> str:
    """Why there is no signpost for a provider."""
    if name is None:
        return say("report-no-provider", provider=provider)
    return say("report-revoked" if state == "revoked" else "report-no-detector", name=name)

"""Signposts: which detector of its own the registry names for a provider (spec section 9.8)."""

from __future__ import annotations

from collections.abc import Iterable

from ctwl_protocol.registry import Trusted

from ..words import say
from .model import BetterReader, Signpost, Span
from .wording import read_better


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


def better_reader(registry: Trusted, provider: int, read_by: str | None) -> BetterReader | None:
    """By what a provider's texts show more than by the model that the reader named.

    None where the registry names no other model, or the code is revoked.
    """
    owner = registry.registry.provider(provider)
    if owner is None or owner.reading_model in (None, read_by) or owner.state == "revoked":
        return None
    says = read_better(owner.name, owner.reading_model)
    return BetterReader(provider=provider, name=owner.name, reading_model=owner.reading_model, says=says)

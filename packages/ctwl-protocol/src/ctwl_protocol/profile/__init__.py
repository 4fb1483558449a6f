"""Profiles: every number that encoders and decoders must share (spec section 4)."""

from .document import GPT2, Llama, Profile, ProxyModel, public_key
from .lookup import (
    OFFLINE,
    OFFLINE_MODEL,
    STANDARD,
    TOY,
    TOYS,
    get_profile,
    has_public_key,
    published_names,
    read_by_default,
)

__all__ = [
    "GPT2", "OFFLINE", "OFFLINE_MODEL", "STANDARD", "TOY", "TOYS", "Llama", "Profile", "ProxyModel", "get_profile",
    "has_public_key", "public_key", "published_names", "read_by_default",
]  # fmt: skip

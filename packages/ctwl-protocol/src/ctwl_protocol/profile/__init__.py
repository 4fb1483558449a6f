"""Profiles: every number that encoders and decoders must share (spec section 4)."""

from ..schema import describe_error
from .document import FORMAT, GPT2, Llama, Profile, ProxyFile, ProxyModel, Tokenizer, UniformProxy, public_key
from .lookup import (
    OFFLINE,
    OFFLINE_MODEL,
    STANDARD,
    TOY,
    TOYS,
    get_profile,
    has_public_key,
    load_profile,
    published_names,
    read_profile,
)

__all__ = [
    "FORMAT",
    "GPT2",
    "OFFLINE",
    "OFFLINE_MODEL",
    "STANDARD",
    "TOY",
    "TOYS",
    "Llama",
    "Profile",
    "ProxyFile",
    "ProxyModel",
    "Tokenizer",
    "UniformProxy",
    "describe_error",
    "get_profile",
    "has_public_key",
    "load_profile",
    "public_key",
    "published_names",
    "read_profile",
]

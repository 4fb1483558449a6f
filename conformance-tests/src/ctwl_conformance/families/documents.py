"""Documents: the canonical encoding, profiles and what is made of them (spec sections 4.1 to 4.6)."""

from __future__ import annotations

import json

from ctwl_protocol import Profile, canonical, get_profile
from ctwl_protocol.profile import private, public_key, read_profile

from .family import JSON, Family, refusing, unhex


def _read(document: JSON) -> Profile:
    return read_profile(json.dumps(document).encode())


@refusing
def _canonical(data: JSON) -> JSON:
    return {"encoded": canonical.encode(canonical.decode(unhex(data["bytes"]))).hex()}


def _digest(data: JSON) -> JSON:
    return {"digest": get_profile(data["name"]).digest}


@refusing
def _document(data: JSON) -> JSON:
    given = unhex(data["bytes"]) if "bytes" in data else json.dumps(data["document"]).encode()
    return {"digest": read_profile(given).digest}


def _key(data: JSON) -> JSON:
    return {"key": public_key(data["name"]).hex()}


@refusing
def _personal(data: JSON) -> JSON:
    made = private.for_user(_read(data["profile"]), data["user"])
    return {"name": made.name, "key": made.key.hex(), "digest": made.digest}


@refusing
def _commitment(data: JSON) -> JSON:
    return {"commitment": private.commitment(_read(data["profile"])).hex()}


FAMILIES = (
    Family("canonical", _canonical),
    Family("profile", _digest),
    Family("profile-document", _document),
    Family("public-key", _key),
    Family("personal-profile", _personal),
    Family("commitment", _commitment),
)

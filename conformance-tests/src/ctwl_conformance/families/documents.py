"""Documents: the canonical encoding, profiles and what is made of them (spec sections 4.1 to 4.6)."""

from __future__ import annotations

import json

from ctwl_protocol import Profile, canonical, get_profile
from ctwl_protocol.profile import private, public_key
from ctwl_protocol.profile.lookup import read_profile

from .family import CLIENT, ENCODER, FULL, JSON, LOADER, family, unhex


def _read(document: JSON) -> Profile:
    return read_profile(json.dumps(document).encode())


@family("canonical", asked_of=(LOADER, CLIENT), optional_for=(ENCODER,))
def _canonical(data: JSON) -> JSON:
    return {"encoded": canonical.encode(canonical.decode(unhex(data["bytes"]))).hex()}


@family("profile", asked_of=(LOADER,), optional_for=(ENCODER,))
def _digest(data: JSON) -> JSON:
    return {"digest": get_profile(data["name"]).digest}


@family("profile-document", asked_of=(LOADER,), optional_for=(ENCODER,))
def _document(data: JSON) -> JSON:
    given = unhex(data["bytes"]) if "bytes" in data else json.dumps(data["document"]).encode()
    return {"digest": read_profile(given).digest}


@family("public-key", asked_of=(LOADER,), optional_for=(ENCODER,))
def _key(data: JSON) -> JSON:
    return {"key": public_key(data["name"]).hex()}


@family("personal-profile", optional_for=(FULL, ENCODER))
def _personal(data: JSON) -> JSON:
    made = private.for_user(_read(data["profile"]), data["user"])
    return {"name": made.name, "key": made.key.hex(), "digest": made.digest}


@family("commitment", optional_for=(FULL, ENCODER))
def _commitment(data: JSON) -> JSON:
    profile = _read(data["profile"])
    made = private.certified(profile, bytes.fromhex(data["challenge"]))
    own = private.commitment(profile).hex()
    return {"commitment": own, "name": made.name, "key": made.key.hex(), "digest": made.digest}

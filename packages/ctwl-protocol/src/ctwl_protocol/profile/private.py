"""Private and personal profiles, and the commitment that certifies one before it is shown (spec sections 4.5, 4.6).

A private profile is another profile's numbers under a name and a secret key of one's own: only who holds the key reads
the codes, or writes them. From it a provider derives one exclusive profile for each user, which says nothing of the
provider's own key.
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from pathlib import Path

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from .. import canonical, secret_file
from ..errors import NonCanonical, ProfileMalformed, ProfileNotPrivate, UserMalformed
from .document import FORMAT, Profile, ProxyModel, Tokenizer, public_key
from .lookup import published_names

__all__ = ["MAX_USER", "RESERVED", "check_private", "commitment", "for_user", "new_private", "write_private"]

MAX_USER = 1024
"""Longest user id, in bytes of UTF-8."""

RESERVED = "org.ctwl."
"""Names of the protocol's own profiles begin so."""

_DOMAIN = b"ctwl-private/1/"


def new_private(name: str, like: Profile, model: tuple[Tokenizer, ProxyModel] | None = None) -> Profile:
    """A private profile with a fresh secret key.

    Args:
        name: reverse DNS of its owner, ending in a version.
        like: the profile whose numbers it takes, and whose proxy where no model is given.
        model: a proxy LM of the provider's own, from :func:`ctwl_protocol.profile.model_folder.read_model`.

    Raises:
        ProfileMalformed: the name is no profile name; the numbers do not fit the model.
        ProfileNotPrivate: the name is a published profile's, or reserved.
    """
    tokenizer, proxy = model or (like.tokenizer, like.proxy)
    return _changed(like, name, os.urandom(32), tokenizer=tokenizer.model_dump(), proxy=proxy.model_dump())


def for_user(profile: Profile, user: str) -> Profile:
    """The exclusive profile of a user: the same one whenever it is derived anew.

    The name tells the profile apart and not the user: it is derived with the key, so nobody else can try ids on it.

    Args:
        profile: the provider's private profile.
        user: any text that names the user; its Unicode normal form C counts.

    Raises:
        UserMalformed: the id is empty, too long, or no Unicode text.
        ProfileMalformed: the provider's name leaves no room for the user's part.
        ProfileNotPrivate: from a public profile anybody could derive the same.
    """
    check_private(profile)
    try:
        who = unicodedata.normalize("NFC", user).encode()
    except UnicodeEncodeError as error:
        raise UserMalformed("the user's id is no Unicode text (lone surrogates); give it as UTF-8") from error
    if not 0 < len(who) <= MAX_USER:
        raise UserMalformed(f"the user's id has {len(who)} bytes; it must have 1 to {MAX_USER}")
    tag = _derive(profile, b"user-name/" + who, 16).hex()
    name = re.sub(r"\.(\d+)$", rf".user-{tag}.\1", profile.name)
    return _changed(profile, name, _derive(profile, b"user-key/" + who, 32))


def commitment(profile: Profile) -> bytes:
    """32 bytes that bind their owner to a profile and hide it until it is shown (section 4.6).

    The salt follows from the key, so the profile is all there is to keep.

    Raises:
        ProfileNotPrivate: a public profile has no owner.
    """
    check_private(profile)
    salt = _derive(profile, b"commitment-salt", 32)
    return hashlib.sha256(b"ctwl-commitment/1" + salt + profile.to_bytes()).digest()


def check_private(profile: Profile) -> None:
    """Refuse a profile whose key or name is the public's: whoever certified it would own everybody's texts.

    Raises:
        ProfileNotPrivate: the name is a published profile's or reserved, or the key follows from a public name.
    """
    published = published_names()
    if profile.name in published or profile.name.startswith(RESERVED):
        raise ProfileNotPrivate(
            f"{profile.name} is a name of the protocol's public profiles; take one that begins with a domain of yours"
        )
    if profile.key in {public_key(name) for name in [profile.name, *published]}:
        raise ProfileNotPrivate(f"the key of {profile.name} is public; make a private profile: ctwl-profile new")


def write_private(path: str | Path, profile: Profile, passphrase: str | None = None) -> None:
    """Write a private profile to a new file that a passphrase opens; it is asked for where None is given.

    Raises:
        ProfileNotPrivate: see :func:`check_private`.
        FileUnwritable, PassphraseMissing: see :func:`ctwl_protocol.secret_file.write_secret`.
    """
    check_private(profile)
    secret_file.write_secret(path, profile.to_bytes(), FORMAT, passphrase)


def _derive(profile: Profile, info: bytes, length: int) -> bytes:
    """HKDF-SHA256 (RFC 5869) of the key; the digest as salt tells profiles apart that share one."""
    salt = hashlib.sha256(profile.to_bytes()).digest()
    return HKDF(algorithm=SHA256(), length=length, salt=salt, info=_DOMAIN + info).derive(profile.key)


def _changed(profile: Profile, name: str, key: bytes, **changes: object) -> Profile:
    try:
        made = Profile.from_bytes(canonical.encode({**profile.model_dump(), "name": name, "key": key, **changes}))
    except (NonCanonical, ProfileMalformed) as error:
        raise ProfileMalformed(
            f"there can be no profile {name!r} ({error}); a name has at most 100 characters: a domain of yours in "
            "reverse, in small letters, and a version, such as com.example.mark.1"
        ) from error
    check_private(made)
    return made

"""Private and personal profiles, commitments to them, and what a certificate makes of them (spec sections 4.5, 4.6).

A private profile has the numbers of another profile, a name of its own and a secret key. Only those who have the key
can read or write its codes. From it a provider derives an exclusive profile for each user, which does not reveal the
provider's key. A registry certifies a commitment to a profile, and adds a challenge. From both follows the certified
profile, under which texts are marked that are to be proved: its key is drawn when nothing in the profile can be fitted
to it any more.
"""

from __future__ import annotations

import hashlib
import os
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from .. import canonical, secret_file
from ..errors import NonCanonical, ProfileMalformed, ProfileNotPrivate, ProofUncertified, UserMalformed
from .document import FORMAT, Profile, ProxyModel, Tokenizer, with_part
from .lookup import has_public_key, published_names

if TYPE_CHECKING:
    from ..registry import Registry
    from ..registry.entries import CertificateEntry

MAX_USER = 1024
"""Longest user id, in bytes of UTF-8."""

RESERVED = "org.ctwl."
"""The names of the protocol's own profiles begin with this."""

_DOMAIN = b"ctwl-private/1/"


def new_private(name: str, like: Profile, model: tuple[Tokenizer, ProxyModel] | None = None) -> Profile:
    """A private profile with a fresh secret key.

    Args:
        name: a domain of the owner in reverse, then a version.
        like: the profile with the numbers to take, and with the proxy where no model is given.
        model: the provider's own proxy LM, as ``read_model`` of ctwl-operations reads it.

    Raises:
        ProfileMalformed: the name is no profile name; the numbers do not fit the model.
        ProfileNotPrivate: the name is a published profile's, or reserved.
    """
    tokenizer, proxy = model or (like.tokenizer, like.proxy)
    return _changed(like, name, os.urandom(32), tokenizer=tokenizer.model_dump(), proxy=proxy.model_dump())


def for_user(profile: Profile, user: str) -> Profile:
    """The exclusive profile of a user; the same user always gets the same one.

    The name does not reveal the user: it is derived with the key, so nobody else can test ids against it.

    Args:
        profile: the provider's private profile.
        user: any text that names the user, compared in Unicode normal form C.

    Raises:
        UserMalformed: the id is empty, too long, or no Unicode text.
        ProfileMalformed: the provider's name is too long for the user's part to be added.
        ProfileNotPrivate: the profile is public, so anyone could derive the same.
    """
    check_private(profile)
    try:
        who = unicodedata.normalize("NFC", user).encode()
    except UnicodeEncodeError as error:
        raise UserMalformed("the user's id has lone surrogates, so it is no Unicode text; give it as UTF-8") from error
    if not 0 < len(who) <= MAX_USER:
        raise UserMalformed(f"the user's id has {len(who)} bytes; it must have 1 to {MAX_USER}")
    tag = _derive(profile, b"user-name/" + who, 16).hex()
    return _changed(profile, with_part(profile.name, f"user-{tag}"), _derive(profile, b"user-key/" + who, 32))


def commitment(profile: Profile) -> bytes:
    """32 bytes that commit to a profile and reveal nothing about it (section 4.6).

    The salt is derived from the key, so the owner needs to keep only the profile.

    Raises:
        ProfileNotPrivate: a public profile has no owner.
    """
    check_private(profile)
    salt = _derive(profile, b"commitment-salt", 32)
    return hashlib.sha256(b"ctwl-commitment/1" + salt + profile.to_bytes()).digest()


def certificate_of(profile: Profile, registry: Registry) -> CertificateEntry:
    """The certificate of a private profile.

    Raises:
        ProfileNotPrivate: a public profile has no owner.
        ProofUncertified: the registry has none.
    """
    committed = commitment(profile)
    certificate = registry.certificate(committed)
    if certificate is None:
        raise ProofUncertified(
            f"version {registry.version} of the registry certifies no profile with the commitment {committed.hex()}; "
            "have it certified, or give a newer registry"
        )
    return certificate


def certified(profile: Profile, challenge: bytes) -> Profile:
    """The profile under which an owner marks texts that are to be proved (section 4.6).

    Its key follows from the owner's key, from all that was committed to, and from the challenge. So it is as good as
    drawn when the challenge is, and any change of tokenizer, proxy LM or numbers makes another key.

    Args:
        profile: the private profile that was committed to.
        challenge: of its certificate, 32 bytes.

    Raises:
        ProfileMalformed: the name is too long for ``certified`` to be added.
        ProfileNotPrivate: a public profile has no owner.
    """
    check_private(profile)
    return _changed(profile, with_part(profile.name, "certified"), _derive(profile, b"certified-key/" + challenge, 32))


def check_private(profile: Profile) -> None:
    """Refuse a profile with a public key or a public name: with a certificate for it, one could claim anyone's texts.

    Raises:
        ProfileNotPrivate: the name is a published profile's or reserved, or the key follows from a public name.
    """
    if profile.name in published_names() or profile.name.startswith(RESERVED):
        raise ProfileNotPrivate(
            f"{profile.name} is a name of the protocol's public profiles; take one that begins with your own domain"
        )
    if has_public_key(profile):
        raise ProfileNotPrivate(f"the key of {profile.name} is public; make a private profile: ctwl-profile new")


def write_private(path: str | Path, profile: Profile) -> None:
    """Write a private profile to a new file that a passphrase opens.

    Raises:
        ProfileNotPrivate: see :func:`check_private`.
        FileUnwritable, PassphraseMissing: see :func:`ctwl_protocol.secret_file.write_secret`.
    """
    check_private(profile)
    secret_file.write_secret(path, profile.to_bytes(), FORMAT)


def _derive(profile: Profile, info: bytes, length: int) -> bytes:
    """HKDF-SHA256 (RFC 5869) of the key; the salt is the profile's digest, because two profiles may share a key."""
    salt = hashlib.sha256(profile.to_bytes()).digest()
    return HKDF(algorithm=SHA256(), length=length, salt=salt, info=_DOMAIN + info).derive(profile.key)


def _changed(profile: Profile, name: str, key: bytes, **changes: object) -> Profile:
    try:
        made = Profile.from_bytes(canonical.encode({**profile.model_dump(), "name": name, "key": key, **changes}))
    except (NonCanonical, ProfileMalformed) as error:
        raise ProfileMalformed(
            f"{name!r} cannot be a profile ({error}); a name is your domain in reverse, in small letters, and a "
            "version, such as com.example.mark.1; it has at most 100 characters"
        ) from error
    check_private(made)
    return made

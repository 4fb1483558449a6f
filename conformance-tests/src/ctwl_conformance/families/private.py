"""Private profiles, commitments (spec sections 4.5 and 4.6), and secrets at rest (9.7)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from ctwl_protocol import Profile, canonical, get_profile
from ctwl_protocol.profile import FORMAT, STANDARD, TOY, private, public_key, read_profile
from ctwl_protocol.records.sealing import ProviderKeys
from ctwl_protocol.registry.keys import read_key
from ctwl_protocol.secret_file import unlock

from .family import HEX, HEX32, JSON, STATUS, TEXT, Case, Family, either, refusing, shape
from .profiles import toy_document

__all__ = ["FAMILIES"]


def _read(document: JSON) -> Profile:
    return read_profile(json.dumps(document).encode())


@refusing
def _personal(data: JSON) -> JSON:
    made = private.for_user(_read(data["profile"]), data["user"])
    return {"name": made.name, "key": made.key.hex(), "digest": made.digest}


@refusing
def _commitment(data: JSON) -> JSON:
    return {"commitment": private.commitment(_read(data["profile"])).hex()}


@refusing
def _secret(data: JSON) -> JSON:
    return {"secret": unlock(bytes.fromhex(data["file"]), data["passphrase"], data["purpose"]).hex()}


@refusing
def _locked_keys(data: JSON) -> JSON:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "keys"
        file.write_bytes(bytes.fromhex(data["file"]))
        if data["of"] == "provider":
            return {"secret": ProviderKeys.load(file, data["passphrase"]).secret.hex()}
        return {"secret": read_key(file, data["passphrase"]).private_bytes_raw().hex()}


@refusing
def _locked_profile(data: JSON) -> JSON:
    return {"digest": read_profile(unlock(bytes.fromhex(data["file"]), data["passphrase"], FORMAT)).digest}


def _documents() -> dict[str, JSON]:
    offline: JSON = json.loads(get_profile("org.ctwl.smollm2-135m.1").to_json())
    example = offline | {"name": "com.example.mark.1", "key": bytes(range(32)).hex()}
    return {"the example of 4.5": example, "a private toy profile": toy_document()}


def _posing() -> Iterator[tuple[str, JSON]]:
    """Profiles under which anybody could write."""
    yield "a published profile", json.loads(get_profile(TOY).to_json())
    yield "a name of the protocol's", toy_document(name="org.ctwl.mine.1")
    yield "the public key of its own name", toy_document(key=public_key("com.example.toy.1").hex())
    yield "the key of a published profile", toy_document(key=get_profile(STANDARD).key.hex())
    twin = get_profile("org.ctwl.gpt2.vanilla.1")
    yield "the key of a published twin", toy_document(key=twin.key.hex())


def _personal_cases() -> Iterator[Case]:
    users = ("ann@example.com", "bob@example.com", "\u00e9", "x", "u" * 1024, "\u00fc" * 512)
    for comment, document in _documents().items():
        for user in users:
            who = user if len(user) < 20 else f"{len(user)} times {user[0]}"
            yield f"{comment}, user {who!a}", {"profile": document, "user": user}
    yield "an id that is not in normal form C", {"profile": toy_document(), "user": "e\u0301"}
    yield "an id of no characters", {"profile": toy_document(), "user": ""}
    yield "an id of 1025 bytes", {"profile": toy_document(), "user": "u" * 1025}
    yield "an id of 1026 bytes in 513 characters", {"profile": toy_document(), "user": "\u00fc" * 513}
    yield "a name that leaves no room", {"profile": toy_document(name=f"com.{'a' * 60}.1"), "user": "ann"}
    for comment, document in _posing():
        yield comment, {"profile": document, "user": "ann"}


def _commitment_cases() -> Iterator[Case]:
    for comment, document in _documents().items():
        yield comment, {"profile": document}
        user = private.for_user(_read(document), "ann@example.com")
        yield f"{comment}, a user's", {"profile": json.loads(user.to_json())}
    yield "another key", {"profile": toy_document(key="ff" * 32)}
    yield "another number", {"profile": toy_document(colours=33)}
    for comment, document in _posing():
        yield comment, {"profile": document}


_PURPOSE, _WORDS = "ctwl-provider-keys/1", "open sesame"


def _locked(secret: bytes, passphrase: str, sealed_for: str = _PURPOSE, /, **changes: Any) -> bytes:
    """A file of a secret, made from section 9.7 with a salt and a nonce that are no secret."""
    salt, nonce = bytes(range(16)), bytes(range(12))
    key = Scrypt(salt=salt, length=32, n=1 << 15, r=8, p=1).derive(passphrase.encode())
    sealed = ChaCha20Poly1305(key).encrypt(nonce, secret, sealed_for.encode())
    made = {"format": "ctwl-secret/1", "purpose": sealed_for, "salt": salt, "nonce": nonce, "secret": sealed}
    return canonical.encode({name: value for name, value in (made | changes).items() if value is not ...})


def _secret_cases() -> Iterator[Case]:
    def case(file: bytes, passphrase: str = _WORDS, purpose: str = _PURPOSE) -> JSON:
        return {"file": file.hex(), "passphrase": passphrase, "purpose": purpose}

    secret = canonical.encode(bytes(range(32)))
    sound = _locked(secret, _WORDS)
    altered = sound[:-1] + bytes([sound[-1] ^ 1])
    yield "a provider's secret", case(sound)
    yield "a profile", case(_locked(b"profile", _WORDS, "ctwl-profile/1"), purpose="ctwl-profile/1")
    yield "a passphrase that is no ASCII", case(_locked(secret, "\u4e2d\u00e9"), "\u4e2d\u00e9")
    yield "an empty passphrase", case(_locked(secret, ""), "")
    yield "another passphrase", case(sound, "open sesam")
    yield "a file that was altered", case(altered)
    yield "another purpose than the one asked for", case(sound, purpose="ctwl-profile/1")
    yield "a purpose that was not sealed with it", case(_locked(secret, _WORDS, "other/1", purpose=_PURPOSE))
    yield "another format", case(_locked(secret, _WORDS, format="ctwl-secret/2"))
    yield "a salt of 15 bytes", case(_locked(secret, _WORDS, salt=bytes(15)))
    yield "a nonce of 13 bytes", case(_locked(secret, _WORDS, nonce=bytes(13)))
    yield "a field missing", case(_locked(secret, _WORDS, nonce=...))
    yield "a cost of its own", case(_locked(secret, _WORDS, n=1 << 20))
    yield "a byte behind it", case(sound + b"\xc0")
    yield "truncated", case(sound[:-1])


def _locked_profile_cases() -> Iterator[Case]:
    sound = _read(toy_document()).to_bytes()
    purpose = "ctwl-profile/1"
    for comment, file in (
        ("a private profile", _locked(sound, _WORDS, purpose)),
        ("a provider's secret in its place", _locked(canonical.encode(bytes(32)), _WORDS)),
        ("a locked file that holds no profile", _locked(b"profile", _WORDS, purpose)),
    ):
        yield comment, {"file": file.hex(), "passphrase": _WORDS}


def _locked_keys_cases() -> Iterator[Case]:
    def case(of: str, secret: bytes, purpose: str) -> JSON:
        return {"of": of, "file": _locked(secret, _WORDS, purpose).hex(), "passphrase": _WORDS}

    provider, registry, sound = "ctwl-provider-keys/1", "ctwl-registry-key/1", bytes(range(32))
    yield "a provider's", case("provider", canonical.encode(sound), provider)
    yield "a provider's, raw", case("provider", sound, provider)
    yield "a provider's of 31 bytes", case("provider", canonical.encode(sound[1:]), provider)
    yield "a provider's of 33 bytes", case("provider", canonical.encode(sound + b"\0"), provider)
    yield "a provider's, as text", case("provider", canonical.encode("a" * 32), provider)
    yield "the registry's in place of a provider's", case("provider", canonical.encode(sound), registry)
    yield "the registry's", case("registry", sound, registry)
    yield "the registry's, in canonical encoding", case("registry", canonical.encode(sound), registry)
    yield "the registry's of 31 bytes", case("registry", sound[1:], registry)
    yield "a provider's in place of the registry's", case("registry", sound, provider)


_DOCUMENT = {"type": "object", "description": "a profile as JSON"}

FAMILIES = (
    Family(
        "personal-profile", "4.5",
        "A provider's profile and a user's id to the user's profile, or the status code of the refusal.",
        shape(profile=_DOCUMENT, user=TEXT), either(shape(name=TEXT, key=HEX32, digest=HEX32), STATUS),
        _personal, _personal_cases,
    ),
    Family(
        "commitment", "4.6", "A private profile to its commitment, or the status code of the refusal.",
        shape(profile=_DOCUMENT), either(shape(commitment=HEX32), STATUS), _commitment, _commitment_cases,
    ),
    Family(
        "locked-profile", "4.5",
        "A profile at rest and its passphrase to the profile's digest, or a status code.",
        shape(file=HEX, passphrase=TEXT), either(shape(digest=HEX32), STATUS), _locked_profile, _locked_profile_cases,
    ),
    Family(
        "locked-keys", "9.7",
        "A file of keys, a provider's or the registry's, and its passphrase to the secret of 32 bytes, or a status "
        "code.",
        shape(of={"enum": ["provider", "registry"]}, file=HEX, passphrase=TEXT), either(shape(secret=HEX32), STATUS),
        _locked_keys, _locked_keys_cases,
    ),
    Family(
        "secret-file", "9.7",
        "The bytes of a file, a passphrase and the purpose it is wanted for, to the secret, or a status code.",
        shape(file=HEX, passphrase=TEXT, purpose=TEXT), either(shape(secret=HEX), STATUS), _secret, _secret_cases,
    ),
)  # fmt: skip

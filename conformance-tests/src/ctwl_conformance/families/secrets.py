"""Secrets at rest: profiles and keys in files under a passphrase (spec sections 4.5 and 9.7)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from ctwl_protocol import canonical
from ctwl_protocol.profile import FORMAT, read_profile
from ctwl_protocol.records.sealing import ProviderKeys
from ctwl_protocol.registry.keys import read_key
from ctwl_protocol.secret_file import unlock

from .documents import toy_profile
from .family import JSON, Case, Family, refusing

__all__ = ["FAMILIES"]


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


_PURPOSE, _WORDS = "ctwl-provider-keys/1", "open sesame"


def _locked(secret: bytes, passphrase: str, sealed_for: str = _PURPOSE, /, **changes: Any) -> bytes:
    """A file of a secret, made from section 9.7 with a salt and a nonce that everybody knows."""
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
    for comment, file in (
        ("a private profile", _locked(toy_profile().to_bytes(), _WORDS, FORMAT)),
        ("a provider's secret in its place", _locked(canonical.encode(bytes(32)), _WORDS)),
        ("a locked file that holds no profile", _locked(b"profile", _WORDS, FORMAT)),
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


FAMILIES = (
    Family("locked-profile", _locked_profile, made=_locked_profile_cases),
    Family("locked-keys", _locked_keys, made=_locked_keys_cases),
    Family("secret-file", _secret, made=_secret_cases),
)

"""Secrets at rest: a file that opens with a passphrase (spec section 9.7).

The secret is encrypted with ChaCha20-Poly1305 under a key that scrypt (RFC 7914) makes of the passphrase, with costs
that are fixed, so that no file can ask for more. What the secret is for is bound into the ciphertext: a file of one
kind does not open as another.
"""

from __future__ import annotations

import getpass
import os
import sys
from contextlib import suppress
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from . import canonical
from .errors import FileUnwritable, KeyFileLocked, KeyFileMalformed, NonCanonical, PassphraseMissing
from .files import write_atomically

__all__ = ["VARIABLE", "ask_passphrase", "is_locked", "lock", "read_secret", "unlock", "write_secret"]

VARIABLE = "CTWL_PASSPHRASE"
"""Environment variable that the commands take the passphrase from."""

_FORMAT = "ctwl-secret/1"
_LOG_N, _R, _P = 15, 8, 1
_SALT, _NONCE = 16, 12


def lock(secret: bytes, passphrase: str, purpose: str) -> bytes:
    """Encrypt a secret; canonical MessagePack.

    Args:
        secret: any bytes, at most 48 KiB.
        passphrase: what opens it.
        purpose: what it is for, such as "ctwl-provider-keys/1".
    """
    salt, nonce = os.urandom(_SALT), os.urandom(_NONCE)
    sealed = ChaCha20Poly1305(_key(passphrase, salt)).encrypt(nonce, secret, purpose.encode())
    return canonical.encode({"format": _FORMAT, "purpose": purpose, "salt": salt, "nonce": nonce, "secret": sealed})


def unlock(data: bytes, passphrase: str, purpose: str) -> bytes:
    """Decrypt what :func:`lock` made.

    Raises:
        KeyFileMalformed: these bytes are no such file, or one for another purpose.
        KeyFileLocked: the passphrase is another, or the file was altered.
    """
    try:
        found = canonical.decode(data)
    except NonCanonical as error:
        raise KeyFileMalformed(f"no file of a secret: {error}") from error
    kinds = {"format": str, "purpose": str, "salt": bytes, "nonce": bytes, "secret": bytes}
    if not isinstance(found, dict) or {name: type(value) for name, value in found.items()} != kinds:
        raise KeyFileMalformed("no file of a secret: its fields are others")
    if found["format"] != _FORMAT or len(found["salt"]) != _SALT or len(found["nonce"]) != _NONCE:
        raise KeyFileMalformed("no file of a secret, or one of a newer format")
    if found["purpose"] != purpose:
        raise KeyFileMalformed(f"this file holds {found['purpose'][:80]!r}; what is wanted is {purpose!r}")
    try:
        return ChaCha20Poly1305(_key(passphrase, found["salt"])).decrypt(
            found["nonce"], found["secret"], purpose.encode()
        )
    except InvalidTag as error:
        raise KeyFileLocked("the passphrase does not open this file, or the file was altered") from error


def is_locked(data: bytes) -> bool:
    """Whether these bytes say that they are a file of a secret, of whatever purpose."""
    try:
        found = canonical.decode(data)
    except NonCanonical:
        return False
    return isinstance(found, dict) and found.get("format") == _FORMAT


def _key(passphrase: str, salt: bytes) -> bytes:
    try:
        typed = passphrase.encode()
    except UnicodeEncodeError as error:  # an environment of other bytes
        raise PassphraseMissing(f"the passphrase is no text in UTF-8; mend {VARIABLE}, or type it") from error
    return Scrypt(salt=salt, length=32, n=1 << _LOG_N, r=_R, p=_P).derive(typed)


def ask_passphrase(what: str, *, new: bool = False) -> str:
    """The passphrase from the environment, else from the terminal, there twice where it is ``new``.

    Raises:
        PassphraseMissing: neither; or none was typed, or two different ones.
    """
    given = os.environ.get(VARIABLE)
    if given:
        return given
    if not sys.stdin or not sys.stdin.isatty():
        raise PassphraseMissing(f"no passphrase for {what}; set {VARIABLE}, or run this in a terminal")
    with suppress(EOFError):
        typed = getpass.getpass(f"passphrase for {what}: ")
        if typed and (not new or typed == getpass.getpass("the same again: ")):
            return typed
    raise PassphraseMissing("no passphrase was typed, or two that differ")


def read_secret(path: str | Path, purpose: str, passphrase: str | None = None) -> bytes:
    """Open a file of a secret; asks for the passphrase where None is given.

    Raises:
        KeyFileMalformed: the file cannot be read, or see :func:`unlock`.
        KeyFileLocked, PassphraseMissing: see :func:`unlock` and :func:`ask_passphrase`.
    """
    try:
        with Path(path).open("rb") as file:
            data = file.read(canonical.MAX_BYTES + 1)
    except OSError as error:
        raise KeyFileMalformed(f"cannot read {path}: {error.strerror}") from error
    try:
        return unlock(data, passphrase if passphrase is not None else ask_passphrase(str(path)), purpose)
    except (KeyFileMalformed, KeyFileLocked) as error:
        raise type(error)(f"{path}: {error}") from error


def write_secret(path: str | Path, secret: bytes, purpose: str, passphrase: str | None = None) -> None:
    """Write a new file of a secret, readable by its owner alone; asks for the passphrase where None is given.

    Raises:
        FileUnwritable: there is such a file already, or none can be written.
        PassphraseMissing: see :func:`ask_passphrase`.
    """
    if Path(path).exists():
        raise FileUnwritable(f"{path} exists already; a secret is never overwritten")
    data = lock(secret, passphrase if passphrase is not None else ask_passphrase(str(path), new=True), purpose)
    write_atomically(path, data, mode=0o600, new=True)

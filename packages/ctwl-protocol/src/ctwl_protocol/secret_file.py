"""Secrets at rest: a file that a passphrase opens (spec section 9.7).

The secret is encrypted with ChaCha20-Poly1305. Its key comes from the passphrase by scrypt (RFC 7914), whose costs are
fixed, so no file can ask for more work. The ciphertext is bound to the purpose of the secret: a file of one kind does
not open as another.
"""

from __future__ import annotations

import getpass
import os
import sys
import unicodedata
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
from pydantic import Field

from . import canonical
from .environment import PASSPHRASE
from .errors import FileUnwritable, KeyFileLocked, KeyFileMalformed, NonCanonical, PassphraseMissing
from .files import explaining, read_bounded, write_atomically
from .schema import Document

_LOG_N, _R, _P = 15, 8, 1
_SALT, _NONCE = 16, 12


class _SecretFile(Document):
    """What the file holds.

    Attributes:
        purpose: what the secret is for, such as "ctwl-provider-keys/1".
        salt: scrypt's.
        nonce: ChaCha20-Poly1305's.
        secret: the ciphertext with its tag.
    """

    MALFORMED = KeyFileMalformed

    format: Literal["ctwl-secret/1"]
    purpose: str
    salt: Annotated[bytes, Field(min_length=_SALT, max_length=_SALT)]
    nonce: Annotated[bytes, Field(min_length=_NONCE, max_length=_NONCE)]
    secret: bytes


def lock(secret: bytes, passphrase: str, purpose: str) -> bytes:
    """Encrypt a secret.

    Args:
        secret: any bytes, at most 48 KiB.
        passphrase: what opens it.
        purpose: what the secret is for, such as "ctwl-provider-keys/1".

    Returns:
        Canonical MessagePack.

    Raises:
        PassphraseMissing: the passphrase is no Unicode text.
    """
    salt, nonce = os.urandom(_SALT), os.urandom(_NONCE)
    sealed = ChaCha20Poly1305(_key(passphrase, salt)).encrypt(nonce, secret, purpose.encode())
    return _SecretFile(format="ctwl-secret/1", purpose=purpose, salt=salt, nonce=nonce, secret=sealed).to_bytes()


def unlock(data: bytes, passphrase: str, purpose: str) -> bytes:
    """Decrypt what :func:`lock` made.

    Raises:
        KeyFileMalformed: these bytes are no secret file, or one for another purpose.
        KeyFileLocked: the passphrase is wrong, or the file was altered.
        PassphraseMissing: the passphrase is no Unicode text.
    """
    file = _SecretFile.from_bytes(data)
    if file.purpose != purpose:
        raise KeyFileMalformed(f"this file holds {file.purpose[:80]!r}; give one that holds {purpose!r}")
    try:
        return ChaCha20Poly1305(_key(passphrase, file.salt)).decrypt(file.nonce, file.secret, purpose.encode())
    except InvalidTag as error:
        raise KeyFileLocked("the passphrase does not open this file, or the file was altered") from error


def is_locked(data: bytes) -> bool:
    """Whether these bytes claim to be a secret file, for whatever purpose."""
    try:
        document = canonical.decode(data)
    except NonCanonical:
        return False
    return isinstance(document, dict) and document.get("format") == "ctwl-secret/1"


def _key(passphrase: str, salt: bytes) -> bytes:
    try:
        typed = unicodedata.normalize("NFC", passphrase).encode()  # keyboards and systems compose letters or not
    except UnicodeEncodeError as error:  # an environment variable whose bytes are not UTF-8
        what = f"the passphrase is not UTF-8; correct {PASSPHRASE.name}, or type the passphrase"
        raise PassphraseMissing(what) from error
    return Scrypt(salt=salt, length=32, n=1 << _LOG_N, r=_R, p=_P).derive(typed)


def ask_passphrase(what: str, *, new: bool = False) -> str:
    """The passphrase, from the environment or else from the terminal; a ``new`` one is typed twice.

    Raises:
        PassphraseMissing: there is neither; or nothing was typed, or two different passphrases.
    """
    passphrase = PASSPHRASE.value()
    if passphrase:
        return passphrase
    if not sys.stdin or not sys.stdin.isatty():
        raise PassphraseMissing(f"no passphrase for {what}; set {PASSPHRASE.name}, or run this in a terminal")
    with suppress(EOFError):
        typed = getpass.getpass(f"passphrase for {what}: ")
        if typed and (not new or typed == getpass.getpass("repeat it: ")):
            return typed
    raise PassphraseMissing("no passphrase was typed, or the two differ; try again")


def read_secret(path: str | Path, purpose: str, passphrase: str | None = None) -> bytes:
    """Open a secret file; where ``passphrase`` is None, :func:`ask_passphrase` provides it.

    Raises:
        KeyFileMalformed: the file cannot be read, or see :func:`unlock`.
        KeyFileLocked, PassphraseMissing: see :func:`unlock` and :func:`ask_passphrase`.
    """
    with explaining(f"read {path}", KeyFileMalformed):
        data = read_bounded(path, _SecretFile.MAX_BYTES)
    return unlock_file(path, data, purpose, passphrase)


def unlock_file(path: str | Path, data: bytes, purpose: str, passphrase: str | None = None) -> bytes:
    """Open what was read from a secret file; see :func:`read_secret`."""
    try:
        return unlock(data, passphrase if passphrase is not None else ask_passphrase(str(path)), purpose)
    except (KeyFileMalformed, KeyFileLocked) as error:
        raise type(error)(f"{path}: {error}") from error


def write_secret(path: str | Path, secret: bytes, purpose: str, passphrase: str | None = None) -> None:
    """Write a new secret file, which only its owner can read; for ``passphrase`` see :func:`read_secret`.

    Raises:
        FileUnwritable: the file exists already, or cannot be written.
        PassphraseMissing: see :func:`ask_passphrase`.
    """
    if Path(path).exists():
        raise FileUnwritable(f"{path} exists already; a secret is never overwritten")
    data = lock(secret, passphrase if passphrase is not None else ask_passphrase(str(path), new=True), purpose)
    write_atomically(path, data, mode=0o600, new=True)

"""Secrets at rest: profiles and keys in files under a passphrase (spec sections 4.5 and 9.7)."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from ctwl_protocol.profile.document import FORMAT
from ctwl_protocol.profile.lookup import read_profile
from ctwl_protocol.records.sealing import ProviderKeys
from ctwl_protocol.registry.keys import read_key
from ctwl_protocol.secret_file import unlock

from .family import ENCODER, FULL, JSON, family


@family("secret-file", optional_for=(FULL, ENCODER))
def _secret(data: JSON) -> JSON:
    return {"secret": unlock(bytes.fromhex(data["file"]), data["passphrase"], data["purpose"]).hex()}


@family("locked-keys", optional_for=(FULL, ENCODER))
def _locked_keys(data: JSON) -> JSON:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "keys"
        file.write_bytes(bytes.fromhex(data["file"]))
        if data["of"] == "provider":
            return {"secret": ProviderKeys.load(file, data["passphrase"]).secret.hex()}
        return {"secret": read_key(file, data["passphrase"]).private_bytes_raw().hex()}


@family("locked-profile", optional_for=(FULL, ENCODER))
def _locked_profile(data: JSON) -> JSON:
    return {"digest": read_profile(unlock(bytes.fromhex(data["file"]), data["passphrase"], FORMAT)).digest}

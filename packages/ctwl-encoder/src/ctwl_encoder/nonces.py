"""How many nonces texts are drawn from: a reader does not look for more of them than a registry entry declares."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from ctwl_protocol import Beacon, Profile
from ctwl_protocol.errors import RegistryError
from ctwl_protocol.profile import has_public_key
from ctwl_protocol.records.beacon import NONCE_COUNT
from ctwl_protocol.registry import Registry, bundled, load_trusted
from ctwl_protocol.registry.store import state_folder

from .errors import OptionOutOfRange


def nonces_for(
    profile: Profile, provider: int, version: int, *, nonces: int | None = None, nonce: int | None = None
) -> int:
    """How many nonces the texts of a model version are drawn from, 1 to 64.

    Args:
        profile: under a private one no registry has a say.
        provider: 0 to 1023.
        version: 0 to 15.
        nonces: as many as are asked for; None for as many as the registry that this machine trusts declares, else all.
        nonce: the one that is asked for, if any.

    Raises:
        FieldOutOfRange: provider, version or nonce is none.
        OptionOutOfRange: the registry declares fewer; or the nonce is none of these.
        RegistryError: see :func:`ctwl_protocol.registry.load_trusted`.
    """
    Beacon(provider, version, nonce or 0)
    declared = _trusted(_folder()).nonces(provider, version) if has_public_key(profile) else NONCE_COUNT
    count = declared if nonces is None else nonces
    if count > declared or (nonce or 0) >= declared:
        asked = f"nonces is {nonces}" if count > declared else f"nonce is {nonce}"
        raise OptionOutOfRange(
            f"{asked}, but the registry declares {declared} nonces of provider {provider}, version {version}, so a "
            f"reader would not find the text; take fewer, or have the operator raise the number first"
        )
    if (nonce or 0) >= count:
        raise OptionOutOfRange(f"nonce is {nonce}, but nonces is {count}; the nonces are 0 to {count - 1}")
    return count


def _folder() -> Path | None:
    """Where this machine keeps what it trusts; None for a user without a place for it."""
    try:
        return state_folder()
    except RegistryError:
        return None


@lru_cache(maxsize=1)
def _trusted(folder: Path | None) -> Registry:
    """The registry that this machine trusts, read once in a process: a declared number only grows."""
    return (load_trusted(folder) if folder else bundled()).registry

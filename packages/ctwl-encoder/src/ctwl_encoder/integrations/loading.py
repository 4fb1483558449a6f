"""Bridges by name, for engines that are configured with names alone."""

from __future__ import annotations

from functools import lru_cache

from ctwl_protocol.proxy import Proxy, open_proxy

from ..core.bridge import Bridge
from ..models import load_tokenizer

__all__ = ["open_bridge"]


@lru_cache(maxsize=4)
def open_bridge(profile: str, tokenizer: str, proxy_path: str | None, device: str) -> Bridge:
    """Load a tokenizer and a profile's proxy by name, and bridge them; the next call with the same names is free.

    Raises:
        TokenizerUnsupported: there is no such tokenizer, or see :class:`ctwl_encoder.core.bridge.Bridge`.
        CTWLError: see :func:`ctwl_protocol.proxy.open_proxy`.
    """
    return Bridge(load_tokenizer(tokenizer), _open_proxy(profile, proxy_path, device))


@lru_cache(maxsize=4)
def _open_proxy(profile: str, proxy_path: str | None, device: str) -> Proxy:
    return open_proxy(profile, path=proxy_path, device=device, lazy=True, fast=True)

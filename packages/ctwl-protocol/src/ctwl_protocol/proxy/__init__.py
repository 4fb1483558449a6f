"""The proxy runner: from a profile to integer weights, shared by encoder and decoder (spec section 5).

The tokenizer and the forward pass in NumPy need ``ctwl-protocol[light]`` (numba, safetensors, tokenizers), the rest
``ctwl-protocol[proxy]`` (torch and transformers, too). What needs torch is loaded when it is asked for: that takes
seconds.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .files import ProxyFiles, cache_folder, find_files, how_to_install_offline, hub_answers
from .forward import ForwardPass
from .later import LaterProxy, open_later
from .rivals import Rivals
from .tensors import load_tensors
from .tokenizer import ProxyTokenizer
from .weigher import Weigher, open_weigher

if TYPE_CHECKING:
    from .model import build_model, choose_device, fast_arithmetic, load_proxy_model
    from .runner import Proxy, open_proxy

__all__ = [
    "ForwardPass",
    "LaterProxy",
    "Proxy",
    "ProxyFiles",
    "ProxyTokenizer",
    "Rivals",
    "Weigher",
    "build_model",
    "cache_folder",
    "choose_device",
    "fast_arithmetic",
    "find_files",
    "how_to_install_offline",
    "hub_answers",
    "load_proxy_model",
    "load_tensors",
    "open_later",
    "open_proxy",
    "open_weigher",
]


def __getattr__(name: str) -> Any:
    if name in ("Proxy", "open_proxy"):
        return getattr(import_module(".runner", __name__), name)
    if name in ("build_model", "choose_device", "fast_arithmetic", "load_proxy_model"):
        return getattr(import_module(".model", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""The proxy runner: from a profile to integer weights, shared by encoder and decoder (spec section 5).

Needs the extra ``ctwl-protocol[proxy]`` (torch, transformers, numba).
"""

from .files import ProxyFiles, cache_folder, find_files, hub_answers
from .model import build_model, fast_arithmetic, load_proxy_model, load_tensors
from .runner import Proxy, choose_device, open_proxy
from .tokenizer import ProxyTokenizer

__all__ = [
    "Proxy",
    "ProxyFiles",
    "ProxyTokenizer",
    "build_model",
    "cache_folder",
    "choose_device",
    "fast_arithmetic",
    "find_files",
    "hub_answers",
    "load_proxy_model",
    "load_tensors",
    "open_proxy",
]

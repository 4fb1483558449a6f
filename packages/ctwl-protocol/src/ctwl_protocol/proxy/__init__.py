"""The proxy LM: from a profile to weights of tokens, shared by encoder and decoder (spec section 5).

The tokenizer and the forward pass in NumPy need ``ctwl-protocol[light]`` (numba, safetensors, tokenizers). What is in
:mod:`.model` needs ``ctwl-protocol[proxy]`` (torch and transformers, too).
"""

from .files import ProxyFiles, cache_folder, find_files, how_to_install_offline, hub_answers, load_tensors
from .forward import ForwardPass
from .rivals import Rivals
from .runner import Proxy, open_proxy
from .tokenizer import ProxyTokenizer

__all__ = [
    "ForwardPass",
    "Proxy",
    "ProxyFiles",
    "ProxyTokenizer",
    "Rivals",
    "cache_folder",
    "find_files",
    "how_to_install_offline",
    "hub_answers",
    "load_tensors",
    "open_proxy",
]

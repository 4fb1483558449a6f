"""The proxy LM: from a profile to weights of tokens, shared by encoder and decoder (spec section 5).

The tokenizer and the forward pass in NumPy need ``ctwl-protocol[light]`` (safetensors, tokenizers). What is in
:mod:`.model` needs ``ctwl-protocol[proxy]`` (torch and transformers, too).
"""

from ..text.blocks import Block
from .files import find_files, load_tensors
from .forward import ForwardPass
from .rivals import Rivals
from .runner import Proxy, open_proxy
from .tokenizer import ProxyTokenizer

__all__ = ["Block", "ForwardPass", "Proxy", "ProxyTokenizer", "Rivals", "find_files", "load_tensors", "open_proxy"]

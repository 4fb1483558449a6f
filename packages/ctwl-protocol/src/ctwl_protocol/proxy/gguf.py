"""From a GGUF file to the three files that every proxy has: tensors, vocabulary, merges (spec section 5.3).

The file is verified before it comes here. The package gguf reads and dequantizes it; this module only writes what that
reads in one canonical form, so that its digests can be pinned.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ProxyMalformed, ProxyNotFound, needing
from ..profile.document import GPT2, Architecture
from .tensors import tensor_shapes

_OUTPUT = "lm_head.weight"
"""Of models whose output layer is tied, too: their files may repeat it."""


def write_tokenizer(source: Path, vocab: Path, merges: Path) -> None:
    """Write ``vocab.json`` (in order of ids, no white space) and ``merges.txt`` of a GGUF file.

    Raises:
        ProxyMalformed: the file has no byte-level BPE tokenizer.
    """
    fields = _reader(source).fields
    if "tokenizer.ggml.merges" not in fields or fields["tokenizer.ggml.model"].contents() != "gpt2":
        raise ProxyMalformed(f"{source} holds no byte-level BPE tokenizer")
    tokens = fields["tokenizer.ggml.tokens"].contents()
    pairs = fields["tokenizer.ggml.merges"].contents()
    for path, data in zip((vocab, merges), tokenizer_bytes(tokens, pairs), strict=True):
        path.write_bytes(data)


def tokenizer_bytes(tokens: Sequence[str], merges: Sequence[str]) -> tuple[bytes, bytes]:
    """The bytes of ``vocab.json`` and ``merges.txt``, from tokens in order of their ids and merges in theirs."""
    ids = {token: i for i, token in enumerate(tokens)}
    lines = ["#version: 0.2", *merges]
    return (
        json.dumps(ids, ensure_ascii=False, separators=(",", ":")).encode(),
        "".join(f"{line}\n" for line in lines).encode(),
    )


def write_tensors(source: Path, target: Path, architecture: Architecture) -> None:
    """Write the dequantized float32 tensors of a GGUF file as safetensors, under transformers' names.

    Raises:
        ProxyMalformed: the file holds no model of the architecture's family.
    """
    reader = _reader(source)
    from gguf import MODEL_ARCH, get_tensor_name_map
    from safetensors.numpy import save

    known = get_tensor_name_map(MODEL_ARCH[architecture.family.upper()], architecture.layers)
    names = {known.get_name(name, (".weight", ".bias")): name for name in (*tensor_shapes(architecture), _OUTPUT)}
    try:
        if (family := reader.fields["general.architecture"].contents()) != architecture.family:
            raise ValueError(f"it is of the family {family}")
        tensors = {names[each.name]: _made(each, names[each.name], architecture) for each in reader.tensors}
    except (KeyError, ValueError, NotImplementedError) as error:
        raise ProxyMalformed(f"{source} holds no tensors of a {architecture.family} model: {error}") from error
    target.write_bytes(save(tensors))


def _made(tensor: Any, name: str, architecture: Architecture) -> NDArray[np.float32]:
    from gguf.quants import dequantize

    array: NDArray[np.float32] = dequantize(tensor.data, tensor.tensor_type).reshape(tensor.shape[::-1])
    if isinstance(architecture, GPT2):  # transformers keeps its layers as (in, out)
        return np.ascontiguousarray(array.T) if ".h." in name and array.ndim == 2 else array
    heads = {"q_proj": architecture.heads, "k_proj": architecture.key_value_heads}.get(name.split(".")[-2])
    if heads:  # llama.cpp rotates neighbours, transformers the two halves of a head
        array = array.reshape(heads, -1, 2, array.shape[1]).swapaxes(1, 2).reshape(array.shape)
    return array


def _reader(source: Path) -> Any:
    with needing("ctwl-protocol", ProxyNotFound, "offline", "reading a GGUF file"):
        import gguf
    return gguf.GGUFReader(source)

"""From a GGUF file to the three files that every proxy has: tensors, vocabulary, merges (spec section 5.3).

The file is verified before it comes here. The package gguf reads and dequantizes it; this module only writes what that
reads in one canonical form, so that its digests can be pinned.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ProxyMalformed, ProxyNotFound
from .tensors import Stored, write_safetensors


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


_LLAMA = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_GPT2 = {
    "token_embd": "transformer.wte",
    "position_embd": "transformer.wpe",
    "output_norm": "transformer.ln_f",
    "output": "lm_head",
    "attn_norm": "ln_1",
    "attn_qkv": "attn.c_attn",
    "attn_output": "attn.c_proj",
    "ffn_norm": "ln_2",
    "ffn_up": "mlp.c_fc",
    "ffn_down": "mlp.c_proj",
}
_FAMILIES = {"llama": ("model.layers", _LLAMA), "gpt2": ("transformer.h", _GPT2)}


def write_tensors(source: Path, target: Path) -> None:
    """Write the dequantized float32 tensors of a GGUF file as safetensors, under transformers' names.

    Raises:
        ProxyMalformed: the file holds no model of a family that profiles state.
    """
    reader = _reader(source)
    try:
        write_safetensors([_stored(reader, tensor) for tensor in reader.tensors], target)
    except (KeyError, ValueError, NotImplementedError) as error:
        raise ProxyMalformed(f"{source} holds no tensors of a {' or '.join(_FAMILIES)} model: {error}") from error


def _stored(reader: Any, tensor: Any) -> Stored:
    family = reader.fields["general.architecture"].contents()
    prefix, names = _FAMILIES[family]
    parts = re.fullmatch(r"(?:blk\.(\d+)\.)?(\w+)\.(weight|bias)", tensor.name)
    if parts is None or parts[2] not in names:
        raise ValueError(f"unknown tensor {tensor.name}")
    name = f"{names[parts[2]]}.{parts[3]}"
    shape = tuple(map(int, reversed(tensor.shape)))
    heads, transposed = 0, False
    if parts[1] is not None:
        name = f"{prefix}.{parts[1]}.{name}"
        transposed = family == "gpt2" and len(shape) == 2  # transformers keeps GPT-2's as (in, out)
        if family == "llama" and parts[2] in ("attn_q", "attn_k"):
            field = "llama.attention.head_count" + ("_kv" if parts[2] == "attn_k" else "")
            heads = reader.fields[field].contents()

    def make() -> NDArray[np.float32]:
        from gguf.quants import dequantize

        array: NDArray[np.float32] = dequantize(tensor.data, tensor.tensor_type).reshape(shape)
        if heads:  # llama.cpp rotates neighbours, transformers the two halves of a head
            array = array.reshape(heads, -1, 2, shape[1]).swapaxes(1, 2).reshape(shape)
        return array.T if transposed else array

    return name, shape[::-1] if transposed else shape, make


def _reader(source: Path) -> Any:
    try:
        import gguf
    except ImportError as error:
        raise ProxyNotFound(
            "reading a GGUF file needs the package gguf; install it with: pip install 'ctwl-protocol[offline]'"
        ) from error
    return gguf.GGUFReader(source)

"""From a GGUF file to the three files that every proxy has: tensors, vocabulary, merges (spec section 5.3).

The file is verified before it comes here. transformers and gguf read it; this module only writes what they read in one
canonical form, so that its digests can be pinned.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, redirect_stderr
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ProxyMalformed, ProxyNotFound

if TYPE_CHECKING:
    import torch

__all__ = ["quiet", "tensors_digest", "tokenizer_bytes", "write_tensors", "write_tokenizer"]


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


def write_tensors(source: Path, target: Path) -> None:
    """Write the dequantized float32 tensors of a GGUF file as safetensors, under transformers' names."""
    _reader(source)  # a clear error where the extra is missing
    from safetensors.torch import save_file
    from transformers import AutoModelForCausalLM

    with quiet():
        model = AutoModelForCausalLM.from_pretrained(source.parent, gguf_file=source.name, local_files_only=True)
    tied = model.config.tie_word_embeddings
    tensors = {
        name: tensor.contiguous()
        for name, tensor in model.state_dict().items()
        if not (tied and name == "lm_head.weight")
    }
    save_file(tensors, target)


def tensors_digest(tensors: Mapping[str, torch.Tensor]) -> bytes:
    """SHA-256 of tensors, whatever container they came in.

    For each tensor in ascending order of its name: the name's length (u32) and UTF-8 bytes, the number of dimensions
    (u32), each dimension (u64), the elements as little-endian float32 in row-major order.
    """
    digest = hashlib.sha256()
    for name in sorted(tensors):
        if str(tensors[name].dtype) != "torch.float32":
            raise ProxyMalformed(f"tensor {name} is {tensors[name].dtype}, not float32")
        array = tensors[name].numpy()
        encoded = name.encode()
        digest.update(struct.pack("<I", len(encoded)) + encoded)
        digest.update(struct.pack(f"<I{array.ndim}Q", array.ndim, *array.shape))
        digest.update(array.astype("<f4", copy=False).data.cast("B") if array.size else b"")
    return digest.digest()


def quiet() -> AbstractContextManager[object]:
    """Hold back the progress bars that transformers draws on stderr; its errors are raised, not printed."""
    return redirect_stderr(StringIO())


def _reader(source: Path) -> Any:
    try:
        import gguf
    except ImportError as error:
        raise ProxyNotFound(
            "reading a GGUF file needs two more packages; install them with: pip install 'ctwl-protocol[offline]'"
        ) from error
    return gguf.GGUFReader(source)

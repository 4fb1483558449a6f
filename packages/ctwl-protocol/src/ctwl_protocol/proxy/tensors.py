"""A proxy LM's tensors as NumPy arrays: their files, their digest, and which of them an architecture has."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import ProxyMalformed, ProxyNotFound
from ..files import explaining, open_file
from ..profile.document import GPT2, Architecture, Llama

Tensors: TypeAlias = Mapping[str, NDArray[np.float32]]
"""A proxy LM's tensors by name: float32, of any shape."""

# Old checkpoints hold causal masks as bytes or booleans.
_KINDS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "U8": "u1", "BOOL": "u1"}


def read_tensors(path: Path) -> Tensors:
    """Read a safetensors file; half precision becomes float32, bfloat16 too, which NumPy does not have.

    Raises:
        ProxyNotFound: it cannot be read.
        ProxyMalformed: it is no safetensors file, or one of integers.
    """
    from safetensors import SafetensorError, safe_open

    tensors = {}
    try:
        with explaining(f"read {path}", ProxyNotFound), open_file(path) as file:
            with safe_open(path, framework="np"):
                pass  # only to have the header checked, and the file's size
            size = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(size))
            header.pop("__metadata__", None)
            for name, stated in header.items():
                file.seek(8 + size + stated["data_offsets"][0])
                kind, shape = stated["dtype"], stated["shape"]
                if kind not in _KINDS:
                    raise ProxyMalformed(f"tensor {name} in {path} is {kind}; save the model in float32")
                read = np.fromfile(file, _KINDS[kind], prod(shape)).reshape(shape)
                if kind == "BF16":
                    read = np.left_shift(read, 16, dtype=np.uint32).view(np.float32)
                tensors[name] = read.astype(np.float32, copy=False)
    except SafetensorError as error:
        raise ProxyMalformed(
            f"{path} is cut short, or no safetensors file ({error}); remove it and run again, or give the right file"
        ) from error
    return tensors


def tensors_digest(tensors: Tensors) -> bytes:
    """SHA-256 of tensors, whatever container they came in (spec section 5.3).

    For each tensor in ascending order of its name: the name's length (u32) and UTF-8 bytes, the number of dimensions
    (u32), each dimension (u64), the elements as little-endian float32 in row-major order.
    """
    digest = hashlib.sha256()
    for name in sorted(tensors):
        array, encoded = tensors[name], name.encode()
        digest.update(struct.pack("<I", len(encoded)) + encoded)
        digest.update(struct.pack(f"<I{array.ndim}Q", array.ndim, *array.shape))
        digest.update(np.ascontiguousarray(array, "<f4").reshape(-1).view(np.uint8).data)
    return digest.digest()


def tensor_shapes(architecture: Architecture) -> dict[str, tuple[int, ...]]:
    """Names, as transformers has them, and shapes of an architecture's tensors; a tied output layer is left out."""
    width = architecture.width
    shapes: dict[str, tuple[int, ...]]
    if isinstance(architecture, Llama):
        keys = width // architecture.heads * architecture.key_value_heads
        shapes = {"model.embed_tokens.weight": (architecture.rows, width), "model.norm.weight": (width,)}
        if not architecture.tied:
            shapes["lm_head.weight"] = (architecture.rows, width)
        layer = {
            "input_layernorm.weight": (width,),
            "self_attn.q_proj.weight": (width, width),
            "self_attn.k_proj.weight": (keys, width),
            "self_attn.v_proj.weight": (keys, width),
            "self_attn.o_proj.weight": (width, width),
            "post_attention_layernorm.weight": (width,),
            "mlp.gate_proj.weight": (architecture.feed_forward, width),
            "mlp.up_proj.weight": (architecture.feed_forward, width),
            "mlp.down_proj.weight": (width, architecture.feed_forward),
        }
        prefix = "model.layers"
    else:
        linear = {"attn.c_attn": (1, 3), "attn.c_proj": (1, 1), "mlp.c_fc": (1, 4), "mlp.c_proj": (4, 1)}
        layer = {f"{name}.{kind}": (width,) for name in ("ln_1", "ln_2") for kind in ("weight", "bias")}
        layer |= {f"{name}.weight": (rows * width, columns * width) for name, (rows, columns) in linear.items()}
        layer |= {f"{name}.bias": (columns * width,) for name, (_, columns) in linear.items()}
        shapes = {
            "transformer.wte.weight": (architecture.rows, width),
            "transformer.wpe.weight": (architecture.positions, width),
            "transformer.ln_f.weight": (width,),
            "transformer.ln_f.bias": (width,),
        }
        prefix = "transformer.h"
    each = {f"{prefix}.{i}.{name}": shape for i in range(architecture.layers) for name, shape in layer.items()}
    return shapes | each


def fitting(architecture: Architecture, tensors: Tensors) -> Tensors:
    """An architecture's tensors under the names of :func:`tensor_shapes`.

    Args:
        architecture: the numbers.
        tensors: as :func:`read_tensors` read them; GPT-2's may lack the prefix ``transformer.`` and may hold the causal
            masks that old checkpoints carry. A tied output layer may stand beside the embedding.

    Raises:
        ProxyMalformed: a tensor is missing, unknown or of another shape.
    """
    shapes, named = tensor_shapes(architecture), dict(tensors)
    if isinstance(architecture, GPT2):
        named = {
            name if name.startswith(("transformer.", "lm_head.")) else f"transformer.{name}": tensor
            for name, tensor in tensors.items()
            if not name.endswith((".attn.bias", ".attn.masked_bias"))
        }
    if "lm_head.weight" not in shapes:
        named.pop("lm_head.weight", None)
    for name in sorted(shapes.keys() | named.keys()):
        stated, shape = shapes.get(name), named[name].shape if name in named else None
        if shape != stated:
            raise ProxyMalformed(
                f"tensor {name}: the architecture has {_shape(stated)}, the weights have {_shape(shape)}; give the "
                "weights of the model that the profile names"
            )
    return named


def _shape(shape: tuple[int, ...] | None) -> str:
    return "no such tensor" if shape is None else str(list(shape))

"""The proxy LM's forward pass in NumPy: float32, without torch or transformers.

One sequence at a time: GPT-2 (Radford et al. 2019) and Llama (Touvron et al. 2023), as transformers computes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import ProxyMalformed, TokenOutOfRange
from ..profile.document import GPT2, Architecture, Llama
from .tensors import Tensors, fitting

Arithmetic: TypeAlias = Literal["float32", "bfloat16", "integer"]
"""What a proxy LM's layers compute in: the reference, or the fast way; "integer" where there is no proxy LM."""

Floats = NDArray[np.float32]

_BLOCK = 64
"""Queries whose scores are in memory at once; no query in a block sees a key after the block."""


@dataclass(frozen=True)
class _Affine:
    """A product with a weight (in, out), plus a bias if there is one."""

    weight: Floats
    bias: Floats | None = None

    def __call__(self, x: Floats) -> Floats:
        product: Floats = x @ self.weight
        if self.bias is not None:
            product += self.bias
        return product


@dataclass(frozen=True)
class _Norm:
    """RMS norm, or layer norm if there is a bias."""

    epsilon: float
    weight: Floats
    bias: Floats | None = None

    def __call__(self, x: Floats) -> Floats:
        if self.bias is not None:
            x = x - x.mean(axis=-1, keepdims=True)
        square = np.einsum("ij,ij->i", x, x)[:, None] / np.float32(x.shape[1])
        x = x / np.sqrt(square + np.float32(self.epsilon))
        x *= self.weight
        if self.bias is not None:
            x += self.bias
        return x


@dataclass(frozen=True)
class _Layer:
    attention_norm: _Norm
    fused: _Affine  # to queries, keys and values
    output: _Affine
    feed_forward_norm: _Norm
    up: _Affine
    down: _Affine


class ForwardPass:
    """A causal LM over one sequence, on the CPU.

    It has no state but the weights, so threads may share it. Its matrix products take the threads that NumPy's BLAS
    library takes, and their sums may be added in another order for another length.

    Attributes:
        arithmetic: what it computes in, the reference.
    """

    arithmetic: Arithmetic = "float32"

    def __init__(self, architecture: Architecture, tensors: Tensors) -> None:
        """Lay out an architecture's weights; embeddings and GPT-2's other weights are used where they are.

        Raises:
            ProxyMalformed: a tensor is missing, unknown or of another shape, or a head has no halves to rotate.
        """
        self.architecture = architecture
        tensors, layers = fitting(architecture, tensors), range(architecture.layers)
        if isinstance(architecture, Llama):
            if architecture.width // architecture.heads % 2:
                raise ProxyMalformed(f"a head is {architecture.width // architecture.heads} wide; it must be even")
            self._layers = [_llama_layer(architecture, tensors, f"model.layers.{i}") for i in layers]
            self._embedding = tensors["model.embed_tokens.weight"]
            self._norm = _norm(architecture, tensors, "model.norm")
        else:
            self._layers = [_gpt2_layer(architecture, tensors, f"transformer.h.{i}") for i in layers]
            self._embedding = tensors["transformer.wte.weight"]
            self._norm = _norm(architecture, tensors, "transformer.ln_f")
        self._positions = tensors.get("transformer.wpe.weight")  # Llama's turn its heads instead
        self._head = tensors.get("lm_head.weight", self._embedding)  # else the two are tied

    def logits(self, ids: NDArray[np.int64]) -> Floats:
        """Logits of the token after each of ``ids``, each from all tokens up to there: float32 (n, rows).

        Args:
            ids: int64 (n,), at positions 0 to n - 1.

        Raises:
            As :meth:`hidden` does.
        """
        return self.head(self.hidden(ids))

    def head(self, hidden: Floats) -> Floats:
        """Logits of some rows of :meth:`hidden`: float32 (n, rows)."""
        found: Floats = self._norm(hidden) @ self._head.T
        return found

    def hidden(self, ids: NDArray[np.int64]) -> Floats:
        """What the last layer gives at each of ``ids``: float32 (n, width).

        Args:
            ids: int64 (n,), at positions 0 to n - 1.

        Raises:
            TokenOutOfRange: an id is outside the embedding.
            ValueError: the sequence is longer than the architecture's positions.
        """
        positions = self.architecture.positions
        if len(ids) > positions:
            raise ValueError(f"the proxy LM has {positions} positions; give no more tokens, not {len(ids)}")
        check_ids(ids, self.architecture.rows)
        hidden: Floats = self._embedding[ids]
        if self._positions is not None:
            hidden += self._positions[: len(ids)]
        rotation = _rotation(self.architecture, len(ids)) if isinstance(self.architecture, Llama) else None
        for layer in self._layers:
            mixed = self._attention(layer.fused(layer.attention_norm(hidden)), rotation)
            hidden += layer.output(mixed)
            inner = layer.up(layer.feed_forward_norm(hidden))
            hidden += layer.down(_gelu(inner) if rotation is None else _gated(inner))
        return hidden

    def _attention(self, fused: Floats, rotation: NDArray[np.complex64] | None) -> Floats:
        """Each head's mixture of the values before a token: (n, width) from (n, queries + keys + values)."""
        n, heads, width = len(fused), self.architecture.heads, self.architecture.width // self.architecture.heads
        groups = self.architecture.key_value_heads if isinstance(self.architecture, Llama) else heads
        split = fused.reshape(n, heads + 2 * groups, width)
        if rotation is not None:
            turned = split[:, : heads + groups].view(np.complex64)
            turned *= rotation
        split[:, :heads] *= np.float32(width**-0.5)
        queries = split[:, :heads].reshape(n, groups, heads // groups, width).transpose(1, 2, 0, 3)
        keys = np.ascontiguousarray(split[:, heads : heads + groups].transpose(1, 2, 0))[:, None]
        values = np.ascontiguousarray(split[:, heads + groups :].transpose(1, 0, 2))[:, None]
        mixed = np.empty((n, groups, heads // groups, width), np.float32)
        for start in range(0, n, _BLOCK):
            stop = min(start + _BLOCK, n)
            scores = queries[:, :, start:stop] @ keys[..., :stop]
            scores[..., start:] += _MASK[: stop - start, : stop - start]
            scores -= scores.max(axis=-1, keepdims=True)
            np.exp(scores, out=scores)
            block = scores @ values[:, :, :stop]
            block /= scores.sum(axis=-1, keepdims=True)
            mixed[start:stop] = block.transpose(2, 0, 1, 3)
        return mixed.reshape(n, heads * width)


def check_ids(ids: NDArray[np.int64], size: int) -> None:
    """Refuse token ids outside a vocabulary: TokenOutOfRange."""
    if ids.size and not (ids.min() >= 0 and ids.max() < size):
        raise TokenOutOfRange(f"token ids run from 0 to {size - 1}; got {ids.min()} to {ids.max()}")


_MASK = np.triu(np.full((_BLOCK, _BLOCK), -np.inf, np.float32), 1)


def _rotation(architecture: Llama, n: int) -> NDArray[np.complex64]:
    """Rotary embedding (Su et al. 2021): the turn of each pair of a head's numbers, (n, 1, pairs)."""
    width = architecture.width // architecture.heads
    angles = np.outer(np.arange(n), float(architecture.rope_theta) ** -(np.arange(0, width, 2) / width))
    turns: NDArray[np.complex64] = np.exp(1j * angles).astype(np.complex64)
    return turns[:, None]


def _gated(x: Floats) -> Floats:
    """``silu(gate) * up`` from half the gate, beside ``up``: silu(2z) = z * (1 + tanh z)."""
    half, up = np.split(x, 2, axis=1)
    y: Floats = np.tanh(half)
    y += 1
    y *= half
    y *= up
    return y


def _gelu(x: Floats) -> Floats:
    """``gelu_new`` (Hendrycks and Gimpel 2016): GELU by tanh."""
    y = x * x
    y *= np.float32(0.044715)
    y += 1
    y *= x
    y *= np.float32(np.sqrt(2 / np.pi))
    np.tanh(y, out=y)
    y += 1
    y *= x
    y *= np.float32(0.5)
    return y


def _norm(architecture: Architecture, tensors: Tensors, name: str) -> _Norm:
    numerator, denominator = architecture.norm_epsilon
    return _Norm(numerator / denominator, tensors[f"{name}.weight"], tensors.get(f"{name}.bias"))


def _llama_layer(architecture: Llama, tensors: Tensors, prefix: str) -> _Layer:
    def weight(name: str) -> Floats:
        return tensors[f"{prefix}.{name}.weight"]

    def pairs(name: str, heads: int) -> Floats:
        """Rows in the order in which a pair is one complex number; transformers has a head's two halves."""
        rows = weight(name)
        return rows.reshape(heads, 2, -1, rows.shape[1]).swapaxes(1, 2).reshape(rows.shape)

    def affine(*weights: Floats) -> _Affine:
        return _Affine(np.ascontiguousarray(np.concatenate(weights).T))

    queries = pairs("self_attn.q_proj", architecture.heads)
    keys = pairs("self_attn.k_proj", architecture.key_value_heads)
    return _Layer(
        _norm(architecture, tensors, f"{prefix}.input_layernorm"),
        affine(queries, keys, weight("self_attn.v_proj")),
        affine(weight("self_attn.o_proj")),
        _norm(architecture, tensors, f"{prefix}.post_attention_layernorm"),
        affine(weight("mlp.gate_proj") * np.float32(0.5), weight("mlp.up_proj")),
        affine(weight("mlp.down_proj")),
    )


def _gpt2_layer(architecture: GPT2, tensors: Tensors, prefix: str) -> _Layer:
    def affine(name: str) -> _Affine:
        return _Affine(tensors[f"{prefix}.{name}.weight"], tensors[f"{prefix}.{name}.bias"])

    return _Layer(
        _norm(architecture, tensors, f"{prefix}.ln_1"),
        affine("attn.c_attn"),
        affine("attn.c_proj"),
        _norm(architecture, tensors, f"{prefix}.ln_2"),
        affine("mlp.c_fc"),
        affine("mlp.c_proj"),
    )

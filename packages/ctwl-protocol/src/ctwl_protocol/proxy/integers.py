"""Linear layers in 16-bit integers: on x86 processors twice as many products a cycle as in float32, in half the memory.

``pmaddwd`` multiplies pairs of 16-bit integers and adds the two products in 32 bits. Each row of inputs and each row of
weights is scaled by its Euclidean norm, so that by Cauchy and Schwarz no sum of products can leave 32 bits: sums are
exact, and all that is lost is lost by rounding, much less than in bfloat16 (evaluation/numerics.py). Scales are a row's
own, so a row with outliers coarsens no other.

Weights lie in memory as one tile after another reads them: int16 (blocks, pairs of inputs, COLUMNS, 2).
"""

from __future__ import annotations

import os
from functools import cache, partial
from typing import Any

import numba
import numpy as np
import torch
from llvmlite import ir
from numba import prange, types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import intrinsic
from torch import nn

from ..partition.kernel import jit

__all__ = ["IntegerLinear", "multiplies_integers"]

_FEATURES = cpu_target.target_context.codegen().magic_tuple()[2].split(",")
_PMADDWD, LANES = ("avx512.pmaddw.d.512", 16) if "+avx512bw" in _FEATURES else ("avx2.pmadd.wd", 8)
"""LLVM's name of the instruction, and how many 32-bit sums it leaves."""

ROWS, VECTORS = 5, 2
"""Rows of inputs in a tile, and vectors of sums for each: AVX2 has 16 registers for these and what they need."""

COLUMNS = VECTORS * LANES
"""Outputs in a tile."""

ROWS_AT_ONCE = 16 * ROWS
"""Rows of inputs that meet all weights before the next ones do: they stay in a second-level cache."""

INPUT_NORM, WEIGHT_NORM = 32000.0, 65000.0
"""Norms of the rows of integers, to which rounding adds half the root of their length at most.

Up to a million inputs the norm of a row of inputs stays below 2^15, so that each fits 16 bits, and that of a row of
weights below 2^16: sums stay below 2^31.
"""

_SMALLEST = 1e-30
"""What an integer of the weights stands for at least: smaller weights are zeros."""


def multiplies_integers() -> bool:
    """Whether this processor, as numba compiles for it, has the instruction."""
    return "+avx2" in _FEATURES and not numba.config.DISABLE_JIT


@intrinsic  # type: ignore[untyped-decorator]
def _tile(
    _: Any, inputs: Any, weights: Any, scales: Any, factors: Any, bias: Any, out: Any, pairs: Any, width: Any
) -> Any:
    """Where compiled: out = inputs @ weights.T * scales[:, None] * factors + bias, for ROWS rows and COLUMNS columns.

    Args:
        inputs: address of int16 (ROWS, 2 pairs).
        weights: address of int16 (pairs, COLUMNS, 2).
        scales: address of float32 (ROWS,).
        factors: address of float32 (COLUMNS,).
        bias: address of float32 (COLUMNS,).
        out: address of float32 (ROWS, COLUMNS), whose rows are ``width`` apart.
        pairs: of inputs.
        width: see ``out``.
    """
    signature = types.void(inputs, weights, scales, factors, bias, out, pairs, width)
    word, pair, single = ir.IntType(16), ir.IntType(32), ir.FloatType()
    words, sums, floats = (ir.VectorType(word, 2 * LANES), ir.VectorType(pair, LANES), ir.VectorType(single, LANES))
    zeros, zero = ir.Constant(sums, [0] * LANES), ir.Constant(pair, 0)

    def generate(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        inputs, weights, scales, factors, bias, out, pairs, width = arguments

        def number(value: int) -> Any:
            return ir.Constant(pairs.type, value)

        def at(address: Any, kind: Any, offset: Any = None) -> Any:
            start = builder.inttoptr(address, kind.as_pointer())
            return start if offset is None else builder.gep(start, [offset])

        def vectors(start: Any) -> list[Any]:
            return [builder.load(builder.gep(start, [number(v)]), align=4) for v in range(VECTORS)]

        def in_all_lanes(value: Any, kind: Any) -> Any:
            none = ir.Constant(kind, ir.Undefined)
            return builder.shuffle_vector(builder.insert_element(none, value, zero), none, zeros)

        kind = ir.FunctionType(sums, [words, words])
        multiply = cgutils.get_or_insert_function(builder.module, kind, f"llvm.x86.{_PMADDWD}")
        totals = [[cgutils.alloca_once_value(builder, zeros) for _ in range(VECTORS)] for _ in range(ROWS)]
        rows = [at(inputs, pair, builder.mul(pairs, number(r))) for r in range(ROWS)]
        with cgutils.for_range(builder, pairs) as loop:
            columns = vectors(at(weights, words, builder.mul(loop.index, number(VECTORS))))
            for row, slots in zip(rows, totals, strict=True):
                value = builder.load(builder.gep(row, [loop.index]), align=4)
                both = builder.bitcast(in_all_lanes(value, sums), words)
                for slot, column in zip(slots, columns, strict=True):
                    builder.store(builder.add(builder.load(slot), builder.call(multiply, [both, column])), slot)
        factor, offset = vectors(at(factors, floats)), vectors(at(bias, floats))
        for r, slots in enumerate(totals):
            scale = in_all_lanes(builder.load(at(scales, single, number(r))), floats)
            line = builder.bitcast(at(out, single, builder.mul(width, number(r))), floats.as_pointer())
            for v, slot in enumerate(slots):
                scaled = builder.fmul(builder.fmul(builder.sitofp(builder.load(slot), floats), factor[v]), scale)
                builder.store(builder.fadd(scaled, offset[v]), builder.gep(line, [number(v)]), align=4)
        return context.get_dummy_value()

    return signature, generate


@partial(jit, fastmath={"reassoc", "contract"})  # so that sums are of vectors
def _round(x: Any, integers: Any, scales: Any) -> None:
    """Rows of x as integers of INPUT_NORM, and what one of them stands for."""
    for m in range(x.shape[0]):
        row, rounded = x[m], integers[m]
        squares = 0.0
        for k in range(row.shape[0]):
            squares += np.float64(row[k]) * np.float64(row[k])
        norm = np.sqrt(squares)
        scales[m] = norm / INPUT_NORM
        factor = INPUT_NORM / norm if norm > 0 else 0.0
        for k in range(row.shape[0]):
            rounded[k] = np.int32(np.rint(row[k] * factor))


@jit
def _multiply(
    integers: Any, scales: Any, weights: Any, factors: Any, bias: Any, out: Any, start: int, stop: int
) -> None:
    """All rows of out, in the columns of the blocks from start to stop."""
    rows, width = out.shape
    length = integers.shape[1]
    for begin in range(0, rows, ROWS_AT_ONCE):
        for block in range(start, stop):
            n = block * COLUMNS
            for m in range(begin, min(rows, begin + ROWS_AT_ONCE), ROWS):
                _tile(
                    integers.ctypes.data + 2 * m * length,
                    weights.ctypes.data + 2 * n * length,
                    scales.ctypes.data + 4 * m,
                    factors.ctypes.data + 4 * n,
                    bias.ctypes.data + 4 * n,
                    out.ctypes.data + 4 * (m * width + n),
                    length // 2,
                    width,
                )


@jit
def _alone(x: Any, weights: Any, factors: Any, bias: Any, integers: Any, scales: Any, out: Any) -> None:
    _round(x, integers, scales)
    _multiply(integers, scales, weights, factors, bias, out, 0, out.shape[1] // COLUMNS)


@partial(jit, parallel=True)
def _shared(x: Any, weights: Any, factors: Any, bias: Any, integers: Any, scales: Any, out: Any, parts: int) -> None:
    _round(x, integers, scales)  # sooner done than shared out
    blocks = out.shape[1] // COLUMNS
    for part in prange(parts):
        start, stop = blocks * part // parts, blocks * (part + 1) // parts
        _multiply(integers, scales, weights, factors, bias, out, start, stop)


@cache
def _owner() -> int | None:
    """The process that numba's threads are of, started here; None where calls of several threads would disturb them."""
    none, one = np.zeros((0, 2), np.float32), np.zeros(1, np.float32)
    try:
        _shared(none, np.zeros(0, np.int16), one, one, np.zeros((0, 2), np.int16), one, np.zeros((0, 1), np.float32), 1)
    except ValueError:  # there is none of the libraries that numba takes threads from
        return None
    return os.getpid() if numba.threading_layer() in ("omp", "tbb") else None


def _whole(count: int, size: int) -> int:
    """Rounded up to whole tiles."""
    return -(-count // size) * size


class IntegerLinear(nn.Module):
    """A linear layer over float32 whose products are of integers, on a CPU; it shares them out as torch would."""

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor | None) -> None:
        """Round and pack the weights.

        Args:
            weight: finite numbers (out, in), up to a million inputs.
            bias: (out,).
        """
        super().__init__()
        self.outputs, self.inputs = weight.shape
        columns, length = _whole(self.outputs, COLUMNS), _whole(self.inputs, 2)
        norms = torch.linalg.vector_norm(weight, dim=1, keepdim=True, dtype=torch.float64)
        largest = weight.abs().amax(dim=1, keepdim=True).double()
        units = torch.maximum(norms / WEIGHT_NORM, largest / torch.iinfo(torch.int16).max).clamp(min=_SMALLEST).float()
        padded = np.zeros((columns, length), np.int16)
        padded[: self.outputs, : self.inputs] = (weight / units).round_()
        blocks = padded.reshape(columns // COLUMNS, COLUMNS, length // 2, 2)
        self.weight = np.ascontiguousarray(blocks.transpose(0, 2, 1, 3)).ravel()
        self.factors, self.bias = np.zeros(columns, np.float32), np.zeros(columns, np.float32)
        self.factors[: self.outputs] = units.ravel()
        self.bias[: self.outputs] = 0 if bias is None else bias

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Float32 (..., out), of float32 (..., in)."""
        rows = x.reshape(-1, self.inputs).contiguous()
        padded = _whole(len(rows), ROWS)
        integers = np.empty((padded, _whole(self.inputs, 2)), np.int16)
        integers[:, self.inputs :] = 0
        out = torch.empty(padded, len(self.factors))
        arrays = rows.numpy(), self.weight, self.factors, self.bias, integers, np.empty(padded, np.float32), out.numpy()
        parts = torch.get_num_threads()
        if parts > 1 and _owner() == os.getpid():
            _shared(*arrays, parts)
        else:
            _alone(*arrays)
        return out[: len(rows), : self.outputs].view(*x.shape[:-1], self.outputs)

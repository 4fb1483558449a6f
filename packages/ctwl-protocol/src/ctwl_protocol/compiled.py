"""What compiled loops share. Importing numba takes half a second, so what needs no loop does not import this."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

_M1, _M2 = np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35)
_S13, _S16 = np.uint32(13), np.uint32(16)


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop that releases the interpreter's lock; the result is cached on disk where that is possible."""
    try:
        compiled: Callable[..., Any] = numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # numba has no folder to write to
        compiled = numba.njit(nogil=True)(function)
    return compiled


@jit
def fold(x: Any) -> Any:
    """The first step of :func:`fmix32_scalar`. It is linear over XOR, so a word is folded once for many partners."""
    return np.uint32(x ^ (x >> _S16))


@jit
def mix(x: Any) -> Any:
    """The other steps of :func:`fmix32_scalar`."""
    x = np.uint32(x * _M1)
    x = np.uint32(x ^ (x >> _S13))
    x = np.uint32(x * _M2)
    return np.uint32(x ^ (x >> _S16))


@jit
def fmix32_scalar(x: Any) -> Any:
    """:func:`ctwl_protocol.hashing.fmix32` of one uint32."""
    return mix(fold(x))

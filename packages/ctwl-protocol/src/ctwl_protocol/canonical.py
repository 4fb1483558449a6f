"""Canonical MessagePack: one value has one byte string (spec section 4.1).

The subset is: nil, booleans, integers of 64 bits, UTF-8 strings, byte strings, arrays, and maps whose keys are strings
in ascending order of their UTF-8 bytes. Every length and integer has its shortest form. There are no floats and no
extensions. A reader parses within bounds, encodes the value again and compares the bytes. This one test finds duplicate
keys, overlong forms, wrong order and trailing bytes.
"""

from __future__ import annotations

from typing import Any

import msgpack

from .errors import NonCanonical
from .numbers import NUMBERS

MAX_BYTES = NUMBERS.documents.bytes
"""Largest document that a reader parses, in bytes, where its kind has no bound of its own."""

MAX_DEPTH = NUMBERS.documents.depth
"""Deepest nesting of arrays and maps."""


def _checked(value: Any, depth: int) -> Any:
    """The value with its maps in key order; NonCanonical where it is outside the subset.

    Raises:
        UnicodeEncodeError: a key has lone surrogates; other strings show theirs when they are encoded.
    """
    if depth >= MAX_DEPTH and isinstance(value, list | tuple | dict):
        raise NonCanonical(f"nested deeper than {MAX_DEPTH} levels")
    match value:
        case None | bool() | bytes() | str():
            return value
        case int() if -(2**63) <= value < 2**64:
            return value
        case list() | tuple():
            return [_checked(item, depth + 1) for item in value]
        case dict():
            if not all(isinstance(key, str) for key in value):
                raise NonCanonical("a map has a key that is not a string")
            return {key: _checked(value[key], depth + 1) for key in sorted(value, key=str.encode)}
    raise NonCanonical(f"a value of type {type(value).__name__} has no canonical form")


def encode(value: Any) -> bytes:
    """Encode a value of the subset.

    Raises:
        NonCanonical: the value is outside the subset (floats, big integers, keys that are no strings, too deep).
    """
    try:
        return bytes(msgpack.packb(_checked(value, 0), use_bin_type=True, strict_types=True))
    except UnicodeEncodeError as error:
        raise NonCanonical("a string is not valid Unicode (lone surrogate)") from error


def decode(data: bytes, *, max_bytes: int = MAX_BYTES) -> Any:
    """Decode canonical bytes; anything else is refused.

    Args:
        data: the bytes.
        max_bytes: longer documents are not parsed.

    Raises:
        NonCanonical: the bytes are too many, malformed, or not the canonical encoding of their value.
    """
    if len(data) > max_bytes:
        raise NonCanonical(f"it has {len(data)} bytes; at most {max_bytes} are read")
    try:
        value = msgpack.unpackb(data, raw=False, strict_map_key=True)  # no length in it may exceed that of the data
    except (ValueError, msgpack.UnpackException, RecursionError) as error:
        raise NonCanonical(f"not MessagePack of the subset: {error}") from error
    if encode(value) != data:
        raise NonCanonical("not the canonical encoding of its value (key order, duplicate key or overlong form)")
    return value

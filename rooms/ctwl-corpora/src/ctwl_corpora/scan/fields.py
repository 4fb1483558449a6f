"""The fields of a record by their paths: ``text``, ``meta.url``, ``messages[].content``."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from ctwl_decoder.errors import DecoderError, InputTooLarge, NotText, OptionOutOfRange
from ctwl_decoder.files import has_surrogates
from ctwl_decoder.options import MAX_BYTES

from ..errors import TextMissing
from ..tables import RESULTS

_PATH = re.compile(r"[^.\[\]]+(\[\])*(\.[^.\[\]]+(\[\])*)*")
_JOINT = "\n\n"
"""Between the parts of a text that a path finds several of, such as a conversation's messages."""

Values: TypeAlias = Callable[[str], list[Any]]
"""What a record has at a path, which leads to several values where it goes through lists."""

OWN = "own_"
"""Begins the name of a kept field that is called as one of the results."""


@dataclass(frozen=True)
class Columns:
    """Which fields of a record are read: the text, and what the results keep. Each is a name or a path.

    Raises:
        OptionOutOfRange: a path is none.
    """

    text: str = "text"
    keep: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for path in (self.text, *self.keep):
            if not _PATH.fullmatch(path):
                raise OptionOutOfRange(f"{path!r} is no field; write a name, or a path such as messages[].content")
        names = [result_name(path) for path in self.keep]
        if twice := [name for name in names if names.count(name) > 1]:
            raise OptionOutOfRange(f"two kept fields would be called {twice[0]!r} in the results; keep one of them")


def result_name(path: str) -> str:
    """What a kept field is called in the results."""
    return OWN + path if path in ("source", "row", *RESULTS.names) else path


def _steps(path: str, names: Iterable[str]) -> list[str]:
    """The fields on a path, the record's own first, and ``[]`` for each list to go into."""
    return [path] if path in names else re.findall(r"\[\]|[^.\[\]]+", path)


def root(path: str, names: Iterable[str]) -> str:
    """The field of the record in which a path begins."""
    return _steps(path, names)[0]


def values_at(record: Mapping[str, Any], path: str) -> list[Any]:
    """What a record of Python's values has at a path."""
    found: list[Any] = [record]
    for step in _steps(path, record):
        if step == "[]":
            found = [inner for each in found if isinstance(each, list) for inner in each]
        else:
            found = [each[step] for each in found if isinstance(each, Mapping) and step in each]
    return found


def _inside(column: pa.Array, steps: Iterable[str]) -> pa.Array:
    """What a column has at the further steps of a path, still packed.

    Raises:
        pa.ArrowException: the path leads nowhere, which the column's type alone decides.
    """
    for step in steps:
        column = pc.list_flatten(column) if step == "[]" else pc.struct_field(column, step)
    return column


def is_text_at(schema: pa.Schema, path: str) -> bool:
    """Whether a table has texts at a path: strings, or bytes that should be UTF-8."""
    first, *steps = _steps(path, schema.names)
    try:
        kind = _inside(pa.nulls(0, schema.field(first).type), steps).type
    except pa.ArrowException:
        return False
    kind = kind.value_type if types.is_dictionary(kind) else kind
    checks = (types.is_string, types.is_large_string, types.is_string_view)
    return any(is_kind(kind) for is_kind in (*checks, types.is_binary, types.is_large_binary, types.is_binary_view))


def cells_at(batch: pa.RecordBatch, row: int, path: str) -> list[Any]:
    """What a row of a table has at a path, as Python's values.

    Raises:
        InputTooLarge: the values have more than ``MAX_BYTES``, which is known before they are unpacked.
        KeyError: there is no column with the path's first name.
        NotText: a text among them is not UTF-8.
        TextMissing: the path leads nowhere, or to what cannot be read.
    """
    first, *steps = _steps(path, batch.schema.names)
    try:
        found = _inside(batch.column(first).slice(row, 1), steps)
        if _size(found) > MAX_BYTES:
            raise InputTooLarge(f"the field {path!r} has more than {MAX_BYTES} bytes; cut it into parts")
        return [each.decode() if isinstance(each, bytes) else each for each in found.to_pylist()]
    except UnicodeDecodeError as error:
        raise NotText(f"the field {path!r} is not UTF-8") from error
    except pa.ArrowException as error:
        raise TextMissing(f"the field {path!r} cannot be read: {str(error)[:400]}") from error


def _size(array: Any) -> int:
    """The bytes of an array's values, each as often as it stands there."""
    kind = array.type
    if types.is_dictionary(kind):
        return int(pc.sum(pc.binary_length(array.dictionary).take(array.indices)).as_py() or 0)
    if types.is_struct(kind) or types.is_list(kind) or types.is_large_list(kind):
        inner = array.flatten()
        return sum(map(_size, inner)) if isinstance(inner, list) else _size(inner)
    return int(array.nbytes)


def text_at(values: Values, path: str, names: Iterable[str]) -> str:
    """The text of a record at a path.

    Raises:
        TextMissing: there is none, or something else.
        NotText: it has lone surrogates.
        InputTooLarge: see :func:`cells_at`.
    """
    found = values(path)
    parts = [value for value in found if value is not None]
    wrong = next((value for value in parts if not isinstance(value, str)), None)
    if not found:
        raise TextMissing(f"there is no field {path!r}; {say_fields(names)}")
    if wrong is not None or not parts:
        kind = "null" if wrong is None else f"of type {type(wrong).__name__}"
        raise TextMissing(f"the field {path!r} is {kind}, not text")
    text = _JOINT.join(parts)
    if has_surrogates(text):  # JSON can spell it
        raise NotText(f"the field {path!r} holds lone surrogates, so it is not Unicode text")
    return text


def say_fields(names: Iterable[str]) -> str:
    """The names of a record's fields, for a message."""
    some = ", ".join(repr(name[:40]) for name in itertools.islice(names, 8))
    return f"the fields are {some or 'missing'}; --text-column names another"


def kept_at(values: Values, path: str) -> str | None:
    """What the results keep of a record at a path: a text as it is, anything else as JSON.

    None where the path leads nowhere, or where Python or JSON cannot hold the value.
    """
    try:
        found = values(path)
        value = found if len(found) > 1 else found[0] if found else None
        text = value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    except (DecoderError, ValueError, OverflowError, LookupError, RecursionError, pa.ArrowException):
        return None
    return None if text is None else text.encode(errors="backslashreplace").decode()

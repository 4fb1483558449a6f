"""The fields of a record by their paths: ``text``, ``meta.url``, ``messages[].content``."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

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


def _steps(path: str, names: Iterable[str]) -> list[tuple[str, int]]:
    """The names on a path, each with the number of lists to go into after it; a record's own name comes first."""
    if path in names:
        return [(path, 0)]
    return [(step.rstrip("[]"), step.count("[]")) for step in path.split(".")]


def root(path: str, names: Iterable[str]) -> str:
    """The field of the record in which a path begins."""
    return _steps(path, names)[0][0]


def values_at(record: Mapping[str, Any], path: str) -> list[Any]:
    """What a record of Python's values has at a path."""
    found: list[Any] = [record]
    for name, lists in _steps(path, record):
        found = [each[name] for each in found if isinstance(each, Mapping) and name in each]
        for _ in range(lists):
            found = [inner for each in found if isinstance(each, list) for inner in each]
    return found


def is_text_at(schema: pa.Schema, path: str) -> bool:
    """Whether a table has texts at a path: strings, or bytes that should be UTF-8."""
    (first, lists), *others = _steps(path, schema.names)
    kind = schema.field(first).type
    for name, inner in [("", lists), *others]:
        if name:
            inside = types.is_struct(kind) and kind.get_field_index(name) >= 0
            kind = kind.field(name).type if inside else pa.null()
        for _ in range(inner):
            kind = kind.value_type if types.is_list(kind) or types.is_large_list(kind) else pa.null()
    kind = kind.value_type if types.is_dictionary(kind) else kind
    checks = (types.is_string, types.is_large_string, types.is_string_view)
    return any(is_kind(kind) for is_kind in (*checks, types.is_binary, types.is_large_binary, types.is_binary_view))


def cells_at(batch: pa.RecordBatch, row: int, path: str) -> list[Any]:
    """What a row of a table has at a path, as Python's values.

    Raises:
        InputTooLarge: the values have more than ``MAX_BYTES``, which is known before they are unpacked.
        NotText: a text among them is not UTF-8.
        TextMissing: the path leads nowhere.
    """
    (first, lists), *others = _steps(path, batch.schema.names)
    found = batch.column(first).slice(row, 1)
    try:
        for name, inner in [("", lists), *others]:
            found = pc.struct_field(found, name) if name else found
            for _ in range(inner):
                found = found.flatten()
    except (pa.ArrowException, AttributeError) as error:
        raise TextMissing(f"there is no field {path!r} in a column of type {batch.schema.field(first).type}") from error
    try:
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


def text_at(values: list[Any], path: str, names: Iterable[str]) -> str:
    """The text of the values at a path.

    Raises:
        TextMissing: there is none, or something else.
        NotText: it has lone surrogates.
    """
    parts = [value for value in values if value is not None]
    wrong = next((value for value in parts if not isinstance(value, str)), None)
    if not values:
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


def kept(values: list[Any]) -> str | None:
    """What the results keep of the values at a path: a text as it is, anything else as JSON, if that is possible."""
    value = values if len(values) > 1 else values[0] if values else None
    if value is None:
        return None
    try:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    except RecursionError:
        return None
    return text.encode(errors="backslashreplace").decode()


def kept_at(batch: pa.RecordBatch, row: int, path: str) -> str | None:
    """What the results keep of a row of a table; None where the path leads nowhere, or Python cannot hold the value."""
    try:
        return kept(cells_at(batch, row, path))
    except (DecoderError, ValueError, OverflowError, LookupError, pa.ArrowException):
        return None

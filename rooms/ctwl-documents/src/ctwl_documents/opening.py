"""The words in a file of any kind that is known, and in the files in it."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from zipfile import BadZipFile, ZipFile

from ctwl_decoder import kinds
from ctwl_decoder.errors import DocumentRefused
from ctwl_decoder.files import Found
from ctwl_decoder.kinds import Kind
from ctwl_decoder.words import said

from . import limits
from .budget import Budget, OverBudget
from .found import Member, broken, plain
from .openers import OPENERS, Opened


def kind_of(data: bytes) -> Kind | None:
    """The kind of a file; None for plain text, and for what nobody knows."""
    kind = kinds.outer_kind(data)
    return _kind_of_zip(data) if kind == kinds.ZIP else kind


def _kind_of_zip(data: bytes) -> Kind:
    try:
        with ZipFile(BytesIO(data)) as packed:
            return kinds.kind_of_zip(packed.namelist())
    except (BadZipFile, ValueError, OSError, NotImplementedError):
        return kinds.ZIP  # whoever opens it says what is wrong


def texts_in(data: bytes, name: str, budget: Budget, depth: int = 0) -> Iterator[Found]:
    """Each text in a file.

    Args:
        data: the file's bytes.
        name: what a message calls the file; what is in it is called by both names.
        budget: what the file may still cost.
        depth: how many files it is in.

    Raises:
        OverBudget: the whole would cost too much.
    """
    if depth > limits.DEPTH:
        raise OverBudget(said("reason-nested"))
    try:
        kind = kind_of(data)
        found = _opened(data, kind, budget)
        if isinstance(found, Iterator):
            for part in found:
                yield from _inside(part, name, budget, depth)
        else:
            text, parts = found if isinstance(found, tuple) else (found, [])
            _charge(text, budget)
            told, left = [text], list[Found]()
            for part in parts:
                for each in _inside(part, name, budget, depth):
                    is_part = isinstance(part.data, bytes) and each.name == _inner_name(part, name)
                    if is_part and isinstance(each.text, str):
                        told.append(each.text)
                    else:
                        left.append(each)
            text = "\n\n".join(filter(str.strip, told))
            if text or kind is None:
                yield Found(name, text)
            elif not left:
                raise DocumentRefused(said("reason-words"))
            yield from left
    except (OverBudget, MemoryError):
        raise
    except Exception as error:
        yield Found(name, broken(error))


def _inside(part: Member, name: str, budget: Budget, depth: int) -> Iterator[Found]:
    """The texts in a part of a file; words that are too many refuse themselves alone."""
    inner = _inner_name(part, name)
    if isinstance(part.data, bytes):
        yield from texts_in(part.data, inner, budget, depth + 1)
        return
    try:
        if isinstance(part.data, str):
            _charge(part.data, budget)
        yield Found(inner, part.data)
    except OverBudget as error:
        yield Found(inner, error)


def _inner_name(part: Member, name: str) -> str:
    return f"{name}/{part.name[: limits.NAME]}" if part.name else name


def _opened(data: bytes, kind: Kind | None, budget: Budget) -> Opened:
    if kind is None:
        return plain(data)
    if not kind.opened:
        raise kinds.refusal(kind)
    return OPENERS[kind.name](data, budget)


def _charge(text: str, budget: Budget) -> None:
    if len(text) > budget.words:
        raise OverBudget(f"it has more than {limits.WORDS:,} characters; read the part in question")
    budget.words -= len(text)

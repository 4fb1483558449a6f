"""Every constant of the reference, changed one at a time: some vector must tell the difference."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Any

from ..families import ANSWERS, FAMILIES, agree
from ..vectors import load
from .mutation import Mutation, source

__all__ = ["EQUIVALENT", "MODULES", "constants", "first_difference", "questions"]

MODULES: dict[str, tuple[str, ...]] = {
    "ctwl_protocol.canonical": ("canonical",),
    "ctwl_protocol.codes": ("beacon", "beacon-fields"),
    "ctwl_protocol.framing": ("slot",),
    "ctwl_protocol.hashing": ("mixing", "permutation", "colours", "slot"),
    "ctwl_protocol.keyfile": ("secret-file",),
    "ctwl_protocol.layouts": ("layout", "record", "relay"),
    "ctwl_protocol.normalization": ("normalization",),
    "ctwl_protocol.partition": ("weights", "members"),
    "ctwl_protocol.private": ("personal-profile", "commitment"),
    "ctwl_protocol.profile": ("profile-document", "public-key", "profile"),
    "ctwl_protocol.records": ("record", "relay"),
    "ctwl_protocol.registry.client": ("registry-update",),
    "ctwl_protocol.registry.documents": ("root", "registry"),
    "ctwl_protocol.registry.entries": ("registry",),
    "ctwl_protocol.registry.envelope": ("envelope", "pre-authentication"),
    "ctwl_protocol.registry.history": ("registry-update",),
    "ctwl_protocol.registry.keys": ("registry-key", "root"),
    "ctwl_protocol.registry.schema": ("registry", "root", "envelope"),
    "ctwl_protocol.sealing": ("sealing", "opening"),
    "ctwl_protocol.toy": ("toy-weights",),
    "ctwl_protocol.windows": ("positions",),
}
"""The modules whose constants are changed, and the families that are asked first; then come all others that need no
package beside ``ctwl-protocol``."""

EQUIVALENT: dict[tuple[str, str], str] = {}
"""Changes that no implementation could show, as (module, the line's text), and why."""

_NAMES = re.compile(r"(ctwl-|org\.ctwl)")


def constants() -> Iterator[Mutation]:
    """One change for each constant: integers grow by one, other numbers by half, byte strings and names by a letter."""
    for module in MODULES:
        text = source(module)
        lines = [0]
        for line in text.splitlines(keepends=True):
            lines.append(lines[-1] + len(line))
        tree = ast.parse(text)
        passed = {id(part) for node in ast.walk(tree) if _is_told(node) for part in ast.walk(node)}
        for node in ast.walk(tree):
            if not isinstance(node, ast.Constant) or id(node) in passed or node.end_lineno is None:
                continue
            new = _changed(node.value)
            if new is not None:
                start = lines[node.lineno - 1] + _characters(text, lines[node.lineno - 1], node.col_offset)
                end = lines[node.end_lineno - 1] + _characters(
                    text, lines[node.end_lineno - 1], node.end_col_offset or 0
                )
                mutation = Mutation(module, start, end, new)
                if (module, mutation.line) not in EQUIVALENT:
                    yield mutation


def first_difference(asked: Sequence[tuple[str, str, Any, Any]]) -> str | None:
    """The id of the first vector that this process's reference answers otherwise; None where all agree.

    Args:
        asked: family, id, input and expected answer of vectors.
    """
    for family, name, data, expected in asked:
        try:
            answer: Any = ANSWERS[family](data)
        except Exception:  # a changed reference may fail in any way; that is a difference too
            return name
        if not agree(expected, answer):
            return name
    return None


def questions(module: str | None) -> list[tuple[str, str, Any, Any]]:
    """All vectors, those first that are to tell a change of a module."""
    order = {family: i for i, family in enumerate(MODULES[module] if module else ())}
    plain = [name for name, family in FAMILIES.items() if not family.needs or name in order]
    vectors = sorted(load(plain), key=lambda vector: order.get(vector.family, len(order)))
    return [(vector.family, vector.id, vector.input, vector.expected) for vector in vectors]


def _is_told(node: ast.AST) -> bool:
    """Whether a part of the source only speaks to people, or to the type checker."""
    return isinstance(node, ast.Raise | ast.JoinedStr) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )


def _changed(value: object) -> str | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return f"({value + 1})"
    if isinstance(value, float):
        return f"({value * 1.5})"
    if isinstance(value, bytes):
        return repr(value + b"x")
    if isinstance(value, str) and _NAMES.match(value):
        return repr(value + "x")
    return None


def _characters(text: str, start: int, column: int) -> int:
    """``ast`` counts columns in bytes of UTF-8."""
    return len(text[start : start + column].encode()[:column].decode(errors="ignore"))

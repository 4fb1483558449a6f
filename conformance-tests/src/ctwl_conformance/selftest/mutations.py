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
    "ctwl_protocol.records.beacon": ("beacon", "beacon-fields", "decode-record"),
    "ctwl_protocol.records.slots": ("slot", "decode-record"),
    "ctwl_protocol.hashing": ("mixing", "permutation", "colours", "slot", "decode"),
    "ctwl_protocol.secret_file": ("secret-file",),
    "ctwl_protocol.records.layouts": ("layout", "record", "relay"),
    "ctwl_protocol.text.normalization": ("normalization",),
    "ctwl_protocol.partition.reference": ("weights", "members"),
    "ctwl_protocol.profile.private": ("personal-profile", "commitment"),
    "ctwl_protocol.profile.document": ("profile-document", "public-key", "profile", "decode"),
    "ctwl_protocol.records.record": ("record", "relay", "decode-record"),
    "ctwl_protocol.registry.workflow": ("registry-update",),
    "ctwl_protocol.registry.documents": ("root", "registry"),
    "ctwl_protocol.registry.entries": ("registry",),
    "ctwl_protocol.registry.envelope": ("envelope", "pre-authentication"),
    "ctwl_protocol.registry.append_only": ("registry-update",),
    "ctwl_protocol.registry.keys": ("registry-key", "root", "locked-keys"),
    "ctwl_protocol.schema": ("registry", "root", "envelope"),
    "ctwl_protocol.records.sealing": ("sealing", "opening", "locked-keys"),
    "ctwl_protocol.partition.toy": ("toy-weights",),
    "ctwl_protocol.text.positions": ("positions",),
    "ctwl_decoder.search.error_bounds": ("record-doubts",),
    "ctwl_decoder.statistics.null": ("null", "randomised", "record-doubts"),
    "ctwl_decoder.search.posterior": ("posterior", "posterior-windows"),
    "ctwl_decoder.search.spans": ("windows", "tests"),
    "ctwl_decoder.statistics.scores": ("units",),
}
"""The modules whose constants are changed, and the families that are asked first; then come all others that need no
package beside ``ctwl-protocol``."""

PARTS: dict[str, tuple[str, ...]] = {
    "ctwl_decoder.statistics.null": ("FLOOR", "Null"),
    "ctwl_decoder.search.posterior": ("LENGTH", "STEP", "THRESHOLD", "posterior_windows"),
    "ctwl_decoder.search.spans": ("LENGTHS", "SHARE", "WAYS", "windows_of"),
}
"""Of modules that do more than the specification says, the names and functions that say what it does."""

EQUIVALENT: tuple[tuple[str, str, str], ...] = (
    ("canonical", "case int() if -(2**63) <= value < 2**64:", "MessagePack has no wider integers"),
    ("canonical", "max_ext_len=0", "extensions are refused by their type"),
    ("codes", "secrets.randbelow(1 <<", "drawn at random"),
    ("codes", "first = cls(provider, version, 0).code", "a decoder's own choice of codes to search"),
    ("codes", "return range(first, first + (1 <<", "a decoder's own choice of codes to search"),
    ("codes", "not 0 <= code < 1 << BEACON_BITS", "the fields' own ranges refuse the same"),
    ("framing", "place.reshape(-1)", "NumPy takes any negative number"),
    ("framing", "MAX_CODES + 1)]", "one column more than is looked at"),
    ("hashing", "colours + 1, dtype", "one seed more than is looked at"),
    ("keyfile", "mode=0o600", "permissions of files"),
    ("keyfile", "mode: int = 0o644", "permissions of files"),
    ("keyfile", "file.read(canonical.MAX_BYTES + 1)", "a byte more is read before the length is looked at"),
    ("layouts", "PRIVATE_USE = range(192, 256)", "numbers that nobody hands out"),
    ("layouts", "hops = 0", "every layout begins with a beacon"),
    ("layouts", "number = 0", "bits above the codes are not looked at"),
    ("layouts", "all(field.bits > 0", "the registry refuses such a field before"),
    ("layouts", "not 0 <= code < 1 << BEACON_BITS", "codes that were read have 20 bits"),
    ("normalization", "0x202F), *range", "U+202F is a space, and that comes later in the table"),
    ("normalization", "*range(0x2000", "U+2000 is U+2002 in NFC"),
    ("private", "os.urandom(32)", "drawn at random"),
    ("profile", 'TOY = "org.ctwl.toy.1"', "a name for this suite's own use"),
    ("profile", "lru_cache(maxsize=64)", "a cache"),
    ("profile", "[:300]", "the length of a message"),
    ("profile", "indent=2", "for people"),
    ("profile", "file.read(canonical.MAX_BYTES + 1)", "a byte more is read before the length is looked at"),
    ("records", "return Beacon.from_code(self.codes[0])", "for reports; the fields say the same"),
    ("records", "nonce: int = 0", "slot 0 has none, and the others name theirs"),
    ("profile", "tuple[Annotated[int, Field(ge=0, le=1 << 20)], ...]", "ids lie below the vocabulary's size"),
    ("registry.documents", "MAX_BYTES: ClassVar[int] = 1 << 16", "the largest root is a twentieth of it"),
    ("registry.documents", "Field(max_length=1 << 14)", "so many entries exceed the registry's bytes"),
    ("registry.entries", "Many[ModelVersion], Field(max_length=16)", "there are 16 versions, each once"),
    ("registry.entries", "Many[_Field], Field(min_length=4, max_length=64)", "80 bits have at most 63 fields"),
    (
        "registry.entries",
        ", le=64)]]",
        "what a layout has behind its beacon is 60 bits at most",
    ),
    ("registry.client", "seen: int = 0", "a default that updates do not take"),
    ("registry.envelope", 'format="ctwl-envelope/1"', "for operators, who sign"),
    ("registry.keys", "_LOW_ORDER = {0, 1, _P - 1", "the curve's equation refuses them too"),
    ("sealing", "os.urandom(32)", "drawn at random"),
    ("sealing", "0 <= user < 1 << USER_BITS", "the record's field of 40 bits refuses the same"),
    ("sealing", "epoch: int = 0", "a default that vectors do not take"),
    ("sealing", "word[:4]", "more bytes of the word are masked away"),
    ("sealing", "authenticator=0)", "it is replaced"),
    ("null", "min(1.0, self.probability", "a sum of chances, which rounding alone takes above 1"),
    ("posterior", "share: float = 1.0", "a default; the p-value of the window is another section's"),
    ("posterior", ".judge(int(codes[best])", "the p-value of the window is another section's"),
    ("spans", "count: int = 1)", "a default that vectors do not take"),
    ("spans", "reshape(-1, 2)", "NumPy takes any negative number"),
    ("units", "range(STEPS + 1)", "one step more than is looked at"),
    ("units", "range(HALVINGS + 1)", "one row more than is looked at"),
    ("units", "np.maximum(bits - 3, 0)", "shorter ranks are all in the first interval"),
    ("units", "np.maximum(width, 1)", "keeps from a division by zero, where nothing is above it"),
)
"""Constants that may change without anybody being able to tell: module, the piece of source they stand in, and why."""

_NAMES = re.compile(r"(ctwl-|org\.ctwl)")


def constants() -> Iterator[Mutation]:
    """One change for each constant: integers grow by one, other numbers by half, byte strings and names by a letter."""
    for module in MODULES:
        text = source(module)
        lines = [0]
        for line in text.splitlines(keepends=True):
            lines.append(lines[-1] + len(line))
        tree = ast.parse(text)
        if module in PARTS:
            tree.body = [node for node in tree.body if _name(node) in PARTS[module]]
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
                if not _is_equivalent(mutation):
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


def _is_equivalent(mutation: Mutation) -> bool:
    text, name = source(mutation.module), mutation.module.partition(".")[2]
    return any(
        found.start() <= mutation.start and mutation.end <= found.end()
        for module, part, _ in EQUIVALENT
        if module == name
        for found in re.finditer(re.escape(part), text)
    )


def _name(node: ast.stmt) -> str | None:
    """What a statement of a module defines, if it is a name, a function or a class."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return name
    return None


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
        return f"({value * 1.5 or 0.5})"
    if isinstance(value, bytes):
        return repr(value + b"x")
    if isinstance(value, str) and _NAMES.match(value):
        return repr(value + "x")
    return None


def _characters(text: str, start: int, column: int) -> int:
    """``ast`` counts columns in bytes of UTF-8."""
    return len(text[start : start + column].encode()[:column].decode(errors="ignore"))

"""Every constant of the reference, changed one at a time: at least one vector must show the difference."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..families import ANSWERS, FAMILIES, agree
from ..vectors import load
from .mutation import Mutation, source

__all__ = ["MODULES", "constants", "first_difference", "questions"]


@dataclass(frozen=True)
class Module:
    """What the self-test knows of a module whose constants are changed.

    Attributes:
        families: the families that are asked first; then come all others that need no package beside
            ``ctwl-protocol``.
        equivalent: pieces of its source whose constants may change without anybody being able to tell, and why.
        parts: the names and functions that say what the specification says, where the module does more than that.
    """

    families: tuple[str, ...]
    equivalent: dict[str, str] = field(default_factory=dict)
    parts: tuple[str, ...] = ()


_DRAWN = "drawn at random"
_DEFAULT = "a default that no vector uses"
_CANDIDATES = "a decoder's own choice of codes to search"

MODULES: dict[str, Module] = {
    "ctwl_protocol.canonical": Module(
        ("canonical",),
        {
            "case int() if -(2**63) <= value < 2**64:": "MessagePack has no wider integers",
        },
    ),
    "ctwl_protocol.records.beacon": Module(
        ("beacon", "beacon-fields", "decode-record"),
        {
            "first = cls(provider, version, 0).code": _CANDIDATES,
        },
    ),
    "ctwl_protocol.records.slots": Module(
        ("slot", "decode-record"),
        {
            "index.reshape(-1)": "NumPy accepts any negative number",
            "MAX_CODES + 1)]": "one column more than is looked at",
        },
    ),
    "ctwl_protocol.hashing": Module(
        ("mixing", "permutation", "colours", "slot", "decode"),
        {"colours + 1, dtype": "one seed more than is looked at"},
    ),
    "ctwl_protocol.secret_file": Module(
        ("secret-file",),
        {
            "mode=0o600": "permissions of files",
            'return _SecretFile(format="ctwl-secret/1"': "the document refuses to be made with another format",
            'found.get("format") == "ctwl-secret/1"': "how a secret file is told from a profile before it is opened",
        },
    ),
    "ctwl_protocol.records.layouts": Module(
        ("layout", "record", "relay", "decode-record"),
        {
            "PRIVATE_USE = range(192, 256)": "numbers that nobody hands out",
            "else codes + 1": "one slot more, which no position carries",
            "hops = 0": "every layout begins with a beacon",
            "number = 0": "bits above the codes are not looked at",
            "all(field.bits > 0": "the registry refuses such a field before",
        },
    ),
    "ctwl_protocol.text.normalization": Module(
        ("normalization",),
        {
            "0x202F), *range": "U+202F is a space, which comes later in the table",
            "*range(0x2000": "U+2000 is U+2002 in NFC",
        },
    ),
    "ctwl_protocol.partition.reference": Module(("weights", "members")),
    "ctwl_protocol.profile.private": Module(("personal-profile", "commitment"), {"os.urandom(32)": _DRAWN}),
    "ctwl_protocol.profile.document": Module(
        ("profile-document", "public-key", "profile", "decode"),
        {
            "indent=2": "for people",
            "Many[Annotated[int, Field(ge=0, le=1 << 20)]]": "ids lie below the vocabulary's size",
        },
    ),
    "ctwl_protocol.records.record": Module(
        ("record", "relay", "decode-record"),
        {
            "return Beacon.from_code(self.codes[0])": "for reports; the fields say the same",
            "slot: int = 0": _DEFAULT,
            "nonce: int = 0": "slot 0 has none, and the others name theirs",
        },
    ),
    "ctwl_protocol.registry.workflow": Module(("registry-update",), {"seen: int = 0": _DEFAULT}),
    "ctwl_protocol.registry.documents": Module(
        ("root", "registry"),
        {
            "MAX_BYTES: ClassVar[int] = 1 << 16": "the largest root is a twentieth of it",
            "Field(max_length=1 << 14)": "so many entries exceed the registry's bytes",
        },
    ),
    "ctwl_protocol.registry.entries": Module(
        ("registry",),
        {
            "Many[ModelVersion], Field(max_length=16)": "there are 16 versions, each once",
            "Many[_Field], Field(min_length=4, max_length=64)": "80 bits have at most 63 fields",
            ", le=64)]]": "a layout has at most 60 bits behind its beacon",
        },
    ),
    "ctwl_protocol.registry.spelling": Module(("registry",)),
    "ctwl_protocol.registry.envelope": Module(
        ("envelope", "pre-authentication"), {'format="ctwl-envelope/1"': "only operators sign"}
    ),
    "ctwl_protocol.registry.append_only": Module(("registry-update",)),
    "ctwl_protocol.registry.keys": Module(
        ("registry-key", "root", "locked-keys"),
        {"_LOW_ORDER = {0, 1, _P - 1": "the curve's equation refuses them too"},
    ),
    "ctwl_protocol.schema": Module(("registry", "root", "envelope"), {"[:300]": "the length of a message"}),
    "ctwl_protocol.records.sealing": Module(
        ("sealing", "opening", "locked-keys"),
        {
            "os.urandom(32)": _DRAWN,
            "epoch: int = 0": _DEFAULT,
            "word[:4]": "more bytes of the word are masked away",
            "authenticator=0)": "it is replaced",
        },
    ),
    "ctwl_protocol.partition.toy": Module(("toy-weights",)),
    "ctwl_protocol.text.positions": Module(("positions",)),
    "ctwl_protocol.text.blocks": Module(("blocks",)),
    "ctwl_protocol.proxy.rivals": Module(
        ("rivals", "units", "read-one-code"), {"np.arange(len(places) + 1)": "one start more than is looked at"}
    ),
    "ctwl_decoder.search.error_bounds": Module(("record-doubts",)),
    "ctwl_decoder.statistics.null": Module(
        ("null", "randomised", "record-doubts"),
        {"min(1.0, self.probability": "a sum of probabilities; only rounding lifts it above 1"},
        ("FLOOR", "Null"),
    ),
    "ctwl_decoder.search.windows": Module(
        ("windows", "tests"),
        {"count: int = 1)": _DEFAULT, "reshape(-1, 2)": "NumPy accepts any negative number"},
        ("LENGTHS", "POSITIONS_PER_CODE", "ONE_CODE", "WHOLE", "RECORD_TESTS", "windows_of"),
    ),
    "ctwl_decoder.statistics.light": Module(
        ("light-units",),
        {
            "range(1, 2**STEP_BITS + 1)": "one step more than is looked at",
            "np.arange(1 <<": "a longer table than is looked at",
            "vocabulary.bit_length() + 1))": "one table more than is looked at",
        },
        (
            "STEP_BITS",
            "DOUBLINGS",
            "RAMP",
            "LIKELIER",
            "HALVING",
            "RAREST",
            "_STEP",
            "_BOUNDS",
            "soft_table",
            "rank_table",
            "likelier",
            "light_scores",
            "_rank_tables",
            "_LEADING",
            "_by_leading_bits",
        ),
    ),
    "ctwl_decoder.statistics.scores": Module(("units",), {}, ("NAT", "RAMP", "UNMARKED")),
    "ctwl_decoder.statistics.compiled": Module(("units",), {}, ("add_units",)),
}
"""The modules whose constants are changed, by full name."""

_NAMES = re.compile(r"(ctwl-|org\.ctwl)")


def constants() -> Iterator[Mutation]:
    """One change for each constant: integers grow by one, other numbers by half, byte strings and names by a letter."""
    for module, known in MODULES.items():
        text = source(module)
        lines = [0]
        for line in text.splitlines(keepends=True):
            lines.append(lines[-1] + len(line))
        tree = ast.parse(text)
        if known.parts:
            tree.body = [node for node in tree.body if _name(node) in known.parts]
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
    """All vectors; the first ones are those that should show a change of the module."""
    order = {family: i for i, family in enumerate(MODULES[module].families if module else ())}
    plain = [name for name, family in FAMILIES.items() if not family.needs or name in order]
    vectors = sorted(load(plain), key=lambda vector: order.get(vector.family, len(order)))
    return [(vector.family, vector.id, vector.input, vector.expected) for vector in vectors]


def _is_equivalent(mutation: Mutation) -> bool:
    text = source(mutation.module)
    return any(
        found.start() <= mutation.start and mutation.end <= found.end()
        for piece in MODULES[mutation.module].equivalent
        for found in re.finditer(re.escape(piece), text)
    )


def _name(node: ast.stmt) -> str | None:
    """What a statement of a module defines, if it is a name, a function or a class."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return name
    return None


def _is_told(node: ast.AST) -> bool:
    """Whether a part of the source is only a message or a docstring."""
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

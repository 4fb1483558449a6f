"""Write the types of the numbers in `spec/numbers.json`, for type checkers: ``python tools/number_types.py``."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ctwl_protocol.numbers import value_of

ROOT = Path(__file__).resolve().parents[1]
STUB = ROOT / "packages" / "ctwl-protocol" / "src" / "ctwl_protocol" / "number_types.pyi"
HEAD = '''"""The types of the numbers; ``tools/number_types.py`` writes this file."""

from collections.abc import Mapping

from .numbers import CodePoints, Dialect, Layout, Mark
'''
TABLES = {"dialects": "Dialect", "marks": "Mark"}


def type_of(value: Any) -> str:
    """The type of a value of the file."""
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        inner = [type_of(each) for each in value]
        if any(hasattr(each, "_fields") or isinstance(each, tuple) for each in value):
            return f"tuple[{inner[0]}, ...]"
        return f"tuple[{', '.join(inner)}]"
    if isinstance(value, dict):
        return f"Mapping[str, {_one(map(type_of, value.values()))}]"
    return type(value).__name__


def _one(types: Iterable[str]) -> str:
    """The type of all values of a map; tuples of strings may have any length."""
    found = {"tuple[str, ...]" if each.startswith("tuple[str") else each for each in types}
    (single,) = found if len(found) == 1 else (found - {"int"},)[0]
    return single


def stub() -> str:
    """The text of the file of types."""
    groups: dict[str, dict[str, Any]] = json.loads((ROOT / "spec" / "numbers.json").read_text(encoding="utf-8"))
    classes = [
        f"class {group.title()}:\n"
        + "".join(f"    {name}: {type_of(value_of(number['value'], name))}\n" for name, number in numbers.items())
        for group, numbers in groups.items()
        if group not in TABLES
    ]
    fields = "".join(
        f"    {group}: {f'Mapping[str, {TABLES[group]}]' if group in TABLES else group.title()}\n" for group in groups
    )
    return "\n".join([HEAD, *classes, f"class Numbers:\n{fields}"])


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")

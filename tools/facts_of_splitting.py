"""What the specification says of the splitting rules."""

from __future__ import annotations

from collections.abc import Callable

from in_markdown import fenced

from ctwl_protocol.numbers import NUMBERS


def _program() -> str:
    """The patterns and the rules, as a part of the core's program."""
    patterns = "".join(f'{name.upper()} = r"{pattern}"\n' for name, pattern in NUMBERS.splitting.patterns.items())
    named = {rule: ", ".join(map(str.upper, names)) for rule, names in NUMBERS.splitting.rules.items()}
    rules = "".join(f'    "{rule}": [{names}],\n' for rule, names in named.items())
    return fenced(f"{patterns}SPLITS = {{\n{rules}}}", "python")


FACTS: dict[str, Callable[[], str]] = {"splitting": _program}
"""By name, as in :data:`facts.FACTS`."""

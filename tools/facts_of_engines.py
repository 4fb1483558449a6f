"""What pages say of the serving engines, as the engines say it of themselves."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

from in_markdown import fenced, table

from ctwl_engines.engine import engines
from ctwl_engines.policy import Policy
from ctwl_engines.start import begin, ending
from ctwl_protocol.profile import OFFLINE

ROOM = Path(__file__).resolve().parents[1] / "rooms/ctwl-engines"


def page_of(folder: str) -> str:
    """The page of an engine, as a path in the repository."""
    return f"docs/providers/{folder.replace('_', '-')}.md"


def _links() -> dict[str, str]:
    return {folder: f"[{each.name}]({page_of(folder)})" for folder, each in engines().items()}


def _names() -> str:
    *others, last = (each.name for each in engines().values())
    return f"{', '.join(others)} and {last}"


def _by_extra() -> dict[str, list[str]]:
    project = tomllib.loads((ROOM / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return dict(project["optional-dependencies"])


def _llama_cpp() -> str:
    """The version that the extra installs."""
    (requirement,) = _by_extra()["llama-cpp"]
    return requirement.replace("[server]==", " ")


def _table() -> str:
    rows = ((_links()[folder], each.starts, f"`make test-{each.tests}`") for folder, each in engines().items())
    return table(("engine", "how it starts", "its tests"), *rows)


def _rollout() -> str:
    rows = ((each.name, f"`{each.switch}`", each.unmarked, each.counters) for each in engines().values())
    return table(("engine", "no mark: in a request's body", "no mark: at the next start", "counters"), *rows)


def _variables() -> str:
    told = [(variable, without) for each in engines().values() for variable, without in each.variables.items()]
    rows = ((f"`{variable.name}`", variable.meaning, without) for variable, without in told)
    return table(("variable of an engine", "for", "without it"), *rows)


def _start() -> str:
    """What a server says at its start."""
    said: list[str] = []
    begin(Policy(provider=42, version=3, profile=OFFLINE), said.append)
    return fenced(*said)


def _refusal() -> str:
    """The last line of a server that was told a field that there is not."""
    try:
        with ending():
            Policy.model_validate({"provider": 42, "version": 3, "profil": OFFLINE})
    except SystemExit as ended:
        return fenced(str(ended))
    raise AssertionError


FACTS: dict[str, Callable[[], str]] = {
    "engines": _names,
    "engine-links": lambda: ", ".join(_links().values()),
    "engine-extras": lambda: ", ".join(f"`ctwl-engines[{extra}]`" for extra in _by_extra()),
    "llama-cpp": _llama_cpp,
    "engine-table": _table,
    "engine-rollout": _rollout,
    "engine-variables": _variables,
    "engine-start": _start,
    "engine-refusal": _refusal,
}
"""What a page may say of the engines, by name."""

"""Beacons that suit a kind of text: an operator is warned before one is allotted (spec section 15).

The key is public, and texts of a narrow kind share their pairs of context and token. So some beacon suits all lists of
numbers, and a reader who asks for it sees small p-values in lists that nobody marked. ``evaluation/reading/kinds.py``
looks for the beacons that suit common kinds, and ``python -m evaluation.report`` writes them into the table here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources

from ctwl_protocol.records import BEACON_FIELDS
from ctwl_protocol.registry import Registry

CODE = "beacon-fits-text"
"""The stable code of the warning."""

TABLE = "fitting_beacons.json"
"""The file beside this module: the kinds of text that a beacon suits, by ``provider:version``."""

_PROVIDERS, _VERSIONS = (range(1 << BEACON_FIELDS[name]) for name in ("provider", "version"))


def suited(provider: int, version: int | None = None) -> dict[int, Sequence[str]]:
    """The kinds of text that suit a provider's model versions, or one of them: by version, where there is any."""
    versions = _VERSIONS if version is None else [version]
    found = {number: _table().get(f"{provider}:{number}", ()) for number in versions}
    return {number: kinds for number, kinds in found.items() if kinds}


def warning(registry: Registry, provider: int, version: int | None = None) -> str | None:
    """What an operator should know of a provider's number that is allotted, or of one of its model versions.

    Args:
        registry: that has the number, or the version, already.
        provider: the number.
        version: the model version; None for a new provider, who may use all of them.

    Returns:
        A line that says which kinds of text suit it and what to take instead; None where none is known to.
    """
    found = suited(provider, version)
    if not found:
        return None
    if version is None:
        free = [number for number in _PROVIDERS if registry.provider(number) is None and not suited(number)]
        advice = f"{_take('number', provider, free)}, or leave out version {', '.join(map(str, found))}"
    else:
        free = [other for other in _VERSIONS if registry.model(provider, other) is None and not suited(provider, other)]
        advice = _take("version", version, free)
    told = "; ".join(f"{provider}:{number} suits {', '.join(kinds)}" for number, kinds in found.items())
    return f"{CODE}: {told}. Such texts may seem to carry the code although nobody marked them; {advice}"


def _take(what: str, given: int, free: Sequence[int]) -> str:
    """Advice to take the next free one, or the first of all; without a number where none is free."""
    other = [number for number in free if number > given] or free
    return f"take another {what}" + (f", such as {other[0]}" if other else "")


@cache
def _table() -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = json.loads((resources.files(__package__) / TABLE).read_text("utf-8"))
    return found

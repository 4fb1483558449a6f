"""Attacks on a client: each is refused by its own status code, and nothing is persisted.

The vectors of registry-update, root, envelope and registry have every rule of every step, without a folder.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from registry_fixtures import DAY, role

from ctwl_protocol.registry import Envelope, bundled, keys
from ctwl_protocol.registry.store import save_trusted

REFUSED: dict[str, tuple[str, Callable[[Any], list[Any]]]] = {
    "the bundled test root over a production one": (
        "threshold-not-met",
        lambda it: [bundled().registry_bytes, bundled().root_bytes],
    ),
    "a good root is not kept where a later one is refused": (
        "root-out-of-sequence",
        lambda it: [None, it.next_root(), it.next_root(version=4)],
    ),
    "a good root is not kept where the registry is refused": (
        "threshold-not-met",
        lambda it: [it.next_registry(signers="w"), it.next_root()],
    ),
}
"""The status code that refuses each, and what is offered, a registry and then roots."""


@pytest.mark.parametrize(("code", "offered"), REFUSED.values(), ids=REFUSED)
def test_an_attack_of_one_step(repository: Any, code: str, offered: Callable[[Any], list[Any]]) -> None:
    repository.refuse(code, *offered(repository))


def test_a_production_root_over_a_test_one(repository: Any) -> None:
    save_trusted(bundled(), repository.folder)
    new = {"version": 2, "root": role(1, "a")}
    envelope = Envelope.from_bytes(repository.signed_root("a", **new))
    repository.refuse("root-use-differs", None, envelope.sign(keys.test_key(0)).sign(keys.test_key(1)).to_bytes())


def test_a_clock_set_back_to_where_a_frozen_registry_looks_fresh(repository: Any) -> None:
    old = repository.next_registry()
    repository.offer(old)
    repository.now += 50 * DAY
    repository.offer(old)
    repository.now -= DAY
    repository.offer(old)
    repository.now -= 1
    repository.refuse("clock-set-back", old)

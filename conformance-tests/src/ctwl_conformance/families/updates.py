"""Updates of a registry to make vectors from: a trusted state and what is offered to it (spec section 9.6).

The functions of cases are tables: a comment and an update in each line.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ctwl_protocol.registry import keys
from ctwl_protocol.registry.documents import REGISTRY, ROOT

from .family import JSON, Case
from .signed import BEACON, DAY, NOW, certificate, envelope, layout, provider, registry, role, root

__all__ = ["update_cases"]


def _sign_root(signers: str = "ab", **changes: Any) -> bytes:
    return envelope(ROOT, root(**changes), signers)


def _sign_registry(*entries: JSON, signers: str = "x", **changes: Any) -> bytes:
    return envelope(REGISTRY, registry(*entries, **changes), signers)


def _next(*appended: JSON, signers: str = "x", **changes: Any) -> bytes:
    """The next registry as an operator would issue it, with changes where an attacker would not."""
    sound = {"version": 6, "issued": NOW, "entries": [provider(42), provider(43), *appended]}
    return _sign_registry(signers=signers, **(sound | changes))


def _next_root(signers: str = "ab", **changes: Any) -> bytes:
    return _sign_root(signers, **({"version": 2} | changes))


def _case(
    offered: bytes | None = None,
    *roots: bytes,
    clock: int = NOW,
    trusted: bytes | None = None,
    trusted_root: bytes | None = None,
    latest: int = 0,
) -> JSON:
    """A trusted state and what is offered to it."""
    held = {"root": (trusted_root or _sign_root()).hex(), "registry": (trusted or _sign_registry()).hex()}
    return {
        "trusted": held | {"latest": latest},
        "roots": [each.hex() for each in roots],
        "registry": None if offered is None else offered.hex(),
        "clock": clock,
    }


def _accepted_cases() -> Iterator[Case]:
    yield "the next registry", _case(_next(provider(44)))
    yield "the same registry again", _case(_sign_registry())
    yield "a version left out", _case(_next(version=9))
    yield "a new root", _case(None, _next_root())
    yield "two roots and a registry", _case(_next(), _next_root(), _next_root(version=3))
    yield (
        "a root that has expired, and the one after it",
        _case(None, _next_root(expires=NOW - 1), _next_root(version=3)),
    )
    yield "new keys of the root", _case(None, _next_root("abde", root=role(2, "de")))
    yield "new keys of the registry, and what they signed", _case(_next(signers="z"), _next_root(registry=role(1, "z")))
    yield (
        "a lower version once a key was taken away",
        _case(_next(signers="z", version=2), _next_root(registry=role(1, "z"))),
    )
    yield "nothing offered", _case()
    yield "a clock a day behind", _case(_sign_registry(), latest=NOW + DAY)
    yield "a clock behind, the latest time stays", _case(_sign_registry(), latest=NOW + 5)
    yield "a registry dated a day ahead", _case(_next(issued=NOW + DAY))


def _root_cases() -> Iterator[Case]:
    # Step 1.
    yield "step 1, a stored registry by a stranger", _case(_next(), trusted=_sign_registry(signers="w"))
    yield "step 1, a stored root without its own keys", _case(_next(), trusted_root=_sign_root("de"))
    yield "step 1, a stored root that is none", _case(_next(), trusted_root=b"\x00")
    # Step 2.
    yield "step 2, a root without the old keys", _case(None, _next_root("de", root=role(2, "de")))
    yield "step 2, a root with too few of the old keys", _case(None, _next_root("ade", root=role(2, "de")))
    yield "step 2, a root without its own keys", _case(None, _next_root("ab", root=role(2, "de")))
    yield "step 2, a root for tests after one for production", _case(None, _next_root(use="test"))
    yield "step 2, the trusted root again", _case(None, _sign_root())
    yield "step 2, a root left out", _case(None, _next_root(version=3))
    yield "step 2, roots in the wrong order", _case(None, _next_root(version=3), _next_root())
    yield "step 2, a registry passed off as a root", _case(None, _next(signers="ab"))
    yield "step 2, a root that is none", _case(None, envelope(ROOT, b"\xff", "ab"))
    yield (
        "step 2, a test key in a root for production",
        _case(None, _next_root(registry={"threshold": 1, "keys": [keys.public_bytes(keys.test_key(0))]})),
    )
    yield (
        "step 2, a key of low order in a root",
        _case(None, _next_root(registry={"threshold": 1, "keys": [b"\x01" + bytes(31)]})),
    )
    # Step 3.
    yield "step 3, a root on its last second", _case(_next(), _next_root(expires=NOW + 1))
    yield "step 3, a root that has expired", _case(_next(), _next_root(expires=NOW))
    yield "step 3, the trusted root has expired", _case(_next(expires=NOW + 2000 * DAY), clock=NOW + 900 * DAY)


def _registry_cases() -> Iterator[Case]:
    # Step 4.
    yield "step 4, an unsigned registry", _case(_next(signers=""))
    yield "step 4, a registry by a stranger", _case(_next(signers="w"))
    yield "step 4, a registry by the root's keys", _case(_next(signers="abc"))
    yield "step 4, a registry by a key that was taken away", _case(_next(), _next_root(registry=role(1, "z")))
    yield "step 4, new keys that have signed no registry", _case(None, _next_root(registry=role(1, "z")))
    yield "step 4, a root passed off as a registry", _case(_next_root("abx"))
    yield "step 4, a registry that is none", _case(envelope(REGISTRY, b"\xff", "x"))
    yield "step 4, bytes that are no envelope", _case(b"\x00")
    # Step 5.
    newer, lower = _next(), _next(version=5)
    yield "step 5, an older version", _case(lower, trusted=newer)
    yield "step 5, an older date", _case(_next(issued=NOW - DAY - 1))
    yield (
        "step 5, an older version while keys are only added",
        _case(lower, _next_root(registry=role(1, "xyz")), trusted=newer),
    )
    yield (
        "step 5, an older date once a key was taken away",
        _case(_next(signers="z", version=2, issued=NOW - DAY - 1), _next_root(registry=role(1, "z"))),
    )
    yield "step 5, an equal version with another payload", _case(_next(provider(44), version=5))
    yield (
        "step 5, an equal version with another payload, under new keys",
        _case(_next(version=5, signers="z"), _next_root(registry=role(1, "z"))),
    )
    # Steps 7 and 8.
    yield "step 7, a registry on its last second", _case(_next(expires=NOW + 1))
    yield "step 7, a registry that has expired", _case(_next(expires=NOW, issued=NOW - 1))
    yield "step 7, the trusted registry again after its time", _case(_sign_registry(), clock=NOW + 90 * DAY)
    yield (
        "step 7, the trusted registry has expired, and a root alone is offered",
        _case(None, _next_root(), clock=NOW + 91 * DAY),
    )
    yield "step 8, a clock more than a day behind", _case(_sign_registry(), latest=NOW + DAY + 1)
    yield "step 8, a registry dated more than a day ahead", _case(_next(issued=NOW + DAY + 1))


def _history_cases() -> Iterator[Case]:
    first = {"epoch": 1, "since": NOW - 5 * DAY}
    ended = provider(42, state="retired", until=NOW - 3 * DAY, epochs=[first])
    held: dict[str, Any] = {"trusted": _sign_registry(ended, layout(), certificate())}

    def after(entry: JSON, *others: JSON) -> JSON:
        made: JSON = _case(_next(entries=[entry, layout(), certificate(), *others]), **held)
        return made

    (model,) = provider()["models"]
    yield "step 6, a contact may change", after(ended | {"contact": "mail@provider.example"})
    yield "step 6, retired may become revoked", after(ended | {"state": "revoked"})
    yield (
        "step 6, active may become revoked",
        _case(_next(entries=[provider(42, state="revoked", until=NOW), provider(43)])),
    )
    yield "step 6, a model may end", after(ended | {"models": [model | {"until": NOW}]})
    yield (
        "step 6, models and epochs may be appended",
        after(ended | {"models": [model, model | {"version": 1}], "epochs": [first, {"epoch": 2, "since": NOW - DAY}]}),
    )
    yield (
        "step 6, a certificate of the older registry's day",
        after(ended, certificate(commitment=bytes(32), since=NOW - DAY)),
    )
    yield "step 6, an entry removed at the end", _case(_next(entries=[provider(42)]))
    yield "step 6, an entry removed at the front", _case(_next(entries=[provider(43), provider(44)]))
    yield "step 6, entries moved", _case(_next(entries=[provider(43), provider(42)]))
    yield "step 6, an entry put between", _case(_next(entries=[provider(42), provider(44), provider(43)]))
    yield "step 6, another name", after(ended | {"name": "Somebody Else"})
    yield "step 6, given earlier", after(ended | {"since": 1})
    yield "step 6, active again", after(ended | {"state": "active", "until": None})
    yield "step 6, retired at another time", after(ended | {"until": NOW - 2 * DAY})
    revoked = _sign_registry(ended | {"state": "revoked"})
    yield "step 6, retired after it was revoked", _case(_next(entries=[ended]), trusted=revoked)
    yield "step 6, a model removed", after(ended | {"models": []})
    yield "step 6, a model renamed", after(ended | {"models": [model | {"name": "Other"}]})
    yield "step 6, a model moved in time", after(ended | {"models": [model | {"since": NOW}]})
    yield "step 6, an epoch removed", after(ended | {"epochs": []})
    yield "step 6, an epoch moved", after(ended | {"epochs": [first | {"since": NOW - 4 * DAY}]})
    yield "step 6, an epoch dated back", after(ended | {"epochs": [first, {"epoch": 2, "since": NOW - DAY - 1}]})
    yield "step 6, a certificate dated back", after(ended, certificate(commitment=bytes(32), since=NOW - DAY - 1))
    yield (
        "step 6, a layout of other fields",
        _case(_next(entries=[ended, layout(fields=[*BEACON, ["room", 20]]), certificate()]), **held),
    )
    yield (
        "step 6, a certificate of another owner",
        _case(_next(entries=[ended, layout(), certificate(owner="Somebody Else")]), **held),
    )
    yield (
        "step 6, entries removed under new keys",
        _case(_next(entries=[], signers="z"), _next_root(registry=role(1, "z"))),
    )


def update_cases() -> Iterator[Case]:
    """Updates, in the order of the steps."""
    yield from _accepted_cases()
    yield from _root_cases()
    yield from _registry_cases()
    yield from _history_cases()

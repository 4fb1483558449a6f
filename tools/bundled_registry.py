"""Make the root and the registry in the wheel of ctwl-protocol: ``python tools/bundled_registry.py``.

They are for tests: every key is a test key and every provider an example. All times are constants and Ed25519 is
deterministic, so the same files come out everywhere.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ctwl_operations.registry import drafts
from ctwl_protocol import registry
from ctwl_protocol.files import write_atomically
from ctwl_protocol.registry import Envelope
from ctwl_protocol.registry.keys import public_bytes, test_key

_ISSUED = 1_767_225_600  # 2026-01-01
_SUMMER = 1_782_864_000  # 2026-07-01
_DAYS = 3652  # until 2036-01-01

_ROOT_SIGNERS, _REGISTRY_SIGNERS = (0, 1, 2), (3, 4)

_NUMBERS = """One Two Three Four Five Six Seven Eight Nine Ten Eleven Twelve Thirteen Fourteen Fifteen Sixteen Seventeen
Eighteen Nineteen Twenty""".split()  # noqa: SIM905 - as a list it has twenty lines
_RETIRED = 13
_EPOCHS = {7: [{"epoch": 1, "since": _ISSUED}, {"epoch": 2, "since": _SUMMER}]}


def _provider(code: int, name: str, site: str, models: list[str]) -> dict[str, Any]:
    until = _SUMMER if code == _RETIRED else None
    ended: dict[str, Any] = {"since": _ISSUED, "until": until}
    return ended | {
        "kind": "provider",
        "code": code,
        "name": name,
        "contact": f"https://{site}.example/",
        "state": "active" if until is None else "retired",
        "models": [ended | {"version": version, "name": model} for version, model in enumerate(models)],
        "epochs": _EPOCHS.get(code, []),
    }


def _example(code: int, number: str, models: int) -> dict[str, Any]:
    name = f"Example {number}"
    return _provider(code, name, number.lower(), [f"{name} model {version}" for version in range(models)])


def _role(numbers: tuple[int, ...], threshold: int) -> dict[str, Any]:
    return drafts.role(threshold, [public_bytes(test_key(number)) for number in numbers])


def make() -> tuple[Envelope, Envelope]:
    """The test root and the test registry, signed."""
    roles = {"root": _role(_ROOT_SIGNERS, 2), "registry": _role(_REGISTRY_SIGNERS, 1)}
    root, listed = drafts.first(use="test", **roles, now=_ISSUED, root_days=_DAYS, days=_DAYS)
    examples = [_example(code, number, 1 + code % 3) for code, number in enumerate(_NUMBERS, start=1)]
    trials = _provider(0, "Trials (belongs to nobody)", "trials", ["Trials"])
    for entry in (trials, *examples, _example(42, "Forty-Two", 4)):
        listed = drafts.add(listed, **entry)
    signed_root = Envelope.unsigned(root)
    for signer in _ROOT_SIGNERS:
        signed_root = signed_root.sign(test_key(signer))
    return signed_root, Envelope.unsigned(listed).sign(test_key(_REGISTRY_SIGNERS[0]))


def main() -> None:
    """Write both into the package."""
    folder = Path(registry.__file__).parent / "bundled"
    for name, envelope in zip(("root", "registry"), make(), strict=True):
        write_atomically(folder / f"{name}.ctwl", envelope.to_bytes())


if __name__ == "__main__":
    main()

"""Make the root and the registry that the wheel brings: ``python -m ctwl_protocol.registry.operator.make_bundled``.

They are for tests: every key is a test key and every provider an example. Times are fixed and Ed25519 is
deterministic, so the same files come out everywhere.
"""

from __future__ import annotations

from pathlib import Path

from ...files import write_atomically
from ..documents import REGISTRY, ROOT, Registry, Role, Root
from ..entries import Epoch, ModelVersion, ProviderEntry, State
from ..envelope import Envelope
from ..keys import public_bytes, test_key

__all__ = ["main", "make"]

_ISSUED = 1_767_225_600  # 2026-01-01
_SUMMER = 1_782_864_000  # 2026-07-01
_EXPIRES = 2_082_758_400  # 2036-01-01

_ROOT_SIGNERS, _REGISTRY_SIGNERS = (0, 1, 2), (3, 4)

_NUMBERS = [
    "One",
    "Two",
    "Three",
    "Four",
    "Five",
    "Six",
    "Seven",
    "Eight",
    "Nine",
    "Ten",
    "Eleven",
    "Twelve",
    "Thirteen",
    "Fourteen",
    "Fifteen",
    "Sixteen",
    "Seventeen",
    "Eighteen",
    "Nineteen",
    "Twenty",
]
_RETIRED = 13
_WITH_EPOCHS = 7


def _role(numbers: tuple[int, ...], threshold: int) -> Role:
    return Role(threshold=threshold, keys=tuple(sorted(public_bytes(test_key(number)) for number in numbers)))


def _example(code: int, number: str, models: int) -> ProviderEntry:
    name = f"Example {number}"
    retired = code == _RETIRED
    state: State = "retired" if retired else "active"
    until = _SUMMER if retired else None
    versions = tuple(
        ModelVersion(version=version, name=f"{name} model {version}", since=_ISSUED, until=until)
        for version in range(models)
    )
    epochs = (Epoch(epoch=1, since=_ISSUED), Epoch(epoch=2, since=_SUMMER)) if code == _WITH_EPOCHS else ()
    return ProviderEntry(
        kind="provider",
        code=code,
        name=name,
        contact=f"https://{number.lower()}.example/",
        state=state,
        since=_ISSUED,
        until=until,
        models=versions,
        epochs=epochs,
    )


def _trials() -> ProviderEntry:
    model = ModelVersion(version=0, name="Trials", since=_ISSUED, until=None)
    changes = {"name": "Trials (belongs to nobody)", "contact": "https://trials.example/", "models": (model,)}
    return _example(0, "Trials", 1).model_copy(update=changes)


def make() -> tuple[Envelope, Envelope]:
    """The test root and the test registry, signed."""
    root = Root(
        format=ROOT,
        use="test",
        version=1,
        expires=_EXPIRES,
        root=_role(_ROOT_SIGNERS, 2),
        registry=_role(_REGISTRY_SIGNERS, 1),
    )
    examples = [_example(code, number, 1 + code % 3) for code, number in enumerate(_NUMBERS, start=1)]
    registry = Registry(
        format=REGISTRY,
        version=1,
        issued=_ISSUED,
        expires=_EXPIRES,
        entries=(_trials(), *examples, _example(42, "Forty-Two", 4)),
    )
    signed_root, signed_registry = Envelope.unsigned(root), Envelope.unsigned(registry)
    for number in _ROOT_SIGNERS:
        signed_root = signed_root.sign(test_key(number))
    return signed_root, signed_registry.sign(test_key(_REGISTRY_SIGNERS[0]))


def main() -> None:
    """Write both into the package."""
    folder = Path(__file__).parent.parent / "bundled"
    folder.mkdir(exist_ok=True)
    root, registry = make()
    write_atomically(folder / "root.ctwl", root.to_bytes())
    write_atomically(folder / "registry.ctwl", registry.to_bytes())


if __name__ == "__main__":
    main()

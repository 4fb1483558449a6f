"""Fuzz every parser of untrusted bytes of the protocol package, guided by coverage (atheris, which is libFuzzer).

    make fuzz                                     installs atheris first; ten minutes
    python tools/fuzz.py --seconds 600            all parsers, each its share of the time
    python tools/fuzz.py --parser registry --seconds 60
    python tools/fuzz.py --seeds FOLDER           write the sound documents, a folder for each parser

tools/oss-fuzz/ makes a program of each parser, as OSS-Fuzz runs them.

A parser may refuse its input with a CTWLError; whatever else leaves it, a hang, or a document that is read but not
written again as the same bytes, is a failure: its input is kept and the exit status is 1. Each parser starts from sound
documents; half of the mutations are of bytes, half of a value inside a document.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import atheris

with atheris.instrument_imports(include=["ctwl_protocol"]):
    from ctwl_protocol import CTWLError, Profile, canonical, get_profile, published_names, secret_file
    from ctwl_protocol.registry import Envelope, Registry, Root, append_only, bundled, display, store, workflow

Parser = Callable[[bytes], None]


def _must(true: bool) -> None:
    """What holds of every document that is read; stays where python -O drops assertions."""
    if not true:
        raise AssertionError


def _canonical(data: bytes) -> None:
    _must(canonical.encode(canonical.decode(data)) == data)


def _profile(data: bytes) -> None:
    profile = Profile.from_bytes(data)
    _must(Profile.from_bytes(profile.to_bytes()) == profile)
    _must(Profile.from_bytes(profile.to_json().encode()) == profile)


def _keyfile(data: bytes) -> None:
    secret_file.unlock(data, "open sesame", "test/1")


def _envelope(data: bytes) -> None:
    envelope = Envelope.from_bytes(data)
    _must(envelope.to_bytes() == data)
    with contextlib.suppress(CTWLError):
        envelope.verify(envelope.type, bundled().root.registry)
    with contextlib.suppress(CTWLError):
        _must(all(line.isprintable() for line in display.document_text(envelope).splitlines()))


def _root(data: bytes) -> None:
    _must(Root.from_bytes(data).to_bytes() == data)


def _registry(data: bytes) -> None:
    registry = Registry.from_bytes(data)
    _must(registry.to_bytes() == data)
    _must(all(entry.layout.codes > 1 for entry in registry.layouts()))
    for code, version in registry.beacons():
        _must(registry.model(code, version) is not None)
    with contextlib.suppress(CTWLError):
        append_only.check_append_only(bundled().registry, registry)


def _state(data: bytes) -> None:
    state = store.State.from_bytes(data)
    _must(state.to_bytes() == data)
    with contextlib.suppress(CTWLError):
        workflow.begin(state.root, state.registry, seen=state.seen)


def _targets() -> dict[str, tuple[Parser, list[bytes]]]:
    """Each parser with the sound documents that it starts from."""
    brought = bundled()
    profiles = [get_profile(name) for name in published_names()]
    documents = [brought.root_bytes, brought.registry_bytes]
    state = store.State(
        format="ctwl-registry-state/1", root=brought.root_bytes, registry=brought.registry_bytes, seen=brought.seen
    )
    values = [None, True, -1, 2**64 - 1, "text", b"bytes", [1, [2, [3]]], {"a": {"b": [None]}, "c": b""}]
    return {
        "canonical": (_canonical, [canonical.encode(value) for value in values]),
        "profile": (_profile, [form for one in profiles for form in (one.to_bytes(), one.to_json().encode())]),
        "keyfile": (_keyfile, [secret_file.lock(b"secret", "open sesame", "test/1")]),
        "envelope": (_envelope, documents),
        "root": (_root, [brought.root.to_bytes()]),
        "registry": (_registry, [brought.registry.to_bytes(), _with_all_kinds(brought.registry)]),
        "state": (_state, [state.to_bytes()]),
    }


def _with_all_kinds(registry: Registry) -> bytes:
    """A short registry with an entry of each kind, so that mutations reach all of them."""
    fields = [["provider", 10], ["version", 4], ["nonce", 6], ["room", 20]]
    detector = {"scheme": "Own", "url": "https://provider.example/detect"}
    drawn = {"commitment": bytes(32), "challenge": bytes(32)}
    entries = [
        registry.model_dump()["entries"][0] | {"detector": detector},
        {"kind": "layout", "number": 64, "name": "theatre", "owner": 0, "fields": fields},
        {"kind": "certificate", "owner": "Somebody", "since": registry.issued} | drawn,
    ]
    return canonical.encode(registry.model_dump() | {"entries": entries})


_LEAVES: list[Any] = [None, True, 0, 1, -1, 63, 64, 1023, 1024, 2**32, 2**63 - 1, 2**64 - 1, "", "a", "\u202e", b"", []]


def _altered(value: Any, chance: random.Random) -> Any:
    """The value with something else, more or less in one place."""
    deeper = chance.random() < 0.9
    if deeper and isinstance(value, dict) and value:
        name = chance.choice(list(value))
        rest = {key: item for key, item in value.items() if key != name}
        return rest if chance.random() < 0.1 else value | {name: _altered(value[name], chance)}
    if deeper and isinstance(value, list) and value:
        place = chance.randrange(len(value))
        now = chance.choice([[], [value[place]] * 2, *[[_altered(value[place], chance)]] * 3])
        return [*value[:place], *now, *value[place + 1 :]]
    if deeper and isinstance(value, bytes) and len(value) > 64:
        with contextlib.suppress(CTWLError):  # a document inside a document
            return canonical.encode(_altered(canonical.decode(value), chance))
    if deeper and isinstance(value, int):
        return value + chance.choice([-1, 1])
    return chance.choice(_LEAVES)


def _mutate(data: bytes, max_size: int, seed: int) -> bytes:
    chance = random.Random(seed)
    if chance.random() < 0.5:
        with contextlib.suppress(CTWLError):
            return canonical.encode(_altered(canonical.decode(data, max_bytes=max_size), chance))[:max_size]
    return bytes(atheris.Mutate(data, max_size))


def write_seeds(folder: Path) -> None:
    """Write the sound documents of each parser into a folder of its own."""
    for name, (_, seeds) in _targets().items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for number, seed in enumerate(seeds):
            (folder / name / f"seed{number}").write_bytes(seed)


def target(name: str, options: Sequence[str]) -> None:
    """Fuzz one parser by libFuzzer's options; libFuzzer ends the process."""
    # What is fuzzed is the header; scrypt takes its tenth of a second whatever the header says.
    secret_file._key = lambda passphrase, salt: bytes(32)
    parse, _ = _targets()[name]
    runs = read = 0

    def once(data: bytes) -> None:
        nonlocal runs, read
        try:
            parse(data)
            read += 1
        except CTWLError as error:
            _must(error.code != "error" and str(error) != "")
        runs += 1
        if runs % 500 == 0:
            print(f"read: {read}", file=sys.stderr)

    atheris.Setup([sys.argv[0], *options], once, custom_mutator=_mutate)
    atheris.Fuzz()


def _fuzz(name: str, seconds: int) -> None:
    """Fuzz one parser for a while, from its sound documents."""
    with tempfile.TemporaryDirectory() as corpus:
        write_seeds(Path(corpus))
        kept = f"-artifact_prefix={tempfile.gettempdir()}/ctwl-fuzz-{name}-"
        bounds = [f"-max_total_time={seconds}", "-timeout=20", "-rss_limit_mb=3000", "-max_len=100000"]
        target(name, [*bounds, kept, "-print_final_stats=1", "-verbosity=0", str(Path(corpus) / name)])


def _run(name: str, seconds: int) -> bool:
    """Fuzz one parser in a process of its own; whether all was well."""
    command = [sys.executable, __file__, "--parser", name, "--seconds", str(seconds), "--here"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    runs, read = (
        int([0, *re.findall(rf"{count}: +(\d+)", done.stderr)][-1]) for count in ("number_of_executed_units", "read")
    )
    well = done.returncode == 0 and runs > 0
    print(f"{name:<10} {runs:>10} {read:>10} {seconds:>8}  {'none' if well else 'FAILED'}", flush=True)
    if not well:
        print(done.stdout + done.stderr, file=sys.stderr)
    return well


def main() -> int:
    """Entry point; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = list(_targets())
    parser.add_argument("--seconds", type=int, default=600, help="shared among the parsers (default 600)")
    parser.add_argument("--parser", choices=names, action="append", help="this one alone; may be given again")
    parser.add_argument("--seeds", type=Path, metavar="FOLDER", help="write the sound documents and stop")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    chosen = arguments.parser or names
    if arguments.seeds:
        write_seeds(arguments.seeds)
        return 0
    if arguments.here:
        _fuzz(chosen[0], arguments.seconds)
    share = max(1, arguments.seconds // len(chosen))
    print(f"{'parser':<10} {'runs':>10} {'read':>10} {'seconds':>8}  escapes")
    outcomes = [_run(name, share) for name in chosen]  # all of them, whatever the first ones do
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())

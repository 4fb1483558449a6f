"""``ctwl-registry``: follow a signed registry, or keep one. It works on files and needs no network.

The registry says who owns a provider code. Follow one (update, verify, show), or keep one (the other commands). You may
send the files by any channel, because only their signatures count.

to follow a registry:
  ctwl-registry update --root root.ctwl registry.ctwl   the first time: get this root over a channel that you trust
  ctwl-registry update root-2.ctwl registry.ctwl      once, when there is a new root
  ctwl-registry update registry.ctwl                  after that
  ctwl-registry show

Where you follow no registry yet, the wheel's own is trusted, which is for tests.
exit status: 0 done; 1 verify refuses the files; 2 an error.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ..additions import Addition, Additions
from ..command import closed_output_is_fine, command_parser, help_in, run_command
from ..environment import PASSPHRASE, REGISTRY
from ..errors import CTWLError, RegistryError
from . import display, store, workflow
from .documents import ROOT
from .envelope import Envelope
from .workflow import Trusted

ADDITIONS = Additions(
    "ctwl-registry",
    tuple(
        Addition(name, what, "ctwl-operations")
        for name, what in {
            "init": "begin a registry; its help shows a whole ceremony",
            "keygen": "make a signing key",
            "add": "add a provider, model, epoch, layout or certificate",
            "enter": "enter a provider as its request says",
            "contact": "change the contact of a provider",
            "detector": "name the provider's own detector",
            "reading-model": "name the language model that reads a provider's texts best",
            "nonces": "raise the number of nonces of a model version",
            "retire": "end a provider, or one of its model versions",
            "renew": "give a registry new dates",
            "sign": "print what a file holds, and sign it",
            "rotate": "make the next root",
        }.items()
    ),
)


def _parser() -> argparse.ArgumentParser:
    what, _, more = help_in(__doc__).partition("\n\n")
    follow, _, rest = more.partition("\n\n")
    parser = command_parser(
        "ctwl-registry", what, lambda: f"{follow}\n\n{ADDITIONS.help()}\n\n{rest}", [PASSPHRASE, REGISTRY]
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, text: str, action: Callable[[argparse.Namespace], int | None]) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text, description=text)
        made.set_defaults(action=action)
        place = f"of the trusted state (default ${REGISTRY.name})"
        made.add_argument("--folder", metavar="FOLDER", type=Path, help=place)
        return made

    update = command("update", "update the trusted state by files", _update)
    verify = command("verify", "check whether an update would accept files", _verify)
    show = command("show", "print the trusted registry, or a file, unverified", _show)
    for parser_of in (update, verify):
        parser_of.add_argument("files", metavar="FILE", type=Path, nargs="+", help="roots in sequence, and a registry")
        parser_of.add_argument("--root", metavar="FILE", type=Path, help="start from this root, which you trust")
    show.add_argument("file", metavar="FILE", type=Path, nargs="?")
    for parser_of in (verify, show):
        parser_of.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _verify(arguments: argparse.Namespace) -> int:
    """Print whether an update with these files would succeed; the exit status is 1 where it would not."""
    now, files = int(time.time()), _contents(arguments.files)  # what cannot be read is an error, and no refusal
    first = store.load_trusted(arguments.folder) if arguments.root is None else store.read_file(arguments.root)
    try:
        roots, registry = _told_apart(files)
        if isinstance(first, bytes):
            first, roots = _begun(first, roots, registry), []
        trusted = workflow.update(first, now=now, roots=roots, registry=registry)
        text = f"accepted: {trusted.label(now)}, under root {trusted.root.version}"
        found, status = {"accepted": True, **display.trusted_json(trusted, now)}, 0
    except CTWLError as error:
        text = f"ctwl-registry: refused: {error.code}: {error}"
        found, status = {"accepted": False, "code": error.code, "message": str(error)}, 1
    with closed_output_is_fine():
        print(json.dumps(found, indent=2) if arguments.json else text)
    return status


def _update(arguments: argparse.Namespace) -> None:
    """Update the trusted state by the files."""
    roots, registry = _told_apart(_contents(arguments.files))
    start = None
    if arguments.root is not None:
        start, roots = _begun(store.read_file(arguments.root), roots, registry), []
    trusted = store.update_trusted(roots=roots, registry=registry, folder=arguments.folder, start=start)
    print(f"trusted: {trusted.label(int(time.time()))}, under root {trusted.root.version}")


def _show(arguments: argparse.Namespace) -> None:
    """Print what is trusted, or what a file holds, unverified."""
    if arguments.file is not None:
        envelope = Envelope.from_bytes(store.read_file(arguments.file))
        found = display.document_json(envelope) if arguments.json else display.document_text(envelope)
    else:
        trusted, now = store.load_trusted(arguments.folder), int(time.time())
        found = display.trusted_json(trusted, now) if arguments.json else display.trusted_text(trusted, now)
    with closed_output_is_fine():
        print(json.dumps(found, indent=2) if arguments.json else found)


def _contents(paths: Sequence[Path]) -> list[tuple[Path, bytes]]:
    """The bytes of files, each with its name: RegistryError where one cannot be read."""
    return [(path, store.read_file(path)) for path in paths]


def _told_apart(files: Sequence[tuple[Path, bytes]]) -> tuple[list[bytes], bytes | None]:
    """Roots and registry among the files, told apart by their type. The type is signed, so a false one is refused."""
    roots: list[bytes] = []
    registry: bytes | None = None
    for path, data in files:
        if Envelope.from_bytes(data).type == ROOT:
            roots.append(data)
        elif registry is not None:
            raise RegistryError("envelope-malformed", f"{path} is a second registry; give only the newest one")
        else:
            registry = data
    return roots, registry


def _begun(root: bytes, roots: Sequence[bytes], registry: bytes | None) -> Trusted:
    """What is trusted from a root that is named, and the roots that follow it."""
    if registry is None:
        raise RegistryError("envelope-malformed", "--root needs a registry too; give the registry's file as well")
    return workflow.begin(root, registry, roots=roots)


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    return run_command("ctwl-registry", lambda: _run(list(sys.argv[1:] if argv is None else argv)))


def _run(argv: list[str]) -> int:
    """Run the command that the first argument names."""
    if argv and argv[0] in ADDITIONS.names and (added := ADDITIONS.load(argv[0])):
        return added(argv)
    arguments = _parser().parse_args(argv)
    return arguments.action(arguments) or 0

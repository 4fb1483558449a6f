"""``ctwl-registry``: keep a signed registry, or follow one. It works on files and needs no network."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from ...command import run_command
from ...records.beacon import BEACON_FIELDS
from ...secret_file import VARIABLE as PASSPHRASE
from ..store import VARIABLE as FOLDER
from . import actions

__all__ = ["main"]

_DESCRIPTION = """\
The registry says who owns a provider code. Keep one (keygen, init, add, retire, sign, rotate), or follow one (update,
verify, show). Everything works on files. You may send them by any channel, because only their signatures count.
"""

_EPILOG = f"""\
a whole ceremony: two of three people sign the root, one key signs the registry:
  A=$(ctwl-registry keygen a.key)                     each person on a machine of their own; prints the public key
  B=$(ctwl-registry keygen b.key)
  C=$(ctwl-registry keygen c.key)
  X=$(ctwl-registry keygen x.key)
  ctwl-registry init --use production --root-threshold 2 --root-key $A --root-key $B --root-key $C --registry-key $X
  ctwl-registry sign root.ctwl a.key                  prints what is signed; b.key signs on another machine
  ctwl-registry sign root.ctwl b.key
  ctwl-registry add provider registry.ctwl --code 42 --name Example --contact https://example.org/
  ctwl-registry add model registry.ctwl --code 42 --version 0 --name "Example 1"
  ctwl-registry sign registry.ctwl x.key
  ctwl-registry verify --root root.ctwl registry.ctwl
later, a change, and another key for the registry:
  ctwl-registry retire registry.ctwl --code 42 --version 0
  ctwl-registry sign registry.ctwl x.key
  ctwl-registry rotate root.ctwl root-2.ctwl --registry-key $Y
  ctwl-registry sign root-2.ctwl a.key b.key          where the root's keys change: old and new keys sign
  ctwl-registry sign registry.ctwl y.key              x.key's signature stays, for clients that lack root 2
to follow the registry:
  ctwl-registry update --root root.ctwl registry.ctwl   the first time: get this root over a channel that you trust
  ctwl-registry update root-2.ctwl registry.ctwl      after that
  ctwl-registry show

A change to a signed file starts the next version in the same file, unsigned; keep what you published. Passphrases come
from ${PASSPHRASE} or the terminal. The trusted state is in ${FOLDER}, else in the user's data folder. Where
there is none, the wheel's own registry is trusted, which is for tests.
exit status: 0 done; 1 verify refuses the files; 2 an error.
"""


def _hex(text: str) -> bytes:
    try:
        data = bytes.fromhex(text)
    except ValueError:
        data = b""
    if len(data) != 32:
        raise argparse.ArgumentTypeError("give 64 hexadecimal digits")
    return data


def _day(text: str) -> int:
    try:
        return int(datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).timestamp())
    except ValueError as error:
        raise argparse.ArgumentTypeError("give a day as YYYY-MM-DD") from error


def _field(text: str) -> tuple[str, int]:
    name, _, bits = text.partition(":")
    if not bits.isdecimal() or len(bits) > 3:
        raise argparse.ArgumentTypeError("give NAME:BITS, such as room:12")
    return name, int(bits)


class _Option(NamedTuple):
    """An option of several subcommands: its flag, and how argparse reads it."""

    flag: str
    how: dict[str, Any]

    @property
    def field(self) -> str:
        """The field of the entry that it sets."""
        return str(self.how.get("dest", self.flag.removeprefix("--")))


def _required(flag: str, **how: Any) -> _Option:
    return _Option(flag, {"required": True, **how})


_CODE = _required("--code", type=int, help="the provider's code, 0 to 1023")
_NAME = _required("--name", help="a name on one line")
_CONTACT = _required("--contact", help="a web page (https://...) or a mail address")
_VERSION = _required("--version", type=int, help="the model version, 0 to 15")
_EPOCH = _required("--epoch", type=int, help="greater than the last one")
_SINCE = _Option("--since", {"type": _day, "metavar": "DAY", "help": "YYYY-MM-DD (default now)"})
_NUMBER = _required("--number", type=int, help="64 to 127, used by no other layout")
_OWNER_CODE = _required("--owner", type=int, metavar="CODE", help="the code of the provider that owns the layout")
_FIELD = _required(
    "--field",
    metavar="NAME:BITS",
    type=_field,
    action="append",
    dest="fields",
    default=list(BEACON_FIELDS.items()),
    help="a field after the beacon's three, most significant first; 20, 40 or 60 bits in total; may be repeated",
)
_COMMITMENT = _required("--commitment", type=_hex, metavar="HEX", help="the output of ctwl-profile commit")
_OWNER_NAME = _required("--owner", help="who has the profile certified")

_UNENDED = {"until": None}

_ADDITIONS: dict[str, tuple[str, tuple[_Option, ...], dict[str, Any]]] = {
    "provider": (
        "give a code to an owner",
        (_CODE, _NAME, _CONTACT, _SINCE),
        {"state": "active", "models": [], "epochs": [], **_UNENDED},
    ),
    "model": ("a model version of a provider", (_CODE, _VERSION, _NAME, _SINCE), _UNENDED),
    "epoch": ("a key epoch of a provider's sealed user ids", (_CODE, _EPOCH, _SINCE), {}),
    "layout": ("the meaning of a record's codes", (_NUMBER, _NAME, _OWNER_CODE, _FIELD), {}),
    "certificate": ("a commitment to a private profile, now", (_COMMITMENT, _OWNER_NAME), {"since": None}),
}
"""What ``add`` adds: a text for the help, the options, and the fields that no option sets."""

_Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ctwl-registry",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_roots(commands)
    _add_changes(commands)
    _add_signing(commands)
    _add_following(commands)
    return parser


def _command(commands: _Commands, name: str, action: actions.Action, text: str) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=text, description=text)
    parser.set_defaults(action=action)
    return parser


def _add_roots(commands: _Commands) -> None:
    keygen = _command(commands, "keygen", actions.keygen, "make a signing key and print its public half")
    keygen.add_argument("key", metavar="KEYFILE", type=Path, help="the file to write; a passphrase opens it")
    init = _command(commands, "init", actions.init, "make the first root and an empty registry, unsigned")
    init.add_argument("--use", choices=["production", "test"], default="test", help="what it is for (default test)")
    for name in ("root", "registry"):
        path = Path(f"{name}.ctwl")
        init.add_argument(f"--{name}", metavar="FILE", type=Path, default=path, help=f"to write (default {path})")
    _add_roles(init, needed=True)
    _add_days(init)
    rotate = _command(commands, "rotate", actions.rotate, "make the next root; the keys of both roots must sign it")
    rotate.add_argument("file", metavar="ROOT", type=Path, help="the newest root")
    rotate.add_argument("out", metavar="NEXT", type=Path, help="the file to write")
    _add_roles(rotate, needed=False)


def _add_changes(commands: _Commands) -> None:
    add = commands.add_parser("add", help="add a provider, model, epoch, layout or certificate")
    kinds = add.add_subparsers(metavar="KIND", required=True)
    for kind, (text, options, fixed) in _ADDITIONS.items():
        parser = _add_change(kinds, kind, actions.add, text, options)
        parser.set_defaults(kind=kind, options=[option.field for option in options], fixed=fixed)
    _add_change(commands, "contact", actions.contact, "change the contact of a provider", (_CODE, _CONTACT))
    text = "end a provider, or one of its model versions; nobody else can get the code"
    retire = _add_change(commands, "retire", actions.retire, text, (_CODE,))
    which = retire.add_mutually_exclusive_group()
    which.add_argument("--version", type=int, help="end only this model version")
    which.add_argument("--revoke", action="store_true", help="texts found from then on are no evidence")
    retire.add_argument("--at", type=_day, metavar="DAY", help="YYYY-MM-DD (default now); not where it ended before")
    _add_change(commands, "renew", actions.renew, "give a registry new dates, and change nothing else", ())


def _add_change(
    commands: _Commands, name: str, action: actions.Action, text: str, options: Sequence[_Option]
) -> argparse.ArgumentParser:
    parser = _command(commands, name, action, text)
    parser.add_argument("file", metavar="REGISTRY", type=Path, help="the file to change; sign it afterwards")
    _add_days(parser)
    for option in options:
        parser.add_argument(option.flag, **option.how)
    return parser


def _add_signing(commands: _Commands) -> None:
    sign = _command(commands, "sign", actions.sign, "print what a file holds, and sign it with one key or more")
    sign.add_argument("file", metavar="FILE", type=Path)
    sign.add_argument("keys", metavar="KEYFILE", type=Path, nargs="+")


def _add_following(commands: _Commands) -> None:
    verify = _command(commands, "verify", actions.verify, "check whether an update would accept files")
    update = _command(commands, "update", actions.update, "update the trusted state by files")
    for parser in (verify, update):
        parser.add_argument("files", metavar="FILE", type=Path, nargs="+", help="roots in sequence, and a registry")
        parser.add_argument("--root", metavar="FILE", type=Path, help="start from this root, which you trust")
    show = _command(commands, "show", actions.show, "print the trusted registry, or a file, unverified")
    show.add_argument("file", metavar="FILE", type=Path, nargs="?")
    for parser in (verify, show):
        parser.add_argument("--json", action="store_true", help="print JSON")
    for parser in (verify, update, show):
        parser.add_argument("--folder", metavar="FOLDER", type=Path, help=f"of the trusted state (default ${FOLDER})")


def _add_roles(parser: argparse.ArgumentParser, *, needed: bool) -> None:
    usual_keys, usual_threshold = ("", "1") if needed else (" (default: the same keys)", "as before")
    for name in ("root", "registry"):
        parser.add_argument(
            f"--{name}-key",
            metavar="HEX",
            type=_hex,
            action="append",
            required=needed,
            dest=f"{name}_keys",
            help=f"a public key that may sign the {name}; may be repeated{usual_keys}",
        )
        threshold_help = f"number of keys that must sign the {name} (default {usual_threshold})"
        default = 1 if needed else None
        parser.add_argument(f"--{name}-threshold", metavar="N", type=int, default=default, help=threshold_help)
    parser.add_argument(
        "--root-days", metavar="DAYS", type=int, default=730, help="how long the root holds (default 730)"
    )


def _add_days(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--days", metavar="DAYS", type=int, default=90, help="how long the registry holds (default 90)")


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    arguments = _parser().parse_args(argv)
    action: actions.Action = arguments.action
    return run_command("ctwl-registry", lambda: action(arguments) or 0)

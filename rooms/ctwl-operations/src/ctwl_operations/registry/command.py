"""Keeping a signed registry, by ``ctwl-registry``. It works on files and needs no network.

a whole ceremony: two of three people sign the root, one key signs the registry:
  A=$(ctwl-registry keygen a.key)                     each person on a machine of their own; prints the public key
  B=$(ctwl-registry keygen b.key)
  C=$(ctwl-registry keygen c.key)
  X=$(ctwl-registry keygen x.key)
  ctwl-registry init --use production --root-threshold 2 --root-key $A --root-key $B --root-key $C --registry-key $X
  ctwl-registry sign root.ctwl a.key                  prints what is signed; b.key signs on another machine
  ctwl-registry sign root.ctwl b.key
  ctwl-registry add provider registry.ctwl --provider 42 --name Example --contact https://example.org/
  ctwl-registry add model registry.ctwl --provider 42 --version 0 --name "Example 1"
  ctwl-registry sign registry.ctwl x.key              root.ctwl is here too: it says that x.key may
  ctwl-registry verify --root root.ctwl registry.ctwl
a certificate for a private profile, whose owner sent $H, the output of ctwl-profile commit; its challenge is drawn now.
Nobody gets another one, so sign and publish every certificate that you add, whatever its owner says then:
  ctwl-registry add certificate registry.ctwl --commitment $H --owner "Example Ltd"
a provider's own detector, to which every report that finds its code points:
  ctwl-registry detector registry.ctwl --provider 42 --scheme Ours --url https://example.org/detect
the open language model that reads a provider's texts best, which reports name where they find nothing:
  ctwl-registry reading-model registry.ctwl --provider 42 --model example/example-1b
a model version whose texts have 8 nonces in place of 64, so that a reader finds shorter texts; more later, never fewer:
  ctwl-registry add model registry.ctwl --provider 42 --version 2 --name "Example 3" --nonces 8
later, a change, and another key for the registry:
  ctwl-registry retire registry.ctwl --provider 42 --version 0
  ctwl-registry sign registry.ctwl x.key
  Y=$(ctwl-registry keygen y.key)
  ctwl-registry rotate root.ctwl root-2.ctwl --registry-key $Y
  ctwl-registry sign root-2.ctwl a.key b.key          where the root's keys change: old and new keys sign
  ctwl-registry sign registry.ctwl y.key              x.key's stays, for clients that lack root 2
after a theft of x.key: rotate to a root without it, then go on from the thief's last registry. Its entries stay; revoke
them (retire --revoke). Where its version is too high to go on from, choose one:
  ctwl-registry renew registry.ctwl --version 9
  ctwl-registry sign registry.ctwl y.key

A change to a signed file starts the next version in the same file, unsigned; keep what you published.
"""

from __future__ import annotations

import argparse
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from ctwl_protocol.command import command_parser, day, help_in, whole_number
from ctwl_protocol.records import BEACON_FIELDS

from . import actions, drafts


def _hex(text: str) -> bytes:
    try:
        data = bytes.fromhex(text)
    except ValueError:
        data = b""
    if len(data) != 32:
        raise argparse.ArgumentTypeError("give 64 hexadecimal digits")
    return data


def _typed(name: str) -> str:
    """A name as the registry spells it: composed, and without the byte order mark of a file that it comes from."""
    return unicodedata.normalize("NFC", name.removeprefix("\ufeff"))


def _field(text: str) -> tuple[str, int]:
    name, _, bits = text.partition(":")
    if not bits.isdecimal() or len(bits) > 3:
        raise argparse.ArgumentTypeError("give NAME:BITS, such as room:12")
    return name, int(bits)


_MOST = (1 << 32) - 1
_WHOLE = whole_number(0, _MOST)
"""The type of options that are numbers. Which ones a registry takes, its documents check."""


def _shared(*flags: str, required: bool = True, **how: Any) -> argparse.ArgumentParser:
    """An option that several subcommands have."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument(*flags, required=required, **how)
    return parser


_DAYS = _shared(
    "--days", required=False, metavar="N", type=_WHOLE, default=90, help="days until the registry expires (default 90)"
)
_CODE = _shared("--provider", dest="code", metavar="PROVIDER", type=_WHOLE, help="the provider's number, 0 to 1023")
_NAME = _shared("--name", type=_typed, help="a name on one line")
_CONTACT = _shared("--contact", help="a web page (https://...) or a mail address")
_VERSION = _shared("--version", type=_WHOLE, help="the model version, 0 to 15")
_EPOCH = _shared("--epoch", type=_WHOLE, help="greater than the last one")
_SINCE = _shared("--since", required=False, type=day, metavar="DAY", help="YYYY-MM-DD (default now)")
_NONCES_HELP = "its texts have the nonces 0 to N - 1, N from 1 to 64; with fewer, readers find shorter texts, and "
_NONCES_HELP += "more answers to one prompt are alike"
_NONCES = _shared("--nonces", type=_WHOLE, metavar="N", help=_NONCES_HELP)
_MAY_NONCES = _shared(
    "--nonces", required=False, type=_WHOLE, metavar="N", help=f"{_NONCES_HELP} (default: no limit, 64)"
)
_NUMBER = _shared("--number", type=_WHOLE, help="64 to 127, used by no other layout")
_OWNER_CODE = _shared(
    "--owner", type=_WHOLE, metavar="PROVIDER", help="the number of the provider that owns the layout"
)
_FIELD = _shared(
    "--field",
    metavar="NAME:BITS",
    type=_field,
    action="append",
    dest="fields",
    default=list(BEACON_FIELDS.items()),
    help="a field after the beacon's three, most significant first; all fill whole codes of 20 bits; may be repeated",
)
_COMMITMENT = _shared("--commitment", type=_hex, metavar="HEX", help="the output of ctwl-profile commit")
_OWNER_NAME = _shared("--owner", type=_typed, help="who has the profile certified")

_PROVIDER_DEFAULTS: dict[str, Any] = {"state": "active", "until": None, "models": [], "epochs": []}

_ADDITIONS: dict[str, tuple[str, list[argparse.ArgumentParser], dict[str, Any]]] = {
    "provider": ("give a provider's number to an owner", [_CODE, _NAME, _CONTACT, _SINCE], _PROVIDER_DEFAULTS),
    "model": ("a model version of a provider", [_CODE, _VERSION, _NAME, _SINCE, _MAY_NONCES], {"until": None}),
    "epoch": ("a key epoch of a provider's sealed user ids", [_CODE, _EPOCH, _SINCE], {}),
    "layout": ("the meaning of a record's codes", [_NUMBER, _NAME, _OWNER_CODE, _FIELD], {}),
    "certificate": (
        "a commitment to a private profile, now, with a fresh challenge",
        [_COMMITMENT, _OWNER_NAME],
        {"since": None},
    ),
}
"""What ``add`` adds: a text for the help, the options, and the fields that no option sets."""

_REQUEST = """\
a request, a file in TOML. For another contact or detector, or further models, the provider sends it again, changed:
  provider = 42
  name = "Example"
  contact = "https://example.org/"
  models = {0 = "Example 1", 1 = "Example 2"}
  detector = {scheme = "Ours", url = "https://example.org/detect"}    may be left out
  ctwl-registry enter registry.ctwl 42.toml
"""

_Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def _parser() -> argparse.ArgumentParser:
    parser = command_parser("ctwl-registry", "Keep a signed registry.", "")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_roots(commands)
    _add_changes(commands)
    _add_signing(commands)
    return parser


def _command(
    commands: _Commands, name: str, action: actions.Action, text: str, options: Sequence[argparse.ArgumentParser] = ()
) -> argparse.ArgumentParser:
    kept = argparse.RawDescriptionHelpFormatter
    parser = commands.add_parser(name, help=text, description=text, parents=options, formatter_class=kept)
    parser.set_defaults(action=action)
    return parser


def _add_roots(commands: _Commands) -> None:
    keygen = _command(commands, "keygen", actions.keygen, "make a signing key and print its public half")
    keygen.add_argument("key", metavar="KEYFILE", type=Path, help="the file to write; a passphrase opens it")
    init = _command(commands, "init", actions.init, "make the first root and an empty registry, unsigned", [_DAYS])
    init.epilog = help_in(__doc__)
    init.add_argument("--use", choices=["production", "test"], default="test", help="what it is for (default test)")
    for name in ("root", "registry"):
        path = Path(f"{name}.ctwl")
        init.add_argument(f"--{name}", metavar="FILE", type=Path, default=path, help=f"to write (default {path})")
    _add_roles(init, needed=True)
    rotate = _command(commands, "rotate", actions.rotate, "make the next root; the keys of both roots must sign it")
    rotate.add_argument("file", metavar="ROOT", type=Path, help="the newest root")
    rotate.add_argument("out", metavar="NEXT", type=Path, help="the file to write")
    _add_roles(rotate, needed=False)


def _add_changes(commands: _Commands) -> None:
    changed = argparse.ArgumentParser(add_help=False, parents=[_DAYS])
    changed.add_argument("file", metavar="REGISTRY", type=Path, help="the file to change; sign it afterwards")
    add = commands.add_parser("add", help="add a provider, model, epoch, layout or certificate")
    kinds = add.add_subparsers(metavar="KIND", required=True)
    for kind, (text, options, fixed) in _ADDITIONS.items():
        _command(kinds, kind, actions.change, text, [*options, changed]).set_defaults(
            change=drafts.add, kind=kind, **fixed
        )
    text = "enter a provider as its request says: a new one, another contact or detector, further model versions"
    enter = _command(commands, "enter", actions.enter, text, [changed])
    enter.add_argument("request", metavar="REQUEST", type=Path, help="a file in TOML, see below")
    enter.epilog = _REQUEST
    enter.add_argument("--hosts", action="store_true", help="only print the hosts whose owner must agree")
    text = "change the contact of a provider"
    contact = _command(commands, "contact", actions.change, text, [_CODE, _CONTACT, changed])
    contact.set_defaults(change=drafts.set_contact)
    text = "name the provider's own detector, to which reports point; or take it away"
    detector = _command(commands, "detector", actions.detector, text, [_CODE, changed])
    detector.add_argument(
        "--scheme", metavar="NAME", type=_typed, help="the watermark that it reads, such as SynthID-Text"
    )
    detector.add_argument("--url", help="its address: https, a host by name, a path")
    detector.add_argument("--none", action="store_true", help="take it away")
    text = "name the open language model that reads a provider's texts best, which reports show; or take it away"
    reading_model = _command(commands, "reading-model", actions.change, text, [_CODE, changed])
    reading_model.set_defaults(change=drafts.set_reading_model)
    named = reading_model.add_mutually_exclusive_group(required=True)
    named.add_argument("--model", dest="reading_model", metavar="OWNER/NAME", help="its name on a hub")
    named.add_argument("--none", dest="reading_model", action="store_const", const=None, help="take it away")
    text = "raise the number of nonces of a model version; a lower number needs a new version"
    nonces = _command(commands, "nonces", actions.change, text, [_CODE, _VERSION, _NONCES, changed])
    nonces.set_defaults(change=drafts.set_nonces)
    text = "end a provider, or one of its model versions; nobody else can get the number"
    retire = _command(commands, "retire", actions.change, text, [_CODE, changed])
    retire.set_defaults(change=drafts.retire)
    which = retire.add_mutually_exclusive_group()
    which.add_argument("--version", type=_WHOLE, help="end only this model version")
    which.add_argument("--revoke", action="store_true", help="texts found from then on are no evidence")
    retire.add_argument("--at", type=day, metavar="DAY", help="YYYY-MM-DD (default now)")
    text = "give a registry new dates, and change nothing else"
    renew = _command(commands, "renew", actions.renew, text, [changed])
    help_ = "a lower version than the next one, after a theft: clients take it if the new root took a key away"
    renew.add_argument("--version", type=whole_number(1, _MOST), metavar="N", help=help_)


def _add_signing(commands: _Commands) -> None:
    sign = _command(commands, "sign", actions.sign, "print what a file holds, and sign it with one key or more")
    sign.add_argument("file", metavar="FILE", type=Path)
    sign.add_argument("keys", metavar="KEYFILE", type=Path, nargs="+")
    help_ = f"a root that lists the keys; may be repeated (default: {actions.ROOT_FILES} in the folder of FILE)"
    sign.add_argument("--root", metavar="ROOT", type=Path, action="append", dest="roots", help=help_)


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
        parser.add_argument(f"--{name}-threshold", metavar="N", type=_WHOLE, default=default, help=threshold_help)
    parser.add_argument(
        "--root-days", metavar="N", type=_WHOLE, default=730, help="days until the root expires (default 730)"
    )


def main(argv: Sequence[str]) -> int:
    """Entry point; returns the exit status."""
    arguments = _parser().parse_args(argv)
    arguments.action(arguments)
    return 0

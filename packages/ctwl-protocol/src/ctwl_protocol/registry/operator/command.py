"""``ctwl-registry``: keep a signed registry, or follow one. All of it works on files, without a network."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from ...errors import CTWLError
from ...secret_file import VARIABLE as PASSPHRASE
from ..store import VARIABLE as FOLDER
from . import actions

__all__ = ["main"]

_DESCRIPTION = """\
The registry says who owns a provider code. Keep one (keygen, init, add, retire, sign, rotate), or follow one (update,
verify, show). Everything works on files: carry them as you like, what counts is their signatures.
"""

_EPILOG = f"""\
a whole ceremony, with two of three people for the root and one key for the registry:
  A=$(ctwl-registry keygen a.key)                     each person on a machine of their own; prints the public key
  B=$(ctwl-registry keygen b.key)
  C=$(ctwl-registry keygen c.key)
  X=$(ctwl-registry keygen x.key)
  ctwl-registry init --use production --root-threshold 2 --root-key $A --root-key $B --root-key $C --registry-key $X
  ctwl-registry sign root.ctwl a.key                  it says what is signed; b.key signs elsewhere
  ctwl-registry sign root.ctwl b.key
  ctwl-registry add provider registry.ctwl --code 42 --name Example --contact https://example.org/
  ctwl-registry add model registry.ctwl --code 42 --version 0 --name "Example 1"
  ctwl-registry sign registry.ctwl x.key
  ctwl-registry verify --root root.ctwl registry.ctwl
later, a change, and another key for the registry:
  ctwl-registry retire registry.ctwl --code 42 --version 0
  ctwl-registry sign registry.ctwl x.key
  ctwl-registry rotate root.ctwl root-2.ctwl --registry-key $Y
  ctwl-registry sign root-2.ctwl a.key b.key          with new root keys: the old ones and the new ones sign
  ctwl-registry sign registry.ctwl y.key              x.key's signature stays, for clients that lack root 2
who follows it:
  ctwl-registry update --root root.ctwl registry.ctwl   at first: this root came to you by a way that you trust
  ctwl-registry update root-2.ctwl registry.ctwl      from then on
  ctwl-registry show

A change to a signed file begins the next version, unsigned, in the same file; keep what you published. Passphrases come
from ${PASSPHRASE} or the terminal. The trusted state lies in ${FOLDER}, else in the user's data folder. Where
there is none, the wheel's own registry is trusted, which is one for tests.
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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ctwl-registry",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_keeping(commands)
    _add_following(commands)
    return parser


def _add_keeping(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    keygen = commands.add_parser("keygen", help="make a signing key; prints its public half")
    keygen.set_defaults(action=actions.keygen)
    keygen.add_argument("key", metavar="KEYFILE", type=Path, help="the file to write, which opens with a passphrase")

    init = commands.add_parser("init", help="make the first root and an empty registry, to be signed")
    init.set_defaults(action=actions.init)
    init.add_argument("--use", choices=["production", "test"], default="test", help="for good, or test (default)")
    init.add_argument("--root", metavar="FILE", type=Path, default=Path("root.ctwl"), help="default root.ctwl")
    init.add_argument("--registry", metavar="FILE", type=Path, default=Path("registry.ctwl"))
    _add_roles(init, needed=True)

    add = commands.add_parser("add", help="add a provider, model, epoch, layout or certificate")
    kinds = add.add_subparsers(metavar="KIND", required=True)
    provider = _change(kinds, "provider", actions.add_provider, "give a code to an owner")
    provider.add_argument("--code", type=int, required=True, help="0 to 1023, never given before")
    provider.add_argument("--name", required=True)
    provider.add_argument("--contact", required=True, help="a page (https://...) or a mail address")
    model = _change(kinds, "model", actions.add_model, "a model version of a provider")
    model.add_argument("--code", type=int, required=True)
    model.add_argument("--version", type=int, required=True, help="0 to 15")
    model.add_argument("--name", required=True)
    epoch = _change(kinds, "epoch", actions.add_epoch, "a key epoch of a provider's sealed user ids")
    epoch.add_argument("--code", type=int, required=True)
    epoch.add_argument("--epoch", type=int, required=True, help="greater than the one before")
    for dated in (provider, model, epoch):
        dated.add_argument("--since", type=_day, metavar="DAY", help="YYYY-MM-DD; default now")
    layout = _change(kinds, "layout", actions.add_layout, "what the codes of a record mean")
    layout.add_argument("--number", type=int, required=True, help="64 to 127, never given before")
    layout.add_argument("--name", required=True)
    layout.add_argument("--owner", type=int, required=True, metavar="CODE")
    layout.add_argument(
        "--field",
        metavar="NAME:BITS",
        type=_field,
        action="append",
        required=True,
        dest="fields",
        help="a field after the beacon's three, most significant first; in all 20, 40 or 60 bits",
    )
    certificate = _change(kinds, "certificate", actions.add_certificate, "a commitment to a private profile, as of now")
    certificate.add_argument("--commitment", type=_hex, required=True, metavar="HEX")
    certificate.add_argument("--owner", required=True, help="who has it certified")

    contact = _change(commands, "contact", actions.contact, "change how a provider is reached")
    contact.add_argument("--code", type=int, required=True)
    contact.add_argument("--contact", required=True)
    retire = _change(commands, "retire", actions.retire, "end a provider, or one model version; the code stays taken")
    retire.add_argument("--code", type=int, required=True)
    which = retire.add_mutually_exclusive_group()
    which.add_argument("--version", type=int, help="this model version alone")
    which.add_argument("--revoke", action="store_true", help="what is found from then on is no evidence")
    retire.add_argument("--at", type=_day, metavar="DAY", help="YYYY-MM-DD; default now; not of what has ended already")
    _change(commands, "renew", actions.renew, "date a registry anew before it expires, without a change")

    rotate = commands.add_parser("rotate", help="make the next root; the keys of both must sign it")
    rotate.set_defaults(action=actions.rotate)
    rotate.add_argument("file", metavar="ROOT", type=Path, help="the newest root")
    rotate.add_argument("out", metavar="NEXT", type=Path, help="the file to write")
    _add_roles(rotate, needed=False)

    sign = commands.add_parser("sign", help="say what a file holds, and sign it with one key or more")
    sign.set_defaults(action=actions.sign)
    sign.add_argument("file", metavar="FILE", type=Path)
    sign.add_argument("keys", metavar="KEYFILE", type=Path, nargs="+")


def _add_following(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    verify = commands.add_parser("verify", help="would an update take these files? changes nothing")
    verify.set_defaults(action=actions.verify)
    update = commands.add_parser("update", help="take files into the trusted state")
    update.set_defaults(action=actions.update)
    for parser in (verify, update):
        parser.add_argument("files", metavar="FILE", type=Path, nargs="+", help="roots in sequence, and a registry")
        parser.add_argument("--root", metavar="FILE", type=Path, help="trust this root on your word, to start from")
    shown = commands.add_parser("show", help="the trusted registry, or a file as it stands, unverified")
    shown.set_defaults(action=actions.show)
    shown.add_argument("file", metavar="FILE", type=Path, nargs="?")
    for parser in (verify, shown):
        parser.add_argument("--json", action="store_true", help="print JSON")
    for parser in (verify, update, shown):
        parser.add_argument("--folder", metavar="FOLDER", type=Path, help=f"the trusted state's; default ${FOLDER}")


def _add_roles(parser: argparse.ArgumentParser, *, needed: bool) -> None:
    otherwise = "" if needed else "; without one the keys stay"
    for name in ("root", "registry"):
        parser.add_argument(
            f"--{name}-key",
            metavar="HEX",
            type=_hex,
            action="append",
            required=needed,
            dest=f"{name}_keys",
            help=f"a public key of the {name}'s role; may be given again{otherwise}",
        )
        usual = "1" if needed else "as it was"
        parser.add_argument(
            f"--{name}-threshold", metavar="N", type=int, help=f"so many of them sign the {name}; default {usual}"
        )
    parser.add_argument("--root-days", metavar="N", type=int, default=730, help="the root expires then (default 730)")
    if needed:
        _add_days(parser)


def _add_days(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--days", metavar="N", type=int, default=90, help="the registry expires then (default 90)")


def _change(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, action: actions.Action, text: str
) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=text, description=text)
    parser.set_defaults(action=action)
    parser.add_argument("file", metavar="REGISTRY", type=Path, help="changed in place, and then to be signed")
    _add_days(parser)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    arguments = _parser().parse_args(argv)
    action: actions.Action = arguments.action
    try:
        status = action(arguments)
        sys.stdout.flush()
    except CTWLError as error:
        print(f"ctwl-registry: {error.code}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of our output went away
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        print(f"ctwl-registry: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("ctwl-registry: interrupted", file=sys.stderr)
        return 2
    return status

"""``ctwl-decode prove`` and ``ctwl-decode verify``: a proof, and its verification in front of anyone."""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctwl_decoder.errors import OptionOutOfRange, OutputExists
from ctwl_decoder.files import read_bytes, read_text
from ctwl_decoder.options import add_alpha, add_proxy_options, check_alpha
from ctwl_decoder.report import describe
from ctwl_protocol import STANDARD, Profile, canonical, get_profile
from ctwl_protocol.command import closed_output_is_fine, command_parser, day, help_in, note
from ctwl_protocol.environment import CACHE, PROFILE, PROXY, REGISTRY
from ctwl_protocol.errors import ProxyNotFound
from ctwl_protocol.files import write_atomically
from ctwl_protocol.profile.private import certificate_of, certified
from ctwl_protocol.registry import OFFERED, trusted_with

from ..errors import ProofUnfounded
from .document import Proof
from .verification import has_public_proxy, verify

if TYPE_CHECKING:
    from ctwl_decoder import Decoder

_REVEALS = """\
A proof reveals the profile's key to everyone who reads it. They can then read every text of that profile and write
others, so the proof proves nothing about texts that appear later. Make proofs from a user's profile (ctwl-profile
for-user), not from the provider's own, from which all users' profiles follow. Only texts that were marked under the
certified profile (ctwl-profile certified) can be proved, so have every profile certified before you mark.

"""


class _Once(argparse.Action):
    """Store what may be given once: a second one would replace the first without a word."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, *_: object) -> None:
        if getattr(namespace, self.dest, None) is not None:
            parser.error(f"{self.option_strings[0]} is given twice, and this command takes one")
        setattr(namespace, self.dest, values)


def _prove_parser() -> argparse.ArgumentParser:
    what = "Write a proof that a text carries a code of a private profile, for others to verify."
    parser = command_parser("ctwl-decode prove", what, _REVEALS + help_in(main_prove.__doc__), [*PROXY, REGISTRY])
    parser.add_argument("file", metavar="TEXT", help="a UTF-8 text file; - reads standard input")
    parser.add_argument("--out", metavar="FILE", type=Path, required=True, help="the proof to write; never overwritten")
    parser.add_argument("--registry", metavar="FILE", help=OFFERED)
    add_alpha(parser)
    what = "the profile that the text was written with: a published one or a profile file"
    parser.add_argument("--profile", action=_Once, help=f"{what} (default: ${PROFILE.name})")
    add_proxy_options(parser, profiles=False, device=False)
    return parser


def _verify_parser() -> argparse.ArgumentParser:
    what = "Verify a proof that a text carries a code of a certified private profile."
    parser = command_parser("ctwl-decode verify", what, _REVEALS + help_in(main_verify.__doc__), [CACHE, REGISTRY])
    parser.add_argument("file", metavar="PROOF", help="the proof; - reads standard input")
    parser.add_argument(
        "--appeared",
        metavar="DATE",
        type=day,
        required=True,
        help="the day, in UTC, on which the text appeared as you know it, such as 2026-11-01",
    )
    parser.add_argument("--text", metavar="FILE", help="the text in question, to compare with the one in the proof")
    parser.add_argument("--registry", metavar="FILE", help=OFFERED)
    add_proxy_options(parser, profiles=False, device=False)
    add_alpha(parser)
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    return parser


def main_prove(argv: Sequence[str]) -> int:
    """``ctwl-decode prove``; returns the exit status.

    example:
      ctwl-decode prove letter.txt --profile ann.ctwl --out proof.ctwl

    --profile is the profile that was committed to, from which the certified one follows.

    exit status: 0 the proof was written; 1 the text carries no code of the profile; 2 an error.
    """  # noqa: D405 - as argparse writes its headings
    arguments = _prove_parser().parse_args(argv)
    check_alpha(arguments.alpha)
    if arguments.out.exists():
        raise OutputExists(f"{arguments.out} exists already; name another file")
    text, profile = read_text(arguments.file), get_profile(arguments.profile or PROFILE.value() or STANDARD)
    found = certificate_of(profile, trusted_with(arguments.registry).registry)
    decoder = _open_decoder(certified(profile, found.challenge), arguments)
    report = decoder.decode(text, alpha=arguments.alpha, score="whole")
    try:
        proof = Proof.of(profile, text, report)
    except ProofUnfounded as error:
        with closed_output_is_fine():
            print(f"No proof written ({error.code}): {error}")
        return 1
    write_atomically(arguments.out, proof.to_bytes(), mode=0o600, new=True)
    with closed_output_is_fine():
        print(f"{describe(report)}\nproof     {arguments.out}")
    note(f"ctwl-decode: note: {arguments.out} reveals the key of {profile.name} to everyone who reads it")
    return 0


def _open_decoder(profile: Profile, arguments: argparse.Namespace) -> Decoder:
    from ctwl_decoder import Decoder

    return Decoder.open(profile, proxy_path=arguments.proxy)  # in the reference arithmetic: see :func:`verify`


def main_verify(argv: Sequence[str]) -> int:
    """``ctwl-decode verify``; returns the exit status.

    A proof is verified if the signed registry certified its profile before the text appeared, and the text, decoded
    anew under the certified profile, carries the code. You must know when the text appeared: a proof cannot say it.
    Give the text in question with --text, or read the one in the proof. The proxy LM runs in float32, as everywhere a
    proof is made or verified.

    The p-value is multiplied by the number of keys that the owner had certified. A key follows from the registry's
    challenge, too, so its owner could fit nothing to it. If you fear that registry and owner tried challenges together,
    divide --alpha by how many they may have tried: nobody can try 2^64. Verified means that somebody who held the key
    wrote the code: the owner, or a user who got the profile from the owner.

    examples:
      ctwl-decode verify proof.ctwl --appeared 2026-11-01 --text letter.txt
      ctwl-decode verify proof.ctwl --appeared 2026-11-01 --registry registry.ctwl --proxy ./my-llama

    exit status: 0 verified; 1 not; 2 an error.
    """  # noqa: D405 - as argparse writes its headings
    arguments = _verify_parser().parse_args(argv)
    if arguments.appeared > time.time() + 86_400:
        raise OptionOutOfRange("--appeared lies in the future; give the day on which the text appeared")
    proof = Proof.from_bytes(read_bytes(arguments.file, canonical.MAX_BYTES))
    text = None if arguments.text is None else read_text(arguments.text)
    trusted = trusted_with(arguments.registry)

    def opened(profile: Profile) -> Decoder:
        if arguments.proxy is None and not has_public_proxy(profile):
            raise ProxyNotFound(
                "the proof's proxy LM is not a published one, and what a proof names is not downloaded; ask the owner "
                "for its files and name their folder: --proxy FOLDER"
            )
        return _open_decoder(profile, arguments)

    outcome = verify(proof, trusted, arguments.appeared, opened, text=text, alpha=arguments.alpha)
    told = {"verified": outcome.verified, **dataclasses.asdict(outcome)}
    with closed_output_is_fine():
        print(json.dumps(told, indent=2) if arguments.json else outcome)
    return 0 if outcome.verified else 1

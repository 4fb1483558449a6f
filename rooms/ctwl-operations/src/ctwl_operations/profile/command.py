"""``ctwl-profile``: make private profiles, derive those of users, have them certified; a passphrase opens them.

examples:
  ctwl-profile new com.example.mark.1 --out mine.ctwl --like org.ctwl.smollm2-135m.1
  ctwl-profile new com.example.mark.2 --out own.ctwl --model ./my-llama
      your own LM is the proxy; give encoder and decoder --proxy ./my-llama
  ctwl-profile for-user mine.ctwl ann@example.com --out ann.ctwl

to prove texts to others, mark them under the certified profile. Nobody can have fitted anything to its key:
  ctwl-profile commit ann.ctwl                         what a registry certifies; it reveals nothing about the profile
  ctwl-profile certified ann.ctwl --registry registry.ctwl --out ann-certified.ctwl
      once the registry has the certificate. Keep ann.ctwl: proofs are made from it

  ctwl-encode --profile ann.ctwl "The harvest this year" > text.txt
  ctwl-decode --profile ann.ctwl text.txt

Anyone with file and passphrase can read and write codes.
A provider's file cannot be made again if it is lost. A user's can, from the provider's file and the same id, and a
certified one from the file that was committed to and the registry.
exit status: 0 done; 2 an error.
"""  # noqa: D405 - as argparse writes its headings

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from ctwl_protocol import STANDARD, Profile, get_profile
from ctwl_protocol.command import closed_output_is_fine, command_parser, help_in, run_command
from ctwl_protocol.environment import PASSPHRASE, REGISTRY
from ctwl_protocol.profile import ProxyModel, has_public_key
from ctwl_protocol.profile.document import ToyProxy
from ctwl_protocol.profile.private import certificate_of, certified, commitment, for_user, new_private, write_private
from ctwl_protocol.registry import OFFERED, trusted_with
from ctwl_protocol.text.splitting import SPLITS

from .model_folder import read_model


def _parser() -> argparse.ArgumentParser:
    what = "Private profiles: codes that nobody else can read or write."
    parser = command_parser("ctwl-profile", what, help_in(__doc__), [PASSPHRASE, REGISTRY])
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    new = commands.add_parser("new", help="make a provider's private profile, with a fresh secret key")
    new.add_argument("name", metavar="NAME", help="your domain in reverse and a version: com.example.mark.1")
    new.add_argument("--out", metavar="FILE", required=True, help="the file to write; never overwritten")
    new.add_argument(
        "--like", metavar="PROFILE", default=STANDARD, help=f"take its numbers and its proxy (default {STANDARD})"
    )
    new.add_argument(
        "--model",
        metavar="FOLDER",
        help="your own LM as the proxy: a transformers folder of family gpt2 or llama (config.json, one "
        ".safetensors file, vocab.json, merges.txt, tokenizer.json)",
    )
    new.add_argument(
        "--pre-tokenizer",
        choices=list(SPLITS),
        help="with --model: the tokenizer's splitting rule (default: found by comparison with tokenizer.json)",
    )
    user = commands.add_parser("for-user", help="derive a user's exclusive profile; it is the same every time")
    user.add_argument("file", metavar="FILE", help="the provider's profile")
    user.add_argument("user", metavar="USER", help="the user's id, any text; the profile does not reveal it")
    user.add_argument("--out", metavar="FILE", required=True, help="the file to write; never overwritten")
    show = commands.add_parser("show", help="print a profile without its key")
    show.add_argument("file", metavar="FILE", help="a profile file, or a published profile's name")
    show.add_argument("--json", action="store_true", help="print all fields but the key as JSON")
    commit = commands.add_parser("commit", help="print the commitment that a registry may certify, in hexadecimal")
    commit.add_argument("file", metavar="FILE", help="a private profile")
    marks = commands.add_parser("certified", help="derive the profile under which texts are marked that can be proved")
    marks.add_argument("file", metavar="FILE", help="the private profile that was committed to and certified")
    marks.add_argument("--registry", metavar="FILE", help=OFFERED)
    marks.add_argument("--out", metavar="FILE", required=True, help="the file to write; never overwritten")
    return parser


def _described(profile: Profile) -> str:
    """A profile for people; the key is not in it."""
    proxy = profile.proxy.weights.name if isinstance(profile.proxy, ProxyModel) else "none"
    given = not isinstance(profile.proxy, ToyProxy) and profile.proxy.source is None
    return "\n".join(
        [
            f"name       {profile.name}",
            f"key        {'public' if has_public_key(profile) else 'secret'}",
            f"digest     {profile.digest}",
            f"proxy LM   {proxy}" + (", in a folder that --proxy names" if given else ""),
            f"tokenizer  {profile.tokenizer.vocabulary} tokens, split by the rule {profile.tokenizer.pre_tokenizer}",
            f"numbers    A {profile.colours}, L_prefix {profile.prefix_length}, h {profile.context_length}, "
            f"sigma {profile.sigma[0]}/{profile.sigma[1]}, {profile.code_bits} bits",
        ]
    )


def _run(arguments: argparse.Namespace) -> str:
    match arguments.command:
        case "new":
            like = get_profile(arguments.like)
            model = read_model(arguments.model, arguments.pre_tokenizer) if arguments.model is not None else None
            made = new_private(arguments.name, like, model)
        case "for-user":
            made = for_user(get_profile(arguments.file), arguments.user)
        case "certified":
            profile = get_profile(arguments.file)
            certificate = certificate_of(profile, trusted_with(arguments.registry).registry)
            made = certified(profile, certificate.challenge)
        case "show":
            profile = get_profile(arguments.file)
            if not arguments.json:
                return _described(profile)
            shown = profile.model_dump(mode="json", exclude={"key"}) | {"digest": profile.digest}
            return json.dumps(shown, indent=2)
        case _:
            return commitment(get_profile(arguments.file)).hex()
    write_private(arguments.out, made)
    return _described(made)


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    arguments = _parser().parse_args(argv)
    return run_command("ctwl-profile", lambda: _print(_run(arguments)))


def _print(text: str) -> int:
    with closed_output_is_fine():
        print(text)
    return 0

"""``ctwl-decode resolve``: who owns a code, and where to ask. It needs no network, and asks nobody.

examples:
  ctwl-decode resolve --code 43207
  ctwl-decode resolve --provider 42 --json
  ctwl-decode resolve letter.txt                      reads the text's codes first

The answer is from the registry that this machine trusts (ctwl-registry show). A signpost points, and proves nothing:
anyone can write an open code. Nothing is sent to the detector that it names.
exit status: 0 the registry has the provider; 1 it does not, or no code was found; 2 an error.
"""  # noqa: D405 - as argparse writes its headings

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from ctwl_decoder.errors import OptionOutOfRange
from ctwl_decoder.files import read_text
from ctwl_decoder.options import add_alpha, add_proxy_options, named_profiles
from ctwl_decoder.report import Report, headline
from ctwl_protocol import Beacon
from ctwl_protocol.command import closed_output_is_fine, command_parser, help_in
from ctwl_protocol.environment import PROXY, REGISTRY
from ctwl_protocol.profile import has_public_key
from ctwl_protocol.registry import Trusted, load_trusted

from .resolution import Resolution, resolve_code, resolve_provider


def _parser() -> argparse.ArgumentParser:
    what = "From a code, a provider's number or a text to the provider and its own detector."
    parser = command_parser("ctwl-decode resolve", what, help_in(__doc__), [*PROXY, REGISTRY])
    parser.add_argument("file", metavar="FILE", nargs="?", help="a UTF-8 text file; - reads standard input")
    parser.add_argument("--code", type=int, metavar="N", help="a code of 20 bits, as a report names it")
    parser.add_argument("--provider", type=int, metavar="N", help="a provider's number")
    parser.add_argument("--json", action="store_true", help="print an array of answers as JSON")
    add_alpha(parser)
    add_proxy_options(parser)
    parser.add_argument("--light", action="store_true", help="never load the proxy LM to read the text")
    return parser


def _resolve(arguments: argparse.Namespace) -> tuple[list[Resolution], str]:
    """The answers, and the verdict on the text where one is asked about."""
    if sum(given is not None for given in (arguments.file, arguments.code, arguments.provider)) != 1:
        raise OptionOutOfRange("name one thing to resolve: a file, --code or --provider")
    registry = load_trusted()
    if arguments.code is not None:
        return [resolve_code(registry, arguments.code)], ""
    if arguments.provider is not None:
        return [resolve_provider(registry, arguments.provider)], ""
    report = read_codes(arguments, registry, read_text(arguments.file))
    return [resolve_code(registry, code) for code in _codes(report)], headline(report)


def read_codes(arguments: argparse.Namespace, registry: Trusted, text: str) -> Report:
    """What a text carries, by a command's options.

    Raises:
        OptionOutOfRange: the profile is private, so that no registry says anything of its codes.
        CTWLError: see :meth:`ctwl_decoder.Decoder.decode`.
    """
    profiles = named_profiles(arguments)
    for profile in profiles or []:
        if not has_public_key(profile):
            raise OptionOutOfRange(f"the registry says nothing about the codes of {profile.name}, a private profile")
    from ctwl_decoder import Decoders

    decoders = Decoders.open(profiles, proxy_path=arguments.proxy, device=arguments.device, registry=registry)
    return decoders.decode(text, alpha=arguments.alpha, score="light" if arguments.light else "auto")


def _codes(report: Report) -> list[int]:
    """The beacons of a text: of its passages in their order, with the models that each passage went through."""
    hops = (hop for span in report.spans if span.record for hop in span.record.chain)
    return list(dict.fromkeys(Beacon(hop.provider, hop.version, hop.nonce).code for hop in hops))


def _text(found: Resolution) -> str:
    """An answer for people."""
    rows = {
        "code": None if found.code is None else f"{found.code} (version {found.version}, nonce {found.nonce})",
        "provider": f"{found.provider}, {found.state}",
        "name": found.name,
        "model": found.model,
        "contact": found.contact,
        "scheme": found.signpost.scheme if found.signpost else None,
        "detector": found.signpost.url if found.signpost else None,
        "registry": found.registry,
    }
    return "\n".join([*(f"{label:<9} {text}" for label, text in rows.items() if text is not None), found.says])


def main(argv: Sequence[str]) -> int:
    """Entry point; returns the exit status."""
    arguments = _parser().parse_args(argv)
    found, verdict = _resolve(arguments)
    with closed_output_is_fine():
        if arguments.json:
            print(json.dumps([each.model_dump(mode="json") for each in found], indent=2))
        else:
            print("\n\n".join(map(_text, found)) or f"{verdict}.")
    return 0 if any(each.name is not None for each in found) else 1

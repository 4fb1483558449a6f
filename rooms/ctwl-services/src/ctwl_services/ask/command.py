"""``ctwl-decode ask``: ask the detectors of providers about a text. It sends nothing before you agree.

examples:
  ctwl-decode ask letter.txt                          reads the code, shows what would be sent where, asks whether to
  ctwl-decode ask letter.txt --yes --json             for programs, if whoever runs them has agreed
  ctwl-decode ask letter.txt --provider 42            this provider's detector, whatever the text carries
  ctwl-decode ask letter.txt --token https://detect.example/=secret.txt
                                                      with a token that you have for this detector alone

If the text has a signpost, its provider's detector is asked about the passages found. If it has none, the detectors of
all active providers in the registry are asked about the whole text. The addresses come from the registry that this
machine trusts (ctwl-registry show). An answer is the word of the provider who gives it, and proves nothing.

exit status: 0 a detector found its own; 1 none did; 2 an error, or nobody agreed.
"""  # noqa: D405 - as argparse writes its headings

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Collection, Sequence

from ctwl_decoder.errors import OptionOutOfRange
from ctwl_decoder.files import read_bytes, read_text
from ctwl_decoder.options import add_alpha, add_proxy_options, check_alpha
from ctwl_protocol.asking import is_token
from ctwl_protocol.command import closed_output_is_fine, command_parser, harmless, help_in, note, whole_number
from ctwl_protocol.environment import PROXY, REGISTRY
from ctwl_protocol.numbers import NUMBERS
from ctwl_protocol.registry import load_trusted

from ..errors import NoConsent
from ..resolve.command import read_codes
from .asking import ask_all, queries, together
from .model import Answers, Query
from .wire import SECONDS, Network
from .wording import in_lines, to_be_sent


def _parser() -> argparse.ArgumentParser:
    what = "Ask the providers' own detectors about a text, after your consent."
    parser = command_parser("ctwl-decode ask", what, help_in(__doc__), [*PROXY, REGISTRY])
    parser.add_argument("file", metavar="FILE", help="a UTF-8 text file; - reads standard input")
    parser.add_argument("--yes", action="store_true", help="you agree that the text is sent; without it you are asked")
    parser.add_argument(
        "--provider", type=int, action="append", default=[], metavar="N",
        help="ask this provider's detector about the whole text, without reading it first; may be repeated",
    )  # fmt: skip
    parser.add_argument("--whole", action="store_true", help="send the whole text, not the passages found alone")
    parser.add_argument(
        "--keep-days", type=whole_number(0, NUMBERS.asking.days), default=0, metavar="N",
        help="days that a detector may keep the text (default 0)",
    )  # fmt: skip
    parser.add_argument(
        "--token", type=_token, action="append", default=[], metavar="URL=FILE",
        help="a file with the bearer token for the detector at this address, where alone it is sent; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, help=f"for all answers together, 1 to 60 (default {SECONDS:g})"
    )
    parser.add_argument("--json", action="store_true", help="print the answers as JSON")
    add_local(parser)
    add_alpha(parser, "all questions together")
    add_proxy_options(parser)
    parser.add_argument("--light", action="store_true", help="never load the proxy LM to read the text")
    return parser


def _token(given: str) -> tuple[str, str]:
    """Read ``URL=FILE``, as a type of argparse."""
    url, _, file = given.partition("=")
    if not url.startswith("https://") or not file:
        raise argparse.ArgumentTypeError(f"{given!r} is not URL=FILE, such as https://detect.example/=secret.txt")
    return url, file


def _local(given: str) -> tuple[str, tuple[str, int]]:
    """Read ``HOST=ADDRESS:PORT``, as a type of argparse."""
    host, _, place = given.partition("=")
    address, _, port = place.rpartition(":")
    if not host or not address or not port.isdecimal():
        raise argparse.ArgumentTypeError(f"{given!r} is not HOST=ADDRESS:PORT, such as one.example=127.0.0.1:8001")
    return host.lower(), (address, int(port))


def add_local(parser: argparse.ArgumentParser) -> None:
    """Give a command the option that reaches a detector on this machine, ``local``: pairs of a host and its place."""
    parser.add_argument(
        "--local", type=_local, action="append", default=[], metavar="HOST=ADDRESS:PORT",
        help="for developers: ask the detector of this host at that address by plain HTTP; may be repeated",
    )  # fmt: skip


def _read_token(file: str) -> str:
    token = read_bytes(file, 4096).decode("ascii", "replace").strip()
    if not is_token(token):
        raise OptionOutOfRange(f"{file} holds no bearer token, which is a word of printable ASCII")
    return token


def _ask(arguments: argparse.Namespace) -> Answers:
    check_alpha(arguments.alpha)
    if not 1 <= arguments.seconds <= 60:
        raise OptionOutOfRange("--seconds lies between 1 and 60")
    tokens = {url: _read_token(file) for url, file in arguments.token}
    registry, text = load_trusted(), read_text(arguments.file)
    report = None if arguments.provider else read_codes(arguments, registry, text)
    asked = queries(
        text, report, registry, level=arguments.alpha, providers=arguments.provider, keep_days=arguments.keep_days,
        whole=arguments.whole,
    )  # fmt: skip
    if report is not None and not report.signposts:
        note("The text has no signpost. All detectors that the registry names would be asked.")
    _agree(asked, len(text), tokens, arguments)
    replies = ask_all(asked, Network(dict(arguments.local)), tokens, arguments.seconds)
    return together(asked, replies, report)


def _agree(asked: Sequence[Query], length: int, tokens: Collection[str], arguments: argparse.Namespace) -> None:
    """Show what would be sent, and go on if a person agrees.

    Raises:
        NoConsent: nobody does.
    """
    note("This would be sent:")
    for query in asked:
        note(to_be_sent(query, length, token=query.detector.url in tokens))
    for url in sorted({*tokens} - {query.detector.url for query in asked}):
        note(f"The token for {harmless(url)} is not sent: no detector with this address is asked.")
    if arguments.yes:
        return
    if arguments.file == "-" or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise NoConsent("nothing was sent; add --yes if you agree that it is")
    print("Send it? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise NoConsent("nothing was sent")


def main(argv: Sequence[str]) -> int:
    """Entry point; returns the exit status."""
    arguments = _parser().parse_args(argv)
    answers = _ask(arguments)
    with closed_output_is_fine():
        print(json.dumps(answers.model_dump(mode="json"), indent=2) if arguments.json else "\n".join(in_lines(answers)))
    return 0 if answers.found else 1

"""``ctwl-decode``: whether a text carries a code, which one, and where.

examples:
  ctwl-decode letter.txt                              the verdict, by all published profiles, and what shows a code
  ctwl-decode --profile org.ctwl.smollm2-135m.1 letter.txt
                                                      by this profile alone: needs less text
  export CTWL_PROFILE=org.ctwl.smollm2-135m.1         the same profile for all that follow
  ctwl-decode paper.pdf mail.eml folder/              documents: a line for each, and one on all of them
  ctwl-decode --together messages/                    short texts of one conversation, as one body: needs less of each
  ctwl-decode --html report.html letter.txt           a page to pass on
  ctwl-decode --json - < letter.txt                   for programs
  ctwl-decode --beacon 42:3 letter.txt                is it this model's? needs less text
  ctwl-decode --light letter.txt                      at once, without the language model: finds less
  ctwl-decode --strong letter.txt                     weighed by a larger language model: finds more, takes longer
  ctwl-decode --reading-model FOLDER letter.txt       weighed by the provider's own model: finds the most
  ctwl-decode --keys our.keys letter.txt              a provider opens its users, tests its authenticators

The p-value is the probability that chance alone shows some code this clearly, over all codes and passages searched.
{advice}
If no watermark is found, a model may still have written the text.
exit status: 0 a watermark was found; 1 none was found, or the text is too short (--json tells them apart by "outcome");
2 an error. Of several texts: 0 a watermark was found in one; else 2 where one was not read; else 1.
"""  # noqa: D405 - as argparse writes its headings

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctwl_protocol.additions import Addition, Additions
from ctwl_protocol.command import (
    closed_output_is_fine,
    command_parser,
    harmless,
    help_in,
    note,
    run_command,
    whole_number,
)
from ctwl_protocol.environment import PROXY, REGISTRY
from ctwl_protocol.errors import FileUnwritable, ProxyNotFound
from ctwl_protocol.files import check_writable, explaining
from ctwl_protocol.records.layouts import LAYOUTS, find_layout
from ctwl_protocol.records.sealing import MAX_EPOCH, ProviderKeys
from ctwl_protocol.registry import load_trusted

from . import several
from .errors import ExtraMissing, OptionOutOfRange
from .files import Found, files_in, texts_of
from .kinds import KINDS
from .options import STRONG, STRONG_SIZE, add_alpha, add_beacons, add_proxy_options, check_alpha, named_profiles
from .report.analysis import Analysis
from .report.model import Report
from .report.wording import describe, describe_body, files_missing
from .text.input import read_bytes, shown, text_of
from .words import say

if TYPE_CHECKING:
    from .profiles import Decoders

ADDITIONS = Additions(
    "ctwl-decode",
    (
        Addition("serve", "a web page and an HTTP API", "ctwl-services"),
        Addition("page --out public/", "a page that reads in the browser", "ctwl-services"),
        Addition("resolve --code 43207", "the provider of a code, and its own detector", "ctwl-services"),
        Addition("ask letter.txt", "ask that detector, after your consent", "ctwl-services"),
        Addition("scan corpus/ --out results.parquet", "many documents", "ctwl-corpora"),
        Addition("prove letter.txt --profile mine.ctwl", "prove a private profile's code", "ctwl-operations"),
        Addition("verify proof.ctwl --appeared 2026-11-01", "check such a proof", "ctwl-operations"),
    ),
)


class _Schema(argparse.Action):
    """Print the schema, which takes a while to make, and exit."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Report.model_json_schema()}
        with closed_output_is_fine():
            print(json.dumps(schema, indent=2))
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    what = "Read the public watermark code that a language model's provider put in a text."
    parser = command_parser("ctwl-decode", what, _last_words, [*PROXY, REGISTRY])
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        help="a text in UTF-8, or a folder of such files; with the extra [documents] also other kinds "
        f"({', '.join(kind.row['file'] for kind in KINDS if kind.opened)}); - reads standard input, and so "
        "does the command without FILE where that is no terminal. Of several texts each gets a line",
    )
    parser.add_argument(
        "--together",
        action="store_true",
        help="read all texts as one body, such as the short messages of one conversation: one verdict on all of them, "
        "whose p-value pays for it. Decide what belongs together before you read it",
    )
    add_proxy_options(parser)
    _add_search_options(parser)
    _add_reading_model(parser)
    parser.add_argument("--json", action="store_true", help="print the report as JSON (schema: ctwl-decode --schema)")
    parser.add_argument("--html", metavar="FILE", help="also write the report as an HTML page")
    parser.add_argument("--schema", action=_Schema, nargs=0, help="print the JSON schema of the report and exit")
    return parser


def _last_words() -> str:
    """The help after the options."""
    examples, rest = help_in(__doc__).format(advice=say("advice")).split("\n\n", 1)
    named_alike = "  To decode a file that is called like a command, write ./serve."
    return f"{examples}\n\n{ADDITIONS.help()}\n{named_alike}\n\n{rest}"


def _add_search_options(parser: argparse.ArgumentParser) -> None:
    """Give a command the options that say what to look for, and how clear it must be."""
    add_alpha(parser)
    known = ", ".join(layout.name for layout in LAYOUTS)
    parser.add_argument(
        "--layout",
        action="append",
        metavar="NAME",
        help=f"search for records of this layout only; may be repeated (default: {known}, and all registered layouts)",
    )
    parser.add_argument(
        "--keys", metavar="FILE", help="the provider's keys, to open sealed users and to test authenticators"
    )
    parser.add_argument(
        "--epoch",
        type=whole_number(0, MAX_EPOCH),
        action="append",
        metavar="N",
        help="key epoch in which a user may have been sealed; may be repeated (default 0)",
    )
    way = parser.add_mutually_exclusive_group()
    way.add_argument(
        "--light",
        dest="score",
        action="store_const",
        const="light",
        default="auto",
        help="read by the ranks of the tokens alone, in a moment; never load a language model (default: where the "
        "ranks are not conclusive, read by a language model too)",
    )
    way.add_argument("--full", dest="score", action="store_const", const="whole", help="read by a language model alone")
    only = parser.add_mutually_exclusive_group()
    add_beacons(only, "all codes, registered ones before others")
    only.add_argument("--registered", action="store_true", help="search for registered providers' beacons only")


def _add_reading_model(parser: argparse.ArgumentParser) -> None:
    """Give a command the options that name another language model than the profile's."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--strong",
        dest="reading_model",
        action="store_const",
        const=STRONG,
        help=f"read by {STRONG} in the proxy LM's place, which shows more of texts by larger models, whoever's. It is "
        f"fetched once, {STRONG_SIZE}, and takes about ten times as long",
    )
    which.add_argument(
        "--reading-model",
        metavar="NAME",
        help="a causal LM, as a folder or a name on the hub, that weighs the text in the proxy LM's place; the "
        "provider's own finds the most. It is asked where ranks alone are not conclusive, with --full in any case. It "
        "needs torch, and the p-value is as exact (default: the profile's proxy LM)",
    )
    parser.add_argument(
        "--prompt",
        metavar="FILE",
        help="what the reading model saw before the text, as it saw it, chat template included; finds still more",
    )


@contextmanager
def _progress(name: str = "") -> Iterator[Callable[[int, int], None]]:
    """A progress bar on stderr where that is a terminal; of several texts with the name of this one."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        which = f"{escape(harmless(name))}: " if name else ""
        task = bar.add_task(f"{which}reading by ranks", total=None)
        slower = f"{which}the ranks show too little: reading by a language model"
        yield lambda done, total: bar.update(task, completed=done, total=total, description=slower)


def _check(arguments: argparse.Namespace) -> None:
    """Refuse, before any file is read, options that do not go together (OptionOutOfRange, FileUnwritable)."""
    check_alpha(arguments.alpha)
    if arguments.epoch and not arguments.keys:
        raise OptionOutOfRange("--epoch needs --keys: only a provider's keys can open users")
    if arguments.html:
        _check_page(Path(arguments.html), arguments.files[0])
    if arguments.prompt and not arguments.reading_model:
        raise OptionOutOfRange("--prompt needs --reading-model: only a language model that you name can have seen it")


def _decoders(arguments: argparse.Namespace) -> tuple[Decoders, dict[str, Any]]:
    """The decoders that the options ask for, and what they search for."""
    profiles = named_profiles(arguments)  # a wrong name fails before torch is loaded
    trusted = load_trusted()
    known = trusted.registry.known_layouts()
    named = [find_layout(int(name) if name.isdecimal() else name, known) for name in arguments.layout or []]
    keys = ProviderKeys.load(arguments.keys) if arguments.keys else None
    from .profiles import Decoders

    if arguments.reading_model == STRONG:
        print(f"ctwl-decode: {STRONG} is fetched if it is not here, {STRONG_SIZE}", file=sys.stderr)
    prompt = arguments.prompt and text_of(read_bytes(arguments.prompt), shown(arguments.prompt))  # as it was seen
    decoders = Decoders.open(
        profiles,
        proxy_path=arguments.proxy,
        device=arguments.device,
        reading_model=arguments.reading_model,
        prompt=prompt,
        layouts=named or None,
        keys=keys,
        epochs=arguments.epoch or [0],
        registry=trusted,
    )
    searched = trusted.registry.beacons() if arguments.registered else arguments.beacon
    return decoders, {"alpha": arguments.alpha, "beacons": searched}


def _reader(arguments: argparse.Namespace) -> Callable[[str, str], Analysis]:
    """What reads a text as the options say; it shows the progress of each by its name."""
    decoders, options = _decoders(arguments)

    def read(text: str, name: str) -> Analysis:
        try:
            with _progress(name) as progress:
                return decoders.analyse(text, score=arguments.score, progress=progress, **options)
        except (ProxyNotFound, ExtraMissing) as error:
            if arguments.score != "auto":
                raise
            if isinstance(error, ExtraMissing):
                raise ExtraMissing(f"{error}. {say('report-add-light')}") from error
            light = decoders.decode(text, score="light", **options)
            raise ProxyNotFound(files_missing(light, error), error.fetch) from error

    return read


def _print(analysis: Analysis, arguments: argparse.Namespace) -> None:
    if arguments.json:
        print(json.dumps(analysis.report.model_dump(mode="json"), indent=2))  # ASCII, for any terminal
    elif sys.stdout.isatty():
        from rich.console import Console

        from .report.terminal import show

        show(analysis, Console())
    else:
        print(describe(analysis.report))


def _check_page(page: Path, source: str) -> None:
    """Refuse (FileUnwritable), before the text is read, a page that cannot be written or would replace the text."""
    check_writable(page)
    if source != "-" and page.exists() and Path(source).exists() and page.samefile(source):
        raise FileUnwritable(f"{page} is the text; the page would replace it. Name another file for --html")


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    return run_command("ctwl-decode", lambda: _run(list(sys.argv[1:] if argv is None else argv)))


def _run(argv: list[str]) -> int:
    """Run the command that the first argument names, or decode a file."""
    if argv and (argv[0] in ADDITIONS.names or _may_be_added(argv[0])) and (main := ADDITIONS.load(argv[0])):
        return main(argv[1:])
    meant = argv[0] if argv and not argv[0].startswith("-") and not Path(argv[0]).exists() else ""
    if similar := get_close_matches(meant, ADDITIONS.names, n=1):
        _parser().error(f"{argv[0]} is not a file and not a command; did you mean {similar[0]}?")
    arguments = _parser().parse_args(argv)
    if not arguments.files:
        if sys.stdin.isatty():
            _parser().error("name a text, or - for standard input")
        arguments.files = ["-"]
    _check(arguments)
    names = list(files_in(arguments.files))
    if arguments.html and (len(names) > 1 or arguments.together):
        what = "--together reads several as one" if arguments.together else f"{len(names)} files are named"
        raise OptionOutOfRange(f"--html shows one text, and {what}; name one of them")
    if arguments.together:
        return _together(several.texts_in(names), arguments)
    if len(names) > 1 or names != arguments.files:
        return _each(several.texts_in(names), arguments)
    return _one(texts_of(names[0]), shown(names[0]), arguments)


def _may_be_added(word: str) -> bool:
    """Whether a word may be the name of a command that a package of somebody else adds."""
    return word.replace("-", "").isalpha() and not Path(word).exists()


def _each(found: Iterable[Found], arguments: argparse.Namespace) -> int:
    """Read each text, and print a line for each and the whole."""
    read = _reader(arguments)
    verdicts = several.read_all(found, lambda text, name: read(text, name).report, lines=not arguments.json)
    with closed_output_is_fine():
        print(several.as_json(verdicts) if arguments.json else several.in_all(verdicts, arguments.alpha))
    return several.status(verdicts)


def _together(found: Iterable[Found], arguments: argparse.Namespace) -> int:
    """Read all texts as one body, and print its verdict. A text that cannot be read is an error: it belongs to it."""
    texts = [each.words() for each in found]
    decoders, options = _decoders(arguments)
    report = decoders.decode_together(texts, score=arguments.score, **options)
    with closed_output_is_fine():
        print(json.dumps(report.model_dump(mode="json"), indent=2) if arguments.json else describe_body(report))
    return 0 if report.detected else 1


def _one(found: list[Found], name: str, arguments: argparse.Namespace) -> int:
    """Read one file, and print all that there is to say of its text; and a line on each further text in it."""
    main = several.main_text(found, name)
    others = [each for each in found if each is not main]
    if arguments.html and main is None:
        raise OptionOutOfRange(f"--html shows one text, and {name} has several; unpack it, and name one of them")
    if main is None or (others and arguments.json):
        return _each(found, arguments)
    text, read = main.words(), _reader(arguments)
    analysis = read(text, "")
    _show(analysis, arguments)
    if not analysis.text:
        note(f"ctwl-decode: {main.name}{' is empty' if main.name == shown('-') else ': the file is empty'}")
    verdicts = several.read_all(others, lambda text, name: read(text, name).report, lines=True)
    return several.status([several.Verdict(main.name, analysis.report), *verdicts])


def _show(analysis: Analysis, arguments: argparse.Namespace) -> None:
    """Print all that there is to say of a text, and write the page that is asked for."""
    try:
        if arguments.html:
            from .report.html import html_report

            with explaining(f"write {arguments.html}", FileUnwritable):
                Path(arguments.html).write_text(html_report(analysis), encoding="utf-8")
    finally:  # the verdict is printed in any case
        with closed_output_is_fine():
            _print(analysis, arguments)

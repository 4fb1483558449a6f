"""``ctwl-encode``: write text that carries a record."""

from __future__ import annotations

import argparse
import io
import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, BinaryIO

from ctwl_protocol import get_profile, published_names
from ctwl_protocol.command import run_command
from ctwl_protocol.files import read_bounded
from ctwl_protocol.records.layouts import MAX_CODES

from . import __version__
from .errors import OptionOutOfRange, ShortText, StrategyUnsuitable
from .options import Decoding, GenerationOptions, Strategy, check_prompts, strategy_for

if TYPE_CHECKING:
    from ctwl_protocol import Beacon, Profile
    from ctwl_protocol.proxy import Proxy
    from ctwl_protocol.records.record import Record
    from ctwl_protocol.records.sealing import ProviderKeys

    from .encoder import Generation

__all__ = ["main"]

_MAX_PROMPT = 1 << 20

_ENOUGH = math.log2(1e-4)
"""log2 of the decoder's default level."""

_EPILOG = """\
examples:
  ctwl-encode --model smollm2 --provider 42 --version 3 "The harvest this year"
  ctwl-encode --model ./my-gpt2 --profile org.ctwl.gpt2.1 --provider 42 --prompt-file prompt.txt
  echo "The harvest this year" | ctwl-encode --json -
  ctwl-encode --min-new-tokens 150 "The harvest this year" | ctwl-decode --profile org.ctwl.smollm2-135m.1 -

  ctwl-encode --new-keys our.keys
  ctwl-encode --provider 42 --user 31337 --keys our.keys --min-new-tokens 300 --max-new-tokens 300 "The harvest"
  ctwl-encode --provider 42 --relay draft.txt --prompt-file draft.txt

about 100 tokens carry the 20 bits of a beacon clearly; fewer may not be enough for a reader to find them. A sealed user
takes three codes, and so 300 tokens; with --authenticated four, and 400. By gumbel half of each is enough. Nobody
but the holder of the keys can open a user.
exit status: 0 a text was written; 2 an error.
"""


def _new_keys(path: str) -> None:
    from ctwl_protocol.records.sealing import ProviderKeys

    ProviderKeys.new().save(path)
    print(f"wrote {path}; whoever has it and its passphrase can open your users: keep both safe")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ctwl-encode",
        description="Write text with a language model so that anyone can read back where it comes from.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("prompt", nargs="?", metavar="PROMPT", help="the prompt; - reads it from standard input")
    parser.add_argument("--prompt-file", metavar="FILE", help="read the prompt from a file")
    parser.add_argument("--model", default="smollm2", help="a model folder, a name on the hub, or smollm2 (default)")
    parser.add_argument(
        "--profile",
        default=os.environ.get("CTWL_PROFILE") or None,
        help=f"a published profile or a profile file; published: {', '.join(published_names())} "
        "(default: $CTWL_PROFILE, else the standard one, and for smollm2 its own)",
    )
    parser.add_argument(
        "--proxy", metavar="PATH", help="folder with the proxy LM's files (default: cache, then source)"
    )
    parser.add_argument("--device", default="auto", help="torch device (default: cuda where there is one)")
    _add_record_options(parser)
    _add_marking_options(parser)
    _add_generation_options(parser)
    parser.add_argument("--json", action="store_true", help="print the text and its record as JSON")
    parser.add_argument(
        "--about", action="version", version=f"ctwl-encode {__version__}", help="print the program's version"
    )
    return parser


def _add_record_options(parser: argparse.ArgumentParser) -> None:
    record = parser.add_argument_group("record")
    record.add_argument("--provider", type=int, default=0, help="provider, 0 to 1023 (default 0, which nobody owns)")
    record.add_argument("--version", type=int, default=0, metavar="N", help="model version, 0 to 15 (default 0)")
    record.add_argument("--nonce", type=int, help="nonce, 0 to 63 (default: drawn anew; leave it so)")
    record.add_argument("--user", type=int, metavar="N", help="seal a user's number, 0 to 2^32 - 1; needs --keys")
    record.add_argument("--keys", metavar="FILE", help="the provider's keys, see --new-keys")
    record.add_argument("--epoch", type=int, default=0, metavar="N", help="key epoch of the sealed user (default 0)")
    record.add_argument(
        "--authenticated", action="store_true", help="with --user: add a code that only --keys can test"
    )
    record.add_argument("--tag", type=int, metavar="N", help="20 bits of your own, 0 to 1048575")
    record.add_argument(
        "--relay",
        metavar="FILE",
        help="a text that the prompt is from: its record becomes the older part of a chain (needs ctwl-decoder)",
    )
    record.add_argument(
        "--new-keys",
        metavar="FILE",
        help="make a provider's keys, encrypted with a passphrase ($CTWL_PASSPHRASE, else asked), and stop",
    )


def _add_marking_options(parser: argparse.ArgumentParser) -> None:
    marking = parser.add_argument_group("marking")
    marking.add_argument(
        "--strategy",
        choices=list(Strategy),
        help="unbiased keeps the model's distribution and needs sampling; so does gumbel, the clearest, which takes "
        "most of the choice that sampling has; delta adds to logits; vanilla is the paper's baseline (default: "
        "unbiased when sampling, else delta)",
    )
    marking.add_argument("--delta", type=float, default=2.0, help="nats, for delta and vanilla (default 2.0)")
    marking.add_argument("--skip-repeats", action="store_true", help="mark each context only once in a text")


def _add_generation_options(parser: argparse.ArgumentParser) -> None:
    sampling = parser.add_argument_group("generation")
    sampling.add_argument("--max-new-tokens", type=int, default=200, metavar="N", help="longest text (default 200)")
    sampling.add_argument("--min-new-tokens", type=int, default=0, metavar="N", help="no end before (default 0)")
    sampling.add_argument("--temperature", type=float, default=1.0, help="0 for greedy decoding (default 1)")
    sampling.add_argument("--top-p", type=float, default=1.0, help="nucleus sampling (default 1, none)")
    sampling.add_argument("--num-beams", type=int, default=1, metavar="N", help="beam search (default 1, none)")
    sampling.add_argument("--repetition-penalty", type=float, default=1.0, help="as in transformers (default 1, none)")
    sampling.add_argument("--seed", type=int, help="make the text repeatable")


def _prompt(arguments: argparse.Namespace) -> str:
    if arguments.prompt is not None and arguments.prompt_file is not None:
        raise OptionOutOfRange("give the prompt as an argument or as a file, not both")
    source: str | BinaryIO
    if arguments.prompt_file is not None:
        source = arguments.prompt_file
    elif arguments.prompt not in (None, "-"):
        return str(arguments.prompt)
    elif sys.stdin is None:
        raise OptionOutOfRange("standard input is closed")
    elif arguments.prompt is None and sys.stdin.isatty():
        raise OptionOutOfRange('no prompt; try: ctwl-encode "The harvest this year"')
    else:
        source = sys.stdin.buffer
    name = arguments.prompt_file or "standard input"
    try:
        return read_bounded(source, _MAX_PROMPT).decode().rstrip("\r\n")
    except OSError as error:
        raise OptionOutOfRange(f"cannot read the prompt from {name}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise OptionOutOfRange(f"the prompt in {name} is not UTF-8 (byte {error.start})") from error


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None]]:
    """A progress bar on stderr where that is a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("writing", total=total)
        yield lambda done: bar.update(task, completed=done)


def _check_vanilla(arguments: argparse.Namespace, profile: Profile | None) -> None:
    """Refuse ``vanilla`` where no command would read the text: it is read with the profile's published twin.

    Raises:
        StrategyUnsuitable: there is none.
    """
    if arguments.strategy == "vanilla" and profile is not None and profile.vanilla().name not in published_names():
        raise StrategyUnsuitable(f"vanilla is read with a published twin of the profile; {profile.name} has none")


def _write(arguments: argparse.Namespace) -> None:
    """Check the options, write one text, and print it."""
    warned = _show_warnings()
    prompt = _prompt(arguments)
    profile = None
    if arguments.profile is not None:
        profile = get_profile(arguments.profile)  # a wrong name, a passphrase: before torch is loaded
    options = GenerationOptions(**{field.name: getattr(arguments, field.name) for field in fields(GenerationOptions)})
    strategy = strategy_for(arguments.strategy, sample=options.decoding is Decoding.SAMPLED)
    check_prompts([prompt])
    options.check()
    keys = _check_record(arguments)
    _check_vanilla(arguments, profile)
    from transformers.utils import logging

    from .encoder import Encoder  # brings torch, which takes seconds to load

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    encoder = Encoder.open(arguments.model, profile, proxy_path=arguments.proxy, device=arguments.device)
    record = _record(arguments, keys, encoder.proxy)
    with _progress(arguments.max_new_tokens) as progress:
        (written,) = encoder.generate(
            prompt,
            arguments.provider,
            arguments.version,
            nonce=arguments.nonce,
            record=record,
            keys=keys,
            strategy=strategy,
            skip_repeats=arguments.skip_repeats,
            **asdict(options),
            progress=progress,
        )
    if arguments.json:
        found = {field.name: getattr(written, field.name) for field in fields(written)}
        found |= {"code": written.beacon.code, **asdict(written.beacon)}
        found["record"] = {"layout": written.record.layout.name, "fields": written.record.fields}
        print(json.dumps(found, ensure_ascii=False, indent=2), flush=True)
    else:
        print(written.text, flush=True)
    _warn(written, short=ShortText in warned)


def _check_record(arguments: argparse.Namespace) -> ProviderKeys | None:
    """Refuse a record that does not fit before any model is loaded; the keys where there are some."""
    from ctwl_protocol import Beacon
    from ctwl_protocol.records.record import Record
    from ctwl_protocol.records.sealing import ProviderKeys

    beacon = Beacon(arguments.provider, arguments.version, arguments.nonce or 0)
    if sum(given is not None for given in (arguments.user, arguments.tag, arguments.relay)) > 1:
        raise OptionOutOfRange("a record has one layout: give one of --user, --tag and --relay")
    if arguments.authenticated and arguments.user is None:
        raise OptionOutOfRange("--authenticated goes with --user")
    if (arguments.user is not None) != (arguments.keys is not None):
        raise OptionOutOfRange("a user is sealed with the provider's keys: give both --user and --keys")
    if arguments.tag is not None:
        Record.of("tagged", tag=arguments.tag, **asdict(beacon))
    keys = ProviderKeys.load(arguments.keys) if arguments.keys else None
    if keys:
        keys.seal(arguments.user, beacon, arguments.epoch)
    return keys


def _record(
    arguments: argparse.Namespace, keys: ProviderKeys | None, proxy: Proxy
) -> Callable[[Beacon], Record] | None:
    """What makes the text's record from its beacon."""
    from ctwl_protocol.records.record import Record, relayed

    if arguments.tag is not None:
        return lambda beacon: Record.of("tagged", tag=arguments.tag, **asdict(beacon))
    if arguments.relay is not None:
        chain = chain_of(arguments.relay, proxy)
        if len(chain) == MAX_CODES:
            print("ctwl-encode: the chain is full; its oldest hop is dropped", file=sys.stderr)
        return lambda beacon: relayed(chain, beacon)
    if keys is None:
        return None
    return lambda beacon: keys.attributed(
        proxy.profile, beacon, arguments.user, epoch=arguments.epoch, authenticated=arguments.authenticated
    )


def chain_of(path: str, proxy: Proxy) -> tuple[Beacon, ...]:
    """The chain of the record that a text file carries, the newest hop first; empty where it carries none.

    Raises:
        OptionOutOfRange: the decoder is not installed.
        CTWLError: see :func:`ctwl_decoder.text.input.read_text` and :meth:`ctwl_decoder.Decoder.decode`.
    """
    from ctwl_protocol import Beacon

    try:
        from ctwl_decoder import Decoder
        from ctwl_decoder.text.input import read_text
    except ImportError as error:
        raise OptionOutOfRange("--relay reads the text's record: pip install ctwl-decoder") from error
    report = Decoder(proxy).decode(read_text(path))
    if report.record is None:
        print(f"ctwl-encode: {path} carries no record; the text begins a chain", file=sys.stderr)
        return ()
    return tuple(Beacon(hop.provider, hop.version, hop.nonce) for hop in report.record.chain)


def _warn(written: Generation, *, short: bool) -> None:
    """Warn on stderr where a reader will hardly find the code; ``short`` where a warning of the length was shown."""
    messages = []
    if written.expected_log2_p > _ENOUGH and not short:
        raised = "--temperature" if written.strategy.keeps_distribution else "--delta"
        messages.append(
            f"{written.tokens} tokens carry too little for a reader to be sure (expected p about "
            f"{2**written.expected_log2_p:.2g}); write more (--min-new-tokens, --max-new-tokens), or raise {raised}"
        )
    if written.lost > written.marked / 2:
        messages.append(
            f"a reader will not see {written.lost} of {written.marked} marked positions as they were written, "
            "so the code may be unreadable; write again"
        )
    for message in messages:
        print(f"ctwl-encode: warning: {message}", file=sys.stderr)


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    arguments = _parser().parse_args(argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # what ctwl-decode reads, whatever the locale
    with warnings.catch_warnings():
        return run_command("ctwl-encode", lambda: _run(arguments))


def _run(arguments: argparse.Namespace) -> int:
    if arguments.new_keys is not None:
        _new_keys(arguments.new_keys)
    else:
        _write(arguments)
    return 0


def _show_warnings() -> list[type[Warning]]:
    """Print warnings as lines of this command from now on; the list that is returned grows by their kinds."""
    shown: list[type[Warning]] = []

    def show(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
        shown.append(category)
        print(f"ctwl-encode: warning: {message}", file=sys.stderr)

    warnings.filterwarnings("ignore", module="transformers")
    warnings.simplefilter("always", ShortText)  # also where this process has shown it before
    warnings.showwarning = show
    return shown

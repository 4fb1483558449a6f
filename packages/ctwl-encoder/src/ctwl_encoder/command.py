"""``ctwl-encode``: write text that carries a record."""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from ctwl_protocol import STANDARD, Beacon, Profile, get_profile, published_names
from ctwl_protocol.additions import Addition, Additions
from ctwl_protocol.command import closed_output_is_fine, command_parser, note, run_command
from ctwl_protocol.environment import PROFILE, PROXY, REGISTRY
from ctwl_protocol.files import read_bounded
from ctwl_protocol.profile import OFFLINE
from ctwl_protocol.records.layouts import layout_with
from ctwl_protocol.records.record import MAX_HOPS, Record, relayed
from ctwl_protocol.records.sealing import ProviderKeys

from .arguments import add_model_options, add_options, asked_options, check_version
from .errors import OptionOutOfRange, WeakMark, needing
from .options import BeaconOptions, GenerationOptions, MarkingOptions, RecordOptions, check_prompts, default_profile

if TYPE_CHECKING:
    from .encoder import Generation

_MAX_PROMPT = 1 << 20

ADDITIONS = Additions(
    "ctwl-encode",
    (
        Addition("plan --temperature 0.7", "which strategy for my model?", "ctwl-operations[plan]"),
        Addition("audit ctwl.log", "what did a server write?", "ctwl-operations"),
        Addition(
            "compliance --log ctwl.log --plan plan.json",
            "what the EU's code asks for, from both",
            "ctwl-operations[plan]",
        ),
    ),
)

_EPILOG = """\
examples:
  ctwl-encode --model smollm2 --provider 42 --version 3 "The harvest this year"
  ctwl-encode --model ./my-gpt2 --profile org.ctwl.gpt2.1 --provider 42 --prompt-file prompt.txt
  echo "The harvest this year" | ctwl-encode --json -
  ctwl-encode --min-new-tokens 150 "The harvest this year" | ctwl-decode --profile org.ctwl.smollm2-135m.1 -

  ctwl-encode --new-keys our.keys
  ctwl-encode --provider 42 --user 31337 --keys our.keys --min-new-tokens 300 --max-new-tokens 300 "The harvest"
  ctwl-encode --provider 42 --relay draft.txt --prompt-file draft.txt

{others}
  To go on from a prompt that is called like a command, put an option before it.

At temperature 1, about 60 tokens carry the 20 bits of a beacon clearly; fewer may not be enough for a reader to find
them. A sealed user takes three codes, and so 120 tokens; with --authenticated four, and 150. A temperature below 1
takes several times that: at 0.7, plan for 220 tokens for a beacon and 550 for a user. The command warns of a
--max-new-tokens that is smaller. Nobody but the holder of the keys can open a user.
exit status: 0 a text was written; 2 an error.
"""


def _parser() -> argparse.ArgumentParser:
    what = "Write text with a language model so that anyone can read back where it comes from."
    parser = command_parser(
        "ctwl-encode", what, lambda: _EPILOG.format(others=ADDITIONS.help()), [*PROXY, REGISTRY], version="--about"
    )
    parser.add_argument("prompt", nargs="?", metavar="PROMPT", help="the prompt; - reads it from standard input")
    parser.add_argument("--prompt-file", metavar="FILE", help="read the prompt from a file")
    parser.add_argument(
        "--chat", action="store_true", help="the prompt is a message to the model, by its chat template"
    )
    add_model_options(
        parser,
        "the profile, which readers must know: a published one or a profile file; published: "
        f"{', '.join(published_names())} (default: ${PROFILE.name}, else for smollm2 {OFFLINE}, and for other models "
        f"{STANDARD})",
    )
    record = parser.add_argument_group("record")
    add_options(record, RecordOptions, RecordOptions.model_fields)
    record.add_argument(
        "--new-keys", metavar="FILE", help="make a provider's keys, encrypted with a passphrase, and stop"
    )
    add_options(parser.add_argument_group("marking"), MarkingOptions, MarkingOptions.model_fields)
    choosing = GenerationOptions.model_fields.keys() - MarkingOptions.model_fields.keys()
    add_options(parser.add_argument_group("generation"), GenerationOptions, choosing)
    parser.add_argument("--json", action="store_true", help="print the text and its record as JSON")
    return parser


def _prompt(arguments: argparse.Namespace) -> str:
    prompt, file = arguments.prompt, arguments.prompt_file
    if prompt is not None and file is not None:
        raise OptionOutOfRange("give the prompt as an argument or as a file, not both")
    if prompt not in (None, "-"):
        return str(prompt)
    if file is None and sys.stdin is None:
        raise OptionOutOfRange("standard input is closed; give the prompt as an argument")
    if file is None and prompt is None and sys.stdin.isatty():
        raise OptionOutOfRange('no prompt; try: ctwl-encode "The harvest this year"')
    name = file or "standard input"
    try:
        return read_bounded(file or sys.stdin.buffer, _MAX_PROMPT).decode("utf-8-sig").rstrip("\r\n")
    except OSError as error:
        raise OptionOutOfRange(
            f"cannot read the prompt from {name}: {error.strerror or error}; name a UTF-8 text file, or give "
            'the prompt itself: ctwl-encode "The harvest this year"'
        ) from error
    except UnicodeDecodeError as error:
        raise OptionOutOfRange(f"the prompt in {name} is not UTF-8 (byte {error.start}); save it as UTF-8") from error


def _write(arguments: argparse.Namespace) -> None:
    """Check the options, write one text, and print it."""
    prompt = _prompt(arguments)
    # What is wrong with names and options is said before torch is loaded, which takes seconds.
    profile = get_profile(arguments.profile or default_profile(arguments.model))
    options, asked = asked_options(arguments, GenerationOptions), asked_options(arguments, RecordOptions)
    check_prompts(prompt)
    keys = ProviderKeys.load(asked.keys) if asked.keys else None
    record = _record(asked, keys, profile)
    if record:
        record(Beacon(asked.provider, asked.version, asked.nonce or 0))
    with needing("torch", "the command"):
        from transformers.utils import logging

        from .encoder import Encoder
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    with warnings.catch_warnings(record=True) as caught, _progress(options.max_new_tokens) as progress:
        warnings.simplefilter("always", WeakMark)
        encoder = Encoder.open(arguments.model, profile, proxy_path=arguments.proxy, device=arguments.device)
        if asked.relay is not None:
            record = partial(relayed, chain_of(asked.relay, profile, arguments.proxy))
        beacon = asked.model_dump(include=set(BeaconOptions.model_fields))
        (written,) = encoder.generate(
            prompt, record=record, keys=keys, chat=arguments.chat, progress=progress, **beacon, **options.model_dump()
        )
    if arguments.json:
        found = {**vars(written), "code": written.beacon.code, **asdict(written.beacon)}
        found["chance_found"] = round(written.chance_found, 4)
        found["record"] = {"layout": written.record.layout.name, "fields": written.record.fields}
        text = json.dumps(found, ensure_ascii=False, indent=2)
    else:
        text = written.text
    with closed_output_is_fine():
        print(text)
    _warn(written, [str(warning.message) for warning in caught if issubclass(warning.category, WeakMark)])


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None]]:
    """A progress bar on stderr where that is a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("writing", total=total)
        yield lambda done: bar.update(task, completed=done)


def _record(asked: RecordOptions, keys: ProviderKeys | None, profile: Profile) -> Callable[[Beacon], Record] | None:
    """What makes the text's record from its beacon; a relay's needs the proxy, and is not here."""
    user, fields = asked.user, asked.fields
    if fields:
        layout = layout_with(fields)
        return lambda beacon: Record.of(layout, **fields, **asdict(beacon))
    if keys is None or user is None:
        return None
    return lambda beacon: keys.attributed(profile, beacon, user, epoch=asked.epoch, authenticated=asked.authenticated)


def chain_of(path: str, profile: Profile, proxy_path: str | None) -> tuple[Beacon, ...]:
    """The chain of the record that a text file carries, the newest hop first; empty where it carries none.

    Raises:
        OptionOutOfRange: the decoder is not installed.
        CTWLError: see :func:`ctwl_decoder.files.read_text`, and ``open`` and ``decode`` of
            :class:`ctwl_decoder.Decoder`.
    """
    try:
        from ctwl_decoder import Decoder
        from ctwl_decoder.files import read_text
    except ImportError as error:
        raise OptionOutOfRange("--relay reads the text's record: pip install ctwl-decoder") from error
    record = Decoder.open(profile, proxy_path=proxy_path).decode(read_text(path)).record
    chain = record.chain if record else []
    if not chain:
        note(f"ctwl-encode: {path} carries no record; the text begins a chain")
    if len(chain) == MAX_HOPS:
        note("ctwl-encode: the chain is full; its oldest hop is dropped")
    return tuple(Beacon(hop.provider, hop.version, hop.nonce) for hop in chain)


def _warn(written: Generation, messages: list[str]) -> None:
    """Print warnings on stderr; further ones where a reader will hardly find the code."""
    if written.lost > written.marked / 2:
        messages.append(
            f"a reader will not see {written.lost} of {written.marked} marked positions as they were written, "
            "so the code may be unreadable; write again"
        )
    for message in messages:
        note(f"ctwl-encode: warning: {message}")


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    return run_command("ctwl-encode", lambda: _run(list(sys.argv[1:] if argv is None else argv)))


def _run(argv: list[str]) -> int:
    """Run the command that the first argument names, or write a text."""
    if argv and argv[0].isalpha() and (main := ADDITIONS.load(argv[0])):
        return main(argv[1:])
    arguments = _parser().parse_args(argv)
    check_version(arguments)
    if arguments.new_keys is None:
        _write(arguments)
    else:
        ProviderKeys.new().save(arguments.new_keys)
        print(f"wrote {arguments.new_keys}; whoever has it and its passphrase can open your users: keep both safe")
    return 0

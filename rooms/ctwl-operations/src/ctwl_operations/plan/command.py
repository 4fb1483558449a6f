"""``ctwl-encode plan``: options, progress, and what is printed."""

from __future__ import annotations

import argparse
import json
import secrets
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ctwl_encoder import Strategy, nonces_for
from ctwl_encoder.arguments import add_model_options, add_options, asked_options, check_version
from ctwl_encoder.errors import needing
from ctwl_encoder.options import BeaconOptions, GenerationOptions, MarkingOptions, check_beacon, default_profile
from ctwl_protocol import get_profile, published_names
from ctwl_protocol.command import closed_output_is_fine, command_parser, note, run_command
from ctwl_protocol.environment import PROFILE, PROXY, REGISTRY
from ctwl_protocol.errors import ProxyNotFound
from ctwl_protocol.files import check_writable, write_atomically
from ctwl_protocol.profile import OFFLINE as OFFLINE_PROFILE
from ctwl_protocol.profile import OFFLINE_MODEL
from ctwl_protocol.proxy import find_files

from .markings import markings, usual_strengths
from .options import PlanOptions
from .prompts import GROUP, OPENINGS, REQUESTS, read_prompts
from .reading import Reader
from .rule import RULE

if TYPE_CHECKING:
    from .measurement import Progress
    from .result import Result

_SAMPLING = ("max_new_tokens", "temperature", "top_p", "repetition_penalty", "seed")

_STRENGTHS = {each.traits.strength.name: each for each in Strategy if not each.keeps_distribution}
"""The options that set the strength of what changes the distribution, each with a strategy that has it."""

_EPILOG = f"""\
examples:
  ctwl-encode plan --temperature 0.7 --top-p 0.95
  ctwl-encode plan --model ./my-model --temperature 0.7 --prompt-file prompts.txt --html report.html
  ctwl-encode plan --temperature 0 --delta 1 --delta 3 --json

Some texts of each prompt are written by plain sampling and by each strategy, measured while they are written, and read
as the public decoder does. Give the prompts and the settings with which you serve, and as many tokens as your texts
have. With the defaults and smollm2 it takes some twenty minutes on two cores.

{textwrap.fill(f"The rule: {RULE}.", 120)}

It needs the decoder: pip install 'ctwl-encoder[plan]'
exit status: 0 something is recommended; 2 an error.
"""


def _parser() -> argparse.ArgumentParser:
    what = "Which strategy suits a model and its sampling? Measure it on that model."
    parser = command_parser("ctwl-encode plan", what, _EPILOG, [*PROXY, REGISTRY], version="--about")
    add_model_options(
        parser,
        f"a published profile or a profile file; published: {', '.join(published_names())} "
        f"(default: ${PROFILE.name}, else the standard one; for {OFFLINE_MODEL}, and where the standard one's proxy LM "
        f"is not to be had, {OFFLINE_PROFILE})",
    )
    prompts = parser.add_argument_group("prompts")
    prompts.add_argument(
        "--prompt-file",
        metavar="FILE",
        help="prompts, one a line; the first are used, one for each group of texts (default: a set of several kinds)",
    )
    prompts.add_argument(
        "--chat",
        action=argparse.BooleanOptionalAction,
        help="whether prompts are a chat's messages, by the tokenizer's template (default: where it has one)",
    )
    sampling = parser.add_argument_group("sampling, as you serve")
    add_options(sampling, GenerationOptions, _SAMPLING)
    for name, strategy in _STRENGTHS.items():
        usual = " and ".join(f"{strength:g}" for strength in usual_strengths(strategy, 0))
        sampling.add_argument(
            f"--{name}",
            metavar="X",
            dest=f"tried_{name}",
            action="append",
            default=[],
            help=f"also try this strength: {strategy.traits.strength.meaning}; may be repeated (default: {usual} for "
            "greedy decoding, else none)",
        )
    record = parser.add_argument_group("record")
    add_options(record, BeaconOptions, ("provider", "version", "nonces"))
    add_options(parser.add_argument_group("measurement"), PlanOptions, PlanOptions.model_fields)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--html", metavar="FILE", help="also write a page with the table and its plots")
    return parser


def _measured(arguments: argparse.Namespace) -> Result:
    """Check the options, load the model, and measure."""
    # What is wrong with names and options is said before torch is loaded, and before minutes of work.
    check_version(arguments)
    options, beacon = asked_options(arguments, GenerationOptions), asked_options(arguments, BeaconOptions)
    texts = asked_options(arguments, PlanOptions).texts
    strengths = {
        name: [getattr(MarkingOptions.of_command({name: each}), name) for each in getattr(arguments, f"tried_{name}")]
        for name in _STRENGTHS
    }
    if arguments.profile:
        check_beacon(get_profile(arguments.profile))
    given = read_prompts(arguments.prompt_file) if arguments.prompt_file else None
    if arguments.html:
        check_writable(Path(arguments.html))
    profile_name = arguments.profile or _profile_at_hand(arguments.model, arguments.proxy)
    profile = get_profile(profile_name)
    if options.seed is None:
        options = options.model_copy(update={"seed": secrets.randbelow(1 << 31)})
    with needing("torch", "the command"):
        from transformers.utils import logging

        from ctwl_encoder import Encoder, has_chat_template
        from ctwl_protocol.proxy import open_proxy

        from .measurement import measure
        from .result import Settings

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    with _progress() as progress:
        progress("loading the model", 0, 1)
        encoder = Encoder.open(arguments.model, profile, proxy_path=arguments.proxy, device=arguments.device)
        progress("loading the model", 1, 1)
        chat = has_chat_template(encoder.tokenizer) if arguments.chat is None else arguments.chat
        prompts = list(given or (REQUESTS if chat else OPENINGS))[: -(-texts // GROUP)]
        settings = Settings(
            model=arguments.model,
            profile=profile_name,
            chat=chat,
            prompts=prompts,
            provider=beacon.provider,
            version=beacon.version,
            nonces=nonces_for(profile, beacon.provider, beacon.version, nonces=beacon.nonces),
            sampling={name: getattr(options, name) for name in _SAMPLING},
            texts=GROUP * -(-texts // GROUP),
            seed=options.seed or 0,
            proxy_path=arguments.proxy,
            device=arguments.device,
        )
        groups = [prompts[i % len(prompts)] for i in range(settings.texts // GROUP)]
        device = str(encoder.model.device)
        reader = Reader(open_proxy(profile, path=arguments.proxy, device=device))
        tried = markings(options.temperature, strengths)
        return measure(encoder, reader, groups, tried, options, settings, progress, _expect)


def _profile_at_hand(model: str, proxy_path: str | None) -> str:
    """The default profile for a model, or the offline one where only its proxy LM is at hand.

    A measurement may take either, since what is pasted names it.
    """
    default = default_profile(model)
    if proxy_path is None and default != OFFLINE_PROFILE and not _is_at_hand(default) and _is_at_hand(OFFLINE_PROFILE):
        note(f"ctwl-encode plan: {default} has no proxy LM on this machine; measured for {OFFLINE_PROFILE}")
        return OFFLINE_PROFILE
    return default


def _is_at_hand(profile: str) -> bool:
    """Whether the files of a profile's proxy LM are found, on this machine or at their source."""
    try:
        find_files(get_profile(profile))
    except ProxyNotFound:
        return False
    return True


def _expect(seconds: float) -> None:
    minutes = max(1, round(seconds / 60))
    note(f"ctwl-encode plan: this takes about {minutes} minute{'s' * (minutes > 1)}; fewer --texts take less")


@contextmanager
def _progress() -> Iterator[Progress]:
    """A bar for each part of the work, on stderr where that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        tasks = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total, start=False)
            if done:
                bars.start_task(tasks[what])
            bars.update(tasks[what], completed=done)

        yield show


def _print(result: Result, arguments: argparse.Namespace) -> None:
    if arguments.json:
        from .configs import configs

        print(json.dumps(result.as_json() | {"configs": configs(result)}, ensure_ascii=False, indent=2))
    else:
        from rich.console import Console

        from .terminal import show

        show(result, Console())


def _run(arguments: argparse.Namespace) -> int:
    result = _measured(arguments)
    with closed_output_is_fine():
        _print(result, arguments)
    if arguments.html:
        from .page import page

        write_atomically(arguments.html, page(result).encode())
    return 0


def main(argv: Sequence[str]) -> int:
    """Entry point; returns the exit status."""
    arguments = _parser().parse_args(argv)
    return run_command("ctwl-encode plan", lambda: _run(arguments))

"""The decoder's options: defaults, bounds and checks, and how the commands read them."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol import Beacon, CTWLError, Profile, get_profile, published_names
from ctwl_protocol.environment import PROFILE
from ctwl_protocol.numbers import NUMBERS
from ctwl_protocol.profile import has_public_key, read_by_default
from ctwl_protocol.records.beacon import BEACON_BITS, NONCE_COUNT
from ctwl_protocol.registry import Registry

from .errors import OptionOutOfRange

ALPHA = NUMBERS.search.level
"""Default level of the test."""

MAX_CHARACTERS = NUMBERS.search.characters
"""Longest text that is decoded, in characters."""

MAX_BYTES = 4 * MAX_CHARACTERS
"""The same in bytes: UTF-8 has at most four a character."""

MAX_FILE = 64 << 20
"""Bytes of a file that is opened as a document. A PDF with photographs is large; its words are few."""

MAX_TOKENS = NUMBERS.search.tokens
"""Longest text that is decoded, in proxy tokens."""

SCREEN = 0.2
"""Default level of the screen of a scan: of what the whole reading finds in 200 tokens, at most one in 200 is lost; in
150 tokens more is, mostly by ``delta`` (``evaluation/reading/light.py``)."""

STRONG, STRONG_SIZE = "Qwen/Qwen2.5-Coder-1.5B-Instruct", "3.1 GB"
"""The language model of a strong reading, and the size of its files. ``evaluation/reading/models.py`` measures what it
finds in texts of models that are not its own."""

ScoreName: TypeAlias = Literal["auto", "light", "whole", "half", "race"]
"""How positions may be scored, see :mod:`ctwl_decoder.statistics.scores`: "light" by ranks alone, without a language
model; "whole" by both scores of a language model; "auto" light where that is conclusive, else whole."""


def check_alpha(alpha: float, name: str = "alpha") -> None:
    """Refuse a level that is not strictly between 0 and 1: OptionOutOfRange."""
    if not 0 < alpha < 1:
        raise OptionOutOfRange(f"{name} is {alpha}; it must lie between 0 and 1")


def codes_by_nonces(
    profile: Profile, beacons: Iterable[tuple[int, int]], registry: Registry | None
) -> dict[int, NDArray[np.uint32]]:
    """The codes of (provider, version) pairs, by how many nonces a pair has: uint32 (codes,) each, ascending.

    A pair has as many nonces as its registry entry declares, and else all 64 (spec section 10.2, Registered beacons).
    Under a private profile codes are its owner's affair, so each has 64.

    Raises:
        OptionOutOfRange: the profile's codes are no beacons; there is no pair.
        FieldOutOfRange: a provider or version.
    """
    if profile.code_bits != BEACON_BITS:
        raise OptionOutOfRange(f"the codes of {profile.name} are not beacons; search the whole code space")
    known = registry if has_public_key(profile) else None
    found: dict[int, list[tuple[int, int]]] = {}
    for beacon in beacons:
        found.setdefault(known.nonces(*beacon) if known else NONCE_COUNT, []).append(beacon)
    if not found:
        raise OptionOutOfRange("there is no beacon to search for; name one, or search the whole code space")
    return {nonces: _codes(nonces, tuple(pairs)) for nonces, pairs in sorted(found.items())}


def beacon_codes(profile: Profile, beacons: Iterable[tuple[int, int]], registry: Registry | None) -> NDArray[np.uint32]:
    """The codes of :func:`codes_by_nonces` in one: uint32 (codes,), ascending."""
    return np.sort(np.concatenate([*codes_by_nonces(profile, beacons, registry).values()]))


@lru_cache(maxsize=64)
def _codes(nonces: int, beacons: tuple[tuple[int, int], ...]) -> NDArray[np.uint32]:
    """The codes of providers' versions with so many nonces each: uint32 (codes,), ascending, read-only."""
    codes = {code for provider, version in beacons for code in Beacon.codes_of(provider, version, nonces)}
    array = np.array(sorted(codes), dtype=np.uint32)
    array.flags.writeable = False
    return array


def _beacons(text: str) -> list[tuple[int, int]]:
    """Read ``PROVIDER:VERSION``, or ``PROVIDER`` for all its versions, as a type of argparse.

    Raises:
        argparse.ArgumentTypeError: it is neither, or a number is out of range.
    """
    provider, colon, version = text.partition(":")
    if not provider.isdecimal() or not (version.isdecimal() or not colon):
        raise argparse.ArgumentTypeError(f"{text!r} is not PROVIDER or PROVIDER:VERSION in numbers, such as 42:3")
    try:
        beacons = [Beacon(int(provider), number, 0) for number in ([int(version)] if colon else range(16))]
    except CTWLError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return [(beacon.provider, beacon.version) for beacon in beacons]


def add_alpha(parser: argparse._ActionsContainer, what: str = "the test") -> None:
    """Give a command the option that sets the level of a test."""
    text = f"level of {what}, on the p-value (default {ALPHA:g})"
    parser.add_argument("--alpha", type=float, default=ALPHA, help=text)


def add_beacons(parser: argparse._ActionsContainer, default: str) -> None:
    """Give a command the option that names the beacons to search for; what it does without, the help says."""
    parser.add_argument(
        "--beacon",
        metavar="PROVIDER[:VERSION]",
        type=_beacons,
        action="extend",
        help="search for this provider's codes only, of one model version (0 to 15) or of all, which needs less text; "
        f"may be repeated (default: {default})",
    )


def add_proxy_options(parser: argparse.ArgumentParser, *, profiles: bool = True, device: bool = True) -> None:
    """Give a command the options that say which proxy LMs to open, where, and how; not all commands need all.

    See :func:`named_profiles` for what ``profiles`` gives.
    """
    if profiles:
        parser.add_argument(
            "--profile",
            action="append",
            help="read by this profile alone, which needs less text: a published one or a profile file; may be "
            f"repeated; published: {', '.join(published_names())} (default: ${PROFILE.name}, else "
            f"{' and '.join(read_by_default())}; the p-value pays for their number)",
        )
    parser.add_argument(
        "--proxy",
        metavar="PATH",
        help="folder with the proxy LM's files, for one --profile; needed where the proxy LM is the provider's own "
        "(default: cache, then source)",
    )
    if device:
        parser.add_argument(
            "--device",
            default="cpu",
            help="what the language model computes on: cpu (default: NumPy in float32, without torch), or a device of "
            "torch's; auto takes CUDA where there is one",
        )


def named_profiles(arguments: argparse.Namespace) -> list[Profile] | None:
    """The profiles that a command's options name, else the environment; None where all published ones are read.

    Raises:
        CTWLError: see :func:`ctwl_protocol.get_profile`.
    """
    own = PROFILE.value()
    names = arguments.profile or ([own] if own else None)
    return names and list(map(get_profile, names))

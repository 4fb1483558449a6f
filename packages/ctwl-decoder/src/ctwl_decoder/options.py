"""Options that the commands share."""

from __future__ import annotations

import argparse

from ctwl_protocol import Beacon, CTWLError

__all__ = ["beacons"]


def beacons(given: str) -> list[tuple[int, int]]:
    """Read ``PROVIDER:VERSION``, or ``PROVIDER`` for all its versions, as a type of argparse.

    Raises:
        argparse.ArgumentTypeError: it is neither, or a number is out of range.
    """
    provider, colon, version = given.partition(":")
    if not provider.isdecimal() or not (version.isdecimal() or not colon):
        raise argparse.ArgumentTypeError(f"{given!r} is no PROVIDER or PROVIDER:VERSION in numbers, such as 42:3")
    try:
        found = [Beacon(int(provider), number, 0) for number in ([int(version)] if colon else range(16))]
    except CTWLError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return [(beacon.provider, beacon.version) for beacon in found]

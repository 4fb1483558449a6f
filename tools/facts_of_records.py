"""What pages say of the layouts of records."""

from __future__ import annotations

from collections.abc import Callable

from in_markdown import table

from ctwl_encoder import Strategy
from ctwl_encoder.core.expected_evidence import needed_tokens
from ctwl_protocol import get_profile
from ctwl_protocol.numbers import NUMBERS
from ctwl_protocol.profile import OFFLINE
from ctwl_protocol.records.layouts import LAYOUTS, REGISTERED, SEALED_USER, Layout

_ABOUT = {row.number: row.about for row in NUMBERS.records.layouts}


def _fields(layout: Layout) -> str:
    """The fields behind the beacon, with their bits."""
    if layout.hops > 1:
        return f"{layout.hops - 1} earlier hop{'s' * (layout.hops > 2)}"
    named = ", ".join(f"`{name}` {bits}" for name, bits in layout.fields[3:])
    return ": ".join(filter(None, [named or "none", _ABOUT[layout.number]]))


def _option(layout: Layout) -> str:
    """How ``ctwl-encode`` is asked for it."""
    if layout.own_fields:
        return "`--fields " + ",".join(f"{field.name}=N" for field in layout.own_fields) + "`"
    if SEALED_USER in layout.fields:
        return "`--user`" + ", `--authenticated`" * layout.authenticated
    return "`--relay`" if layout.hops > 1 else ""


def _of_encoder(layout: Layout) -> list[int]:
    """The tokens that the encoder counts on, at two temperatures."""
    profile = get_profile(OFFLINE)
    return [needed_tokens(profile, Strategy.RACE, layout.codes, temperature=heat) for heat in (1.0, 0.7)]


FACTS: dict[str, Callable[[], str]] = {
    "layouts": lambda: table(
        ("number", "name", "fields behind the beacon"),
        *((layout.number, f"`{layout.name}`", _fields(layout)) for layout in LAYOUTS),
    ),
    "layouts-to-come": lambda: f"{LAYOUTS[-1].number + 1} to {REGISTERED[0] - 1}",
    "layouts-of-providers": lambda: table(
        (
            "layout",
            "behind the beacon, in bits",
            "asked for by",
            "plan for",
            "`race`, T = 1",
            "`race`, T = 0.7, top-p 0.95",
        ),
        *(
            (f"`{layout.name}`", _fields(layout), _option(layout), 100 * layout.codes, *_of_encoder(layout))
            for layout in LAYOUTS
        ),
    ),
}
"""By name, as in :data:`facts.FACTS`."""

"""Characters that nobody sees, or takes for others, in words: that somebody put them there, and not who."""

from __future__ import annotations

from ..text.variants import STAYS, taken_out
from ..words import say
from .model import Hidden


def hidden_in(text: str) -> list[Hidden]:
    """What is hidden in a text as given that can be normalized, kind by kind."""
    hidden = list[Hidden]()
    for each in taken_out(text):
        point = f"U+{ord(text[each.start]):04X}"
        read = "hidden-stays" if each.kind in STAYS else "hidden-goes"
        named = say(f"hidden-{each.kind}", point=point, start=each.start, count=each.count)
        says = f"{named} {say('hidden-means')} {say(read)}"
        hidden.append(Hidden(kind=each.kind, start=each.start, point=point, count=each.count, says=says))
    return hidden

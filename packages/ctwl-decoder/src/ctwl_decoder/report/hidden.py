"""Characters that nobody sees, or takes for others, in words: that somebody put them there, and not who."""

from __future__ import annotations

from ..text.variants import taken_out
from ..words import english
from .model import Hidden


def hidden_in(text: str) -> list[Hidden]:
    """What is hidden in a text as given that can be normalized, kind by kind."""
    hidden, words = list[Hidden](), english()
    for each in taken_out(text):
        point = f"U+{ord(text[each.start]):04X}"
        says = words[f"hidden-{each.kind}"].format(point=point, start=each.start, count=each.count)
        says += f" {words['hidden-means']}"
        hidden.append(Hidden(kind=each.kind, start=each.start, point=point, count=each.count, says=says))
    return hidden

"""Characters that nobody sees, or takes for others, in words: that somebody put them there, and not who."""

from __future__ import annotations

from ..text.variants import taken_out
from ..words import english
from .model import Hidden


def hidden_in(text: str) -> list[Hidden]:
    """What is hidden in a text as given that can be normalized, kind by kind."""
    found, words = list[Hidden](), english()
    for kind, start, count in taken_out(text):
        point = f"U+{ord(text[start]):04X}"
        says = words[f"hidden-{kind}"].format(point=point, start=start, count=count)
        says += f" {words['hidden-means']}"
        found.append(Hidden(kind=kind, start=start, point=point, count=count, says=says))
    return found

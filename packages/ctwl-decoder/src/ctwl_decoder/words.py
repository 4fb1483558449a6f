"""The words of the command and of the page in the browser, and the kinds of files; both readers share them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from ctwl_protocol.numbers import NUMBERS, linked

ENOUGH_TOKENS = 150
"""Tokens below which a code often does not show (``evaluation/reading/lengths.py``)."""

ENOUGH_WORDS = 110
"""About as many words of English."""

CHAT_TOKENS = 400
"""Tokens from which a code mostly shows in articles that a chat gives, by larger models too
(``evaluation/reading/models.py``)."""

_NUMBERS = {
    "{enough_tokens}": ENOUGH_TOKENS,
    "{enough_words}": ENOUGH_WORDS,
    "{chat_tokens}": CHAT_TOKENS,
    "{many_contexts}": NUMBERS.search.many_contexts,
}


def _shared(name: str) -> Any:
    """A file of the reader for browsers, to which a checkout has a link."""
    return json.loads(linked((resources.files("ctwl_decoder") / name).read_bytes()))


def numbered(words: Mapping[str, str]) -> dict[str, str]:
    """Words in any language with the numbers that stand in them, as "150" for ``{enough_tokens}``."""
    found = dict(words)
    for place, number in _NUMBERS.items():
        found = {name: text.replace(place, str(number)) for name, text in found.items()}
    return found


def _words() -> dict[str, str]:
    words: dict[str, str] = _shared("words.en.json")
    for name, row in kind_rows().items():
        words[f"kind-{name}"] = row["name"]
        if "advice" in row:
            words[f"advice-{name}"] = row["advice"]
    return words


@cache
def english() -> dict[str, str]:
    """The English words of the command and of the page, by their names."""
    return numbered(_words())


def page_words() -> dict[str, str]:
    """The English words of the page, by their names, as they are to be translated; :func:`numbered` makes them ready.

    The command has more: those whose names begin with ``report-``.
    """
    return {name: text for name, text in _words().items() if not name.startswith("report-")}


def say(name: str, /, **values: object) -> str:
    """The words of a name, with values put in.

    Raises:
        KeyError: there are no such words, or they ask for another value.
    """
    return english()[name].format(**values)


@cache
def kind_rows() -> dict[str, dict[str, Any]]:
    """What both readers know of each kind of file, by its name; see :mod:`.kinds`."""
    found: dict[str, dict[str, Any]] = _shared("document-kinds.json")
    return found


def said(name: str, /, **values: str) -> str:
    """A sentence with values put in, as a message goes on with it: without a capital and a full stop."""
    sentence = say(name, **values)
    return sentence[:1].lower() + sentence[1:].removesuffix(".")

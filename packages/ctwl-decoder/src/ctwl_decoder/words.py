"""What the command shares with the reader for browsers: the sentences about files that are not read, and tables."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

from ctwl_protocol.numbers import linked


def _shared(name: str) -> Any:
    """A file of the reader for browsers, to which a checkout has a link."""
    return json.loads(linked((resources.files("ctwl_decoder") / name).read_bytes()))


@cache
def english() -> dict[str, str]:
    """The English words of the page, by their names."""
    found: dict[str, str] = _shared("words.en.json")
    return found


@cache
def document_tables() -> dict[str, Any]:
    """What both readers know of files: the bytes that show a kind, and the elements that hold words."""
    found: dict[str, Any] = _shared("document-tables.json")
    return found


def said(name: str, **values: str) -> str:
    """A sentence of the page with values put in, as a message goes on with it: without a capital and a full stop."""
    sentence = english()[name].format(**values)
    return sentence[:1].lower() + sentence[1:].removesuffix(".")


def not_opened(kind: str) -> str:
    """Why a file of a kind is not opened."""
    return said("refused-not-opened", kind=english()[f"kind-{kind}"], advice=english()[f"advice-{kind}"])

"""What the command shares with the reader for browsers: the sentences about files that are not read, and tables."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any


def web_folder() -> Path:
    """The reader for browsers: in the wheel beside these modules, in a checkout a package of its own."""
    package = Path(str(resources.files("ctwl_decoder")))
    return next(each for each in (package / "web", package.parents[2] / "ctwl-web") if (each / "page").is_dir())


@cache
def english() -> dict[str, str]:
    """The English words of the page, by their names."""
    found: dict[str, str] = json.loads((web_folder() / "page" / "words.en.json").read_bytes())
    return found


@cache
def document_tables() -> dict[str, Any]:
    """What both readers know of files: the bytes that show a kind, and the elements that hold words."""
    found: dict[str, Any] = json.loads((web_folder() / "src" / "documents" / "tables.json").read_bytes())
    return found


def said(name: str, **values: str) -> str:
    """A sentence of the page with values put in, as a message goes on with it: without a capital and a full stop."""
    sentence = english()[name].format(**values)
    return sentence[:1].lower() + sentence[1:].removesuffix(".")


def not_opened(kind: str) -> str:
    """Why a file of a kind is not opened."""
    return said("refused-not-opened", kind=english()[f"kind-{kind}"], advice=english()[f"advice-{kind}"])

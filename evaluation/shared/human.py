"""Texts by people: passages of files, and what the installed packages hold of many kinds."""

from __future__ import annotations

import gettext
import sysconfig
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from ctwl_protocol.proxy import ProxyTokenizer

PATTERNS = {
    "Python": "**/*.py", "C headers": "**/*.h", "JavaScript": "**/*.js", "CSS": "**/*.css", "HTML": "**/*.html",
    "Cython": "**/*.pyx", "licences": "*.dist-info/**/LICEN*", "tables": "*/**/*.csv",
    "lists of files": "*.dist-info/RECORD",
}  # fmt: skip
"""Kinds of files in the installed packages."""

LANGUAGES = ("de", "fr", "es", "it", "pl", "ru", "el", "ar", "hi", "th", "ja", "zh_Hans", "ka")
"""Languages of the messages of Django, where it is installed."""

FILES, LEAST, MOST = 200, 2000, 1 << 14
"""So many files of a kind count, those of more than so many bytes, each up to so many bytes."""


ROOM = 4000
"""Characters within which a passage lies."""


def cut(tokenizer: ProxyTokenizer, text: str, sizes: Sequence[int], room: int = 20_000) -> list[str]:
    """Passages of so many tokens each that start at lines, evenly spread over a text.

    Args:
        tokenizer: the proxy LM's.
        text: the text.
        sizes: tokens of each passage.
        room: characters within which a passage lies.
    """
    found = []
    for start, size in zip(np.linspace(0, len(text) - room, len(sizes)).astype(int), sizes, strict=True):
        piece = text[text.find("\n", start) + 1 :][:room]
        found.append(tokenizer.decode(tokenizer.encode(piece)[:size]))
    return found


def documents(tokenizer: ProxyTokenizer, files: Sequence[Path], sizes: Sequence[int]) -> list[str]:
    """Documents of so many tokens, taken from the files in turn."""
    parts = [cut(tokenizer, file.read_text(encoding="utf-8"), sizes[i :: len(files)]) for i, file in enumerate(files)]
    return [parts[i % len(files)][i // len(files)] for i in range(len(sizes))]


def passages(
    tokenizer: ProxyTokenizer, texts: Sequence[str], count: int, rng: np.random.Generator, least: int, most: int
) -> list[str]:
    """About so many passages of ``least`` to ``most`` tokens, alike from each text; their lengths are drawn."""
    found = list[str]()
    for text in texts:
        sizes = rng.integers(least, most + 1, -(-count // len(texts))).tolist()
        found += cut(tokenizer, text, sizes, room=ROOM)
    return found


def packaged_kinds() -> dict[str, str]:
    """Texts of the installed packages by kind: code, licences, tables, lists, and messages in many languages."""
    packages = Path(sysconfig.get_path("purelib"))
    texts = {}
    for name, pattern in PATTERNS.items():
        large = (file for file in sorted(packages.glob(pattern)) if file.is_file() and file.stat().st_size > LEAST)
        texts[name] = "\n".join(file.read_bytes()[:MOST].decode(errors="replace") for file in islice(large, FILES))
    for language in LANGUAGES:
        catalogues = sorted(packages.glob(f"django/**/{language}/LC_MESSAGES/django.mo"))
        texts[f"messages, {language}"] = "\n".join(map(_messages, catalogues))
    return texts


def _messages(file: Path) -> str:
    """The translated messages of a catalogue of GNU gettext."""
    with file.open("rb") as catalogue:
        translated = vars(gettext.GNUTranslations(catalogue))["_catalog"]
    return "\n".join(text for key, text in translated.items() if key)

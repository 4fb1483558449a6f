"""Subtitles (SRT, WebVTT, SBV, ASS): the words that are shown, without their times; and their notes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..budget import Budget
from ..found import Member, plain, prose
from . import opens

_TIMES = re.compile(r"(?:\d+:)?\d+:\d+[,.]\d+(?:\s*-->|,\d+:\d+:\d+\.\d+\s*$)")
_TAGS = re.compile(r"<[^<>]{0,100}>|\{\\[^{}]{0,100}\}")
_NOTE = re.compile(r"NOTE(?:[ \t]|$)")
_NOT_SHOWN = re.compile(r"(?:WEBVTT|STYLE|REGION)\b")
"""Begins a block of WebVTT without times."""

_LINE = re.compile(r"^(Dialogue|Comment):(?:[^,\n]*,){9}(.*)$", re.M)
"""A line of ASS; its tenth field has the words."""


@opens("subtitles")
def read(data: bytes, _: Budget) -> str | Iterator[Member]:
    """The words that are shown, and the notes."""
    text = plain(data).replace("\r\n", "\n").strip()
    lines = _LINE.findall(text) if text.startswith("[Script Info]") else list(_lines(text))
    words = _joined(line for kind, line in lines if kind != "Comment")
    notes = prose(line for kind, line in lines if kind == "Comment")
    return iter([Member("", words), Member("notes", notes)]) if notes else words


def _joined(lines: Iterable[str]) -> str:
    """Lines in one paragraph: their breaks are the screen's. A line that the next cue shows again counts once."""
    words = [" ".join(_TAGS.sub("", line.replace("\\N", " ")).split()) for line in lines]
    shown = [line for line in words if line]
    return " ".join(line for line, last in zip(shown, ["", *shown], strict=False) if line != last)


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """The lines of cues, and those of the comments of WebVTT, which in other forms are words."""
    has_notes = text.startswith("WEBVTT")
    for cue in re.split(r"\n[ \t]*\n", text):
        lines = cue.split("\n")
        first = next((number for number, line in enumerate(lines, 1) if _TIMES.match(line)), 0)
        is_note = has_notes and not first and _NOTE.match(lines[0])
        if first or not (has_notes and _NOT_SHOWN.match(cue)):
            yield from (("Comment" if is_note else "Dialogue", line) for line in lines[first:])

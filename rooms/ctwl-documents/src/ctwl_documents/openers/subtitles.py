"""Subtitles (SRT, WebVTT, SBV, ASS): the words that are shown, without their times."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..budget import Budget
from ..found import plain
from . import opens

_TIMES = re.compile(r"(?:\d+:)?\d+:\d+[,.]\d+(?:\s*-->|,\d+:\d+:\d+\.\d+\s*$)")
_TAGS = re.compile(r"<[^<>]{0,100}>|\{\\[^{}]{0,100}\}")
_NOT_SHOWN = re.compile(r"(?:WEBVTT|NOTE|STYLE|REGION)\b")
_DIALOGUE = re.compile(r"^Dialogue:(?:[^,\n]*,){9}(.*)$", re.M)
"""A line of ASS; its tenth field has the words."""


@opens("subtitles")
def words_of(data: bytes, _: Budget) -> str:
    """The words, in one paragraph: their breaks are the screen's. A line that the next cue shows again counts once."""
    text = plain(data).replace("\r\n", "\n").strip()
    lines = list(_lines(text)) if not text.startswith("[Script Info]") else _DIALOGUE.findall(text)
    words = [" ".join(_TAGS.sub("", line.replace("\\N", " ")).split()) for line in lines]
    shown = [line for line in words if line]
    return " ".join(line for line, last in zip(shown, ["", *shown], strict=False) if line != last)


def _lines(text: str) -> Iterator[str]:
    """The lines of cues."""
    for cue in re.split(r"\n[ \t]*\n", text):
        lines = cue.split("\n")
        first = next((number for number, line in enumerate(lines, 1) if _TIMES.match(line)), 0)
        if first or not _NOT_SHOWN.match(cue):
            yield from lines[first:]

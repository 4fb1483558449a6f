"""Subtitles (SRT and WebVTT): the words that are shown, without their times."""

from __future__ import annotations

import re

_TIMES = re.compile(r"(?:\d+:)?\d+:\d+[,.]\d+\s*-->.*")
_TAGS = re.compile(r"<[^<>]{0,100}>|\{\\[^{}]{0,100}\}")
_NOT_SHOWN = re.compile(r"(?:WEBVTT|NOTE|STYLE|REGION)\b")


def words_of(text: str) -> str:
    """The words, in one paragraph: their breaks are the screen's."""
    shown: list[str] = []
    for cue in re.split(r"\n[ \t]*\n", text.replace("\r\n", "\n").strip()):
        lines = cue.split("\n")
        first = next((number for number, line in enumerate(lines, 1) if _TIMES.match(line)), 0)
        if first or not _NOT_SHOWN.match(cue):
            shown += (_TAGS.sub("", line).strip() for line in lines[first:])
    return " ".join(line for line in shown if line)

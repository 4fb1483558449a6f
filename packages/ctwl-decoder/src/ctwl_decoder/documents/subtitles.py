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
        times = next((number for number, line in enumerate(lines) if _TIMES.match(line)), None)
        if times is None:
            lines = [] if _NOT_SHOWN.match(cue) else lines
        else:
            lines = lines[times + 1 :]
        shown += (_TAGS.sub("", line).strip() for line in lines)
    return " ".join(line for line in shown if line)

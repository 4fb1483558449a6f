"""JSON of chat programs and their logs: messages of a conversation, pieces of a streamed answer, cells of a notebook.

Where a conversation says which messages a model wrote, these are read alone; of a notebook the prose, where it has any.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_WRITERS = frozenset({"assistant", "model", "ai", "bot", "gpt", "chatgpt", "claude", "gemini", "copilot", "llm"})
_WHO = ("role", "from", "sender", "author", "user", "username")
_WHAT = ("content", "text", "value", "parts", "message", "body")
_RECORD = re.compile(r"^.{0,80}?(\{.*\})\s*$", re.M)
"""A record in a line; a program may have written a date or ``data:`` before it."""


def words_of(text: str) -> str | None:
    """The words in JSON, JSON lines, or lines of server-sent events; None where it is none that is known here."""
    values = list(_values(text))
    cells = [(cell.get("cell_type"), _text(cell.get("source"))) for cell in _cells(values)]
    if cells:
        prose = [words for kind, words in cells if kind != "code" and words]
        return "\n\n".join(prose or [words for _, words in cells if words])
    pieces = [(value.get("id"), _piece(value)) for value in _records(values)]
    if any(piece for _, piece in pieces):
        return _streamed(pieces)
    messages = list(_messages(values))
    written = [words for who, words in messages if who.lower() in _WRITERS]
    return "\n\n".join(written or [words for _, words in messages]) or None


def _values(text: str) -> Iterator[Any]:
    """The whole text as a value, or the value in each line."""
    try:
        yield json.loads(text)
        return
    except ValueError:
        pass
    for found in _RECORD.finditer(text):
        try:
            yield json.loads(found[1])
        except ValueError:
            continue


def _records(values: list[Any]) -> list[dict[str, Any]]:
    """The records of lines, or of one list."""
    if len(values) == 1 and isinstance(values[0], list):
        values = values[0]
    return [value for value in values if isinstance(value, dict)]


def _streamed(pieces: list[tuple[Any, str]]) -> str:
    """The answers whose pieces these are; an answer has an id where its program gives it one."""
    found, last = list[str](), None
    for answer, piece in pieces:
        if found and answer != last and answer is not None and last is not None:
            found.append("\n\n")
        last = answer if answer is not None else last
        found.append(piece)
    return "".join(found)


def _piece(value: dict[str, Any]) -> str:
    """The piece of an answer that a record carries, as the common servers write it."""
    choice = _first(value.get("choices"))
    delta = choice.get("delta", value.get("delta"))
    if isinstance(delta, str):
        return delta if "text" in str(value.get("type", "text")) else ""
    if isinstance(delta, dict):
        return _text(delta.get("content", delta.get("text")))
    if choice and "message" not in choice:
        return _text(choice.get("text"))
    if "done" in value:
        message = value.get("message")
        return _text(message.get("content") if isinstance(message, dict) else value.get("response"))
    return _text(_first(value.get("candidates")).get("content"))


def _first(value: Any) -> dict[str, Any]:
    first = value[0] if isinstance(value, list) and value else None
    return first if isinstance(first, dict) else {}


def _messages(values: list[Any]) -> Iterator[tuple[str, str]]:
    """The messages: who wrote each, and its words."""
    waiting: list[Any] = values[::-1]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            who, words = _who(value), next((text for key in _WHAT if (text := _text(value.get(key)))), "")
            if who and words:
                yield who, words
                continue
            value = list(value.values())
        if isinstance(value, list):
            waiting += reversed(value)


def _who(message: dict[str, Any]) -> str:
    for key in _WHO:
        who = message.get(key)
        who = who.get("role", who.get("name")) if isinstance(who, dict) else who
        if isinstance(who, str) and who:
            return who
    return ""


def _cells(values: list[Any]) -> Iterator[dict[str, Any]]:
    """The cells of notebooks, in either of its forms."""
    for value in values:
        sheets = value.get("worksheets", [value]) if isinstance(value, dict) and "nbformat" in value else []
        for sheet in sheets if isinstance(sheets, list) else []:
            cells = sheet.get("cells") if isinstance(sheet, dict) else None
            yield from (cell for cell in cells or [] if isinstance(cell, dict))


def _text(value: Any) -> str:
    """The words of a value: a string, parts of one, or what holds them."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(part if isinstance(part, str) else _text(part) for part in value)
    if isinstance(value, dict) and value.get("type", "text") in ("text", "output_text", "input_text"):
        return next((text for key in ("text", "parts", "value") if (text := _text(value.get(key)))), "")
    return ""

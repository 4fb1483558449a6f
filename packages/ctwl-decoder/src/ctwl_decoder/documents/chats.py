"""JSON of chat programs and their logs: messages of a conversation, pieces of a streamed answer, cells of a notebook.

Where a conversation says which messages a model wrote, these are read alone; of a notebook the prose, where it has any,
and what its code printed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_WRITERS = frozenset({"assistant", "model", "ai", "bot", "gpt", "chatgpt", "claude", "gemini", "copilot", "llm"})
_WHO = ("role", "from", "sender", "author", "user", "username")
_WHAT = ("content", "text", "value", "parts", "message", "body")
_ASKED = ("prompt", "instruction", "question", "input", "query")
_ANSWERED = ("completion", "response", "output", "answer", "generated_text", "assistant")
_UNSAID = ("tool", "function", "thinking", "reasoning")
"""In the names of parts of a message that are no words of it."""

_RECORD = re.compile(r"^.{0,80}?(\{.*\})\s*$", re.M)
"""A record in a line; a program may have written a date or ``data:`` before it."""


def words_of(text: str) -> str | None:
    """The words in JSON, JSON lines, or lines of server-sent events; None where it is none that is known here."""
    values = list(_values(text))
    if cells := list(_cells(values)):
        return _of_notebook(cells)
    pieces = [(value.get("id"), _piece(value)) for value in _records(values)]
    if any(piece for _, piece in pieces):
        return _streamed(pieces)
    messages = list(_messages(values))
    written = [words for who, words in messages if who.lower() in _WRITERS]
    told = written or [words for _, words in messages] or [_said(value) for value in _records(values)]
    return "\n\n".join(filter(None, told)) or None


def _of_notebook(cells: list[dict[str, Any]]) -> str:
    """The prose, else the code; and what the code printed."""
    prose = [_text(cell.get("source")) for cell in cells if cell.get("cell_type") != "code"]
    printed = [_printed(out) for cell in cells for out in cell.get("outputs") or [] if isinstance(out, dict)]
    told = [*filter(str.strip, prose)] or [_text(cell.get("source")) for cell in cells]
    return "\n\n".join(filter(str.strip, told + printed))


def _printed(output: dict[str, Any]) -> str:
    """The text that code printed or gave."""
    data = output.get("data")
    return _text(output.get("text") or (data.get("text/plain") if isinstance(data, dict) else None))


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
    return _piece_alone(value)


def _piece_alone(value: dict[str, Any]) -> str:
    """The same of servers that give no choices."""
    if isinstance(value.get("token"), dict):
        return _text(value["token"].get("text"))
    if "stop" in value:
        return _text(value.get("content"))
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
            who, words = _who(value), _said(value)
            if who and words:
                yield who, words
                continue
            if answer := _answer(value):
                yield "assistant", answer
                continue
            value = list(value.values())
        if isinstance(value, list):
            waiting += reversed(value)


def _said(message: dict[str, Any]) -> str:
    return next((text for key in _WHAT if (text := _text(message.get(key)))), "")


def _answer(pair: dict[str, Any]) -> str:
    """The answer of a question and its answer, as sets of instructions have them."""
    if "generated_text" not in pair and not any(key in pair for key in _ASKED):
        return ""
    return next((pair[key] for key in _ANSWERED if isinstance(pair.get(key), str) and pair[key]), "")


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
    if isinstance(value, dict) and not any(name in str(value.get("type", "")) for name in _UNSAID):
        return next((text for key in ("text", "parts", "value") if (text := _text(value.get(key)))), "")
    return ""

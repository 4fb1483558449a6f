"""JSON of chat programs and their logs: messages of a conversation, pieces of a streamed answer, cells of a notebook.

Where a conversation says which messages a model wrote, these are read alone, with what the model gave to tools. Where
it has messages of people alone, it is refused, since the model's may stand where nobody looks. Long texts beside the
messages, which nobody is said to have written, are a text of their own. Of a notebook the prose is read, where it has
any, and what its code printed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from ctwl_decoder.errors import DocumentRefused
from ctwl_decoder.words import said

from .. import html
from ..budget import Budget
from ..found import Member, plain
from . import opens

_WRITERS = frozenset(
    [
        "assistant",
        "model",
        "ai",
        "bot",
        "gpt",
        "chatgpt",
        "claude",
        "gemini",
        "copilot",
        "llm",
        "llama",
        "mistral",
        "qwen",
        "deepseek",
        "grok",
    ]
)
_PEOPLE = frozenset({"user", "human", "system", "developer", "tool", "function", "prompter", "customer"})
_WHO = ("role", "from", "sender", "author", "user", "username")
_BY_PEOPLE = ("isCreatedByUser", "is_user", "isUser", "fromUser", "isHuman")
"""Names of what is true of the messages of people, and false of those of a model."""

_WHAT = ("content", "text", "value", "parts", "message", "body", "mes")
_ASKED = ("request", "prompt", "instruction", "question", "input", "inputs", "query", "messages", "message")
_ANSWERED = (
    "completion",
    "response",
    "responses",
    "output",
    "outputs",
    "answer",
    "generated_text",
    "assistant",
    "reply",
)
_NOT_OTHERS = ("prompt", "instruct", "question", "query", "input", "request", "schema")
"""In the names of long strings that are no answer: what was asked, or how."""

OTHERS = "other texts"
"""The name of the long texts beside the messages."""

_LONG = 25
"""Words of a text that is not left out silently; of a script without spaces four times as many characters."""

_CALLS = ("tool_calls", "function_call")
_GIVEN = ("input", "arguments", "args")
"""Where a message has calls of tools beside its words, and in a call what the model gives to the tool."""

_FEW = 8
"""Words of a string that is given to a tool: fewer are its name, its title, a path."""

_UNSAID = ("tool", "function", "thinking", "reasoning")
"""In the names of parts of a message that are no words of it."""

_PACKED = re.compile(r"\s*(?:[{\[]|(?:data|event): ?)")
"""Begins JSON, or a stream of it, in a string."""

_RECORD = re.compile(r"^.{0,80}?(\{.*\})\s*$", re.M)
"""A record in a line; a program may have written a date or ``data:`` before it."""

_FIELD = re.compile(r"^(?:event|id|retry)?:.*", re.M)
"""A line of a stream that has no record."""

_PART = re.compile(r"""^([0-9a-z]):(["{\[].*)$""", re.M)
"""A part of a stream that has a letter or a number for its kind, as Vercel's programs send it."""

_THOUGHT = "g"
"""The kind of a part that the model thought, and did not say."""

_NAMED = re.compile(r"\s*(?:<[^<>]{1,200}>)?\s*")
"""What a notebook has as the text of a thing that it shows in another form."""

_LEAST = 3
"""Pieces of a stream of an unknown program."""

_SHARE = 5
"""One piece in so many of a text begins or ends at the end of a word."""

_SHORT = 12
"""Characters of a piece in a script without spaces."""


class _Piece(NamedTuple):
    """A piece of a streamed answer.

    Attributes:
        answer: the answer's id, empty where its program gives it none.
        choice: its number among the answers to one question.
        call: of a tool to which it is given; empty for words.
        text: the piece.
    """

    answer: str
    choice: str
    call: str
    text: str


@opens("chat")
def read(data: bytes, _: Budget) -> str | Iterator[Member]:
    """What a model wrote, and other long texts; all of JSON that is no chat."""
    text = plain(data)
    values = list(_values(text))
    words, are_messages = _words_in(values)
    if words is None:
        return text
    others = _others(values, words) if are_messages else []
    return iter([Member("", words), Member(OTHERS, "\n\n".join(others))]) if others else words


def words_of(text: str) -> str | None:
    """The words in JSON, JSON lines, or lines of server-sent events; None where it is none that is known here.

    Raises:
        DocumentRefused: it has messages of people, and none of a model.
    """
    return _words_in(list(_values(text)))[0]


def _words_in(values: list[Any]) -> tuple[str | None, bool]:
    """The words, and whether they are messages: other strings may be words, too."""
    if cells := list(_cells(values)):
        return _of_notebook(cells), False
    pieces = [piece for value in _records(values) for piece in _pieces(value)]
    if streamed := _streamed(pieces) or _varied(_records(values)):
        return _whole(streamed), False
    messages = list(_messages(values))
    told = _of_models(messages) or _unsigned(_records(values))
    return _whole("\n\n".join(filter(None, told))) or None, True


def _whole(text: str) -> str:
    """A text whose characters may have been cut into two halves, which JSON writes apart."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _is_model(who: str) -> bool:
    """Whether a writer is a model, by its role or by a name such as ``gpt-4o-mini``, which people do not have."""
    who = who.lower()
    is_named = " " not in who or any(character.isdigit() for character in who)
    return who in _WRITERS or (is_named and not _WRITERS.isdisjoint(re.split(r"[^a-z]+", who)))


def _of_models(messages: list[tuple[str, str]]) -> list[str]:
    """The messages that models wrote; all where nothing says who of the writers is one."""
    written = [words for who, words in messages if _is_model(who)]
    others = [words for who, words in messages if who.lower() not in _PEOPLE]
    if messages and not (written or others):
        raise DocumentRefused(said("reason-people"))
    return written or others


def _unsigned(records: list[dict[str, Any]]) -> list[str]:
    """The words of records that name no writer; none where other strings hold more, as in tables of phrases."""
    told = [_said(record) for record in records]
    strings = sum(len(text) for record in records for _, text in _strings(record))
    return told if 2 * sum(map(len, told)) >= strings else []


def _others(values: list[Any], told: str) -> list[str]:
    """The long texts that are not in the words that are read nor in a message, and that asked nothing."""
    found = dict[tuple[str, ...], dict[str, None]]()  # by what each begins with
    for text in _long(values):
        found.setdefault(next(_runs(text)), {})[_whole(text)] = None
    for words in [told, *(words for _, words in _messages(values))] if found else []:
        for run in _runs(words):
            found.pop(run, None)
    return [text for texts in found.values() for text in texts]


def _long(values: list[Any]) -> Iterator[str]:
    """The long strings in values, but for packed ones, what people wrote or asked, and thoughts."""
    waiting = values[::-1]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            if _is_long(value) and not _PACKED.match(value):
                yield value
        elif isinstance(value, list):
            waiting += reversed(value)
        elif isinstance(value, dict) and _who(value).lower() not in _PEOPLE and not _is_unsaid(value):
            inner = [each for key, each in value.items() if not (isinstance(each, str) and _asks(key))]
            waiting += reversed(inner)


def _asks(key: str) -> bool:
    return key in _ASKED or _names(key.lower(), _NOT_OTHERS + _UNSAID)


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    """Each run of some words of a text, or of characters where it has fewer words."""
    words = text.split()
    words = words if len(words) >= _LONG else list(text)
    for start in range(max(len(words) - _FEW + 1, 1)):
        yield tuple(words[start : start + _FEW])


def _is_long(text: str) -> bool:
    without_spaces = len(text) >= 4 * _LONG and any(character >= "\u2e80" for character in text)
    return len(text.split()) >= _LONG or without_spaces


def _of_notebook(cells: list[dict[str, Any]]) -> str:
    """The prose, else the code; and what the code printed."""
    prose = [_text(cell.get("source")) for cell in cells if cell.get("cell_type") != "code"]
    printed = [_printed(out) for cell in cells for out in cell.get("outputs") or [] if isinstance(out, dict)]
    told = [*filter(str.strip, prose)] or [_text(cell.get("source")) for cell in cells]
    return "\n\n".join(filter(str.strip, told + printed))


def _printed(output: dict[str, Any]) -> str:
    """The text that code printed or gave; of a page or of Markdown that it shows there is only a name as text."""
    data = output.get("data")
    forms = {form: _text(_get(data, f"text/{form}")) for form in ("markdown", "html", "plain")}
    if forms["html"] and not forms["markdown"] and _NAMED.fullmatch(forms["plain"]):
        return html.words_of(forms["html"])
    return _text(output.get("text")) or forms["markdown"] or forms["plain"]


def _values(text: str) -> Iterator[Any]:
    """The whole text as a value, or the value in each line; none where lines without one hold a part of the text."""
    try:
        yield json.loads(text)
        return
    except ValueError:
        pass
    parts = [(found[1], found[2], found[0]) for found in _PART.finditer(text)]
    values, size = list[Any](), sum(len(found[0]) for found in _FIELD.finditer(text))
    for kind, written, line in parts or [("", found[1], found[0]) for found in _RECORD.finditer(text)]:
        try:
            value = json.loads(written)
        except ValueError:
            continue
        values.append({"reasoning" if kind == _THOUGHT else kind: value} if kind else value)
        size += len(line)
    if 4 * size >= 3 * sum(map(len, text.splitlines())):
        yield from values


def _records(values: list[Any]) -> list[dict[str, Any]]:
    """The records of lines, or of one list."""
    if len(values) == 1 and isinstance(values[0], list):
        values = values[0]
    return [value for value in values if isinstance(value, dict)]


def _streamed(pieces: list[_Piece]) -> str:
    """The answers whose pieces these are, one after the other."""
    last = next((piece.answer for piece in pieces if piece.answer), "")
    parts = dict[tuple[str, str, str], list[str]]()
    for piece in pieces:
        last = piece.answer or last
        parts.setdefault((last, piece.choice, piece.call), []).append(piece.text)
    told = list[str]()
    for (_, _, call), texts in parts.items():
        text = "".join(texts)
        told += _given({"content": {"arguments": text}}, "assistant") if call else [text]
    return "\n\n".join(told)


def _pieces(value: dict[str, Any]) -> Iterator[_Piece]:
    """The pieces of answers that a record carries, as the common servers write them."""
    answer, choices = _name(value.get("id")), value.get("choices")
    choices = [each for each in _list(choices) if isinstance(each, dict)]
    for number, choice in enumerate(choices or [{}]):
        which, delta = _name(choice.get("index", number)), choice.get("delta", value.get("delta"))
        if text := _piece(value, choice, delta):
            yield _Piece(answer, which, "", text)
        for call in _list(_get(delta, "tool_calls")):
            if text := _text(_get(_get(call, "function"), "arguments")):
                yield _Piece(answer, which, _name(_get(call, "index") or 0), text)


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _name(value: Any) -> str:
    """What tells answers apart; an empty one where it is missing."""
    return "" if value is None else str(value)


def _piece(value: dict[str, Any], choice: dict[str, Any], delta: Any) -> str:
    """The piece of an answer in a choice."""
    if isinstance(delta, str):
        return delta if "text" in str(value.get("type", "text")) else ""
    if isinstance(delta, dict):
        return _text(delta.get("content", delta.get("text")))
    if choice:
        return "" if "message" in choice else _text(choice.get("text"))
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


def _varied(records: list[dict[str, Any]]) -> str:
    """The pieces of a stream of an unknown program: of the strings at the same place those that make a text."""
    if any(_who(record) and _said(record) for record in records):
        return ""
    places = dict[tuple[str, ...], list[str]]()
    for record in records:
        for place, text in _strings(record):
            places.setdefault(place, []).append(text)
    found = max(places.values(), key=lambda texts: sum(map(_is_piece, texts)), default=[])
    sure = len(found) >= _LEAST and _SHARE * sum(map(_is_piece, found)) >= len(found)
    return "".join(found) if sure else ""


def _is_piece(text: str) -> bool:
    """Whether a string goes on in another: it begins or ends at the end of a word, or has a script without spaces."""
    return text != text.strip(" ") or (len(text) <= _SHORT and any(character >= "\u2e80" for character in text))


def _strings(record: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], str]]:
    """The strings in a record and their places."""
    waiting: list[tuple[tuple[str, ...], Any]] = [((), record)]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, str):
            yield place, value
        elif isinstance(value, list):
            waiting += [(place, each) for each in reversed(value)]
        elif isinstance(value, dict) and not _is_unsaid(value):
            inner = [(key, each) for key, each in value.items() if not _names(key, _UNSAID)]
            waiting += [((*place, key), each) for key, each in reversed(inner)]


def _first(value: Any) -> dict[str, Any]:
    first = next(iter(_list(value)), None)
    return first if isinstance(first, dict) else {}


def _messages(values: list[Any]) -> Iterator[tuple[str, str]]:
    """The messages: who wrote each, and its words. Whoever wrote a message wrote what is in it, unless it says else."""
    waiting: list[tuple[str, Any]] = [("", value) for value in values[::-1]]
    while waiting:
        who, value = waiting.pop()
        if isinstance(value, list):
            waiting += [(who, each) for each in reversed(value)]
        if not isinstance(value, dict):
            continue
        who, inner = _who(value) or who, list[tuple[str, Any]]()
        words = "\n\n".join(filter(None, [_unpacked(_said(value), who), *_given(value, who)]))
        if who and words:
            yield who, words
            inner = [("", each) for key, each in value.items() if key not in _WHAT]
        elif not _is_unsaid(value):
            for key, each in value.items():
                by = _part_of(value, key)
                if by and (words := _unpacked(_alone(each), by)):
                    yield by, words
                else:
                    inner.append((by or who, each))
        waiting += reversed(inner)


def _said(message: dict[str, Any]) -> str:
    return next((text for key in _WHAT if (text := _text(message.get(key)))), "")


def _part_of(pair: dict[str, Any], key: str) -> str:
    """Who wrote what a record of a question and its answer has by a name."""
    asked, answered = (any(each in pair for each in names) for names in (_ASKED, _ANSWERED))
    if not ((asked and answered) or "generated_text" in pair):
        return ""
    return "assistant" if key in _ANSWERED else "user" if key in _ASKED else ""


def _alone(value: Any) -> str:
    """The words of a value in which no other says who wrote it."""
    parts = value if isinstance(value, list) else [value]
    return "" if any(isinstance(part, dict) and _who(part) for part in parts) else _text(value)


def _unpacked(words: str, who: str) -> str:
    """The words in JSON that is kept as a string, where it may be a model's; else the string."""
    if who.lower() in _PEOPLE or not _PACKED.match(words):
        return words
    try:
        return words_of(words) or words
    except DocumentRefused:
        return words


def _given(message: dict[str, Any], who: str) -> Iterator[str]:
    """The texts that a model gives to tools in a message, or in a part of one."""
    kept = message if _is_unsaid(message) else {key: message.get(key) for key in (*_WHAT, *_CALLS)}
    waiting: list[tuple[bool, Any]] = [(False, kept)] if _is_model(who) else []
    while waiting:
        to_tool, value = waiting.pop()
        value = _loaded(value) if to_tool and isinstance(value, str) else value
        if isinstance(value, str) and to_tool and len(value.split()) >= _FEW:
            yield value
        elif isinstance(value, list):
            waiting += [(to_tool, each) for each in reversed(value)]
        elif isinstance(value, dict):
            waiting += [(to_tool or key in _GIVEN, each) for key, each in reversed(value.items())]


def _loaded(text: str) -> Any:
    try:
        return json.loads(text) if text.startswith("{") else text
    except ValueError:
        return text


def _who(message: dict[str, Any]) -> str:
    for key in _BY_PEOPLE:
        if isinstance(message.get(key), bool):
            return "user" if message[key] else "assistant"
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
    if isinstance(value, dict) and not _is_unsaid(value):
        return next((text for key in ("text", "parts", "value") if (text := _text(value.get(key)))), "")
    return ""


def _is_unsaid(value: dict[str, Any]) -> bool:
    """Whether a part of a message is no words of it."""
    return any(_names(str(value.get(key, "")), _UNSAID) for key in ("type", "kind"))


def _names(name: str, parts: tuple[str, ...]) -> bool:
    return any(part in name for part in parts)

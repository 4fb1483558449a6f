"""JSON of chat programs and their logs: messages of a conversation, pieces of a streamed answer, cells of a notebook.

Where a conversation says which messages a model wrote, these are read alone, with what the model gave to tools. Where
it has messages of people alone, it is refused, since the model's may stand where nobody looks. Long texts beside the
messages or between the lines, which nobody is said to have written, are a text of their own. Of a notebook the prose is
read, where it has any, and what its code printed.
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
from ..found import LONG, SENTENCE, Member, plain, prose, size, uncoded, with_others
from . import opens

_WRITERS = frozenset((
    "assistant", "model", "ai", "bot", "gpt", "chatgpt", "claude", "gemini", "copilot", "llm", "llama", "mistral",
    "qwen", "deepseek", "grok",
))  # fmt: skip
_PEOPLE = frozenset({"user", "human", "system", "developer", "tool", "function", "prompter", "customer"})
_WHO = ("role", "from", "sender", "author", "user", "username", "src", "sender_name", "speaker")
_KIND = ("type", "source", "origin", "event", "sender_type")
"""Names of what tells a writer only where it is one of these words, or one for a model."""

_KINDS = {"user": "user", "human": "user", "request": "user", "response": "assistant"}
_BY_PEOPLE = ("isCreatedByUser", "is_user", "isUser", "fromUser", "isHuman", "is_human")
"""Names of what is true of the messages of people, and false of those of a model."""

_WHAT = ("content", "text", "value", "parts", "message", "body", "mes")
_ASKED = (
    "request", "prompt", "instruction", "question", "problem", "input", "inputs", "query", "messages", "message",
)  # fmt: skip
_ANSWERED = (
    "completion", "response", "responses", "output", "outputs", "answer", "explanation", "rationale", "solution",
    "generated_text", "assistant", "reply",
)  # fmt: skip
_READ = frozenset((*_WHAT, *_ASKED, *_ANSWERED))
"""Names of what a record says; other strings are beside it."""

_NOT_OTHERS = ("prompt", "instruct", "question", "query", "input", "request", "schema")
"""In the names of long strings that are no answer: what was asked, or how."""

_PHRASE = 3
"""Words of a string that is no name, number or date."""

_CALLS = ("tool_calls", "function_call")
_GIVEN = ("input", "arguments", "args", "parameters")
"""Where a message has calls of tools beside its words, and in a call what the model gives to the tool."""

_THOUGHTS = ("think", "reasoning")
_UNSAID = ("tool", "function", *_THOUGHTS)
"""In the names of parts of a message that are no words of it."""

_IS_THOUGHT = ("thought", "isThought")
"""Names of what is true of a part that the model thought."""

_PACKED = re.compile(r"\s*(?:[{\[]|(?:data|event): ?)")
"""Begins JSON, or a stream of it, in a string."""

_CODED = re.compile(r'"([A-Za-z0-9+/]{43,}+={0,2})"')
"""What may be text in base64, as programs keep what a server sent."""

_RECORD = re.compile(r"^.{0,80}?(\{.*\}|\[ ?\{.*\])\s*$", re.M)
"""A record in a line, or a list of them; a program may have written a date or ``data:`` before it."""

_FIELD = re.compile(r"^(?:event|id|retry)?:.*", re.M)
"""A line of a stream that has no record."""

_ESCAPE = re.compile(r'(?:\\u[0-9A-Fa-f]{4})+|\\["\\/bfnrt]')
"""Signs of JSON for a character, or for several."""

_NEXT = re.compile(r'"[^"\\]*(?:\\[\s\S]?[^"\\]*)*"?|\}\s*\{')
"""A string of JSON, or where a record ends and the next begins; it matches at any quote, or time doubles."""

_EVENT = re.compile(r"(?:(?:(?:event|id|retry|data)?:.*)(?:\r?\n|\Z))+")
_DATA = re.compile(r"^data:(.*?)\r?$", re.M)
"""An event of a stream, and a line of what it holds."""

_PART = re.compile(r"""^([0-9a-z]):(["{\[].*)$""", re.M)
"""A part of a stream that has a letter or a number for its kind, as Vercel's programs send it."""

_SAID, _THOUGHT = "0", "g"
"""The kinds of a part that the model said, and that it thought and did not say."""

_UNSPACED = "\u0e00"
"""The first character of scripts without spaces between words."""

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
    text = _CODED.sub(_uncoded, plain(data))
    values = list(_values(text))
    words, rest = _words_in(values)
    if words is None:
        return unescaped(text) if values else text
    return with_others(words, map(_whole, _long(rest)), (message for _, message in _messages(rest)))


def words_of(text: str) -> str | None:
    """The words in JSON, JSON lines, or lines of server-sent events; None where it is none that is known here.

    Raises:
        DocumentRefused: it has messages of people, and none of a model.
    """
    return _words_in(list(_values(_CODED.sub(_uncoded, text))))[0]


def _words_in(values: list[Any]) -> tuple[str | None, list[Any]]:
    """The words, and the values that may have others: all beside messages, of a stream those without a piece."""
    if cells := list(_cells(values)):
        return _of_notebook(cells), []
    pieces = [(value, list(_pieces(value))) for value in _records(values)]
    told, rest = _varied([value for value, found in pieces if not found])
    if told := _streamed([piece for _, found in pieces for piece in found]) + told:
        return _whole("\n\n".join(told)), [*rest, *(value for value in values if isinstance(value, str))]
    messages = list(_messages(values))
    told = _of_models(messages) or _unsigned(_records(values))
    return _whole("\n\n".join(filter(None, told))) or None, values


def _whole(text: str) -> str:
    """A text whose characters may have been cut into two halves, which JSON writes apart."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def unescaped(text: str) -> str:
    """JSON with the characters for which it has signs: of many languages it would show no word else."""
    return _whole(_ESCAPE.sub(lambda found: json.loads(f'"{found[0]}"'), text))


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


def _long(values: list[Any]) -> Iterator[str]:
    """The long strings in values, and phrases that are long together since records have them beside their words.

    Left out are packed strings, what people wrote or asked, and thoughts.
    """
    waiting: list[tuple[str | None, Any]] = [(None, value) for value in values[::-1]]  # no name: between the lines
    beside = dict[str, dict[str, None]]()  # by the names that records have for them
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, str):
            if name is not None and _PACKED.match(value):
                continue
            if size(value) >= LONG:
                yield value
            elif name:
                beside.setdefault(name, {})[value] = None
        elif isinstance(value, list):
            waiting += [(name, each) for each in reversed(value)]
        elif isinstance(value, dict) and _who(value).lower() not in _PEOPLE and not _is_unsaid(value):
            # A row of a table has other texts beside its words.
            row = not _who(value) and (name or _said(value) or _is_pair(value))
            inner = [(key, each) for key, each in value.items() if not (isinstance(each, str) and _asks(key))]
            waiting += [(key if row and key not in _READ else "", each) for key, each in reversed(inner)]
    for texts in beside.values():
        if 2 * sum(size(text) >= _PHRASE for text in texts) >= len(texts) and size(" ".join(texts)) >= LONG:
            yield "\n\n".join(texts)


def _asks(key: str) -> bool:
    return key in _ASKED or _names(key.lower(), _NOT_OTHERS + _UNSAID)


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
    """The whole text as a value; or the value in each line, and the prose between; or values behind each other.

    There are none where other words hold a part of the text.
    """
    try:
        yield json.loads(text)
        return
    except ValueError:
        pass
    parts = [(found[1], found[2], found[0]) for found in _PART.finditer(text)]
    values, used, fields = list[Any](), list[str](), [found[0] for found in _FIELD.finditer(text)]
    for kind, written, line in parts or [("", found[1], found[0]) for found in _RECORD.finditer(text)]:
        try:
            value = json.loads(written)
        except ValueError:
            continue
        values.append({"reasoning" if kind == _THOUGHT else kind: value} if kind else value)
        used.append(line)
    lines = re.split(r"\r?\n", text)
    if values and 4 * sum(map(len, used)) >= 3 * sum(map(len, lines)) - 3 * sum(map(len, fields)):
        told = set(map(str.strip, used + fields))
        between = prose(line for line in lines if line.strip() not in told)
        yield from [*values, between] if between else values
        return
    yield from [{_SAID: event} for event in _events(text)] or _behind_each_other(text)


def _behind_each_other(text: str) -> list[Any]:
    """The records of a text that has nothing between them, not even lines."""
    parted = _NEXT.sub(lambda found: found[0] if found[0][0] == '"' else "},{", text)
    try:
        return list(json.loads(f"[{parted}]"))
    except ValueError:
        return []


def _uncoded(found: re.Match[str]) -> str:
    """The JSON that a string in JSON is in base64, or the string of other text, of a page its words."""
    text = uncoded(found[1])
    if text is None:
        return found[0]
    try:
        json.loads(text)
    except ValueError:
        return json.dumps(html.words_of(text) if "</" in text else text)
    return text


def _events(text: str) -> list[str]:
    """The data of server-sent events without JSON, where a text is nothing else."""
    blocks = re.split(r"\r?\n\r?\n", text.strip("\r\n"))
    if not all(map(_EVENT.fullmatch, blocks)):
        return []
    events = ["\n".join(_DATA.findall(block)) for block in blocks]
    events = [event for event in events if event and event.strip() != "[DONE]"]
    bare = [event.removeprefix(" ") for event in events]  # some servers send the space that the standard leaves out
    return bare if all(event[0] in " \n" for event in events) and any(map(_is_piece, bare)) else events


def _records(values: list[Any]) -> list[dict[str, Any]]:
    """The records of lines, or of lists."""
    inner = [each for value in values for each in (value if isinstance(value, list) else [value])]
    return [value for value in inner if isinstance(value, dict)]


def _streamed(pieces: list[_Piece]) -> list[str]:
    """The answers whose pieces these are, one after the other."""
    last = next((piece.answer for piece in pieces if piece.answer), "")
    parts = dict[tuple[str, str, str], list[str]]()
    for piece in pieces:
        last = piece.answer or last
        parts.setdefault((last, piece.choice, piece.call), []).append(piece.text)
    told = list[str]()
    for (_, _, call), texts in parts.items():
        told += _of_call("".join(texts)) if call else [_joined(texts)]
    return told


def _joined(pieces: list[str]) -> str:
    """Pieces as one text.

    Raises:
        DocumentRefused: the spaces between them are lost.
    """
    text = "".join(pieces)
    spaced = 2 * sum(character < _UNSPACED for character in text) > len(text)
    if len(pieces) >= LONG and spaced and len(text.split()) == 1:
        raise DocumentRefused(said("reason-spaces"))
    return text


def _of_call(text: str) -> list[str]:
    """The texts in what a model gives to a tool."""
    return list(_given({"content": {"arguments": text}}, "assistant"))


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


def _varied(records: list[dict[str, Any]]) -> tuple[list[str], list[dict[str, Any]]]:
    """The texts in a stream of an unknown program: strings at the same place that go on in each other.

    Then the records that have none of these strings.
    """
    if any(_said(record) and not _is_model(_who(record) or "model") for record in records):
        return [], records
    places = dict[tuple[str, ...], list[str]]()
    for record in records:
        for place, text in _strings(record):
            places.setdefault(place, []).append(text)
    sure = {
        place: "".join(texts)
        for place, texts in places.items()
        if len(texts) >= _LEAST and _SHARE * sum(map(_is_piece, texts)) >= len(texts)
    }
    if not sure:
        _joined(places.get((_SAID,), []))  # events of plain text whose spaces are lost look like no pieces; refuse them
        return [], records
    told = [told for text in sure.values() for told in (_of_call(text) if text.startswith("{") else []) or [text]]
    return told, [record for record in records if not any(place in sure for place, _ in _strings(record))]


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
        elif isinstance(value, dict) and not _is_unsaid(value, _THOUGHTS):
            inner = [(key, each) for key, each in value.items() if not _names(key, _THOUGHTS)]
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
    if not _is_pair(pair):
        return ""
    return "assistant" if key in _ANSWERED else "user" if key in _ASKED else ""


def _is_pair(record: dict[str, Any]) -> bool:
    asked, answered = (any(each in record for each in names) for names in (_ASKED, _ANSWERED))
    return (asked and answered) or "generated_text" in record


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
        if isinstance(value, str) and to_tool and size(value) >= SENTENCE:
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
    if flag := _by_flag(message):
        return flag
    for key in _WHO:
        who = message.get(key)
        who = _by_flag(who) or who.get("role", who.get("name")) if isinstance(who, dict) else who
        if isinstance(who, str) and who:
            return who
    return next(filter(None, (_by_kind(message.get(key)) for key in _KIND)), "")


def _by_flag(message: dict[str, Any]) -> str:
    """Who wrote a message of which it is only said whether a person did."""
    flag = next((message[key] for key in _BY_PEOPLE if isinstance(message.get(key), bool)), None)
    return "" if flag is None else "user" if flag else "assistant"


def _by_kind(kind: Any) -> str:
    """Who wrote a message of a kind, if that says it."""
    kind = kind.lower() if isinstance(kind, str) else ""
    return kind if kind in _WRITERS else _KINDS.get(kind, "")


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
        return "".join(map(_text, value))
    if isinstance(value, dict) and not _is_unsaid(value):
        return next((text for key in ("text", "parts", "value") if (text := _text(value.get(key)))), "")
    return ""


def _is_unsaid(value: dict[str, Any], names: tuple[str, ...] = _UNSAID) -> bool:
    """Whether a part of a message is no words of it."""
    kinds = (str(value.get(key, "")) for key in ("type", "kind"))
    return any(_names(kind, names) for kind in kinds) or any(value.get(key) is True for key in _IS_THOUGHT)


def _names(name: str, parts: tuple[str, ...]) -> bool:
    return any(part in name.lower() for part in parts)

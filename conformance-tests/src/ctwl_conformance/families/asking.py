"""Asking a detector: the question as a detector reads it, the answer as the asker does (spec section 20)."""

from __future__ import annotations

from ctwl_protocol.asking import Answer, Question

from .family import DETECTOR, JSON, family, unhex


def body_of(data: JSON) -> bytes:
    """The bytes of a message: a string, whose three dots may stand for many letters; or bytes in hexadecimal."""
    if "bytes" in data:
        return unhex(data["bytes"])
    given: str = data["body"]
    return given.replace("...", data.get("letter", "a") * data.get("repeat", 3)).encode()


@family("question", asked_of=(DETECTOR,))
def _question(data: JSON) -> JSON:
    Question.from_bytes(body_of(data))
    return {"status": "ok"}


@family("answer", optional_for=(DETECTOR,))
def _answer(data: JSON) -> JSON:
    Answer.from_bytes(body_of(data), Question.from_bytes(body_of(data["question"])))
    return {"status": "ok"}

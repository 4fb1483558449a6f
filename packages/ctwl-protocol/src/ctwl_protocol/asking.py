"""Asking a detector: the question and its answer, as both sides read them (spec section 20).

Both read as hostile: bytes are bounded, nothing is converted, unknown fields are refused.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from .errors import AnswerMalformed, FormatUnknown, QuestionMalformed, QuestionTooLarge
from .numbers import NUMBERS
from .registry.entries import ProviderCode
from .schema import Part, as_tuple, describe_error, read_json

MAX_QUESTION = NUMBERS.asking.question_bytes
"""Bytes of a question."""

MAX_ANSWER = NUMBERS.asking.answer_bytes
"""Bytes of an answer, and of the head before it."""

MAX_TEXT = NUMBERS.asking.characters
"""Characters of a text that is asked about."""

QUESTION: Literal["ctwl-question/1"] = "ctwl-question/1"
ANSWER: Literal["ctwl-answer/1"] = "ctwl-answer/1"

Outcome = Literal["found", "none", "unable"]
Basis = Literal["watermark", "metadata", "retrieval", "forensics"]
_Rate = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False), AfterValidator(lambda rate: rate + 0.0)]  # no -0.0
_Place = Annotated[int, Field(ge=0, le=MAX_TEXT)]
_Pair = Annotated[tuple[_Place, _Place], as_tuple]
_Days = Annotated[int, Field(ge=0, le=NUMBERS.asking.days)]


class _Message(Part):
    """What the two sides send each other."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)  # what is written has every field

    @classmethod
    def _of(cls, value: dict[str, Any], malformed: type[AnswerMalformed | QuestionMalformed]) -> Self:
        if missing := [name for name in cls.model_fields if name not in value]:
            raise malformed(f"the field {missing[0]} is missing")
        try:
            return cls.model_validate(value)
        except ValidationError as error:
            raise malformed(f"spec section 20 says what is asked and answered: {describe_error(error)}") from error

    def to_bytes(self) -> bytes:
        """The message as JSON in UTF-8."""
        return self.model_dump_json().encode()


class Question(_Message):
    """What a detector is asked.

    Attributes:
        format: its form and version.
        provider: the provider whose detector it is, by the registry's number.
        text: what is asked about.
        level: the highest rate of false alarms at which the text is called found.
        keep_days: how many days the text may be kept.
    """

    format: Literal["ctwl-question/1"] = QUESTION
    provider: ProviderCode
    text: Annotated[str, Field(min_length=1, max_length=MAX_TEXT)]
    level: Annotated[float, Field(gt=0, lt=1)]
    keep_days: _Days = 0

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read a question.

        Raises:
            QuestionTooLarge: it, or its text, is longer than a question may be.
            FormatUnknown: it is of another form.
            QuestionMalformed: it is none.
        """
        if len(data) > MAX_QUESTION:
            raise QuestionTooLarge(f"a question has at most {MAX_QUESTION >> 10} KiB; ask about a passage")
        value = _object(data, QuestionMalformed)
        if isinstance(form := value.get("format"), str) and form != QUESTION:
            raise FormatUnknown(f"this detector knows {QUESTION} alone; ask in that form")
        if isinstance(text := value.get("text"), str) and len(text) > MAX_TEXT:
            raise QuestionTooLarge(f"a text has at most {MAX_TEXT:,} characters; ask about a passage")
        return cls._of(value, QuestionMalformed)


class Answer(_Message):
    """What a detector answers.

    Attributes:
        format: its form and version.
        provider: as in the question.
        outcome: "found", "none", or "unable" where the detector cannot tell.
        basis: what the outcome rests on; empty where it is "unable".
        error_rate: how often another text gets an outcome at least this clear; None where it is "unable".
        measured: whether that rate was measured on texts, or else computed; None where it is "unable".
        places: the passages that were found, as pairs of characters; empty where the text was judged as a whole.
        kept_days: how many days the text is kept.
        says: words for people.
    """

    format: Literal["ctwl-answer/1"] = ANSWER
    provider: ProviderCode
    outcome: Outcome
    basis: Annotated[tuple[Basis, ...], Field(max_length=len(get_args(Basis))), as_tuple]
    error_rate: _Rate | None
    measured: bool | None
    places: Annotated[tuple[_Pair, ...], Field(max_length=NUMBERS.asking.places), as_tuple] = ()
    kept_days: _Days = 0
    says: Annotated[str, Field(max_length=NUMBERS.asking.says)] = ""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        able = self.outcome != "unable"
        if len(set(self.basis)) < len(self.basis) or bool(self.basis) != able:
            raise ValueError("basis names what the outcome rests on, each once, and nothing where it is unable")
        if (self.error_rate is not None, self.measured is not None) != (able, able):
            raise ValueError("error_rate and measured are null where the outcome is unable, and nowhere else")
        if self.places and self.outcome != "found":
            raise ValueError("there are places where nothing is found")
        ends = [end for place in self.places for end in place]
        empty = any(start == end for start, end in self.places)
        if empty or any(one > other for one, other in pairwise(ends)):
            raise ValueError("places ascend, do not overlap, and are not empty")
        return self

    @classmethod
    def from_bytes(cls, data: bytes, question: Question) -> Self:
        """Read the answer to a question.

        Raises:
            AnswerMalformed: it is none, or contradicts the question.
        """
        if len(data) > MAX_ANSWER:
            raise AnswerMalformed(f"an answer has at most {MAX_ANSWER >> 10} KiB")
        answer = cls._of(_object(data, AnswerMalformed), AnswerMalformed)
        answer.check(question)
        return answer

    def check(self, question: Question) -> None:
        """Refuse (AnswerMalformed) an answer that contradicts the question."""
        found = self.error_rate is not None and self.error_rate <= question.level
        for good, why in (
            (self.provider == question.provider, "it is about another provider"),
            (self.outcome == "unable" or found == (self.outcome == "found"), "outcome, error_rate and level disagree"),
            (all(end <= len(question.text) for _, end in self.places), "a place lies outside the text"),
            (self.kept_days <= question.keep_days, "the text is kept longer than the question allows"),
        ):
            if not good:
                raise AnswerMalformed(f"the answer contradicts itself or its question: {why}")


class Refusal(BaseModel):
    """The body of a refusal. Further fields are left aside: a server before the detector may add some."""

    code: Annotated[str, Field(pattern="^[a-z-]{1,40}$")]
    message: Annotated[str, Field(max_length=NUMBERS.asking.message)] = ""


def is_token(word: str) -> bool:
    """Whether it can be sent as a bearer token: a word of printable ASCII."""
    return bool(word) and word.isascii() and word.isprintable() and " " not in word


def _object(data: bytes, malformed: type[AnswerMalformed | QuestionMalformed]) -> dict[str, Any]:
    try:
        value = read_json(data)
    except ValueError as error:
        raise malformed(f"the body is not JSON: {describe_error(error)}") from error
    if not isinstance(value, dict):
        raise malformed("the body is no JSON object")
    return value

"""A question to a detector, what became of it, and all answers about one text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from pydantic import Field

from ctwl_decoder.report import Data, Signpost
from ctwl_protocol.asking import Basis, Question


@dataclass(frozen=True)
class Query:
    """A question to one detector about a part of a text.

    Attributes:
        detector: whom to ask.
        start: where the part begins in the text.
        question: what is sent.
    """

    detector: Signpost
    start: int
    question: Question

    @property
    def end(self) -> int:
        """The character after the part."""
        return self.start + len(self.question.text)


Outcome: TypeAlias = Literal["found", "none", "unable", "refused", "no-answer"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


class Reply(Data):
    """What became of one question. Words are the detector's own and may be hostile; whoever shows them escapes them."""

    provider: int = Field(description="The provider's number.")
    name: str = Field(description="The provider's name, as the registry has it.")
    scheme: str = Field(description="What its detector looks for, as the registry has it.")
    url: str = Field(description="The address that was asked.")
    start: int = Field(description="Where the part of the text begins that was sent.")
    end: int = Field(description="The character after it.")
    outcome: Outcome = Field(
        description='The detector\'s; or "refused", where it does not answer this question; or "no-answer".'
    )
    basis: list[Basis] = Field(default=[], description="What the outcome rests on.")
    error_rate: float | None = Field(
        default=None, description="How often another text gets an outcome at least this clear, by the detector's word."
    )
    measured: bool | None = Field(default=None, description="Whether it measured that rate on texts, or computed it.")
    places: list[tuple[int, int]] = Field(default=[], description="What it found, in characters of the whole text.")
    kept_days: int | None = Field(default=None, description="How many days it says that it keeps what was sent.")
    says: str = Field(default="", description="Its words, or why there is no answer.")
    code: str | None = Field(default=None, description="Why there is no answer, for programs.")


class Answers(Data):
    """All answers about one text."""

    routed: bool = Field(description="Whether all providers were asked, because the text has no signpost.")
    level: float = Field(description="The level of each question: that of the whole, divided by their number.")
    replies: list[Reply] = Field(description="One for each question, in the order of the questions.")
    says: list[str] = Field(description="What they say together.")

    @property
    def found(self) -> bool:
        """Whether a detector found its own in the text."""
        return any(reply.outcome == "found" for reply in self.replies)

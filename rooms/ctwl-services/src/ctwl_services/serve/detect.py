"""``POST /v1/detect``: a report in the shape that newsrooms' verification plug-ins read from detectors.

It is a view of the report, and says less. A detector's ``score`` is how sure it is; so where nothing was found it is a
half, which says nothing either way: a watermark that does not show is no evidence that a person wrote the text.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from ctwl_decoder.report import Report, caveats, headline

_EITHER_WAY = 0.5


class Chunk(BaseModel):
    """A passage that carries a watermark."""

    startchar: int = Field(description="Its first character, counted from 0.")
    endchar: int = Field(description="The character after its last one.")
    score: float = Field(ge=0, le=1, description="1 less its p-value.")
    pred: Literal["watermarked"] = Field(default="watermarked", description="What was found in it.")


class Detection(BaseModel):
    """What a verification plug-in shows of a text."""

    pred: Literal["watermarked", "unknown"] = Field(
        description='"watermarked", or "unknown" where none showed or the text is too short. There is no "human".'
    )
    score: float = Field(
        ge=0,
        le=1,
        description="1 less the p-value where a watermark was found; else 0.5, which says nothing either way.",
    )
    chunks: list[Chunk] = Field(description="The passages that carry a watermark; empty where none was found.")
    says: str = Field(description="The verdict in a sentence.")
    means: list[str] = Field(description="What somebody who reads the verdict must know.")
    p_value: float = Field(description="The report's p-value.")
    profile: str = Field(description="The profile by which the text was read.")

    @classmethod
    def of(cls, report: Report) -> Detection:
        """The view of a report."""
        return cls(
            pred="watermarked" if report.detected else "unknown",
            score=1 - report.p_value if report.detected else _EITHER_WAY,
            chunks=[Chunk(startchar=each.start, endchar=each.end, score=1 - each.p_value) for each in report.spans],
            says=headline(report),
            means=caveats(report),
            p_value=report.p_value,
            profile=report.profile,
        )

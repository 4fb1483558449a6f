"""The report: what the decoder found, in numbers and in words (spec section 10, step 8)."""

from __future__ import annotations

import math
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["Report"]


class Report(BaseModel):
    """The outcome of decoding one text.

    ``code`` and the fields read from it are the best candidate whether or not it was ``detected``; they mean nothing
    where ``detected`` is false. They are None where the text has no position to score.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    detected: bool = Field(description="Whether the test passed at the level alpha.")
    code: int | None = Field(description="The best code of the whole code space.")
    provider: int | None = Field(description="The beacon's provider; None where the profile's codes are no beacons.")
    version: int | None = Field(description="The beacon's model version.")
    nonce: int | None = Field(description="The beacon's nonce.")
    p_value: float = Field(description="Probability of so high a best score by chance, corrected for all codes.")
    alpha: float = Field(description="Level of the test.")
    test: Literal["exact", "posterior"] = Field(description="Which test decided.")
    posterior: float | None = Field(
        description="The paper's posterior of the code; only where that test was asked for."
    )
    score: int = Field(description="Positions that the code hits.")
    expected: float = Field(description="The mean score of a wrong code.")
    tokens: int = Field(description="Proxy tokens of the normalised text.")
    scored: int = Field(
        description="Positions that count: past the prefix, repeats of a (context, token) pair left out."
    )
    needed: int = Field(description="Tokens below which the test will hardly pass, whatever the text.")
    profile: str = Field(description="Name of the profile.")
    profile_digest: str = Field(description="SHA-256 of the profile's canonical encoding.")

    @property
    def too_short(self) -> bool:
        """Whether hardly any text of this length could have passed."""
        return self.tokens < self.needed

    def _why(self) -> str:
        if self.posterior is not None:
            return f"posterior {self.posterior:.6f}, below the paper's 1 - 1e-5; p = {_number(self.p_value)}"
        return f"p = {_number(self.p_value)}, above {_number(self.alpha)}"

    def __str__(self) -> str:
        """The report for people: the verdict first."""
        size = f"{self.tokens} tokens, {self.scored} scored; profile {self.profile}"
        if not self.detected and self.too_short:
            return (
                f"No verdict: the text is too short. It has {self.tokens} tokens and the test needs at least "
                f"{self.needed}; 150 or more give a clear answer.\n{size}"
            )
        if not self.detected:
            return (
                f"No watermark found ({self._why()}).\n{size}\n"
                "That does not show that a person wrote the text: marks wear off, and other models carry none."
            )
        who = f"code {self.code}"
        if self.provider is not None:
            who = f"provider {self.provider}, model version {self.version} (code {self.code}, nonce {self.nonce})"
        return (
            f"Watermark found: {who}\n"
            f"p-value   {_number(self.p_value)}   how often chance would do as well, over all codes\n"
            f"hits      {self.score} of {self.scored}; a wrong code has {self.expected:.1f}\n"
            + (f"posterior {self.posterior:.6f}   (the paper's test)\n" if self.posterior is not None else "")
            + f"{size}\n"
            "Anyone can write an open beacon: it says which code the text carries, not who put it there."
        )


def _number(p: float) -> str:
    if p >= 0.001 or p == 0:
        return f"{p:.3g}"
    exponent = math.floor(math.log10(p))
    return f"{p / 10**exponent:.1f}e{exponent}"

"""The report: what the decoder found, in numbers and in words (spec section 10, step 9)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from ..text.variants import AS_GIVEN

__all__ = [
    "NO_PROOF",
    "Analysis",
    "Hop",
    "ReadRecord",
    "Report",
    "Span",
    "describe_origin",
    "describe_record",
    "evidence_level",
    "format_p_value",
]

_HOLDS = "holds: written with the provider's keys; what is copied from such a text carries it too"
_FAILS = "NOT shown: written with other keys, edited since, or too short to show it"
_UNKNOWN = "more codes follow the beacon; they are in a layout unknown here, or not clear enough to be read"
PRIVATE = "Only who has the profile's key can have written it, or can read it."
FORGEABLE = "Anyone can write open codes: they say what the text carries, not who put it there."
CONFIRMED = "Its authenticator was written with the provider's keys, or copied together with a text that was."
NO_PROOF = "That does not show that a person wrote the text: marks wear off, and other models carry none."


_HARDLY = 0.1
_FOR = {"soft": (0.3, 0.5), "count": (0.3, 0.5), "rank": (0.7, 2.0)}
_AGAINST = (0.5, 1.0)
"""Nats from which a token is shown more strongly. Scores say more against a code than for it; ranks do not."""


class Hop(BaseModel):
    """One model that a text went through, as its beacon says."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    provider: int = Field(ge=0, description="The provider's code.")
    version: int = Field(ge=0, description="That provider's model version.")
    nonce: int = Field(ge=0, description="Drawn for each text.")
    name: str | None = Field(description="The provider's name; None where the registry has none for it.")
    model: str | None = Field(description="The model version's name.")
    state: Literal["active", "retired", "revoked", "unregistered"] | None = Field(
        description="What the registry says of the provider; None under a private profile, where it says nothing."
    )

    def __str__(self) -> str:
        """The hop for people: who it is as far as the registry knows."""
        version = f"model version {self.version}" + (f" ({self.model})" if self.model else "")
        if self.name is None:
            registered = "" if self.state is None else ", not registered"
            return f"provider {self.provider}{registered}, {version}"
        state = "" if self.state == "active" else f", {self.state}"
        return f"{self.name} (provider {self.provider}{state}), {version}"


class ReadRecord(BaseModel):
    """A record, as far as it was read."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    layout: str | None = Field(
        description="The record's layout; None where it was not read, or is none that this decoder knows."
    )
    number: int | None = Field(description="The layout's number.")
    codes: list[int] = Field(description="The codes that were read, the beacon first.")
    p_values: list[float] = Field(
        description="For each of them, how often a record with another code in its place would fit the text as well."
    )
    p_value: float = Field(ge=0, le=1, description="How often some other record would fit the text as well, at most.")
    fields: dict[str, int] = Field(description="The record's fields; the beacon's alone where more was not read.")
    chain: list[Hop] = Field(description="The models that the text went through, the newest first.")
    sealed: int | None = Field(description="The sealed user; without the provider's keys a pseudonym.")
    user: int | None = Field(description="The user, where the decoder has the provider's keys and the seal opened.")
    authenticator: bool = Field(description="Whether one of its codes is one that only the provider can test.")
    authenticated: bool | None = Field(
        description="Whether the provider's authenticator holds at the level alpha; None where there is none, or the "
        "keys are not here."
    )
    authenticated_p_value: float | None = Field(description="The p-value of that test.")


class Span(BaseModel):
    """A passage that carries a code."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    start: int = Field(ge=0, description="First character of the passage, counted from 0 in the text as given.")
    end: int = Field(ge=0, description="The character after its last.")
    tokens: int = Field(ge=0, description="Proxy tokens from start to end.")
    code: int = Field(ge=0, description="The code it carries.")
    provider: int | None = Field(description="The beacon's provider; None where the profile's codes are no beacons.")
    version: int | None = Field(description="The beacon's model version.")
    nonce: int | None = Field(description="The beacon's nonce.")
    p_value: float = Field(
        ge=0, le=1, description="Probability of so high a score by chance, corrected for all codes and places searched."
    )
    record: ReadRecord | None = Field(description="The whole record; None where the profile's codes are no beacons.")


class Report(BaseModel):
    """The outcome of decoding one text.

    ``code`` and the fields read from it belong to the strongest span, and where nothing was ``detected`` to the best
    candidate, which means nothing then. They are None where the text has no position to score.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    detected: bool = Field(description="Whether the test passed at the level alpha, anywhere in the text.")
    spans: list[Span] = Field(description="The passages that carry a code, in the text's order; empty if not detected.")
    code: int | None = Field(description="The code of the strongest span, or the best candidate.")
    provider: int | None = Field(description="The beacon's provider; None where the profile's codes are no beacons.")
    version: int | None = Field(description="The beacon's model version.")
    nonce: int | None = Field(description="The beacon's nonce.")
    p_value: float = Field(
        ge=0, le=1, description="Probability of so high a score by chance, corrected for all codes and places searched."
    )
    record: ReadRecord | None = Field(description="The record of the strongest span; None where nothing was detected.")
    alpha: float = Field(description="Level of the test.")
    test: Literal["exact", "posterior"] = Field(description="Which test decided.")
    score: Literal["soft", "rank", "count"] = Field(
        description="How positions were scored that show the code: where two scores were asked, by the clearer one."
    )
    posterior: float | None = Field(
        description="The paper's posterior of the code; only where that test was asked for."
    )
    hits: int = Field(
        description="Positions, among those scored, whose token is more likely under the code than without."
    )
    expected: float = Field(description="The mean number of hits of a wrong code.")
    scored: int = Field(description="Positions that count: of the best window, past the prefix, repeats left out.")
    tokens: int = Field(description="Proxy tokens of the normalized text.")
    needed: int = Field(description="Tokens below which the test will hardly pass, whatever the text.")
    form: str = Field(
        description="Form of the text that was judged: as given, or what was done to it, such as lines joined."
    )
    searched: int = Field(description="Codes that were searched.")
    registry: str | None = Field(description="Which registry the names are from; None under a private profile.")
    profile: str = Field(description="Name of the profile.")
    profile_digest: str = Field(description="SHA-256 of the profile's canonical encoding.")

    @property
    def too_short(self) -> bool:
        """Whether hardly any text of this length could have passed, or of so many repeats, which count once."""
        return self.tokens < self.needed or 2 * self.scored < self.needed

    @property
    def shortage(self) -> str:
        """What a text lacks that is too short."""
        said = "" if self.tokens < self.needed else f", of which {self.scored} say something new,"
        return (
            f"It has {self.tokens} tokens{said} and the test needs at least {self.needed}; 150 or more, about 110 "
            "words, give a clear answer."
        )

    @property
    def short(self) -> list[str]:
        """A word of caution where a text of this length may well carry a code that cannot be told."""
        if self.tokens >= 150:
            return []
        return [f"{self.tokens} tokens are few: texts of fewer than 150 often hold too little."]

    @property
    def scored_by(self) -> str:
        """What hits were counted by, where that is not halves of the vocabulary."""
        return ", by rank" if self.score == "rank" else ""

    @property
    def forgeable(self) -> str:
        """Who else could have written what was found."""
        if not self.registry:
            return PRIVATE
        held = [span.record is not None and span.record.authenticated is True for span in self.spans]
        return CONFIRMED if held and all(held) else FORGEABLE

    def _why(self) -> str:
        if self.posterior is not None:
            return f"posterior {self.posterior:.6f}, below the paper's 1 - 1e-5; p = {format_p_value(self.p_value)}"
        return f"p = {format_p_value(self.p_value)}, above {format_p_value(self.alpha)}"

    def __str__(self) -> str:
        """The report for people: the verdict first."""
        size = f"{self.tokens} tokens, {self.scored} scored; profile {self.profile}"
        if not self.detected and self.too_short:
            return f"No verdict: the text is too short. {self.shortage}\n{size}"
        if not self.detected:
            return "\n".join([f"No watermark found ({self._why()}).", size, *self.short, NO_PROOF])
        if len(self.spans) == 1:
            lines = [
                f"Watermark found: {describe_origin(self.spans[0])}",
                f"where     characters {self.spans[0].start} to {self.spans[0].end}",
                *(f"{label:<9} {text}" for label, text in describe_record(self.spans[0].record)),
            ]
        else:
            lines = [f"Watermark found in {len(self.spans)} passages"]
            for span in self.spans:
                lines.append(
                    f"characters {span.start} to {span.end}: {describe_origin(span)}, p-value {format_p_value(span.p_value)}"
                )
                lines += [f"    {label:<9} {text}" for label, text in describe_record(span.record)]
        whose = "" if len(self.spans) == 1 else ", the clearest passage's"
        lines += [
            f"p-value   {format_p_value(self.p_value)}{whose}   how often chance would do as well, over all codes and places "
            "searched",
            f"hits      {self.hits} of {self.scored}{self.scored_by}{whose}; a wrong code has {self.expected:.1f}",
        ]
        if self.posterior is not None:
            lines.append(f"posterior {self.posterior:.6f}   (the paper's test)")
        if self.form != AS_GIVEN:
            lines.append(f"read      {self.form}")
        if self.registry:
            lines.append(f"registry  {self.registry}")
        lines += [size, self.forgeable]
        return "\n".join(lines)


@dataclass(frozen=True)
class Analysis:
    """A report with the evidence behind it.

    Attributes:
        text: the text as given.
        report: the report.
        starts: int64 (tokens + 1,), where each proxy token, and the end, stands in the text.
        contributions: float64 (tokens,), log-likelihood ratio of each token in nats: for the code of the span it lies in, else
            for the report's code; NaN for the first ``L_prefix`` tokens, which are not judged.
    """

    text: str
    report: Report
    starts: NDArray[np.int64]
    contributions: NDArray[np.float64]

    def pieces(self) -> Iterator[tuple[str, float]]:
        """The text's tokens as they stand in it, white space included, each with what it is worth."""
        if not len(self.contributions):
            return
        ends = [*self.starts[1:-1].tolist(), len(self.text)]
        for start, end, worth in zip([0, *self.starts[1:-1].tolist()], ends, self.contributions.tolist(), strict=True):
            yield self.text[start:end], worth

    def shown(self, most: int, around: int = 24) -> NDArray[np.bool_]:
        """Which tokens a report of limited length shows: bool (tokens,), at most ``most`` of them.

        All of a short text; of a longer one what was found, with so many tokens ``around``, or else its beginning.
        """
        tokens = len(self.contributions)
        if tokens <= most:
            return np.ones(tokens, dtype=np.bool_)
        found = np.zeros(tokens, dtype=np.bool_)
        for span in self.report.spans:
            first = int(np.searchsorted(self.starts[1:], span.start, side="right"))
            last = int(np.searchsorted(self.starts[:-1], span.end, side="left"))
            found[max(first - around, 0) : last + around] = True
        if not self.report.spans:
            found[:around] = True
        return np.asarray(found & (found.cumsum() <= most))


def describe_origin(span: Span) -> str:
    """Where a span comes from, in words."""
    return str(span.record.chain[0]) if span.record else f"code {span.code}"


def describe_record(record: ReadRecord | None) -> list[tuple[str, str]]:
    """What else a record says: pairs of a label and a text for people."""
    if record is None:
        return []
    if record.layout is None:
        return [("record", _UNKNOWN)]
    told = {"provider", "version"} | {f"{name}_{i}" for name in ("provider", "version", "nonce") for i in range(1, 4)}
    fields = [f"{name.replace('_', ' ')} {value}" for name, value in record.fields.items() if name not in told]
    rows = [("record", ", ".join([record.layout, *fields]))]
    rows += [("before", str(hop)) for hop in record.chain[1:]]
    if record.sealed is not None:
        opened = "sealed; only the provider can open it" if record.user is None else f"{record.user}, opened"
        rows.append(("user", opened))
    if record.authenticated is not None and record.authenticated_p_value is not None:
        says = _HOLDS if record.authenticated else _FAILS
        rows.append(("authentic", f"{says} (p = {format_p_value(record.authenticated_p_value)})"))
    elif record.authenticator:
        rows.append(("authentic", "only the provider can test it"))
    if len(record.codes) > 1:
        rows.append(("certain", f"p = {format_p_value(record.p_value)}, how often another record would fit as well"))
    return rows


def evidence_level(worth: float, score: str) -> int:
    """How strongly a token's evidence in nats is shown: 1 to 3 for the code, -1 to -3 against it, 0 for hardly any.

    A token that was not judged (NaN) shows nothing.
    """
    if math.isnan(worth) or abs(worth) < _HARDLY:
        return 0
    if worth > 0:
        return 1 + sum(worth >= step for step in _FOR[score])
    return -1 - sum(-worth >= step for step in _AGAINST)


def format_p_value(p: float) -> str:
    """A p-value for people: three digits, or two and a power of ten."""
    if p >= 0.001 or p == 0:
        return f"{p:.3g}"
    digits, exponent = f"{p:.1e}".split("e")
    return f"{digits}e{int(exponent)}"

"""The report as data: what the decoder found (spec section 10, step 9)."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from ..search.candidates import HeldBy
from ..text.variants import HiddenKind

Outcome: TypeAlias = Literal["found", "none", "too-short"]

ENOUGH_TOKENS = 150
"""Tokens below which a code often does not show (``evaluation/reading/lengths.py``)."""

ENOUGH_WORDS = 110
"""About as many words of English."""

CHAT_TOKENS = 400
"""Tokens from which a code mostly shows in articles that a chat gives, by larger models too
(``evaluation/reading/models.py``)."""


class Data(BaseModel):
    """What does not change, and has no other fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Hop(Data):
    """One model that a text went through, as its beacon says."""

    provider: int = Field(ge=0, description="The provider's number.")
    version: int = Field(ge=0, description="The number of the provider's model version.")
    nonce: int = Field(ge=0, description="Drawn for each text.")
    name: str | None = Field(description="The provider's name; None where the registry has none for it.")
    model: str | None = Field(description="The model version's name.")
    state: Literal["active", "retired", "revoked", "unregistered"] | None = Field(
        description="What the registry says of the provider; None under a private profile, where it says nothing."
    )


class ReadRecord(Data):
    """A record, as far as it was read."""

    layout: str | None = Field(
        description="The record's layout; None where it was not read, or this decoder does not know it."
    )
    number: int | None = Field(description="The layout's number.")
    codes: list[int] = Field(description="The codes that were read, the beacon first.")
    p_values: list[float] = Field(
        description="For each code, how often a record with another code in its place would fit the text as well."
    )
    p_value: float = Field(ge=0, le=1, description="How often some other record would fit the text as well, at most.")
    fields: dict[str, int] = Field(description="The record's fields; the beacon's alone where no more was read.")
    chain: list[Hop] = Field(description="The models that the text went through, the newest first.")
    sealed: int | None = Field(description="The sealed user; without the provider's keys a pseudonym.")
    user: int | None = Field(
        description="The user, where the decoder has the provider's keys and the seal opened. By a wrong key or in a "
        "wrong epoch one seal in 256 opens."
    )
    epoch: int | None = Field(default=None, description="The key epoch in which the seal opened.")
    authenticator: bool = Field(description="Whether the record has a code that only the provider can test.")
    authenticated: bool | None = Field(
        description="Whether the provider's authenticator holds at the level alpha; None where there is none, or the "
        "keys are not here."
    )
    authenticated_p_value: float | None = Field(description="The p-value of that test.")


class _Code(Data):
    code: int = Field(ge=0, description="The code.")
    provider: int | None = Field(description="The beacon's provider; None where the profile's codes are not beacons.")
    version: int | None = Field(description="The beacon's model version.")
    nonce: int | None = Field(description="The beacon's nonce.")
    p_value: float = Field(
        ge=0,
        le=1,
        description="Probability that chance gives so high a score, corrected for all codes and places searched.",
    )


class Span(_Code):
    """A passage that carries a code."""

    start: int = Field(ge=0, description="First character of the passage, counted from 0 in the text as given.")
    end: int = Field(ge=0, description="The character after the last one.")
    tokens: int = Field(ge=0, description="Proxy tokens from start to end.")
    record: ReadRecord | None = Field(description="The whole record; None where the profile's codes are not beacons.")


class Likeliest(_Code):
    """The best of all codes where nothing was found. It means nothing: some code is always the best."""


class Signpost(Data):
    """A provider's own detector, as the registry names it. It points, and proves nothing."""

    provider: int = Field(ge=0, description="The provider's number.")
    name: str = Field(description="The provider's name.")
    scheme: str = Field(description="The watermark that the detector reads.")
    url: str = Field(description="The detector's address, which nobody asked.")
    says: str = Field(description="The same in a sentence.")


class BetterReader(Data):
    """The open language model that reads a provider's texts best, as the registry names it. Nobody fetched it."""

    provider: int = Field(ge=0, description="The provider's number.")
    name: str = Field(description="The provider's name.")
    reading_model: str = Field(description="The model's name on a hub.")
    says: str = Field(description="How to read by it, in a sentence.")


class OtherMark(Data):
    """A public mark of another kind in a text: invisible characters. It is named, and no more."""

    scheme: Literal["microsoft", "c2pa", "variation-selectors", "tags", "zero-width"] = Field(
        description="What the characters are."
    )
    start: int = Field(ge=0, description="The first character of the first one, counted from 0 in the text as given.")
    end: int = Field(ge=0, description="The character after its last one.")
    count: int = Field(ge=1, description="How many of them the text has.")
    says: str = Field(description="What they claim, in sentences.")


class Hidden(Data):
    """Characters of a text that nobody sees, or takes for others: a sign of somebody's hand, and not of whose."""

    kind: HiddenKind = Field(
        description='"invisible"; "accents" that no language puts there; "look-alikes", letters that look like Latin '
        'ones; or "turned", what turns the order of letters around.'
    )
    start: int = Field(ge=0, description="The first one, counted from 0 in the text as given.")
    point: str = Field(description='Its code point, as "U+3164".')
    count: int = Field(ge=1, description="How many of them the text has.")
    says: str = Field(description="The same in sentences.")


class HeldBack(Data):
    """Why the best code was not found: the rule that it did not pass, and what may show more."""

    rule: HeldBy = Field(
        description='"level": the p-value is above the level. "few-contexts": by ranks alone the code stands on so few '
        "different contexts that the p-value must be at most the level's square, over all codes. "
        '"every-code": by ranks alone the p-value must be at most the level over all codes. '
        '"e-value": a text that the language model expects fits the code as well, though no other code does.'
    )
    needed: float | None = Field(
        description="The largest p-value that would have passed the rule; None where it asks for something else."
    )
    contexts: int = Field(description="The distinct contexts that the code stands on.")
    says: str = Field(description="Why, in a sentence.")
    advice: str = Field(description="What may show more.")


class ProfileRead(Data):
    """How a text was read by one of the profiles that were tried. The p-values pay for all of these."""

    name: str = Field(description="The profile's name.")
    read: Literal["light", "whole", "no"] = Field(
        description='How far, as for the text; "no" where another profile was conclusive before, or where only a '
        "language model was to read it, and that is missing."
    )
    outcome: Outcome | None = Field(description="What this profile alone showed; None where it was not read.")
    p_value: float | None = Field(description="The p-value by this profile; None where it was not read.")
    missing: str | None = Field(
        description="What is missing, where the profile's language model was needed and is not here; else None."
    )
    fetch: str | None = Field(description="The command that gets it, where there is one.")


class Report(Data):
    """The outcome of decoding one text.

    ``code`` and the fields read from it belong to the clearest span. They are None where nothing was found; the best of
    all codes is then ``likeliest``.
    """

    outcome: Outcome = Field(
        description='"found"; "none", where the test did not pass; or "too-short", where hardly any text of this '
        "length can pass."
    )
    detected: bool = Field(description='Whether the outcome is "found".')
    spans: list[Span] = Field(description="The passages that carry a code, in the text's order; empty if not detected.")
    code: int | None = Field(description="The code of the clearest span; None where nothing was found.")
    provider: int | None = Field(
        description="Its provider; None where nothing was found, or the profile's codes are not beacons."
    )
    version: int | None = Field(description="Its model version, as for the provider.")
    nonce: int | None = Field(description="Its nonce, as for the provider.")
    p_value: float = Field(
        ge=0,
        le=1,
        description="Probability that chance gives so high a score, corrected for all codes and places searched: of "
        "the clearest span, or of the likeliest code.",
    )
    record: ReadRecord | None = Field(description="The record of the clearest span; None where nothing was found.")
    signposts: list[Signpost] = Field(
        default=[],
        description="Where to ask further: the detectors that the registry names for the providers found. They point, "
        "and prove nothing.",
    )
    better_reader: BetterReader | None = Field(
        default=None,
        description='Where the outcome is "none": the model by which the text would show more if it is of the provider '
        "that was asked for, or that it suits a little, as the registry says; None where that model read it.",
    )
    other_marks: list[OtherMark] = Field(
        default=[],
        description="Public marks of other kinds, such as a C2PA manifest: they are there, and anyone can write them. "
        "The text is read without them.",
    )
    hidden: list[Hidden] = Field(
        default=[],
        description="Characters that nobody sees, or takes for others, where they are more than chance puts there. "
        "The text was read without them as well.",
    )
    held_back: HeldBack | None = Field(
        default=None, description="Where nothing was found, why; None where something was, or the text is too short."
    )
    likeliest: Likeliest | None = Field(
        description="Where nothing was found, the best of all codes searched. It means nothing: some code is always "
        "the best. None where the text has no position to score."
    )
    alpha: float = Field(description="Level of the test.")
    read: Literal["light", "whole"] = Field(
        description='How far the text was read: "light", by the ranks of its tokens alone; or "whole", by a language '
        "model."
    )
    reading_model: str | None = Field(
        description="The language model that the reader named to weigh the text; None for the profile's proxy LM, or "
        "where none was asked."
    )
    score: Literal["half", "race", "light-soft", "light-rank"] = Field(
        description="The score that shows the code; where several were asked for, the clearest one."
    )
    hits: int = Field(
        description="Scored positions whose token is more likely under the code than without. The test does not count "
        "them: it sums how much each token says, and the p-value pays for the best of all codes searched, which always "
        "has more hits than one wrong code."
    )
    expected: float = Field(description="The mean number of hits of one wrong code that nobody chose.")
    scored: int = Field(
        description="Positions that count: positions of the best window that carry a code which was read, after the "
        "prefix, without repeats."
    )
    tokens: int = Field(description="Proxy tokens of the normalized text.")
    needed: int = Field(description="Tokens below which hardly any text passes the test.")
    form: str = Field(
        description='The variant of the text that was judged: "as given", or what was done to it: "lines joined".'
    )
    searched: int = Field(description="Codes that were searched.")
    registry: str | None = Field(description="Which registry the names are from; None under a private profile.")
    profile: str = Field(description="Name of the profile; of several, of the one that shows the most.")
    profiles: list[ProfileRead] = Field(
        default=[], description="The profiles that were tried; empty where one decoder was asked by itself."
    )
    profile_digest: str = Field(description="SHA-256 of the profile's canonical encoding.")
    arithmetic: str = Field(
        description='What the language model computed in; "float32" is the reference, "integer" where none was asked.'
    )

    @property
    def authenticated(self) -> bool:
        """Whether every span was written with its provider's keys."""
        return bool(self.spans) and all(span.record is not None and span.record.authenticated for span in self.spans)

    def __str__(self) -> str:
        """The outcome in a line; :func:`ctwl_decoder.describe` says all of it."""
        carries = "" if self.provider is None else f", provider {self.provider}, model version {self.version}"
        code = "" if self.code is None else f" code {self.code}{carries}:"
        return f"{self.outcome}:{code} p = {self.p_value:.2g}, {self.tokens} tokens, {self.profile}"


class BodyReport(Data):
    """The outcome of reading several texts of one origin together. It says nothing about any of them alone."""

    outcome: Literal["found", "none"] = Field(description='"found", or "none", where the test did not pass.')
    detected: bool = Field(description='Whether the outcome is "found".')
    provider: int | None = Field(description="The provider that the texts name; None where nothing was found.")
    version: int | None = Field(description="Its model version, as for the provider.")
    origin: Hop | None = Field(description="The same with their names, and the first text's nonce.")
    nonces: list[int] | None = Field(description="The nonce of each text, in order; None where nothing was found.")
    p_value: float = Field(
        ge=0,
        le=1,
        description="Probability that chance gives so high a score to all texts together, corrected for all providers, "
        "model versions and nonces searched.",
    )
    held_back: HeldBack | None = Field(default=None, description="Where nothing was found, why, as for one text.")
    alpha: float = Field(description="Level of the test.")
    read: Literal["light", "whole"] = Field(description="How far the texts were read, as for one text.")
    score: Literal["half", "race", "light-soft", "light-rank"] = Field(description="The score that shows it best.")
    texts: int = Field(description="Texts that were read together.")
    tokens: int = Field(description="Proxy tokens of all texts.")
    searched: int = Field(description="Pairs of a provider and a model version that were searched.")
    registry: str | None = Field(description="Which registry the names are from; None under a private profile.")
    profile: str = Field(description="Name of the profile; of several, of the one that shows the most.")
    profiles: list[ProfileRead] = Field(default=[], description="The profiles that were tried, as for one text.")
    profile_digest: str = Field(description="SHA-256 of the profile's canonical encoding.")

"""The report as data: what the decoder found (spec section 10, step 9)."""

from __future__ import annotations

import inspect
import re
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from ..search.candidates import HeldBy
from ..text.variants import HiddenKind

Outcome: TypeAlias = Literal["found", "none", "too-short"]

_Count: TypeAlias = Annotated[int, Field(ge=0)]
_Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]
_ATTRIBUTE = re.compile(r"^    (\w+): (.+(?:\n {8}.+)*)", re.M)


class Data(BaseModel):
    """What does not change, and has no other fields. The JSON schema says of each what the docstring says."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The schema, with the attributes of the docstrings as descriptions."""
        schema = handler.resolve_ref_schema(handler(core))
        schema["description"] = inspect.cleandoc(cls.__doc__ or "").partition("\n\nAttributes:")[0]
        for base in cls.__mro__[cls.__mro__.index(Data) - 1 :: -1]:
            for name, words in _ATTRIBUTE.findall(inspect.cleandoc(base.__doc__ or "")):
                schema["properties"][name]["description"] = " ".join(words.split())
        return schema


class Hop(Data):
    """One model that a text went through, as its beacon says.

    Attributes:
        provider: The provider's number.
        version: The number of the provider's model version.
        nonce: Drawn for each text.
        name: The provider's name; None where the registry has none for it.
        model: The model version's name.
        state: What the registry says of the provider; None under a private profile, where it says nothing.
    """

    provider: _Count
    version: _Count
    nonce: _Count
    name: str | None
    model: str | None
    state: Literal["active", "retired", "revoked", "unregistered"] | None


class ReadRecord(Data):
    """A record, as far as it was read.

    Attributes:
        layout: The record's layout; None where it was not read, or this decoder does not know it.
        number: The layout's number.
        codes: The codes that were read, the beacon first.
        p_values: For each code, how often a record with another code in its place would fit the text as well.
        p_value: How often some other record would fit the text as well, at most.
        fields: The record's fields; the beacon's alone where no more was read.
        chain: The models that the text went through, the newest first.
        sealed: The sealed user; without the provider's keys a pseudonym.
        user: The user, where the decoder has the provider's keys and the seal opened. By a wrong key or in a wrong
            epoch one seal in 256 opens.
        epoch: The key epoch in which the seal opened.
        authenticator: Whether the record has a code that only the provider can test.
        authenticated: Whether the provider's authenticator holds at the level alpha; None where there is none, or the
            keys are not here.
        authenticated_p_value: The p-value of that test.
    """

    layout: str | None
    number: int | None
    codes: list[int]
    p_values: list[float]
    p_value: _Share
    fields: dict[str, int]
    chain: list[Hop]
    sealed: int | None
    user: int | None
    epoch: int | None = None
    authenticator: bool
    authenticated: bool | None
    authenticated_p_value: float | None


class _Code(Data):
    """A code.

    Attributes:
        code: The code.
        provider: The beacon's provider; None where the profile's codes are not beacons.
        version: The beacon's model version.
        nonce: The beacon's nonce.
        p_value: Probability that chance gives so high a score, corrected for all codes and places searched.
    """

    code: _Count
    provider: int | None
    version: int | None
    nonce: int | None
    p_value: _Share


class Span(_Code):
    """A passage that carries a code.

    Attributes:
        start: First character of the passage, counted from 0 in the text as given.
        end: The character after the last one.
        tokens: Proxy tokens from start to end.
        record: The whole record; None where the profile's codes are not beacons.
    """

    start: _Count
    end: _Count
    tokens: _Count
    record: ReadRecord | None


class Likeliest(_Code):
    """The best of all codes where nothing was found. It means nothing: some code is always the best."""


class Signpost(Data):
    """A provider's own detector, as the registry names it. It points, and proves nothing.

    Attributes:
        provider: The provider's number.
        name: The provider's name.
        scheme: The watermark that the detector reads.
        url: The detector's address, which nobody asked.
        says: The same in a sentence.
    """

    provider: _Count
    name: str
    scheme: str
    url: str
    says: str


class BetterReader(Data):
    """The open language model that reads a provider's texts best, as the registry names it. Nobody fetched it.

    Attributes:
        provider: The provider's number.
        name: The provider's name.
        reading_model: The model's name on a hub.
        says: How to read by it, in a sentence.
    """

    provider: _Count
    name: str
    reading_model: str
    says: str


class OtherMark(Data):
    """A public mark of another kind in a text: invisible characters. It is named, and no more.

    Attributes:
        scheme: What the characters are.
        start: The first character of the first one, counted from 0 in the text as given.
        end: The character after its last one.
        count: How many of them the text has.
        says: What they claim, in sentences.
    """

    scheme: Literal["microsoft", "c2pa", "variation-selectors", "tags", "zero-width"]
    start: _Count
    end: _Count
    count: Annotated[int, Field(ge=1)]
    says: str


class Hidden(Data):
    """Characters of a text that nobody sees, or takes for others: a sign of somebody's hand, and not of whose.

    Attributes:
        kind: "invisible"; "accents" that no language puts there; "look-alikes", letters that look like Latin ones;
            "turned", what turns the order of letters or words around; "apart", narrow spaces within words; or
            "signs", punctuation of other scripts behind words in Latin letters.
        start: The first one, counted from 0 in the text as given.
        point: Its code point, as "U+3164".
        count: How many of them the text has.
        says: The same in sentences.
    """

    kind: HiddenKind
    start: _Count
    point: str
    count: Annotated[int, Field(ge=1)]
    says: str


class HeldBack(Data):
    """Why the best code was not found: the rule that it did not pass, and what may show more.

    Attributes:
        rule: "level": the p-value is above the level. "few-contexts": by ranks alone the code stands on so few
            different contexts that the p-value must be at most the level's square, over all codes. "every-code": by
            ranks alone the p-value must be at most the level over all codes. "e-value": a text that the language model
            expects fits the code as well, though no other code does.
        needed: The largest p-value that would have passed the rule; None where it asks for something else.
        contexts: The distinct contexts that the code stands on.
        says: Why, in a sentence.
        advice: What may show more.
    """

    rule: HeldBy
    needed: float | None
    contexts: int
    says: str
    advice: str


class ProfileRead(Data):
    """How a text was read by one of the profiles that were tried. The p-values pay for all of these.

    Attributes:
        name: The profile's name.
        read: How far, as for the text; "no" where another profile was conclusive before, or where only a language model
            was to read it, and that is missing.
        outcome: What this profile alone showed; None where it was not read.
        p_value: The p-value by this profile; None where it was not read.
        missing: What is missing, where the profile's language model was needed and is not here; else None.
        fetch: The command that gets it, where there is one.
    """

    name: str
    read: Literal["light", "whole", "no"]
    outcome: Outcome | None
    p_value: float | None
    missing: str | None
    fetch: str | None


class Result(Data):
    """What one text shows, or several texts of one origin that were read together.

    Attributes:
        outcome: "found"; "none", where the test did not pass; or "too-short", where hardly any text of this length can
            pass, which is said of one text alone.
        detected: Whether the outcome is "found".
        provider: The provider of the clearest span, or the one that all texts name; None where nothing was found, or
            the profile's codes are not beacons.
        version: Its model version, as for the provider.
        p_value: Probability that chance gives so high a score, corrected for all that was searched: of the clearest
            span, or of the likeliest code; or to all texts together.
        held_back: Where nothing was found, why; None where something was, or the text is too short.
        alpha: Level of the test.
        read: How far it was read: "light", by the ranks of the tokens alone; or "whole", by a language model.
        score: The score that shows the code; where several were asked for, the clearest one.
        tokens: Proxy tokens of the normalized text, or of all texts.
        searched: Codes that were searched; for several texts, pairs of a provider and a model version.
        registry: Which registry the names are from; None under a private profile.
        profile: Name of the profile; of several, of the one that shows the most.
        profiles: The profiles that were tried; empty where one decoder was asked by itself.
        profile_digest: SHA-256 of the profile's canonical encoding.
    """

    outcome: Outcome
    detected: bool
    provider: int | None
    version: int | None
    p_value: _Share
    held_back: HeldBack | None = None
    alpha: float
    read: Literal["light", "whole"]
    score: Literal["half", "race", "light-soft", "light-rank"]
    tokens: int
    searched: int
    registry: str | None
    profile: str
    profiles: list[ProfileRead] = []
    profile_digest: str


class Report(Result):
    """The outcome of decoding one text.

    ``code`` and the fields read from it belong to the clearest span. They are None where nothing was found; the best of
    all codes is then ``likeliest``.

    Attributes:
        spans: The passages that carry a code, in the text's order; empty if not detected.
        code: The code of the clearest span; None where nothing was found.
        nonce: Its nonce, as for the provider.
        record: The record of the clearest span; None where nothing was found.
        signposts: Where to ask further: the detectors that the registry names for the providers found. They point, and
            prove nothing.
        better_reader: Where the outcome is "none": the model by which the text would show more if it is of the provider
            that was asked for, or that it suits a little, as the registry says; None where that model read it.
        other_marks: Public marks of other kinds, such as a C2PA manifest: they are there, and anyone can write them.
            The text is read without them.
        hidden: Characters that nobody sees, or takes for others, where they are more than chance puts there. The text
            was read without them as well.
        likeliest: Where nothing was found, the best of all codes searched. It means nothing: some code is always the
            best. None where the text has no position to score.
        reading_model: The language model that the reader named to weigh the text; None for the profile's proxy LM, or
            where none was asked.
        hits: Scored positions whose token is more likely under the code than without. The test does not count them: it
            sums how much each token says, and the p-value pays for the best of all codes searched, which always has
            more hits than one wrong code.
        expected: The mean number of hits of one wrong code that nobody chose.
        scored: Positions that count: positions of the best window that carry a code which was read, after the prefix,
            without repeats.
        needed: Tokens below which hardly any text passes the test.
        form: The variant of the text that was judged: "as given", or what was done to it: "lines joined".
        arithmetic: What the language model computed in; "float32" is the reference, "integer" where none was asked.
    """

    spans: list[Span]
    code: int | None
    nonce: int | None
    record: ReadRecord | None
    signposts: list[Signpost] = []
    better_reader: BetterReader | None = None
    other_marks: list[OtherMark] = []
    hidden: list[Hidden] = []
    likeliest: Likeliest | None
    reading_model: str | None
    hits: int
    expected: float
    scored: int
    needed: int
    form: str
    arithmetic: str

    @property
    def authenticated(self) -> bool:
        """Whether every span was written with its provider's keys."""
        return bool(self.spans) and all(span.record is not None and span.record.authenticated for span in self.spans)

    def __str__(self) -> str:
        """The outcome in a line; :func:`ctwl_decoder.describe` says all of it."""
        carries = "" if self.provider is None else f", provider {self.provider}, model version {self.version}"
        code = "" if self.code is None else f" code {self.code}{carries}:"
        return f"{self.outcome}:{code} p = {self.p_value:.2g}, {self.tokens} tokens, {self.profile}"


class BodyReport(Result):
    """The outcome of reading several texts of one origin together. It says nothing about any of them alone.

    Attributes:
        origin: The provider and its model version with their names, and the first text's nonce.
        nonces: The nonce of each text, in order; None where nothing was found.
        texts: Texts that were read together.
    """

    origin: Hop | None
    nonces: list[int] | None
    texts: int

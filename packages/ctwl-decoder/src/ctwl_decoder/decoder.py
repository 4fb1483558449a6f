"""Decoding, in the steps of spec section 10: text -> windows -> evidence -> units -> candidates -> spans -> report."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from ctwl_protocol import Profile
from ctwl_protocol.profile import STANDARD
from ctwl_protocol.proxy import Proxy, open_proxy
from ctwl_protocol.records.beacon import BEACON_BITS
from ctwl_protocol.records.layouts import Layout
from ctwl_protocol.records.sealing import ProviderKeys
from ctwl_protocol.registry import Trusted, load_trusted
from ctwl_protocol.text.positions import Positions, positions

from .errors import InputTooLarge, NotText
from .options import ALPHA, MAX_CHARACTERS, MAX_TOKENS, ScoreName, beacon_codes, check_alpha, codes_of
from .report.interpretation import Interpreter
from .report.model import Analysis, Report, Span
from .search.posterior import THRESHOLD, posterior_windows
from .search.records import NO_CODES, RecordReader
from .search.spans import Candidate, CodeSet, PositionSpan, ScoredText, candidates, merge
from .statistics.code_scores import code_space
from .statistics.evidence import Evidence, Observe, ScoredPositions
from .statistics.evidence import observe as observe_alone
from .statistics.scores import NAT, Score, position_scores
from .text.alignment import AlignedText
from .text.variants import variants_of

__all__ = ["ALPHA", "MAX_CHARACTERS", "MAX_TOKENS", "SHARES", "Decoder", "decode"]

SHARES = {Score.SOFT: 31 / 32, Score.RANK: 1 / 32}
"""The scores by which a text is read side by side, each with its share of the level. What ``gumbel`` wrote is so clear
that a small share is enough, and other texts lose next to nothing."""

_RANK_BITS = 4
"""What ranks say of a position, in bits; on average more in few texts only."""

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class _Form:
    """One form of a text, cut into tokens and positions.

    Attributes:
        name: what was done to the text.
        starts: int64 (tokens + 1,), where each token, and the end, stands in the text as given.
        cut: its positions.
        share: the share of the level that its tests may use.
    """

    name: str
    starts: NDArray[np.int64]
    cut: Positions
    share: float


@dataclass(frozen=True)
class _Other:
    """Another form of a text: where its windows are those of the first, their evidence is there already.

    Attributes:
        form: the form.
        known: the first form's evidence.
        places: int64 (positions,), which row of it serves each position, those of ``new`` counted on behind it.
        new: the positions that are only in this form.
    """

    form: _Form
    known: Evidence
    places: NDArray[np.int64]
    new: Positions

    @classmethod
    def of(cls, form: _Form, first: _Form, known: Evidence) -> _Other:
        """Compare with the first form."""
        rows = {row: i for i, row in enumerate(_rows(first.cut))}
        places = np.array([rows.get(row, -1) for row in _rows(form.cut)], dtype=np.int64)
        new = np.flatnonzero(places < 0)
        places[new] = len(known) + np.arange(len(new))
        return cls(form, known, places, Positions(*(column[new] for column in form.cut)))

    def evidence(self, fresh: Evidence) -> Evidence:
        """Of the form's positions, given that of the new ones."""
        return Evidence.joined([self.known, fresh])[self.places]


@dataclass(frozen=True)
class _Outcome:
    """What the tests of one form say.

    Attributes:
        form: the form.
        marks: by the score of a code that was found, what shows where it is.
        best: the likeliest code.
        found: the spans.
        posterior: by the paper's test, that of the best code.
    """

    form: _Form
    marks: Mapping[Score, ScoredPositions]
    best: Candidate
    found: list[PositionSpan]
    posterior: float | None

    @property
    def order(self) -> tuple[bool, tuple[float, float]]:
        return not self.found, self.best.order


class Decoder:
    """A profile's decoder, with its proxy loaded once for many texts.

    Attributes:
        proxy: the proxy runner.
        profile: its profile.
    """

    def __init__(
        self,
        proxy: Proxy,
        observe: Observe | None = None,
        *,
        layouts: Sequence[Layout] | None = None,
        keys: ProviderKeys | None = None,
        epochs: Iterable[int] = (0,),
        registry: Trusted | None = None,
    ) -> None:
        """Take over a proxy.

        Args:
            proxy: the proxy.
            observe: shares the proxy with others, see :data:`ctwl_decoder.statistics.evidence.Observe`.
            layouts: of records; text is searched for all of them. None for the specification's and the registered ones.
            keys: the provider's, where it is the provider who reads: they open users and test authenticators.
            epochs: key epochs in which a user may have been sealed.
            registry: where providers' names and registered layouts are from; by default what this machine trusts.

        Raises:
            RegistryError: see :func:`ctwl_protocol.registry.load_trusted`.
        """
        self.proxy = proxy
        self.profile = proxy.profile
        registry = registry or load_trusted()
        registered = _registered(self.profile, registry)
        self._reader = RecordReader(self.profile, layouts or registry.registry.known_layouts(), keys, registered)
        self._interpreter = Interpreter(self.profile, registry, keys, tuple(epochs))
        self._observe = observe or partial(observe_alone, proxy)

    @classmethod
    def open(
        cls,
        profile: str | Path | Profile = STANDARD,
        *,
        proxy_path: str | Path | None = None,
        device: str | torch.device = "auto",
        reference: bool = False,
        layouts: Sequence[Layout] | None = None,
        keys: ProviderKeys | None = None,
        epochs: Iterable[int] = (0,),
        registry: Trusted | None = None,
    ) -> Decoder:
        """Load a profile's proxy.

        Args:
            profile: a profile, its name, or its file.
            proxy_path: where the proxy's files lie; else the cache, then the profile's source.
            device: a torch device; "auto" takes CUDA where there is one.
            reference: compute in float32, as the reference, also where this machine has a quicker arithmetic that the
                profile's tolerance allows.
            layouts: of records; text is searched for all of them. None for the specification's and the registered ones.
            keys: the provider's, where it is the provider who reads: they open users and test authenticators.
            epochs: key epochs in which a user may have been sealed.
            registry: where providers' names and registered layouts are from; by default what this machine trusts.

        Raises:
            CTWLError: see :func:`ctwl_protocol.proxy.open_proxy`.
        """
        proxy = open_proxy(profile, path=proxy_path, device=device, fast=not reference)
        return cls(proxy, layouts=layouts, keys=keys, epochs=epochs, registry=registry)

    def observing(self, observe: Observe) -> Decoder:
        """The same decoder, whose texts are observed by another; all else is shared."""
        twin = copy(self)
        twin._observe = observe
        return twin

    def decode(
        self,
        text: str,
        *,
        alpha: float = ALPHA,
        test: Literal["exact", "posterior"] = "exact",
        score: Score | ScoreName = "both",
        beacons: Iterable[tuple[int, int]] | None = None,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Report:
        """Read which codes a text carries and where, and how likely chance would be to show them as clearly.

        Args:
            text: the text; a text too short to judge gives a report that says so.
            alpha: level of the test, on the p-value corrected for everything that is searched.
            test: "exact", or "posterior" for the paper's rule on sliding windows.
            score: how positions are scored, see :mod:`ctwl_decoder.statistics.scores`; "both" for the soft score and the one by
                rank side by side. The posterior is of the count.
            beacons: search the codes of these (provider, version) pairs only; None for the whole code space, where
                registered beacons need less evidence than others.
            progress: called with the positions done and their number.

        Raises:
            NotText: the string holds lone surrogates, or piles too many marks on one letter, see :func:`normalize_aligned`.
            InputTooLarge: the text exceeds :data:`MAX_CHARACTERS` or :data:`MAX_TOKENS`.
            OptionOutOfRange: alpha is not strictly between 0 and 1; no beacon to search for.
            FieldOutOfRange: a provider or version.
            TypeError: the text is no ``str``.
        """
        return self.analyse(text, alpha=alpha, test=test, score=score, beacons=beacons, progress=progress).report

    def analyse(
        self,
        text: str,
        *,
        alpha: float = ALPHA,
        test: Literal["exact", "posterior"] = "exact",
        score: Score | ScoreName = "both",
        beacons: Iterable[tuple[int, int]] | None = None,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Analysis:
        """:meth:`decode`, with the evidence at every token beside the report."""
        return self.analyse_all([text], alpha=alpha, test=test, score=score, beacons=beacons, progress=progress)[0]

    def analyse_all(
        self,
        texts: Sequence[str],
        *,
        alpha: float = ALPHA,
        test: Literal["exact", "posterior"] = "exact",
        score: Score | ScoreName = "both",
        beacons: Iterable[tuple[int, int]] | None = None,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> list[Analysis]:
        """:meth:`analyse` of several texts whose windows fill the proxy's batches together."""
        check_alpha(alpha)
        first = NO_CODES if test == "posterior" else self._reader.registered
        codes = None if beacons is None else beacon_codes(self.profile, beacons)
        searches = _searches(self.profile, first, codes)
        shares = _shares(Score.COUNT if test == "posterior" else score)
        judge = partial(self._judge, searches=searches, alpha=alpha, test=test, shares=shares)
        forms = [self._forms(text) for text in texts]
        if not forms:
            return []
        firsts = [first.cut for first, *_ in forms]
        work = sum(map(len, firsts))
        evidence = self._observe(_together(firsts), lambda done: progress(done, work))
        seen = evidence.split([len(cut) for cut in firsts])
        outcomes = [judge(first, each) for (first, *_), each in zip(forms, seen, strict=True)]
        # Where one shows nothing, perhaps the marks or the line ends are not the writer's.
        unsure = [i for i, outcome in enumerate(outcomes) if not outcome.found and forms[i][1:]]
        others = [_Other.of(forms[i][1], forms[i][0], seen[i]) for i in unsure]
        if others:
            more = sum(len(other.new) for other in others)
            fresh = self._observe(_together([o.new for o in others]), lambda done: progress(work + done, work + more))
            work += more
            for i, other, part in zip(unsure, others, fresh.split([len(o.new) for o in others]), strict=True):
                outcomes[i] = min(outcomes[i], judge(other.form, other.evidence(part)), key=lambda o: o.order)
        progress(work, work)
        return [
            self._analysis(text, outcome, alpha, test, searches, shares)
            for text, outcome in zip(texts, outcomes, strict=True)
        ]

    def _forms(self, text: str) -> list[_Form]:
        """Steps 1 to 3: the forms of a text, normalized, tokenized, cut into positions; each within bounds."""
        if not isinstance(text, str):
            raise TypeError(f"a text is a str, not {type(text).__name__}; decode its bytes as UTF-8 first")
        if len(text) > MAX_CHARACTERS:
            raise InputTooLarge(f"the text has {len(text)} characters; at most {MAX_CHARACTERS} are decoded at once")
        if not text.isascii() and _SURROGATE.search(text):
            raise NotText("the text holds lone surrogates, so it is no Unicode text; decode its bytes as UTF-8 first")
        forms = variants_of(text)
        return [self._form(name, form, 1 / len(forms)) for name, form in forms]

    def _form(self, name: str, form: AlignedText, share: float) -> _Form:
        ids, starts = self.proxy.tokenizer.locate(form.text)
        if len(ids) > MAX_TOKENS:
            raise InputTooLarge(f"the text has {len(ids)} tokens; at most {MAX_TOKENS} are decoded at once")
        places = form.source[np.append(starts, len(form.text))]
        return _Form(name, places, positions(ids, self.profile.prefix_length, self.profile.context_length), share)

    def _judge(
        self,
        form: _Form,
        evidence: Evidence,
        *,
        searches: Sequence[CodeSet],
        alpha: float,
        test: Literal["exact", "posterior"],
        shares: Mapping[Score, float],
    ) -> _Outcome:
        """Steps 5 to 8 for one form, by scores that have each its share of the level."""
        soft = ScoredPositions.of(self.profile, form.cut, position_scores(Score.SOFT, evidence, self.profile.sigma))
        marks = {
            score: soft
            if score is Score.SOFT
            else replace(soft, scores=position_scores(score, evidence, self.profile.sigma))
            for score in shares
        }
        probability = None
        if test == "posterior":
            (search,) = searches
            chances = posterior_windows(marks[Score.COUNT], search.codes, form.share)
            passed = [window for window, chance in chances if chance >= THRESHOLD]
            best, probability = max(chances, key=lambda window: window[1])
        else:
            shared = [CodeSet(search.codes, search.share * form.share) for search in searches]
            views = [ScoredText(marks[score], score, share) for score, share in shares.items()]
            judged = self._reader.read_all(views, candidates(views, shared, self._reader.counts))
            passed = [candidate for candidate in judged if candidate.p_value <= alpha]
            best = min(judged, key=lambda c: c.order)
        shown = marks | {Score.COUNT: soft}  # a count never falls, so it has no ends
        found = merge(
            len(soft), passed, self.profile.prefix_length, lambda each: self._reader.contributions(shown[each.by], each)
        )
        found = [replace(span, candidate=self._reader.read_once(marks[span.by], span.candidate)) for span in found]
        return _Outcome(form, shown, best, found, probability)

    def _analysis(
        self,
        text: str,
        outcome: _Outcome,
        alpha: float,
        test: Literal["exact", "posterior"],
        searches: Sequence[CodeSet],
        shares: Mapping[Score, float],
    ) -> Analysis:
        """Step 9: from positions to the characters of the text as given."""
        form, prefix = outcome.form, self.profile.prefix_length
        found = sorted(outcome.found, key=lambda f: f.candidate.p_value)
        best = found[0].candidate if found else outcome.best
        marks = outcome.marks[best.by]
        code = best.code if len(marks) else None
        tokens = len(form.starts) - 1
        worth = np.full(tokens, np.nan)
        if len(marks):
            worth[prefix:] = self._reader.contributions(marks, best) / NAT
        spans = []
        for each in sorted(outcome.found, key=lambda f: f.start):
            first, last = self._ends(each, tokens)
            values = self._reader.contributions(outcome.marks[each.by], each.candidate) / NAT
            worth[max(first, prefix) : last] = values[max(first - prefix, 0) : last - prefix]
            spans.append(
                Span(
                    start=int(form.starts[first]),
                    end=len(text[: form.starts[last]].rstrip()) if last < tokens else int(form.starts[last]),
                    tokens=last - first,
                    code=each.code,
                    **self._interpreter.beacon(each.code),
                    p_value=each.candidate.p_value,
                    record=self._interpreter.record(each.candidate, alpha),
                )
            )
        parts = [
            (part[part.first_occurrences()], part_code)
            for _, part, part_code in self._reader.parts(marks[best.start : best.end], best)
        ]
        report = Report(
            detected=bool(outcome.found),
            spans=spans,
            code=code,
            **self._interpreter.beacon(code),
            p_value=best.p_value,
            record=self._interpreter.record(best, alpha) if outcome.found else None,
            alpha=alpha,
            test=test,
            score=best.by.value,
            posterior=outcome.posterior,
            hits=sum(int((part.contributions(part_code) > 0).sum()) for part, part_code in parts),
            expected=sum(float((part.scores > 0).mean(axis=1).sum()) for part, _ in parts if len(part)),
            scored=sum(len(part) for part, _ in parts),
            tokens=tokens,
            needed=_needed(self.profile, alpha, searches, shares),
            form=form.name,
            searched=max(len(search.codes) for search in searches),
            registry=self._interpreter.label(),
            profile=self.profile.name,
            profile_digest=self.profile.digest,
        )
        return Analysis(text, report, form.starts, worth)

    def _ends(self, found: PositionSpan, tokens: int) -> tuple[int, int]:
        """First token of a span and the one after its last: to the text's own ends where too little is left to tell."""
        prefix = self.profile.prefix_length
        first = 0 if found.start <= prefix else found.start + prefix
        last = found.end + prefix
        return first, tokens if tokens - last <= prefix else last


def _together(cuts: list[Positions]) -> Positions:
    return cuts[0] if len(cuts) == 1 else Positions(*(np.concatenate(columns) for columns in zip(*cuts, strict=True)))


def _rows(cut: Positions) -> list[bytes]:
    return [row.tobytes() for row in np.column_stack([cut.prefixes, cut.observed])]


def _registered(profile: Profile, registry: Trusted) -> NDArray[np.uint32]:
    """The codes that are looked for first; none under a profile of which the registry says nothing."""
    public = profile.is_public and profile.code_bits == BEACON_BITS
    return codes_of(registry.registry.beacons()) if public else NO_CODES


def _searches(profile: Profile, registered: NDArray[np.uint32], codes: NDArray[np.uint32] | None) -> list[CodeSet]:
    """Which codes are searched side by side, and with which share of the level (spec section 10.2)."""
    if codes is not None:
        return [CodeSet(codes)]
    if not len(registered):
        return [CodeSet(code_space(profile))]
    return [CodeSet(registered, 0.5), CodeSet(code_space(profile), 0.5)]


def _shares(score: Score | ScoreName) -> Mapping[Score, float]:
    """The scores that are asked for, each with its share of the level."""
    return SHARES if score == "both" else {Score(score): 1.0}


def _needed(profile: Profile, alpha: float, searches: Sequence[CodeSet], shares: Mapping[Score, float]) -> int:
    bits = min(math.log2(len(search.codes) / search.share) for search in searches) - math.log2(alpha)
    hit = math.log2(profile.sigma[1] / profile.sigma[0])  # what a sure one says
    most = {score: _RANK_BITS if score is Score.RANK else hit for score in shares}
    positions = min((bits - math.log2(share)) / most[score] for score, share in shares.items())
    return profile.prefix_length + math.ceil(positions)


def minimum_tokens(
    profile: Profile,
    alpha: float,
    registry: Trusted,
    beacons: Iterable[tuple[int, int]] | None = None,
    score: Score | ScoreName = "both",
) -> int:
    """Tokens below which the test will hardly pass.

    Args:
        profile: the profile.
        alpha: the level.
        registry: what the reader trusts.
        beacons: whose codes are searched; None for all.
        score: how positions are scored.
    """
    codes = None if beacons is None else beacon_codes(profile, beacons)
    return _needed(profile, alpha, _searches(profile, _registered(profile, registry), codes), _shares(score))


def decode(
    text: str,
    profile: str | Path | Profile = STANDARD,
    *,
    alpha: float = ALPHA,
    proxy_path: str | Path | None = None,
    device: str | torch.device = "auto",
) -> Report:
    """Decode one text; for many, keep a :class:`Decoder`.

    Raises:
        CTWLError: see :meth:`Decoder.open` and :meth:`Decoder.decode`.
    """
    return Decoder.open(profile, proxy_path=proxy_path, device=device).decode(text, alpha=alpha)

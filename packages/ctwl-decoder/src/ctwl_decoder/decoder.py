"""Decoding, in the steps of spec section 10.

text -> tokens -> evidence -> scores -> candidates -> records -> spans -> report

The ranks of a text's tokens need no language model. So a text is read by them first, and a language model is loaded and
asked only where they show too little: the profile's proxy LM, or one that the reader names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypedDict, Unpack

from ctwl_protocol.profile import STANDARD
from ctwl_protocol.profile.document import Profile
from ctwl_protocol.proxy import Proxy, open_proxy
from ctwl_protocol.records.beacon import BEACON_BITS
from ctwl_protocol.records.layouts import Layout
from ctwl_protocol.records.sealing import ProviderKeys
from ctwl_protocol.registry import Trusted, load_trusted
from ctwl_protocol.text.blocks import LENGTH

from .errors import OptionOutOfRange, needing
from .options import ALPHA, MAX_TOKENS, ScoreName, check_alpha
from .reading_model import ReadingModel
from .report.analysis import Analysis
from .report.assembly import Assembler
from .report.interpretation import Interpreter
from .report.model import BodyReport, Outcome, Report
from .search.finding import Finding, find, screen
from .search.plan import LIGHT_SHARES, SearchPlan, registered_codes
from .search.records import RecordReader
from .search.together import MOST_TEXTS, Joint, read_together
from .statistics.evidence import Weigh, permutations
from .statistics.light import light_units
from .statistics.scored_positions import ScoredPositions
from .statistics.scores import Score, position_scores
from .text.tokens import TokenizedVariant, tokenize_variants

Progress = Callable[[int, int], None]


class Search(TypedDict, total=False):
    """What is searched in a text; see :meth:`Decoder.decode`."""

    alpha: float
    score: Score | ScoreName
    beacons: Iterable[tuple[int, int]] | None


class Screened(NamedTuple):
    """What a screen saw of a text: the outcome, None for a text that passes; the p-value; the number of tokens."""

    outcome: Outcome | None
    p_value: float
    tokens: int


class Decoder:
    """A profile's decoder, with its language model loaded once for many texts, when a text first needs it.

    >>> decoder = Decoder.open("org.ctwl.smollm2-135m.1")
    >>> report = decoder.decode(letter)
    >>> report.outcome, report.provider, report.version
    ('found', 700, 9)
    >>> all(letter[span.start : span.end] == letter for span in report.spans)
    True

    Attributes:
        profile: its profile.
        tokenizer: the profile's tokenizer.
        registry: gives the names of providers and the registered layouts.
        proxy: the profile's proxy LM.
    """

    def __init__(
        self,
        proxy: Proxy,
        *,
        reading_model: ReadingModel | None = None,
        weigh: Weigh | None = None,
        layouts: Sequence[Layout] | None = None,
        keys: ProviderKeys | None = None,
        epochs: Iterable[int] = (0,),
        registry: Trusted | None = None,
        max_tokens: int = MAX_TOKENS,
    ) -> None:
        """Make a decoder of a proxy LM.

        Args:
            proxy: the proxy LM, which is loaded when it is first asked.
            reading_model: a causal LM that weighs the text in the proxy LM's place, such as the provider's own.
            weigh: gives the rivals at a text's positions; by default the reading model does, or the proxy LM.
            layouts: the layouts of records that are tried after every beacon; None for the specification's, and for
                each provider's beacons the layouts that it registered.
            keys: the provider's keys, where the provider reads: they open users and test authenticators.
            epochs: key epochs in which a user may have been sealed.
            registry: gives the names of providers and the registered layouts; by default the one that this machine
                trusts.
            max_tokens: tokens that a text may have; a longer one is refused before any other work.

        Raises:
            RegistryError: see :func:`ctwl_protocol.registry.load_trusted`.
        """
        self.proxy = proxy
        self.profile, self.tokenizer = proxy.profile, proxy.tokenizer
        self.registry = registry = registry or load_trusted()
        registered = registered_codes(self.profile, registry.registry)
        interpreter = Interpreter(self.profile, registry, keys, tuple(epochs))
        known = registry.registry
        owners = {} if layouts else {entry.number: entry.owner for entry in known.layouts()}
        self._records = RecordReader(self.profile, layouts or known.known_layouts(), keys, registered, owners)
        self._assembler = Assembler(self._records, interpreter)
        self._reading_model, self._model_name = reading_model, reading_model.name if reading_model else None
        by_default = reading_model.rivals if reading_model else _by_proxy(proxy)
        self._weigh, self._max_tokens = weigh or by_default, max_tokens

    @classmethod
    def open(
        cls,
        profile: str | Path | Profile = STANDARD,
        *,
        proxy_path: str | Path | None = None,
        device: str = "cpu",
        reading_model: str | Path | None = None,
        prompt: str | None = None,
        keys: ProviderKeys | None = None,
        epochs: Iterable[int] = (0,),
        registry: Trusted | None = None,
    ) -> Decoder:
        """Make a profile's decoder, which loads the proxy LM when it first needs it.

        >>> decoder = Decoder.open("org.ctwl.smollm2-135m.1")
        >>> decoder.decode("Too short for a code.").outcome
        'too-short'

        Args:
            profile: a profile, its name, or its file.
            proxy_path: folder with the proxy LM's files; by default the cache, then the profile's source.
            device: "cpu" for NumPy, which needs no torch; or a device of torch's, "auto" for CUDA where there is one.
            reading_model: name or folder of a causal LM that weighs texts in the proxy LM's place; it is loaded now,
                and needs torch. The provider's own model finds the most.
            prompt: what the reading model saw before the text, chat template included, if it is known.
            keys: see :class:`Decoder`.
            epochs: see :class:`Decoder`.
            registry: see :class:`Decoder`.

        Raises:
            CTWLError: see :func:`ctwl_protocol.proxy.open_proxy` and :meth:`ReadingModel.open`.
        """
        proxy = open_proxy(profile, path=proxy_path, device=device)
        model = ReadingModel.open(reading_model, proxy, prompt, device) if reading_model else None
        return cls(proxy, reading_model=model, keys=keys, epochs=epochs, registry=registry)

    def decode(
        self,
        text: str,
        *,
        alpha: float = ALPHA,
        score: Score | ScoreName = "auto",
        beacons: Iterable[tuple[int, int]] | None = None,
        progress: Progress = lambda done, total: None,
    ) -> Report:
        """Read which codes a text carries and where, and how often chance would show them as clearly.

        Args:
            text: the text. A text that is too short gives a report that says so.
            alpha: level of the test, on the p-value corrected for all that is searched.
            score: how positions are scored, see :mod:`ctwl_decoder.statistics.scores`: "auto" by the light scores and,
                where these are not conclusive, by ``half`` and ``race``, too; "light" by the light scores alone, which
                need no language model; "whole" by ``half`` and ``race`` alone.
            beacons: search only the codes of these (provider, version) pairs, each with the nonces that the registry
                says, else with all. None searches all codes, where registered beacons need less evidence than others.
            progress: called with the number of positions that the language model has read, and of all: first with 0,
                before the proxy LM is loaded; never where it is not needed.

        Raises:
            NotText: the string has lone surrogates, or too many combining marks on one letter.
            InputTooLarge: the text has more than ``MAX_CHARACTERS`` of :mod:`ctwl_decoder.options`, or more than
                ``max_tokens``.
            OptionOutOfRange: alpha is not strictly between 0 and 1; there is no beacon to search for.
            FieldOutOfRange: a provider or version is out of range.
            CTWLError: the proxy LM is needed and cannot be loaded, see :func:`ctwl_protocol.proxy.open_proxy`.
            TypeError: the text is no ``str``.
        """
        return self.analyse(text, progress, alpha=alpha, score=score, beacons=beacons).report

    def analyse(self, text: str, progress: Progress = lambda done, total: None, **search: Unpack[Search]) -> Analysis:
        """:meth:`decode`, with the evidence at each token beside the report.

        A block of the language model holds one text. So a text has the same p-value to the last digit, whatever else
        is decoded.
        """
        reading = self.begin(text, **search)
        for _ in reading.steps(progress):
            pass
        return reading.analysis()

    def screened(self, text: str, level: float, *, every: bool = False, **search: Unpack[Search]) -> Screened:
        """Whether a text need be read no further, in milliseconds; for scans of many texts.

        Args:
            text: the text.
            level: of the screen, see :meth:`Reading.screened`.
            every: see there.
            search: as for :meth:`decode`; ``score``, "whole" by default, is what the text is decoded by if it passes.

        Raises:
            As :meth:`decode` does.
        """
        search.setdefault("score", "whole")
        return self.begin(text, **search).screened(level, every=every)

    def begin(self, text: str, **search: Unpack[Search]) -> Reading:
        """A reading that goes on when it is asked to; see :meth:`decode`."""
        return Reading(self, text, self._plan(**search))

    def decode_together(self, texts: Sequence[str], **search: Unpack[Search]) -> BodyReport:
        """Read several texts of one origin as one body, such as the short messages of a conversation.

        What is read together must be decided before it is read, or the p-value does not hold. It is for all texts: none
        of them gets a verdict of its own. Beacons are looked for, and no longer records.

        Args:
            texts: the texts, at most ``MOST_TEXTS`` of :mod:`ctwl_decoder.search.together`.
            search: as for :meth:`decode`.

        Raises:
            OptionOutOfRange: there is no text or too many; the profile's codes are no beacons.
            CTWLError: see :meth:`decode`.
        """
        plan = self._plan(**search)
        if self.profile.code_bits != BEACON_BITS or not 0 < len(texts) <= MOST_TEXTS:
            raise OptionOutOfRange(
                f"1 to {MOST_TEXTS} texts are read together, and by a profile whose codes are beacons"
            )
        bodies = [self._tokenized(text) for text in texts]
        joints: list[Joint] = []
        for part in (plan.light, plan.whole):
            if part.score_shares and all(joint.held_by(plan.alpha) for joint in joints):
                scored = [[self.scored(variant, part) for variant in body] for body in bodies]
                for score, share in part.score_shares.items():
                    positions = [[by_score[score] for by_score in body] for body in scored]
                    joints += [read_together(positions, score, codes, share) for codes in part.code_sets]
        return self._assembler.body_report(bodies, joints, plan)

    def load(self) -> str:
        """Load the language model, if it is not loaded; what it computes in.

        Raises:
            ExtraMissing: a package is not installed that it needs.
            CTWLError: see :func:`ctwl_protocol.proxy.open_proxy`.
        """
        if self._reading_model:
            return self._reading_model.arithmetic
        with needing("torch", "the proxy LM"):
            return self.proxy.load()

    def _tokenized(self, text: str) -> list[TokenizedVariant]:
        """Steps 1 to 3: the variants of a text as tokens and positions."""
        return tokenize_variants(text, self.tokenizer, self.profile, self._max_tokens)

    def scored(
        self, variant: TokenizedVariant, plan: SearchPlan, progress: Callable[[int], None] = lambda done: None
    ) -> dict[Score, ScoredPositions]:
        """Steps 4 and 5: the positions of a variant by each score of a plan: light ones, or a language model's.

        Raises:
            CTWLError: see :meth:`decode`.
        """
        first, *others = plan.score_shares
        if first.light:
            units = light_units(self.profile, variant.positions)
        else:
            rivals, seeds = self._weigh(variant, progress), permutations(self.profile, variant.positions.contexts)
            units = position_scores(rivals, self.profile.prefix_length, seeds, self.profile.sigma)
        positions = ScoredPositions.of(self.profile, variant.positions, units[first])
        return {first: positions} | {score: replace(positions, scores=units[score]) for score in others}

    def _plan(
        self,
        alpha: float = ALPHA,
        score: Score | ScoreName = "auto",
        beacons: Iterable[tuple[int, int]] | None = None,
    ) -> SearchPlan:
        return SearchPlan.of(self.profile, self.registry.registry, alpha=alpha, score=score, beacons=beacons)


class Reading:
    """One text by one profile: what was found so far. Each step reads further, the quickest first.

    Attributes:
        profile: the profile.
        plan: what is searched.
    """

    def __init__(self, decoder: Decoder, text: str, plan: SearchPlan) -> None:
        self.profile, self.plan = decoder.profile, plan
        self._decoder, self._text, self._variants = decoder, text, decoder._tokenized(text)
        self._findings: list[Finding] = []
        self._arithmetic: str | None = None

    @property
    def begun(self) -> bool:
        """Whether there is an outcome yet."""
        return bool(self._findings)

    @property
    def is_conclusive(self) -> bool:
        """Whether a code was found, and more evidence could hardly show more."""
        return self.begun and self._clearest().is_conclusive(self.plan.alpha)

    @property
    def tokens(self) -> int:
        """Proxy tokens of the text as given."""
        return self._variants[0].tokens

    def screened(self, level: float, *, every: bool = False) -> Screened:
        """Whether the text need be read no further.

        Args:
            level: a text with a larger p-value by the light scores is read no further.
            every: compute every p-value exactly, for callers who need more of it than whether it is below the level.

        Raises:
            OptionOutOfRange: the level is not strictly between 0 and 1.
        """
        check_alpha(level, "the screen's level")
        decoder, light = self._decoder, replace(self.plan, score_shares=LIGHT_SHARES)
        p_value = min(
            screen(variant, decoder.scored(variant, light), light, decoder._records, 1.0 if every else level)
            for variant in self._variants
        )
        none: Outcome = "too-short" if self._is_short else "none"
        return Screened(None if p_value <= level else none, p_value, self.tokens)

    def steps(self, progress: Progress = lambda done, total: None) -> Iterator[None]:
        """Read further at each step, until more could hardly show more.

        Raises:
            CTWLError: the language model is needed and cannot be loaded; what was found before stays.
        """
        light, whole = self.plan.light, self.plan.whole
        if light.score_shares:
            for findings in self._by_ranks(light):
                self._findings = findings
                yield
            # By a language model hardly any code is found in a text that is too short.
            too_short = self._is_short and not self._clearest().spans
            if not whole.score_shares or self.is_conclusive or too_short:
                return
        progress(0, len(self._variants[0].positions))
        arithmetic = self._decoder.load()
        self._findings = self._by_model(whole, progress)
        self._arithmetic = arithmetic
        yield

    def analysis(self) -> Analysis:
        """What was found so far (step 9)."""
        named = self._decoder._model_name if self._arithmetic else None
        findings = sorted(self._findings, key=lambda finding: finding.order)
        return self._decoder._assembler.analysis(self._text, findings, self.plan, self._arithmetic, named)

    @property
    def _is_short(self) -> bool:
        return self.tokens < self.plan.minimum_tokens(self.profile)

    def _clearest(self) -> Finding:
        return min(self._findings, key=lambda finding: finding.order)

    def _by_ranks(self, plan: SearchPlan) -> Iterator[list[Finding]]:
        """Steps 4 to 8 by ranks alone: what is found so far in each variant.

        The registered codes are few, so they are searched first, and all codes only where these are not conclusive.
        """
        scored = [self._decoder.scored(variant, plan) for variant in self._variants]
        findings: Sequence[Finding | None] = [None] * len(self._variants)
        for part in plan.by_codes():
            found = [
                find(variant, positions, part, self._decoder._records, earlier)
                for variant, positions, earlier in zip(self._variants, scored, findings, strict=True)
            ]
            yield found
            if min(found, key=lambda finding: finding.order).is_conclusive(plan.alpha):
                return
            findings = found

    def _by_model(self, plan: SearchPlan, progress: Progress) -> list[Finding]:
        """Steps 4 to 8 by a language model, with what the light scores found: what is found in the variants.

        Of a long text one variant is read, the one that the light scores show more clearly: of so many tokens they see
        enough to tell, and a language model takes its time. The p-value pays for both all the same.
        """
        light: Sequence[Finding] = self._findings
        read: dict[TokenizedVariant, Finding | None] = dict.fromkeys(self._variants)
        read |= {finding.variant: finding for finding in light}
        if len(read) > 1 and self.tokens > LENGTH:
            seen = light or [*self._by_ranks(replace(plan, score_shares=LIGHT_SHARES))][-1]
            clearest = min(seen, key=lambda finding: finding.order).variant
            read = {clearest: read[clearest]}
        done, total = 0, sum(len(variant.positions) for variant in read)
        findings = []
        for variant, earlier in read.items():
            progress(done, total)
            scored = self._decoder.scored(variant, plan, partial(_further, progress, done, total))
            findings.append(find(variant, scored, plan, self._decoder._records, earlier))
            done += len(variant.positions)
        return findings + [finding for finding in light if finding.variant not in read]


def _by_proxy(proxy: Proxy) -> Weigh:
    return lambda variant, progress: proxy.rivals(variant.ids, progress)


def _further(progress: Progress, before: int, total: int, done: int) -> None:
    progress(before + done, total)

"""Decoding, in the steps of spec section 10.

text -> tokens -> evidence -> scores -> candidates -> records -> spans -> report

The ranks of a text's tokens need no language model. So a text is read by them first, and a language model is loaded and
asked only where they show too little: the profile's proxy LM, or one that the reader names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
from .search.finding import Finding, find, score_positions, screen
from .search.plan import LIGHT_SHARES, SearchPlan, registered_codes
from .search.records import RecordReader
from .search.together import MOST_TEXTS, Joint, read_together
from .statistics.evidence import Weigh, permutations
from .statistics.light import light_units
from .statistics.scores import Score, position_scores
from .text.tokens import TokenizedVariant, tokenize_variants

Progress = Callable[[int, int], None]


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
        self._reader = RecordReader(self.profile, layouts or known.known_layouts(), keys, registered, owners)
        self._assembler = Assembler(self._reader, interpreter)
        self._reading_model = reading_model
        self._weigh: Weigh = lambda variant, progress: proxy.rivals(variant.ids, progress)
        if reading_model:
            self._weigh = reading_model.rivals
        self._max_tokens = max_tokens

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

    def with_weigh(self, weigh: Weigh) -> Decoder:
        """The same decoder, which takes the rivals at a text's positions from elsewhere; all else is shared."""
        twin = copy(self)
        twin._weigh = weigh
        return twin

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
        return self.analyse(text, alpha=alpha, score=score, beacons=beacons, progress=progress).report

    def screened(
        self,
        text: str,
        level: float,
        *,
        alpha: float = ALPHA,
        score: Score | ScoreName = "whole",
        beacons: Iterable[tuple[int, int]] | None = None,
        every: bool = False,
    ) -> Screened:
        """Whether a text need be read no further, in milliseconds; for scans of many texts.

        Args:
            text: the text.
            level: of the screen: a text with a larger p-value by the light scores is read no further.
            alpha: as for :meth:`decode`.
            score: what the text is decoded by if it passes.
            beacons: as for :meth:`decode`.
            every: compute every p-value exactly, for callers who need more of it than whether it is below the level.

        Raises:
            As :meth:`decode` does.
        """
        check_alpha(level, "the screen's level")
        light = self._plan(alpha=alpha, score="light", beacons=beacons)
        variants = self._tokenized(text)
        tokens = variants[0].tokens
        p_value = screen(self.profile, variants, light, self._reader.counts, 1.0 if every else level)
        if p_value <= level:
            return Screened(None, p_value, tokens)
        plan = self._plan(alpha=alpha, score=score, beacons=beacons)
        return Screened("too-short" if tokens < plan.minimum_tokens(self.profile) else "none", p_value, tokens)

    def analyse(
        self,
        text: str,
        *,
        alpha: float = ALPHA,
        score: Score | ScoreName = "auto",
        beacons: Iterable[tuple[int, int]] | None = None,
        progress: Progress = lambda done, total: None,
    ) -> Analysis:
        """:meth:`decode`, with the evidence at each token beside the report.

        A block of the language model holds one text. So a text has the same p-value to the last digit, whatever else
        is decoded.
        """
        reading = self.begin(text, alpha=alpha, score=score, beacons=beacons)
        for _ in reading.steps(progress):
            pass
        return reading.analysis()

    def begin(
        self,
        text: str,
        *,
        alpha: float = ALPHA,
        score: Score | ScoreName = "auto",
        beacons: Iterable[tuple[int, int]] | None = None,
    ) -> Reading:
        """A reading that goes on when it is asked to; see :meth:`decode`."""
        plan = self._plan(alpha=alpha, score=score, beacons=beacons)
        return Reading(self, text, self._tokenized(text), plan)  # steps 1 to 3

    def decode_together(
        self,
        texts: Sequence[str],
        *,
        alpha: float = ALPHA,
        score: Score | ScoreName = "auto",
        beacons: Iterable[tuple[int, int]] | None = None,
    ) -> BodyReport:
        """Read several texts of one origin as one body, such as the short messages of a conversation.

        What is read together must be decided before it is read, or the p-value does not hold. It is for all texts: none
        of them gets a verdict of its own. Beacons are looked for, and no longer records.

        Args:
            texts: the texts, at most ``MOST_TEXTS`` of :mod:`ctwl_decoder.search.together`.
            alpha: as for :meth:`decode`.
            score: as for :meth:`decode`.
            beacons: as for :meth:`decode`.

        Raises:
            OptionOutOfRange: there is no text or too many; the profile's codes are no beacons.
            CTWLError: see :meth:`decode`.
        """
        plan = self._plan(alpha=alpha, score=score, beacons=beacons)
        if self.profile.code_bits != BEACON_BITS or not 0 < len(texts) <= MOST_TEXTS:
            raise OptionOutOfRange(
                f"1 to {MOST_TEXTS} texts are read together, and by a profile whose codes are beacons"
            )
        bodies = [self._tokenized(text) for text in texts]
        found: list[Joint] = []
        for part, units in ((plan.light, self._light), (plan.whole, self.units)):
            if not part.score_shares or any(joint.held_by(alpha) is None for joint in found):
                continue
            scored = [[score_positions(self.profile, each, units(each), part) for each in body] for body in bodies]
            for by, share in part.score_shares.items():
                positions = [[scores[by] for scores in body] for body in scored]
                found += [read_together(positions, by, codes, share) for codes in part.code_sets]
        return self._assembler.body_report(bodies, found, plan)

    def _plan(self, *, alpha: float, score: Score | ScoreName, beacons: Iterable[tuple[int, int]] | None) -> SearchPlan:
        return SearchPlan.of(self.profile, self.registry.registry, alpha=alpha, score=score, beacons=beacons)

    def _light(self, variant: TokenizedVariant) -> Mapping[Score, NDArray[np.int8]]:
        return light_units(self.profile, variant.positions)

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
        return tokenize_variants(text, self.tokenizer, self.profile, self._max_tokens)

    def _read_light(self, variants: Sequence[TokenizedVariant], plan: SearchPlan) -> Iterator[list[Finding]]:
        """Steps 4 to 8 by ranks alone: what is found so far in each variant.

        The registered codes are few, so they are searched first, and all codes only where these are not conclusive.
        """
        units = [self._light(variant) for variant in variants]
        earlier: Sequence[Finding | None] = [None] * len(variants)
        for part in plan.by_codes():
            findings = [
                find(variant, shown, part, self._reader, before)
                for variant, shown, before in zip(variants, units, earlier, strict=True)
            ]
            yield findings
            if _by_clearness(findings)[0].is_conclusive(plan.alpha):
                break
            earlier = findings

    def _read_whole(
        self, variants: Sequence[TokenizedVariant], plan: SearchPlan, light: Sequence[Finding], progress: Progress
    ) -> list[Finding]:
        """Steps 4 to 8 by a language model, with what the light scores found: what is found in the variants.

        Of a long text one variant is read, the one that the light scores show more clearly: of so many tokens they see
        enough to tell, and a language model takes its time. The p-value pays for both all the same.
        """
        earlier: Sequence[Finding | None] = light or [None] * len(variants)
        pairs = list(zip(variants, earlier, strict=True))
        if len(pairs) > 1 and variants[0].tokens > LENGTH:
            seen = light or [*self._read_light(variants, replace(plan, score_shares=LIGHT_SHARES))][-1]
            pairs = [min(zip(pairs, seen, strict=True), key=lambda pair: pair[1].order)[0]]
        done, total = 0, sum(len(variant.positions) for variant, _ in pairs)
        findings = []
        for variant, before in pairs:
            progress(done, total)
            units = self.units(variant, partial(_further, progress, done, total))
            findings.append(find(variant, units, plan, self._reader, before))
            done += len(variant.positions)
        read = {variant.name for variant, _ in pairs}
        return findings + [finding for finding in light if finding.variant.name not in read]

    def units(
        self, variant: TokenizedVariant, progress: Callable[[int], None] = lambda done: None
    ) -> Mapping[Score, NDArray[np.int8]]:
        """The units of a text by the language model's scores (step 5): for each, int8 (positions, colours).

        Raises:
            CTWLError: see :meth:`decode`.
        """
        rivals = self._weigh(variant, progress)
        seeds = permutations(self.profile, variant.positions.contexts)
        return position_scores(rivals, self.profile.prefix_length, seeds, self.profile.sigma)


class Reading:
    """One text by one profile: what was found so far. Each step reads further, the quickest first.

    Attributes:
        profile: the profile.
        plan: what is searched.
    """

    def __init__(self, decoder: Decoder, text: str, variants: Sequence[TokenizedVariant], plan: SearchPlan) -> None:
        self.profile, self.plan = decoder.profile, plan
        self._decoder, self._text, self._variants = decoder, text, variants
        self._findings: list[Finding] = []
        self._arithmetic: str | None = None

    @property
    def begun(self) -> bool:
        """Whether there is an outcome yet."""
        return bool(self._findings)

    @property
    def is_conclusive(self) -> bool:
        """Whether a code was found, and more evidence could hardly show more."""
        return self.begun and self._findings[0].is_conclusive(self.plan.alpha)

    def steps(self, progress: Progress = lambda done, total: None) -> Iterator[None]:
        """Read further at each step, until more could hardly show more.

        Raises:
            CTWLError: the language model is needed and cannot be loaded; what was found before stays.
        """
        decoder, plan, light = self._decoder, self.plan, list[Finding]()
        if plan.light.score_shares:
            for light in decoder._read_light(self._variants, plan.light):
                self._findings = _by_clearness(light)
                yield
            # By a language model hardly any code is found in a text that is too short.
            too_short = self._findings[0].variant.tokens < plan.minimum_tokens(self.profile)
            if not plan.whole.score_shares or self.is_conclusive or (too_short and not self._findings[0].spans):
                return
        progress(0, len(self._variants[0].positions))
        arithmetic = decoder.load()
        self._findings = _by_clearness(decoder._read_whole(self._variants, plan.whole, light, progress))
        self._arithmetic = arithmetic
        yield

    def analysis(self) -> Analysis:
        """What was found so far (step 9)."""
        model = self._decoder._reading_model if self._arithmetic else None
        named = model.name if model else None
        return self._decoder._assembler.analysis(self._text, self._findings, self.plan, self._arithmetic, named)


def _by_clearness(findings: Sequence[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: finding.order)


def _further(progress: Progress, before: int, total: int, done: int) -> None:
    progress(before + done, total)

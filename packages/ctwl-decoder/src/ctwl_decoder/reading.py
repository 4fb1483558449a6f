"""The way of a text, in the steps of spec section 10.

text -> tokens -> evidence -> scores -> candidates -> records -> spans -> report

The ranks of a text's tokens need no language model. So a text is read by them first, and a language model is loaded and
asked only where they show too little.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ctwl_protocol.profile.document import Profile
from ctwl_protocol.proxy import ProxyTokenizer
from ctwl_protocol.text.blocks import LENGTH

from .options import check_alpha
from .report.analysis import Analysis
from .report.assembly import Assembler
from .report.model import BodyReport, Outcome
from .search.finding import Finding, find, screen
from .search.plan import LIGHT_SHARES, SearchPlan
from .search.records import RecordReader
from .search.together import Joint, read_together
from .statistics.evidence import Weigh, permutations
from .statistics.light import light_units
from .statistics.scored_positions import ScoredPositions
from .statistics.scores import Score, position_scores
from .text.tokens import TokenizedVariant, tokenize_variants

Progress = Callable[[int, int], None]


class Screened(NamedTuple):
    """What a screen saw of a text: the outcome, None for a text that passes; the p-value; the number of tokens."""

    outcome: Outcome | None
    p_value: float
    tokens: int


@dataclass(frozen=True)
class Pipeline:
    """What reads the texts of one profile, step by step.

    Attributes:
        profile: the profile.
        tokenizer: its tokenizer.
        max_tokens: tokens that a text may have.
        load: loads the language model, if it is not loaded; what it computes in.
        weigh: asks the language model.
        model_name: of a language model that the reader named.
        records: reads records.
        assembler: makes the report.
    """

    profile: Profile
    tokenizer: ProxyTokenizer
    max_tokens: int
    load: Callable[[], str]
    weigh: Weigh
    model_name: str | None
    records: RecordReader
    assembler: Assembler

    def tokenized(self, text: str) -> list[TokenizedVariant]:
        """Steps 1 to 3: the variants of a text as tokens and positions."""
        return tokenize_variants(text, self.tokenizer, self.profile, self.max_tokens)

    def scored(
        self, variant: TokenizedVariant, plan: SearchPlan, progress: Callable[[int], None] = lambda done: None
    ) -> dict[Score, ScoredPositions]:
        """Steps 4 and 5: the positions of a variant by each score of a plan: light ones, or a language model's.

        Raises:
            CTWLError: see :meth:`.Decoder.decode`.
        """
        first, *others = plan.score_shares
        if first.light:
            units = light_units(self.profile, variant.positions)
        else:
            rivals, seeds = self.weigh(variant, progress), permutations(self.profile, variant.positions.contexts)
            units = position_scores(rivals, self.profile.prefix_length, seeds, self.profile.sigma)
        positions = ScoredPositions.of(self.profile, variant.positions, units[first])
        return {first: positions} | {score: replace(positions, scores=units[score]) for score in others}

    def together(self, texts: Sequence[str], plan: SearchPlan) -> BodyReport:
        """Texts that are read as one body; see :meth:`.Decoder.decode_together`."""
        bodies = [self.tokenized(text) for text in texts]
        joints: list[Joint] = []
        for part in (plan.light, plan.whole):
            if part.score_shares and all(joint.held_by(plan.alpha) for joint in joints):
                scored = [[self.scored(variant, part) for variant in body] for body in bodies]
                for score, share in part.score_shares.items():
                    positions = [[by_score[score] for by_score in body] for body in scored]
                    joints += [read_together(positions, score, codes, share) for codes in part.code_sets]
        return self.assembler.body_report(bodies, joints, plan)


class Reading:
    """One text by one profile: what was found so far. Each step reads further, the quickest first.

    Attributes:
        profile: the profile.
        plan: what is searched.
    """

    def __init__(self, pipeline: Pipeline, text: str, plan: SearchPlan) -> None:
        self.profile, self.plan = pipeline.profile, plan
        self._pipeline, self._text, self._variants = pipeline, text, pipeline.tokenized(text)
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
        pipeline, light = self._pipeline, replace(self.plan, score_shares=LIGHT_SHARES)
        p_value = min(
            screen(variant, pipeline.scored(variant, light), light, pipeline.records, 1.0 if every else level)
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
        arithmetic = self._pipeline.load()
        self._findings = self._by_model(whole, progress)
        self._arithmetic = arithmetic
        yield

    def analysis(self) -> Analysis:
        """What was found so far (step 9)."""
        named = self._pipeline.model_name if self._arithmetic else None
        findings = sorted(self._findings, key=lambda finding: finding.order)
        return self._pipeline.assembler.analysis(self._text, findings, self.plan, self._arithmetic, named)

    @property
    def _is_short(self) -> bool:
        return self.tokens < self.plan.minimum_tokens(self.profile)

    def _clearest(self) -> Finding:
        return min(self._findings, key=lambda finding: finding.order)

    def _by_ranks(self, plan: SearchPlan) -> Iterator[list[Finding]]:
        """Steps 4 to 8 by ranks alone: what is found so far in each variant.

        The registered codes are few, so they are searched first, and all codes only where these are not conclusive.
        """
        scored = [self._pipeline.scored(variant, plan) for variant in self._variants]
        findings: Sequence[Finding | None] = [None] * len(self._variants)
        for part in plan.by_codes():
            found = [
                find(variant, positions, part, self._pipeline.records, earlier)
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

        def further(more: int) -> None:
            progress(done + more, total)

        for variant, earlier in read.items():
            further(0)
            scored = self._pipeline.scored(variant, plan, further)
            findings.append(find(variant, scored, plan, self._pipeline.records, earlier))
            done += len(variant.positions)
        return findings + [finding for finding in light if finding.variant not in read]

"""From a finding to the report, in characters of the text as given (spec section 10, step 9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol import Beacon
from ctwl_protocol.numbers import NUMBERS
from ctwl_protocol.text.normalization import WHITE_SPACE

from ..search.candidates import Candidate
from ..search.finding import Finding
from ..search.plan import SearchPlan
from ..search.records import Part, RecordReader, contributions
from ..search.spans import PositionSpan
from ..search.together import Joint
from ..statistics.scored_positions import ScoredPositions
from ..statistics.scores import NAT
from ..text.tokens import TokenizedVariant
from .analysis import Analysis
from .hidden import hidden_in
from .interpretation import Interpreter
from .model import BodyReport, Likeliest, Outcome, Report, Span
from .other_marks import other_marks
from .wording import held_back


@dataclass(frozen=True)
class Assembler:
    """Makes the report of a text.

    Attributes:
        reader: gives the positions of each slot.
        interpreter: says what codes mean.
    """

    reader: RecordReader
    interpreter: Interpreter

    def analysis(
        self,
        text: str,
        findings: Sequence[Finding],
        plan: SearchPlan,
        arithmetic: str | None = None,
        reading_model: str | None = None,
    ) -> Analysis:
        """The report on a text, with the evidence at each token.

        Args:
            text: the text.
            findings: what was found in its variants, the clearest first. The report is on that one. Of the others it
                has the spans that share no character with its own, as those of a comment that a page does not show.
            plan: what was searched.
            arithmetic: what the language model computes in; None where none was asked.
            reading_model: the one that the reader named.
        """
        finding, profile = findings[0], self.reader.profile
        spans = list[Span]()
        for each in findings:
            more = [self._span(text, each, plan, span) for span in each.spans]
            spans += [span for span in more if all(span.end <= own.start or own.end <= span.start for own in spans)]
        spans.sort(key=lambda span: span.start)
        candidates = [span.candidate for span in finding.spans] or [finding.best]
        best = min(candidates, key=lambda candidate: candidate.p_value)
        parts = self.reader.parts(finding.scored[best.by], best)
        counted = [(_counted(indices, part, best), code) for indices, part, code in parts]
        tokens, needed, detected = finding.variant.tokens, plan.minimum_tokens(profile), bool(spans)
        distinct = int(finding.scored[best.by].first_occurrences().sum())  # whichever slots they carry, and were read
        likeliest = None
        if not detected and len(finding.variant.positions):
            likeliest = Likeliest(code=best.code, **self.interpreter.beacon(best.code), p_value=best.p_value)
        outcome = _outcome(detected, tokens, distinct, needed)
        held = best.held_by(plan.alpha, profile.codes) if outcome == "none" else None
        suits = plan.of_one_provider or best.p_value < NUMBERS.reading.promising
        suited = likeliest if outcome == "none" and suits else None
        report = Report(
            outcome=outcome,
            detected=detected,
            spans=spans,
            code=best.code if detected else None,
            **self.interpreter.beacon(best.code if detected else None),
            p_value=best.p_value,
            record=self.interpreter.record(best, plan.alpha) if detected else None,
            signposts=self.interpreter.signposts(spans),
            better_reader=self.interpreter.better_reader(suited.provider, reading_model) if suited else None,
            likeliest=likeliest,
            held_back=held_back(*held, best.contexts, light=arithmetic is None, own=reading_model is not None)
            if held
            else None,
            alpha=plan.alpha,
            score=best.by.value,
            hits=sum(int((part.contributions(code) > 0).sum()) for part, code in counted),
            expected=sum(float((part.scores > 0).mean(axis=1).sum()) for part, _ in counted if len(part)),
            scored=sum(len(part) for part, _ in counted),
            tokens=tokens,
            needed=needed,
            form=finding.variant.name,
            searched=plan.searched,
            registry=self.interpreter.label(),
            profile=profile.name,
            profile_digest=profile.digest,
            read="light" if arithmetic is None else "whole",
            reading_model=reading_model,
            arithmetic=arithmetic or "integer",
            other_marks=other_marks(text),
            hidden=hidden_in(text),
        )
        return Analysis(text, report, finding.variant.starts, self._contributions(finding, parts))

    def body_report(
        self, bodies: Sequence[Sequence[TokenizedVariant]], joints: Sequence[Joint], plan: SearchPlan
    ) -> BodyReport:
        """The report on texts that were read together.

        Args:
            bodies: the variants of each text.
            joints: what was found by each score.
            plan: what was searched.
        """
        profile = self.reader.profile
        passed = [joint for joint in joints if joint.held_by(plan.alpha) is None]
        best = min(passed or joints, key=lambda joint: joint.p_value)
        beacons = [Beacon.from_code(code) for code in best.codes] if passed else []
        named = self.interpreter.hop(beacons[0]) if beacons else None
        light, held = all(joint.by.light for joint in joints), best.held_by(plan.alpha)
        return BodyReport(
            outcome="found" if passed else "none",
            detected=bool(passed),
            provider=named.provider if named else None,
            version=named.version if named else None,
            origin=named,
            nonces=[beacon.nonce for beacon in beacons] or None,
            p_value=best.p_value,
            held_back=held_back(*held, best.contexts, light=light) if held else None,
            alpha=plan.alpha,
            read="light" if light else "whole",
            score=best.by.value,
            texts=len(bodies),
            tokens=sum(variants[0].tokens for variants in bodies),
            searched=plan.searched_pairs,
            registry=self.interpreter.label(),
            profile=profile.name,
            profile_digest=profile.digest,
        )

    def _span(self, text: str, finding: Finding, plan: SearchPlan, span: PositionSpan) -> Span:
        tokens, starts = finding.variant.tokens, finding.variant.starts
        first, last = self._tokens_of(span, finding)
        return Span(
            start=int(starts[first]),
            end=len(text[: starts[last]].rstrip(WHITE_SPACE)) if last < tokens else int(starts[last]),
            tokens=last - first,
            code=span.code,
            **self.interpreter.beacon(span.code),
            p_value=span.candidate.p_value,
            record=self.interpreter.record(span.candidate, plan.alpha),
        )

    def _contributions(self, finding: Finding, parts: Sequence[Part]) -> NDArray[np.float64]:
        """Log-likelihood ratio of each token in nats: float64 (tokens,), NaN for the first prefix.

        Args:
            finding: what was found.
            parts: the slots of the best candidate.
        """
        prefix = self.reader.profile.prefix_length
        values = np.full(finding.variant.tokens, np.nan)
        values[prefix:] = contributions(len(finding.variant.positions), parts) / NAT
        for span in finding.spans:
            first, last = self._tokens_of(span, finding)
            first = max(first, prefix)
            own = self.reader.contributions(finding.scored[span.by], span.candidate) / NAT
            values[first:last] = own[first - prefix : last - prefix]
        return values

    def _tokens_of(self, span: PositionSpan, finding: Finding) -> tuple[int, int]:
        """The first token of a span and the one after its last. An end that is near the text's own end moves there."""
        prefix, tokens = self.reader.profile.prefix_length, finding.variant.tokens
        first, last = span.start + prefix, span.end + prefix
        if span is finding.spans[0] and span.start <= prefix:
            first = 0
        if span is finding.spans[-1] and tokens - last <= prefix:
            last = tokens
        return first, last


def _counted(indices: NDArray[np.int64], part: ScoredPositions, best: Candidate) -> ScoredPositions:
    """The positions of a slot that the test counts: those inside of the window, each pair once."""
    inside = part[(best.start <= indices) & (indices < best.end)]
    return inside[inside.first_occurrences()]


def _outcome(detected: bool, tokens: int, distinct: int, needed: int) -> Outcome:
    """A text is too short where it has few tokens, or few that are not repeats."""
    if detected:
        return "found"
    return "too-short" if tokens < needed or 2 * distinct < needed else "none"

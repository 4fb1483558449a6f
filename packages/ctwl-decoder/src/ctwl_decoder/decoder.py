"""Decoding, in the steps of spec section 10.

text -> tokens -> evidence -> scores -> candidates -> records -> spans -> report

The ranks of a text's tokens need no proxy LM. So a text is read by them first, and the proxy LM is loaded and asked
only where they show too little.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol.errors import ProxyNotFound
from ctwl_protocol.profile import STANDARD
from ctwl_protocol.profile.document import Profile
from ctwl_protocol.proxy.later import LaterProxy, open_later
from ctwl_protocol.records.layouts import Layout
from ctwl_protocol.records.sealing import ProviderKeys
from ctwl_protocol.registry import Trusted, load_trusted

from .errors import ExtraMissing
from .options import ALPHA, MAX_TOKENS, ScoreName, check_alpha
from .report.analysis import Analysis
from .report.assembly import Assembler
from .report.interpretation import Interpreter
from .report.model import Outcome, Report
from .report.wording import ADD_LIGHT, files_missing
from .search.finding import Finding, find
from .search.plan import SearchPlan, TestName, registered_codes
from .search.records import RecordReader
from .search.screen import screen
from .statistics.evidence import Evidence, Observe, observe, observe_again
from .statistics.light import light_units
from .statistics.scores import Score, position_scores
from .text.tokens import TokenizedVariant, tokenize_variants

if TYPE_CHECKING:
    import torch

    from ctwl_protocol.proxy import Proxy

__all__ = ["Decoder", "decode"]

Progress = Callable[[int, int], None]


def _silent(done: int, total: int) -> None:
    pass


class Decoder:
    """A profile's decoder, with its proxy LM loaded once for many texts, when a text first needs it.

    Attributes:
        profile: its profile.
        tokenizer: the profile's tokenizer.
        registry: gives the names of providers and the registered layouts.
    """

    def __init__(
        self,
        proxy: Proxy | LaterProxy,
        observer: Observe | None = None,
        *,
        layouts: Sequence[Layout] | None = None,
        keys: ProviderKeys | None = None,
        epochs: Iterable[int] = (0,),
        registry: Trusted | None = None,
        max_tokens: int = MAX_TOKENS,
    ) -> None:
        """Make a decoder of a proxy LM.

        Args:
            proxy: the proxy runner, or one that is opened when it is first needed.
            observer: computes the evidence, see :data:`ctwl_decoder.statistics.evidence.Observe`; by default the proxy
                LM alone.
            layouts: the layouts of records that are tried; None for the specification's and the registered ones.
            keys: the provider's keys, where the provider reads: they open users and test authenticators.
            epochs: key epochs in which a user may have been sealed.
            registry: gives the names of providers and the registered layouts; by default the one that this machine
                trusts.
            max_tokens: tokens that a text may have; a longer one is refused before any other work.

        Raises:
            RegistryError: see :func:`ctwl_protocol.registry.load_trusted`.
        """
        self._proxy = proxy if isinstance(proxy, LaterProxy) else LaterProxy.of(proxy)
        self.profile, self.tokenizer = proxy.profile, proxy.tokenizer
        self.registry = registry = registry or load_trusted()
        registered = registered_codes(self.profile, registry)
        interpreter = Interpreter(self.profile, registry, keys, tuple(epochs))
        self._reader = RecordReader(self.profile, layouts or registry.registry.known_layouts(), keys, registered)
        self._assembler = Assembler(self._reader, interpreter)
        self._observer = observer
        self._max_tokens = max_tokens

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
        """Make a profile's decoder, which loads the proxy LM when it first needs it.

        Args:
            profile: a profile, its name, or its file.
            proxy_path: folder with the proxy LM's files; by default the cache, then the profile's source.
            device: a torch device; "auto" takes CUDA where there is one.
            reference: always compute in float32, the reference arithmetic. Otherwise the machine's quickest arithmetic
                within the profile's tolerance is used.
            layouts: see :class:`Decoder`.
            keys: see :class:`Decoder`.
            epochs: see :class:`Decoder`.
            registry: see :class:`Decoder`.

        Raises:
            CTWLError: see :func:`ctwl_protocol.proxy.open_later`.
        """
        proxy = open_later(profile, path=proxy_path, device=device, fast=not reference)
        return cls(proxy, layouts=layouts, keys=keys, epochs=epochs, registry=registry)

    @property
    def proxy(self) -> Proxy:
        """The proxy runner, opened at the first use.

        Raises:
            ExtraMissing: torch and transformers are not installed: this is the light reader.
            CTWLError: see :func:`ctwl_protocol.proxy.open_proxy`.
        """
        try:
            return self._proxy.open()
        except ImportError as error:
            raise ExtraMissing(
                f"the proxy LM needs {error.name or error}. The whole decoder also reads texts of fewer tokens, lower "
                "temperatures and other strategies; install it with: pip install ctwl-decoder"
            ) from error

    def with_observer(self, observer: Observe) -> Decoder:
        """The same decoder with another source of evidence; all else is shared."""
        twin = copy(self)
        twin._observer = observer
        return twin

    def decode(
        self,
        text: str,
        *,
        alpha: float = ALPHA,
        test: TestName = "exact",
        score: Score | ScoreName = "auto",
        beacons: Iterable[tuple[int, int]] | None = None,
        progress: Progress = _silent,
    ) -> Report:
        """Read which codes a text carries and where, and how often chance would show them as clearly.

        Args:
            text: the text. A text that is too short gives a report that says so.
            alpha: level of the test, on the p-value corrected for all that is searched.
            test: "exact", or "posterior" for the paper's rule on sliding windows.
            score: how positions are scored, see :mod:`ctwl_decoder.statistics.scores`: "auto" by the light scores and,
                where these are not conclusive, by ``soft`` and ``rank``, too; "light" by the light scores alone, which
                need no proxy LM; "both" by ``soft`` and ``rank`` alone. The test "posterior" always counts, and ignores
                this.
            beacons: search only the codes of these (provider, version) pairs. None searches all codes, where registered
                beacons need less evidence than others.
            progress: called with the number of positions that the proxy LM has read, and of all: first with 0, before
                the proxy LM is loaded; never where it is not needed.

        Raises:
            NotText: the string has lone surrogates, or too many combining marks on one letter.
            InputTooLarge: the text has more than ``MAX_CHARACTERS`` of :mod:`ctwl_decoder.options`, or more than
                ``max_tokens``.
            OptionOutOfRange: alpha is not strictly between 0 and 1; there is no beacon to search for.
            FieldOutOfRange: a provider or version is out of range.
            CTWLError: the proxy LM is needed and cannot be opened, see :attr:`proxy`.
            TypeError: the text is no ``str``.
        """
        return self.analyse(text, alpha=alpha, test=test, score=score, beacons=beacons, progress=progress).report

    def screened(
        self,
        text: str,
        level: float,
        *,
        alpha: float = ALPHA,
        score: Score | ScoreName = "both",
        beacons: Iterable[tuple[int, int]] | None = None,
    ) -> tuple[Outcome | None, int]:
        """Whether a text need be read no further, in milliseconds; for scans of many texts.

        Args:
            text: the text.
            level: of the screen: a text with a larger p-value by the light scores is read no further.
            alpha: as for :meth:`decode`.
            score: what the text is decoded by if it passes.
            beacons: as for :meth:`decode`.

        Returns:
            The outcome, "none" or "too-short", or None for a text that passes; and the number of its tokens.

        Raises:
            As :meth:`decode` does.
        """
        check_alpha(level, "the screen's level")
        registered = self._reader.registered
        light = SearchPlan.of(self.profile, registered, alpha=alpha, score="light", beacons=beacons)
        variants = self._tokenized(text)
        tokens = variants[0].tokens
        if screen(self.profile, variants, light, self._reader.counts, level) <= level:
            return None, tokens
        plan = SearchPlan.of(self.profile, registered, alpha=alpha, score=score, beacons=beacons)
        return ("too-short" if tokens < plan.minimum_tokens(self.profile) else "none"), tokens

    def analyse(
        self,
        text: str,
        *,
        alpha: float = ALPHA,
        test: TestName = "exact",
        score: Score | ScoreName = "auto",
        beacons: Iterable[tuple[int, int]] | None = None,
        progress: Progress = _silent,
    ) -> Analysis:
        """:meth:`decode`, with the evidence at each token beside the report.

        Texts never share a batch of the proxy LM. So a text has the same p-value to the last digit, whatever else is
        decoded.
        """
        plan = SearchPlan.of(
            self.profile, self._reader.registered, alpha=alpha, test=test, score=score, beacons=beacons
        )
        variants = self._tokenized(text)  # steps 1 to 3
        findings: list[Finding] = []
        if plan.light.score_shares:
            findings = self._read_light(variants, plan.light)
            finding = min(findings, key=lambda each: each.order)
            # By the proxy LM hardly any code is found in a text that is too short.
            too_short = finding.variant.tokens < plan.minimum_tokens(self.profile)
            if not plan.whole.score_shares or finding.is_conclusive(alpha) or (too_short and not finding.spans):
                return self._assembler.analysis(text, finding, plan)  # step 9
        try:
            findings = self._read_whole(variants, plan.whole, findings, progress)
        except ProxyNotFound as error:
            if not findings:  # nothing but the proxy LM was asked for
                raise
            light = self._assembler.analysis(text, finding, plan).report
            raise ProxyNotFound(files_missing(light, self.profile.name, error), error.fetch) from error
        except ExtraMissing as error:
            raise ExtraMissing(f"{error}. {ADD_LIGHT}" if findings else str(error)) from error
        finding = min(findings, key=lambda each: each.order)
        return self._assembler.analysis(text, finding, plan, self.proxy.arithmetic)

    def _tokenized(self, text: str) -> list[TokenizedVariant]:
        return tokenize_variants(text, self.tokenizer, self.profile, self._max_tokens)

    def _read_light(self, variants: Sequence[TokenizedVariant], plan: SearchPlan) -> list[Finding]:
        """Steps 4 to 8 by ranks alone; the second variant is read where the first shows nothing.

        The registered codes are few, so they are searched first, and all codes only where these are not conclusive.
        """
        findings: list[Finding] = []
        for variant in variants:
            units = light_units(self.profile, variant.positions)
            finding = None
            for part in plan.by_codes():
                finding = find(variant, units, part, self._reader, finding)
                if finding.is_conclusive(plan.alpha):
                    return [*findings, finding]
            findings += [finding] if finding else []
            if findings[-1].spans:
                break
        return findings

    def _read_whole(
        self, variants: Sequence[TokenizedVariant], plan: SearchPlan, light: Sequence[Finding], progress: Progress
    ) -> list[Finding]:
        """Steps 4 to 8 by the proxy LM, with what the light scores found; the variants are read as there."""
        given, *second = variants
        if len(given.positions):
            progress(0, len(given.positions))
        observer = self._observer or partial(observe, self.proxy)
        evidence = observer(given.positions, lambda done: progress(done, len(given.positions)))
        finding = find(given, self._units(evidence), plan, self._reader, light[0] if light else None)
        if not second or finding.spans:
            return [finding]
        (other,) = second
        more = observe_again(observer, other.positions, (given.positions, evidence), progress)
        return [finding, find(other, self._units(more), plan, self._reader, light[1] if light else None)]

    def _units(self, evidence: Evidence) -> Callable[[Score], NDArray[np.int8]]:
        return partial(position_scores, evidence=evidence, sigma=self.profile.sigma)


def decode(
    text: str,
    profile: str | Path | Profile = STANDARD,
    *,
    alpha: float = ALPHA,
    proxy_path: str | Path | None = None,
    device: str | torch.device = "auto",
) -> Report:
    """Decode one text; for many, keep a :class:`Decoder`.

    The proxy LM stays loaded for the next call with the same options.

    Raises:
        CTWLError: see :meth:`Decoder.open` and :meth:`Decoder.decode`.
    """
    return Decoder(_opened(profile, proxy_path, device)).decode(text, alpha=alpha)


@lru_cache(maxsize=1)
def _opened(profile: str | Path | Profile, proxy_path: str | Path | None, device: str | torch.device) -> LaterProxy:
    return open_later(profile, path=proxy_path, device=device, fast=True)

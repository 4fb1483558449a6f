"""Decoding, in the steps of spec section 10.

text -> tokens -> evidence -> scores -> candidates -> records -> spans -> report
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from functools import lru_cache, partial
from pathlib import Path

import torch

from ctwl_protocol.profile import STANDARD
from ctwl_protocol.profile.document import Profile
from ctwl_protocol.proxy import Proxy, open_proxy
from ctwl_protocol.records.layouts import Layout
from ctwl_protocol.records.sealing import ProviderKeys
from ctwl_protocol.registry import Trusted, load_trusted

from .options import ALPHA, ScoreName
from .report.analysis import Analysis
from .report.assembly import Assembler
from .report.interpretation import Interpreter
from .report.model import Report
from .search.finding import find
from .search.plan import SearchPlan, TestName, registered_codes
from .search.records import RecordReader
from .statistics.evidence import Observe, observe, observe_again
from .statistics.scores import Score
from .text.tokens import tokenize_variants

__all__ = ["Decoder", "decode"]

Progress = Callable[[int, int], None]


def _silent(done: int, total: int) -> None:
    pass


class Decoder:
    """A profile's decoder, with its proxy LM loaded once for many texts.

    Attributes:
        proxy: the proxy runner.
        profile: its profile.
    """

    def __init__(
        self,
        proxy: Proxy,
        observer: Observe | None = None,
        *,
        layouts: Sequence[Layout] | None = None,
        keys: ProviderKeys | None = None,
        epochs: Iterable[int] = (0,),
        registry: Trusted | None = None,
    ) -> None:
        """Make a decoder of a loaded proxy LM.

        Args:
            proxy: the proxy runner.
            observer: computes the evidence, see :data:`ctwl_decoder.statistics.evidence.Observe`; by default the proxy
                LM alone.
            layouts: the layouts of records that are tried; None for the specification's and the registered ones.
            keys: the provider's keys, where the provider reads: they open users and test authenticators.
            epochs: key epochs in which a user may have been sealed.
            registry: gives the names of providers and the registered layouts; by default the one that this machine
                trusts.

        Raises:
            RegistryError: see :func:`ctwl_protocol.registry.load_trusted`.
        """
        self.proxy = proxy
        self.profile = proxy.profile
        registry = registry or load_trusted()
        registered = registered_codes(self.profile, registry)
        interpreter = Interpreter(self.profile, registry, keys, tuple(epochs))
        self._reader = RecordReader(self.profile, layouts or registry.registry.known_layouts(), keys, registered)
        self._assembler = Assembler(self._reader, interpreter, proxy.arithmetic)
        self._observer = observer or partial(observe, proxy)

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
        """Load a profile's proxy LM and make its decoder.

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
            CTWLError: see :func:`ctwl_protocol.proxy.open_proxy`.
        """
        proxy = open_proxy(profile, path=proxy_path, device=device, fast=not reference)
        return cls(proxy, layouts=layouts, keys=keys, epochs=epochs, registry=registry)

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
        score: Score | ScoreName = "both",
        beacons: Iterable[tuple[int, int]] | None = None,
        progress: Progress = _silent,
    ) -> Report:
        """Read which codes a text carries and where, and how often chance would show them as clearly.

        Args:
            text: the text. A text that is too short gives a report that says so.
            alpha: level of the test, on the p-value corrected for all that is searched.
            test: "exact", or "posterior" for the paper's rule on sliding windows.
            score: how positions are scored, see :mod:`ctwl_decoder.statistics.scores`; "both" for ``soft`` and ``rank``
                side by side. The test "posterior" always counts, and ignores this.
            beacons: search only the codes of these (provider, version) pairs. None searches all codes, where registered
                beacons need less evidence than others.
            progress: called with the number of positions that are done, and of all.

        Raises:
            NotText: the string has lone surrogates, or too many combining marks on one letter.
            InputTooLarge: the text exceeds ``MAX_CHARACTERS`` or ``MAX_TOKENS`` of :mod:`ctwl_decoder.options`.
            OptionOutOfRange: alpha is not strictly between 0 and 1; there is no beacon to search for.
            FieldOutOfRange: a provider or version is out of range.
            TypeError: the text is no ``str``.
        """
        return self.analyse(text, alpha=alpha, test=test, score=score, beacons=beacons, progress=progress).report

    def analyse(
        self,
        text: str,
        *,
        alpha: float = ALPHA,
        test: TestName = "exact",
        score: Score | ScoreName = "both",
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
        given, *second = tokenize_variants(text, self.proxy.tokenizer, self.profile)  # steps 1 to 3
        evidence = self._observer(given.positions, lambda done: progress(done, len(given.positions)))  # step 4
        finding = find(given, evidence, plan, self._reader)  # steps 5 to 8
        if second and not finding.spans:  # the second variant, read where the first shows nothing
            (other,) = second
            more = observe_again(self._observer, other.positions, (given.positions, evidence), progress)
            finding = min(finding, find(other, more, plan, self._reader), key=lambda each: each.order)
        return self._assembler.analysis(text, finding, plan)  # step 9


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
    return Decoder(_loaded(profile, proxy_path, device)).decode(text, alpha=alpha)


@lru_cache(maxsize=1)
def _loaded(profile: str | Path | Profile, proxy_path: str | Path | None, device: str | torch.device) -> Proxy:
    return open_proxy(profile, path=proxy_path, device=device, fast=True)

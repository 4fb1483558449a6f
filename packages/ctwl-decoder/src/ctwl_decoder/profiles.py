"""Reading by several profiles: one test on a text, whose p-value pays for the number of profiles.

Nobody knows the profile of a text from elsewhere. So all published ones are tried where none is named, the quick
readings of all before a language model is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, Unpack

from ctwl_protocol import get_profile
from ctwl_protocol.errors import CTWLError, ProxyNotFound
from ctwl_protocol.profile import read_by_default
from ctwl_protocol.profile.document import Profile
from ctwl_protocol.proxy import Proxy, open_proxy
from ctwl_protocol.records.sealing import ProviderKeys
from ctwl_protocol.registry import Trusted

from .decoder import Decoder, Search
from .errors import ExtraMissing, OptionOutOfRange
from .options import ALPHA
from .reading import Progress, Reading
from .reading_model import ReadingModel
from .report.analysis import Analysis
from .report.model import BodyReport, ProfileRead, Report, Result
from .report.wording import why_held

_ReportT = TypeVar("_ReportT", bound=Result)


class Decoders:
    """Decoders of several profiles, which read a text as one test.

    >>> decoders = Decoders.open()
    >>> report = decoders.decode(letter)
    >>> report.outcome, report.provider, report.profile, len(report.profiles)
    ('found', 700, 'org.ctwl.smollm2-135m.1', 2)

    Attributes:
        decoders: a decoder for each profile.
        optional: whether a profile whose language model is not here is read by ranks alone, and named in the report.
            Else that is an error.
    """

    def __init__(self, decoders: Sequence[Decoder], *, optional: bool = False) -> None:
        self.decoders, self.optional = tuple(decoders), optional

    @classmethod
    def open(
        cls,
        profiles: Iterable[str | Path | Profile] | None = None,
        *,
        proxy_path: str | Path | None = None,
        device: str = "cpu",
        reading_model: str | Path | None = None,
        prompt: str | None = None,
        keys: ProviderKeys | None = None,
        **options: Any,
    ) -> Decoders:
        """Make a decoder for each profile.

        Args:
            profiles: profiles, or their names or files; None for all published ones. Of these no language model is
                fetched, and one that is not here is named in the report.
            proxy_path: see :meth:`Decoder.open`; for one profile alone.
            device: see :meth:`Decoder.open`.
            reading_model: see :meth:`Decoder.open`.
            prompt: see :meth:`Decoder.open`.
            keys: see :class:`Decoder`.
            options: the other options of :class:`Decoder`.

        Raises:
            OptionOutOfRange: a folder of files for several profiles.
            CTWLError: see :meth:`Decoder.open`.
        """
        proxies = open_proxies(profiles, proxy_path, device)
        models: Sequence[ReadingModel | None] = [None] * len(proxies)
        if reading_model:
            models = ReadingModel.open_each(reading_model, proxies, prompt, device)
        pairs = zip(proxies, models, strict=True)
        decoders = [Decoder(proxy, reading_model=model, keys=keys, **options) for proxy, model in pairs]
        return cls(decoders, optional=profiles is None)

    @property
    def registry(self) -> Trusted:
        """Gives the names of providers and the registered layouts."""
        return self.decoders[0].registry

    def load(self) -> dict[str, CTWLError]:
        """Load the language models, if they are not loaded; where some may be missing, why, by the profile's name.

        Raises:
            CTWLError: see :meth:`Decoder.load`; where some may be missing, none is here.
        """
        missing: dict[str, CTWLError] = {}
        for decoder in self.decoders:
            try:
                decoder.load()
            except (ProxyNotFound, ExtraMissing) as error:
                if not self.optional or len(missing) + 1 == len(self.decoders):
                    raise
                missing[decoder.profile.name] = error
        return missing

    def decode(self, text: str, progress: Progress = lambda done, total: None, **search: Unpack[Search]) -> Report:
        """Read which codes a text carries and where, see :meth:`Decoder.decode`; ``alpha`` is for all profiles."""
        return self.analyse(text, progress, **search).report

    def analyse(self, text: str, progress: Progress = lambda done, total: None, **search: Unpack[Search]) -> Analysis:
        """:meth:`decode`, with the evidence at each token beside the report.

        All profiles are read a step at a time, and no further where one is conclusive.
        """
        share = self._share_of(search)
        readings = [decoder.begin(text, **share) for decoder in self.decoders]
        missing = self._read(readings, progress)
        analyses = [reading.analysis() if reading.begun else None for reading in readings]
        reports = [analysis.report if analysis else None for analysis in analyses]
        report = self._of_all(reports, search, missing)
        (clearest,) = (each for each in analyses if each and each.report.profile_digest == report.profile_digest)
        return replace(clearest, report=report)

    def _read(self, readings: Sequence[Reading], progress: Progress) -> dict[str, CTWLError]:
        """Read a text by all profiles; why a language model that may be missing is, by the profile's name."""
        missing: dict[str, CTWLError] = {}
        running = {reading: reading.steps(progress) for reading in readings}
        while running:
            for reading, steps in list(running.items()):
                try:
                    next(steps)
                except StopIteration:
                    del running[reading]
                except (ProxyNotFound, ExtraMissing) as error:
                    if not self.optional:
                        raise
                    del running[reading]
                    missing[reading.profile.name] = error
                if reading.is_conclusive:
                    return missing
        return missing

    def decode_together(self, texts: Sequence[str], **search: Unpack[Search]) -> BodyReport:
        """Read several texts of one origin as one body, see :meth:`Decoder.decode_together`.

        Where language models may be missing, the light scores alone read by a profile whose model is.
        """
        share, missing = self._share_of(search), dict[str, CTWLError]()
        reports: list[BodyReport | None] = []
        for decoder in self.decoders:
            try:
                reports.append(decoder.decode_together(texts, **share))
            except (ProxyNotFound, ExtraMissing) as error:
                if not self.optional:
                    raise
                missing[decoder.profile.name] = error
                by_ranks: Search = {**share, "score": "light"}
                light = share.get("score", "auto") == "auto"
                reports.append(decoder.decode_together(texts, **by_ranks) if light else None)
        return self._of_all(reports, search, missing)

    def _share_of(self, search: Search) -> Search:
        """What each profile searches: at its share of the level."""
        beacons = search.get("beacons")
        alpha = search.get("alpha", ALPHA) / len(self.decoders)
        return {**search, "alpha": alpha, "beacons": None if beacons is None else list(beacons)}

    def _of_all(self, reports: Sequence[_ReportT | None], search: Search, missing: Mapping[str, CTWLError]) -> _ReportT:
        """The report of the profile that shows the most. It pays for all, and names what each shows.

        Raises:
            CTWLError: no profile has a report, because its language model is missing.
        """
        paid, begun = len(self.decoders), [report for report in reports if report]
        if not begun:  # nothing but the language models was asked for
            raise next(iter(missing.values()))
        profiles = [
            _profile_read(decoder.profile.name, report, paid, missing.get(decoder.profile.name))
            for decoder, report in zip(self.decoders, reports, strict=True)
        ]
        report = min(begun, key=lambda report: (not report.detected, report.p_value))
        return paying(report, paid, search.get("alpha", ALPHA)).model_copy(update={"profiles": profiles})


def decode(text: str, profile: str | Path | Profile | None = None, *, alpha: float = ALPHA) -> Report:
    """Decode one text; for many, or with other options, keep :class:`Decoders` or a :class:`Decoder`.

    >>> str(decode("Too short for a code.", "org.ctwl.smollm2-135m.1"))
    'too-short: p = 1, 6 tokens, org.ctwl.smollm2-135m.1'

    The proxy LMs stay loaded for the next call with the same profile.

    Args:
        text: the text.
        profile: a profile, its name or its file; None for all published ones, see :meth:`Decoders.open`.
        alpha: level of the test.

    Raises:
        CTWLError: see :meth:`Decoders.open` and :meth:`Decoder.decode`.
    """
    return Decoders([Decoder(proxy) for proxy in _opened(profile)], optional=profile is None).decode(text, alpha=alpha)


@lru_cache(maxsize=1)
def _opened(profile: str | Path | Profile | None) -> list[Proxy]:
    return open_proxies(None if profile is None else [profile])


def open_proxies(
    profiles: Iterable[str | Path | Profile] | None, path: str | Path | None = None, device: str = "cpu"
) -> list[Proxy]:
    """The proxy LM of each profile; profiles of one proxy LM share it.

    Args:
        profiles: profiles, or their names or files; None for all published ones, of which nothing is fetched.
        path: see :func:`ctwl_protocol.proxy.open_proxy`.
        device: see there.

    Raises:
        OptionOutOfRange: there is no profile, or a path for several.
        CTWLError: see there.
    """
    named = dict.fromkeys(map(get_profile, read_by_default() if profiles is None else profiles))
    if not named:
        raise OptionOutOfRange("name the profiles in a list of one or more")
    if path is not None and len(named) > 1:
        raise OptionOutOfRange("--proxy has the files of one proxy LM, so name its profile too: --profile NAME")
    proxies: list[Proxy] = []
    for profile in named:
        parts = profile.proxy, profile.tokenizer
        same = next((proxy for proxy in proxies if (proxy.profile.proxy, proxy.profile.tokenizer) == parts), None)
        shared = same and same.shared_with(profile)
        proxies.append(shared or open_proxy(profile, path=path, device=device, fetch=profiles is not None))
    return proxies


def paying(report: _ReportT, paid: int, alpha: float) -> _ReportT:
    """A report whose p-values pay for so many profiles, beside the level of all of them."""
    if paid == 1:
        return report

    def pay(part: Any) -> Any:
        return part and part.model_copy(update={"p_value": min(1.0, paid * part.p_value)})

    changed: dict[str, Any] = {"alpha": alpha, "p_value": min(1.0, paid * report.p_value)}
    if held := report.held_back:
        needed = held.needed and paid * held.needed
        says = why_held(held.rule, needed, held.contexts)
        changed["held_back"] = held.model_copy(update={"needed": needed, "says": says})
    if isinstance(report, Report):
        changed |= {"spans": list(map(pay, report.spans)), "likeliest": pay(report.likeliest)}
    return report.model_copy(update=changed)


def _profile_read(name: str, report: Result | None, paid: int, error: CTWLError | None) -> ProfileRead:
    return ProfileRead(
        name=name,
        read="no" if report is None else report.read,
        outcome=None if report is None else report.outcome,
        p_value=None if report is None else min(1.0, paid * report.p_value),
        missing=None if error is None else str(error),
        fetch=(isinstance(error, ProxyNotFound) and error.fetch) or None,
    )

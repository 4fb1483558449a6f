"""The batched reader: it can be pickled, and each process opens its decoders when it first reads."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

from ctwl_decoder import Decoder, Decoders, Reading, Screened, Search, open_proxies, paying
from ctwl_decoder.errors import ExtraMissing, TextRefused
from ctwl_decoder.report import Outcome, Report
from ctwl_decoder.words import say
from ctwl_protocol import CTWLError

from .errors import ScanSettingsDiffer, TextMissing
from .settings import Settings

_MARGIN = 100
"""A light reading has the scores of its screen, so it goes on where the screen is within so many times the level.
Chosen by hand: at the default level it lets one of a hundred unmarked texts pass."""

_TOKENS_A_SECOND = 100
"""What a proxy LM reads on one core, about (docs/corpora.md)."""

_logger = logging.getLogger(__name__)

PREFIX = "ctwl_"
"""Begins the names of our columns in the tables of others."""

Progress = Callable[[float], None]
"""Called with the part of the work that is done, from 0 to 1."""


@dataclass(frozen=True)
class Row:
    """What was read of a text. The names are those of :class:`ctwl_decoder.Report`.

    Attributes:
        detected: whether a code was found; None where the text could not be read, see ``error``.
        outcome: "found", "none" or "too-short".
        read: how far the text was read: "screened" where the screen showed nothing; else "light" or "whole".
        profile: name of the profile that shows the most.
        code, provider, version, nonce, record: of the clearest passage; None unless ``detected``.
        p_value: corrected for all codes, places and profiles that were searched in this text; None for a text that was
            screened, unless the settings ask for it.
        tokens: the text's length, in tokens of that profile's proxy LM.
        spans: the passages with a code, which count in characters.
        error, message: the code of an error and a sentence, where the text could not be read.
    """

    detected: bool | None = None
    outcome: Outcome | None = None
    read: Literal["screened", "light", "whole"] | None = None
    profile: str | None = None
    code: int | None = None
    provider: int | None = None
    version: int | None = None
    nonce: int | None = None
    p_value: float | None = None
    record: dict[str, Any] | None = None
    tokens: int | None = None
    spans: list[dict[str, Any]] | None = None
    error: str | None = None
    message: str | None = None

    @classmethod
    def of(cls, report: Report) -> Row:
        """The row of a report."""
        return cls(**report.model_dump(include=set(cls.__dataclass_fields__)))


@dataclass
class BatchReader:
    """Reads many texts. It can be pickled: each process opens the decoders for itself, when it first reads.

    >>> reader = BatchReader(Settings(["org.ctwl.smollm2-135m.1"], beacons=[(42, 3)]))
    >>> [row] = reader.read(["Too short for a code."])
    >>> row.outcome, row.read
    ('too-short', 'screened')

    Attributes:
        settings: the settings.
        proxy_path: see :meth:`ctwl_decoder.Decoder.open`; a path on every machine.
        device: see :meth:`ctwl_decoder.Decoder.open`.
        arithmetic: what the proxy LM must compute in; None for what each machine chooses.
        says_cost: whether to say in the log, before the first batch, what the proxy LMs will read of it.
    """

    says_cost: ClassVar[bool] = True

    settings: Settings = field(default_factory=Settings)
    proxy_path: str | Path | None = None
    device: str = "cpu"
    arithmetic: str | None = None
    _told: bool = field(default=False, init=False, repr=False, compare=False)

    @cached_property
    def decoders(self) -> list[Decoder]:
        """A decoder for each profile. Profiles of one proxy LM share it.

        See :attr:`missing` for published profiles that nobody named.

        Raises:
            ExtraMissing: a package is not installed that the proxy LM needs.
            ScanSettingsDiffer: this machine chooses another arithmetic.
            CTWLError: see :meth:`ctwl_decoder.Decoder.open`.
        """
        proxies = open_proxies(self.settings.profiles, self.proxy_path, self.device)
        decoders = [Decoder(proxy, registry=self.settings.registry) for proxy in proxies]
        arithmetic = self._arithmetic(decoders)
        if self.arithmetic not in (None, arithmetic):
            raise ScanSettingsDiffer(
                f"the proxy LM computes in {arithmetic} on this machine and in {self.arithmetic} where the scan "
                "began; use --device cpu, or machines of one kind"
            )
        return decoders

    @property
    def computes_in(self) -> str:
        """What the proxy LMs compute in, which are loaded for it; "integer" where none is asked."""
        return self._arithmetic(self.decoders)

    @cached_property
    def missing(self) -> dict[str, CTWLError]:
        """Why a proxy LM is not here, by the name of its profile; these profiles are read by the light scores alone.

        Of profiles that are named none may be missing.

        Raises:
            CTWLError: see :attr:`decoders`; or none is here.
        """
        return self._missing(self.decoders)

    def _missing(self, decoders: Sequence[Decoder]) -> dict[str, CTWLError]:
        if self.settings.light:
            return {}
        try:
            return Decoders(decoders, optional=self.settings.profiles is None).load()
        except ExtraMissing as error:
            raise ExtraMissing(f"{error}. {say('report-add-light')}") from error

    def _arithmetic(self, decoders: Sequence[Decoder]) -> str:
        if self.settings.light:
            return "integer"
        missing = self._missing(decoders)
        found = ["integer" if each.profile.name in missing else each.load() for each in decoders]
        return " ".join(sorted(set(found)))

    def __getstate__(self) -> dict[str, Any]:
        """All but the decoders, which each process opens for itself."""
        return {name: value for name, value in vars(self).items() if name not in ("decoders", "missing", "_told")}

    def read(self, texts: Iterable[str | None], progress: Progress = lambda part: None) -> list[Row]:
        """A row for each text; one that is no text, or cannot be read, gives a row with an error.

        Args:
            texts: the texts.
            progress: called with the part of the tokens that is done.

        Raises:
            CTWLError: see :attr:`decoders`.
        """
        begun = [self._begun(text) for text in texts]
        if self.says_cost and not (self.settings.light or self._told):
            self._tell_cost([readings for readings in begun if not isinstance(readings, Row)])
        sizes = [0 if isinstance(readings, Row) else readings[0][0].tokens for readings in begun]
        rows, done, total = [], 0, max(sum(sizes), 1)
        for readings, size in zip(begun, sizes, strict=True):
            rows.append(self._row(readings, _within(done / total, size / total, progress)))
            done += size
        return rows

    def _begun(self, text: str | None) -> list[tuple[Reading, Screened | None]] | Row:
        """A text by each profile, and what the screen saw of it; the row of one that cannot be read."""
        if not isinstance(text, str):
            return Row(error=TextMissing.code, message="there is no text here")
        try:
            readings = [decoder.begin(text, **self._search(decoder)) for decoder in self.decoders]
        except TextRefused as error:
            return Row(error=error.code, message=str(error))
        return [(reading, self._screened(reading)) for reading in readings]

    def _screened(self, reading: Reading) -> Screened | None:
        if self.settings.screen is None:
            return None
        level = self.settings.screen
        if not reading.plan.whole.score_shares:
            level = min(level, _MARGIN * reading.plan.alpha)
        return reading.screened(level, every=self.settings.p_values)

    def _tell_cost(self, begun: Sequence[Sequence[tuple[Reading, Screened | None]]]) -> None:
        """Say, before the first batch, what the proxy LMs will read of it: a large corpus may take days."""
        self._told = True
        tokens = [
            [
                reading.tokens
                for reading, seen in readings
                if reading.plan.whole.score_shares and (seen is None or seen.outcome is None)
            ]
            for readings in begun
        ]
        total = sum(map(sum, tokens))
        _logger.warning(
            "of the first batch of %d texts the proxy LM reads %d, with %d tokens, which takes about %d seconds on one "
            "core; light=True reads by ranks alone",
            len(begun), sum(map(bool, tokens)), total, round(total / _TOKENS_A_SECOND),
        )  # fmt: skip

    def _row(self, readings: Sequence[tuple[Reading, Screened | None]] | Row, progress: Progress) -> Row:
        """What the profile shows of a text that shows the most."""
        if isinstance(readings, Row):
            return readings
        share = 1 / len(readings)
        rows = [self._by(*each, _within(i * share, share, progress)) for i, each in enumerate(readings)]
        return min(rows, key=lambda row: (not row.detected, 2.0 if row.p_value is None else row.p_value))

    def _by(self, reading: Reading, seen: Screened | None, progress: Progress) -> Row:
        """What one profile shows of a text."""
        settings, paid = self.settings, len(self.decoders)
        if seen is not None and seen.outcome is not None:
            p_value = min(1.0, paid * seen.p_value) if settings.p_values else None
            name = reading.profile.name
            return Row(False, seen.outcome, "screened", name, p_value=p_value, tokens=seen.tokens, spans=[])
        for _ in reading.steps(lambda done, total: progress(done / max(total, 1))):
            pass
        return Row.of(paying(reading.analysis().report, paid, settings.alpha))

    def _search(self, decoder: Decoder) -> Search:
        """How a profile's decoder reads a text."""
        light = self.settings.light or decoder.profile.name in self.missing
        beacons, alpha = self.settings.beacons_of(decoder.profile), self.settings.alpha / len(self.decoders)
        return {"score": "light" if light else "whole", "beacons": beacons, "alpha": alpha}


def _within(start: float, share: float, progress: Progress) -> Progress:
    """The progress of one part of the work."""
    return lambda part: progress(start + share * part)

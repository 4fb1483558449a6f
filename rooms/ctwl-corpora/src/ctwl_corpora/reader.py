"""The batched reader: it can be pickled, and each process opens its decoders when it first reads."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from ctwl_decoder import Decoder, Decoders, open_proxies
from ctwl_decoder.errors import ExtraMissing, InputTooLarge, NotText
from ctwl_decoder.options import SCREEN
from ctwl_decoder.report import ADD_LIGHT, Outcome, Report
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
    def of(cls, report: Report, paid: int) -> Row:
        """The row of a report, where the p-value also pays for so many profiles."""
        found = report.model_dump(include=set(cls.__dataclass_fields__))
        for each in (found, *found["spans"]):
            each["p_value"] = min(1.0, paid * each["p_value"])
        return cls(**found)


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
    """

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
            raise ExtraMissing(f"{error}. {ADD_LIGHT}") from error

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
            progress: called with the part of the characters that is done.

        Raises:
            CTWLError: see :attr:`decoders`.
        """
        texts = list(texts)
        if not (self.settings.light or self._told):
            self._tell_cost([text for text in texts if isinstance(text, str)])
        sizes = [len(text) if isinstance(text, str) else 0 for text in texts]
        rows, done, total = [], 0, max(sum(sizes), 1)
        for text, size in zip(texts, sizes, strict=True):
            rows.append(self._read(text, _within(done / total, size / total, progress)))
            done += size
        return rows

    def _tell_cost(self, texts: Sequence[str]) -> None:
        """Say, before the first batch, what the proxy LMs will read of it: a large corpus may take days."""
        self._told, screen, tokens, passing = True, self.settings.screen, 0, 0
        whole = [(each, options) for each in self.decoders if (options := self._options(each))["score"] == "whole"]
        for text in texts:
            with suppress(NotText, InputTooLarge):
                seen = [decoder.screened(text, screen or SCREEN, **options) for decoder, options in whole]
                read = [each.tokens for each in seen if screen is None or each.outcome is None]
                tokens, passing = tokens + sum(read), passing + bool(read)
        _logger.warning(
            "of the first batch of %d texts the proxy LM reads %d, with %d tokens, which takes about %d seconds on one "
            "core; light=True reads by ranks alone",
            len(texts), passing, tokens, round(tokens / _TOKENS_A_SECOND),
        )  # fmt: skip

    def _read(self, text: str | None, progress: Progress) -> Row:
        if not isinstance(text, str):
            return Row(error=TextMissing.code, message="there is no text here")
        share = 1 / len(self.decoders)
        try:
            parts = enumerate(self.decoders)
            rows = [self._by(decoder, text, _within(i * share, share, progress)) for i, decoder in parts]
        except (NotText, InputTooLarge) as error:
            return Row(error=error.code, message=str(error))
        return min(rows, key=lambda row: (not row.detected, 2.0 if row.p_value is None else row.p_value))

    def _options(self, decoder: Decoder) -> dict[str, Any]:
        """How a profile's decoder reads a text."""
        light = self.settings.light or decoder.profile.name in self.missing
        beacons, alpha = self.settings.beacons_of(decoder.profile), self.settings.alpha / len(self.decoders)
        return {"score": "light" if light else "whole", "beacons": beacons, "alpha": alpha}

    def _by(self, decoder: Decoder, text: str, progress: Progress) -> Row:
        """What one profile shows of a text."""
        settings, paid, profile = self.settings, len(self.decoders), decoder.profile
        options = self._options(decoder)
        if settings.screen is not None:
            light = options["score"] == "light"
            level = min(settings.screen, _MARGIN * options["alpha"]) if light else settings.screen
            seen = decoder.screened(text, level, every=settings.p_values, **options)
            if seen.outcome is not None:
                p_value = min(1.0, paid * seen.p_value) if settings.p_values else None
                return Row(False, seen.outcome, "screened", profile.name, p_value=p_value, tokens=seen.tokens, spans=[])
        report = decoder.decode(text, progress=lambda done, total: progress(done / max(total, 1)), **options)
        return Row.of(report, paid)


def _within(start: float, share: float, progress: Progress) -> Progress:
    """The progress of one part of the work."""
    return lambda part: progress(start + share * part)

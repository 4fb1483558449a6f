"""The detectors: each takes a text and a level, and gives what is answered of it."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ctwl_decoder.errors import needing
from ctwl_decoder.options import MAX_TOKENS
from ctwl_protocol import get_profile
from ctwl_protocol.asking import MAX_ANSWER, Answer, Question
from ctwl_protocol.errors import AnswerMalformed, first_line
from ctwl_protocol.profile import has_public_key
from ctwl_protocol.schema import describe_error, read_json

from ..errors import DetectorFailed, DetectorMalformed, KeepRefused, ProviderUnknown, RequestCancelled
from ..serve.turns import Turns
from . import p_values
from .settings import Ctwl, Gumbel, Kgw, Program, Settings

SECONDS = 50.0
"""For a command of the provider's own."""

_LOOK = 0.5
"""Seconds after which it is asked again whether somebody still waits for the command."""

_TOO_SHORT = "The text is too short."


class Finding(BaseModel):
    """What a detector says of a text; a command of the provider's own prints it as JSON.

    Attributes:
        error_rate: how often another text looks at least so clear; None where it cannot tell.
        places: the passages found, in characters; none where it judges the text as a whole.
        says: words for people.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    error_rate: float | None = Field(ge=0, le=1)
    places: list[tuple[int, int]] = Field(default=[], max_length=64)
    says: str = Field(default="", max_length=500)


Detect = Callable[[str, float, Event], Finding]
"""From a text and a level to a finding. When the event is set, nobody waits for it any more."""


class Detector:
    """A provider's detector, loaded.

    Attributes:
        settings: what it is.
    """

    def __init__(self, settings: Settings, max_tokens: int = MAX_TOKENS) -> None:
        """Load it; a language model reads texts of at most so many tokens.

        Raises:
            DetectorMalformed: its tokenizer cannot be read.
            ExtraMissing: a package is missing.
            CTWLError: its profile cannot be opened.
        """
        self.settings = settings
        self._model_thread = ThreadPoolExecutor(1, thread_name_prefix="ctwl-proxy")
        self._detect = _opened(settings, max_tokens, self._model_thread)

    def close(self) -> None:
        """End what waits for the language model: ServiceClosing is raised there."""
        self._model_thread.shutdown(cancel_futures=True)

    def check(self, question: Question) -> None:
        """Refuse (ProviderUnknown, KeepRefused) a question before any work."""
        if question.provider != self.settings.provider:
            raise ProviderUnknown(f"this is the detector of provider {self.settings.provider}; ask the registry again")
        if isinstance(self.settings, Program) and self.settings.keeps_days > question.keep_days:
            raise KeepRefused(f"this detector keeps texts for {self.settings.keeps_days} days; ask with that keep_days")

    def answer(self, question: Question, given_up: Event | None = None) -> Answer:
        """The answer to a question; once the event is set, nobody waits for it.

        Raises:
            ProviderUnknown, KeepRefused: see :meth:`check`.
            DetectorFailed: the provider's command fails.
            InputTooLarge: the text has too many tokens.
            RequestCancelled: nobody waits for it.
        """
        self.check(question)
        found = self._detect(question.text, question.level, given_up or Event())
        own = self.settings if isinstance(self.settings, Program) else None
        kept_days = own.keeps_days if own else 0
        common: dict[str, Any] = {"provider": question.provider, "says": found.says, "kept_days": kept_days}
        if found.error_rate is None:
            return Answer(outcome="unable", basis=(), error_rate=None, measured=None, **common)
        is_found = found.error_rate <= question.level
        try:
            answer = Answer(
                outcome="found" if is_found else "none",
                basis=tuple(own.basis) if own else ("watermark",),
                error_rate=found.error_rate,
                measured=bool(own and own.measured),
                places=tuple(found.places) if is_found else (),
                **common,
            )
            answer.check(question)
        except (ValidationError, AnswerMalformed) as error:
            raise DetectorFailed("the detector's finding contradicts itself; tell its provider") from error
        return answer


def _opened(settings: Settings, max_tokens: int, model_thread: ThreadPoolExecutor) -> Detect:
    match settings:
        case Ctwl():
            return _ctwl(settings, max_tokens, model_thread)
        case Program():
            return partial(_run, settings)
    tokens, size = _tokenizer(settings.tokenizer)
    with needing("detector", "this detector"):
        import scipy  # noqa: F401 - what is missing is said at the start
    if isinstance(settings, Gumbel):
        return lambda text, *_: _by_p_value(p_values.gumbel(tokens(text), settings.key))
    with needing("torch", f"the kind {settings.kind}"):
        from transformers import SynthIDTextWatermarkingConfig, WatermarkingConfig
    told = settings.model_dump(exclude={"kind", "provider", "tokenizer", "vocabulary"})
    whole = settings.vocabulary or size
    if isinstance(settings, Kgw):
        kgw = WatermarkingConfig(**told)
        return lambda text, *_: _by_p_value(p_values.kgw(tokens(text), kgw, whole))
    synthid = SynthIDTextWatermarkingConfig(**told)
    return lambda text, *_: _by_p_value(p_values.synthid(tokens(text), synthid, whole))


def _by_p_value(p_value: float | None) -> Finding:
    return Finding(error_rate=p_value, says=_TOO_SHORT if p_value is None else "")


def _tokenizer(path: str) -> tuple[Callable[[str], list[int]], int]:
    """From a text to its tokens, without special ones; and the size of the vocabulary."""
    from tokenizers import Tokenizer

    file = Path(path) / "tokenizer.json" if Path(path).is_dir() else Path(path)
    try:
        found = Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises nothing narrower
        raise DetectorMalformed(f"cannot read the tokenizer {file}: {first_line(error)}") from error
    return lambda text: list(found.encode(text, add_special_tokens=False).ids), found.get_vocab_size()


def _ctwl(settings: Ctwl, max_tokens: int, model_thread: ThreadPoolExecutor) -> Detect:
    from ctwl_decoder import Decoder
    from ctwl_protocol.proxy import open_proxy

    profile = get_profile(settings.profile)
    proxy = open_proxy(profile, path=settings.proxy)
    if not settings.light:
        Decoder(proxy).load()
    own = [(settings.provider, version) for version in range(16)] if has_public_key(profile) else None

    def detect(text: str, level: float, given_up: Event) -> Finding:
        turns = Turns(proxy, model_thread, cancelled=given_up)
        decoder = Decoder(proxy, max_tokens=max_tokens, weigh=turns)
        report = decoder.decode(text, alpha=level, score="light" if settings.light else "auto", beacons=own)
        if report.outcome == "too-short":
            return Finding(error_rate=None, says=_TOO_SHORT)
        if not report.detected and report.p_value <= level:
            return Finding(error_rate=None, says="Texts of this kind may fit the code without a watermark.")
        return Finding(error_rate=report.p_value, places=[(span.start, span.end) for span in report.spans[:64]])

    return detect


def _run(settings: Program, text: str, level: float, given_up: Event) -> Finding:
    """Ask a command.

    Raises:
        DetectorFailed: it fails, takes too long, or prints something else.
        RequestCancelled: nobody waits for it.
    """
    try:
        printed = _printed([*settings.command, str(level)], text.encode(), given_up)
        return Finding.model_validate_json(json.dumps(read_json(printed[: MAX_ANSWER + 1])))
    except (OSError, subprocess.SubprocessError) as error:
        raise DetectorFailed(f"the detector's command failed: {type(error).__name__}; try again later") from error
    except ValidationError as error:
        raise DetectorFailed(f"the detector's command prints no finding: {describe_error(error)}") from error
    except ValueError as error:
        raise DetectorFailed("the detector's command prints no JSON") from error


def _printed(command: Sequence[str], given: bytes, given_up: Event) -> bytes:
    """What a command prints; it is ended where it takes too long, or nobody waits for it."""
    began, left = time.monotonic(), given or None
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as running:
        try:
            while True:
                with suppress(subprocess.TimeoutExpired):
                    printed, _ = running.communicate(left, timeout=_LOOK)
                    break
                left = None  # it is on its way
                if given_up.is_set():
                    raise RequestCancelled("the request was cancelled")
                if time.monotonic() - began > SECONDS:
                    raise subprocess.TimeoutExpired(command, SECONDS)
        except BaseException:
            running.kill()
            raise
    if running.returncode:
        raise subprocess.CalledProcessError(running.returncode, command)
    return printed

"""A profile's decoder, as callers use it; :mod:`.reading` has the way of a text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypedDict, Unpack

from ctwl_protocol.profile import STANDARD
from ctwl_protocol.profile.document import Profile
from ctwl_protocol.proxy import Proxy, open_proxy
from ctwl_protocol.records.beacon import BEACON_BITS
from ctwl_protocol.records.layouts import Layout
from ctwl_protocol.records.sealing import ProviderKeys
from ctwl_protocol.registry import Trusted, load_trusted

from .errors import OptionOutOfRange, needing
from .options import ALPHA, MAX_TOKENS, ScoreName
from .reading import Pipeline, Progress, Reading, Screened
from .reading_model import ReadingModel
from .report.analysis import Analysis
from .report.assembly import Assembler
from .report.interpretation import Interpreter
from .report.model import BodyReport, Report
from .search.plan import SearchPlan, registered_codes
from .search.records import RecordReader
from .search.together import MOST_TEXTS
from .statistics.evidence import Weigh
from .statistics.scores import Score


class Search(TypedDict, total=False):
    """What is searched in a text; see :meth:`Decoder.decode`."""

    alpha: float
    score: Score | ScoreName
    beacons: Iterable[tuple[int, int]] | None


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
        pipeline: the steps by which it reads.
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
        records = RecordReader(self.profile, layouts or known.known_layouts(), keys, registered, owners)
        by_model = reading_model.rivals if reading_model else _by_proxy(proxy)
        self._reading_model = reading_model
        self.pipeline = Pipeline(
            profile=self.profile,
            tokenizer=self.tokenizer,
            max_tokens=max_tokens,
            load=self.load,
            weigh=weigh or by_model,
            model_name=reading_model.name if reading_model else None,
            records=records,
            assembler=Assembler(records, interpreter),
        )

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
        return Reading(self.pipeline, text, SearchPlan.of(self.profile, self.registry.registry, **search))

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
        plan = SearchPlan.of(self.profile, self.registry.registry, **search)
        if self.profile.code_bits != BEACON_BITS or not 0 < len(texts) <= MOST_TEXTS:
            raise OptionOutOfRange(
                f"1 to {MOST_TEXTS} texts are read together, and by a profile whose codes are beacons"
            )
        return self.pipeline.together(texts, plan)

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


def _by_proxy(proxy: Proxy) -> Weigh:
    return lambda variant, progress: proxy.rivals(variant.ids, progress)

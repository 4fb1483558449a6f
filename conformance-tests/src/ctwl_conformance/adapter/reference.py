"""The reference as adapters: decoder, registry client, and the toy provider, which needs no model."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ctwl_protocol import __version__
from ctwl_protocol.profile import TOYS
from ctwl_protocol.records.record import RecordDocument

from ..families import FAMILIES
from ..toy import write_toy
from ..vectors.numeric import FAMILY, weigh
from ..vectors.reference import unanswerable
from .messages import Decode, Decoded, Encode, Encoded, Role, Span, Started
from .serving import Implementation, NotDone, wanted

if TYPE_CHECKING:
    from ctwl_decoder import Decoder


class _Answering(Implementation):
    """Answers vectors as the reference does."""

    roles: tuple[Role, ...] = ()
    name = ""

    def __init__(self, profiles: Iterable[str] = (), families: Iterable[str] | None = None) -> None:
        self.profiles = list(profiles)
        self.families = sorted(FAMILIES.keys() - unanswerable() if families is None else families)

    def start(self) -> Started:
        return Started(
            name=self.name,
            version=__version__,
            roles=list(self.roles),
            profiles=self.profiles,
            families=self.families,
        )

    def vector(self, family: str, data: dict[str, Any]) -> dict[str, Any]:
        if family not in self.families or family not in FAMILIES:
            raise NotDone(f"it answers no vectors of {family}")
        return FAMILIES[family].answer(data)


class ReferenceDecoder(_Answering):
    """``ctwl-decoder``. It loads a profile's proxy at the first request for the profile."""

    roles = ("decoder",)
    name = "ctwl-decoder"

    def __init__(self, profiles: Iterable[str] = TOYS) -> None:
        """Keep the names of the profiles, or the paths of private ones.

        Raises:
            ModuleNotFoundError: ``ctwl-decoder`` is not installed; without it hardly a family is answered.
        """
        import_module("ctwl_decoder")
        super().__init__(profiles)
        self.families.append(FAMILY)
        self._opened = cache(_open_decoder)

    def decode(self, request: Decode) -> Decoded:  # noqa: D102 - see Implementation
        report = self._decoder(request.profile).decode(request.text, alpha=request.alpha, score="whole")
        record = None
        if report.detected and report.record and report.record.number is not None:
            record = RecordDocument(layout=report.record.number, fields=report.record.fields)
        return Decoded(
            detected=report.detected,
            code=report.code,
            p_value=report.p_value,
            spans=[Span(start=s.start, end=s.end, code=s.code, p_value=s.p_value) for s in report.spans],
            record=record,
        )

    def vector(self, family: str, data: dict[str, Any]) -> dict[str, Any]:  # noqa: D102 - see Implementation
        if family == FAMILY:
            return weigh(self._decoder(data["profile"]).proxy, data)
        return super().vector(family, data)

    def _decoder(self, profile: str) -> Decoder:
        if profile not in self.profiles:
            raise NotDone(f"it was not given the profile {profile}")
        return self._opened(profile)


def _open_decoder(profile: str) -> Decoder:
    from ctwl_decoder import Decoder

    return Decoder.open(profile)


class ReferenceRegistryClient(_Answering):
    """``ctwl_protocol.registry``."""

    roles = ("registry-client",)
    name = "ctwl-registry"


class ToyEncoder(_Answering):
    """The toy provider: it writes strings of printable ASCII, without a model."""

    roles = ("encoder",)
    name = "toy"

    def __init__(self) -> None:
        super().__init__(TOYS, families=())

    def encode(self, request: Encode) -> Encoded:  # noqa: D102 - see Implementation
        if request.profile not in TOYS:
            raise NotDone(f"it writes under {' and '.join(TOYS)} only")
        record = wanted(request, request.profile)
        return Encoded(text=write_toy(record, request.tokens, request.seed, profile=request.profile))

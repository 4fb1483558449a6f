"""The meaning of codes: a record's fields, the names that the registry has for them, and what the keys open."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass

from ctwl_protocol import Beacon, Profile
from ctwl_protocol.errors import SealRefused
from ctwl_protocol.profile import has_public_key
from ctwl_protocol.records.beacon import BEACON_BITS, BEACON_FIELDS
from ctwl_protocol.records.layouts import AUTHENTICATOR, LAYOUTS, SEALED_USER
from ctwl_protocol.records.record import Record
from ctwl_protocol.records.sealing import ProviderKeys
from ctwl_protocol.registry import Trusted

from ..search.candidates import Candidate, FoundRecord
from .model import BetterReader, Hop, ReadRecord, Signpost, Span
from .signposts import better_reader, signposts


@dataclass(frozen=True)
class Interpreter:
    """Says what codes mean.

    Attributes:
        profile: the profile. The registry says nothing about the codes of a private one.
        registry: what this machine trusts.
        keys: the provider's keys, where the provider reads.
        epochs: key epochs in which a user may have been sealed.
    """

    profile: Profile
    registry: Trusted
    keys: ProviderKeys | None
    epochs: tuple[int, ...]

    def label(self) -> str | None:
        """Which registry the names are from; None under a private profile."""
        return self.registry.label(int(time.time())) if has_public_key(self.profile) else None

    def signposts(self, spans: Sequence[Span]) -> list[Signpost]:
        """Where to ask about passages that carry a code; nowhere under a private profile."""
        return signposts(self.registry, spans) if has_public_key(self.profile) else []

    def better_reader(self, provider: int | None, read_by: str | None) -> BetterReader | None:
        """By what a provider's texts show more than by the model that read; None under a private profile."""
        if provider is None or not has_public_key(self.profile):
            return None
        return better_reader(self.registry, provider, read_by)

    def beacon(self, code: int | None) -> dict[str, int | None]:
        """The fields of a beacon by name; None each where there is no code, or the profile's codes are not beacons."""
        if code is None or self.profile.code_bits != BEACON_BITS:
            return dict.fromkeys(BEACON_FIELDS)
        return asdict(Beacon.from_code(code))

    def record(self, candidate: Candidate, alpha: float) -> ReadRecord | None:
        """A candidate's record, as far as it was read; None where the profile's codes are not beacons."""
        if self.profile.code_bits != BEACON_BITS:
            return None
        beacon_alone = LAYOUTS[0] if candidate.record_codes == 1 else None
        record = candidate.record or FoundRecord(
            beacon_alone, (candidate.code,), (candidate.p_value,), candidate.p_value
        )
        layout, beacon = record.layout, Beacon.from_code(record.codes[0])
        fields: dict[str, int] = asdict(beacon)
        chain: tuple[Beacon, ...] = (beacon,)
        if layout is not None:
            unread = [0] * (layout.codes - len(record.codes))
            whole = Record(layout, (*record.codes, *unread))
            fields, chain = whole.fields, whole.chain
            if unread:
                del fields[AUTHENTICATOR]
        sealed = fields.get(SEALED_USER.name) if layout and SEALED_USER in layout.fields else None
        return ReadRecord(
            layout=layout.name if layout else None,
            number=layout.number if layout else None,
            codes=list(record.codes),
            p_values=list(record.p_values),
            p_value=record.p_value,
            fields=fields,
            chain=[self.hop(hop) for hop in chain],
            sealed=sealed,
            **self._opened(sealed, beacon),
            authenticator=layout is not None and layout.authenticated,
            authenticated=None if record.authenticator is None else record.authenticator <= alpha,
            authenticated_p_value=record.authenticator,
        )

    def hop(self, beacon: Beacon) -> Hop:
        """A beacon with its names in the registry."""
        if not has_public_key(self.profile):
            return Hop(**asdict(beacon), name=None, model=None, state=None)
        registry = self.registry.registry
        owner, model = registry.provider(beacon.provider), registry.model(beacon.provider, beacon.version)
        return Hop(
            **asdict(beacon),
            name=owner.name if owner else None,
            model=model.name if model else None,
            state=owner.state if owner else "unregistered",
        )

    def _opened(self, sealed: int | None, beacon: Beacon) -> dict[str, int | None]:
        """The user whose number was sealed, and the epoch in which the keys opened it; None each where they did not."""
        if self.keys is not None and sealed is not None:
            for epoch in self.epochs:
                with suppress(SealRefused):
                    return {"user": self.keys.open(sealed, beacon, epoch), "epoch": epoch}
        return {"user": None, "epoch": None}

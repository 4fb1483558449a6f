"""What a request to a server writes: its own options over the server's."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from ctwl_encoder import Payload, Strategy, nonces_for
from ctwl_encoder.errors import OptionOutOfRange
from ctwl_encoder.options import BeaconOptions, MarkingOptions, ProxyOptions
from ctwl_protocol import Beacon, get_profile
from ctwl_protocol.records import NONCE_COUNT, Record, find_layout

PREFIX = "ctwl_"
"""With this the names of all options of a request begin, so that no other option of an engine has the same name."""


@dataclass(frozen=True)
class Asked:
    """A request to a server, as it came in.

    Attributes:
        options: its own options, as :meth:`ctwl_engines.policy.Policy.request` has them.
        name: its name, which the answer has too; empty where it has none.
    """

    options: dict[str, Any] = field(default_factory=dict)
    name: str = ""


now_asked: ContextVar[Asked] = ContextVar("now_asked")
"""The request that is being served. A server serves it in threads, which see the variables of its context."""


def asked() -> Asked:
    """The request that is being served; one that asks for nothing where there is none."""
    return now_asked.get(Asked())


class Request(BeaconOptions, MarkingOptions, ProxyOptions):
    """What one request writes: a beacon, or the codes of a record. The fields of a proxy are the server's alone.

    Attributes:
        strategy: where none is named, the one that suits the request's sampling, see
            :func:`ctwl_encoder.options.strategy_for`. A greedy request that itself names a strategy that needs sampling
            is refused; where the server names one, it is marked with ``delta``.
        layout: the number of the record's layout, where there are ``codes``.
        codes: a record as its codes, in place of provider, version and nonce.
    """

    strategy: Strategy = Field(Strategy.RACE, strict=False)
    layout: int = 1
    codes: Annotated[tuple[int, ...], Field(strict=False)] | None = None

    @model_validator(mode="after")
    def _check_record(self) -> Self:
        if self.codes is None and self.layout != 1:
            raise OptionOutOfRange(f"{PREFIX}layout goes with {PREFIX}codes; give both")
        self.payload(0)
        return self

    @property
    def draws(self) -> bool:
        """Whether the nonce is drawn for each text: neither it nor codes are named."""
        return self.nonce is None and self.codes is None

    def payload(self, random: int) -> Payload:
        """The request's codes.

        Args:
            random: a number of the text, which gives the beacon's nonce where the request names none.

        Raises:
            OptionOutOfRange, FieldOutOfRange, LayoutUnknown: what the client should change.
        """
        if self.codes is not None:
            return Payload.of(Record(find_layout(self.layout), self.codes))
        nonce = random % (self.nonces or NONCE_COUNT) if self.nonce is None else self.nonce
        beacon = Beacon(self.provider, self.version, nonce)
        return Payload((beacon.code,))

    def with_nonces(self) -> Self:
        """The same with the number of nonces that its text's nonce is drawn from, see :func:`.nonces_for`.

        Raises:
            OptionOutOfRange: a nonce, or a number of them, that the registry does not allow.
            ProfileUnknown: its profile.
        """
        if self.codes is not None:
            return self
        profile = get_profile(self.profile)
        count = nonces_for(profile, self.provider, self.version, nonces=self.nonces, nonce=self.nonce)
        return self.model_copy(update={"nonces": count})


def own_options(given: dict[str, Any]) -> dict[str, Any]:
    """The options that a request names itself, without the prefix.

    Args:
        given: what the request has where the engine reads options; names that are not ours are left out.

    Raises:
        OptionOutOfRange: an option that there is not, has no value, or only the server sets; both codes and a beacon.
    """
    allowed = Request.model_fields.keys() - ProxyOptions.model_fields.keys()
    for name in given:
        if is_ours(name) and name.removeprefix(PREFIX) not in allowed:
            names = ", ".join(sorted(PREFIX + field for field in allowed))
            raise OptionOutOfRange(f"{name!r:.80} is no option of a request; there are {names}")
    own = {name.removeprefix(PREFIX): value for name, value in given.items() if is_ours(name)}
    for name, value in own.items():
        if value is None:  # else codes of no value would take the server's away
            raise OptionOutOfRange(f"{PREFIX + name!r} has no value; leave it out")
    beacon = own.keys() & BeaconOptions.model_fields.keys()
    if beacon and "codes" in own:
        raise OptionOutOfRange(f"a request has {PREFIX}codes or {PREFIX}{min(beacon)}, not both")
    return own


def is_ours(name: str) -> bool:
    """Whether a name is meant for this plug-in, even if it is misspelt."""
    return name.lower().startswith("ctwl")

"""What a vLLM request writes: its own options over the server's, and what is noted where a request comes in."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from ctwl_protocol import Beacon, get_profile
from ctwl_protocol.profile import STANDARD, describe_error
from ctwl_protocol.records.beacon import NONCE_COUNT
from ctwl_protocol.records.layouts import find_layout
from ctwl_protocol.records.record import Record

from ...core.payload import Payload
from ...errors import OptionOutOfRange, StrategyUnsuitable
from ...options import Strategy, check_beacon, check_delta, check_strategy

__all__ = ["ADMITTED", "PREFIX", "Admitted", "Request"]

PREFIX = "ctwl_"
"""With this the names of all extra arguments of a request begin."""

ADMITTED = f"{PREFIX}admitted"
"""The extra argument in which the plug-in notes an :class:`Admitted`; whatever a client writes there is replaced."""

_OF_SERVER = frozenset({"profile", "proxy_path", "device"})
"""Fields that only the server's configuration sets."""


class Request(BaseModel):
    """What one request writes.

    Attributes:
        provider: 0 to 1023; None, and no codes, writes nothing.
        version: 0 to 15.
        nonce: 0 to 63; None draws one for each text.
        layout: the number of the record's layout, where there are ``codes``.
        codes: a record as its codes, in place of provider, version and nonce.
        strategy: ``unbiased``, ``gumbel``, ``delta``, ``vanilla`` or ``off``; None takes ``unbiased``. Greedy requests
            get ``delta`` in place of the first two; those that ask for one of these themselves are refused.
        delta: nats, for ``delta`` and ``vanilla``.
        profile: a published profile or the path of a private one.
        proxy_path: folder of the proxy LM's files where they are not in the cache.
        device: the proxy's torch device.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    provider: int | None = None
    version: int = 0
    nonce: int | None = None
    layout: int = 1
    codes: list[int] | tuple[int, ...] | None = None
    strategy: str | None = None
    delta: float = 2.0
    profile: str = STANDARD
    proxy_path: str | None = None
    device: str = "auto"

    @model_validator(mode="after")
    def _check_values(self) -> Self:
        if self.strategy not in (None, "off", *Strategy):
            raise OptionOutOfRange(f"{PREFIX}strategy is {self.strategy!r}; choose one of {', '.join(Strategy)}, off")
        if self.codes is None and self.layout != 1:
            raise OptionOutOfRange(f"{PREFIX}layout is of a record's codes; give them as {PREFIX}codes")
        check_delta(self.delta)
        if self.marks:
            self.payload(0)
        return self

    @property
    def marks(self) -> bool:
        """Whether there is something to write."""
        return self.provider is not None or self.codes is not None

    @classmethod
    def of(cls, server: dict[str, Any], given: dict[str, Any] | None, temperature: float) -> Request | None:
        """What a request writes; None where nothing.

        Args:
            server: the server's ``additional_config["ctwl"]``.
            given: the request's extra arguments.
            temperature: 0 for greedy decoding.

        Raises:
            OptionOutOfRange, FieldOutOfRange, LayoutUnknown, StrategyUnsuitable, ProfileUnknown: what the client should
                change.
        """
        own = _own_options(given or {})
        for name in server.keys() - cls.model_fields.keys():
            known = ", ".join(sorted(cls.model_fields))
            raise OptionOutOfRange(f"{name} is no field of the server's ctwl; there are {known}")
        if own.keys() & {"provider", "version", "nonce"}:  # the request's beacon, not the server's record
            server = {name: value for name, value in server.items() if name not in ("layout", "codes")}
        try:
            request = cls(**{**server, **own})
        except ValidationError as error:
            raise OptionOutOfRange(f"{PREFIX}{describe_error(error)}") from error
        if request.strategy == "off":
            return None
        if not request.marks:
            if own:  # a client that asks for a mark must know that there would be none
                raise OptionOutOfRange(f"name {PREFIX}provider or {PREFIX}codes; the server has none of its own")
            return None
        strategy = Strategy(request.strategy or Strategy.UNBIASED)
        if strategy.keeps_distribution and temperature <= 0:
            if "strategy" in own:
                raise StrategyUnsuitable(f"{strategy} needs sampling; at temperature 0 use delta")
            strategy = Strategy.DELTA
        profile = get_profile(request.profile)
        check_beacon(profile)
        check_strategy(strategy, profile)
        return request.model_copy(update={"strategy": str(strategy)})

    def payload(self, nonce: int) -> Payload:
        """The request's codes.

        Args:
            nonce: of the beacon, where the request names none.

        Raises:
            OptionOutOfRange, FieldOutOfRange, LayoutUnknown: what the client should change.
        """
        if self.codes is not None:
            return Payload.of(Record(find_layout(self.layout), tuple(self.codes)))
        if self.provider is None:
            raise OptionOutOfRange(f"name {PREFIX}provider or {PREFIX}codes")
        return Payload((Beacon(self.provider, self.version, nonce if self.nonce is None else self.nonce).code,))


def _own_options(given: dict[str, Any]) -> dict[str, Any]:
    """The options that a request names itself, without the prefix.

    Raises:
        OptionOutOfRange: an option that there is not, or that only the server sets; both codes and a beacon.
    """
    own = {
        name.removeprefix(PREFIX): value
        for name, value in given.items()
        if name.startswith(PREFIX) and name != ADMITTED
    }
    allowed = Request.model_fields.keys() - _OF_SERVER
    for name in own.keys() - allowed:
        names = ", ".join(sorted(PREFIX + field for field in allowed))
        raise OptionOutOfRange(f"{PREFIX}{name} is no option of a request; there are {names}")
    beacon = own.keys() & {"provider", "version", "nonce"}
    if beacon and "codes" in own:
        raise OptionOutOfRange(f"a request has {PREFIX}codes or {PREFIX}{min(beacon)}, not both")
    return own


class Admitted(NamedTuple):
    """What is noted of a request where it comes in, so that all workers agree.

    vLLM gives completion ``i`` of one request (``n``) the seed of the request plus ``i``, and nothing else that tells
    completions apart. So a request for several without a seed gets one, and completion ``i`` has the nonce plus ``i``.

    ``unbiased`` and ``gumbel`` must run after top-k, top-p and min-p. vLLM runs plug-ins before, so the plug-in
    truncates by itself, and vLLM's truncation is switched off.
    """

    nonce: Annotated[int, Field(ge=0, lt=NONCE_COUNT)]
    seed: int | None = None
    drawn: bool = False
    """Whether the seed is the plug-in's."""
    top_k: Annotated[int, Field(ge=-1, lt=1 << 31)] = 0
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    min_p: Annotated[float, Field(ge=0, le=1)] = 0.0

    @classmethod
    def of(cls, extra_args: dict[str, Any] | None) -> Admitted | None:
        """What was noted; None where nothing was, or something else (a client can write there too)."""
        noted = (extra_args or {}).get(ADMITTED)
        if not isinstance(noted, list | tuple) or len(noted) != len(cls._fields):
            return None
        try:
            return _ADMITTED.validate_python(list(noted), strict=True)
        except ValidationError:
            return None

    @property
    def truncation(self) -> tuple[int, float, float]:
        """Top-k, top-p and min-p."""
        return self.top_k, self.top_p, self.min_p

    def nonce_of(self, seed: int | None) -> int:
        """The nonce of the request's completion that has this seed."""
        return self.nonce if self.seed is None or seed is None else (self.nonce + seed - self.seed) % NONCE_COUNT


_ADMITTED = TypeAdapter(Admitted)

"""What a server's operator decides: what its texts carry, what clients may change of that, and where it is noted."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Container, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from pydantic import Field, model_validator

from ctwl_encoder import Strategy
from ctwl_encoder.errors import NotLeftToClients, OptionOutOfRange
from ctwl_encoder.options import BeaconOptions, ProxyOptions, check_beacon, kind_of, strategy_for
from ctwl_protocol import Beacon, get_profile
from ctwl_protocol.bridge import Vocabulary

from .parts import Part, Parts
from .request import PREFIX, Request, own_options

OFF = "off"
"""The strategy by which a request asks for no mark."""

_TOO_MUCH = 1e12
"""No option of a request is so large, and what is much larger is no float."""

_NOT_OF_TEXTS = {"clients", "log", "proxy_path", "device"}
"""Fields that decide nothing of a text."""


@dataclass(frozen=True)
class _Range:
    """Numbers from one to another."""

    least: float = -math.inf
    most: float = math.inf

    def __contains__(self, value: object) -> bool:
        return isinstance(value, int | float) and self.least <= value <= self.most

    def __str__(self) -> str:
        bounds = {"at least": self.least, "at most": self.most}
        return " and ".join(f"{words} {bound:g}" for words, bound in bounds.items() if math.isfinite(bound))


class Policy(Request):
    """What a server writes where a request says nothing, and what a request may say.

    Attributes:
        clients: what is left to clients: ``none``, ``off`` (to switch the mark off), ``any``, or an object with the
            fields that are left to them. Each has ``any``, a list of its values, or ``least`` and ``most``. To switch
            the mark off is the strategy ``off``, which ``any`` does not include there.
        fixed_forms: whether answers of a fixed form are marked too, see :mod:`.form`.
        reasoning: whether a model's reasoning is marked, see :mod:`.parts`.
        log: path of the log of texts, see :mod:`.log`; None for none.
    """

    clients: Any = Field("none", description="what clients may change: none, off, any, or an object of fields (JSON)")
    fixed_forms: bool = Field(False, description="mark answers of a fixed form too: JSON, grammars, calls of tools")
    reasoning: bool = Field(True, description="leave a model's reasoning unmarked, where nobody is shown it")
    log: str | None = Field(None, description="note each text in this file, without its words")

    _left: Mapping[str, Container[Any] | None] = {}
    """By field, the values that are left to clients; None for any."""

    @model_validator(mode="after")
    def _check_policy(self) -> Self:
        self._left = _left(self.clients)
        if not self._has_record and "provider" not in self._left:
            raise OptionOutOfRange(
                "there is nothing to write: name a provider or codes, or leave the provider to clients, as "
                '"clients": "any" does'
            )
        self.with_nonces()
        return self

    @property
    def _has_record(self) -> bool:
        return bool(self.model_fields_set & {"provider", "codes"})

    @property
    def decided(self) -> dict[str, Any]:
        """What was decided, as JSON knows it: all that was named, without places of this machine."""
        named = self.model_dump(mode="json", include=self.model_fields_set - _NOT_OF_TEXTS)
        return {**named, "clients": self.clients}

    @property
    def digest(self) -> str:
        """16 hexadecimal digits that stand for :attr:`decided`."""
        return hashlib.sha256(json.dumps(self.decided, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def in_words(self) -> str:
        """What a server marks, in one line for its log. Of codes the beacon is told alone: others may stand for people.

        Raises:
            CTWLError: see :meth:`request`.
        """
        if self._has_record:
            beacon = Beacon.from_code(self.codes[0]) if self.codes else self
            layout = f", layout {self.layout}" if self.codes else ""
            record = f"the mark is on. Provider {beacon.provider}, version {beacon.version}{layout}, profile"
        else:
            record = "the mark is on where a client names a record. Profile"
        log = "none" if self.log is None else Path(self.log).resolve()
        reasoning, forms = ("marked" if each else "not marked" for each in (self.reasoning, self.fixed_forms))
        return (
            f"{record} {get_profile(self.profile).name}. {self._strategies_in_words()} "
            f"Clients may change: {self._left_in_words()}. "
            f"Log: {log}. Reasoning: {reasoning}. Calls of tools and other fixed forms: {forms}."
        )

    def _strategies_in_words(self) -> str:
        """How requests are marked that say nothing of it."""
        marks = self if self._has_record else self.model_copy(update={"provider": 0})
        strengths: dict[Strategy, dict[str, float]] = {}
        for temperature in (0.7, 1, 0):
            request = marks.request(None, temperature) or marks
            strength = f"{request.strength_of(request.strategy):g}"
            strengths.setdefault(request.strategy, {}).setdefault(strength, temperature)
        told = []
        for strategy, by_strength in strengths.items():
            numbers = [f"{number} at {temperature:g}" for number, temperature in by_strength.items()]
            number = ", ".join(numbers).replace("at", "at temperature", 1) if len(numbers) > 1 else "".join(by_strength)
            told.append(f"{strategy} ({strategy.traits.strength.name} {number})")
        texts = ["Sampled texts", "Greedy texts"] if len(told) > 1 else ["All texts"]
        return " ".join(f"{which}: {how}." for which, how in zip(texts, told, strict=True))

    @property
    def may_be_off(self) -> bool:
        """Whether a client may ask for a text without a mark."""
        return self._leaves("strategy", OFF)

    def request(self, given: dict[str, Any] | None, temperature: float, *, fixed_form: bool = False) -> Request | None:
        """What a request writes; None where nothing.

        Args:
            given: the request's own options, whose names begin with :data:`.request.PREFIX`; others are left out.
            temperature: 0 for greedy decoding.
            fixed_form: whether its answer has a fixed form, see :mod:`.form`.

        Raises:
            NotLeftToClients: it asks for more than the operator allows.
            OptionOutOfRange, FieldOutOfRange, LayoutUnknown, StrategyUnsuitable, ProfileUnknown: what the client should
                change.
        """
        own = own_options(given or {})
        for name in own:
            if name not in self._left:
                raise self._refusal(PREFIX + name)
        if (asked := own.get("strategy")) == OFF:
            self._judge("strategy", OFF)
            return None
        if asked not in (None, *Strategy):
            left = _in_words(self._left["strategy"] or tuple(Strategy))
            raise OptionOutOfRange(f"{PREFIX}strategy is {asked!r:.80}; clients may choose {left}")
        request = self._merged(own)
        for name in own:
            self._judge(name, getattr(request, name))
        if own.keys() & {"codes", *BeaconOptions.model_fields}:
            self._judge_beacon(request)
        if not self._has_record and not own.keys() & {"provider", "codes"}:
            if own:  # a client that asks for a mark must know that there would be none
                raise OptionOutOfRange(f"name {PREFIX}provider or {PREFIX}codes; the server has none of its own")
            return None
        if fixed_form and not self.fixed_forms:
            return None
        named = request.strategy if "strategy" in own.keys() | self.model_fields_set else None
        if temperature == 0 and "strategy" not in own and request.strategy.keeps_distribution:
            named = None  # the server's, which suits the requests that sample
        strategy = strategy_for(named, temperature)
        profile = get_profile(request.profile)
        check_beacon(profile)
        strength = {strategy.traits.strength.name: request.strength_of(strategy, temperature)}
        return request.with_nonces().model_copy(update={"strategy": strategy, **strength})

    def parts(self, vocabulary: Vocabulary, tags: Mapping[int, tuple[Part, bool]] | None = None) -> Parts:
        """What divides a text of a model, and which parts are marked, see :class:`.parts.Parts`."""
        return Parts(vocabulary, reasoning=self.reasoning, calls=self.fixed_forms, tags=tags)

    def why_unmarked(self, given: dict[str, Any], *, fixed_form: bool = False) -> str:
        """Why :meth:`request` says of a request that it writes nothing, as docs/providers/monitoring.md lists it."""
        if own_options(given).get("strategy") == OFF:
            return "asked for none"
        return "fixed form" if fixed_form and not self.fixed_forms else "nothing to write"

    def _merged(self, own: dict[str, Any]) -> Request:
        """The request's own options over the server's.

        Raises:
            OptionOutOfRange, FieldOutOfRange, LayoutUnknown: an option; or a beacon of its own without a provider.
        """
        beacon = own.keys() & BeaconOptions.model_fields.keys()
        named = self.model_fields_set & Request.model_fields.keys()
        if beacon or "codes" in own:  # the request's record, not the server's
            named -= {"layout", "codes"}
        asked = {**{name: getattr(self, name) for name in named}, **own}
        if beacon and "provider" not in asked:
            raise OptionOutOfRange(f"a beacon of your own needs {PREFIX}provider")
        return Request.model_validate(asked, context={"spell": PREFIX.__add__} if own else None)

    def _judge_beacon(self, request: Request) -> None:
        """Judge a beacon that follows from codes, or from what stood in their place; its nonce is always its own."""
        theirs, ours = (Beacon.from_code(each.codes[0]) if each.codes else each for each in (request, self))
        if theirs.provider != ours.provider or not self._has_record:
            self._judge("provider", theirs.provider)
        if theirs.version != ours.version:
            self._judge("version", theirs.version)

    def _judge(self, name: str, value: Any) -> None:
        """Refuse a value that is not left to clients: NotLeftToClients."""
        if not self._leaves(name, value):
            raise self._refusal(f"{PREFIX}{name} {value}")

    def _leaves(self, name: str, value: Any) -> bool:
        left = self._left.get(name, ())
        return value != OFF if left is None else value in left

    def _refusal(self, asked: str) -> NotLeftToClients:
        return NotLeftToClients(
            f"{asked:.80} is not left to clients; the operator of this server lets them choose {self._left_in_words()}"
        )

    def _left_in_words(self) -> str:
        left = [
            PREFIX + name + ("" if values is None else f" ({_in_words(values)})") for name, values in self._left.items()
        ]
        return ", ".join(left) or "nothing"


@lru_cache(maxsize=16)
def read_policy(told: str) -> Policy:
    """A policy from a JSON object. A server has one, and asks for it at each request.

    Raises:
        CTWLError: it is none, or see :class:`Policy`.
    """
    try:
        return Policy(**json.loads(told))
    except (ValueError, TypeError) as error:
        raise OptionOutOfRange(f'the policy is {told:.80}; it must be an object, as {{"provider": 42}}') from error


def _left(clients: Any) -> dict[str, Container[Any] | None]:
    """The fields that are left to clients, with their values; None for any.

    Raises:
        OptionOutOfRange: it is in none of the forms that :class:`Policy` names.
    """
    fields = sorted(Request.model_fields.keys() - ProxyOptions.model_fields.keys())
    if clients == "none":
        return {}
    if clients == OFF:
        return {"strategy": (OFF,)}
    if clients == "any":
        return {**dict.fromkeys(fields), "strategy": (OFF, *Strategy)}
    if not isinstance(clients, dict):
        raise OptionOutOfRange(f'clients is {clients!r:.80}; it must be none, off, any, or as {{"nonce": "any"}}')
    for name in clients:
        if name not in fields:
            raise OptionOutOfRange(f"clients: there is no field {name!r:.80}; there are {', '.join(fields)}")
    return {name: _values(name, given) for name, given in clients.items()}


def _values(name: str, given: Any) -> Container[Any] | None:
    """The values of one field that are left to clients; None for any.

    Raises:
        OptionOutOfRange: it is neither ``any`` nor a list nor a range, or not one for this field.
    """
    if given == "any":
        return None
    kind, forms = kind_of(Request.model_fields[name]), ['"any"']
    if kind in (int, float):
        if isinstance(given, list) and given and all(map(_is_number, given)):
            return tuple(given)
        if (
            isinstance(given, dict)
            and given
            and given.keys() <= {"least", "most"}
            and all(map(_is_number, given.values()))
        ):
            return _Range(**given)
        forms += ["a list of numbers", 'an object of "least" and "most"']
    if kind is Strategy:
        names = OFF, *Strategy
        if isinstance(given, list) and given and all(each in names for each in given):
            return tuple(given)
        forms += [f"a list of {', '.join(names)}"]
    raise OptionOutOfRange(f"clients: {name} is {given!r:.80}; it must be {' or '.join(forms)}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _TOO_MUCH


def _in_words(values: Container[Any]) -> str:
    return " or ".join(map(str, values)) if isinstance(values, tuple) else str(values)

"""What may be asked of an encoder. Each option has its name, bounds, default and help here, and nowhere else.

The command, :meth:`ctwl_encoder.Encoder.generate`, the transformers config and the requests of the servers are
made of these models; a config and a request add a record of several codes. Nothing here needs torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from types import UnionType
from typing import Annotated, Any, ClassVar, Self, Union, get_args, get_origin

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic.fields import FieldInfo

from ctwl_protocol import Beacon, Profile
from ctwl_protocol.profile import OFFLINE, OFFLINE_MODEL, STANDARD
from ctwl_protocol.records.beacon import BEACON_BITS, NONCE_COUNT
from ctwl_protocol.records.layouts import LAYOUTS, Layout
from ctwl_protocol.schema import describe_error

from .core.strategies import Strategy
from .errors import EncoderError, OptionOutOfRange, StrategyUnsuitable


class Options(BaseModel):
    """Base of all options.

    Attributes:
        failure: what is raised for a value of another type, outside its bounds, or of an unknown name.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    failure: ClassVar[type[EncoderError]] = OptionOutOfRange

    @classmethod
    def of_command(cls, given: dict[str, str]) -> Self:
        """The options of a command as they were typed; what is raised names them so, ``--min-new-tokens``."""
        return cls.model_validate_strings(given, strict=False, context={"spell": typed})

    @model_validator(mode="wrap")
    @classmethod
    def _raise_own_errors(cls, given: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        try:
            return handler(given)
        except ValidationError as error:
            raise cls.failure(cls._described(error, info)) from error

    @classmethod
    def _described(cls, error: ValidationError, info: ValidationInfo) -> str:
        """What is wrong with the first wrong option, and what it takes."""
        first = error.errors(include_url=False)[0]
        name = str(first["loc"][0]) if first["loc"] else ""
        if first["type"] == "extra_forbidden":
            return f"there is no option {name!r:.80}; there are {', '.join(cls.model_fields)}"
        if len(first["loc"]) != 1 or name not in cls.model_fields:  # inside of a record, or not a set of options at all
            return describe_error(error)
        return f"{_named(name, info)} is {first['input']!r:.80}; it must be {_allowed(cls.model_fields[name])}"


def _named(name: str, info: ValidationInfo) -> str:
    """An option's name as its user knows it: the context of a validation may have a function that spells it."""
    return str(info.context["spell"](name)) if info.context else name


def typed(name: str) -> str:
    """An option's name on the command line."""
    return f"--{name.replace('_', '-')}"


_KINDS: dict[type, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a string",
    list: "a list",
    tuple: "a list",
    dict: "names with their numbers, as tag=5",
}
_BOUNDS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}


def _allowed(field: FieldInfo) -> str:
    """What an option takes, in words."""
    kind = kind_of(field)
    if issubclass(kind, StrEnum):
        return f"one of {', '.join(kind)}"
    bounds = [
        f"{words} {getattr(bound, which):g}"
        for bound in field.metadata
        for which, words in _BOUNDS.items()
        if hasattr(bound, which)
    ]
    return ", ".join(filter(None, [_KINDS[kind], " and ".join(bounds)]))


def kind_of(field: FieldInfo) -> type:
    """The type of an option; of ``type | None`` the first, of ``list[type]`` the list."""
    kind: Any = field.annotation
    while get_origin(kind) in (Union, UnionType, Annotated):
        kind = get_args(kind)[0]
    found: type = get_origin(kind) or kind
    return found


class BeaconOptions(Options):
    """Who writes."""

    provider: int = Field(0, description="provider, 0 to 1023; nobody owns 0")
    version: int = Field(0, description="model version, 0 to 15")
    nonce: int | None = Field(None, description="nonce, 0 to 63; drawn anew for each text where none is given")
    nonces: int | None = Field(
        None,
        ge=1,
        le=NONCE_COUNT,
        description="draw the nonce from so many, 0 and up (default: as many as the registry declares, else 64)",
    )

    @model_validator(mode="after")
    def _check_beacon(self) -> Self:
        Beacon(self.provider, self.version, self.nonce or 0)
        return self


def _numbers_by_name(given: Any) -> Any:
    """The text ``a=1,b=2`` as a dictionary; anything else as it is."""
    if not isinstance(given, str):
        return given
    pairs = [each.split("=", 1) for each in given.split(",")]
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice")
    return found


def _bits(layout: Layout) -> str:
    """The fields of a layout whose values a writer chooses, with their bits."""
    return ", ".join(f"{name} of {bits} bits" for name, bits in layout.own_fields)


class RecordOptions(BeaconOptions):
    """What the command writes: a beacon, or a record that begins with it."""

    user: int | None = Field(None, description="seal a user's number, 0 to 2^32 - 1; needs --keys, and long texts")
    keys: str | None = Field(None, description="the provider's keys, see --new-keys")
    epoch: int = Field(0, description="key epoch of the sealed user")
    authenticated: bool = Field(False, description="with --user: add a code that only --keys can test")
    fields: Annotated[dict[str, int], BeforeValidator(_numbers_by_name)] = Field(
        {},
        description="your own numbers by name, such as tag=5, with a comma between two: the fields of one layout, "
        + ", ".join(f"{layout.name} ({_bits(layout)})" for layout in LAYOUTS if layout.own_fields),
    )
    relay: str | None = Field(
        None,
        description="a text that the prompt is from: its record becomes the older part of a chain (needs ctwl-decoder)",
    )

    @model_validator(mode="after")
    def _check_combinations(self) -> Self:
        if (self.user is not None) + bool(self.fields) + (self.relay is not None) > 1:
            raise OptionOutOfRange("a record has one layout: give one of --user, --fields and --relay")
        if self.authenticated and self.user is None:
            raise OptionOutOfRange("--authenticated goes with --user")
        if (self.user is None) != (self.keys is None):
            raise OptionOutOfRange("a user is sealed with the provider's keys: give both --user and --keys")
        return self


def _strategies_with(option: str) -> list[Strategy]:
    """The strategies whose strength this option sets."""
    return [strategy for strategy in Strategy if strategy.traits.strength.name == option]


def _strength(option: str) -> Any:
    """The field of a strength, as the strategies that have it describe it."""
    strength = _strategies_with(option)[0].traits.strength
    told = f"for {' or '.join(_strategies_with(option))}: {strength.meaning}"
    return Field(strength.fixed, description=told, **dict[str, Any](strength.bounds))


class MarkingOptions(Options):
    """How a text is marked. The strength of each strategy has a field."""

    strategy: Strategy | None = Field(
        None,
        strict=False,
        description="; ".join(f"{strategy} {strategy.traits.summary}" for strategy in Strategy)
        + " (default: race where tokens are sampled, else delta)",
    )
    share: float | None = _strength("share")
    delta: float = _strength("delta")

    def strength_of(self, strategy: Strategy, temperature: float = 1.0) -> float:
        """How strongly a strategy marks, by the number that its traits name.

        Args:
            strategy: that marks.
            temperature: of sampling, which may decide the number where none is named.
        """
        strength = strategy.traits.strength
        named: float | None = getattr(self, strength.name)
        return strength.usual(temperature) if named is None else strength.rounded(named)


class ProxyOptions(Options):
    """What a text is marked for: a profile, and where its proxy LM comes from."""

    profile: str = Field(STANDARD, description="a published profile, or the path of a private one")
    proxy_path: str | None = Field(None, description="folder of the proxy LM's files; else the cache, then the source")
    device: str = Field("auto", description="the proxy LM's torch device; auto is cuda where there is one")


class GenerationOptions(MarkingOptions):
    """How :meth:`ctwl_encoder.Encoder.generate` marks and chooses tokens, and how many it writes."""

    max_new_tokens: int = Field(200, ge=1, description="longest text, in tokens")
    min_new_tokens: int = Field(0, ge=0, description="no end before so many tokens")
    temperature: float = Field(1.0, ge=0, le=1000, description="0 for greedy decoding")
    top_p: float = Field(1.0, gt=0, le=1, description="nucleus sampling; 1 for none")
    num_beams: int = Field(1, ge=1, description="beam search instead of sampling where above 1")
    repetition_penalty: float = Field(1.0, gt=0, description="as in transformers; 1 for none")
    seed: int | None = Field(None, ge=0, lt=1 << 63, description="makes sampling, and the nonces, repeatable")
    tries: int = Field(1, ge=1, le=16, description="write a text anew, this often at most, until its code is readable")

    @model_validator(mode="after")
    def _check_combinations(self, info: ValidationInfo) -> Self:
        least, most, temperature, top_p, beams = (
            _named(name, info) for name in ("min_new_tokens", "max_new_tokens", "temperature", "top_p", "num_beams")
        )
        if self.min_new_tokens > self.max_new_tokens:
            raise OptionOutOfRange(f"{least} is above {most}, {self.max_new_tokens}; raise that too")
        if 0 < self.temperature < 0.001:
            raise OptionOutOfRange(f"{temperature} is {self.temperature}; it must be 0 (greedy) or from 0.001 to 1000")
        if self.num_beams > 1 and (self.temperature not in (0, 1) or self.top_p < 1):
            raise OptionOutOfRange(f"beam search draws nothing; leave {temperature} and {top_p} out, or {beams}")
        self._check_strength(info)
        return self

    def _check_strength(self, info: ValidationInfo) -> None:
        """Refuse the strength of another strategy: the text would not be what was asked for."""
        chosen, strategy = self.chosen_strategy, _named("strategy", info)
        for name in dict.fromkeys(each.traits.strength.name for each in Strategy):
            if chosen not in _strategies_with(name) and getattr(self, name) != type(self).model_fields[name].default:
                raise OptionOutOfRange(
                    f"{_named(name, info)} changes nothing under {chosen}; leave it out, or set {strategy} to "
                    f"{' or '.join(_strategies_with(name))}"
                )

    @property
    def chosen_strategy(self) -> Strategy:
        """The strategy, where none is named the one for the way of sampling."""
        return strategy_for(self.strategy, self.drawn_at)

    @property
    def drawn_at(self) -> float:
        """The temperature of sampling; 0 for greedy decoding and beam search."""
        return self.temperature if self.num_beams == 1 else 0

    @property
    def marking(self) -> dict[str, Any]:
        """The arguments of a logits processor."""
        strategy = self.chosen_strategy
        return {"strategy": strategy, strategy.traits.strength.name: self.strength_of(strategy, self.drawn_at)}

    def for_transformers(self) -> dict[str, Any]:
        """The arguments of ``model.generate``."""
        chosen = self.model_dump(include={"max_new_tokens", "min_new_tokens", "num_beams", "repetition_penalty"})
        if self.drawn_at > 0:
            return {**chosen, "do_sample": True, "temperature": self.temperature, "top_p": self.top_p, "top_k": 0}
        return {**chosen, "do_sample": False}


def strategy_for(strategy: Strategy | None, temperature: float) -> Strategy:
    """The strategy that is named, or where none is, the one that suits the way of sampling.

    Args:
        strategy: the named one.
        temperature: of sampling; 0 for greedy decoding and beam search.

    Raises:
        StrategyUnsuitable: a strategy that needs sampling, without sampling.
    """
    if strategy is None:
        return Strategy.RACE if temperature > 0 else Strategy.DELTA
    if strategy.keeps_distribution and temperature == 0:
        raise StrategyUnsuitable(
            f"{strategy} chooses by chance, as sampling does; use delta for greedy decoding and beam search"
        )
    return strategy


def default_profile(model: str) -> str:
    """The profile for a model where none is named: the standard one, and for ``smollm2`` the offline one."""
    return OFFLINE if model.lower() == OFFLINE_MODEL else STANDARD


def check_beacon(profile: Profile) -> None:
    """Refuse a profile whose codes are no beacons: StrategyUnsuitable."""
    if profile.code_bits != BEACON_BITS:
        raise StrategyUnsuitable(
            f"a beacon has {BEACON_BITS} bits, the codes of {profile.name} have {profile.code_bits}; choose a profile "
            f"with codes of {BEACON_BITS} bits"
        )


def check_prompts(given: str | Sequence[str]) -> list[str]:
    """One prompt or several as a list.

    Raises:
        OptionOutOfRange: there are none, or one is empty or no Unicode text.
    """
    prompts = [given] if isinstance(given, str | bytes) else list(given)
    if not all(isinstance(prompt, str) for prompt in prompts):
        raise OptionOutOfRange("prompts are strings")
    if not prompts or not all(prompt.strip() for prompt in prompts):
        raise OptionOutOfRange("the prompt is empty; give at least a word")
    try:
        "".join(prompts).encode()
    except UnicodeEncodeError as error:  # as arguments of a command bring that are not UTF-8
        raise OptionOutOfRange("the prompt is no Unicode text (lone surrogates); give UTF-8") from error
    return prompts

"""The watermarking config: plain data that says what ``model.generate`` writes into its text."""

from __future__ import annotations

import codecs
import json
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from pydantic import Field, ValidationError, model_validator
from transformers import LogitsProcessor, WatermarkingConfig
from transformers.generation import BaseWatermarkingConfig

from ctwl_protocol import Beacon, Profile, get_profile
from ctwl_protocol.bridge import Bridge
from ctwl_protocol.errors import TokenizerUnsupported
from ctwl_protocol.files import read_bounded
from ctwl_protocol.records.beacon import NONCE_COUNT
from ctwl_protocol.records.record import Record, RecordDocument
from ctwl_protocol.records.sealing import ProviderKeys
from ctwl_protocol.schema import describe_error

from ...core.expected_evidence import READERS_LEVEL, needed_tokens, warn_of_short_text
from ...core.payload import Payload
from ...errors import ConfigMalformed, EncoderError, OptionOutOfRange
from ...models import open_bridge
from ...nonces import nonces_for
from ...options import BeaconOptions, MarkingOptions, ProxyOptions, check_beacon, strategy_for
from .processor import SAVED, CTWLLogitsProcessor, Unmarked
from .sampling import refuse_continuous_batching, sampling_of_the_call, strategy_of

_MAX_JSON = 1 << 20


class CTWLWatermarkingConfig(BeaconOptions, MarkingOptions, ProxyOptions, BaseWatermarkingConfig):  # type: ignore[misc]  # transformers has no types
    """What ``model.generate(watermarking_config=...)`` writes into its text; plain data, saved and loaded as JSON.

    At its first use a config loads the tokenizer and the profile's proxy that it names. Where they are loaded already,
    use :meth:`attach`.

    Each call of ``generate`` is marked as suits its sampling, see :mod:`.sampling`; it is greedy unless it is given
    ``do_sample=True``. What cannot be marked is refused.

    Attributes:
        nonce: None draws one for each text; under ``delta``, which may be used with beams that change places,
            for each distinct prompt of a call.
        records: instead of provider, version and nonce, one record for each prompt, as
            :meth:`ctwl_protocol.records.record.Record.document` gives.
        codes: instead of records, one code for each prompt.
        strategy: None for the one that suits the sampling of each call, see :func:`ctwl_encoder.options.strategy_for`.
        tokenizer: the model's tokenizer: a folder, or a name on the hub. A loaded one goes to :meth:`attach`.

    The other fields are those of :mod:`ctwl_encoder.options`.
    """

    failure: ClassVar[type[EncoderError]] = ConfigMalformed

    records: list[RecordDocument] | None = Field(None, strict=False)
    codes: list[int] | None = None
    tokenizer: str | None = None

    _bridge: Bridge | None = None
    _key: bytes | None = None

    @model_validator(mode="before")
    @classmethod
    def _check_saved(cls, given: Any) -> Any:
        """Take the field by which a saved config is known away, or refuse one that was not saved."""
        if not isinstance(given, dict) or SAVED not in given:
            return given
        if given[SAVED] is not True:
            raise ConfigMalformed(f"{given[SAVED]!s:.200}")
        return {name: value for name, value in given.items() if name != SAVED}

    def model_post_init(self, context: Any) -> None:  # noqa: ARG002
        """Check the values; pydantic calls this when the types are right."""
        self.validate()

    def validate(self) -> None:  # type: ignore[override]  # pydantic has a deprecated function of this name
        """Check what can be checked without loading anything; ``generate`` calls this.

        Raises:
            ProfileUnknown, ProfileMalformed: the profile.
            LayoutUnknown, FieldOutOfRange: a record.
            OptionOutOfRange: codes; two of nonce, records and codes; see :func:`ctwl_encoder.nonces.nonces_for`.
            StrategyUnsuitable: a record where the codes are no beacons.
        """
        if sum(given is not None for given in (self.nonce, self.records, self.codes)) > 1:
            raise OptionOutOfRange("codes and records have their own nonces: give one of nonce, records and codes")
        profile = self._profile_used()
        if self.codes is not None:
            if not self.codes or not all(0 <= code < profile.codes for code in self.codes):
                raise OptionOutOfRange(f"codes are integers from 0 to {profile.codes - 1}, one for each prompt")
            return
        check_beacon(profile)
        if self.records is None:
            self._nonces()
        elif not self._records():
            raise OptionOutOfRange("there are no records; give one for each prompt")

    def _profile_used(self) -> Profile:
        """The profile: the attached bridge's, or the one that is named."""
        return self._bridge.proxy.profile if self._bridge else get_profile(self.profile)

    def _nonces(self) -> int:
        return nonces_for(self._profile_used(), self.provider, self.version, nonces=self.nonces, nonce=self.nonce)

    def _records(self) -> list[Record]:
        return [document.record() for document in self.records or []]

    def payloads(self) -> list[Payload] | None:
        """What the text of each prompt carries; None where the nonces are still to be drawn.

        Raises:
            OptionOutOfRange: a record with an authenticator, and no key to colour it with.
        """
        if self.codes is not None:
            return [Payload((code,)) for code in self.codes]
        if self.records is not None:
            return [Payload.of(record, self._key) for record in self._records()]
        if self.nonce is not None:
            return [Payload((Beacon(self.provider, self.version, self.nonce).code,))]
        return None

    def needed_tokens(self, temperature: float, alpha: float = READERS_LEVEL) -> int:
        """Tokens of news-like text that a reader needs to find the whole record; see :func:`.needed_tokens`.

        Args:
            temperature: of sampling; 0 for greedy decoding and beam search.
            alpha: the reader's level.

        Raises:
            StrategyUnsuitable: the strategy needs sampling.
        """
        strategy = strategy_for(self.strategy, temperature)
        return needed_tokens(
            self._profile_used(),
            strategy,
            self._codes(),
            alpha,
            temperature=temperature,
            strength=self.strength_of(strategy, temperature),
        )

    def _codes(self) -> int:
        """The codes of the longest record."""
        return max((record.layout.codes for record in self._records()), default=1)

    def attach(self, bridge: Bridge, keys: ProviderKeys | None = None) -> Self:
        """A copy of this config with a bridge that is loaded already, so that nothing is loaded by name.

        Args:
            bridge: from the model's vocabulary to the proxy's.
            keys: the provider's, for records with an authenticator. They are not saved with the config.

        Raises:
            CTWLError: see :meth:`validate`, with the bridge's profile.
        """
        # Keep the given name where it is this profile's: a path is loaded by it alone.
        same = self._profile_used() == bridge.proxy.profile
        other = self.model_copy(update={} if same else {"profile": bridge.proxy.profile.name})
        other._bridge = bridge
        other._key = keys.colour_key() if keys else self._key
        other.validate()
        return other

    @torch.compiler.disable  # type: ignore[untyped-decorator]  # so that generate may be compiled around it
    def construct_processor(self, vocab_size: int, device: torch.device | str | None) -> LogitsProcessor:  # noqa: ARG002
        """A processor for the call of ``generate`` that is running, which runs it after all others.

        Warns:
            ShortText: the longest text that the call allows is too short for a reader to be sure of the record.

        Raises:
            SamplingUnknown: no strategy is named, and the caller does not say how it chooses tokens.
            StrategyUnsuitable: the strategy does not suit the call, or nothing marks what it does.
            TokenizerUnsupported: no tokenizer was named, or see :class:`ctwl_protocol.bridge.Bridge`.
            OptionOutOfRange: see :meth:`payloads`.
            CTWLError: see :func:`ctwl_protocol.proxy.open_proxy`.
        """
        refuse_continuous_batching(device)
        sampling = sampling_of_the_call()
        strategy = strategy_of(self.strategy, sampling)
        if sampling is not None and sampling.is_draft:
            return Unmarked()
        bridge = self.open_bridge()
        if sampling is not None and sampling.longest is not None:
            (option, most), drawn_at = sampling.longest, sampling.temperature
            how: dict[str, Any] = {"temperature": drawn_at, "strength": self.strength_of(strategy, drawn_at)}
            warn_of_short_text(self._profile_used(), strategy, self._codes(), most, **how, option=option)
        return CTWLLogitsProcessor(
            bridge,
            self.payloads() or (lambda: Payload((Beacon.fresh(self.provider, self.version, self._nonces()).code,))),
            strategy=strategy,
            **{strategy.traits.strength.name: self.strength_of(strategy, sampling.temperature if sampling else 1.0)},
            nonces=self._nonces() if self.records is None else NONCE_COUNT,
        )

    def open_bridge(self) -> Bridge:
        """The bridge that was attached, or one between the tokenizer and the profile that are named."""
        if self._bridge is not None:
            return self._bridge
        if self.tokenizer is None:
            raise TokenizerUnsupported(
                "name the model's tokenizer: CTWLWatermarkingConfig(tokenizer=...), or attach a Bridge"
            )
        return open_bridge(self.profile, self.tokenizer, self.proxy_path, self.device)

    def to_dict(self) -> dict[str, Any]:
        """The fields, as JSON knows them, and one by which they are known as ours."""
        return {SAVED: True, **self.model_dump(mode="json")}

    def to_json_string(self) -> str:
        """The fields as JSON."""
        return json.dumps(self.to_dict(), indent=2) + "\n"

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **kwargs: Any) -> Self:
        """A config from its fields; those given by name count. The base would set them, and a config is frozen.

        Raises:
            ConfigMalformed: an unknown field, or a value of another type.
            CTWLError: see :meth:`validate`.
        """
        return cls(**{**config_dict, **kwargs})

    @classmethod
    def from_json_file(cls, path: str | Path) -> Self:
        """A config that :meth:`to_json_file` saved.

        Raises:
            ConfigMalformed: the file cannot be read, or holds no config.
            CTWLError: see :meth:`validate`.
        """
        try:
            data = read_bounded(path, _MAX_JSON)
        except OSError as error:
            raise ConfigMalformed(f"cannot read the watermarking config {path}: {error.strerror or error}") from error
        try:
            return cls.model_validate_json(data.removeprefix(codecs.BOM_UTF8))
        except (ConfigMalformed, ValidationError) as error:
            raise ConfigMalformed(f"{path} is no watermarking config: {describe_error(error)}") from error

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self  # it is frozen; generate copies its configuration, but must not copy the bridge with its proxy


_THEIRS = WatermarkingConfig.from_dict.__func__


def _from_dict(cls: type[Any], /, config_dict: dict[str, Any], **kwargs: Any) -> Any:
    """``WatermarkingConfig.from_dict``, by which transformers loads any config that was saved with a model.

    Raises:
        CTWLError: see :meth:`CTWLWatermarkingConfig.from_dict`.
    """
    if SAVED in config_dict:
        return CTWLWatermarkingConfig.from_dict(config_dict, **kwargs)
    return _THEIRS(cls, config_dict, **kwargs)


WatermarkingConfig.from_dict = classmethod(_from_dict)

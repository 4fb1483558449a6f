"""The marker as transformers' ``generate`` wants it: a watermarking config, and a logits processor."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import ValidationError
from transformers import LogitsProcessor
from transformers.generation import BaseWatermarkingConfig

from ctwl_protocol import Beacon, get_profile
from ctwl_protocol.layouts import Layout
from ctwl_protocol.profile import STANDARD, explain
from ctwl_protocol.proxy import open_proxy
from ctwl_protocol.records import Record, RecordDocument
from ctwl_protocol.sealing import ProviderKeys

from .bridge import Bridge
from .errors import ConfigMalformed, OptionOutOfRange, StrategyUnsuitable, TokenizerUnsupported
from .marking import Marker, Text
from .models import load_tokenizer
from .options import Strategy, check_beacon, check_delta, check_strategy
from .payload import Payload

__all__ = ["CTWLLogitsProcessor", "CTWLWatermarkingConfig", "open_bridge"]

_MAX_JSON = 1 << 20


@dataclass(repr=False)
class CTWLWatermarkingConfig(BaseWatermarkingConfig):  # type: ignore[misc]
    """What ``model.generate(watermarking_config=...)`` writes into its text; plain data, saved and loaded as JSON.

    A config that came from JSON loads the profile's proxy and the tokenizer that it names at its first use. Where they
    are loaded already, say so with :meth:`attach`.

    Attributes:
        provider: 0 to 1023.
        version: 0 to 15, the provider's model version.
        nonce: 0 to 63; None draws one anew for each text; under ``delta`` and ``vanilla``, which may be used with beams
            that change places, for each distinct prompt of a call.
        records: instead of provider, version and nonce, one record for each prompt: ``{"layout": number, "fields":
            {name: value}}``, as :meth:`ctwl_protocol.records.Record.document` gives.
        codes: instead of records, one code for each prompt.
        profile: name of a published profile, or the path of a private one.
        strategy: ``unbiased`` or ``gumbel`` (for sampling, not for greedy decoding or beams), ``delta`` or ``vanilla``.
        delta: nats, for ``delta`` and ``vanilla``.
        skip_repeats: leave positions alone whose context has been marked in this text.
        tokenizer: the model's tokenizer: a folder, or a name on the hub.
        proxy_path: folder of the proxy LM's files where they are not in the cache.
        device: the proxy's torch device; "auto" takes CUDA where there is one.
    """

    provider: int = 0
    version: int = 0
    nonce: int | None = None
    records: list[dict[str, Any]] | None = None
    codes: list[int] | None = None
    profile: str = STANDARD
    strategy: str = "unbiased"
    delta: float = 2.0
    skip_repeats: bool = False
    tokenizer: str | None = None
    proxy_path: str | None = None
    device: str = "auto"

    def __post_init__(self) -> None:
        self._bridge: Bridge | None = None
        self._processor: CTWLLogitsProcessor | None = None
        self._key: bytes | None = None
        self._layouts: tuple[Layout, ...] = ()
        self.validate()

    def validate(self) -> None:
        """Check every field that can be checked without loading anything; ``generate`` calls this.

        Raises:
            ProfileUnknown, ProfileMalformed: the profile.
            FieldOutOfRange: provider, version or nonce.
            LayoutUnknown: a record's layout.
            ConfigMalformed: something that is no record.
            OptionOutOfRange: codes, strategy or delta.
            StrategyUnsuitable: a record where the codes are no beacons, or ``unbiased`` where sigma is not 1/2.
        """
        profile = self._bridge.proxy.profile if self._bridge else get_profile(self.profile)
        if self.strategy not in list(Strategy):
            raise OptionOutOfRange(f"strategy is {self.strategy!r}; choose one of {', '.join(Strategy)}")
        check_delta(self.delta)
        check_strategy(self.strategy, profile)
        if self.codes is not None:
            if not self.codes or not all(type(code) is int and 0 <= code < profile.codes for code in self.codes):
                raise OptionOutOfRange(f"codes are integers from 0 to {profile.codes - 1}, one for each prompt")
            return
        check_beacon(profile)
        if self.records is None:
            Beacon(self.provider, self.version, self.nonce or 0)
        elif not self._records():
            raise OptionOutOfRange("there are no records; give one for each prompt")

    def _records(self) -> list[Record]:
        try:
            return [RecordDocument.model_validate(given).record(self._layouts) for given in self.records or []]
        except ValidationError as error:
            raise ConfigMalformed(f"records: {explain(error)}") from error

    def payloads(self) -> list[Payload] | None:
        """What each prompt's text is to carry; None where the nonces are still to be drawn.

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

    def attach(self, bridge: Bridge, keys: ProviderKeys | None = None, layouts: Sequence[Layout] = ()) -> Self:
        """This config with a bridge that is loaded already, so that nothing is loaded by name.

        Args:
            bridge: from the model's vocabulary to the proxy's.
            keys: the provider's, for records with an authenticator. They are not saved with the config.
            layouts: what the records may have beside those of the specification.
        """
        other = copy.deepcopy(self)
        other._key = keys.colour_key() if keys else self._key
        other._layouts = (*self._layouts, *layouts)
        profile = self._bridge.proxy.profile if self._bridge else get_profile(self.profile)
        if profile != bridge.proxy.profile:  # else it stays as it was given: a path is loaded again by that alone
            other.profile = bridge.proxy.profile.name
        other._bridge = bridge
        other.validate()
        return other

    def construct_processor(self, vocab_size: int, device: torch.device | str) -> CTWLLogitsProcessor:  # noqa: ARG002
        """The processor for one call of ``generate``, which places it behind all others.

        Raises:
            TokenizerUnsupported: no tokenizer was named, or see :class:`ctwl_encoder.bridge.Bridge`.
            CTWLError: see :func:`ctwl_protocol.proxy.open_proxy`.
        """
        if self._processor is None:
            return CTWLLogitsProcessor(self.open_bridge(), self)
        self._processor.reset()
        return self._processor

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
        """The fields, as JSON knows them."""
        return {field.name: copy.copy(getattr(self, field.name)) for field in fields(self)}

    def to_json_string(self) -> str:
        """The fields as JSON."""
        return json.dumps(self.to_dict(), indent=2) + "\n"

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **kwargs: Any) -> Self:
        """A config from its fields.

        Raises:
            ConfigMalformed: an unknown field, or one of another type.
            CTWLError: see :meth:`validate`.
        """
        known = {field.name: field.type for field in fields(cls)}
        given = {**config_dict, **kwargs}
        for name, value in given.items():
            if name not in known:
                raise ConfigMalformed(f"unknown field {name!r}; there are {', '.join(known)}")
            allowed = {"int": (int,), "float": (float, int), "bool": (bool,), "str": (str,), "list": (list,)}
            parts = [part.partition("[")[0] for part in str(known[name]).split(" | ")]
            kinds = [kind for part in parts if part != "None" for kind in allowed[part]]
            optional = "None" in str(known[name])
            if not (value is None and optional) and type(value) not in kinds:
                raise ConfigMalformed(f"{name} is {value!r}; expected {known[name]}")
        return cls(**given)

    @classmethod
    def from_json_file(cls, path: str | Path) -> Self:
        """A config that :meth:`to_json_file` saved.

        Raises:
            ConfigMalformed: the file cannot be read, or holds no config.
        """
        try:
            with Path(path).open("rb") as file:
                data = file.read(_MAX_JSON + 1)
            if len(data) > _MAX_JSON:
                raise ConfigMalformed(f"{path} has more than {_MAX_JSON} bytes")
            found = json.loads(data)
        except (OSError, ValueError, RecursionError) as error:
            raise ConfigMalformed(f"{path} is no watermarking config: {error}") from error
        if not isinstance(found, dict):
            raise ConfigMalformed(f"{path} is no watermarking config: not a JSON object")
        return cls.from_dict(found)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.to_dict().items())})"

    def __iter__(self) -> Any:
        yield from self.to_dict().items()

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        other = copy.copy(self)  # generate copies its configuration; the proxy must not be copied with it
        other.codes, other.records = copy.copy(self.codes), copy.deepcopy(self.records)
        return other


@lru_cache(maxsize=4)
def open_bridge(profile: str, tokenizer: str, proxy_path: str | None, device: str) -> Bridge:
    """A bridge between a tokenizer and a profile's proxy, both by name; kept, so that the next call is free.

    Raises:
        TokenizerUnsupported: there is no such tokenizer, or see :class:`ctwl_encoder.bridge.Bridge`.
        CTWLError: see :func:`ctwl_protocol.proxy.open_proxy`.
    """
    return Bridge(load_tokenizer(tokenizer), open_proxy(profile, path=proxy_path, device=device, lazy=True, fast=True))


class CTWLLogitsProcessor(LogitsProcessor):  # type: ignore[misc]
    """Marks what ``model.generate`` writes.

    As ``logits_processor=[processor]`` it comes before temperature, top-k and top-p: right for ``delta``. As
    ``watermarking_config=processor.placed()`` it comes after them, as ``unbiased`` and ``gumbel`` must. It reads only
    the ids generated so far, so beams may reorder and rows may end early. It serves any number of calls, one after the
    other: as ``watermarking_config`` it is told where one begins, as ``logits_processor`` :meth:`reset` tells it.

    Attributes:
        marker: what does the marking.
        config: what it writes.
        payloads: what each row of the current call carries.
        on_step: called with the number of tokens generated so far.
    """

    supports_continuous_batching = False

    def __init__(self, bridge: Bridge, config: CTWLWatermarkingConfig) -> None:
        """Make ready.

        Args:
            bridge: from the model's vocabulary to the proxy's.
            config: what to write and how. Where it has records or codes, rows beyond them (beams, several sequences)
                share their prompt's.

        Raises:
            CTWLError: see :meth:`CTWLWatermarkingConfig.validate`, with the bridge's profile.
        """
        self.config = config.attach(bridge)
        self.marker = Marker(bridge, strategy=config.strategy, delta=config.delta, skip_repeats=config.skip_repeats)
        self.payloads: list[Payload] = []
        self.on_step: Callable[[int], None] = lambda tokens: None
        self._prompt: NDArray[np.int64] | None = None
        self._longest = 0
        self._texts: dict[tuple[Payload, int, int], Text] = {}

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Mark one step.

        Args:
            input_ids: int64 (rows, length), prompt and text so far.
            scores: float (rows, size), logits or log-probabilities of the next token.

        Returns:
            float (rows, size), the dtype and device of ``scores``.

        Raises:
            TokenizerUnsupported: the bridge's tokenizer is another model's.
            OptionOutOfRange: the records are not one for each prompt.
            StrategyUnsuitable: beams change places under ``unbiased`` or ``gumbel``.
            ModelFailed: a row has no finite maximum.
        """
        ids: NDArray[np.int64] = input_ids.cpu().numpy()
        if self._begins(ids):
            self.marker.bridge.check_size(scores.shape[1])
            self._prompt, self._texts = ids, {}
            self.payloads = self._payloads(ids)
        self._longest = ids.shape[1]
        generated = ids[:, self._prompt_length :]
        texts = [self.text(payload, row) for payload, row in zip(self.payloads, generated, strict=True)]
        marked = self.marker.mark(texts, self.payloads, scores.float().cpu().numpy())
        if marked:
            scores = scores.clone()
            rows = torch.tensor(list(marked), device=scores.device)
            scores[rows] = torch.from_numpy(np.stack(list(marked.values()))).to(scores)
        self.on_step(generated.shape[1])
        return scores

    def reset(self) -> None:
        """Begin a new call of ``generate``, also where its prompts look like texts of the last one that go on."""
        self._prompt = None

    @property
    def codes(self) -> list[int]:
        """The first code of each row of the current call."""
        return [payload.carried[0] for payload in self.payloads]

    def text(self, payload: Payload, generated: NDArray[np.int64]) -> Text:
        """What was read and marked of a text: kept from an earlier step, or read anew from the longest part that is.

        Args:
            payload: what was written into it.
            generated: int64 (tokens,), without the prompt.
        """
        known = len(generated)
        while known and _key(payload, generated[:known]) not in self._texts:
            known -= 1
        text = self._texts.setdefault(_key(payload, generated[:known]), self.marker.start())
        for count in range(known, len(generated)):
            text = self.marker.extend(text, int(generated[count]))
            self._texts[_key(payload, generated[: count + 1])] = text
        return text

    def placed(self) -> CTWLWatermarkingConfig:
        """This processor as ``generate``'s ``watermarking_config``, which comes behind every other processor."""
        config = copy.deepcopy(self.config)
        config._processor = self
        return config

    @property
    def _prompt_length(self) -> int:
        return 0 if self._prompt is None else int(self._prompt.shape[1])

    def _begins(self, ids: NDArray[np.int64]) -> bool:
        """Whether this is the first step of a call: the rows do not go on where a call has been."""
        if self._prompt is None or len(ids) != len(self._prompt):
            return True
        start = self._prompt_length
        if not start < ids.shape[1] <= self._longest + 1 or not np.array_equal(ids[:, :start], self._prompt):
            return True
        written = [row[start:-1] for row in ids]
        if all(_key(*pair) in self._texts for pair in zip(self.payloads, written, strict=True)):
            return False
        if all(any(_key(payload, each) in self._texts for payload in set(self.payloads)) for each in written):
            raise StrategyUnsuitable(
                "rows that carry different codes changed places, as beams do; use delta for beam search"
            )
        return True

    def _payloads(self, prompts: NDArray[np.int64]) -> list[Payload]:
        """One for each row."""
        config, given = self.config, self.config.payloads()
        if given is not None:
            if len(prompts) % len(given):
                raise OptionOutOfRange(
                    f"{len(prompts)} rows cannot share {len(given)} records; give one for each prompt"
                )
            each = len(prompts) // len(given)
            if len(given) > 1 and any((group != group[0]).any() for group in prompts.reshape(len(given), each, -1)):
                raise OptionOutOfRange(f"there are {len(given)} records and more prompts; give one for each prompt")
            return [payload for payload in given for _ in range(each)]
        drawn = [Payload((Beacon.fresh(config.provider, config.version).code,)) for _ in prompts]
        if self.marker.strategy.keeps_distribution:
            return drawn
        # Beams of a prompt change places, so they share their code.
        first = {prompt.tobytes(): payload for prompt, payload in reversed(list(zip(prompts, drawn, strict=True)))}
        return [first[prompt.tobytes()] for prompt in prompts]


def _key(payload: Payload, generated: NDArray[np.int64]) -> tuple[Payload, int, int]:
    """A name for what was written of a text."""
    return payload, len(generated), hash(generated.tobytes())

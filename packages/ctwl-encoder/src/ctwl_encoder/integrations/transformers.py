"""The marker as transformers' ``generate`` wants it: a watermarking config, and a logits processor."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Self, get_type_hints

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import ConfigDict, TypeAdapter, ValidationError
from transformers import LogitsProcessor
from transformers.generation import BaseWatermarkingConfig

from ctwl_protocol import Beacon, Profile, get_profile
from ctwl_protocol.profile import STANDARD, describe_error
from ctwl_protocol.proxy import Proxy, open_proxy
from ctwl_protocol.records.layouts import Layout
from ctwl_protocol.records.record import Record, RecordDocument
from ctwl_protocol.records.sealing import ProviderKeys

from ..core.bridge import Bridge
from ..core.expected_evidence import needed_tokens
from ..core.marker import Marker, Text
from ..core.payload import Payload
from ..errors import ConfigMalformed, OptionOutOfRange, StrategyUnsuitable, TokenizerUnsupported
from ..models import load_tokenizer
from ..options import Decoding, Strategy, check_beacon, check_delta, check_strategy, named

__all__ = ["CTWLLogitsProcessor", "CTWLWatermarkingConfig", "open_bridge"]

_MAX_JSON = 1 << 20

_BEAMS = 'rows that are to be sampled changed places, as beams do; use delta for beam search, with decoding="any"'

_NO_SAMPLING = 12 * math.log(10)
"""Nats. A text whose tokens were each the likeliest, as sampling has it once in 10^12 texts, was not sampled."""


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
            {name: value}}``, as :meth:`ctwl_protocol.records.record.Record.document` gives.
        codes: instead of records, one code for each prompt.
        profile: name of a published profile, or the path of a private one.
        strategy: ``unbiased`` or ``gumbel`` (for sampling, not for greedy decoding or beams), ``delta`` or ``vanilla``.
        delta: nats, for ``delta`` and ``vanilla``.
        skip_repeats: leave positions alone whose context has been marked in this text.
        decoding: ``sampled`` (with ``do_sample=True``, no beams) and ``greedy`` let ``delta`` ask the proxy only where
            its answer can matter, which is quicker and changes nothing else; ``any`` asks it always. Behind a wrong
            ``greedy`` the mark is weaker, and nobody notices.
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
    decoding: str = "any"
    tokenizer: str | None = None
    proxy_path: str | None = None
    device: str = "auto"

    def __post_init__(self) -> None:
        self._bridge: Bridge | None = None
        self._placed: list[CTWLLogitsProcessor] | None = None
        self._key: bytes | None = None
        self._layouts: tuple[Layout, ...] = ()
        self.validate()

    def validate(self) -> None:
        """Check every field that can be checked without loading anything; ``generate`` calls this.

        Raises:
            ConfigMalformed: a field of another type; something that is no record.
            ProfileUnknown, ProfileMalformed: the profile.
            FieldOutOfRange: provider, version or nonce.
            LayoutUnknown: a record's layout.
            OptionOutOfRange: codes, strategy, delta or decoding; two of nonce, records and codes.
            StrategyUnsuitable: a record where the codes are no beacons, or ``unbiased`` where sigma is not 1/2.
        """
        for field in fields(self):
            _check_kind(field.name, getattr(self, field.name))
        if sum(given is not None for given in (self.nonce, self.records, self.codes)) > 1:
            raise OptionOutOfRange("codes and records have their own nonces: give one of nonce, records and codes")
        profile = self._read_by
        named(Strategy, self.strategy)
        named(Decoding, self.decoding)
        check_delta(self.delta)
        check_strategy(self.strategy, profile)
        if self.codes is not None:
            if not self.codes or not all(0 <= code < profile.codes for code in self.codes):
                raise OptionOutOfRange(f"codes are integers from 0 to {profile.codes - 1}, one for each prompt")
            return
        check_beacon(profile)
        if self.records is None:
            Beacon(self.provider, self.version, self.nonce or 0)
        elif not self._records():
            raise OptionOutOfRange("there are no records; give one for each prompt")

    @property
    def _read_by(self) -> Profile:
        """The profile: the attached bridge's, or the one that is named."""
        return self._bridge.proxy.profile if self._bridge else get_profile(self.profile)

    def _records(self) -> list[Record]:
        try:
            return [RecordDocument.model_validate(given).record(self._layouts) for given in self.records or []]
        except ValidationError as error:
            raise ConfigMalformed(f"records: {describe_error(error)}") from error

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

    def needed_tokens(self, alpha: float = 1e-4) -> int:
        """Tokens of news-like text from which on a reader may be expected to find the whole record at this level."""
        codes = max((record.layout.codes for record in self._records()), default=1)
        return needed_tokens(self._read_by, Strategy(self.strategy), codes, alpha)

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
        if self._read_by != bridge.proxy.profile:  # else it stays as it was given: a path is loaded again by that alone
            other.profile = bridge.proxy.profile.name
        other._bridge = bridge
        other.validate()
        return other

    def construct_processor(self, vocab_size: int, device: torch.device | str) -> CTWLLogitsProcessor:  # noqa: ARG002
        """The processor for one call of ``generate``, which places it behind all others.

        Raises:
            TokenizerUnsupported: no tokenizer was named, or see :class:`ctwl_encoder.core.bridge.Bridge`.
            StrategyUnsuitable: a second call for a processor that was placed for one.
            CTWLError: see :func:`ctwl_protocol.proxy.open_proxy`.
        """
        if self._placed is None:
            return CTWLLogitsProcessor(self.open_bridge(), self)._in_one_call()
        if not self._placed:
            raise StrategyUnsuitable(
                "placed() is for one call of generate, and this is another (an assistant model makes its own): call "
                "placed() again, or use the CTWLWatermarkingConfig itself, which serves any number"
            )
        return self._placed.pop()._in_one_call()

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
        known = [field.name for field in fields(cls)]
        given = {**config_dict, **kwargs}
        for name in given:
            if name not in known:
                raise ConfigMalformed(f"unknown field {name!r}; there are {', '.join(known)}")
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


@cache
def _kinds() -> dict[str, tuple[Any, TypeAdapter[Any]]]:
    """The type of each field of a config, and what checks it."""
    hints, strict = get_type_hints(CTWLWatermarkingConfig), ConfigDict(strict=True)
    known = {field.name: hints[field.name] for field in fields(CTWLWatermarkingConfig)}
    return {name: (kind, TypeAdapter(kind, config=strict)) for name, kind in known.items()}


def _check_kind(name: str, value: object) -> None:
    """Refuse a value of another type than the field's: ConfigMalformed."""
    kind, adapter = _kinds()[name]
    try:
        adapter.validate_python(value)
    except ValidationError as error:
        told = repr(value) if len(repr(value)) <= 40 else f"a {type(value).__name__}"
        expected = kind.__name__ if isinstance(kind, type) else str(kind)
        hint = "; a tokenizer that is loaded goes into attach(Bridge(tokenizer, proxy))" if name == "tokenizer" else ""
        raise ConfigMalformed(f"{name} is {told}; expected {expected}{hint}") from error


@lru_cache(maxsize=4)
def _open_proxy(profile: str, proxy_path: str | None, device: str) -> Proxy:
    return open_proxy(profile, path=proxy_path, device=device, lazy=True, fast=True)


@lru_cache(maxsize=4)
def open_bridge(profile: str, tokenizer: str, proxy_path: str | None, device: str) -> Bridge:
    """A bridge between a tokenizer and a profile's proxy, both by name; kept, so that the next call is free.

    Raises:
        TokenizerUnsupported: there is no such tokenizer, or see :class:`ctwl_encoder.core.bridge.Bridge`.
        CTWLError: see :func:`ctwl_protocol.proxy.open_proxy`.
    """
    return Bridge(load_tokenizer(tokenizer), _open_proxy(profile, proxy_path, device))


class _Luck:
    """What luck it would take to draw the likeliest token at each step, as some rows do."""

    def __init__(self, rows: int) -> None:
        self._nats: NDArray[np.float64] = np.zeros(rows)
        """Minus the logarithm of its chance; minus infinity of rows that are judged no more, as they took another."""
        self._likeliest: NDArray[np.int64] = np.zeros(rows, dtype=np.int64)

    def offer(self, scores: torch.Tensor, ended: Sequence[bool]) -> None:
        """The logits of the next token, float (rows, size), and which rows had ended before."""
        self._nats[list(ended)] = -np.inf
        if np.isfinite(self._nats).any():
            best, token = torch.log_softmax(scores.float(), dim=1).max(dim=1)
            self._nats, self._likeliest = self._nats - best.cpu().double().numpy(), token.cpu().numpy()

    def give_up(self) -> None:
        """Judge no row any more."""
        self._nats[:] = -np.inf

    def take(self, rows: NDArray[np.bool_], tokens: NDArray[np.int64]) -> None:
        """The rows that went on, bool (rows,), with the token that each took: int64 (rows,)."""
        self._nats[~rows | (tokens != self._likeliest)] = -np.inf

    @property
    def incredible(self) -> bool:
        """Whether a row has more of it than anyone."""
        return bool((self._nats > _NO_SAMPLING).any())


class CTWLLogitsProcessor(LogitsProcessor):  # type: ignore[misc]
    """Marks what ``model.generate`` writes.

    As ``logits_processor=[processor]`` it comes before temperature, top-k and top-p: right for ``delta``, which then
    asks the proxy always, whatever the config says of decoding. As ``watermarking_config=processor.placed()`` it comes
    after them, as ``unbiased`` and ``gumbel`` must. It reads only the ids generated so far, so beams may reorder and
    rows may end early. It serves any number of calls, one after the other: :meth:`placed` is for the next one, and as
    ``logits_processor`` :meth:`reset` tells it where one begins.

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
        self.marker = Marker(
            bridge,
            strategy=config.strategy,
            delta=config.delta,
            skip_repeats=config.skip_repeats,
            uniform=lambda: torch.rand((), dtype=torch.float64, device="cpu").item(),
        )
        self.payloads: list[Payload] = []
        self.on_step: Callable[[int], None] = lambda tokens: None
        self._told = False
        """Whether it is told where a call begins."""
        self._prompt: NDArray[np.int64] | None = None
        self._last: NDArray[np.int64] = np.zeros((0, 0), dtype=np.int64)
        """The ids of the last step."""
        self._texts: dict[tuple[Payload, int, int], Text] = {}
        self._luck = _Luck(0)

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
            StrategyUnsuitable: beams change places where the strategy or the config's decoding says that tokens are
                sampled; ``unbiased``, or ``decoding="sampled"``, is not sampled; two calls of ``generate`` share this
                processor.
            ModelFailed: a row has no finite maximum.
        """
        ids: NDArray[np.int64] = input_ids.cpu().numpy()
        if self._begins(ids):
            self.marker.bridge.check_size(scores.shape[1])
            self._prompt, self._texts = ids, {}
            self.payloads = self._payloads(ids)
            self._luck = _Luck(len(ids))
        elif self._sampled:
            self._check_sampled(ids)
        self._last = ids
        generated = ids[:, self._prompt_length :]
        texts = [self.text(payload, row) for payload, row in zip(self.payloads, generated, strict=True)]
        marked = self.marker.mark(texts, self.payloads, scores.float().cpu().numpy())
        if marked:
            scores = scores.clone()
            rows = torch.tensor(list(marked), device=scores.device)
            scores[rows] = torch.from_numpy(np.stack(list(marked.values()))).to(scores)
        if self._sampled and self.marker.strategy is not Strategy.GUMBEL:
            self._luck.offer(scores, [text.ended for text in texts])
        self.on_step(generated.shape[1])
        return scores

    def reset(self) -> None:
        """Begin a new call of ``generate``, also where its prompts look like texts of the last one that go on."""
        self._prompt = None
        self._told = False
        self.marker.decoding = Decoding.ANY

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
        """This processor as the ``watermarking_config`` of one call of ``generate``, behind every other processor."""
        config = copy.deepcopy(self.config)
        config._placed = [self]  # a copy of the config, as generate makes one, has the same list
        return config

    @property
    def _sampled(self) -> bool:
        """Whether the next token must be drawn from what a step returns."""
        return self.marker.strategy.keeps_distribution or self.marker.decoding is Decoding.SAMPLED

    def _in_one_call(self) -> Self:
        self.reset()
        self._told = True
        self.marker.decoding = Decoding(self.config.decoding)  # behind all others, what it returns is what is chosen by
        return self

    @property
    def _prompt_length(self) -> int:
        return 0 if self._prompt is None else int(self._prompt.shape[1])

    def _begins(self, ids: NDArray[np.int64]) -> bool:
        """Whether this is the first step of a call: nobody went on from these rows to where the call has been."""
        if self._prompt is None:
            return True
        begins = not self._goes_on(ids)
        if begins and self._told:
            raise StrategyUnsuitable(
                "the rows do not go on where the last step left them: two calls of generate share this processor; give "
                "each its own, as a CTWLWatermarkingConfig does"
            )
        return begins

    def _goes_on(self, ids: NDArray[np.int64]) -> bool:
        """Whether each row has one token more than some text of this call; speculation goes back, and on again."""
        start, prompt = self._prompt_length, self._prompt
        if prompt is None or len(ids) != len(prompt) or not np.array_equal(ids[:, :start], prompt):
            return False
        if self._told and ids.shape[1] == start:
            return True
        if not start < ids.shape[1] <= self._last.shape[1] + 1:
            return False
        written = [row[start:-1] for row in ids]
        if all(_key(*pair) in self._texts for pair in zip(self.payloads, written, strict=True)):
            return True
        if all(any(_key(payload, each) in self._texts for payload in set(self.payloads)) for each in written):
            raise StrategyUnsuitable(_BEAMS)
        return False

    def _check_sampled(self, ids: NDArray[np.int64]) -> None:
        """Refuse beams, and a text that takes the likeliest token each time, for one whose tokens are to be drawn."""
        if ids.shape[1] != self._last.shape[1] + 1:
            self._luck.give_up()  # speculation: between two of its rounds a row shows its draft, not what was drawn
            return
        stayed = (ids[:, :-1] == self._last).all(axis=1)
        if any((row == self._last).all(axis=1).any() for row in ids[~stayed, :-1]):
            raise StrategyUnsuitable(_BEAMS)
        self._luck.take(stayed, ids[:, -1])
        if self._luck.incredible:
            by = self.marker.strategy if self.marker.strategy.keeps_distribution else 'decoding="sampled"'
            raise StrategyUnsuitable(
                f"the likeliest token was taken each time, and {by} is for sampling: say do_sample=True, or "
                'strategy="delta" with decoding="greedy"'
            )

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

"""One call from a prompt to a text that carries a record."""

from __future__ import annotations

import copy
import hashlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from ctwl_protocol import Beacon, Profile
from ctwl_protocol.profile import STANDARD
from ctwl_protocol.proxy import Proxy, open_proxy
from ctwl_protocol.records.beacon import BEACON_BITS
from ctwl_protocol.records.layouts import find_layout
from ctwl_protocol.records.record import Record
from ctwl_protocol.records.sealing import ProviderKeys
from ctwl_protocol.text.positions import positions

from .core.bridge import Bridge
from .core.expected_evidence import expected_log2_p, needed_tokens, until
from .core.payload import Payload
from .errors import OptionOutOfRange, ShortText, TokenizerUnsupported
from .integrations.transformers import CTWLLogitsProcessor, CTWLWatermarkingConfig
from .models import OFFLINE_MODEL, OFFLINE_PROFILE, check_model, load_model
from .options import Decoding, Strategy, check_beacon, check_options, strategy_for

__all__ = ["Encoder", "Generation", "default_profile"]


@dataclass(frozen=True)
class Generation:
    """A generated text and what it carries.

    Attributes:
        text: the text, without the prompt.
        record: what it carries.
        profile: name of the profile that reads it.
        strategy: how it was marked.
        tokens: tokens generated, special ones left out.
        marked: positions at which the code was favoured, or would have been had it mattered.
        lost: marked positions that a reader, who tokenizes the text anew, will not see.
        expected_log2_p: the p-value that the decoder may be expected to find, as log2, corrected for all codes; 0
            where it is 1, as in a text too short for any code to be clear.
    """

    text: str
    record: Record
    profile: str
    strategy: Strategy
    tokens: int
    marked: int
    lost: int
    expected_log2_p: float

    @property
    def beacon(self) -> Beacon:
        """Who wrote it."""
        return self.record.beacon


def default_profile(model: str) -> str:
    """The profile for a model where none is named: the standard one, and for ``smollm2`` the offline one."""
    return OFFLINE_PROFILE if model.lower() == OFFLINE_MODEL else STANDARD


class Encoder:
    """A provider's model together with a profile's proxy.

    Attributes:
        model: a causal LM of transformers.
        tokenizer: a copy of its tokenizer that pads on the left.
        proxy: the profile's proxy.
        bridge: from the model's vocabulary to the proxy's.
    """

    def __init__(self, model: Any, tokenizer: Any, proxy: Proxy) -> None:
        """Bring model and proxy together.

        Raises:
            TokenizerUnsupported: the tokenizer is another model's, or see
                :func:`ctwl_encoder.core.vocabulary.read_vocabulary`.
            ModelUnsuitable: the model is no causal LM.
            StrategyUnsuitable: the profile's codes are no beacons.
        """
        check_model(model)
        self.bridge = Bridge(tokenizer, proxy)
        self.bridge.check_size(model.config.get_text_config().vocab_size)
        check_beacon(proxy.profile)
        self.model = model
        self.tokenizer = copy.deepcopy(tokenizer)
        self.tokenizer.padding_side = "left"
        if self.tokenizer.pad_token_id is None:
            if self.tokenizer.eos_token is None:
                raise TokenizerUnsupported("the tokenizer has neither a token that pads nor one that ends a text")
            self.tokenizer.pad_token = self.tokenizer.eos_token
        self.proxy = proxy

    @classmethod
    def open(
        cls,
        model: str = OFFLINE_MODEL,
        profile: str | Path | Profile | None = None,
        *,
        proxy_path: str | Path | None = None,
        device: str | torch.device = "auto",
    ) -> Encoder:
        """Load a model by name and a profile's proxy.

        Raises:
            ModelNotFound: see :func:`ctwl_encoder.models.load_model`.
            CTWLError: see :func:`ctwl_protocol.proxy.open_proxy`.
        """
        proxy = open_proxy(profile or default_profile(model), path=proxy_path, device=device, lazy=True, fast=True)
        return cls(*load_model(model, device), proxy)

    def generate(
        self,
        prompts: str | Sequence[str],
        provider: int,
        version: int,
        *,
        nonce: int | None = None,
        record: Callable[[Beacon], Record] | None = None,
        keys: ProviderKeys | None = None,
        strategy: Strategy | Literal["unbiased", "gumbel", "delta", "vanilla"] | None = None,
        delta: float = 2.0,
        skip_repeats: bool = False,
        max_new_tokens: int = 200,
        min_new_tokens: int = 0,
        temperature: float = 1.0,
        top_p: float = 1.0,
        num_beams: int = 1,
        repetition_penalty: float = 1.0,
        seed: int | None = None,
        progress: Callable[[int], None] = lambda tokens: None,
    ) -> list[Generation]:
        """Write one text for each prompt, each with a beacon of its own, or with a record that begins with it.

        ``record=lambda beacon: keys.attributed(profile, beacon, user)`` writes a sealed user's number too, and
        ``record=lambda beacon: relayed(chain, beacon)`` the models that the prompt's text went through before.

        Args:
            prompts: one prompt or several, which are generated as one batch.
            provider: 0 to 1023.
            version: 0 to 15.
            nonce: 0 to 63; drawn for each text where None.
            record: makes a text's record from its beacon; the beacon alone where None.
            keys: the provider's, for records with an authenticator.
            strategy: where None, ``unbiased`` when sampling, else ``delta``.
            delta: nats, for ``delta`` and ``vanilla``.
            skip_repeats: see :class:`ctwl_encoder.core.marker.Marker`.
            max_new_tokens: the longest text, in tokens.
            min_new_tokens: no end before so many tokens.
            temperature: 0 for greedy decoding.
            top_p: nucleus sampling; 1 for none.
            num_beams: beam search instead of sampling where above 1.
            repetition_penalty: as in transformers.
            seed: makes sampling, and the nonces, repeatable.
            progress: called with the number of steps done.

        Warns:
            ShortText: max_new_tokens is too small for a reader to be sure of a code.

        Raises:
            FieldOutOfRange: provider, version or nonce.
            OptionOutOfRange: another option, or an empty prompt.
            StrategyUnsuitable: ``unbiased`` or ``gumbel`` without sampling.
        """
        prompts = [prompts] if isinstance(prompts, str | bytes) else list(prompts)
        sample = temperature > 0 and num_beams == 1
        strategy = strategy_for(strategy, sample=sample)
        check_options(
            prompts,
            tokens=max_new_tokens,
            least=min_new_tokens,
            temperature=temperature,
            top_p=top_p,
            beams=num_beams,
            penalty=repetition_penalty,
            delta=delta,
            seed=seed,
        )
        beacons = [
            Beacon(provider, version, nonce) if nonce is not None else _beacon(provider, version, seed, i, prompt)
            for i, prompt in enumerate(prompts)
        ]
        records = [record(beacon) if record else Record(find_layout("beacon"), (beacon.code,)) for beacon in beacons]
        needed = max(needed_tokens(self.proxy.profile, strategy, each.layout.codes) for each in records)
        if max_new_tokens < needed:
            warnings.warn(
                f"max_new_tokens is {max_new_tokens}; a reader needs about {needed} tokens to be sure of it all"
                + ("" if strategy.keeps_distribution else f", under {strategy} mostly more"),
                ShortText,
                stacklevel=2,
            )
        batch = self.tokenizer(prompts, return_tensors="pt", padding=True).to(self.model.device)
        room = getattr(self.model.config.get_text_config(), "max_position_embeddings", None)
        length = int(batch["input_ids"].shape[1])
        if not length:
            raise OptionOutOfRange("the prompt has no tokens; give at least a word")
        if room is not None and length + max_new_tokens > room:
            raise OptionOutOfRange(
                f"prompt ({length} tokens) and text ({max_new_tokens}) exceed the model's {room} positions; shorten one"
            )
        decoding = Decoding.SAMPLED if sample else Decoding.GREEDY if num_beams == 1 else Decoding.ANY
        config = CTWLWatermarkingConfig(
            strategy=strategy, delta=delta, skip_repeats=skip_repeats, decoding=decoding
        ).attach(self.bridge, keys, [each.layout for each in records])
        config.records = [each.document().model_dump() for each in records]
        processor = CTWLLogitsProcessor(self.bridge, config)
        processor.on_step = progress
        sampling = {"do_sample": True, "temperature": temperature, "top_p": top_p, "top_k": 0}
        with _seeded(seed, self.model.device):
            output = self.model.generate(
                input_ids=batch["input_ids"],
                attention_mask=batch["attention_mask"],
                max_new_tokens=max_new_tokens,
                min_new_tokens=min_new_tokens,
                num_beams=num_beams,
                repetition_penalty=repetition_penalty,
                pad_token_id=self.tokenizer.pad_token_id,
                watermarking_config=processor.placed(),
                **(sampling if sample else {"do_sample": False}),
            )
        rows = output[:, length:].cpu().numpy()
        return [
            self._generation(self._visible(row), each, processor.payloads[i * num_beams], processor)
            for i, (row, each) in enumerate(zip(rows, records, strict=True))
        ]

    def _stop_ids(self) -> list[int]:
        ids = self.model.generation_config.eos_token_id
        ids = [] if ids is None else ids if isinstance(ids, list) else [ids]
        return [*ids, self.tokenizer.pad_token_id]

    def _visible(self, row: NDArray[np.int64]) -> NDArray[np.int64]:
        """The ids before the first one that ends the row."""
        ends = np.flatnonzero(np.isin(row, self._stop_ids()))
        return row[: ends[0]] if len(ends) else row

    def _generation(
        self, ids: NDArray[np.int64], record: Record, payload: Payload, processor: CTWLLogitsProcessor
    ) -> Generation:
        text = self.tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        profile, last = processor.marker.profile, processor.text(payload, ids).last
        read = positions(self.proxy.tokenizer.encode(text), profile.prefix_length, profile.context_length)
        # A window that differs in some other token still shows nearly the same half: only the pair must survive.
        seen = {(tuple(c), token) for c, token in zip(read.contexts.tolist(), read.observed.tolist(), strict=True)}
        marks = list(until(last))
        return Generation(
            text=text,
            record=record,
            profile=profile.name,
            strategy=processor.marker.strategy,
            tokens=len(ids),
            marked=len(marks),
            lost=sum((mark.context, mark.token) not in seen for mark in marks),
            expected_log2_p=expected_log2_p(last, BEACON_BITS * record.layout.codes),
        )


@contextmanager
def _seeded(seed: int | None, device: torch.device) -> Iterator[None]:
    """Random numbers from a seed, and afterwards the caller's own again; without a seed the caller's."""
    if seed is None:
        yield
        return
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield


def _beacon(provider: int, version: int, seed: int | None, index: int, prompt: str) -> Beacon:
    """A beacon with a fresh nonce; with a seed, one that depends on the prompt too, so that no nonce is favoured."""
    if seed is None:
        return Beacon.fresh(provider, version)
    drawn = hashlib.sha256(f"{seed}/{index}/{prompt}".encode(errors="surrogatepass")).digest()
    return Beacon(provider, version, drawn[0] & 0x3F)

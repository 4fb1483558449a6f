"""One call from a prompt to a text that carries a record."""

from __future__ import annotations

import copy
import hashlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import LogitsProcessor, LogitsProcessorList, StoppingCriteriaList

from ctwl_protocol import Beacon, Profile
from ctwl_protocol.bridge import Bridge
from ctwl_protocol.causal_lm import read_config
from ctwl_protocol.profile import OFFLINE_MODEL
from ctwl_protocol.proxy import Proxy, open_proxy
from ctwl_protocol.records.layouts import find_layout
from ctwl_protocol.records.record import Record
from ctwl_protocol.records.sealing import ProviderKeys
from ctwl_protocol.text.positions import positions

from .core.expected_evidence import needed_tokens, warn_of_short_text
from .core.payload import Payload, pairs_of
from .core.strategies import Strategy
from .errors import FaintText, OptionOutOfRange
from .integrations.transformers import CTWLLogitsProcessor, ProcessorConfig
from .models import as_chat, check_model, load_model, pad_on_the_left
from .nonces import nonces_for
from .options import GenerationOptions, check_beacon, check_prompts, default_profile


@dataclass(frozen=True)
class Generation:
    """A generated text and what it carries.

    Attributes:
        text: the text, without the prompt.
        record: what the text carries.
        profile: name of the profile with which a decoder reads it.
        strategy: how the text was marked.
        tokens: tokens generated, special ones left out.
        marked: positions at which the code was favoured, even where this could not change the choice.
        lost: marked positions that a reader, who tokenizes the text anew, will not see.
        chance_found: how likely a reader finds the record, all of its codes, at the decoder's default level: 0 to 1.
    """

    text: str
    record: Record
    profile: str
    strategy: Strategy
    tokens: int
    marked: int
    lost: int
    chance_found: float

    @property
    def beacon(self) -> Beacon:
        """Who wrote it."""
        return self.record.beacon

    @property
    def readable(self) -> bool:
        """Whether a reader is more likely to find the code than not."""
        return self.chance_found >= 0.5


class Encoder:
    """A provider's model together with a profile's proxy.

    >>> encoder = Encoder.open()
    >>> (written,) = encoder.generate("The harvest this year", provider=42, version=3, max_new_tokens=150, seed=1)
    >>> written.beacon.provider, written.strategy
    (42, <Strategy.RACE: 'race'>)

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
                :func:`ctwl_protocol.bridge.read_vocabulary`.
            ModelUnsuitable: the model is no causal LM.
            StrategyUnsuitable: the profile's codes are no beacons.
        """
        check_model(model)
        self.bridge = Bridge(tokenizer, proxy)
        self.bridge.check_size(model.config.get_text_config().vocab_size)
        check_beacon(proxy.profile)
        self.model = model
        self.tokenizer = pad_on_the_left(copy.deepcopy(tokenizer))
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
        if model.lower() != OFFLINE_MODEL:
            read_config(model)  # what is wrong with the model's name is said before the proxy LM is looked for
        proxy = open_proxy(profile or default_profile(model), path=proxy_path, device=device)
        return cls(*load_model(model, device), proxy)

    def generate(  # noqa: PLR0913 - the beacon's numbers are named by themselves
        self,
        prompts: str | Sequence[str],
        provider: int,
        version: int,
        *,
        nonce: int | None = None,
        nonces: int | None = None,
        record: Callable[[Beacon], Record] | None = None,
        keys: ProviderKeys | None = None,
        chat: bool = False,
        progress: Callable[[int], None] = lambda tokens: None,
        **options: Any,
    ) -> list[Generation]:
        """Write one text for each prompt, each with a beacon of its own, or with a record that begins with it.

        ``record=lambda beacon: keys.attributed(profile, beacon, user)`` writes a sealed user's number too, and
        ``record=lambda beacon: relayed(chain, beacon)`` the models that the prompt's text went through before.

        Args:
            prompts: one prompt or several, which are generated as one batch.
            provider: 0 to 1023.
            version: 0 to 15.
            nonce: 0 to 63; drawn for each text where None.
            nonces: from how many it is drawn, see :func:`ctwl_encoder.nonces.nonces_for`.
            record: makes a text's record from its beacon; the beacon alone where None.
            keys: the provider's, for records with an authenticator.
            chat: whether each prompt is a message to the model, which its chat template puts into form.
            progress: called after each step with the number of tokens generated so far.
            options: the fields of :class:`ctwl_encoder.options.GenerationOptions`, such as ``strategy`` and
                ``max_new_tokens``.

        Warns:
            ShortText: max_new_tokens is too small for a reader to be sure of a code.
            FaintText: texts came out unreadable after all ``tries``, though max_new_tokens is large enough.

        Raises:
            FieldOutOfRange: provider, version or nonce.
            OptionOutOfRange: an option, an empty prompt, or see :meth:`tokenize` and
                :func:`ctwl_encoder.nonces.nonces_for`.
            StrategyUnsuitable: ``race`` without sampling.
        """
        asked, prompts = GenerationOptions(**options), check_prompts(prompts)
        count = nonces_for(self.proxy.profile, provider, version, nonces=nonces, nonce=nonce)

        def carried(prompts: list[str], seed: int | None) -> list[Record]:
            # Section 8.1: a nonce drawn anew for each text, and the record that begins with this beacon.
            beacons = _beacons(provider, version, nonce, count, seed, prompts)
            return [record(each) if record else Record(find_layout("beacon"), (each.code,)) for each in beacons]

        def write(prompts: list[str], records: list[Record], seed: int | None) -> list[Generation]:
            payloads = [Payload.of(each, keys.colour_key() if keys else None) for each in records]
            # Sections 8.2 and 8.3: the strategy, which is told how tokens are chosen; 8.5: the bridge to the proxy's
            # tokens.
            processor = CTWLLogitsProcessor(self.bridge, payloads, **asked.marking)
            seeded = asked.model_copy(update={"seed": seed})
            rows = self.run(self.tokenize(prompts, asked.max_new_tokens, chat=chat), processor, seeded, progress)
            carried = processor.payloads[:: len(processor.payloads) // len(records)]  # beams share one
            return [self._generation(*each, processor) for each in zip(rows, records, carried, strict=True)]

        records = carried(prompts, asked.seed)
        codes = max(each.layout.codes for each in records)
        strategy = asked.chosen_strategy
        how: dict[str, Any] = {"temperature": asked.drawn_at, "strength": asked.strength_of(strategy, asked.drawn_at)}
        warn_of_short_text(self.proxy.profile, strategy, codes, asked.max_new_tokens, **how)
        written = write(prompts, records, asked.seed)
        for again in range(1, asked.tries):
            faint = [i for i, text in enumerate(written) if not text.readable]
            if not faint:
                break
            some = [prompts[i] for i in faint]
            seed = None if asked.seed is None else (asked.seed + again) % (1 << 63)
            for i, each in zip(faint, write(some, carried(some, seed), seed), strict=True):
                written[i] = max(written[i], each, key=lambda text: text.chance_found)
        if asked.max_new_tokens >= needed_tokens(self.proxy.profile, strategy, codes, **how):
            _warn_of_faint_texts(written)
        return written

    def tokenize(self, prompts: Sequence[str], max_new_tokens: int, *, chat: bool = False) -> dict[str, torch.Tensor]:
        """The prompts as one batch, padded on the left: int64 ``input_ids`` and ``attention_mask`` (rows, length).

        Args:
            prompts: the prompts.
            max_new_tokens: room for so many is checked.
            chat: see :meth:`generate`.

        Raises:
            OptionOutOfRange: there are no tokens, or prompt and text are longer than the model can read; see
                :func:`ctwl_encoder.models.as_chat`.
        """
        given = as_chat(self.tokenizer, prompts) if chat else list(prompts)  # a template puts special tokens there
        batch = self.tokenizer(given, return_tensors="pt", padding=True, add_special_tokens=not chat)
        batch = batch.to(self.model.device)
        room = getattr(self.model.config.get_text_config(), "max_position_embeddings", None)
        length = int(batch["input_ids"].shape[1])
        if not length:
            raise OptionOutOfRange("the prompt has no tokens; give at least a word")
        if room is not None and length + max_new_tokens > room:
            raise OptionOutOfRange(
                f"prompt ({length} tokens) and text ({max_new_tokens}) exceed the model's {room} positions; shorten one"
            )
        return {name: batch[name] for name in ("input_ids", "attention_mask")}

    def run(
        self,
        batch: dict[str, torch.Tensor],
        processor: LogitsProcessor,
        options: GenerationOptions,
        progress: Callable[[int], None],
        *,
        before: Sequence[LogitsProcessor] = (),
    ) -> NDArray[np.int64]:
        """The ids that the model writes, without the prompts: int64 (rows, tokens).

        Args:
            batch: of :meth:`tokenize`.
            processor: runs after temperature and top-p.
            options: how tokens are chosen.
            progress: called after each step with the number of tokens so far.
            before: run before temperature and top-p.
        """
        device, seed, prompt = self.model.device, options.seed, batch["input_ids"].shape[1]

        def after_step(ids: torch.Tensor, _: object, **__: object) -> torch.Tensor:
            progress(ids.shape[1] - prompt)
            return torch.zeros(len(ids), dtype=torch.bool, device=ids.device)  # no row stops for this

        with torch.random.fork_rng([device] if device.type == "cuda" else [], enabled=seed is not None):
            if seed is not None:
                torch.manual_seed(seed)
            output = self.model.generate(
                **batch,
                **options.for_transformers(),
                pad_token_id=self.tokenizer.pad_token_id,
                return_dict_in_generate=False,  # what a model's own generation config says of these is not for us
                num_return_sequences=1,
                watermarking_config=ProcessorConfig(processor),
                logits_processor=LogitsProcessorList(before),
                stopping_criteria=StoppingCriteriaList([after_step]),
            )
        ids: NDArray[np.int64] = output[:, prompt:].cpu().numpy()
        return ids

    def stop_ids(self) -> list[int]:
        """The ids of the tokens that end a text, and of the one that pads rows."""
        ids = self.model.generation_config.eos_token_id
        ids = [] if ids is None else ids if isinstance(ids, list) else [ids]
        return [*ids, self.tokenizer.pad_token_id]

    def _generation(
        self, row: NDArray[np.int64], record: Record, payload: Payload, processor: CTWLLogitsProcessor
    ) -> Generation:
        """What was written in a row of generated ids, int64 (tokens,), and what a reader will see of its mark."""
        ends = np.flatnonzero(np.isin(row, self.stop_ids()))
        ids = row[: ends[0]] if len(ends) else row
        text = self.tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        profile, state = processor.marker.profile, processor.text(payload, ids)
        read = positions(self.proxy.tokenizer.encode(text), profile.prefix_length, profile.context_length)
        marked = processor.marker.texts.of(state).marked
        return Generation(
            text=text,
            record=record,
            profile=profile.name,
            strategy=processor.marker.strategy,
            tokens=len(ids),
            marked=len(marked.token),
            # A changed prefix gives nearly the same half, so a mark is kept where context and token are still there.
            lost=int((~np.isin(marked.pairs, pairs_of(read, len(payload.carried)))).sum()),
            chance_found=processor.marker.chance_found(state),
        )


def _beacons(
    provider: int, version: int, nonce: int | None, nonces: int, seed: int | None, prompts: Sequence[str]
) -> list[Beacon]:
    """A beacon for each prompt. With a seed, a nonce depends on the prompt too, so that no nonce is favoured."""
    if nonce is not None:
        return [Beacon(provider, version, nonce)] * len(prompts)
    if seed is None:
        return [Beacon.fresh(provider, version, nonces) for _ in prompts]
    drawn = [hashlib.sha256(f"{seed}/{i}/{prompt}".encode(errors="surrogatepass")) for i, prompt in enumerate(prompts)]
    return [Beacon(provider, version, int.from_bytes(each.digest()[:8], "little") % nonces) for each in drawn]


def _warn_of_faint_texts(written: Sequence[Generation]) -> None:
    """Warn of texts that are unreadable: FaintText."""
    faint = [text for text in written if not text.readable]
    if faint:
        chance = max(text.chance_found for text in faint)
        strategy = faint[0].strategy
        raised = "temperature" if strategy.keeps_distribution else strategy.traits.strength.name
        warnings.warn(
            f"{len(faint)} of {len(written)} texts carry too little for a reader to be sure (chances up to "
            f"{chance:.0%}); ask for longer texts, raise {raised}, or set tries",
            FaintText,
            stacklevel=3,
        )

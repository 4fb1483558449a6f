"""Texts that the experiments share. A recipe is all that decides a text; a text is written once and kept on disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import LogitsProcessor, LogitsProcessorList, TemperatureLogitsWarper

from ctwl_encoder import Bridge, CTWLLogitsProcessor, Encoder
from ctwl_encoder.core.payload import Payload
from ctwl_encoder.core.strategies.race.shares import share_for
from ctwl_encoder.integrations.transformers import ProcessorConfig, WatermarksInTurn
from ctwl_encoder.models import load_model
from ctwl_protocol import Beacon, get_profile
from ctwl_protocol.proxy import Proxy, open_proxy
from ctwl_protocol.proxy.model import fast_arithmetic

from .cache import recalled, sources
from .experiment import OFFLINE
from .prompts import news_prompts
from .secret_marks import SECRET, SecretMark

CODES = get_profile(OFFLINE).codes
"""Of which a text carries a random one, where no provider is named."""

PROVIDER, VERSION = 42, 3
"""Of texts whose code is no random one."""

ARITHMETIC = fast_arithmetic(torch.device("cpu"))
"""What the proxy LM and the model that writes compute in."""

SECRET_KEY = 0x5EC2E7
"""Of the secret watermarks in texts; no text depends on which it is."""


@dataclass(frozen=True)
class Recipe:
    """All that decides what is written, but for the prompt.

    Attributes:
        method: "plain", or a strategy of the encoder.
        delta: nats, where the method has it.
        share: of ``race``; the encoder's default for the temperature where None.
        tokens: of each text.
        temperature, top_p: of sampling; temperature 0 for greedy decoding.
        ahead, behind: a secret watermark of :data:`secret_marks.SECRET` that runs before the method, or behind it.
        provider, version, nonce: of the code, where it is no random one; a nonce of None is drawn for each text.
        seed: of codes and sampling.
        batch: texts that are written together.
    """

    method: str = "race"
    delta: float = 0.0
    share: float | None = None
    tokens: int = 200
    temperature: float = 1.0
    top_p: float = 1.0
    ahead: str = ""
    behind: str = ""
    provider: int | None = None
    version: int = 0
    nonce: int | None = None
    seed: int = 1
    batch: int = 40

    def codes(self, start: int, count: int) -> list[int]:
        """What texts from ``start`` on carry."""
        rng = np.random.default_rng([self.seed, start])
        if self.provider is None:
            return [int(code) for code in rng.integers(CODES, size=count)]
        nonces = rng.integers(64, size=count) if self.nonce is None else [self.nonce] * count
        return [Beacon(self.provider, self.version, int(nonce)).code for nonce in nonces]


@dataclass(frozen=True)
class Text:
    """A text.

    Attributes:
        text: what was written.
        code: what it carries.
        ids: the model's tokens.
        nll: nats, of each token under the model that wrote it.
        entropy: nats, of the model's distribution at each token.
        choice: nats, of what each token was drawn from, but for the watermark: after temperature and top-p.
    """

    text: str
    code: int
    ids: list[int]
    nll: list[float]
    entropy: list[float]
    choice: list[float]


def mean_nll(texts: Sequence[Text], tokens: int | None = None) -> NDArray[np.float64]:
    """The mean NLL of the first tokens of each text, of all where no number is given: float64 (texts,)."""
    return np.array([np.mean(text.nll[:tokens]) for text in texts])


def mean_choice(texts: Sequence[Text]) -> float:
    """The mean over texts of the entropy of the choice, in nats a token."""
    return round(float(np.mean([np.mean(text.choice) for text in texts])), 3)


class Nucleus(LogitsProcessor):  # type: ignore[misc]
    """Top-p as transformers has it, but all that are as likely as the last token stay.

    Tokens that have together less than is left out need not be sorted: nearly all of a large vocabulary.
    """

    def __init__(self, top_p: float) -> None:
        self._out = 1 - top_p

    def __call__(self, _: torch.Tensor | None, scores: torch.Tensor) -> torch.Tensor:
        """Rule out what is not in the nucleus: float32 (rows, |V|)."""
        likely = torch.softmax(scores.float(), dim=1)
        least = torch.tensor([[self._least(row)] for row in likely.cpu().numpy()], device=likely.device)
        return scores.masked_fill(likely < least, -torch.inf)

    def _least(self, likely: NDArray[np.float32]) -> np.float32:
        """The probability of the last token that stays."""
        small = likely < self._out / len(likely)
        ascending = np.sort(likely[~small])
        out = int((likely[small].sum() + np.cumsum(ascending) <= self._out).sum())
        least: np.float32 = ascending[min(out, len(ascending) - 1)]
        return least


class Writer:
    """Writes texts with SmolLM2, or finds them written.

    The model computes in the proxy's arithmetic: bfloat16 where the processor has AMX, else float32.

    Attributes:
        proxy: the offline profile's, which texts are written and read with.
    """

    def __init__(self, proxy: Proxy | None = None) -> None:
        self.proxy = proxy or open_proxy(OFFLINE)

    @cached_property
    def encoder(self) -> Encoder:
        """Loaded at the first use."""
        model, tokenizer = load_model("smollm2")
        return Encoder(_in_bfloat16(model) if ARITHMETIC == "bfloat16" else model, tokenizer, self.proxy)

    def texts(self, recipe: Recipe, count: int) -> list[Text]:
        """The first ``count`` texts of a recipe, in whole batches."""
        return self.answers(recipe, news_prompts(count))

    def answers(self, recipe: Recipe, prompts: Sequence[str]) -> list[Text]:
        """What a recipe writes behind each of these prompts, in whole batches."""
        found: list[Text] = []
        for start in range(0, len(prompts), recipe.batch):
            batch = prompts[start : start + recipe.batch]
            write = partial(self.write, recipe, start, batch)
            found += recalled(write, "texts", sources(), ARITHMETIC, recipe, start, batch)
        return found

    def write(self, recipe: Recipe, start: int, prompts: Sequence[str]) -> list[Text]:
        """A batch, written anew and not kept; ``start`` is the number of its first text."""
        codes, tokenizer = recipe.codes(start, len(prompts)), self.encoder.tokenizer
        made = self.generate(recipe, start, prompts, codes, output_logits=True, return_dict_in_generate=True)
        written = made.sequences[:, -recipe.tokens :].tolist()
        return [
            Text(tokenizer.decode(row, skip_special_tokens=True), code, row, *self._judged(recipe, made, i))
            for i, (row, code) in enumerate(zip(written, codes, strict=True))
        ]

    def generate(self, recipe: Recipe, start: int, prompts: Sequence[str], codes: list[int], **asked: bool) -> Any:
        """What the model's ``generate`` returns for prompts, asked so; ``start`` seeds the sampling."""
        model, tokenizer = self.encoder.model, self.encoder.tokenizer
        batch = tokenizer(list(prompts), return_tensors="pt", padding=True).to(model.device)
        options: dict[str, Any] = {"do_sample": False}
        processors = LogitsProcessorList()
        if recipe.temperature > 0:
            options = {"do_sample": True, "temperature": 1.0, "top_p": 1.0, "top_k": 0}
            processors += [TemperatureLogitsWarper(float(recipe.temperature))]
            processors += [Nucleus(recipe.top_p)] if recipe.top_p < 1 else []
        torch.manual_seed((recipe.seed << 20) + start)
        return model.generate(
            **batch, **options, **self.marking(recipe, codes), **asked, logits_processor=processors,
            max_new_tokens=recipe.tokens, min_new_tokens=recipe.tokens, pad_token_id=tokenizer.pad_token_id,
        )  # fmt: skip

    def marking(self, recipe: Recipe, codes: list[int]) -> dict[str, Any]:
        """What ``generate`` takes to write by a method, and by a secret watermark beside it."""
        ahead, behind = ([self.secret(name).config()] if name else [] for name in (recipe.ahead, recipe.behind))
        own = [] if recipe.method == "plain" else [ProcessorConfig(self._processor(recipe, codes))]
        configs = [*ahead, *own, *behind]
        return {"watermarking_config": WatermarksInTurn(*configs)} if configs else {}

    def _processor(self, recipe: Recipe, codes: list[int]) -> CTWLLogitsProcessor:
        """What marks by a strategy of the encoder."""
        return CTWLLogitsProcessor(
            Bridge(self.encoder.tokenizer, self.proxy), [Payload((code,)) for code in codes], strategy=recipe.method,
            share=share_for(recipe.temperature) if recipe.share is None else recipe.share, delta=recipe.delta or 2.0,
        )  # fmt: skip

    def secret(self, name: str, key: int = SECRET_KEY) -> SecretMark:
        """A secret watermark of the model."""
        return SECRET[name](self.encoder.model.config.vocab_size, key)

    def logits(self, prompt: Sequence[int], ids: Sequence[int]) -> NDArray[np.float32]:
        """The model's logits at each token of a text: float32 (tokens, |V|), minus infinity for what ends a text.

        The end was ruled out while writing.
        """
        given = torch.tensor([[*prompt, *ids]], device=self.encoder.model.device)
        with torch.inference_mode():
            found = self.encoder.model(given).logits[0, -len(ids) - 1 : -1].float()
            found[:, self.encoder.stop_ids()] = -torch.inf
        logits: NDArray[np.float32] = found.cpu().numpy()
        return logits

    def _judged(self, recipe: Recipe, made: Any, row: int) -> Iterator[list[float]]:
        """NLL of a text's tokens; entropy of the model there, and of what they were drawn from.

        Args:
            recipe: of the text.
            made: what ``generate`` returned, with the model's logits.
            row: of the text.
        """
        logits = torch.stack([step[row] for step in made.logits]).float().cpu()
        logits[:, self.encoder.stop_ids()] = -torch.inf
        likely = torch.log_softmax(logits, dim=1)
        nll = -likely.gather(1, made.sequences[row, -recipe.tokens :, None].cpu())[:, 0]
        entropy, choice = (torch.special.entr(each).sum(dim=1) for each in (likely.exp(), _drawn(recipe, logits)))
        yield from (each.double().round(decimals=4).tolist() for each in (nll, entropy, choice))


def _drawn(recipe: Recipe, logits: torch.Tensor) -> torch.Tensor:
    """The distributions that a recipe draws from: float32 (tokens, |V|)."""
    if recipe.temperature == 0:
        return torch.nn.functional.one_hot(logits.argmax(dim=1), logits.shape[1]).float()
    scaled = logits / recipe.temperature
    kept = scaled if recipe.top_p >= 1 else Nucleus(recipe.top_p)(None, scaled)
    drawn: torch.Tensor = torch.softmax(kept, dim=1)
    return drawn


def _in_bfloat16(model: Any) -> Any:
    """The model in bfloat16 but for its last layer: 8 bits are too few for a logit."""
    tokens, width = model.lm_head.weight.shape
    last = torch.nn.Linear(width, tokens, bias=False)
    last.weight = torch.nn.Parameter(model.lm_head.weight.detach().clone(), requires_grad=False)
    last.register_forward_pre_hook(lambda _, hidden: (hidden[0].float().contiguous(),))
    model.config.tie_word_embeddings, model.lm_head = False, last
    model.model.to(torch.bfloat16)
    return model

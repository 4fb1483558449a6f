"""A reading model: any causal LM weighs each token of a text against the tokens that could stand there.

An encoder marks the next token of its own model, through the token bridge (spec section 8.5). A reader who has that
model, or one like it, walks the text in the same way, and so sees what was raced against what.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol.bridge import Branch, Bridge
from ctwl_protocol.proxy import Proxy
from ctwl_protocol.proxy.forward import Arithmetic
from ctwl_protocol.proxy.rivals import Rivals

from .errors import needing
from .text.tokens import TokenizedVariant

BLOCK = 512
"""Tokens of one forward pass, at most. Chosen by hand: it bounds the memory."""

_ROWS = 8
"""Rows of a pass that are made probabilities at once. Chosen by hand: larger copies leave the processor's cache."""

_TEMPERATURES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2)
"""A text is taken to be written at the one of these at which the model finds it likeliest, block by block."""

_UNIT = 1 << 24
"""The weight of all that ran at one place."""

_ASTRAY = sorted(range(-64, 65), key=abs)
"""By how many tokens the bridge's count of the text's tokens may go off at once. Chosen by hand: a character that the
model cannot write has four, and a few may stand together."""


class ReadingModel:
    """A causal LM that weighs texts for one profile's proxy tokens.

    Attributes:
        name: what a report calls it.
        arithmetic: what it computes in.
        bridge: from its vocabulary to the proxy's.
        prompt: what it saw before each text, if that is known.
    """

    def __init__(self, model: Any, tokenizer: Any, proxy: Proxy, name: str, prompt: str | None = None) -> None:
        """Take over a model of transformers and its tokenizer.

        Raises:
            TokenizerUnsupported: the tokenizer is another model's, or see
                :func:`ctwl_protocol.bridge.read_vocabulary`.
        """
        self.name, self.prompt = name, prompt
        self.arithmetic: Arithmetic = "bfloat16" if "bfloat16" in str(model.dtype) else "float32"
        self.bridge = Bridge(tokenizer, proxy)
        config = model.config.get_text_config()
        self.bridge.check_size(config.vocab_size)
        self._model, self._tokenizer = model, tokenizer
        self._block = min(BLOCK, getattr(config, "max_position_embeddings", None) or BLOCK)

    @classmethod
    def open(cls, name: str | Path, proxy: Proxy, prompt: str | None = None, device: str = "cpu") -> ReadingModel:
        """Load a model and its tokenizer; no code of the model's own is run.

        Args:
            name: a folder, a name on the hub, or ``smollm2``.
            proxy: of the profile in whose proxy tokens the texts are read.
            prompt: what the model saw before each text, chat template included, if it is known.
            device: a torch device; "auto" takes CUDA where there is one.

        Raises:
            ExtraMissing: torch and transformers are not installed.
            CTWLError: see :func:`ctwl_protocol.causal_lm.load_causal_lm`.
        """
        (model,) = cls.open_each(name, [proxy], prompt, device)
        return model

    @classmethod
    def open_each(
        cls, name: str | Path, proxies: Sequence[Proxy], prompt: str | None = None, device: str = "cpu"
    ) -> list[ReadingModel]:
        """The same for the proxy tokens of several profiles, which share the model."""
        with needing("torch", "a reading model"):
            from ctwl_protocol.causal_lm import load_causal_lm
        model, tokenizer = load_causal_lm(str(name), device)
        return [cls(model, tokenizer, proxy, str(name), prompt) for proxy in proxies]

    def rivals(self, variant: TokenizedVariant, progress: Callable[[int], None] = lambda done: None) -> Rivals:
        """The rivals at a text's places, as the model ran them. Places of which it says nothing have none.

        Args:
            variant: the text and its proxy tokens.
            progress: called with the number of positions done.
        """
        races = [race for race in self._walk(variant.text, variant.ids.tolist()) if race is not None]
        progress(len(variant.positions))
        return Rivals.joined(sorted(races, key=lambda race: int(race.places[0])))

    def _walk(self, text: str, tokens: list[int]) -> Iterator[Rivals | None]:
        """The races in the order in which the model's tokens were written; None at a branch without the token."""
        before, ids = self._encode(text)
        written, astray = self.bridge.start(), 0
        for token, likely in zip(ids, self._probabilities(before, ids), strict=True):
            if likely is not None and len(written) >= written.keep:
                for branch in self.bridge.branches(written, likely):
                    place = written.count + astray + len(branch.path)
                    prefix = written.before(branch.path, written.keep)
                    if written.keep <= place < len(tokens) and _ends(tokens, place, prefix):
                        yield _race(branch, place, token)
            step = self.bridge.step(written.tail, token)
            if step is not None:
                written = written.after(step)
                if not _ends(tokens, written.count + astray, written.recent):
                    # A word without end was cut by force, or the model lacks a character: find the text again.
                    shifts = (astray + shift for shift in _ASTRAY)
                    found = (shift for shift in shifts if _ends(tokens, written.count + shift, written.recent))
                    astray = next(found, astray)

    def _encode(self, text: str) -> tuple[list[int], list[int]]:
        """The model's tokens of what it saw before the text, and of the text."""

        def encode(what: str, **options: Any) -> list[int]:
            ids: list[int] = self._tokenizer(what, add_special_tokens=False, verbose=False, **options)["input_ids"]
            return ids

        before = encode(self.prompt or "")
        first = self._tokenizer("")["input_ids"][:1]
        if first == [self._tokenizer.bos_token_id] and before[:1] != first:  # a chat template may have put it there
            before = [*first, *before]
        return before, encode(text, split_special_tokens=True)

    def _probabilities(self, before: list[int], ids: list[int]) -> Iterator[NDArray[np.float32] | None]:
        """The model's distribution of each token: float32 (size,); None where nothing stands before it."""
        import torch

        ids, first = before + ids, len(before)
        if not before and ids:
            yield None
            first = 1
        while first < len(ids):
            # Each block begins with a quarter of the block before, or with all that stands before the text.
            stop = min(max(first + self._block * 3 // 4, self._block), len(ids))
            begin = max(0, stop - self._block)
            with torch.inference_mode():
                inputs = torch.tensor([ids[begin : stop - 1]], device=self._model.device)
                logits = self._model(input_ids=inputs, use_cache=False).logits[0, first - begin - 1 :]
                shown = torch.tensor(ids[first:stop], device=logits.device)
                parts, nll = torch.split(logits, _ROWS), torch.zeros(len(_TEMPERATURES), device=logits.device)
                for part, tokens in zip(parts, torch.split(shown, _ROWS), strict=True):
                    rows = part.float()
                    for i, temperature in enumerate(_TEMPERATURES):
                        nll[i] += torch.nn.functional.cross_entropy(rows / temperature, tokens, reduction="sum")
            likeliest = _TEMPERATURES[int(nll.argmin())]
            for part in parts:
                with torch.inference_mode():
                    likely = torch.softmax(part.float() / likeliest, dim=-1).cpu().numpy()
                yield from likely
            first = stop


def _ends(tokens: list[int], place: int, last: tuple[int, ...]) -> bool:
    """Whether the tokens before a place end in these."""
    return len(last) <= place and tuple(tokens[place - len(last) : place]) == last


def _race(branch: Branch, place: int, token: int) -> Rivals | None:
    """The race at a branch, at a place, that the model's token took part in; None where it is no candidate there."""
    chosen = np.flatnonzero(branch.candidates == token)
    if not len(chosen):
        return None
    tokens, shown = np.unique(branch.tokens, return_inverse=True)
    mass = np.bincount(shown, weights=branch.mass)
    weights = np.floor(mass / mass.sum() * _UNIT + 0.5).astype(np.uint32)[None]
    rivals = Rivals.of(np.array([place]), weights, shown[chosen[:1]], _UNIT)
    return replace(rivals, tokens=tokens[rivals.tokens].astype(np.uint32))

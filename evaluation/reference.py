"""The paper's own implementation beside this one: the same model, prompts, code lengths and sampling.

Takes a checkout of https://github.com/lancopku/codable-watermarking-for-llm; nothing of it is part of this repository.
SmolLM2 is model and proxy LM for both, which is what the paper calls ``LM_proxy = LLM``. Both write by ``delta`` at
T = 1 and read what they wrote: 20 bits, A = 100, L_prefix = 10; the reference from its first tokens on, as it does.
Stated: codes read back exactly, NLL under the model, seconds that a text takes to write, one at a time, and to read.

    git clone https://github.com/lancopku/codable-watermarking-for-llm reference
    python evaluation/reference.py --out evaluation/results/reference.json reference
"""

from __future__ import annotations

import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from common import beside, news_prompts, plain_model, rate
from experiment import OFFLINE, Options, Result, experiment, tracked
from numpy.typing import NDArray
from texts import Recipe, Writer
from transformers import LogitsProcessorList

from ctwl_decoder import Decoder
from ctwl_protocol.proxy import Proxy, open_proxy

BITS, COLOURS, PREFIX = 20, 100, 10


class Scheme(Protocol):
    """Writes a code into a text, and reads it back."""

    def marking(self, code: int, prompt_tokens: int) -> dict[str, Any]:
        """What ``generate`` takes to write a code."""

    def read(self, text: str) -> int | None:
        """The likeliest code."""


class Ours:
    """This project's encoder and decoder."""

    def __init__(self, writer: Writer, recipe: Recipe) -> None:
        self._writer, self._recipe, self._decoder = writer, recipe, Decoder(writer.proxy)

    def marking(self, code: int, prompt_tokens: int) -> dict[str, Any]:  # noqa: ARG002
        """See :class:`Scheme`."""
        return self._writer.marking(self._recipe, [code])

    def read(self, text: str) -> int | None:
        """See :class:`Scheme`."""
        return self._decoder.decode(text).code


class Reference:
    """The paper's implementation."""

    def __init__(self, folder: Path, writer: Writer, proxy_model: Any, delta: float) -> None:
        sys.path.insert(0, str(folder))
        from watermarking.watermark_processors.message_model_processor import (  # type: ignore[import-not-found]
            WmProcessorMessageModel,
        )
        from watermarking.watermark_processors.message_models.lm_message_model import (  # type: ignore[import-not-found]
            LMMessageModel,
        )

        tokenizer = writer.encoder.tokenizer
        model = LMMessageModel(
            tokenizer=tokenizer, lm_model=proxy_model, lm_tokenizer=tokenizer, delta=delta, lm_prefix_len=PREFIX,
            lm_topk=-1, message_code_len=BITS, random_permutation_num=COLOURS,
        )  # fmt: skip
        self._processor = WmProcessorMessageModel(
            message=[0], message_model=model, tokenizer=tokenizer, encode_ratio=10
        )

    def marking(self, code: int, prompt_tokens: int) -> dict[str, Any]:
        """See :class:`Scheme`."""
        self._processor.start_length = prompt_tokens
        self._processor.message = torch.tensor([code])
        return {"logits_processor": LogitsProcessorList([self._processor])}

    def read(self, text: str) -> int | None:
        """See :class:`Scheme`."""
        codes, _ = self._processor.decode(text, disable_tqdm=True, non_analyze=True)
        return int(codes[0]) if codes else None


@dataclass(frozen=True)
class Found:
    """What became of one text."""

    exact: bool
    nll: float
    writing: float
    reading: float


def tried(writer: Writer, scheme: Scheme | None, recipe: Recipe, prompt: str, code: int, seed: int) -> Found:
    """A text written, and read; plain where there is no scheme."""
    tokenizer, model = writer.encoder.tokenizer, writer.encoder.model
    inputs = tokenizer(prompt, return_tensors="pt")
    given = inputs["input_ids"].shape[1]
    torch.manual_seed(seed)
    begun = time.perf_counter()
    ids = model.generate(
        **inputs, **(scheme.marking(code, given) if scheme else {}), do_sample=True, top_k=0,
        max_new_tokens=recipe.tokens, min_new_tokens=recipe.tokens, pad_token_id=tokenizer.pad_token_id,
    )[0, given:].tolist()  # fmt: skip
    written = time.perf_counter()
    read = scheme.read(tokenizer.decode(ids, skip_special_tokens=True)) if scheme else None
    done = time.perf_counter()
    logits = torch.from_numpy(writer.logits(inputs["input_ids"][0].tolist(), ids))
    nll = torch.nn.functional.cross_entropy(logits, torch.tensor(ids))
    return Found(read == code, float(nll), written - begun, done - written)


@experiment(quick={"texts": 2, "tokens": 40}, takes="reference", texts=8, tokens=200, delta=1.5, seed=1)
def main(options: Options) -> Result:
    """Run the experiment."""
    warnings.filterwarnings("ignore", message=".*is not implemented for this processor")
    proxy: Proxy = open_proxy(OFFLINE, fast=True)
    writer = Writer(proxy)
    recipe = Recipe("delta", options.delta, tokens=options.tokens, seed=options.seed)
    prompts, codes = news_prompts(options.texts), recipe.codes(0, options.texts)
    schemes: dict[str, Scheme | None] = {
        "plain": None,
        "this project": Ours(writer, recipe),
        "the paper's code": Reference(options.files[0], writer, plain_model(proxy.profile), options.delta),
    }
    rows: list[dict[str, Any]] = []
    plain: NDArray[np.float64] = np.zeros(options.texts)
    for name, scheme in schemes.items():
        found = [
            tried(writer, scheme, recipe, prompts[i], codes[i], options.seed + i)
            for i in tracked(range(options.texts), name)
        ]
        nll = np.array([each.nll for each in found])
        row: dict[str, Any] = {"by": name, "mean NLL": round(float(nll.mean()), 4)}
        row["seconds to write"] = round(float(np.median([each.writing for each in found])), 2)
        if scheme is None:
            plain = nll
        else:
            row |= beside(nll, plain)
            row["exact"] = rate(sum(each.exact for each in found), len(found))
            row["seconds to read"] = round(float(np.median([each.reading for each in found])), 2)
        rows.append(row)
    return {"settings": {"bits": BITS}, "rows": rows}


if __name__ == "__main__":
    main()

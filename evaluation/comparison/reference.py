"""The paper's own implementation beside this one: the same model, prompts, code lengths and sampling.

Takes a checkout of https://github.com/lancopku/codable-watermarking-for-llm; nothing of it is part of this repository.
SmolLM2 is model and proxy LM for both, which is what the paper calls ``LM_proxy = LLM``. Both write by ``delta`` at
T = 1 and read what they wrote: 20 bits, A = 100, L_prefix = 10; the reference from its first tokens on, as it does.
What this project writes is also read as the paper reads (``shared/paper.py``). Stated: codes read back exactly, NLL
under the model, seconds that a text takes to write, one at a time, and to read.

    git clone https://github.com/lancopku/codable-watermarking-for-llm reference
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from transformers import LogitsProcessorList

from ctwl_protocol.proxy.model import load_proxy_model

from ..shared.experiment import Options, Result, experiment, tracked
from ..shared.measures import beside, rate
from ..shared.paper import best_of, hits
from ..shared.prompts import news_prompts
from ..shared.readers import likeliest, reader
from ..shared.texts import Recipe, Writer

BITS, COLOURS, PREFIX = 20, 100, 10


class Scheme(NamedTuple):
    """Writes a code into a text, and reads it back.

    Attributes:
        marking: gives what ``generate`` takes, from the code and the number of the prompt's tokens.
        read: gives the likeliest code of a text.
    """

    marking: Callable[[int, int], dict[str, Any]]
    read: Callable[[str], int | None]


def ours(writer: Writer, recipe: Recipe) -> tuple[Scheme, Scheme]:
    """This project's encoder, with its decoder and with the paper's."""
    decoder, proxy = reader(writer.proxy), writer.proxy

    def as_the_paper_reads(text: str) -> int:
        return best_of(proxy, hits(proxy, proxy.tokenizer.encode(text))).code

    own = Scheme(lambda code, _: writer.marking(recipe, [code]), lambda text: likeliest(decoder.decode(text)))
    return own, own._replace(read=as_the_paper_reads)


def papers(folder: Path, writer: Writer, delta: float) -> Scheme:
    """The paper's implementation."""
    sys.path.insert(0, str(folder))
    processors = import_module("watermarking.watermark_processors.message_model_processor")
    models = import_module("watermarking.watermark_processors.message_models.lm_message_model")
    tokenizer = writer.encoder.tokenizer
    model = models.LMMessageModel(
        tokenizer=tokenizer, lm_model=load_proxy_model(writer.proxy.profile), lm_tokenizer=tokenizer, delta=delta,
        lm_prefix_len=PREFIX, lm_topk=-1, message_code_len=BITS, random_permutation_num=COLOURS,
    )  # fmt: skip
    processor = processors.WmProcessorMessageModel(
        message=[0], message_model=model, tokenizer=tokenizer, encode_ratio=10
    )

    def marking(code: int, prompt_tokens: int) -> dict[str, Any]:
        processor.start_length, processor.message = prompt_tokens, torch.tensor([code])
        return {"logits_processor": LogitsProcessorList([processor])}

    def read(text: str) -> int | None:
        codes, _ = processor.decode(text, disable_tqdm=True, non_analyze=True)
        return int(codes[0]) if codes else None

    return Scheme(marking, read)


def tried(
    writer: Writer, scheme: Scheme | None, tokens: int, prompt: str, code: int, seed: int
) -> tuple[bool, float, float, float]:
    """Write a text, plain where there is no scheme, and read it: exact, NLL, seconds of writing, seconds of reading."""
    tokenizer, model = writer.encoder.tokenizer, writer.encoder.model
    inputs = tokenizer(prompt, return_tensors="pt")
    given = inputs["input_ids"].shape[1]
    torch.manual_seed(seed)
    begun = time.perf_counter()
    ids = model.generate(
        **inputs, **(scheme.marking(code, given) if scheme else {}), do_sample=True, top_k=0,
        max_new_tokens=tokens, min_new_tokens=tokens, pad_token_id=tokenizer.pad_token_id,
    )[0, given:].tolist()  # fmt: skip
    written = time.perf_counter()
    read = scheme.read(tokenizer.decode(ids, skip_special_tokens=True)) if scheme else None
    done = time.perf_counter()
    logits = torch.from_numpy(writer.logits(inputs["input_ids"][0].tolist(), ids))
    nll = torch.nn.functional.cross_entropy(logits, torch.tensor(ids))
    return read == code, float(nll), written - begun, done - written


@experiment(quick={"texts": 2, "tokens": 40}, takes="reference", texts=8, tokens=200, delta=1.5, seed=1)
def main(options: Options) -> Result:
    """Run the experiment."""
    warnings.filterwarnings("ignore", message=".*is not implemented for this processor")
    writer = Writer()
    recipe = Recipe("delta", options.delta, tokens=options.tokens, seed=options.seed)
    prompts, codes = news_prompts(options.texts), recipe.codes(0, options.texts)
    own, read_by_hits = ours(writer, recipe)
    schemes: dict[str, Scheme | None] = {
        "plain": None,
        "this project": own,
        "this project, read as the paper reads": read_by_hits,
        "the paper's code": papers(options.files[0], writer, options.delta),
    }
    rows: list[dict[str, Any]] = []
    plain = np.zeros(options.texts)
    for name, scheme in schemes.items():
        trials = [
            tried(writer, scheme, options.tokens, prompts[i], codes[i], options.seed + i)
            for i in tracked(range(options.texts), name)
        ]
        exact, nll, writing, reading = map(np.array, zip(*trials, strict=True))
        row: dict[str, Any] = {"by": name, "mean NLL": round(float(nll.mean()), 4)}
        row["seconds to write"] = round(float(np.median(writing)), 2)
        if scheme is None:
            plain = nll
        else:
            row |= beside(nll, plain)
            row["exact"] = rate(int(exact.sum()), len(trials))
            row["seconds to read"] = round(float(np.median(reading)), 2)
        rows.append(row)
    return {"settings": {"bits": BITS}, "rows": rows}


if __name__ == "__main__":
    main()

"""Are the answers of servers found as often as those of ``Encoder.generate``?

Qwen2.5-Coder-0.5B-Instruct answers held-out questions of a chat through its chat template, each answer to its own end
or to the same number of tokens. It is run by ``Encoder.generate``; by transformers' ``generate`` with the config of
docs/providers/transformers.md; by vLLM in bfloat16 on the processor, which is asked all questions at once; and by
llama.cpp's server in 4 to 8 bits, one question after the other. Servers stream their answers. Every answer is read for
a registered provider, as ``ctwl-decode`` reads it. What the encoder or a server's log foretells stands beside.

The answers of a row are kept when they are written, so a run that was stopped goes on at the row that it was in.

    make test-vllm test-llama     # installs the servers
    python -m evaluation.reading.servers
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Self
from unittest.mock import patch

import numpy as np
import torch
from transformers.generation import utils as generation_utils

from ctwl_decoder import Decoder
from ctwl_encoder import Bridge, CTWLWatermarkingConfig
from ctwl_encoder.models import pad_on_the_left
from ctwl_protocol.proxy import open_proxy

from ..shared import real_models, servers
from ..shared.answers import QUESTIONS, Writing
from ..shared.cache import recalled, sources
from ..shared.experiment import OFFLINE, Options, Result, experiment, tracked
from ..shared.measures import rate
from ..shared.readers import reader
from ..shared.servers import LLAMA, VLLM, Served, Server
from ..shared.texts import PROVIDER, VERSION, Nucleus

MODEL = "qwen2.5-coder-0.5b"
SHORT = 100
"""Proxy tokens below which an answer is counted as a short one."""

COOL, WARM = (0.7, 0.95), (1.0, 1.0)
"""Temperature and top-p."""


@dataclass(frozen=True)
class Asked:
    """All that decides the answers.

    Attributes:
        questions: the questions.
        temperature: of sampling.
        top_p: of sampling.
        tokens: most of an answer.
        seed: where the way takes one.
    """

    questions: tuple[str, ...]
    temperature: float
    top_p: float
    tokens: int
    seed: int


def by_encoder(asked: Asked) -> list[Served]:
    """By ``Encoder.generate``, which foretells as the servers' logs do."""
    writing = Writing(MODEL, asked.temperature, asked.top_p, asked.tokens, seed=asked.seed)
    answers = writing.answers(real_models.chat(MODEL, asked.questions))
    return [Served(answer.whole.text, answer.whole.chance_found) for answer in answers]


def by_config(asked: Asked) -> list[Served]:
    """By transformers' ``generate``, with the config of the documentation; it foretells nothing."""
    model, tokenizer = real_models.load(MODEL)
    tokenizer = pad_on_the_left(tokenizer)
    config = CTWLWatermarkingConfig(provider=PROVIDER, version=VERSION).attach(Bridge(tokenizer, open_proxy(OFFLINE)))
    chats = [[{"role": "user", "content": question}] for question in asked.questions]
    inputs = tokenizer.apply_chat_template(
        chats, add_generation_prompt=True, return_tensors="pt", return_dict=True, padding=True
    )
    torch.manual_seed(asked.seed)
    ids = model.generate(
        **inputs, do_sample=True, temperature=asked.temperature, top_p=asked.top_p, top_k=0, repetition_penalty=1.0,
        max_new_tokens=asked.tokens, watermarking_config=config,
    )  # fmt: skip
    texts = tokenizer.batch_decode(ids[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
    return [Served(text, None) for text in texts]


def by_server(server: Server, asked: Asked) -> list[Served]:
    """By a server."""
    settings = {"temperature": asked.temperature, "top_p": asked.top_p, "max_tokens": asked.tokens}
    return server.answers(MODEL, asked.questions, settings)


@dataclass(frozen=True)
class Way:
    """A way of writing.

    Attributes:
        name: of the way.
        write: gives the answers.
        server: the one that writes them, if any.
        settings: what is tried, pairs of temperature and top-p.
    """

    name: str
    write: Callable[[Asked], list[Served]]
    server: Server | None = None
    settings: tuple[tuple[float, float], ...] = (COOL, WARM)

    @classmethod
    def of(cls, name: str, server: Server, **more: Any) -> Self:
        """The way of a server."""
        return cls(name, partial(by_server, server), server, **more)


WAYS = {
    "encoder": Way("`Encoder.generate`", by_encoder),
    "config": Way("transformers' `generate`, with the config", by_config, settings=(COOL,)),
    "vllm": Way.of("vLLM", VLLM),
    "llama": Way.of("llama.cpp", LLAMA, settings=(COOL,)),
}


def written(name: str, asked: Asked) -> list[Served]:
    """The answers of a way, written once and kept."""
    # The same cut as transformers' own, which sorts the whole vocabulary.
    with patch.object(generation_utils, "TopPLogitsWarper", lambda top_p, **_: Nucleus(top_p)):
        return recalled(partial(WAYS[name].write, asked), "served", sources(__file__, servers.__file__), name, asked)


def row(decoder: Decoder, name: str, asked: Asked) -> dict[str, Any]:
    """What is found of the answers of a way."""
    answers = written(name, asked)
    title = f"reading, {name}, T = {asked.temperature}"
    reports = [decoder.decode(each.text) for each in tracked(answers, title)]
    right = [(report.provider, report.version) == (PROVIDER, VERSION) for report in reports]
    chances = [each.chance for each in answers if each.chance is not None]
    lengths = [len(decoder.tokenizer.encode(each.text)) for each in answers]
    return {
        "way": WAYS[name].name,
        "temperature": asked.temperature,
        "top-p": asked.top_p,
        "found": rate(sum(right), len(right)),
        "wrong": sum(report.detected for report in reports) - sum(right),
        "foretold": round(sum(chances), 1) if chances else None,
        "median p": float(np.median([report.p_value for report in reports])),
        "proxy tokens, median": float(np.median(lengths)),
        "short": sum(length < SHORT for length in lengths),
    }


@experiment(
    quick={"questions": 2, "tokens": 60, "ways": "encoder,config"},
    questions=32, tokens=300, ways=",".join(WAYS), seed=1,
)  # fmt: skip
def main(options: Options) -> Result:
    """Run the experiment; ``ways`` are some of :data:`WAYS`, with commas between."""
    questions = tuple(json.loads(QUESTIONS.read_text(encoding="utf-8"))["chat"][: options.questions])
    names = options.ways.split(",")
    for server in (WAYS[name].server for name in names):
        if server is not None:  # said before an hour of work
            server.check()
    decoder = reader()
    asked = [
        (name, Asked(questions, *each, options.tokens, options.seed)) for name in names for each in WAYS[name].settings
    ]
    return {"settings": {"model": MODEL}, "rows": [row(decoder, *each) for each in asked]}


if __name__ == "__main__":
    main()

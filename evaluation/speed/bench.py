"""How fast are decoder and encoder, and how much memory do they take?

Speeds are ratios within one run, so they hold on a noisy machine.

- decode: the whole decoder on texts beside the bare forward pass of the proxy LM over them, as the decoder runs it in
  NumPy and by transformers' own float32 model; of scans see ``light_speed.py``;
- encode: each strategy beside plain generation, batch 8 and a single row, SmolLM2 on both sides; ``delta`` with the
  proxy in float32 and, as the encoder has it by default, in bfloat16 where the CPU has AMX;
- memory: the peak while decoding, above the loaded model.
"""

from __future__ import annotations

import pydoc_data.topics
import re
import warnings
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from ctwl_decoder import Decoder
from ctwl_encoder import CTWLWatermarkingConfig, Encoder
from ctwl_encoder.errors import WeakMark
from ctwl_protocol.profile import ProxyModel
from ctwl_protocol.proxy import ForwardPass, ProxyTokenizer, load_tensors, model, open_proxy
from ctwl_protocol.proxy.model import load_proxy_model

from ..shared.experiment import OFFLINE, Options, Result, experiment, interleaved
from ..shared.prompts import news_prompts

ONE = [(42, version) for version in range(16)]


def plain_texts(tokenizer: ProxyTokenizer, tokens: int, count: int) -> list[str]:
    """English from Python's documentation, without marks and line ends: one variant each, so each is read once."""
    words = re.sub(r"[^A-Za-z.,\s]+", "", " ".join(pydoc_data.topics.topics.values()))
    ids = tokenizer.encode(" ".join(words.split()))
    return [tokenizer.decode(ids[i * tokens : (i + 1) * tokens]).strip() for i in range(count)]


def decode(decoder: Decoder, length: int, count: int, runs: int) -> dict[str, Any]:
    """The decoder, and transformers' float32 model, beside the bare forward pass in NumPy; several texts in turn.

    Some of them show a beacon by chance that is worth reading on, which takes longer.
    """
    profile, texts = decoder.profile, plain_texts(decoder.tokenizer, length, count)
    assert isinstance(profile.proxy, ProxyModel)  # noqa: S101  # it has a model
    bare, plain = ForwardPass(profile.proxy.architecture, load_tensors(profile)), load_proxy_model(profile)
    every = [decoder.tokenizer.encode(text) for text in texts]

    def plainly() -> None:
        with torch.inference_mode():
            for ids in every:
                plain(torch.from_numpy(ids[None]), use_cache=False)

    jobs: dict[str, Callable[[], object]] = {
        "plain float32 forward": plainly,
        "forward": lambda: [bare.head(bare.hidden(ids)) for ids in every],
        "decode": lambda: [decoder.decode(text) for text in texts],
        "decode, one provider's beacons": lambda: [decoder.decode(text, beacons=ONE) for text in texts],
    }
    seconds = {name: np.array(took) / count for name, took in interleaved(jobs, runs).items()}
    return {
        name: {
            "seconds": round(float(np.median(took)), 4),
            "over forward": round(float(np.median(took / seconds["forward"])), 3),
        }
        for name, took in seconds.items()
    }


def encode(encoder: Encoder, exact: Encoder, batch: int, tokens: int, runs: int) -> dict[str, Any]:
    """Each strategy's generation beside plain generation with the same number of tokens."""
    inputs = encoder.tokenizer(news_prompts(batch), return_tensors="pt", padding=True)
    common: dict[str, Any] = {
        "max_new_tokens": tokens, "min_new_tokens": tokens, "do_sample": True, "top_k": 0,
        "pad_token_id": encoder.tokenizer.pad_token_id,
    }  # fmt: skip

    def marked(by: Encoder, strategy: str) -> None:
        config = CTWLWatermarkingConfig(codes=list(range(batch)), strategy=strategy).attach(by.bridge)
        encoder.model.generate(**inputs, **common, watermarking_config=config)

    jobs: dict[str, Callable[[], object]] = {
        "plain": lambda: encoder.model.generate(**inputs, **common),
        "race": lambda: marked(encoder, "race"),
        "delta": lambda: marked(encoder, "delta"),
        "delta, float32 proxy": lambda: marked(exact, "delta"),
    }
    seconds = interleaved(jobs, runs)
    plain = np.array(seconds["plain"])
    return {
        name: {
            "tokens per second": round(batch * tokens / float(np.median(values)), 1),
            "of plain": round(float(np.median(plain / np.array(values))), 3),
        }
        for name, values in seconds.items()
    }


def resident(field: str) -> float:
    """Resident memory of this process in megabytes: VmRSS now, VmHWM at its peak (Linux)."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith(field))


def memory(length: int) -> dict[str, float]:
    """Peak resident memory of the first decode of a process above what the loaded model takes, in megabytes.

    The model's pages are all touched first by a few tokens.
    """
    decoder = Decoder.open(OFFLINE)
    (text,) = plain_texts(decoder.tokenizer, length, 1)
    decoder.proxy.rivals(np.full(decoder.profile.prefix_length + 1, 500))
    loaded = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # the peak so far is forgotten
    decoder.decode(text)
    return {"loaded": round(loaded, 1), "decode, above loaded": round(resident("VmHWM") - loaded, 1)}


@experiment(quick={"runs": 1, "tokens": 10, "texts": 2, "length": 60}, runs=5, tokens=60, texts=8, length=200)
def main(options: Options) -> Result:
    """Run the benchmark."""
    warnings.simplefilter("ignore", WeakMark)
    with get_context("spawn").Pool(1) as fresh_process:
        megabytes = fresh_process.apply(memory, (options.length,))
    encoder = Encoder.open("smollm2", OFFLINE)
    exact = Encoder(encoder.model, encoder.tokenizer, open_proxy(OFFLINE))
    with patch.object(model, "fast_arithmetic", lambda _: "float32"):
        exact.proxy.load_for_writing()
    decoder = Decoder.open(OFFLINE)
    settings = {
        "fast arithmetic": encoder.proxy.load_for_writing(),
        "capability": torch.backends.cpu.get_cpu_capability() + " with AMX" * torch.cpu._is_amx_tile_supported(),
        "batch": encoder.proxy.batch_size,
    }
    return {
        "settings": settings,
        "decode": decode(decoder, options.length, options.texts, options.runs),
        "encode, batch 8": encode(encoder, exact, 8, options.tokens, options.runs),
        "encode, one row": encode(encoder, exact, 1, options.tokens, options.runs),
        "megabytes": megabytes,
    }


if __name__ == "__main__":
    main()

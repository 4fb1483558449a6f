"""How fast are decoder and encoder, and how much memory do they take?

Speeds are ratios within one run, so they hold on a noisy machine.

- decode: the whole decoder on short texts beside the bare forward pass of the proxy LM on the same prefixes, as the
  decoder runs it and by transformers' own float32 model;
- scan: short documents, and a longer one, searched for one provider's beacons and for all codes, beside the bare
  forward pass over their prefixes in the best of several batch sizes;
- encode: each strategy beside plain generation, batch 8 and a single row, SmolLM2 on both sides; ``delta`` with the
  proxy in float32 and, as the encoder has it by default, in bfloat16 where the CPU has AMX;
- memory: the peak while decoding, above the loaded model.

    python evaluation/bench.py --out evaluation/results/bench.json
"""

from __future__ import annotations

import json
import pydoc_data.topics
import re
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from common import news_prompts
from experiment import OFFLINE, Options, Result, experiment, interleaved

from ctwl_decoder import Decoder
from ctwl_decoder.apps.scan.decoding import DocumentDecoder
from ctwl_decoder.apps.scan.job import scan
from ctwl_decoder.apps.scan.settings import Settings
from ctwl_encoder import CTWLWatermarkingConfig, Encoder
from ctwl_encoder.errors import WeakMark
from ctwl_protocol.proxy import load_proxy_model, open_proxy
from ctwl_protocol.proxy.model import last_logits
from ctwl_protocol.text.positions import positions

ONE = [(42, version) for version in range(16)]


def plain_texts(decoder: Decoder, tokens: int, count: int) -> list[str]:
    """English from Python's documentation, without marks and line ends: one variant each, so each is read once."""
    words = re.sub(r"[^A-Za-z.,\s]+", "", " ".join(pydoc_data.topics.topics.values()))
    ids = decoder.proxy.tokenizer.encode(" ".join(words.split()))
    return [decoder.proxy.tokenizer.decode(ids[i * tokens : (i + 1) * tokens]).strip() for i in range(count)]


def decode(decoder: Decoder, length: int, count: int, runs: int) -> dict[str, Any]:
    """The decoder, and the plain float32 model, beside the decoder's own bare forward pass; several texts in turn.

    Some of them show a beacon by chance that is worth reading on, which takes longer.
    """
    proxy, texts = decoder.proxy, plain_texts(decoder, length, count)
    prefix, context, size = proxy.profile.prefix_length, proxy.profile.context_length, proxy.batch_size
    prefixes = [positions(proxy.tokenizer.encode(text), prefix, context).prefixes for text in texts]
    batches = [each[start : start + size] for each in prefixes for start in range(0, len(each), size)]
    plain = load_proxy_model(proxy.profile)

    def plainly() -> None:
        with torch.inference_mode():
            for each in batches:
                last_logits(plain, torch.tensor(each))

    jobs: dict[str, Callable[[], object]] = {
        "plain float32 forward": plainly,
        "forward": lambda: [proxy.forward(each) for each in batches],
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


def scanning(decoder: Decoder, length: int, documents: int, runs: int) -> dict[str, Any]:
    """A scan of documents of so many tokens beside the bare forward pass over all their prefixes."""
    proxy, profile = decoder.proxy, decoder.profile
    opened = DocumentDecoder(Settings(profile), device="cpu").decoder
    texts = plain_texts(decoder, length, documents)
    cuts = [positions(proxy.tokenizer.encode(t), profile.prefix_length, profile.context_length) for t in texts]
    prefixes = np.concatenate([cut.prefixes for cut in cuts])
    tokens = sum(len(cut) + profile.prefix_length for cut in cuts)

    def forward(size: int) -> None:
        for start in range(0, len(prefixes), size):
            proxy.forward(prefixes[start : start + size])

    def run(beacons: tuple[tuple[int, int], ...] | None) -> None:
        with tempfile.TemporaryDirectory() as folder:
            corpus = Path(folder) / "corpus.jsonl"
            corpus.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
            decode = DocumentDecoder(Settings(profile, beacons=beacons))
            decode.decoder = opened
            scan([corpus], Path(folder) / "found.parquet", decode)

    jobs: dict[str, Callable[[], object]] = {
        **{f"forward, batch {size}": partial(forward, size) for size in (16, 64, 128)},
        "one provider's beacons": lambda: run(tuple(ONE)),
        "all codes": lambda: run(None),
    }
    seconds = {name: np.array(runs) for name, runs in interleaved(jobs, runs).items()}
    median = {name: float(np.median(runs)) for name, runs in seconds.items()}
    best = min((name for name in jobs if name.startswith("forward")), key=median.__getitem__)
    return {
        "documents": documents,
        "tokens": tokens,
        **{f"milliseconds per token, {name}": round(1e3 * each / tokens, 3) for name, each in median.items()},
        "best": best,
        **{
            f"{name}, over the best forward": round(float(np.median(seconds[name] / seconds[best])), 3)
            for name in ("one provider's beacons", "all codes")
        },
    }


def encode(encoder: Encoder, exact: Encoder, batch: int, tokens: int, runs: int) -> dict[str, Any]:
    """Each strategy's generation beside plain generation with the same number of tokens."""
    inputs = encoder.tokenizer(news_prompts(batch), return_tensors="pt", padding=True)
    common: dict[str, Any] = {
        "max_new_tokens": tokens, "min_new_tokens": tokens, "do_sample": True, "top_k": 0,
        "pad_token_id": encoder.tokenizer.pad_token_id,
    }  # fmt: skip

    def marked(by: Encoder, strategy: str) -> None:
        config = CTWLWatermarkingConfig(codes=list(range(batch)), strategy=strategy, decoding="sampled").attach(
            by.bridge
        )
        encoder.model.generate(**inputs, **common, watermarking_config=config)

    jobs: dict[str, Callable[[], object]] = {
        "plain": lambda: encoder.model.generate(**inputs, **common),
        "unbiased": lambda: marked(encoder, "unbiased"),
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
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith(field))


def memory(length: int) -> dict[str, float]:
    """Peak resident memory of the first decode of a process above what the loaded model takes, in megabytes.

    The model's pages are all touched first by one prefix.
    """
    decoder = Decoder.open(OFFLINE)
    (text,) = plain_texts(decoder, length, 1)
    decoder.proxy.forward(np.full((1, decoder.proxy.profile.prefix_length), 500))
    loaded = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
    decoder.decode(text)
    return {"loaded": round(loaded, 1), "decode, above loaded": round(resident("VmHWM") - loaded, 1)}


@experiment(
    quick={"runs": 1, "tokens": 10, "texts": 2, "short": 60, "long": 120},
    runs=5,
    tokens=60,
    texts=8,
    short=200,
    long=1000,
)
def main(options: Options) -> Result:
    """Run the benchmark."""
    warnings.simplefilter("ignore", WeakMark)
    with get_context("spawn").Pool(1) as fresh_process:
        megabytes = fresh_process.apply(memory, (options.short,))
    encoder = Encoder.open("smollm2", OFFLINE)
    exact = Encoder(encoder.model, encoder.tokenizer, open_proxy(OFFLINE, packed=True))
    decoder = Decoder.open(OFFLINE)
    settings = {
        "fast arithmetic": encoder.proxy.arithmetic,
        "capability": torch.backends.cpu.get_cpu_capability() + " with AMX" * torch.cpu._is_amx_tile_supported(),
        "batch": encoder.proxy.batch_size,
    }
    return {
        "settings": settings,
        "decode": decode(decoder, options.short, options.texts, options.runs),
        "scan": scanning(decoder, options.short, options.texts // 2, options.runs),
        "scan, longer documents": scanning(decoder, options.long, 1, options.runs),
        "encode, batch 8": encode(encoder, exact, 8, options.tokens, options.runs),
        "encode, one row": encode(encoder, exact, 1, options.tokens, options.runs),
        "megabytes": megabytes,
    }


if __name__ == "__main__":
    main()

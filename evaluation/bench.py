"""Speed and memory, as ratios within one run, so that they hold on a noisy machine.

- decode: the whole decoder on 200 tokens beside the bare proxy forward on the same windows, as the decoder runs it and
  with transformers' own float32 model;
- scan: short documents, and a longer one, searched for one provider's beacons and for all codes, beside the bare
  forward pass over their windows in batches of several sizes, the best of which they are compared with;
- encode: each strategy beside plain generation, batch 8 and a single row, SmolLM2 on both sides; ``delta`` with the
  proxy in float32 and, as the encoder has it by default, in bfloat16 where the CPU has AMX;
- bridge: what the token bridge takes for a row and a token, with GPT-2's vocabulary on the provider's side;
- memory: the peak while decoding above the loaded model.

    python evaluation/bench.py --out evaluation/results/bench.json
"""

from __future__ import annotations

import json
import os
import pydoc_data.topics
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from common import news_prompts
from experiment import OFFLINE, Options, Result, experiment, interleaved
from numpy.typing import NDArray
from transplant import provider

from ctwl_decoder import Decoder
from ctwl_decoder.apps.scan.decoding import DocumentDecoder
from ctwl_decoder.apps.scan.job import scan
from ctwl_decoder.apps.scan.settings import Settings
from ctwl_encoder import Bridge, CTWLWatermarkingConfig, Encoder
from ctwl_encoder.core.bridge import Branch
from ctwl_encoder.core.reading import Reading
from ctwl_encoder.errors import ShortText
from ctwl_protocol.proxy import Proxy, load_proxy_model, open_proxy
from ctwl_protocol.proxy.model import last_logits
from ctwl_protocol.text.positions import positions

TOKENS, TEXTS = 200, 8
ONE = [(42, version) for version in range(16)]


def ratios(seconds: dict[str, list[float]], over: str) -> dict[str, Any]:
    """Median seconds of each job, and the median ratio to another job, pair by pair."""
    return {
        name: {
            "seconds": round(float(np.median(values)), 4),
            f"over {over}": round(float(np.median(np.array(values) / np.array(seconds[over]))), 3),
        }
        for name, values in seconds.items()
    }


def human_text(decoder: Decoder, tokens: int) -> str:
    """English of so many tokens, from the documentation that comes with Python, without its marks and line ends."""
    return plain_texts(decoder, tokens, 1)[0]


def plain_texts(decoder: Decoder, tokens: int, count: int) -> list[str]:
    """Texts of one form each, so that each is read once."""
    words = re.sub(r"[^A-Za-z.,\s]+", "", " ".join(pydoc_data.topics.topics.values()))
    ids = decoder.proxy.tokenizer.encode(" ".join(words.split()))
    return [decoder.proxy.tokenizer.decode(ids[i * tokens : (i + 1) * tokens]).strip() for i in range(count)]


def decode(decoder: Decoder, runs: int) -> dict[str, Any]:
    """The decoder, and the plain float32 model, beside the decoder's own bare forward pass; several texts in turn.

    Some of them show a beacon by chance that is worth reading on, which takes longer.
    """
    proxy, texts = decoder.proxy, plain_texts(decoder, TOKENS, TEXTS)
    prefix, context, size = proxy.profile.prefix_length, proxy.profile.context_length, proxy.batch_size
    windows = [positions(proxy.tokenizer.encode(text), prefix, context).prefixes for text in texts]
    batches = [each[start : start + size] for each in windows for start in range(0, len(each), size)]
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
    seconds = {name: [run / TEXTS for run in took] for name, took in interleaved(jobs, runs).items()}
    return ratios(seconds, "forward")


def scanning(decoder: Decoder, length: int, documents: int, runs: int) -> dict[str, Any]:
    """A scan of documents of so many tokens beside the bare forward pass over all their windows."""
    proxy, profile = decoder.proxy, decoder.profile
    opened = DocumentDecoder(Settings(profile), device="cpu").decoder
    texts = plain_texts(decoder, length, documents)
    cuts = [positions(proxy.tokenizer.encode(t), profile.prefix_length, profile.context_length) for t in texts]
    windows = np.concatenate([cut.prefixes for cut in cuts])
    tokens = sum(len(cut) + profile.prefix_length for cut in cuts)

    def forward(size: int) -> None:
        for start in range(0, len(windows), size):
            proxy.forward(windows[start : start + size])

    def run(beacons: tuple[tuple[int, int], ...] | None) -> None:
        with tempfile.TemporaryDirectory() as folder:
            corpus = Path(folder) / "corpus.jsonl"
            corpus.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
            decode = DocumentDecoder(Settings(profile, beacons=beacons))
            decode.decoder = opened
            scan([corpus], Path(folder) / "found.parquet", decode)

    jobs: dict[str, Callable[[], object]] = {f"forward, batch {size}": partial(forward, size) for size in (16, 64, 128)}
    jobs |= {
        "one provider's beacons": lambda: run(tuple((42, version) for version in range(16))),
        "all codes": lambda: run(None),
    }
    seconds = interleaved(jobs, runs)
    best = min((name for name in jobs if name.startswith("forward")), key=lambda name: float(np.median(seconds[name])))
    return {
        "documents": documents,
        "tokens": tokens,
        **{
            f"milliseconds per token, {name}": round(1e3 * float(np.median(s)) / tokens, 3)
            for name, s in seconds.items()
        },
        "best": best,
        **{
            f"{name}, over the best forward": round(
                float(np.median(np.array(seconds[name]) / np.array(seconds[best]))), 3
            )
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

    jobs: dict[str, Callable[[], object]] = {"plain": lambda: encoder.model.generate(**inputs, **common)}
    jobs |= {"unbiased": lambda: marked(encoder, "unbiased"), "delta": lambda: marked(encoder, "delta")}
    jobs |= {"delta, float32 proxy": lambda: marked(exact, "delta")}
    seconds = interleaved(jobs, runs)
    plain = np.array(seconds["plain"])
    return {
        name: {
            "tokens per second": round(batch * tokens / float(np.median(values)), 1),
            "of plain": round(float(np.median(plain / np.array(values))), 3),
        }
        for name, values in seconds.items()
    }


class Timed(Bridge):
    """A bridge that adds up the time that it takes."""

    seconds = 0.0
    rows = 0

    def branches(self, reading: Reading, probabilities: NDArray[np.float32]) -> list[Branch]:
        """Timed; one call a row and token."""
        start = time.perf_counter()
        found = super().branches(reading, probabilities)
        self.seconds, self.rows = self.seconds + time.perf_counter() - start, self.rows + 1
        return found

    def extend(self, reading: Reading, token: int) -> Reading:
        """Timed."""
        start = time.perf_counter()
        extended = super().extend(reading, token)
        self.seconds += time.perf_counter() - start
        return extended


def bridge(proxy: Proxy, tokens: int) -> dict[str, float]:
    """Milliseconds of the bridge for a row and a token."""
    encoder = Encoder(*provider("gpt2"), proxy)
    encoder.bridge = timed = Timed(encoder.tokenizer, proxy)
    for length in (5, tokens):  # the first warms up
        timed.seconds, timed.rows = 0.0, 0
        encoder.generate(news_prompts(8), 1, 1, max_new_tokens=length, min_new_tokens=length, seed=1)
    return {"milliseconds per row and token": round(1e3 * timed.seconds / timed.rows, 3)}


def resident() -> int:
    """Resident memory of this process, in bytes."""
    fields = Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


def memory() -> dict[str, float]:
    """Peak resident memory of the first decode of a process above what the loaded model takes, in megabytes.

    Measured in a process of its own: the model's pages are all touched first by one window.
    """
    decoder = Decoder.open(OFFLINE)
    text = human_text(decoder, TOKENS)
    decoder.proxy.forward(np.full((1, decoder.proxy.profile.prefix_length), 500))
    loaded, peak, done = resident(), 0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.is_set():
            peak = max(peak, resident())
            time.sleep(0.001)

    watcher = threading.Thread(target=watch)
    watcher.start()
    decoder.decode(text)
    done.set()
    watcher.join()
    return {"loaded": round(loaded / 1e6, 1), "decode, above loaded": round((peak - loaded) / 1e6, 1)}


@experiment(quick={"runs": 1, "tokens": 10}, runs=5, tokens=60)
def main(options: Options) -> Result:
    """Run the benchmark."""
    warnings.simplefilter("ignore", ShortText)
    measured = subprocess.run([sys.executable, __file__, "--memory"], capture_output=True, check=True, text=True)
    encoder = Encoder.open("smollm2", OFFLINE)
    exact = Encoder(encoder.model, encoder.tokenizer, open_proxy(OFFLINE))
    decoder = Decoder.open(OFFLINE)
    settings = {
        "fast arithmetic": encoder.proxy.arithmetic,
        "capability": torch.backends.cpu.get_cpu_capability() + " with AMX" * torch.cpu._is_amx_tile_supported(),
        "batch": encoder.proxy.batch_size,
        "decoded tokens": TOKENS,
        "decoded texts": TEXTS,
    }
    return {
        "settings": settings,
        "decode": decode(decoder, options.runs),
        "scan": scanning(decoder, TOKENS, 4, options.runs),
        "scan, longer documents": scanning(decoder, 1000, 1, options.runs),
        "encode, batch 8": encode(encoder, exact, 8, options.tokens, options.runs),
        "encode, one row": encode(encoder, exact, 1, options.tokens, options.runs),
        "bridge": bridge(encoder.proxy, options.tokens),
        "megabytes": json.loads(measured.stdout),
        "peak of this process, megabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3, 1),
    }


if __name__ == "__main__":
    if sys.argv[1:] == ["--memory"]:
        print(json.dumps(memory()))
    else:
        main()

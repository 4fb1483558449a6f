"""What does ``ctwl-encode plan`` recommend, is it the same each time, and how long does it take?

The command runs as a provider runs it, in a process of its own, several times with other seeds. So the time includes
loading the models. It is the processor's, because other work on the machine changes the clock's.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from itertools import product
from typing import Any

from ..shared import real_models
from ..shared.experiment import Options, Result, experiment, tracked


def run(options: Options, model: str, seed: int) -> dict[str, Any]:
    """One run of the command: what it found, and the minutes of the processor that it took."""
    asked = ["--temperature", options.temperature, "--top-p", options.top_p, "--texts", options.texts]
    asked += ["--max-new-tokens", options.tokens, "--seed", seed, "--json"]
    command = [sys.executable, "-m", "ctwl_encoder", "plan", "--model", real_models.named(model), *map(str, asked)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = subprocess.run(command, stdout=subprocess.PIPE, check=True, encoding="utf-8").stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / 60
    found: dict[str, Any] = json.loads(told.replace(real_models.named(model), model))
    return {"seed": seed, "processor minutes": round(busy, 1), **found}


@experiment(
    quick={"runs": 1, "texts": 8, "tokens": 40, "models": "smollm2"},
    models="qwen2.5-coder-0.5b smollm2 qwen2.5-coder-1.5b", runs=2, texts=32, tokens=200, temperature=0.7, top_p=0.95,
    seed=1,
)  # fmt: skip
def main(options: Options) -> Result:
    """Run the experiment."""
    seeds = range(options.seed, options.seed + options.runs)
    asked = list(product(options.models.split(), seeds))
    return {"runs": [run(options, model, seed) for model, seed in tracked(asked, "runs")]}


if __name__ == "__main__":
    main()

"""The program in the specification's core, as an adapter: ``python tools/core_program.py`` answers JSON lines.

It answers the vectors of what the core fixes to the last bit. It decodes no whole texts for the suite: a search of all
codes takes it minutes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from ctwl_conformance.adapter import Implementation, NotDone, Started, serve
from ctwl_protocol import __version__

JSON: TypeAlias = dict[str, Any]

ROOT = Path(__file__).resolve().parents[1]
BLOCKS, ENCODER = (
    re.findall(r"^```python\n(.*?)^```$", (ROOT / "spec" / part).read_text(encoding="utf-8"), re.M | re.S)
    for part in ("core.md", "encoder.md")
)


@cache
def core() -> dict[str, Any]:
    """The names that the program of the core part defines, and that of the encoder part (7.2), which needs it."""
    names: dict[str, Any] = {}
    program = [*(block for block in BLOCKS if not block.startswith(">>>")), *ENCODER]
    exec(compile("\n".join(program), "core.md", "exec"), names)  # noqa: S102 - our own page
    return names


def _tokenizer(it: JSON, given: JSON) -> JSON:
    merges = [tuple(merge.split(" ")) for merge in given["merges"]]
    return {"ids": it["tokenize"](given["text"], given["vocab"], merges, given["pre_tokenizer"])}


def _positions(it: JSON, given: JSON) -> JSON:
    found = it["positions"](given["tokens"], given["prefix_length"], given["context_length"])
    prefixes, contexts, observed = map(list, zip(*found, strict=True)) if found else ([], [], [])
    return {"windows": prefixes, "contexts": contexts, "observed": observed}


def _permutation(it: JSON, given: JSON) -> JSON:
    seed = it["permutation_seed"](bytes.fromhex(given["key"]), given["context"], given["colour"])
    return {"seed": seed, "ranks": [it["rank"](seed, v) for v in given["tokens"]]}


def _colours(it: JSON, given: JSON) -> JSON:
    places = (given["layout"], given["slot"], given["nonce"])
    t = it["colour_seed"](bytes.fromhex(given["key"]), given["context"], *places)
    return {"seed": t, "colours": [it["colour"](t, m, given["colours"]) for m in given["codes"]]}


def _toy_weights(it: JSON, given: JSON) -> JSON:
    weights = it["toy_weights"](given["window"], special=given.get("special", []))
    return {"weights": [weights[v] for v in given["tokens"]]}


def _members(it: JSON, given: JSON) -> JSON:
    weights, total = given["weights"], sum(given["weights"])
    below = [it["before"](weights, given["seed"], v) for v in range(len(weights))]
    inside = [v for v, mass in enumerate(below) if it["is_member"](mass, total, given["sigma"])]
    return {"members": inside, "below": below}


def _rivals(it: JSON, given: JSON) -> JSON:
    ran = it["rivals"](given["weights"], given["token"], given["total"])
    return {"tokens": list(ran), "weights": list(ran.values())}


def _units(it: JSON, given: JSON) -> JSON:
    ran = it["rivals"](given["weights"], given["token"], given["total"])
    half, race = it["units"](ran, given["token"], given["total"], given["seeds"], given["sigma"])
    return {"half": half, "race": race}


def _scores(it: JSON, given: JSON) -> JSON:
    rows = [row["units"] for row in given["contexts"]]
    seeds = [row["seed"] for row in given["contexts"]]
    best = it["best_code"](rows, seeds, given["codes"])
    scores = [it["score_of"](m, rows, seeds) for m in given["codes"]]
    return {"scores": scores, "best": best, "best_score": it["score_of"](best, rows, seeds)}


ANSWERS: dict[str, Callable[[JSON, JSON], JSON]] = {
    "normalization": lambda it, given: {"text": it["normalize"](given["text"])},
    "tokenizer": _tokenizer,
    "toy-tokenizer": lambda it, given: {"ids": it["toy_tokens"](given["text"])},
    "positions": _positions,
    "blocks": lambda it, given: {
        "blocks": [list(block) for block in it["blocks"](given["tokens"], given["prefix_length"], given["places"])]
    },
    "mixing": lambda it, given: {"mixed": [it["fmix32"](word) for word in given["words"]]},
    "permutation": _permutation,
    "colours": _colours,
    "weights": lambda it, given: {
        "weights": it["weigh"](given["logits"], given["vocabulary"], given["weight_bits"], given["special"])
    },
    "toy-weights": _toy_weights,
    "members": _members,
    "rivals": _rivals,
    "units": _units,
    "scores": _scores,
}
"""What the core answers, by family: from the names of its program and a vector's input."""


class Core(Implementation):
    """The core under the suite."""

    def start(self) -> Started:
        """Say what it answers."""
        return Started(name="core", version=__version__, roles=["decoder"], profiles=[], families=list(ANSWERS))

    def vector(self, family: str, data: dict[str, Any]) -> dict[str, Any]:
        """Answer a vector."""
        if family not in ANSWERS:
            raise NotDone(f"the core answers no vectors of {family} here")
        return ANSWERS[family](core(), data)


if __name__ == "__main__":
    sys.exit(serve(Core()))

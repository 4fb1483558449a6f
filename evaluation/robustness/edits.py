"""What is still found after the edits that people and their programs make, and how much of a text has to remain?

- Texts by ``race`` at T = 1 and at T = 0.7 go through each edit of ``editing.py``: what copying,
  wrapping and marking up do, capitals, spelling, order, sentences of others in between, synonyms. They are read as any
  text is.
- The frontier: more and more words of a text are replaced by any others that people wrote, until the code is not found
  any more. Needed: the share of the pairs of context and token that remain at the last step at which it was found. A
  pair is all that the light scores know.

Pairs remain if a variant of the edited text has them too. Intervals are over 2,000 draws of the texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ctwl_decoder.text.tokens import TokenizedVariant, tokenize_variants
from ctwl_decoder.text.variants import AS_GIVEN
from ctwl_protocol.proxy import Proxy
from ctwl_protocol.text.positions import Positions

from ..shared.editing import EDITS, Edit, replaced
from ..shared.experiment import Options, Result, experiment, tracked
from ..shared.measures import rate
from ..shared.outcomes import LEVEL
from ..shared.readers import likeliest, reader
from ..shared.texts import Recipe, Text, Writer

METHODS: dict[str, dict[str, Any]] = {
    "race, T = 1": {},
    "race, T = 0.7": {"temperature": 0.7},
}
SHARES = tuple(step / 20 for step in range(17))
"""Of the words that are replaced, one step after the other."""

SEED = 1
"""Of the edits."""


@dataclass(frozen=True)
class Reading:
    """What was read of an edited text.

    Attributes:
        changed: whether the edit changed the text.
        left: the share of the pairs of context and token that remain, in the variant that has most.
        given: the same in the text as given.
        found: whether the code that was written was found.
        light: whether the light scores alone showed it.
        p_value: of the code that was written; 1 where another one was likelier.
    """

    changed: bool
    left: float
    given: float
    found: bool
    light: bool
    p_value: float


def pairs(positions: Positions) -> set[tuple[int, ...]]:
    """The pairs of context and token of a text."""
    return set(map(tuple, np.column_stack([positions.contexts, positions.observed]).tolist()))


class Reader:
    """Reads a text after several edits. What the edits leave alone is read once.

    Attributes:
        text: the text.
    """

    def __init__(self, proxy: Proxy, text: Text) -> None:
        """Take a text, and the proxy LM of its profile."""
        self.text, self._code = text.text, text.code
        self._tokenized = partial(tokenize_variants, tokenizer=proxy.tokenizer, profile=proxy.profile)
        self._own = self._tokenized(text.text)[0].positions
        self._decoder = reader(proxy)
        self._done: dict[bytes, Reading] = {}

    def read(self, edited: str) -> Reading:
        """The text after an edit, as any text is read: the proxy LM is asked where the light scores show too little."""
        variants = self._tokenized(edited)
        key = b"|".join(variant.ids.tobytes() for variant in variants)
        if key not in self._done:
            self._done[key] = self._read(edited, variants)
        return replace(self._done[key], changed=edited != self.text)

    def _read(self, edited: str, variants: Sequence[TokenizedVariant]) -> Reading:
        report = self._decoder.decode(edited, alpha=LEVEL)
        own = pairs(self._own)
        left = {each.name: len(own & pairs(each.positions)) / len(own) for each in variants}
        return Reading(
            changed=True,
            left=max(left.values()),
            given=left[AS_GIVEN],
            found=any(span.code == self._code for span in report.spans),
            light=report.read == "light",
            p_value=report.p_value if likeliest(report) == self._code else 1.0,
        )


def read_all(readers: Sequence[Reader], edits: Mapping[str, Edit], title: str) -> dict[str, list[Reading]]:
    """Every text after every edit; each text has the same chance in every edit."""
    found: dict[str, list[Reading]] = {name: [] for name in edits}
    for number, its in enumerate(tracked(readers, title)):
        for name, edit in edits.items():
            found[name].append(its.read(edit(its.text, np.random.default_rng([SEED, number]))))
    return found


def summary(readings: Sequence[Reading]) -> Result:
    """What is left and found after an edit."""
    return {
        "texts changed": sum(each.changed for each in readings),
        "pairs left": round(float(np.mean([each.left for each in readings])), 3),
        "pairs left as given": round(float(np.mean([each.given for each in readings])), 3),
        "found": rate(sum(each.found for each in readings), len(readings)),
        "found by light scores": sum(each.found and each.light for each in readings),
        "median p": float(f"{np.median([each.p_value for each in readings]):.3g}"),
    }


def last_found(reader: Reader, number: int) -> tuple[float, float]:
    """The most words of a text that may be replaced, as a share, and the share of pairs that then remain.

    The words of a step are replaced in all later steps too. A text that is not found unedited has infinitely many to
    keep.
    """
    last = 0.0, np.inf
    for share in SHARES:
        reading = reader.read(replaced(share, reader.text, np.random.default_rng([SEED, number])))
        if not reading.found:
            break
        last = share, reading.left
    return last


def needed(values: NDArray[np.float64], part: float) -> Result:
    """A value that a part of the texts does not exceed, with its interval; None where there is no such value.

    Args:
        values: float64 (texts,), infinite where nothing is enough.
        part: of the texts.
    """
    rows = np.random.default_rng(SEED).integers(len(values), size=(2000, len(values)))
    quantile = partial(np.quantile, q=part, method="inverted_cdf")
    found = [quantile(values), *np.quantile(quantile(values[rows], axis=1), (0.025, 0.975), method="inverted_cdf")]
    value, low, high = (None if np.isinf(each) else round(float(each), 3) for each in found)
    return {"share": value, "interval_95": [low, high]}


def frontier(readers: Sequence[Reader], title: str) -> Result:
    """How much has to remain, so that half and nine in ten of the texts that are found unedited are still found."""
    words, left = np.array([last_found(reader, i) for i, reader in enumerate(tracked(readers, title))]).T
    found, texts = np.isfinite(left), len(left)
    if found.any():
        words, left = words[found], left[found]
    return {
        "found unedited": rate(int(found.sum()), texts),
        "half": {"pairs left": needed(left, 0.5), "words replaced": round(float(np.quantile(words, 0.5)), 3)},
        "nine in ten": {"pairs left": needed(left, 0.9), "words replaced": round(float(np.quantile(words, 0.1)), 3)},
    }


@experiment(
    quick={"texts": 1, "longer": 80, "tokens": 60, "batch": 1},
    texts=20, tokens=200, longer=400, seed=1, batch=40,
)  # fmt: skip
def main(options: Options) -> Result:
    """Run the experiment."""
    writer, rows, found = Writer(), list[Result](), list[Result]()
    for method, how in METHODS.items():
        for tokens in (options.tokens, options.longer):
            recipe, title = Recipe(**how, tokens=tokens, seed=options.seed, batch=options.batch), f"{method}, {tokens}"
            texts = writer.texts(recipe, max(options.texts, options.batch))[: options.texts]
            readers = [Reader(writer.proxy, text) for text in texts]
            named = {"method": method, "temperature": recipe.temperature, "tokens": tokens}
            if tokens == options.tokens:
                edited = read_all(readers, EDITS, title)
                rows += [named | {"edit": name} | summary(each) for name, each in edited.items()]
            found.append(named | frontier(readers, title))
    return {"rows": rows, "frontier": found}


if __name__ == "__main__":
    main()

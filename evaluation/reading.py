"""What a reader makes of texts, at several lengths at once: cut short, a text says less."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from baselines import BASELINES
from common import kept
from texts import Recipe, Text

from ctwl_decoder.evidence import Evidence, Marks, Observe, Table
from ctwl_decoder.null import null_of
from ctwl_decoder.scores import code_space, score_all
from ctwl_decoder.units import Score, units
from ctwl_protocol.proxy import Proxy
from ctwl_protocol.windows import Positions, positions

__all__ = ["LEVEL", "Outcome", "TextReader"]

LEVEL = 1e-4
"""The decoder's own."""


@dataclass(frozen=True)
class Outcome:
    """What was read of the first tokens of a text.

    Attributes:
        exact: whether the likeliest code is the one that was written.
        p_value: of the likeliest code in one test of the whole text over all codes; None for a scheme without one.
    """

    exact: bool
    p_value: float | None

    @property
    def found(self) -> bool:
        """Whether the right code passes the level."""
        return self.exact and self.p_value is not None and self.p_value <= LEVEL


class TextReader:
    """Reads what recipes wrote, each as its own scheme does; the whole text as one code among all.

    What the proxy says of each text is kept on disk, see :func:`common.kept`.
    """

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy
        self._proxies: dict[tuple[str, bool], tuple[Proxy, Observe]] = {}

    def read(self, recipe: Recipe, text: Text, lengths: Sequence[int], score: Score = Score.SOFT) -> list[Outcome]:
        """Of the first so many tokens each."""
        ids = self._proxy.tokenizer.encode(text.text)[: max(lengths)]
        if recipe.method in BASELINES:
            scheme = BASELINES[recipe.method](recipe.code_bits, len(self._proxy.tokenizer.vocabulary))
            return [Outcome(scheme.read(ids[:length].tolist()) == text.code, None) for length in lengths]
        proxy, observe = self._reading(recipe)
        profile = proxy.profile
        cut = positions(ids, profile.prefix_length, profile.context_length)
        marks = _marks(proxy, cut, observe(cut, lambda done: None), score)
        return [_outcome(proxy, marks[: max(0, length - profile.prefix_length)], text.code) for length in lengths]

    def _reading(self, recipe: Recipe) -> tuple[Proxy, Observe]:
        name = recipe.profile().digest, recipe.method == "vanilla"
        if name not in self._proxies:
            proxy = recipe.proxy(self._proxy)
            self._proxies[name] = proxy, kept(proxy)
        return self._proxies[name]


def _marks(proxy: Proxy, cut: Positions, evidence: Evidence, score: Score) -> Marks:
    return Marks.of(proxy.profile, cut, units(score, evidence, proxy.profile.sigma))


def _outcome(proxy: Proxy, marks: Marks, code: int) -> Outcome:
    table, codes = Table.of(marks), code_space(proxy.profile)
    scores = score_all(table, codes)
    best = int(scores.argmax())
    return Outcome(best == code, null_of(table.units).p_value(int(scores[best]), len(codes)))

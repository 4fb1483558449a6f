"""What candidates do after a tail: which begin a token of their own, and which make the tail's last word go on.

It depends on the tail alone, so it is found once for all texts that come to the same tail.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..proxy.tokenizer import ProxyTokenizer

Path: TypeAlias = tuple[int, ...]
"""Proxy tokens between the settled ones and a place."""

DEPTH = 4
"""Proxy tokens of a joined candidate that are told apart; the rest of a longer candidate carries nothing. Chosen by
hand: the tokens of a model rarely have more."""

MOST_JOINED = 512
"""Candidates that are remembered after one tail. Chosen by hand: it bounds the memory of a tail."""

MOST_FURTHER = 8
"""Places inside of candidates that are marked after one tail, the ones with most candidates. Chosen by hand: most tails
have none; it bounds the memory of a row on the device."""

_ENTRY_BYTES, _PATH_BYTES, _TOKEN_BYTES = 150, 200, 32
"""Memory of what a candidate shows at one place, of a place, and of each token of its path, as measured with
tracemalloc."""

NO_ENTRIES: NDArray[np.int32] = np.empty((0, 3), dtype=np.int32)
"""See :attr:`Continuations.entries`: no candidate was tokenized with the tail."""


class Continuations:
    """The candidates after one tail.

    Attributes:
        paths: the places; the first ``bases`` of them stand right after the tail.
        bases: how many.
        place_of: int32 (openings,), by a candidate's opening the place at which it shows its first proxy token; -1
            where it may merge with the tail.
        joined: the candidates that were tokenized with the tail.
        entries: int32 (n, 3), candidate, place and the token that it shows there, for these candidates;
            ascending.
    """

    __slots__ = ("_further", "_shown", "_tokens", "bases", "entries", "joined", "paths", "place_of")

    def __init__(self, tokens: Path, paths: list[Path], place_of: NDArray[np.int32]) -> None:
        """Begin with the places after a tail of these tokens; :meth:`add` brings candidates that merge with it."""
        self._tokens = tokens
        self.paths = paths
        self.bases = len(paths)
        self.place_of = place_of
        self.joined: set[int] = set()
        self.entries = NO_ENTRIES
        self._shown: dict[Path, list[tuple[int, int]]] = {}
        """The joined candidates at each place, each with the token that it shows there."""
        self._further: dict[Path, None] = {}
        """The places inside of candidates at which these differ; at others nothing can be marked."""

    def add(self, tokenized: Mapping[int, Path]) -> int:
        """Add candidates, each with the tokens of the longer tail; about how many bytes this takes.

        Candidates beyond :data:`MOST_JOINED` and places beyond :data:`MOST_FURTHER` are left out.
        """
        size = 0
        for candidate, tokens in tokenized.items():
            if len(self.joined) < MOST_JOINED:
                self.joined.add(candidate)
                if tokens != self._tokens:  # else the candidate adds no text
                    size += self._show(candidate, tokens)
        further = sorted(self._further, key=lambda path: -len(self._shown[path]))
        self.paths = [*self.paths[: self.bases], *further[:MOST_FURTHER]]
        rows = [(i, place, token) for place, path in enumerate(self.paths) for i, token in self._shown.get(path, ())]
        self.entries = np.fromiter(chain.from_iterable(sorted(rows)), dtype=np.int32).reshape(-1, 3)
        return size

    def _show(self, candidate: int, tokens: Path) -> int:
        """Note what a candidate shows at each place, from its longer tail's tokens; about how many bytes this takes."""
        common, size = _common_prefix_length(self._tokens, tokens), 0
        for depth in range(common, min(len(tokens), common + DEPTH)):
            path, token = tokens[:depth], tokens[depth]
            shown = self._shown.setdefault(path, [])
            size += _ENTRY_BYTES + (0 if shown else _PATH_BYTES + _TOKEN_BYTES * depth)
            if shown and shown[0][1] != token and path not in self.paths[: self.bases]:
                self._further[path] = None
            shown.append((candidate, token))
        return size


def follow(
    tail: str, apart: NDArray[np.bool_], probes: Mapping[int, str], tokenizer: ProxyTokenizer
) -> tuple[list[Path], NDArray[np.int32]]:
    """Where candidates follow after white space, whose tokens depend on what follows.

    Args:
        tail: the text that may still be tokenized in another way.
        apart: bool (openings,), which openings are certainly cut off.
        probes: by opening, a text that begins in this way.
        tokenizer: the proxy's.

    Returns:
        The paths; int32 (openings,), an index of these for each opening, -1 where a candidate may merge.
    """
    place_of: NDArray[np.int32] = np.full(len(apart), -1, dtype=np.int32)
    texts: Sequence[str] = [*(tail + probe for probe in probes.values()), *probes.values()]
    encoded = tokenizer.encode_within(texts)
    paths: list[Path] = []
    for opening, whole, probe in zip(probes, encoded, encoded[len(probes) :], strict=False):
        path = tuple(whole[: len(whole) - len(probe)])
        if path not in paths:
            paths.append(path)
        if apart[opening]:
            place_of[opening] = paths.index(path)
    return paths, place_of


def _common_prefix_length(one: Path, other: Path) -> int:
    """How many tokens two sequences begin with in common."""
    if one == other[: len(one)]:
        return len(one)
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count

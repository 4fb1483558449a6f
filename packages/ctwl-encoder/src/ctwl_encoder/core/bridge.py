"""The token bridge: for every token that the provider's model may write, the proxy token that a reader would see.

The model writes in its own vocabulary, the reader reads in the proxy's. The candidates for the next token differ at
*branches*: places in the reader's token sequence where some show one proxy token and some another (spec section 8.5).
Most of the mass is at one branch, the place behind the text so far. A candidate that continues the last word differs
before it; candidates of several proxy tokens differ once more behind it.

Where the proxy's tokenizer certainly cuts between the text and a candidate, the candidate has the same proxy tokens as
alone, and these are known before generation starts. Of the other candidates only the likely ones are tokenized together
with the tail of the text.

The thresholds below were chosen by hand and trade time for evidence: a candidate that they leave out keeps its
probability, so no result is wrong. No experiment varies them. evaluation/lookahead.py states what the two costly steps
add (merging candidates, and branches behind a first token), and evaluation/bench.py the time.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol.proxy import Proxy
from ctwl_protocol.text.normalization import normalize_within

from ..errors import TokenizerUnsupported
from .reading import Kind, Reading, append_normalized, breaks, common_prefix_length, extend, kind
from .strategies import Branch
from .vocabulary import Vocabulary, read_vocabulary

__all__ = ["Branch", "Bridge"]

_Mask = NDArray[np.bool_]
_Nodes = dict[tuple[int, ...], list[tuple[int, int]]]
"""By path: the candidates that reach it, each with the proxy token that it shows there."""

DEPTH = 4
"""Proxy tokens of a candidate that are told apart; the rest of a longer candidate carries nothing."""

JOINED = 64
"""Largest number of candidates that are tokenized together with the tail at one step, the likeliest first."""

NEGLIGIBLE = 1e-6
"""Candidates below this probability keep it; together they have about 0.4 % of the mass at temperature 1."""

UNLIKELY = 1e-4
"""Candidates below this probability are not tokenized with the tail, and only their first proxy token is used."""

MINOR = 0.01
"""Branches with less mass stay unmarked, except the one behind the text."""

_SPACED = len(Kind)
"""Opening of a candidate that starts with a space and goes on with something else: a new word."""

_NOTHING = len(Kind) + 1
"""Opening of a candidate that adds no text, or none that can be told without the text before."""


class Bridge:
    """From a provider's vocabulary to a proxy's.

    Attributes:
        proxy: the profile's proxy.
        vocabulary: bytes of each of the provider's tokens.
    """

    def __init__(self, tokenizer: Any, proxy: Proxy) -> None:
        """Tokenize each token of the provider alone: about a second for 50,000 tokens.

        Args:
            tokenizer: the provider's, a Hugging Face tokenizer.
            proxy: the profile's proxy.

        Raises:
            TokenizerUnsupported: see :func:`ctwl_encoder.core.vocabulary.read_vocabulary`.
        """
        self.vocabulary: Vocabulary = read_vocabulary(tokenizer)
        self.proxy = proxy
        self._breaks = breaks(proxy.profile.tokenizer.pre_tokenizer)
        texts = [_alone(data) for data in self.vocabulary]
        self._tokens = np.full((len(texts), DEPTH), -1, dtype=np.int32)
        """The proxy tokens of each token alone: int32 (size, DEPTH), -1 behind the last."""
        for row, ids in zip(self._tokens, proxy.tokenizer.encode_within([text or "" for text in texts]), strict=True):
            row[: len(ids)] = ids[:DEPTH]
        self._first = self._tokens[:, 0].astype(np.int64)
        self._several = self._tokens[:, 1] >= 0
        self._opening = np.array([_opening(text) for text in texts], dtype=np.uint8)
        """The kind of each token's first character, or one of the two openings of this module: uint8 (size,)."""
        self._opening[self._first < 0] = _NOTHING
        self._known: _Mask = self._opening != _NOTHING
        # Candidates that are certainly cut off from a text, by the kind of its last character; new words always are.
        openings = {before: np.append(self._breaks[before], [True, False]) for before in Kind}
        self._apart: dict[Kind, _Mask] = {before: openings[before][self._opening] for before in Kind}

    def check_size(self, size: int) -> None:
        """Refuse a model that cannot write what its tokenizer reads.

        Args:
            size: of the model's vocabulary.

        Raises:
            TokenizerUnsupported: the tokenizer is another model's.
        """
        last = next(i for i in reversed(range(len(self.vocabulary))) if self.vocabulary[i])
        if last >= size:
            raise TokenizerUnsupported(
                f"the tokenizer has text for token {last}, and the model has only {size} tokens, so it is another "
                "model's; load both from one folder or by one name"
            )

    def start(self) -> Reading:
        """The reading of an empty text."""
        return Reading(self.proxy.profile.prefix_length)

    def extend(self, reading: Reading, token: int) -> Reading:
        """The reading after one more token of the provider's model."""
        data = self.vocabulary[token] if token < len(self.vocabulary) else None
        return extend(reading, data, self.proxy.tokenizer, self._breaks) if data else reading

    def writes(self, token: int) -> bool:
        """Whether a token of the provider's model becomes text."""
        return 0 <= token < len(self.vocabulary) and bool(self.vocabulary[token])

    def branches(self, reading: Reading, probabilities: NDArray[np.float32]) -> list[Branch]:
        """The places at which the candidates for the next token differ (spec section 8.5).

        Args:
            reading: the text so far.
            probabilities: float32 (size,), of the provider's model; rows beyond its vocabulary are no candidates.

        Returns:
            The branches. Candidates that are in none are negligible, or their proxy tokens are not known.
        """
        chances = probabilities[: len(self.vocabulary)]
        likely = np.flatnonzero(chances > UNLIKELY)
        merging, bases = self._separate(reading, likely)
        if len(merging) > JOINED:
            merging = merging[np.argpartition(chances[merging], -JOINED)[-JOINED:]]
        joined = self._joined(reading, merging)
        others = chances > NEGLIGIBLE
        others[list(joined)] = False
        nodes = _nodes(reading, joined)
        found = []
        for base, follows in bases.items():
            members = others & follows[: len(others)]
            self._deepen(nodes, base, likely[self._several[likely] & members[likely]], chances)
            own = np.flatnonzero(members)
            behind = np.stack([own, self._first[own]], axis=1)
            found.append(_branch(base, np.concatenate([behind, _pairs(nodes.pop(base, []))]), chances))
        for path, node in nodes.items():  # inside candidates: of use where these differ, and have enough mass
            branch = _branch(path, _pairs(node), chances)
            if len(set(branch.tokens.tolist())) > 1 and branch.mass.sum() >= MINOR:
                found.append(branch)
        return [branch for branch in found if len(branch.candidates)]

    def _separate(
        self, reading: Reading, likely: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], dict[tuple[int, ...], _Mask]]:
        """Which likely candidates may merge with the tail, and the paths behind which the other candidates follow.

        A candidate that may merge, but is not tokenized with the tail (unlikely, or one too many), is taken to follow.
        """
        if reading.pending or not reading.tail:
            return likely, {}
        before = kind(reading.tail[-1])
        merging = likely[~self._apart[before][likely]]
        if before not in (Kind.SPACE, Kind.WHITE):
            return merging, {reading.tokens: self._known}
        # How white space is tokenized depends on the character behind it.
        probes = {_SPACED: " x"}
        if before is Kind.WHITE:
            probes |= {Kind.LETTER: "x", Kind.DIGIT: "1", Kind.MARK: "<", Kind.APOSTROPHE: "'"}
        encoded = self.proxy.tokenizer.encode_within(
            [*(reading.tail + probe for probe in probes.values()), *probes.values()]
        )
        bases: dict[tuple[int, ...], _Mask] = {}
        for opening, whole, probe in zip(probes, encoded, encoded[len(probes) :], strict=False):
            base = tuple(whole[: len(whole) - len(probe)])
            bases[base] = bases.get(base, False) | (self._apart[before] & (self._opening == opening))
        return merging, bases

    def _joined(self, reading: Reading, candidates: NDArray[np.int64]) -> dict[int, tuple[int, ...]]:
        """Candidates that may merge with the tail, each with the proxy tokens of the longer tail."""
        texts = {i: append_normalized(reading, self.vocabulary[i] or b"")[0] for i in candidates.tolist()}
        texts = {i: text for i, text in texts.items() if text != reading.tail}
        found = self.proxy.tokenizer.encode_within(list(texts.values()))
        return {i: tuple(ids) for i, ids in zip(texts, found, strict=True)}

    def _deepen(
        self,
        nodes: _Nodes,
        base: tuple[int, ...],
        candidates: NDArray[np.int64],
        chances: NDArray[np.float32],
    ) -> None:
        """Add to ``nodes`` where candidates of several proxy tokens differ behind a first one that they share.

        Only behind first tokens that have enough mass, or that merging candidates share.
        """
        shown = self._first[candidates].tolist()
        behind: defaultdict[int, float] = defaultdict(float)
        for token, share in zip(shown, chances[candidates].tolist(), strict=True):
            behind[token] += share
        chosen = candidates[[behind[token] >= MINOR or (*base, token) in nodes for token in shown]]
        for candidate, (first, *rest) in zip(chosen.tolist(), self._tokens[chosen].tolist(), strict=True):
            path = (*base, first)
            for token in rest:
                if token < 0:
                    break
                nodes.setdefault(path, []).append((candidate, token))
                path = (*path, token)


def _nodes(reading: Reading, joined: dict[int, tuple[int, ...]]) -> _Nodes:
    """The places, behind what the tail and they have in common, at which merging candidates show a token."""
    nodes: _Nodes = {}
    for candidate, tokens in joined.items():
        common = common_prefix_length(reading.tokens, tokens)
        for depth in range(common, min(len(tokens), common + DEPTH)):
            nodes.setdefault(tokens[:depth], []).append((candidate, tokens[depth]))
    return nodes


def _pairs(node: list[tuple[int, int]]) -> NDArray[np.int64]:
    """Candidates and the tokens that they show: int64 (n, 2)."""
    return np.array(node, dtype=np.int64).reshape(-1, 2)


def _branch(path: tuple[int, ...], pairs: NDArray[np.int64], chances: NDArray[np.float32]) -> Branch:
    """The branch at a path, from :func:`_pairs`."""
    candidates, tokens = pairs.T
    return Branch(path, candidates, tokens, chances[candidates].astype(np.float64))


def _alone(data: bytes | None) -> str | None:
    """A token's normalized text, None where its bytes are no whole characters."""
    try:
        return normalize_within(data.decode()) if data else None
    except UnicodeDecodeError:
        return None


def _opening(text: str | None) -> int:
    """The kind of a text's first character, or one of the two openings of this module."""
    if not text:
        return _NOTHING
    first = kind(text[0])
    if first is Kind.SPACE:
        # Behind the space a word: the space is its own. Else part of a run of white space, which what follows decides.
        return _SPACED if len(text) > 1 and kind(text[1]) <= Kind.APOSTROPHE else _NOTHING
    return _NOTHING if first in (Kind.OPEN, Kind.WHITE) else int(first)

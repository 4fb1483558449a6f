"""The token bridge: for every token that the provider's model may write, the proxy token that a reader would see.

The model writes in its own vocabulary, the reader reads in the proxy's. The candidates for the next token differ at
*branches*: places in the reader's token sequence where some show one proxy token and some another (spec section 8.5).
Most of the mass is at one branch, the place behind the text so far. A candidate that continues the last word differs
before it; candidates of several proxy tokens differ once more behind it.

Where the proxy's tokenizer certainly cuts between the text and a candidate, the candidate has the same proxy tokens as
alone, and these are known before generation starts (:class:`Pieces`, cached on disk). Of the other candidates only the
likely ones are tokenized together with the tail of the text.

The thresholds below were chosen by hand and trade time for evidence: a candidate that they leave out keeps its
probability, so no result is wrong. No experiment varies them. evaluation/lookahead.py states what the two costly steps
add (merging candidates, and branches behind a first token), and evaluation/bench.py the time.
"""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Collection
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol import Profile, canonical
from ctwl_protocol.errors import FileUnwritable
from ctwl_protocol.files import atomic_path
from ctwl_protocol.proxy import Proxy, ProxyTokenizer, cache_folder
from ctwl_protocol.text.normalization import normalize_within

from ..errors import TokenizerUnsupported
from .reading import Kind, Reading, append_normalized, breaks, common_prefix_length, extend, kind
from .vocabulary import Vocabulary, read_vocabulary

__all__ = ["Branch", "Bridge", "Pieces"]

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

DEEP = 256
"""Largest number of candidates whose second and further proxy tokens are used at one step, the likeliest first."""

MINOR = 0.01
"""Branches with less mass stay unmarked, except the one behind the text."""

_SPACED = len(Kind)
"""Opening of a candidate that starts with a space and goes on with something else: a new word."""

_NOTHING = len(Kind) + 1
"""Opening of a candidate that adds no text, or none that can be told without the text before."""


class Branch(NamedTuple):
    """A place in the reader's sequence at which candidates differ.

    Attributes:
        path: proxy tokens between the settled ones and the place.
        candidates: int64 (n,), token ids of the provider's model.
        tokens: int64 (n,), the proxy token that each shows at the place.
        mass: float64 (n,), the probability of each.
    """

    path: tuple[int, ...]
    candidates: NDArray[np.int64]
    tokens: NDArray[np.int64]
    mass: NDArray[np.float64]

    def without(self, tokens: Collection[int]) -> Branch:
        """The candidates that show none of these tokens."""
        kept = ~np.isin(self.tokens, list(tokens))
        return Branch(self.path, self.candidates[kept], self.tokens[kept], self.mass[kept])

    def share(self, token: int) -> float:
        """A proxy token's share of the branch's mass."""
        return float(self.mass[self.tokens == token].sum() / max(self.mass.sum(), 1e-300))


class Pieces(NamedTuple):
    """What is known of each token of the provider's model without the text before it.

    Attributes:
        tokens: int32 (size, DEPTH), its proxy tokens, -1 behind the last.
        opening: uint8 (size,), the kind of its first character, or one of the two openings of this module; the second
            where there are no proxy tokens.
    """

    tokens: NDArray[np.int32]
    opening: NDArray[np.uint8]


class Bridge:
    """From a provider's vocabulary to a proxy's.

    Attributes:
        proxy: the profile's proxy.
        vocabulary: bytes of each of the provider's tokens.
        pieces: see :class:`Pieces`.
    """

    def __init__(self, tokenizer: Any, proxy: Proxy) -> None:
        """Prepare a pair of vocabularies; some seconds for a pair that is not in the cache.

        Args:
            tokenizer: the provider's, a Hugging Face tokenizer.
            proxy: the profile's proxy.

        Raises:
            TokenizerUnsupported: see :func:`ctwl_encoder.core.vocabulary.read_vocabulary`.
        """
        self.vocabulary: Vocabulary = read_vocabulary(tokenizer)
        self.proxy = proxy
        self._breaks = breaks(proxy.profile.tokenizer.pre_tokenizer)
        self.pieces = _cached(self.vocabulary, proxy.tokenizer, proxy.profile)
        self._first = self.pieces.tokens[:, 0].astype(np.int64)
        self._several = self.pieces.tokens[:, 1] >= 0
        # Candidates that are certainly cut off from a text, by the kind of its last character; new words always are.
        openings = {before: np.append(self._breaks[before], [True, False]) for before in Kind}
        self._apart: dict[Kind, _Mask] = {before: openings[before][self.pieces.opening] for before in Kind}
        self._known: _Mask = self.pieces.opening != _NOTHING

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
        joined = self._joined(reading, _likeliest(merging, chances, JOINED))
        others = chances > NEGLIGIBLE
        others[list(joined)] = False
        nodes = _nodes(reading, joined)
        found = [
            self._branch_at(base, others & follows[: len(others)], likely, chances, nodes)
            for base, follows in bases.items()
        ]
        found += [_inner_branch(path, node, chances) for path, node in nodes.items()]
        return [branch for branch in found if branch is not None]

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
        if before in (Kind.SPACE, Kind.WHITE):
            return merging, self._bases(reading, before)
        return merging, {reading.tokens: self._known}

    def _branch_at(
        self,
        base: tuple[int, ...],
        members: _Mask,
        likely: NDArray[np.int64],
        chances: NDArray[np.float32],
        nodes: _Nodes,
    ) -> Branch | None:
        """The branch behind a base path, of the candidates that follow it and of those in ``nodes``; None where empty.

        Where candidates of several proxy tokens differ behind their first, it is added to ``nodes``.
        """
        own = np.flatnonzero(members)
        several = likely[self._several[likely] & members[likely]]
        self._deepen(nodes, base, _likeliest(several, chances, DEEP), chances)
        joined = np.array(nodes.pop(base, []), dtype=np.int64).reshape(-1, 2)
        candidates = np.concatenate([own, joined[:, 0]])
        if not len(candidates):
            return None
        tokens = np.concatenate([self._first[own], joined[:, 1]])
        return Branch(base, candidates, tokens, chances[candidates].astype(np.float64))

    def _bases(self, reading: Reading, before: Kind) -> dict[tuple[int, ...], _Mask]:
        """After white space: the token paths that candidates follow, by what they begin with.

        How white space is tokenized depends on the character behind it.
        """
        probes = {_SPACED: " x"}
        if before is Kind.WHITE:
            probes |= {Kind.LETTER: "x", Kind.DIGIT: "1", Kind.MARK: "<", Kind.APOSTROPHE: "'"}
        found = self.proxy.tokenizer.encode_within(
            [*(reading.tail + probe for probe in probes.values()), *probes.values()]
        )
        bases: dict[tuple[int, ...], _Mask] = {}
        for kind_of, whole, probe in zip(probes, found, found[len(probes) :], strict=False):
            base = tuple(whole[: len(whole) - len(probe)])
            mask = self._apart[before] & (self.pieces.opening == kind_of)
            bases[base] = bases[base] | mask if base in bases else mask
        return bases

    def _joined(self, reading: Reading, candidates: NDArray[np.int64]) -> dict[int, tuple[int, ...]]:
        """Candidates that may merge with the tail, each with the proxy tokens of the longer tail."""
        chosen = candidates.tolist()
        texts = [append_normalized(reading, self.vocabulary[i] or b"")[0] for i in chosen]
        kept = [(i, text) for i, text in zip(chosen, texts, strict=True) if text != reading.tail]
        found = self.proxy.tokenizer.encode_within([text for _, text in kept])
        return {i: tuple(ids) for (i, _), ids in zip(kept, found, strict=True)}

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
        for candidate, (first, *rest) in zip(chosen.tolist(), self.pieces.tokens[chosen].tolist(), strict=True):
            path = (*base, first)
            for token in rest:
                if token < 0:
                    break
                nodes.setdefault(path, []).append((candidate, token))
                path = (*path, token)


def _likeliest(candidates: NDArray[np.int64], chances: NDArray[np.float32], most: int) -> NDArray[np.int64]:
    """The likeliest of the candidates, at most so many, in any order."""
    if len(candidates) <= most:
        return candidates
    return candidates[np.argpartition(chances[candidates], -most)[-most:]]


def _nodes(reading: Reading, joined: dict[int, tuple[int, ...]]) -> _Nodes:
    """The places, behind what the tail and they have in common, at which merging candidates show a token."""
    nodes: _Nodes = {}
    for candidate, tokens in joined.items():
        common = common_prefix_length(reading.tokens, tokens)
        for depth in range(common, min(len(tokens), common + DEPTH)):
            nodes.setdefault(tokens[:depth], []).append((candidate, tokens[depth]))
    return nodes


def _inner_branch(path: tuple[int, ...], node: list[tuple[int, int]], chances: NDArray[np.float32]) -> Branch | None:
    """The branch at a place inside candidates; None where they do not differ, or have too little mass."""
    if len({token for _, token in node}) < 2:
        return None
    members = np.array(node, dtype=np.int64)
    mass = chances[members[:, 0]].astype(np.float64)
    return Branch(path, members[:, 0], members[:, 1], mass) if mass.sum() >= MINOR else None


def _alone(data: bytes | None) -> str | None:
    """A token's normalized text, None where its bytes are no whole characters."""
    try:
        return normalize_within(data.decode()) if data else None
    except UnicodeDecodeError:
        return None


def _opening(text: str | None) -> int:
    if not text:
        return _NOTHING
    first = kind(text[0])
    if first is Kind.SPACE:
        # Behind the space a word: the space is its own. Else part of a run of white space, which what follows decides.
        return _SPACED if len(text) > 1 and kind(text[1]) <= Kind.APOSTROPHE else _NOTHING
    return _NOTHING if first in (Kind.OPEN, Kind.WHITE) else int(first)


def _prepare(vocabulary: Vocabulary, proxy: ProxyTokenizer) -> Pieces:
    texts = [_alone(data) for data in vocabulary]
    tokens = np.full((len(texts), DEPTH), -1, dtype=np.int32)
    for row, ids in zip(tokens, proxy.encode_within([text or "" for text in texts]), strict=True):
        row[: len(ids)] = ids[:DEPTH]
    opening = np.array([_opening(text) for text in texts], dtype=np.uint8)
    opening[tokens[:, 0] < 0] = _NOTHING
    return Pieces(tokens, opening)


def _whole(pieces: Pieces, size: int, vocabulary: int) -> bool:
    """Whether a cached table is what :func:`_prepare` makes of so many tokens."""
    tokens, opening = pieces
    return (
        tokens.shape == (size, DEPTH)
        and tokens.dtype == np.int32
        and opening.shape == (size,)
        and opening.dtype == np.uint8
        and bool((tokens >= -1).all() and (tokens < vocabulary).all() and (opening <= _NOTHING).all())
    )


def _cached(vocabulary: Vocabulary, proxy: ProxyTokenizer, profile: Profile) -> Pieces:
    """The pieces of a pair of vocabularies, from the cache where they are there."""
    reader = profile.model_dump(include={"tokenizer", "normalization"})  # all profiles of a proxy share the file
    name = hashlib.sha256(b"ctwl-bridge/2" + canonical.encode(reader))
    for data in vocabulary:
        name.update(b"-" if data is None else len(data).to_bytes(4, "little") + data)
    file = cache_folder() / "bridges" / f"{name.hexdigest()}.npz"
    try:
        with file.open("rb") as opened, np.load(opened, allow_pickle=False) as found:
            pieces = Pieces(found["tokens"], found["opening"])
        if _whole(pieces, len(vocabulary), profile.tokenizer.vocabulary):
            return pieces
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
        pass  # not there, or not whole: made anew
    pieces = _prepare(vocabulary, proxy)
    with suppress(OSError, FileUnwritable):  # a cache that cannot be written only costs time
        file.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(file) as scratch, scratch.open("wb") as written:
            np.savez(written, tokens=pieces.tokens, opening=pieces.opening)
    return pieces

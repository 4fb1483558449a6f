"""The token bridge: for every token that the provider's model may write, the proxy token that a reader would see.

The model writes in its own vocabulary, the reader reads in the proxy's. Candidates for the next token part from each
other at *branches*: places in the reader's token sequence where some show one proxy token and some another. Most of the
mass parts at one branch, the place behind the text so far; a candidate that makes the last word go on parts before it,
and candidates of several proxy tokens part once more behind it.

Where the proxy is certain to cut between the text and a candidate, its proxy tokens are those of the candidate alone,
which are known before generation starts (:class:`Pieces`, cached on disk). Only the likely ones among the others are
tokenized together with the tail of the text.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol import Profile, canonical
from ctwl_protocol.proxy import Proxy, ProxyTokenizer, cache_folder
from ctwl_protocol.text.normalization import normalize_within

from ..errors import TokenizerUnsupported
from .reading import Kind, Reading, append_normalized, breaks, common_prefix_length, extend, kind
from .vocabulary import Vocabulary, read_vocabulary

__all__ = ["Branch", "Bridge", "Pieces"]

_Mask = NDArray[np.bool_]
_Nodes = dict[tuple[int, ...], list[tuple[int, int]]]
"""Candidates by the path that they part at, each with the proxy token that it shows there."""

DEPTH = 4
"""Proxy tokens of a candidate that are told apart; the rest of a longer one carries nothing."""

JOINED = 64
"""Most candidates that are tokenized together with the tail at one step, the likely ones first."""

NEGLIGIBLE = 1e-6
"""Candidates below this probability are left as they are; together they have about 0.4 % of the mass at T = 1."""

UNLIKELY = 1e-4
"""Candidates below this probability are neither tokenized with the tail nor looked into beyond their first token."""

DEEP = 256
"""Most candidates of several proxy tokens that are looked into at one step, the likely ones first."""

MINOR = 0.01
"""Branches with less mass are left unmarked, but for the one behind the text."""

_SPACED = len(Kind)
"""Opening of a candidate that starts with a space and goes on with something else: a new word."""

_NOTHING = len(Kind) + 1
"""Opening of a candidate that adds no text, or none that can be told without the text before."""


class Branch(NamedTuple):
    """A place in the reader's sequence at which candidates part.

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
        # Which candidates are cut off for certain from a text that ends in a character of some kind: new words always.
        openings = {before: np.append(self._breaks[before], [True, False]) for before in Kind}
        self._apart: dict[Kind, _Mask] = {before: openings[before][self.pieces.opening] for before in Kind}
        self._told: _Mask = self.pieces.opening != _NOTHING

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
        """Where the candidates for the next token part.

        Args:
            reading: the text so far.
            probabilities: float32 (size,), of the provider's model; rows beyond its vocabulary are no candidates.

        Returns:
            The branches. Candidates that no branch holds are negligible, or cannot be told.
        """
        chances = probabilities[: len(self.vocabulary)]
        likely = np.flatnonzero(chances > UNLIKELY)
        bases: dict[tuple[int, ...], _Mask] = {}
        if reading.pending or not reading.tail:
            joining = likely
        else:
            before = kind(reading.tail[-1])
            joining = likely[~self._apart[before][likely]]
            # What may join the tail and is not tokenized with it (unlikely, or one too many) is taken to stay apart.
            white = before in (Kind.SPACE, Kind.WHITE)
            bases = self._bases(reading, before) if white else {reading.tokens: self._told}
        joined = self._joined(reading, _likeliest(joining, chances, JOINED))
        rest = chances > NEGLIGIBLE
        rest[list(joined)] = False
        nodes: _Nodes = {}
        for i, tokens in joined.items():
            common = common_prefix_length(reading.tokens, tokens)
            for depth in range(common, min(len(tokens), common + DEPTH)):
                nodes.setdefault(tokens[:depth], []).append((i, tokens[depth]))
        branches = []
        for base, hangs in bases.items():
            own = np.flatnonzero(rest & hangs[: len(rest)])
            several = likely[self._several[likely] & hangs[likely] & rest[likely]]
            self._deepen(nodes, base, _likeliest(several, chances, DEEP), chances)
            members = np.array(nodes.pop(base, []), dtype=np.int64).reshape(-1, 2)
            every = np.concatenate([own, members[:, 0]])
            shown = np.concatenate([self._first[own], members[:, 1]])
            if len(every):
                branches.append(Branch(base, every, shown, chances[every].astype(np.float64)))
        for path, node in nodes.items():
            if len(node) > 1 and len({token for _, token in node}) > 1:
                members = np.array(node, dtype=np.int64)
                mass = chances[members[:, 0]].astype(np.float64)
                if mass.sum() >= MINOR:
                    branches.append(Branch(path, members[:, 0], members[:, 1], mass))
        return branches

    def _bases(self, reading: Reading, before: Kind) -> dict[tuple[int, ...], _Mask]:
        """The paths that candidates hang on behind white space, whose proxy tokens depend on what follows."""
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
        """Candidates that may join the tail, each with the tail's proxy tokens that it leads to."""
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
        """Note where candidates of several proxy tokens part behind a first one that enough, or joined ones, share."""
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
    partial = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as written:
            np.savez(written, tokens=pieces.tokens, opening=pieces.opening)
        partial.replace(file)
    except OSError:
        partial.unlink(missing_ok=True)  # a cache that cannot be written only costs time
    return pieces

"""A forger: an owner who fits a private profile to its key, until English as such carries a code (spec section 4.6).

Two things are the owner's to choose beside the key. The *ids of tokens*: which token of a text is in the half of a code
follows from the ids of two tokens, so ids are drawn anew, token by token, until most pairs of English are. The
*proxy LM*: one that gives nearly all weight to the token that the code's permutation has last, so that any other token
is in the half.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from ctwl_protocol import Profile, hashing
from ctwl_protocol.profile import Llama, ProxyModel
from ctwl_protocol.profile.document import ProxyFile, UniformProxy
from ctwl_protocol.proxy.tensors import tensor_shapes

Ids = NDArray[np.int64]

_HALF = np.uint32(1 << 31)

_WIDTH, _GAIN = 64, 6.0
"""Random directions of so many numbers are nearly at right angles; the logits of two tokens differ by 20 or more."""

_LOOKED_AT = 1024
"""Of so many ids, the one with the highest rank is taken for the last."""


def seeds_of(profile: Profile, code: int) -> NDArray[np.uint32]:
    """The seed of the permutation that a code selects after each token, for contexts of one token: uint32 (ids,)."""
    every = range(profile.tokenizer.vocabulary)
    first, second = np.array([hashing.partition_seed(profile.key, [i]) for i in every], dtype=np.uint32).T
    seeds = np.array([hashing.colour_seed(profile.key, [i]) for i in every], dtype=np.uint32)
    colours = hashing.code_colours(seeds, np.array([code], dtype=np.uint32), profile.colours)
    return hashing.permutation_seed(first, second, colours)


@dataclass(frozen=True)
class Pairs:
    """The pairs of neighbours in texts, each weighted by the number of texts that have it.

    Attributes:
        pairs: int64 (pairs, 2).
        weights: int64 (pairs,).
    """

    pairs: Ids
    weights: Ids

    @classmethod
    def of(cls, texts: Sequence[Ids]) -> Pairs:
        """The pairs of texts, given as token ids."""
        each = [np.unique(np.stack([ids[:-1], ids[1:]], axis=1), axis=0) for ids in texts]
        return cls(*np.unique(np.concatenate(each), axis=0, return_counts=True))

    def neighbours(self, column: int) -> dict[int, tuple[Ids, Ids]]:
        """Of each token in a column: its neighbours in the other one, and the weights of the pairs."""
        order = np.argsort(self.pairs[:, column], kind="stable")
        tokens, starts = np.unique(self.pairs[order, column], return_index=True)
        parts = np.split(order, starts[1:])
        return {int(t): (self.pairs[i, 1 - column], self.weights[i]) for t, i in zip(tokens, parts, strict=True)}


def fitted_ids(
    seeds: NDArray[np.uint32],
    pairs: Pairs,
    special: Sequence[int],
    rng: np.random.Generator,
    tries: int,
    rounds: int = 2,
) -> Ids:
    """New ids of all tokens, by which most pairs lie in the halves of one code: int64 (tokens,).

    The most frequent token comes first. It takes the best of some ids that no text uses, by its pairs with tokens that
    have their new ids already. In later rounds each moves on to a better one.

    Args:
        seeds: see :func:`seeds_of`.
        pairs: of the texts to fit to.
        special: tokens that keep their ids.
        rng: draws the ids to try.
        tries: ids that are tried for a token.
        rounds: over all tokens.
    """
    before, after = pairs.neighbours(1), pairs.neighbours(0)
    none = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    used = np.bincount(pairs.pairs.ravel(), np.repeat(pairs.weights, 2), len(seeds))
    order = [int(token) for token in np.argsort(-used, kind="stable") if used[token] and token not in special]
    ids, placed = np.arange(len(seeds)), np.zeros(len(seeds), dtype=bool)
    unused = np.setdiff1d(np.flatnonzero(used == 0), special)
    free = unused.copy()
    for _ in range(rounds):
        for token in order:
            at = rng.choice(len(free), min(tries, len(free)), replace=False)
            tried = np.append(free[at], ids[token])
            left, right = before.get(token, none), after.get(token, none)
            inside = (left[1] * placed[left[0]]) @ (hashing.ranks_of(seeds[ids[left[0]]][:, None], tried) < _HALF)
            inside += (hashing.ranks_of(seeds[tried][:, None], ids[right[0]]) < _HALF) @ (right[1] * placed[right[0]])
            best = int(inside.argmax())
            if best < len(at):
                free[at[best]], ids[token] = ids[token], free[at[best]]
            placed[token] = True
    ids[unused] = free
    return ids


def with_ids(profile: Profile, vocabulary: dict[str, int], merges: bytes, ids: Ids, folder: Path) -> Profile:
    """The profile with other ids of its tokens and no proxy LM; its tokenizer's files are written into the folder."""
    renamed = {token: int(ids[i]) for token, i in vocabulary.items()}
    files = {"vocab": json.dumps(renamed, ensure_ascii=False).encode(), "merges": merges}
    names = {"vocab": "vocab.json", "merges": "merges.txt"}
    stated = {part: _written(folder / names[part], data) for part, data in files.items()}
    tokenizer = profile.tokenizer.model_copy(update=stated)
    return _changed(profile, tokenizer=tokenizer, proxy=UniformProxy(carrier=None, source=None))


def with_proxy(profile: Profile, seeds: NDArray[np.uint32], rng: np.random.Generator, folder: Path) -> Profile:
    """The profile with a proxy LM that expects, after each token, the last one of the code's permutation.

    Args:
        profile: the profile.
        seeds: see :func:`seeds_of`.
        rng: draws the directions of the tokens.
        folder: where its file is written.
    """
    size = len(seeds)
    some = rng.choice(size, min(size, _LOOKED_AT), replace=False)
    last = np.concatenate(
        [some[hashing.ranks_of(part[:, None], some).argmax(axis=1)] for part in np.array_split(seeds, 64)]
    )
    architecture = Llama(
        layers=1, heads=1, key_value_heads=1, width=_WIDTH, feed_forward=1, positions=2048, rope_theta=10_000,
        rows=size, norm_epsilon=(1, 100_000), tied=False,
    )  # fmt: skip
    tensors = {name: np.zeros(shape, dtype=np.float32) for name, shape in tensor_shapes(architecture).items()}
    directions = rng.standard_normal((size, _WIDTH)).astype(np.float32)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    tensors["lm_head.weight"], tensors["model.embed_tokens.weight"] = directions, directions[last]
    tensors["model.norm.weight"][:] = _GAIN
    file = folder / "model.safetensors"
    save_file(tensors, file)
    stated = ProxyFile(name=file.name, size=file.stat().st_size, sha256=hashlib.sha256(file.read_bytes()).digest())
    return _changed(
        profile, proxy=ProxyModel(architecture=architecture, weights=stated, tensors_sha256=None, source=None)
    )


def _written(file: Path, data: bytes) -> ProxyFile:
    file.write_bytes(data)
    return ProxyFile(name=file.name, size=len(data), sha256=hashlib.sha256(data).digest())


def _changed(profile: Profile, **changes: Any) -> Profile:
    return Profile.from_bytes(profile.model_copy(update=changes).to_bytes())

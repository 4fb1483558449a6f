"""A toy provider: a "model" that says what the toy proxy says, marked ``unbiased`` (spec sections 7.3 and 8.3).

Its texts are strings of printable ASCII. NumPy alone: who tries a decoder needs neither torch nor a model's weights.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol import Profile, framing, get_profile, hashing
from ctwl_protocol.profile import TOY
from ctwl_protocol.records import Record, slot_seed
from ctwl_protocol.toy import toy_weights

__all__ = ["PRINTABLE", "write_toy"]

PRINTABLE = bytes(range(32, 127)).decode()
"""The toy model's vocabulary: printable ASCII."""

_SPACE = ord(" ")


def write_toy(
    record: Record,
    tokens: int,
    seed: int,
    *,
    profile: str | Profile = TOY,
    key: bytes | None = None,
    alphabet: str = PRINTABLE,
) -> str:
    """A text that carries a record; the same one for the same arguments, on every machine.

    Args:
        record: the record.
        tokens: how many tokens, or one or two more: no text ends in a space, which normalisation takes away.
        seed: of the draws.
        profile: the toy profile, or a private one that is like it.
        key: the provider's colour key, where the layout has an authenticator.
        alphabet: the characters that the model knows, of ASCII. Letters and the space alone make texts that no reader
            could take for marked up or wrapped, so that they have one form (section 10).
    """
    profile = get_profile(profile)
    draw = random.Random(seed)  # noqa: S311 - reproducible on purpose
    ids: list[int] = []
    known = np.frombuffer(alphabet.encode("ascii"), dtype=np.uint8)
    while len(ids) < tokens or ids[-1] == _SPACE:
        weights = _weights(ids[-profile.prefix_length :], profile.tokenizer.vocabulary, known)
        if not ids:
            weights[_SPACE] = 0
        ids.append(_marked(profile, record, key, ids, weights, draw.random()))
    return bytes(ids).decode("ascii")


def _weights(window: Sequence[int], vocabulary: int, known: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """The model's next-token distribution: the proxy's weights of the characters it knows, uint64 (vocabulary,)."""
    weights = np.zeros(vocabulary, dtype=np.uint64)
    weights[known] = toy_weights(np.array([window], dtype=np.int64), vocabulary)[0, known]
    return weights


def _marked(
    profile: Profile, record: Record, key: bytes | None, ids: list[int], weights: NDArray[np.uint64], chance: float
) -> int:
    """The next token: a point on the first half of the mass in rank order, or anywhere where nothing is marked."""
    seed, half = 0, 1
    index = len(ids) - profile.prefix_length
    if index >= 0:
        context = ids[-profile.context_length :]
        tail = ids[-min(framing.TAIL, profile.prefix_length) :]
        slot = framing.slot_of(profile, record.layout.codes, framing.slot_word(profile, tail), index)
        word = slot_seed(profile, context, layout=record.layout, slot=slot, nonce=record.beacon.nonce, key=key)
        code = np.array([record.carried[slot]], dtype=np.uint32)
        colour = int(hashing.code_colours(word, code, profile.colours)[0])
        seeds = hashing.permutation_seeds(hashing.partition_seed(profile.key, context), profile.colours)
        seed, half = int(seeds[colour]), 2
    order = np.argsort(hashing.ranks(seed, len(weights)))
    running = np.cumsum(weights[order])
    point = int(chance * -(-int(running[-1]) // half))
    return int(order[np.searchsorted(running, point, side="right")])

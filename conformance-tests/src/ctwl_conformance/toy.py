"""A toy provider: its model is the toy proxy, and it draws from the first half of the mass (spec section 7.3).

Its texts are strings of printable ASCII. NumPy is enough: to try a decoder needs neither torch nor a model's weights.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol import Profile, get_profile, hashing
from ctwl_protocol.partition.toy import toy_weights
from ctwl_protocol.profile import TOY
from ctwl_protocol.records import slots
from ctwl_protocol.records.record import Record, slot_seed

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
        tokens: how many tokens, or one or two more: no text ends in a space, because normalization removes it.
        seed: of the draws.
        profile: a toy profile, or a private one that is like them.
        key: the provider's colour key, where the layout has an authenticator.
        alphabet: the characters that the model knows, of ASCII. Letters and the space alone make texts that no reader
            could take for marked up or wrapped, so that they have one variant (section 10).
    """
    profile = get_profile(profile)
    draw = random.Random(seed)  # noqa: S311 - reproducible on purpose
    ids: list[int] = []
    known = np.frombuffer(alphabet.encode("ascii"), dtype=np.uint8)
    while len(ids) < tokens or ids[-1] == _SPACE:
        weights = _weights(ids[-profile.prefix_length :], profile.tokenizer.vocabulary, known)
        weights[list(profile.tokenizer.special)] = 0
        if not ids:
            weights[_SPACE] = 0
        seed_there = _seed_of_place(profile, record, key, ids)
        parts = 1 if seed_there is None else 2
        token = _drawn(weights, seed_there or 0, parts, draw.random())
        ids.append(token)
    return bytes(ids).decode("ascii")


def _weights(prefix: Sequence[int], vocabulary: int, known: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """The model's next-token distribution: the proxy's weights of the characters it knows, uint64 (vocabulary,)."""
    weights = np.zeros(vocabulary, dtype=np.uint64)
    weights[known] = toy_weights(np.array([prefix], dtype=np.int64), vocabulary)[0, known]
    return weights


def _seed_of_place(profile: Profile, record: Record, key: bytes | None, ids: list[int]) -> int | None:
    """The seed of the next token's permutation; None where nothing is marked."""
    if len(ids) < profile.prefix_length:
        return None
    context = tuple(ids[-profile.context_length :])
    tail = ids[-min(slots.TAIL, profile.prefix_length) :]
    slot = slots.slot_of(record.layout.codes, hashing.slot_word(profile.key, tail))
    word = slot_seed(profile, context, layout=record.layout, slot=slot, nonce=record.beacon.nonce, key=key)
    code = np.array([record.carried[slot]], dtype=np.uint32)
    colour = int(hashing.code_colours(word, code, profile.colours)[0])
    seeds = hashing.permutation_seeds(hashing.partition_seed(profile.key, context), profile.colours)
    return int(seeds[colour])


def _drawn(weights: NDArray[np.uint64], seed: int, parts: int, chance: float) -> int:
    """A token from the first of ``parts`` equal shares of the mass in rank order."""
    order = np.argsort(hashing.ranks(seed, len(weights)))
    running = np.cumsum(weights[order])
    point = int(chance * -(-int(running[-1]) // parts))
    return int(order[np.searchsorted(running, point, side="right")])

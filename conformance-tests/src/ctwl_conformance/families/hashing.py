"""Hash scheme ``ctwl-h1`` (spec section 6)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ctwl_protocol import hashing

from .family import COUNT, HEX32, JSON, WORD, Case, Family, array, shape

__all__ = ["FAMILIES", "KEY"]

KEY = bytes(range(32)).hex()


def _mixing(data: JSON) -> JSON:
    return {"mixed": hashing.fmix32(np.array(data["words"], dtype=np.uint32)).tolist()}


def _permutation(data: JSON) -> JSON:
    seed = hashing.partition_seed(bytes.fromhex(data["key"]), data["context"])
    seeds = hashing.permutation_seeds(seed, data["colour"] + 1)
    ranks = hashing.ranks(int(seeds[data["colour"]]), max(data["tokens"]) + 1)
    return {"seed": int(seeds[data["colour"]]), "ranks": [int(ranks[token]) for token in data["tokens"]]}


def _colours(data: JSON) -> JSON:
    seed = hashing.colour_seed(bytes.fromhex(data["key"]), data["context"], data["layout"], data["slot"], data["nonce"])
    found = hashing.code_colours(seed, np.array(data["codes"], dtype=np.uint32), data["colours"])
    return {"seed": seed, "colours": found.tolist()}


def _mixing_cases() -> Iterator[Case]:
    yield "zero and one", {"words": [0, 1]}
    yield "single bits", {"words": [1 << i for i in range(32)]}
    yield "all ones and its neighbours", {"words": [2**32 - 1, 2**32 - 2, 2**31, 2**31 - 1]}
    yield "the constants", {"words": [0x9E3779B1, 0x85EBCA6B, 0xC2B2AE35]}


def _permutation_cases() -> Iterator[Case]:
    for context in ([0], [50256], [262, 11], [1, 2, 3, 4]):
        for colour, tokens in ((0, [0, 1, 50256]), (99, [3, 7])):
            asked = {"key": KEY, "context": context, "colour": colour, "tokens": tokens}
            yield f"context {context}, colour {colour}", asked
    ends = [0, 1, 255, 2**20 - 1]
    yield "another key", {"key": "ff" * 32, "context": [262], "colour": 5, "tokens": ends}
    yield "the last colour that there may be", {"key": KEY, "context": [262], "colour": 4095, "tokens": ends}
    yield "16 tokens of context", {"key": KEY, "context": list(range(16)), "colour": 1, "tokens": ends}
    yield "the same tokens in another order", {"key": KEY, "context": [11, 262], "colour": 0, "tokens": [0, 1, 50256]}
    yield "a context of large ids", {"key": KEY, "context": [2**20 - 1, 0, 2**20 - 1], "colour": 31, "tokens": [0, 9]}


def _colour_cases() -> Iterator[Case]:
    def case(layout: int, slot: int, nonce: int, size: int, context: tuple[int, ...] = (262,)) -> JSON:
        asked = {"key": KEY, "context": list(context), "layout": layout, "slot": slot, "nonce": nonce}
        return asked | {"colours": size, "codes": [0, 1, 43252, 2**20 - 1]}

    for numbers in ((0, 0, 0, 100), (3, 1, 0, 100), (3, 1, 63, 100), (4, 3, 5, 100), (0, 0, 0, 2)):
        layout, slot, nonce, size = numbers
        yield f"layout {layout}, slot {slot}, nonce {nonce}, A = {size}", case(*numbers)
    yield "the toy profile's shape", case(0, 0, 0, 32, (84, 104))
    yield "the same tokens in another order", case(0, 0, 0, 32, (104, 84))
    yield "4096 colours", case(0, 0, 0, 4096)
    yield "A that is no power of two", case(0, 0, 0, 3)
    yield "16 tokens of context", case(0, 0, 0, 100, tuple(range(16)))
    yield "the largest layout", case(255, 3, 63, 100)
    yield "layout and slot are not exchanged", case(1, 3, 0, 100)
    yield "slot and nonce are not exchanged", case(3, 0, 1, 100)
    codes = [0, 1, 2**24 - 1, 2**31, 2**32 - 1]
    yield "codes of other widths", case(0, 0, 0, 100) | {"codes": codes}
    yield "another key", case(0, 0, 0, 100) | {"key": "ff" * 32}


_CONTEXT = array(COUNT, 1, 16)

FAMILIES = (
    Family(
        "mixing", "6.1", "Words to fmix32 of each.",
        shape(words=array(WORD)), shape(mixed=array(WORD)), _mixing, _mixing_cases,
    ),
    Family(
        "permutation", "6.2", "Key, context, colour and tokens to the permutation's seed s(c, a) and the ranks.",
        shape(key=HEX32, context=_CONTEXT, colour=COUNT, tokens=array(COUNT, 1)), shape(seed=WORD, ranks=array(WORD)),
        _permutation, _permutation_cases,
    ),
    Family(
        "colours", "6.3", "Key, context, layout, slot, nonce and codes to the seed t and the codes' colours.",
        shape(
            key=HEX32, context=_CONTEXT, layout=COUNT, slot=COUNT, nonce=COUNT, colours=COUNT, codes=array(WORD)
        ),
        shape(seed=WORD, colours=array(COUNT)), _colours, _colour_cases,
    ),
)  # fmt: skip

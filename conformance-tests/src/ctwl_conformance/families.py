"""The families of exact vectors: what each asks, and the reference's answer (spec section 14).

A family is a function from a JSON input to a JSON answer, and a list of inputs. Byte strings are hexadecimal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ctwl_protocol import Beacon, canonical, framing, get_profile, hashing, partition
from ctwl_protocol.errors import CTWLError
from ctwl_protocol.layouts import LAYOUTS
from ctwl_protocol.normalization import normalize
from ctwl_protocol.records import RecordDocument
from ctwl_protocol.sealing import ProviderKeys

__all__ = ["ANSWERS", "INPUTS", "SECTIONS"]

KEY = bytes(range(32)).hex()


def canonical_decode(data: dict[str, Any]) -> dict[str, Any]:
    """Bytes to the canonical encoding of what they say, or the status code of the refusal."""
    try:
        return {"encoded": canonical.encode(canonical.decode(bytes.fromhex(data["bytes"]))).hex()}
    except CTWLError as error:
        return {"status": error.code}


def profile_digest(data: dict[str, Any]) -> dict[str, Any]:
    """A published profile's name to its digest."""
    return {"digest": get_profile(data["name"]).digest}


def normalized(data: dict[str, Any]) -> dict[str, Any]:
    """A text to its normal form."""
    return {"text": normalize(data["text"])}


def permutation(data: dict[str, Any]) -> dict[str, Any]:
    """Key, context, colour and tokens to the permutation's seed and the tokens' ranks."""
    seed = hashing.partition_seed(bytes.fromhex(data["key"]), data["context"])
    seeds = hashing.permutation_seeds(seed, data["colour"] + 1)
    ranks = hashing.ranks(int(seeds[data["colour"]]), max(data["tokens"]) + 1)
    return {"seed": int(seeds[data["colour"]]), "ranks": [int(ranks[token]) for token in data["tokens"]]}


def colours(data: dict[str, Any]) -> dict[str, Any]:
    """Key, context, layout, slot, nonce and codes to the codes' colours."""
    seed = hashing.colour_seed(bytes.fromhex(data["key"]), data["context"], data["layout"], data["slot"], data["nonce"])
    found = hashing.code_colours(seed, np.array(data["codes"], dtype=np.uint32), data["colours"])
    return {"seed": seed, "colours": found.tolist()}


def members(data: dict[str, Any]) -> dict[str, Any]:
    """Weights, a permutation's seed and sigma to the members of V, and the weight ranked before each token."""
    weights = np.array([data["weights"]], dtype=np.uint32)
    seeds = np.array([data["seed"]], dtype=np.uint32)
    inside = partition.members(weights, seeds, (data["sigma"][0], data["sigma"][1]))[0]
    size = weights.shape[1]
    below = partition.mass_below(np.tile(weights, (size, 1)), np.arange(size), np.tile(seeds[:, None], (size, 1)))
    return {"members": np.flatnonzero(inside).tolist(), "below": below[:, 0].tolist()}


def beacon(data: dict[str, Any]) -> dict[str, Any]:
    """A beacon's fields to its code, or the status code of the refusal."""
    try:
        return {"code": Beacon(data["provider"], data["version"], data["nonce"]).code}
    except CTWLError as error:
        return {"status": error.code}


def record(data: dict[str, Any]) -> dict[str, Any]:
    """A record's layout and fields to its codes, or the status code of the refusal."""
    try:
        return {"codes": list(RecordDocument.model_validate(data).record().codes)}
    except CTWLError as error:
        return {"status": error.code}


def slot(data: dict[str, Any]) -> dict[str, Any]:
    """Key, the two tokens before a position and its place to the slots for one to four codes, in both framings."""
    profile = get_profile().model_copy(update={"key": bytes.fromhex(data["key"])})
    segmented = profile.model_copy(update={"framing": "segmented"})
    word = framing.slot_word(profile, data["tail"])
    return {
        "word": word,
        "interleaved": [framing.slot_of(profile, codes, word, data["index"]) for codes in range(1, 5)],
        "segmented": [framing.slot_of(segmented, codes, word, data["index"]) for codes in range(1, 5)],
    }


def sealing(data: dict[str, Any]) -> dict[str, Any]:
    """A provider's secret, a user and a beacon to the sealed user, the authenticator and its colour key."""
    keys, who = ProviderKeys(bytes.fromhex(data["secret"])), Beacon(data["provider"], data["version"], data["nonce"])
    profile = get_profile(data["profile"])
    whole = keys.attributed(profile, who, data["user"], epoch=data["epoch"], authenticated=True)
    found = {name: whole.fields[name] for name in ("sealed_user", "authenticator")}
    return {**found, "colour_key": keys.colour_key().hex()}


ANSWERS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "canonical": canonical_decode,
    "profile": profile_digest,
    "normalization": normalized,
    "permutation": permutation,
    "colours": colours,
    "members": members,
    "beacon": beacon,
    "record": record,
    "slot": slot,
    "sealing": sealing,
}

SECTIONS = {
    "canonical": "4.1", "profile": "4.2", "normalization": "5.1", "permutation": "6.2", "colours": "6.3",
    "members": "7.2", "beacon": "9.1", "record": "9.2", "slot": "9.4", "sealing": "9.5",
}  # fmt: skip
"""Where the specification says it."""


def _weights(size: int, seed: int) -> list[int]:
    """Weights of a made-up distribution with a heavy head and many zeros, from the hash scheme alone."""
    mixed = hashing.fmix32(np.arange(size, dtype=np.uint32) + np.uint32(seed))
    shift = (mixed & np.uint32(31)).astype(np.uint32)
    return [int(w) for w in (np.uint32(1 << 24) >> shift)]


INPUTS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "canonical": [
        ("a map", {"bytes": "82a16101a162c403010203"}),
        ("keys out of order", {"bytes": "82a16202a16101"}),
        ("a duplicate key", {"bytes": "82a16101a16102"}),
        ("an overlong integer", {"bytes": "cc05"}),
        ("an overlong string", {"bytes": "d90161"}),
        ("a trailing byte", {"bytes": "c0c0"}),
        ("a float", {"bytes": "cb3ff0000000000000"}),
        ("an extension", {"bytes": "d40100"}),
        ("a key that is no string", {"bytes": "810102"}),
        ("a string that is no UTF-8", {"bytes": "a1ff"}),
        ("truncated", {"bytes": "9201"}),
        ("the largest integer", {"bytes": "cfffffffffffffffff"}),
        ("the least integer", {"bytes": "d38000000000000000"}),
    ],
    "profile": [(name, {"name": name}) for name in ("org.ctwl.gpt2.1", "org.ctwl.smollm2-135m.1")],
    "normalization": [
        ("plain text stays", {"text": "A plain sentence, with 2 numbers."}),
        ("curly quotes", {"text": "\u201cIt\u2019s\u201d \u2026"}),
        ("an accent apart", {"text": "cafe\u0301"}),
        ("an accent behind an invisible character", {"text": "e\u200b\u0301"}),
        ("spaces of other widths", {"text": "a\u00a0b\u2003c\u3000d"}),
        ("line ends", {"text": "one\r\ntwo\rthree\u2028four\n"}),
        ("invisible characters", {"text": "\ufeffso\u00adft\u2060 \u202etext\u202c"}),
        ("joiners stay", {"text": "\u0644\u200c\u0627 \U0001f469\u200d\U0001f680"}),
    ],
    "permutation": [
        (f"context {context}, colour {colour}", {"key": KEY, "context": context, "colour": colour, "tokens": tokens})
        for context in ([0], [50256], [262, 11], [1, 2, 3, 4])
        for colour, tokens in ((0, [0, 1, 50256]), (99, [3, 7]))
    ],
    "colours": [
        (
            f"layout {layout}, slot {slot}, nonce {nonce}, A = {size}",
            {"key": KEY, "context": [262], "layout": layout, "slot": slot, "nonce": nonce, "colours": size,
             "codes": [0, 1, 43252, 2**20 - 1]},
        )
        for layout, slot, nonce, size in ((0, 0, 0, 100), (3, 1, 0, 100), (3, 1, 63, 100), (4, 3, 5, 100), (0, 0, 0, 2))
    ],
    "members": [
        (f"{size} tokens, sigma {sigma}, seed {seed}", {"weights": _weights(size, seed), "seed": seed, "sigma": sigma})
        for size, sigma, seed in ((1, [1, 2], 1), (2, [1, 2], 7), (16, [1, 2], 5), (64, [1, 2], 9), (64, [1, 4], 9))
    ]
    + [
        ("no weight at all", {"weights": [0, 0, 0], "seed": 3, "sigma": [1, 2]}),
        ("one token has it all", {"weights": [0, 5, 0, 0], "seed": 3, "sigma": [1, 2]}),
        ("an exact half falls outside", {"weights": [1, 1], "seed": 3, "sigma": [1, 2]}),
    ],
    "beacon": [
        ("fields in order", {"provider": 1, "version": 2, "nonce": 3}),
        ("all ones", {"provider": 1023, "version": 15, "nonce": 63}),
        ("provider too large", {"provider": 1024, "version": 0, "nonce": 0}),
        ("version too large", {"provider": 0, "version": 16, "nonce": 0}),
        ("nonce negative", {"provider": 0, "version": 0, "nonce": -1}),
    ],
    "record": [
        (f"layout {layout.name}", {
            "layout": layout.number,
            "fields": {name: (2**bits - 1) * (i + 1) // (len(layout.fields) + 1)
                       for i, (name, bits) in enumerate(layout.fields)},
        })
        for layout in LAYOUTS
    ]
    + [
        ("a field too large", {"layout": 2, "fields": {"provider": 1, "version": 2, "nonce": 3, "tag": 1 << 20}}),
        ("a field missing", {"layout": 2, "fields": {"provider": 1, "version": 2, "nonce": 3}}),
        ("a field that is none", {"layout": 1, "fields": {"provider": 1, "version": 2, "nonce": 3, "tag": 0}}),
        ("an unknown layout", {"layout": 9, "fields": {"provider": 1, "version": 2, "nonce": 3}}),
        ("layout 0", {"layout": 0, "fields": {"provider": 1, "version": 2, "nonce": 3}}),
    ],
    "slot": [
        (f"behind {tail}, position {index}", {"key": KEY, "tail": tail, "index": index})
        for tail, index in (([0, 0], 0), ([262, 11], 49), ([11, 262], 50), ([50256, 1], 399), ([7], 1000))
    ],
    "sealing": [
        (f"user {user}, nonce {nonce}, epoch {epoch}", {
            "secret": KEY, "profile": "org.ctwl.gpt2.1", "provider": 42, "version": 3, "nonce": nonce, "user": user,
            "epoch": epoch,
        })
        for user, nonce, epoch in ((0, 0, 0), (31337, 17, 0), (31337, 18, 0), (31337, 17, 1), (2**32 - 1, 63, 65535))
    ],
}  # fmt: skip
"""Name of each vector and its input."""

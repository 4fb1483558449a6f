"""The hash scheme, the weights and the partition (spec sections 6 and 7)."""

from __future__ import annotations

import numpy as np

from ctwl_protocol import hashing
from ctwl_protocol.partition import reference
from ctwl_protocol.partition.toy import toy_weights

from .family import BASIC, ENCODER, FULL, JSON, READERS, family


@family("mixing", asked_of=READERS, optional_for=(ENCODER,))
def _mixing(data: JSON) -> JSON:
    return {"mixed": hashing.fmix32(np.array(data["words"], dtype=np.uint32)).tolist()}


@family("permutation", asked_of=READERS, optional_for=(ENCODER,))
def _permutation(data: JSON) -> JSON:
    seed = hashing.partition_seed(bytes.fromhex(data["key"]), data["context"])
    seeds = hashing.permutation_seeds(seed, data["colour"] + 1)
    ranks = hashing.ranks(int(seeds[data["colour"]]), max(data["tokens"]) + 1)
    return {"seed": int(seeds[data["colour"]]), "ranks": [int(ranks[token]) for token in data["tokens"]]}


@family("colours", asked_of=READERS, optional_for=(ENCODER,))
def _colours(data: JSON) -> JSON:
    seed = hashing.colour_seed(bytes.fromhex(data["key"]), data["context"], data["layout"], data["slot"], data["nonce"])
    found = hashing.code_colours(seed, np.array(data["codes"], dtype=np.uint32), data["colours"])
    return {"seed": seed, "colours": found.tolist()}


@family("weights", asked_of=(BASIC, FULL), optional_for=(ENCODER,))
def _weights(data: JSON) -> JSON:
    logits = np.array([data["logits"][: data["vocabulary"]]], dtype=np.float32)
    return {"weights": reference.weights_of(logits, data["special"], data["weight_bits"])[0].tolist()}


@family("members", optional_for=(FULL, ENCODER))
def _members(data: JSON) -> JSON:
    weights = np.array([data["weights"]], dtype=np.uint32)
    seeds = np.array([data["seed"]], dtype=np.uint32)
    inside = reference.members(weights, seeds, (data["sigma"][0], data["sigma"][1]))[0]
    size = weights.shape[1]
    below = reference.mass_below(np.tile(weights, (size, 1)), np.arange(size), np.tile(seeds[:, None], (size, 1)))
    return {"members": np.flatnonzero(inside).tolist(), "below": below[:, 0].tolist()}


@family("toy-weights", asked_of=(BASIC, FULL), optional_for=(ENCODER,))
def _toy(data: JSON) -> JSON:
    weights = toy_weights(np.array([data["window"]], dtype=np.int64), 256)[0]
    weights[data.get("special", [])] = 0
    return {"weights": weights[data["tokens"]].tolist()}

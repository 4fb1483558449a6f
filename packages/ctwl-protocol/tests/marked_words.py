"""Words that carry a code under a profile that weighs all alike, written from the specification."""

import re

import numpy as np

from ctwl_protocol import hashing
from ctwl_protocol.proxy import Proxy


def marked_text(proxy: Proxy, code: int, words: int, seed: int) -> str:
    """Words of one token each, all in the half of the vocabulary that the code's colour picks."""
    profile, rng, vocabulary = proxy.profile, np.random.default_rng(seed), proxy.tokenizer.vocabulary
    spelled = np.sort([token for word, token in vocabulary.items() if re.fullmatch("Ġ[A-Za-z]{4,}", word)])
    ids, half = [int(spelled[0])], len(vocabulary) * 9 // 20
    for _ in range(words):
        seeds = hashing.permutation_seeds(hashing.partition_seed(profile.key, ids[-1:]), profile.colours)
        one = np.array([code], dtype=np.uint32)
        colour = hashing.code_colours(hashing.colour_seed(profile.key, ids[-1:]), one, profile.colours)
        ranks = hashing.ranks(int(seeds[colour][0]), len(vocabulary))
        ids.append(int(rng.choice(spelled[ranks[spelled] < np.partition(ranks, half)[half]])))
    return proxy.tokenizer.decode(np.array(ids)).strip()

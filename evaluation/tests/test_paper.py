"""The paper's own decoder: membership, posterior, and passages in a text that the toy model wrote."""

import numpy as np
import pytest

from ctwl_decoder.statistics.evidence import permutations
from ctwl_protocol import hashing
from ctwl_protocol.partition import reference
from ctwl_protocol.proxy import open_proxy
from ctwl_protocol.text.positions import positions
from evaluation.shared.paper import STEP, THRESHOLD, best_of, hits, passages, posterior

TOY, CODE = "org.ctwl.toy.1", 69


def test_a_hit_adds_one_nat() -> None:
    counts = np.array([3, 5, 3], dtype=np.int32)
    assert np.isclose(posterior(counts, 1), np.e**5 / (np.e**5 + 2 * np.e**3))


@pytest.mark.slow
def test_the_passage_that_prefers_a_code_is_found() -> None:
    proxy, rng = open_proxy(TOY), np.random.default_rng(1)
    profile = proxy.profile
    ids = rng.integers(97, 123, 200).tolist()
    for _ in range(240):
        context = np.array([ids[-profile.context_length :]])
        colour_seed = np.array([hashing.colour_seed(profile.key, context[0].tolist())], dtype=np.uint32)
        colour = hashing.code_colours(colour_seed, np.array([CODE], dtype=np.uint32), profile.colours)
        weights = proxy.weights(np.array([ids[-profile.prefix_length :]]))
        inside = reference.members(weights, permutations(profile, context)[0, colour], profile.sigma)[0, 97:123]
        ids.append(97 + int(rng.choice(np.flatnonzero(inside))))
    text = np.array(ids)
    found = hits(proxy, text)
    cut = positions(text, profile.prefix_length, profile.context_length)
    seeds = permutations(profile, cut.contexts)
    for at in (0, 300):
        weights = np.repeat(proxy.weights(cut.prefixes[at : at + 1]), profile.colours, axis=0)
        inside = reference.members(weights, seeds[at], profile.sigma)
        np.testing.assert_array_equal(found.scores[at], inside[:, cut.observed[at]])
    assert best_of(proxy, found[196:]).code == CODE
    (passage,) = passages(proxy, text)
    assert passage.code == CODE and passage.posterior >= THRESHOLD
    assert passage.end == len(found) and abs(passage.start - 196) <= 3 * STEP
    assert passages(proxy, text[:200]) == []

"""An owner who knows the key that marks makes any text carry a code; after a challenge nothing of that is left."""

import pydoc_data.topics
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ctwl_decoder import Decoder
from ctwl_operations.prove import Proof, Verification, verify
from ctwl_operations.registry import drafts
from ctwl_protocol import Profile
from ctwl_protocol.profile.private import commitment
from ctwl_protocol.proxy import Proxy, open_proxy
from ctwl_protocol.registry import bundled
from evaluation.robustness import forger
from evaluation.robustness.forger import CODE, FITTED, forged
from evaluation.shared.forging import Pairs, fitted_ids

TOPICS = [re.sub("[^A-Za-z,. ]+", " ", text) for text in pydoc_data.topics.topics.values() if len(text) > 9000]
SEEN, UNSEEN = zip(*((text[: len(text) // 2], text[len(text) // 2 :][:2000]) for text in TOPICS), strict=True)


@pytest.fixture(autouse=True)
def few_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few codes are searched in less time."""
    found = forger.private
    monkeypatch.setattr(forger, "private", lambda *given: found(*given).model_copy(update={"code_bits": 16}))


def claimed(own: Profile, proxy: Proxy, text: str) -> Verification:
    """What a verifier says of the claim to a text, after a registry certified the profile."""
    registry = drafts.add(bundled().registry, "certificate", commitment=commitment(own), owner="Forger", since=None)
    return verify(
        Proof(profile=own.to_bytes(), text=text.strip(), code=CODE),
        replace(bundled(), registry=registry),
        registry.issued + 86_400,
        lambda profile: Decoder(proxy.shared_with(profile)),
    )


@pytest.mark.slow
@pytest.mark.parametrize("fitted", FITTED)
def test_what_is_fitted_to_a_key_is_not_verified_after_a_challenge(fitted: str, tmp_path: Path) -> None:
    own = forged(fitted, SEEN, 64, np.random.default_rng(1), tmp_path)
    proxy, text = open_proxy(own, path=tmp_path), max(UNSEEN, key=lambda text: len(set(text.split())))
    report = Decoder(proxy).decode(text, score="whole")
    assert report.code == CODE and report.p_value < 1e-9
    found = claimed(own, proxy, text)
    assert found.steps[-1].code == "proof-unfounded" and len(found.steps) == 5


def test_ids_are_a_permutation_and_special_ones_stay() -> None:
    rng = np.random.default_rng(1)
    seeds = rng.integers(1 << 32, size=200, dtype=np.uint32)
    pairs = Pairs.of([rng.integers(50, size=300) for _ in range(3)])
    ids = fitted_ids(seeds, pairs, (0, 7), rng, 20)
    assert sorted(ids.tolist()) == list(range(200)) and (ids[0], ids[7]) == (0, 7)
    assert pairs.weights.max() <= 3 and len(pairs.pairs) == len({tuple(pair) for pair in pairs.pairs.tolist()})

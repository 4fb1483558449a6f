"""The toy profile: weights of integers alone, a tokenizer of bytes, no torch."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from ctwl_protocol import Profile, get_profile, published_names
from ctwl_protocol.errors import ProxyDigestMismatch
from ctwl_protocol.partition.toy import toy_weights
from ctwl_protocol.profile import TOY, TOYS
from ctwl_protocol.proxy import Proxy, find_files, open_proxy
from ctwl_protocol.proxy.gguf import tokenizer_bytes


@pytest.fixture(scope="module")
def proxy() -> Proxy:
    return open_proxy(TOY)


def test_the_proxy_weighs_as_the_profile_says(proxy: Proxy) -> None:
    windows = np.array([[84, 104, 101, 32], [0, 255, 1, 2]])
    assert (proxy.weights(windows) == toy_weights(windows, 256)).all()
    assert proxy.weights(windows[:0]).shape == (0, 256)


def test_special_ids_weigh_nothing_under_the_second_toy_profile() -> None:
    proxy = open_proxy(TOYS[1])
    window, special = np.array([list(b"The harves")]), [3, 60, 62, 124]
    assert (proxy.weights(window)[0, special] == 0).all()
    others = np.setdiff1d(np.arange(256), special)
    assert (proxy.weights(window)[0, others] == toy_weights(window, 256)[0, others]).all()


def test_the_tokenizers_files_are_made_by_the_rule() -> None:
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]  # the bytes that GPT-2's alphabet writes as they are
    others = iter(range(256, 512))
    letters = [chr(byte) if byte in shown else chr(next(others)) for byte in range(256)]
    files = find_files(get_profile(TOY))
    assert (files.vocab.read_bytes(), files.merges.read_bytes()) == tokenizer_bytes(letters, [])
    stated = get_profile(TOY).tokenizer.vocab
    assert hashlib.sha256(files.vocab.read_bytes()).digest() == stated.sha256


def test_other_files_are_refused(tmp_path: Path) -> None:
    for name in ("vocab.json", "merges.txt"):
        (tmp_path / name).write_bytes(b"#version: 0.2\n")
    with pytest.raises(ProxyDigestMismatch):
        open_proxy(TOY, path=tmp_path)


def test_only_profiles_with_a_proxy_lm_have_a_published_twin() -> None:
    assert [name for name in published_names() if "toy" in name] == list(TOYS)


def test_a_private_profile_may_have_toy_weights() -> None:
    document = json.loads(get_profile(TOY).to_json()) | {"name": "com.example.toy.1", "key": "ab" * 32}
    proxy = open_proxy(Profile.from_bytes(json.dumps(document).encode()))
    assert proxy.weights(np.array([[84, 104, 101, 32]])).sum() > 1

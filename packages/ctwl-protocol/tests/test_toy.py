"""The toy profile: weights of integers alone, a tokenizer of bytes, no torch."""

import json
from pathlib import Path

import numpy as np
import pytest

from ctwl_protocol import Profile, get_profile
from ctwl_protocol.errors import ProxyDigestMismatch
from ctwl_protocol.profile import TOY
from ctwl_protocol.proxy import open_proxy


def test_other_files_are_refused(tmp_path: Path) -> None:
    for name in ("vocab.json", "merges.txt"):
        (tmp_path / name).write_bytes(b"#version: 0.2\n")
    with pytest.raises(ProxyDigestMismatch):
        open_proxy(TOY, path=tmp_path)


def test_a_private_profile_may_have_toy_weights() -> None:
    document = json.loads(get_profile(TOY).to_json()) | {"name": "com.example.toy.1", "key": "ab" * 32}
    proxy = open_proxy(Profile.from_bytes(json.dumps(document).encode()))
    assert proxy.weights(np.array([[84, 104, 101, 32]])).sum() > 1

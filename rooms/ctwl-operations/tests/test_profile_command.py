"""``ctwl-profile``: private profiles, made, derived and certified; and model folders that may hold anything."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctwl_operations.profile import model_folder
from ctwl_operations.profile.command import _described, main
from ctwl_operations.profile.model_folder import read_model
from ctwl_operations.profile.splitting import find_rule
from ctwl_operations.registry import drafts
from ctwl_protocol import environment, get_profile
from ctwl_protocol.errors import CTWLError, ProfileMalformed, ProxyMalformed, ProxyNotFound
from ctwl_protocol.profile import GPT2, STANDARD, Llama, ProxyModel
from ctwl_protocol.profile.private import certificate_of, certified, commitment, for_user, new_private, write_private
from ctwl_protocol.registry import Envelope, bundled
from ctwl_protocol.registry.keys import test_key as key_for_tests
from ctwl_protocol.text.splitting import SPLITS, build_bpe

PUBLIC = get_profile("org.ctwl.smollm2-135m.1")
OWN = new_private("com.example.mark.1", PUBLIC)

pytestmark = pytest.mark.usefixtures("quick_scrypt", "passphrase")


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    status = main([str(argument) for argument in arguments])
    return status, *capsys.readouterr()


def test_the_command_makes_derives_shows_and_commits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine, ann = tmp_path / "mine.ctwl", tmp_path / "ann.ctwl"
    assert run(capsys, "new", "com.example.mark.1", "--out", mine, "--like", PUBLIC.name)[0] == 0
    assert run(capsys, "for-user", mine, "ann", "--out", ann)[0] == 0
    assert get_profile(ann) == for_user(get_profile(mine), "ann")
    key = get_profile(ann).key.hex()
    for options in ([], ["--json"]):
        status, shown, _ = run(capsys, "show", ann, *options)
        assert status == 0 and get_profile(ann).digest in shown and key not in shown
    assert run(capsys, "commit", ann)[1].strip() == commitment(get_profile(ann)).hex()
    status, _, complaint = run(capsys, "for-user", mine, "bob", "--out", ann)
    assert (status, complaint.split(": ")[1]) == (2, "file-unwritable")
    status, shown, complaint = run(capsys, "commit", PUBLIC.name)
    assert (status, shown, complaint.split(": ")[1]) == (2, "", "profile-not-private")


def test_the_command_derives_the_certified_profile(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, out = tmp_path / "mine.ctwl", tmp_path / "marks.ctwl"
    monkeypatch.setenv(environment.REGISTRY.name, str(tmp_path / "registry"))
    write_private(mine, OWN)
    status, shown, complaint = run(capsys, "certified", mine, "--out", out)
    assert (status, shown, complaint.split(": ")[1], out.exists()) == (2, "", "proof-uncertified", False)
    registry = drafts.add(bundled().registry, "certificate", commitment=commitment(OWN), owner="Example", since=None)
    next_one = Envelope.unsigned(registry.model_copy(update={"version": 2})).sign(key_for_tests(3))
    (tmp_path / "registry.ctwl").write_bytes(next_one.to_bytes())
    assert run(capsys, "certified", mine, "--registry", tmp_path / "registry.ctwl", "--out", out)[0] == 0
    assert get_profile(out) == certified(OWN, certificate_of(OWN, registry).challenge)


def test_a_public_key_is_shown_as_such() -> None:
    copied = OWN.model_copy(update={"key": get_profile(STANDARD).key})
    assert "key        public" in _described(copied) and "key        secret" in _described(OWN)


def tokenizer_json(folder: Path, *, digits: bool = False, **changes: object) -> str:
    """``tokenizer.json`` as transformers writes it for a byte-level BPE."""
    split: dict[str, Any] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    if digits:
        split = {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, split]}
    pairs = (folder / "merges.txt").read_text("utf-8").splitlines()[1:]
    model = {"type": "BPE", "vocab": json.loads((folder / "vocab.json").read_bytes()), "merges": pairs}
    return json.dumps({"version": "1.0", "added_tokens": [], "pre_tokenizer": split, "model": model, **changes})


GPT2_CONFIG = {
    "model_type": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 8, "n_positions": 64, "vocab_size": 50257,
    "n_inner": None, "layer_norm_epsilon": 1e-05, "activation_function": "gelu_new",
}  # fmt: skip
LLAMA_CONFIG = {
    "model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_size": 8,
    "intermediate_size": 16, "max_position_embeddings": 64, "vocab_size": 50304, "rms_norm_eps": 1e-06,
    "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}, "tie_word_embeddings": True, "head_dim": 2,
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model folder with two tokens, whose weights are made up: only their digest matters here."""
    made = tmp_path / "model"
    made.mkdir()
    (made / "vocab.json").write_text('{"a": 0, "b": 1}')
    (made / "merges.txt").write_text("#version: 0.2\n")
    (made / "config.json").write_text(json.dumps(GPT2_CONFIG))
    (made / "model.safetensors").write_bytes(struct.pack("<Q", 2) + b"{}")
    return made


@pytest.fixture
def genuine(folder: Path, gpt2_tokenizer_files: dict[str, Path]) -> Path:
    """The same with GPT-2's tokens."""
    for name, source in gpt2_tokenizer_files.items():
        shutil.copyfile(source, folder / name)
    return folder


def test_a_model_folder_becomes_a_proxy(genuine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (genuine / "tokenizer.json").write_text(tokenizer_json(genuine))
    assert run(capsys, "new", "com.example.own.1", "--out", tmp_path / "own", "--model", genuine)[0] == 0
    made = get_profile(tmp_path / "own")
    assert made.tokenizer == get_profile("org.ctwl.gpt2.1").tokenizer  # the special ids among it
    assert isinstance(made.proxy, ProxyModel)
    assert made.proxy.architecture == GPT2(
        layers=2, heads=2, width=8, positions=64, rows=50257, norm_epsilon=(1, 100000)
    )
    assert made.proxy.weights.sha256 == hashlib.sha256((genuine / "model.safetensors").read_bytes()).digest()
    assert (made.proxy.source, made.proxy.tensors_sha256) == (None, None)


def test_a_model_saved_by_transformers_is_its_own_proxy(tmp_path: Path, gpt2_tokenizer_files: dict[str, Path]) -> None:
    """LM_proxy = LLM: what the profile opens weighs the vocabulary as the model itself does."""
    import numpy as np
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel, GPT2TokenizerFast

    from ctwl_protocol.proxy import open_proxy

    folder = tmp_path / "model"
    tokenizer = GPT2TokenizerFast(**{name.split(".")[0]: str(path) for name, path in gpt2_tokenizer_files.items()})
    tokenizer.save_pretrained(folder)
    model = GPT2LMHeadModel(GPT2Config(n_layer=1, n_head=2, n_embd=8, n_positions=64)).eval()
    model.save_pretrained(folder)
    with pytest.raises(ProxyNotFound, match="backend_tokenizer"):  # transformers 5 saves tokenizer.json alone
        read_model(folder)
    tokenizer.backend_tokenizer.model.save(str(folder))
    made = new_private("com.example.own.1", PUBLIC, read_model(folder))
    with pytest.raises(ProxyNotFound, match="folder"):
        open_proxy(made).load()
    proxy = open_proxy(made, path=folder, device="cpu")
    ids = proxy.tokenizer.encode("The council said on Tuesday that the new bridge over the river")[None, :10]
    assert ids[0].tolist() == tokenizer("The council said on Tuesday that the new bridge over the river").input_ids[:10]
    with torch.inference_mode():
        chances = torch.softmax(model(torch.from_numpy(ids)).logits[0, -1].double(), dim=-1).numpy()
    np.testing.assert_allclose(np.delete(proxy.weights(ids)[0], 50256) / 2**24, np.delete(chances, 50256), atol=1e-6)


def test_a_llama_is_read_whichever_release_of_transformers_wrote_it(folder: Path) -> None:
    old = {key: value for key, value in LLAMA_CONFIG.items() if key != "rope_parameters"} | {"rope_theta": 10000.0}
    for config in (LLAMA_CONFIG, old | {"rope_scaling": None}):
        (folder / "config.json").write_text(json.dumps(config))
        _, proxy = read_model(folder, "gpt2")
        assert proxy.architecture == Llama(
            layers=2, heads=4, key_value_heads=2, width=8, feed_forward=16, positions=64, rope_theta=10000, rows=50304,
            norm_epsilon=(1, 1000000), tied=True,
        )  # fmt: skip


def test_the_splitting_rule_is_found_by_comparison(genuine: Path) -> None:
    shorten(genuine)
    for digits, rule in ((False, "gpt2"), (True, "digits-gpt2")):
        (genuine / "tokenizer.json").write_text(tokenizer_json(genuine, digits=digits))
        assert read_model(genuine)[0].pre_tokenizer == rule
    for other in (
        {"normalizer": {"type": "Lowercase"}},
        {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}},
        {"pre_tokenizer": {"type": "Whitespace"}},
    ):
        (genuine / "tokenizer.json").write_text(tokenizer_json(genuine, **other))
        with pytest.raises(ProxyMalformed, match="none of the named rules"):
            read_model(genuine)


@pytest.mark.parametrize("rule", SPLITS)
def test_every_splitting_rule_is_told_from_the_others(genuine: Path, rule: str) -> None:
    shorten(genuine, 1000)
    tokens = json.loads((genuine / "vocab.json").read_bytes())
    pairs = [tuple(line.split(" ")) for line in (genuine / "merges.txt").read_text("utf-8").splitlines()[1:]]
    assert find_rule(tokens, pairs, build_bpe(tokens, pairs, rule).to_str().encode()) == rule


@pytest.mark.parametrize(
    ("config", "change"),
    [
        (GPT2_CONFIG, {"model_type": "mistral"}),
        (GPT2_CONFIG, {"model_type": ["gpt2"]}),
        (GPT2_CONFIG, {"activation_function": "relu"}),
        (GPT2_CONFIG, {"n_inner": 33}),
        (GPT2_CONFIG, {"n_head": 3}),
        (GPT2_CONFIG, {"n_layer": 10**9}),
        (GPT2_CONFIG, {"n_layer": True}),
        (GPT2_CONFIG, {"n_layer": None}),
        (GPT2_CONFIG, {"layer_norm_epsilon": 0}),
        (GPT2_CONFIG, {"layer_norm_epsilon": float("nan")}),
        (LLAMA_CONFIG, {"rope_scaling": {"rope_type": "llama3", "factor": 8.0}}),
        (LLAMA_CONFIG, {"rope_parameters": {"rope_type": "llama3", "rope_theta": 10000.0}}),
        (LLAMA_CONFIG, {"rope_parameters": {"rope_theta": 0}}),
        (LLAMA_CONFIG, {"rope_parameters": {"rope_theta": 0.5}}),
        (LLAMA_CONFIG, {"rope_parameters": {"rope_theta": float("inf")}}),
        (LLAMA_CONFIG, {"rope_parameters": [1]}),
        (LLAMA_CONFIG, {"attention_bias": True}),
        (LLAMA_CONFIG, {"head_dim": 64}),
        (LLAMA_CONFIG, {"head_dim": 3}),
        (LLAMA_CONFIG, {"head_dim": {"": None}}),
        (LLAMA_CONFIG, {"num_attention_heads": 0}),
        (LLAMA_CONFIG, {"tie_word_embeddings": "yes"}),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_model_of_no_profile_is_refused(folder: Path, config: dict[str, object], change: dict[str, object]) -> None:
    (folder / "config.json").write_text(json.dumps(config | change))
    with pytest.raises(ProxyMalformed):
        read_model(folder, "gpt2")


@pytest.mark.parametrize("name", ["config.json", "vocab.json", "merges.txt", "model.safetensors", "tokenizer.json"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink(missing_ok=True)
    with pytest.raises(ProxyNotFound, match="safetensors" if name == "model.safetensors" else name):
        read_model(folder)
    with pytest.raises(ProxyNotFound):
        read_model(folder / "nowhere")


def test_weights_in_several_files_are_refused(folder: Path) -> None:
    (folder / "more.safetensors").write_bytes(b"x")
    with pytest.raises(ProxyNotFound, match="2"):
        read_model(folder, "gpt2")


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(base=st.sampled_from([GPT2_CONFIG, LLAMA_CONFIG]), data=st.data())
def test_no_config_crashes_the_reader(folder: Path, base: dict[str, object], data: st.DataObject) -> None:
    changes = data.draw(st.dictionaries(st.sampled_from(sorted(base)), _VALUES, min_size=1, max_size=3))
    (folder / "config.json").write_text(json.dumps(base | changes))
    try:
        _, proxy = read_model(folder, "gpt2")
    except CTWLError:
        return
    assert proxy.architecture.rows >= 2


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(["config.json", "vocab.json", "merges.txt", "tokenizer.json"]), content=st.binary(max_size=80)
)
def test_no_bytes_crash_the_reader(folder: Path, name: str, content: bytes) -> None:
    (folder / "vocab.json").write_text('{"a": 0, "b": 1}')
    (folder / "merges.txt").write_text("#version: 0.2\n")
    (folder / "tokenizer.json").write_text("{}")
    (folder / "config.json").write_text(json.dumps(GPT2_CONFIG))
    (folder / name).write_bytes(content)
    with pytest.raises(CTWLError):
        read_model(folder)


def test_files_beyond_the_bounds_are_refused_unread(folder: Path) -> None:
    for name, size in (("config.json", 1 << 21), ("vocab.json", 1 << 26)):
        kept = (folder / name).read_bytes()
        with (folder / name).open("wb") as file:
            file.truncate(size)
        with pytest.raises(ProxyMalformed, match="bytes"):
            read_model(folder, "gpt2")
        (folder / name).write_bytes(kept)
    (folder / "config.json").write_text("[" * 100_000)
    with pytest.raises(ProxyMalformed, match=r"config\.json"):
        read_model(folder, "gpt2")


def test_a_model_that_reads_fewer_tokens_than_a_prefix_has_is_refused(folder: Path) -> None:
    (folder / "config.json").write_text(json.dumps(GPT2_CONFIG | {"n_positions": 9}))
    with pytest.raises(ProfileMalformed, match="prefix_length"):
        new_private("com.example.own.1", PUBLIC, read_model(folder, "gpt2"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes in folders")
def test_a_pipe_where_a_file_of_a_model_belongs_is_an_error(folder: Path) -> None:
    (folder / "config.json").unlink()
    os.mkfifo(folder / "config.json")
    for read in (lambda: read_model(folder), lambda: model_folder._described(folder / "config.json")):
        with pytest.raises(ProxyNotFound, match="pipe"):
            read()


def shorten(folder: Path, merges: int = 2000) -> None:
    """Leave the tokenizer its bytes and its first merges: enough to tell the rules apart, and quick."""
    lines = (folder / "merges.txt").read_text("utf-8").split("\n")[: merges + 1]
    (folder / "merges.txt").write_text("\n".join(lines), "utf-8")
    tokens = json.loads((folder / "vocab.json").read_bytes())
    made = {line.replace(" ", "") for line in lines[1:]}
    kept = [token for token in tokens if len(token) == 1 or token in made]
    (folder / "vocab.json").write_text(json.dumps({token: i for i, token in enumerate(kept)}))

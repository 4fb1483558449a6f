"""Private profiles from the outside: made, kept, derived, committed to; and model folders that may hold anything."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import struct
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctwl_operations.profile.command import _described, main
from ctwl_operations.profile.model_folder import read_model
from ctwl_operations.profile.splitting import find_rule
from ctwl_operations.registry import drafts
from ctwl_protocol import Profile, environment, get_profile, published_names, secret_file
from ctwl_protocol.errors import (
    CTWLError,
    FileUnwritable,
    KeyFileLocked,
    PassphraseMissing,
    ProfileMalformed,
    ProfileNotPrivate,
    ProofUncertified,
    ProxyMalformed,
    ProxyNotFound,
    UserMalformed,
)
from ctwl_protocol.profile import GPT2, STANDARD, Llama, ProxyModel, has_public_key, public_key
from ctwl_protocol.profile.private import (
    MAX_USER,
    certificate_of,
    certified,
    commitment,
    for_user,
    new_private,
    write_private,
)
from ctwl_protocol.registry import Envelope, bundled
from ctwl_protocol.registry.keys import test_key as key_for_tests
from ctwl_protocol.text.splitting import SPLITS, build_bpe

PUBLIC = get_profile("org.ctwl.smollm2-135m.1")
OWN = new_private("com.example.mark.1", PUBLIC)

pytestmark = pytest.mark.usefixtures("quick_scrypt")


@pytest.fixture(autouse=True)
def passphrase(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(environment.PASSPHRASE.name, "open sesame")


def test_a_private_profile_has_the_numbers_of_another_and_a_key_and_a_name_of_its_own() -> None:
    changed = {"name", "key"}
    assert OWN.model_dump(exclude=changed) == PUBLIC.model_dump(exclude=changed)
    assert not OWN.is_public
    assert new_private(OWN.name, PUBLIC).key != OWN.key


def test_a_locked_profile_opens_wherever_a_profile_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.ctwl"
    write_private(path, OWN)
    assert get_profile(path) == get_profile(str(path)) == OWN
    assert OWN.key not in path.read_bytes()
    assert path.stat().st_mode & 0o077 == 0
    with pytest.raises(FileUnwritable):
        write_private(path, OWN)


@pytest.mark.skipif(not Path("/dev/fd").is_dir(), reason="shells pass pipes on by these names")
def test_a_locked_profile_may_come_from_a_shells_pipe(tmp_path: Path) -> None:
    write_private(tmp_path / "mine.ctwl", OWN)
    reader, writer = os.pipe()
    os.write(writer, (tmp_path / "mine.ctwl").read_bytes())
    os.close(writer)
    try:
        assert get_profile(f"/dev/fd/{reader}") == OWN
    finally:
        os.close(reader)


def test_a_locked_profile_stays_locked_without_its_passphrase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mine.ctwl"
    write_private(path, OWN)
    monkeypatch.setenv(environment.PASSPHRASE.name, "sesame")
    with pytest.raises(KeyFileLocked, match=r"mine\.ctwl"):
        get_profile(path)
    monkeypatch.delenv(environment.PASSPHRASE.name)
    with pytest.raises(PassphraseMissing):
        get_profile(path)


def test_the_passphrase_is_asked_for_once_in_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, asked = tmp_path / "mine.ctwl", []
    write_private(path, OWN)
    monkeypatch.setattr(secret_file, "ask_passphrase", lambda what, **_: asked.append(what) or "open sesame")
    assert get_profile(path) == get_profile(path)
    assert asked == [str(path)]


@pytest.mark.parametrize("name", [*published_names(), "org.ctwl.mine.1"])
def test_the_protocols_names_are_refused(name: str) -> None:
    with pytest.raises(ProfileNotPrivate, match="domain"):
        new_private(name, PUBLIC)


@pytest.mark.parametrize(
    "name", ["", "mine", "com.example.mark", "Com.Example.1", "a b.1", "\ud800.1", "a" * 99 + ".1"]
)
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(ProfileMalformed, match=r"com\.example\.mark\.1"):
        new_private(name, PUBLIC)


def test_a_published_key_under_another_name_is_public_too() -> None:
    copied = OWN.model_copy(update={"key": get_profile(STANDARD).key})
    assert not copied.is_public
    assert [has_public_key(each) for each in (copied, OWN, get_profile(STANDARD))] == [True, False, True]
    assert "key        public" in _described(copied) and "key        secret" in _described(OWN)


@pytest.mark.parametrize("key", [public_key(name) for name in ("com.example.mark.1", *published_names())])
def test_a_key_that_the_public_knows_is_not_written_derived_from_or_committed_to(key: bytes, tmp_path: Path) -> None:
    """Whoever certified the public key under a name of their own would own every text of everybody."""
    posing = OWN.model_copy(update={"key": key})
    for attempt in (
        lambda: write_private(tmp_path / "posing", posing),
        lambda: for_user(posing, "ann"),
        lambda: commitment(posing),
        lambda: certified(posing, bytes(32)),
    ):
        with pytest.raises(ProfileNotPrivate):
            attempt()
    assert not list(tmp_path.iterdir())


@given(st.text(min_size=1, max_size=40), st.text(min_size=1, max_size=40))
def test_users_have_profiles_of_their_own_and_the_same_one_every_time(ann: str, bob: str) -> None:
    first, second = for_user(OWN, ann), for_user(OWN, bob)
    assert first == for_user(OWN, ann)
    same = unicodedata.normalize("NFC", ann) == unicodedata.normalize("NFC", bob)
    assert (first.name == second.name) == (first.key == second.key) == (first == second) == same
    assert first.key != OWN.key
    assert first.model_dump(exclude={"name", "key"}) == OWN.model_dump(exclude={"name", "key"})


def test_a_users_profile_says_nothing_of_the_user_that_could_be_tried_out() -> None:
    other = new_private(OWN.name, PUBLIC)
    names = [for_user(profile, "ann@example.com").name for profile in (OWN, other)]
    assert names[0] != names[1]
    assert all("ann" not in name and name.endswith(".1") for name in names)
    assert for_user(OWN, "Zoe\u0308").name == for_user(OWN, "Zo\u00eb").name


def test_profiles_that_share_a_key_give_a_user_different_ones() -> None:
    moved = OWN.model_copy(update={"name": "com.example.mark.2"})
    assert for_user(moved, "ann").key != for_user(OWN, "ann").key


@pytest.mark.parametrize("user", ["", "a" * (MAX_USER + 1), "\ud800"])
def test_what_is_no_user_is_refused(user: str) -> None:
    with pytest.raises(UserMalformed):
        for_user(OWN, user)


def test_a_name_without_room_for_more_is_refused() -> None:
    with pytest.raises(ProfileMalformed, match="100"):
        for_user(new_private(f"com.{'a' * 80}.1", PUBLIC), "ann")
    with pytest.raises(ProfileMalformed, match="100"):
        certified(new_private(f"com.{'a' * 85}.1", PUBLIC), bytes(32))


def test_a_commitment_is_what_the_specification_says_and_changes_with_the_profile() -> None:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    data = OWN.to_bytes()
    salt = HKDF(SHA256(), 32, hashlib.sha256(data).digest(), b"ctwl-private/1/commitment-salt").derive(OWN.key)
    assert commitment(OWN) == hashlib.sha256(b"ctwl-commitment/1" + salt + data).digest()
    others = [for_user(OWN, "ann"), new_private(OWN.name, PUBLIC), OWN.model_copy(update={"colours": 50})]
    assert len({commitment(profile) for profile in (OWN, *others)}) == 4


def test_the_key_that_marks_follows_from_all_that_was_committed_to_and_from_the_challenge() -> None:
    """Nothing is left that could be fitted to it: any change makes a key that has nothing to do with the other."""
    marking, challenge = certified(OWN, bytes(32)), bytes(31) + b"\1"
    changed = {"name", "key"}
    assert marking.model_dump(exclude=changed) == OWN.model_dump(exclude=changed)
    assert marking.name == "com.example.mark.certified.1"
    swapped = OWN.tokenizer.model_copy(update={"vocab": OWN.tokenizer.vocab.model_copy(update={"sha256": bytes(32)})})
    assert isinstance(OWN.proxy, ProxyModel)
    fitted = OWN.proxy.model_copy(update={"weights": OWN.proxy.weights.model_copy(update={"sha256": bytes(32)})})
    others = [OWN.model_copy(update=each) for each in ({"tokenizer": swapped}, {"proxy": fitted}, {"colours": 50})]
    keys = {OWN.key, marking.key, certified(OWN, challenge).key, *(certified(each, bytes(32)).key for each in others)}
    assert len(keys) == 6


def test_a_certificate_is_the_profiles_own() -> None:
    registry = drafts.add(
        bundled().registry, "certificate", commitment=commitment(OWN), owner="Example Ltd", since=None
    )
    assert certificate_of(OWN, registry).owner == "Example Ltd"
    for other in (for_user(OWN, "ann"), OWN.model_copy(update={"colours": 50}), certified(OWN, bytes(32))):
        with pytest.raises(ProofUncertified, match=commitment(other).hex()):
            certificate_of(other, registry)


def test_what_is_derived_never_changes() -> None:
    """The example of the specification: other values would orphan every user's profile and every certificate."""
    profile = PUBLIC.model_copy(update={"name": "com.example.mark.1", "key": bytes(range(32))})
    user = for_user(profile, "ann@example.com")
    assert commitment(profile).hex() == "7b4a3646ac691632c2573b0c018ccbc4197405f30135b978cfcf0ffb19109ea7"
    assert user.name == "com.example.mark.user-717c0cf7c63a37d7eb0fbc861640d89d.1"
    assert user.key.hex() == "793add0fb6a4dd7e9b7add815476032d96eb78bcca3d1e9a19dd383d8d3c5841"
    assert commitment(user).hex() == "011f1a8d8ddce06627e946fd885c7b2f6b157e09228aed4415c627c279cbc906"
    marking = certified(user, bytes(range(255, 223, -1)))
    assert marking.key.hex() == "ed92beb6b78993a366b0766741e9d31ab03c6867c83a38b11fa9ed2863d9db8f"


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


def tokenizer_json(vocab: Path, merges: Path, *, digits: bool = False, **changes: object) -> str:
    """``tokenizer.json`` as transformers writes it for a byte-level BPE."""
    split: dict[str, Any] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    if digits:
        split = {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, split]}
    pairs = merges.read_text("utf-8").split("\n")[1:]
    model = {"type": "BPE", "vocab": json.loads(vocab.read_bytes()), "merges": [pair for pair in pairs if pair]}
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
def folder(tmp_path: Path, gpt2_tokenizer_files: dict[str, Path]) -> Path:
    """A model folder whose weights are made up: only their digest matters here."""
    made = tmp_path / "model"
    made.mkdir()
    for name, source in gpt2_tokenizer_files.items():
        shutil.copyfile(source, made / name)
    (made / "config.json").write_text(json.dumps(GPT2_CONFIG))
    (made / "model.safetensors").write_bytes(struct.pack("<Q", 2) + b"{}")
    return made


def test_a_model_folder_becomes_a_proxy(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], gpt2_tokenizer_files: dict[str, Path]
) -> None:
    (folder / "tokenizer.json").write_text(tokenizer_json(folder / "vocab.json", folder / "merges.txt"))
    assert run(capsys, "new", "com.example.own.1", "--out", tmp_path / "own", "--model", folder)[0] == 0
    made = get_profile(tmp_path / "own")
    assert made.tokenizer == get_profile("org.ctwl.gpt2.1").tokenizer  # the special ids among it
    assert isinstance(made.proxy, ProxyModel)
    assert made.proxy.architecture == GPT2(
        layers=2, heads=2, width=8, positions=64, rows=50257, norm_epsilon=(1, 100000)
    )
    assert made.proxy.weights.sha256 == hashlib.sha256((folder / "model.safetensors").read_bytes()).digest()
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


def test_the_splitting_rule_is_found_by_comparison(folder: Path) -> None:
    shorten(folder)
    for digits, rule in ((False, "gpt2"), (True, "digits-gpt2")):
        (folder / "tokenizer.json").write_text(
            tokenizer_json(folder / "vocab.json", folder / "merges.txt", digits=digits)
        )
        assert read_model(folder)[0].pre_tokenizer == rule
    for other in (
        {"normalizer": {"type": "Lowercase"}},
        {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}},
        {"pre_tokenizer": {"type": "Whitespace"}},
    ):
        (folder / "tokenizer.json").write_text(tokenizer_json(folder / "vocab.json", folder / "merges.txt", **other))
        with pytest.raises(ProxyMalformed, match="none of the named rules"):
            read_model(folder)


@pytest.mark.parametrize("rule", SPLITS)
def test_every_splitting_rule_is_told_from_the_others(folder: Path, rule: str) -> None:
    shorten(folder, 1000)
    tokens = json.loads((folder / "vocab.json").read_bytes())
    lines = (folder / "merges.txt").read_text("utf-8").split("\n")[1:]
    pairs = [(left, right) for left, right in (line.split(" ") for line in lines if line)]
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
    (folder / "vocab.json").write_text('{"a": 0, "b": 1}')
    (folder / "merges.txt").write_text("#version: 0.2\n")
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


def test_a_profile_from_the_command_is_a_profile_of_the_specification(folder: Path, tmp_path: Path) -> None:
    tokenizer, proxy = read_model(folder, "gpt2")
    made = new_private("com.example.own.1", PUBLIC, (tokenizer, proxy))
    assert Profile.from_bytes(made.to_bytes()) == made
    with pytest.raises(ProfileMalformed, match="prefix_length"):
        new_private("com.example.own.1", PUBLIC, (tokenizer, shortened(proxy)))


def shorten(folder: Path, merges: int = 2000) -> None:
    """Leave the tokenizer its bytes and its first merges: enough to tell the rules apart, and quick."""
    lines = (folder / "merges.txt").read_text("utf-8").split("\n")[: merges + 1]
    (folder / "merges.txt").write_text("\n".join(lines), "utf-8")
    tokens = json.loads((folder / "vocab.json").read_bytes())
    made = {line.replace(" ", "") for line in lines[1:]}
    kept = [token for token in tokens if len(token) == 1 or token in made]
    (folder / "vocab.json").write_text(json.dumps({token: i for i, token in enumerate(kept)}))


def shortened(proxy: ProxyModel) -> ProxyModel:
    return proxy.model_copy(update={"architecture": proxy.architecture.model_copy(update={"positions": 9})})

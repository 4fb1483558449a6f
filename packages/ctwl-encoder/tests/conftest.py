"""What the encoder's tests share.

``toy`` writes under the toy profile: a random model whose tokens are bytes, in which a text is written and read back in
a second. It serves for everything that is mechanics; SmolLM2 serves where the text must be text.
"""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from ctwl_decoder import Decoder
from ctwl_encoder import Bridge, Encoder
from ctwl_encoder.models import load_model
from ctwl_protocol.bridge import read_vocabulary
from ctwl_protocol.proxy import Proxy, open_proxy

ModelMaker = Callable[..., LlamaForCausalLM]
NO_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=NO_GPU)])
def device(request: pytest.FixtureRequest) -> torch.device:
    """Where logits are: on the processor, and on a GPU."""
    return torch.device(request.param)


@pytest.fixture(scope="session")
def make_model() -> ModelMaker:
    """A random model for a tokenizer of bytes, which writes printable ASCII only."""

    def make(tokenizer: Any, rows: int | None = None) -> LlamaForCausalLM:
        torch.manual_seed(1)
        shape = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
        end = tokenizer.eos_token_id
        config = LlamaConfig(
            vocab_size=rows or len(tokenizer), initializer_range=0.3, eos_token_id=end, pad_token_id=end, **shape
        )
        model = LlamaForCausalLM(config).eval()
        model.generation_config.suppress_tokens = [
            token
            for token, data in enumerate(read_vocabulary(tokenizer))
            if data and not (data.isascii() and data.decode().isprintable())
        ]
        return model

    return make


@pytest.fixture(scope="session")
def toy(make_model: ModelMaker) -> Encoder:
    """An encoder under the toy profile; see the module's text."""
    proxy = open_proxy("org.ctwl.toy.1")
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=proxy.tokenizer.backend, eos_token="<|end|>")
    return Encoder(make_model(tokenizer), tokenizer, proxy)


@pytest.fixture(scope="session")
def toy_decoder() -> Decoder:
    return Decoder.open("org.ctwl.toy.1")


@pytest.fixture(scope="session")
def smollm2() -> tuple[Any, Any]:
    """SmolLM2 and its tokenizer, for what needs real text."""
    return load_model("smollm2", "cpu")


@pytest.fixture(scope="session")
def bridge(smollm2: tuple[Any, Any], offline_proxy: Proxy) -> Bridge:
    return Bridge(smollm2[1], offline_proxy)


@pytest.fixture(scope="session")
def encoder(smollm2: tuple[Any, Any], offline_proxy: Proxy) -> Encoder:
    return Encoder(*smollm2, offline_proxy)


@pytest.fixture(scope="session")
def decoder(offline_proxy: Proxy) -> Decoder:
    return Decoder(offline_proxy)


@pytest.fixture(scope="session")
def prompts() -> list[str]:
    return [
        "The council said on Tuesday that the new bridge over the river would",
        "Farmers in the north of the state are waiting for rain after",
        "The minister told reporters that the budget",
    ]

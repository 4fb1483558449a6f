"""A small language model of made weights behind a real tokenizer, so that much text is weighed in no time."""

from collections.abc import Callable

import numpy as np

from ctwl_protocol import get_profile
from ctwl_protocol.profile import GPT2, Llama, ProxyModel
from ctwl_protocol.proxy import Proxy, ProxyTokenizer
from ctwl_protocol.proxy.tensors import tensor_shapes

LLAMA = Llama(
    layers=2,
    heads=6,
    key_value_heads=3,
    width=48,
    feed_forward=80,
    positions=256,
    rope_theta=10_000,
    rows=300,
    norm_epsilon=(1, 100_000),
    tied=True,
)
"""A small architecture, which shares its keys among heads."""


def made(architecture: GPT2 | Llama, scale: float = 0.2) -> dict[str, np.ndarray]:
    """Random tensors of an architecture."""
    chance = np.random.default_rng(1)
    return {
        name: chance.normal("norm" in name or "ln_" in name, scale, shape).astype(np.float32)
        for name, shape in tensor_shapes(architecture).items()
    }


def small_proxy(positions: int = 8192, opening: Callable[[], object] = lambda: None) -> Proxy:
    """A proxy of the offline profile's tokens that sees so many at once, by whole context.

    ``opening`` is called each time that its model is opened.
    """

    def tensors() -> dict[str, np.ndarray]:
        opening()
        return made(architecture, 0.5)

    profile = get_profile("org.ctwl.smollm2-135m.1")
    assert isinstance(profile.proxy, ProxyModel) and isinstance(profile.proxy.architecture, Llama)
    sizes = {"layers": 1, "heads": 2, "key_value_heads": 1, "width": 16, "feed_forward": 16, "positions": positions}
    architecture = profile.proxy.architecture.model_copy(update=sizes)
    small = profile.model_copy(update={"proxy": profile.proxy.model_copy(update={"architecture": architecture})})
    tokenizer = ProxyTokenizer.shipped(profile.tokenizer)
    assert tokenizer is not None
    return Proxy(small, tokenizer, tensors)

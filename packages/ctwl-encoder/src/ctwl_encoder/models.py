"""The provider's model: a causal LM that writes in batches, and the bridge of its tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import torch

from ctwl_protocol.bridge import Bridge
from ctwl_protocol.causal_lm import load_causal_lm, load_tokenizer, refuse_encoder_decoder
from ctwl_protocol.errors import ModelUnsuitable, TokenizerUnsupported
from ctwl_protocol.proxy import open_proxy

from .errors import OptionOutOfRange


def load_model(name: str, device: str | torch.device = "auto") -> tuple[Any, Any]:
    """Load a causal LM and its tokenizer, which pads on the left.

    Args:
        name: ``smollm2``, a folder, or a name on the hub.
        device: a torch device; "auto" takes CUDA where there is one.

    Raises:
        TokenizerUnsupported: see :func:`pad_on_the_left`.
        CTWLError: see :func:`ctwl_protocol.causal_lm.load_causal_lm`.
    """
    model, tokenizer = load_causal_lm(name, device)
    return model, pad_on_the_left(tokenizer)


def pad_on_the_left(tokenizer: Any) -> Any:
    """The tokenizer, from now on padding on the left, as generation in batches needs it.

    Raises:
        TokenizerUnsupported: it has no token to pad with.
    """
    tokenizer.padding_side = "left"
    if tokenizer.pad_token_id is None:
        if tokenizer.eos_token is None:
            raise TokenizerUnsupported("the tokenizer has neither a token that pads nor one that ends a text")
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def has_chat_template(tokenizer: Any) -> bool:
    """Whether a tokenizer says how its model wants a chat to be written."""
    return bool(getattr(tokenizer, "chat_template", None))


def as_chat(tokenizer: Any, prompts: Sequence[str]) -> list[str]:
    """Prompts as a chat's first message, by the tokenizer's template, up to where the answer begins.

    Raises:
        OptionOutOfRange: the tokenizer has no template, or it does not take a single message of a user.
    """
    if not has_chat_template(tokenizer):
        raise OptionOutOfRange("the model's tokenizer has no chat template; give it a text's beginning, and no chat")
    chats = [[{"role": "user", "content": prompt}] for prompt in prompts]
    try:
        return list(tokenizer.apply_chat_template(chats, tokenize=False, add_generation_prompt=True))
    except Exception as error:  # a template is a program of the model's, and fails in its own ways
        raise OptionOutOfRange(f"the tokenizer's chat template failed ({error}); do without chat") from error


@lru_cache(maxsize=4)
def open_bridge(
    profile: str, tokenizer: str, proxy_path: str | None, device: str, revision: str | None = None
) -> Bridge:
    """Load a tokenizer and a profile's proxy by name, and bridge them; the next call with the same names is free.

    Args:
        profile: a profile's name or file.
        tokenizer: see :func:`ctwl_protocol.causal_lm.load_tokenizer`.
        proxy_path: see :func:`ctwl_protocol.proxy.open_proxy`.
        device: see there.
        revision: see :func:`ctwl_protocol.causal_lm.load_tokenizer`.

    Raises:
        TokenizerUnsupported: there is no such tokenizer, or see :class:`ctwl_protocol.bridge.Bridge`.
        CTWLError: see :func:`ctwl_protocol.proxy.open_proxy`.
    """
    proxy = open_proxy(profile, path=proxy_path, device=device)
    return Bridge(load_tokenizer(tokenizer, revision), proxy)


def check_model(model: Any) -> None:
    """Refuse a model that does not write on from its prompt.

    Raises:
        ModelUnsuitable: it is an encoder-decoder, or cannot generate.
    """
    refuse_encoder_decoder(model.config, type(model).__name__)
    if not model.can_generate():
        raise ModelUnsuitable(f"{type(model).__name__} cannot generate text; give a causal LM (...ForCausalLM)")

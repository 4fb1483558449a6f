"""A provider's own LM as the proxy: what a profile states of a transformers folder (spec section 4.5).

Nothing in the folder is trusted. Files are read within bounds. A setting that a profile cannot state is refused: else
encoder and decoder would silently run another model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from ctwl_protocol.errors import ProxyMalformed, ProxyNotFound
from ctwl_protocol.files import explaining, open_file, read_bounded
from ctwl_protocol.profile.document import (
    GPT2,
    TRANSFORMERS_NAMES,
    Architecture,
    Llama,
    ProxyFile,
    ProxyModel,
    Tokenizer,
)
from ctwl_protocol.schema import describe_error
from ctwl_protocol.text.splitting import SplittingRule

from .splitting import find_rule

_MAX_CONFIG = 1 << 20
_MAX_TOKENIZER = 1 << 25

_SAVED = "save model and tokenizer there with transformers' save_pretrained"
_BPE = "write vocab.json and merges.txt there with tokenizer.backend_tokenizer.model.save(folder)"
_WRITTEN_BY = {
    "vocab.json": _BPE,
    "merges.txt": _BPE,
    "tokenizer.json": f"{_SAVED}, or name the splitting rule with --pre-tokenizer",
}
"""How to write a missing file: save_pretrained of transformers 5 does not write them all."""


_DEFAULTS: Mapping[str, Mapping[str, object]] = {
    "gpt2": {"layer_norm_epsilon": 1e-5},
    "llama": {"rms_norm_eps": 1e-6, "tie_word_embeddings": False, "rope_theta": 10_000},
}
_FIXED: Mapping[str, Mapping[str, object]] = {
    "gpt2": {
        "activation_function": "gelu_new", "add_cross_attention": False, "scale_attn_by_inverse_layer_idx": False,
        "scale_attn_weights": True, "tie_word_embeddings": True,
    },
    "llama": {"attention_bias": False, "hidden_act": "silu", "mlp_bias": False, "rope_scaling": None},
}  # fmt: skip
"""Settings that no profile states, each with its only value."""


def _architecture(config: Mapping[str, Any]) -> GPT2 | Llama:
    """What a profile states of ``config.json``.

    Raises:
        ProxyMalformed: the model is of another family, or a setting has a value that no profile can state.
        ValidationError: a number is missing, or of another kind.
    """
    family = config.get("model_type")
    if not isinstance(family, str) or family not in TRANSFORMERS_NAMES:
        known = " or ".join(TRANSFORMERS_NAMES)
        raise ProxyMalformed(f"config.json says model_type = {str(family)[:80]}; a proxy LM is of {known}")
    rope = _MAP.validate_python(config.get("rope_parameters") or {})  # transformers before 5 has none
    settings = {**_DEFAULTS[family], **config}
    settings["rope_theta"] = rope.get("rope_theta", settings.get("rope_theta"))
    names = TRANSFORMERS_NAMES[family].items()
    stated = {ours: settings[theirs] for ours, theirs in names if settings.get(theirs) is not None}
    if family == "llama":
        stated.setdefault("key_value_heads", stated.get("heads"))
    width, heads = _SIZE.validate_python(stated.get("width")), _SIZE.validate_python(stated.get("heads"))
    only = {**_FIXED[family], "n_inner": 4 * width, "head_dim": width // heads, "rope_type": "default"}
    for name, value in {**config, **rope}.items():
        unset = value is None and name in ("n_inner", "head_dim")
        if name in only and value != only[name] and not unset:
            raise ProxyMalformed(
                f"config.json says {name} = {str(value)[:80]}; a profile can only state {only[name]!r}"
            )
    epsilon, theta = stated.get("norm_epsilon"), stated.get("rope_theta")
    if type(epsilon) is float and 1e-9 <= epsilon <= 1:  # the decimal that it was written as
        stated["norm_epsilon"] = Fraction(repr(epsilon)).as_integer_ratio()
    if type(theta) is float and 1 <= theta <= 1 << 32 and theta.is_integer():
        stated["rope_theta"] = int(theta)
    return _ARCHITECTURE.validate_python({"family": family, **stated})


_MAP: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any], config=ConfigDict(strict=True))
_ARCHITECTURE: TypeAdapter[GPT2 | Llama] = TypeAdapter(Architecture)
_SIZE: TypeAdapter[int] = TypeAdapter(Annotated[int, Field(ge=1)], config=ConfigDict(strict=True))
_VOCABULARY: TypeAdapter[dict[str, int]] = TypeAdapter(dict[str, int], config=ConfigDict(strict=True))


def read_model(folder: str | Path, rule: SplittingRule | None = None) -> tuple[Tokenizer, ProxyModel]:
    """Describe a model folder: ``config.json``, one ``.safetensors`` file, ``vocab.json``, ``merges.txt``.

    Args:
        folder: as transformers' ``save_pretrained`` and ``tokenizers``' ``BPE.save`` write it.
        rule: the tokenizer's splitting rule; None finds it by comparison with the folder's ``tokenizer.json``.

    Returns:
        What a profile states of tokenizer and proxy, without a public source for the files.

    Raises:
        ProxyNotFound: the folder, or a file in it, is missing.
        ProxyMalformed: the model is of another family, has settings that no profile can state, or its tokenizer is no
            byte-level BPE under a named rule.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ProxyNotFound(f"there is no folder {folder}; give one with config.json and the model's files")
    config = _read(folder / "config.json", _MAX_CONFIG)
    vocabulary = _vocabulary(_read(folder / "vocab.json", _MAX_TOKENIZER))
    merges = _merges(_read(folder / "merges.txt", _MAX_TOKENIZER))
    try:
        proxy = ProxyModel(
            architecture=_architecture(_MAP.validate_json(config)),
            weights=_described(_weights(folder)),
            tensors_sha256=None,
            source=None,
        )
        if rule is None:
            rule = find_rule(vocabulary, merges, _read(folder / "tokenizer.json", _MAX_TOKENIZER))
        tokenizer = Tokenizer(
            vocabulary=len(vocabulary),
            vocab=_described(folder / "vocab.json"),
            merges=_described(folder / "merges.txt"),
            pre_tokenizer=rule,
            unicode="16.0",
            special=_special(vocabulary, merges),
        )
    except ValidationError as error:
        message = f"config.json or the tokenizer in {folder}: {describe_error(error)}; no profile can state this model"
        raise ProxyMalformed(message) from error
    return tokenizer, proxy


def _read(path: Path, limit: int) -> bytes:
    with explaining(f"read {path}", ProxyNotFound, too_large=ProxyMalformed):
        try:
            return read_bounded(path, limit)
        except FileNotFoundError as error:
            raise ProxyNotFound(f"there is no file {path}; {_WRITTEN_BY.get(path.name, _SAVED)}") from error


def _vocabulary(data: bytes) -> dict[str, int]:
    try:
        ids = _VOCABULARY.validate_json(data)
    except ValidationError as error:
        raise ProxyMalformed(f"vocab.json: {describe_error(error)}") from error
    if sorted(ids.values()) != list(range(len(ids))):
        raise ProxyMalformed("vocab.json must give its tokens the ids 0, 1, 2 ..., one each")
    return ids


def _merges(data: bytes) -> list[tuple[str, str]]:
    try:
        pairs = [tuple(line.split(" ")) for line in data.decode().split("\n")[1:] if line]  # after the header
    except UnicodeDecodeError as error:
        raise ProxyMalformed("merges.txt is no UTF-8 text") from error
    if not all(len(pair) == 2 for pair in pairs):
        raise ProxyMalformed("merges.txt must have a header line, then one pair of tokens on each line")
    return [(left, right) for left, right in pairs]


def _special(vocabulary: Mapping[str, int], merges: list[tuple[str, str]]) -> tuple[int, ...]:
    """Ids that no text produces: neither a byte nor made by a merge."""
    made = {left + right for left, right in merges}
    return tuple(sorted(i for token, i in vocabulary.items() if len(token) != 1 and token not in made))


def _weights(folder: Path) -> Path:
    paths = sorted(path for path in folder.glob("*.safetensors") if path.is_file())
    if len(paths) != 1:
        raise ProxyNotFound(
            f"{folder} has {len(paths)} .safetensors files; a proxy LM has one: "
            "save it with save_pretrained(folder, max_shard_size='60GB')"
        )
    return paths[0]


def _described(path: Path) -> ProxyFile:
    """A file's name, size and digest, as a profile states them."""
    with explaining(f"read {path}", ProxyNotFound), open_file(path) as file:
        digest = hashlib.file_digest(file, "sha256").digest()
        return ProxyFile(name=path.name, size=path.stat().st_size, sha256=digest)

"""A provider's own LM as the proxy: what a profile states of a transformers folder (spec section 4.5).

Nothing in the folder is trusted. Files are read within bounds. A setting that a profile cannot state is refused: else
encoder and decoder would silently run another model.
"""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from ..errors import ProxyMalformed, ProxyNotFound
from ..files import open_file, read_bounded, what_helps
from ..schema import describe_error
from ..text.splitting import SplittingRule, find_rule
from .document import GPT2, Llama, ProxyFile, ProxyModel, Tokenizer

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


def _to_rational(value: Any) -> Any:
    """The decimal that a float was written as."""
    return Fraction(repr(value)).as_integer_ratio() if type(value) is float and 1e-9 <= value <= 1 else value


def _to_integer(value: Any) -> Any:
    """An integer that transformers writes as a float."""
    return int(value) if type(value) is float and 1 <= value <= 1 << 32 and value.is_integer() else value


_Epsilon = Annotated[tuple[int, int], BeforeValidator(_to_rational)]
_Theta = Annotated[int, BeforeValidator(_to_integer)]


class _Rope(BaseModel):
    """Rotary positions, not scaled."""

    model_config = ConfigDict(strict=True)

    rope_type: Literal["default"] = "default"
    rope_theta: _Theta | None = None


class _GPT2Config(BaseModel):
    """``config.json`` of a GPT-2. A setting that no profile states has a type with a single value."""

    model_config = ConfigDict(strict=True)

    family: Literal["gpt2"] = Field(alias="model_type")
    layers: int = Field(alias="n_layer")
    heads: int = Field(alias="n_head")
    width: int = Field(alias="n_embd")
    positions: int = Field(alias="n_positions")
    rows: int = Field(alias="vocab_size")
    norm_epsilon: _Epsilon = Field((1, 100_000), alias="layer_norm_epsilon")
    n_inner: int | None = None
    activation_function: Literal["gelu_new"] = "gelu_new"
    add_cross_attention: Literal[False] = False
    scale_attn_by_inverse_layer_idx: Literal[False] = False
    scale_attn_weights: Literal[True] = True
    tie_word_embeddings: Literal[True] = True

    def architecture(self) -> GPT2:
        """What a profile states of it."""
        if self.n_inner not in (None, 4 * self.width):
            raise ProxyMalformed(f"config.json says n_inner = {self.n_inner}; a profile can only state 4 * n_embd")
        return GPT2(**self.model_dump(include=set(GPT2.model_fields)))


class _LlamaConfig(BaseModel):
    """``config.json`` of a Llama, as :class:`_GPT2Config`."""

    model_config = ConfigDict(strict=True)

    family: Literal["llama"] = Field(alias="model_type")
    layers: int = Field(alias="num_hidden_layers")
    heads: Annotated[int, Field(alias="num_attention_heads", ge=1)]
    key_value_heads: int | None = Field(None, alias="num_key_value_heads")
    width: int = Field(alias="hidden_size")
    feed_forward: int = Field(alias="intermediate_size")
    positions: int = Field(alias="max_position_embeddings")
    rows: int = Field(alias="vocab_size")
    norm_epsilon: _Epsilon = Field((1, 1_000_000), alias="rms_norm_eps")
    tied: bool = Field(False, alias="tie_word_embeddings")
    rope_theta: _Theta = 10_000  # where transformers before 5 writes it
    rope_parameters: _Rope | None = None
    rope_scaling: None = None
    head_dim: int | None = None
    attention_bias: Literal[False] = False
    hidden_act: Literal["silu"] = "silu"
    mlp_bias: Literal[False] = False

    def architecture(self) -> Llama:
        """What a profile states of it."""
        if self.head_dim not in (None, self.width // self.heads):
            raise ProxyMalformed(
                f"config.json says head_dim = {self.head_dim}; a profile can only state hidden_size / "
                "num_attention_heads"
            )
        stated = self.model_dump(include=set(Llama.model_fields))
        if self.rope_parameters:
            stated["rope_theta"] = self.rope_parameters.rope_theta or self.rope_theta
        return Llama(**stated | {"key_value_heads": self.key_value_heads or self.heads})


_CONFIG: TypeAdapter[_GPT2Config | _LlamaConfig] = TypeAdapter(
    Annotated[_GPT2Config | _LlamaConfig, Field(discriminator="family")]
)
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
            architecture=_CONFIG.validate_json(config).architecture(),
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
    try:
        return read_bounded(path, limit)
    except FileNotFoundError as error:
        raise ProxyNotFound(f"there is no file {path}; {_WRITTEN_BY.get(path.name, _SAVED)}") from error
    except OSError as error:
        refused = ProxyMalformed if error.errno == errno.EFBIG else ProxyNotFound
        raise refused(f"cannot read {path}: {error.strerror}{what_helps(error)}") from error


def _vocabulary(data: bytes) -> dict[str, int]:
    try:
        found = _VOCABULARY.validate_json(data)
    except ValidationError as error:
        raise ProxyMalformed(f"vocab.json: {describe_error(error)}") from error
    if sorted(found.values()) != list(range(len(found))):
        raise ProxyMalformed("vocab.json must give its tokens the ids 0, 1, 2 ..., one each")
    return found


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
    found = sorted(path for path in folder.glob("*.safetensors") if path.is_file())
    if len(found) != 1:
        raise ProxyNotFound(
            f"{folder} has {len(found)} .safetensors files; a proxy LM has one: "
            "save it with save_pretrained(folder, max_shard_size='60GB')"
        )
    return found[0]


def _described(path: Path) -> ProxyFile:
    """A file's name, size and digest, as a profile states them."""
    try:
        with open_file(path) as file:
            digest = hashlib.file_digest(file, "sha256").digest()
        return ProxyFile(name=path.name, size=path.stat().st_size, sha256=digest)
    except OSError as error:
        raise ProxyNotFound(f"cannot read {path}: {error.strerror}{what_helps(error)}") from error

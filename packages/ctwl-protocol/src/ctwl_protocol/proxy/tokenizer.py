"""The proxy's byte-level BPE, pinned by its two files and a named splitting rule (spec section 5.2)."""

from __future__ import annotations

import hashlib
import json
import lzma
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import ProxyMalformed
from ..profile.document import Tokenizer as TokenizerSpec
from ..profile.lookup import get_profile, published_names
from ..text.normalization import normalize
from ..text.splitting import build_bpe, one_piece

_MERGES, _ALPHABET = "merges.txt.xz", "alphabet.json"

_FEW = 64
"""So many short texts are tokenized in less time than it takes to wake other threads for them."""


class ProxyTokenizer:
    """Text to the proxy's token ids: no special tokens, no BOS, no clean-up.

    A byte that the vocabulary has no token for yields no token (SmolLM2's lacks 21 of the 256).

    Attributes:
        vocabulary: token strings (in the byte alphabet of GPT-2) to ids.
        backend: the ``tokenizers.Tokenizer`` underneath.
    """

    def __init__(self, spec: TokenizerSpec, vocab: Path, merges: Path) -> None:
        """Build from verified files.

        Raises:
            ProxyMalformed: the files are no byte-level BPE of the profile's size.
        """
        try:
            self._build(spec, json.loads(vocab.read_bytes()), _pairs(merges.read_bytes()))
        except Exception as error:  # whatever may be wrong with the files
            raise ProxyMalformed(f"{vocab} and {merges} are no BPE tokenizer: {error}") from error
        if sorted(self.vocabulary.values()) != list(range(spec.vocabulary)):
            raise ProxyMalformed(f"{vocab} does not hold the ids 0 to {spec.vocabulary - 1}")

    def _build(self, spec: TokenizerSpec, vocabulary: dict[str, int], pairs: list[tuple[str, str]]) -> None:
        self.vocabulary = vocabulary
        self.backend = build_bpe(vocabulary, pairs, spec.pre_tokenizer)
        self._bpe = self.backend.model
        self._one_piece = one_piece(spec.pre_tokenizer)

    @classmethod
    @cache
    def shipped(cls, spec: TokenizerSpec) -> ProxyTokenizer | None:
        """The tokenizer of a published profile, which comes with this package; None for others.

        A folder beside the profile holds the merges, and the few tokens that no merge makes. The merges make the other
        tokens, in the order of their ids.

        Raises:
            ProxyMalformed: the package's files are not what the profile states.
        """
        named = (name for name in published_names() if get_profile(name).tokenizer == spec)
        folders = [resources.files("ctwl_protocol.profile") / "published" / name for name in named]
        folder = next((each for each in folders if (each / _MERGES).is_file()), None)
        if folder is None:
            return None
        merges = lzma.decompress((folder / _MERGES).read_bytes())
        if hashlib.sha256(merges).digest() != spec.merges.sha256:
            raise ProxyMalformed(f"{folder} does not hold the merges of the profile; install ctwl-protocol again")
        pairs, alone = _pairs(merges), json.loads((folder / _ALPHABET).read_bytes())
        by_id = {i: token for token, i in alone.items()}
        made = map("".join, pairs)
        tokenizer = cls.__new__(cls)
        tokenizer._build(spec, {by_id.get(i) or next(made): i for i in range(spec.vocabulary)}, pairs)
        return tokenizer

    def encode(self, text: str) -> NDArray[np.int64]:
        """Token ids of the normalized text: int64 (tokens,)."""
        return np.array(self.backend.encode(normalize(text), add_special_tokens=False).ids, dtype=np.int64)

    def locate(self, text: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Token ids of a text that is normalized already, and the character each begins with: int64 (tokens,) each."""
        encoding = self.backend.encode(text, add_special_tokens=False)
        starts = [start for start, _ in encoding.offsets]
        return np.array(encoding.ids, dtype=np.int64), np.array(starts, dtype=np.int64)

    def encode_within(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of texts that are normalized already and whose ends are not the ends of a text."""
        if len(texts) <= _FEW:
            return [self._encode_one(text) for text in texts]
        return [found.ids for found in self.backend.encode_batch_fast(list(texts), add_special_tokens=False)]

    def _encode_one(self, text: str) -> list[int]:
        if self._one_piece.fullmatch(text):  # looking for pieces takes several times as long as their BPE
            return [token.id for token in self._bpe.tokenize(text.replace(" ", "\u0120"))]
        ids: list[int] = self.backend.encode(text, add_special_tokens=False).ids
        return ids

    def decode(self, ids: NDArray[np.int64]) -> str:
        """The text of token ids; bytes that are no UTF-8 become U+FFFD."""
        return str(self.backend.decode([int(i) for i in ids], skip_special_tokens=False))


def _pairs(merges: bytes) -> list[tuple[str, str]]:
    """The merges of a file, after its header."""
    lines = merges.decode().split("\n")[1:]
    return [(left, right) for left, _, right in (line.partition(" ") for line in lines if line)]

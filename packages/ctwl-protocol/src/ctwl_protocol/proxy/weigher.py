"""What could have stood at each place of a text: the proxy LM reads it by whole context (spec sections 5.5 and 7.1)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import ProxyMalformed
from ..partition.reference import quantize
from ..partition.toy import toy_weights
from ..profile.document import Profile, ProxyModel, ToyProxy
from ..profile.lookup import get_profile
from ..text.blocks import LENGTH, Block, blocks_of
from .files import find_files
from .forward import Arithmetic, ForwardPass
from .once import once
from .rivals import Rivals
from .tensors import load_tensors
from .tokenizer import ProxyTokenizer

__all__ = ["LanguageModel", "Weigher", "open_weigher"]

_ROWS = 256
"""Tokens whose logits are in memory at once."""


class LanguageModel(Protocol):
    """A causal LM over one sequence: :class:`ctwl_protocol.proxy.forward.ForwardPass`, or one on another device.

    Attributes:
        arithmetic: what it computes in.
    """

    arithmetic: Arithmetic

    def hidden(self, ids: NDArray[np.int64]) -> Any:
        """What the last layer gives at each token, as rows of its own kind: (n, width)."""

    def head(self, hidden: Any) -> NDArray[np.float32]:
        """The logits of the token after each of such rows: float32 (n, rows)."""


class Weigher:
    """A profile's proxy LM, as readers ask it: which tokens could well have stood at each place of a text.

    Attributes:
        profile: the profile.
        tokenizer: its tokenizer.
    """

    def __init__(
        self, profile: Profile, tokenizer: ProxyTokenizer, model: Callable[[], LanguageModel] | None = None
    ) -> None:
        """Take over a proxy LM.

        Args:
            profile: the profile.
            tokenizer: its tokenizer.
            model: gives the proxy LM, when it is first asked; None where the profile has none.
        """
        self.profile, self.tokenizer = profile, tokenizer
        self._model = once(model) if model else None

    def load(self) -> Arithmetic:
        """Load the proxy LM, if the profile has one and it is not loaded; what it computes in.

        Raises:
            CTWLError: see :func:`open_weigher`.
        """
        return self._model().arithmetic if self._model else "integer"

    def blocks(self, tokens: int) -> list[Block]:
        """The blocks of a text of so many tokens."""
        proxy = self.profile.proxy
        longest = proxy.architecture.positions + 1 if isinstance(proxy, ProxyModel) else LENGTH
        return blocks_of(tokens, self.profile.prefix_length, longest)

    def rivals(self, ids: NDArray[np.int64], progress: Callable[[int], None] = lambda done: None) -> Rivals:
        """The rivals at each position of a text, a block at a time.

        Args:
            ids: int64 (tokens,), the text's.
            progress: called with the number of positions done after each block.
        """
        found = []
        for block in self.blocks(len(ids)):
            found.append(self.rivals_in(ids, block))
            progress(block.end - self.profile.prefix_length)
        return Rivals.joined(found)

    def rivals_in(self, ids: NDArray[np.int64], block: Block) -> Rivals:
        """The rivals at the places that one block of a text weighs."""
        places = np.arange(block.first, block.end)
        if self._model is None:
            weights = self._weights_without_model(ids, places)
            weights[:, list(self.profile.tokenizer.special)] = 0
            return Rivals.of(places, weights, ids[places])
        from .kernel import rivals

        model = self._model()
        hidden = model.hidden(ids[block.start : block.end - 1])[block.first - block.start - 1 :]
        tokenizer, found = self.profile.tokenizer, []
        for start in range(0, len(places), _ROWS):
            rows = slice(start, start + _ROWS)
            logits = model.head(hidden[rows])[:, : tokenizer.vocabulary]
            found.append(rivals(places[rows], logits, ids[places[rows]], tokenizer.special, self.profile.weight_bits))
        return Rivals.joined(found)

    def weights(self, ids: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.uint32]:
        """The weights of the whole vocabulary at some places of a text: uint32 (places, vocabulary).

        Readers need its rivals alone; this is for comparisons of runtimes (spec section 13).

        Args:
            ids: int64 (tokens,), the text's.
            places: int64 (n,), tokens that have a prefix.
        """
        special = list(self.profile.tokenizer.special)
        if self._model is None:
            weights = self._weights_without_model(ids, places)
        else:
            model, vocabulary = self._model(), self.profile.tokenizer.vocabulary
            weights = np.empty((len(places), vocabulary), dtype=np.uint32)
            for block in self.blocks(len(ids)):
                rows = np.flatnonzero((block.first <= places) & (places < block.end))
                if len(rows):
                    hidden = model.hidden(ids[block.start : block.end - 1])
                    logits = model.head(hidden[places[rows] - block.start - 1])[:, :vocabulary].astype(np.float64)
                    exponent = np.exp(logits - logits.max(axis=1, keepdims=True))
                    mass = exponent / exponent.sum(axis=1, keepdims=True)
                    weights[rows] = quantize(mass, self.profile.weight_bits)
        weights[:, special] = 0
        return weights

    def _weights_without_model(self, ids: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.uint32]:
        vocabulary, length = self.profile.tokenizer.vocabulary, self.profile.prefix_length
        if not isinstance(self.profile.proxy, ToyProxy):
            return np.ones((len(places), vocabulary), dtype=np.uint32)
        return toy_weights(ids[places[:, None] + np.arange(-length, 0)], vocabulary)

    def shared_with(self, profile: Profile) -> Weigher:
        """The same proxy LM, shared, for another profile that has it: another key, such as a user's.

        Raises:
            ProxyMalformed: the profile has another proxy LM or another tokenizer.
        """
        if (profile.proxy, profile.tokenizer) != (self.profile.proxy, self.profile.tokenizer):
            raise ProxyMalformed(f"{profile.name} has another proxy than {self.profile.name}; open it by its own name")
        twin = Weigher(profile, self.tokenizer)
        twin._model = self._model
        return twin


def open_weigher(
    profile: str | Path | Profile, *, path: str | Path | None = None, device: str = "cpu", local_only: bool = False
) -> Weigher:
    """Find a profile's tokenizer; the proxy LM is found, verified and loaded when it is first asked.

    The tokenizers of published profiles come with this package. Other profiles' files are found and verified at once,
    the weights included.

    Args:
        profile: a profile, its name, or its file.
        path: where the proxy's files lie; else the cache, then the profile's source.
        device: "cpu" for NumPy in float32, the reference. Any other device needs torch, see
            :class:`ctwl_protocol.proxy.model.OnDevice`.
        local_only: never ask the hub.

    Raises:
        ProfileUnknown, ProfileMalformed: see :func:`ctwl_protocol.get_profile`.
        ProxyNotFound, ProxyDigestMismatch, ProxyMalformed: see :func:`ctwl_protocol.proxy.find_files`; of a published
            profile, when the proxy LM is first asked.
    """
    profile = get_profile(profile)
    tokenizer = ProxyTokenizer.shipped(profile.tokenizer)
    if tokenizer is None:
        files = find_files(profile, path, local_only=local_only)
        tokenizer = ProxyTokenizer(profile.tokenizer, files.vocab, files.merges)

    def load() -> LanguageModel:
        found = find_files(profile, path, local_only=local_only)  # verified again: time has passed
        assert isinstance(profile.proxy, ProxyModel) and found.weights is not None  # noqa: S101 - it has a model
        tensors = load_tensors(profile.proxy, found.weights)
        if device == "cpu":
            return ForwardPass(profile.proxy.architecture, tensors)
        from .model import OnDevice

        return OnDevice(profile.proxy.architecture, tensors, device)

    return Weigher(profile, tokenizer, load if isinstance(profile.proxy, ProxyModel) else None)

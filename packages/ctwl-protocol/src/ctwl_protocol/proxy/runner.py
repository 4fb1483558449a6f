"""The proxy runner: a profile's proxy LM, opened when a reader or a writer first asks it (spec sections 5 and 7)."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from copy import copy
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import ProxyMalformed
from ..partition.reference import weights_of
from ..partition.toy import toy_weights
from ..profile.document import Architecture, Profile, ProxyModel, ToyProxy
from ..profile.lookup import get_profile
from ..text.blocks import LENGTH, Block, blocks_of
from .files import find_files, load_tensors
from .forward import Arithmetic, ForwardPass, check_ids
from .rivals import Rivals
from .tensors import Tensors
from .tokenizer import ProxyTokenizer

if TYPE_CHECKING:
    import torch

    from .model import OnDevice

_ROWS = 256
"""Tokens whose logits are in memory at once."""

T = TypeVar("T")


def _without_threads() -> None:
    """A forked child has none of its parent's threads. torch and tokenizers would wait for theirs for ever."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_without_threads)


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


class Proxy:
    """A profile's proxy LM, opened when it is first asked, whichever thread asks; after an error it is opened anew.

    Readers ask for the rivals at each place of a text, by whole context. NumPy answers in float32, the reference, or a
    device of torch's. Writers ask for the weights after prefixes. torch answers, in what is quickest on the device.

    The weights after a prefix depend on the number of rows in its forward pass by rounding: matrix products of another
    shape may add in another order. The same passes give the same weights, on the same machine with the same number of
    threads. So whoever needs every digit again fills a pass from one text only.

    Attributes:
        profile: the profile.
        tokenizer: its tokenizer.
    """

    batch_size: ClassVar[int] = 64
    """Prefixes in one forward pass: near the best rate on a CPU (evaluation/speed/bench.py), with little memory."""

    def __init__(
        self,
        profile: Profile,
        tokenizer: ProxyTokenizer,
        tensors: Callable[[], Tensors] | None = None,
        device: str | torch.device = "cpu",
    ) -> None:
        """Say what is opened.

        Args:
            profile: the profile.
            tokenizer: its tokenizer.
            tensors: gives the proxy LM's tensors; by default :func:`ctwl_protocol.proxy.load_tensors`.
            device: see :func:`open_proxy`.
        """
        self.profile, self.tokenizer = profile, tokenizer
        self._reader: Callable[[], LanguageModel] | None = None
        self._writer: Callable[[], OnDevice] | None = None
        if isinstance(profile.proxy, ProxyModel):
            given = profile.proxy.architecture, tensors or partial(load_tensors, profile), device
            self._reader, self._writer = _once(partial(_reader, *given)), _once(partial(_writer, *given))

    def shared_with(self, profile: Profile) -> Proxy:
        """The same proxy LM, shared, for another profile that has it: another key, such as a user's.

        Raises:
            ProxyMalformed: the profile has another proxy LM or another tokenizer.
        """
        if (profile.proxy, profile.tokenizer) != (self.profile.proxy, self.profile.tokenizer):
            raise ProxyMalformed(f"{profile.name} has another proxy than {self.profile.name}; open it by its own name")
        twin = copy(self)
        twin.profile = profile
        return twin

    # ---- readers: whole context ----

    def load(self) -> Arithmetic:
        """Open the proxy LM for a reader, if the profile has one and it is not open; what it computes in.

        Raises:
            ImportError: the device is one of torch's, and torch or transformers is not installed.
            CTWLError: see :func:`open_proxy`.
        """
        return self._reader().arithmetic if self._reader else "integer"

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

        Raises:
            TokenOutOfRange: an id is outside the vocabulary.
            ImportError, CTWLError: see :meth:`load`.
        """
        parts = []
        for block in self.blocks(len(ids)):
            parts.append(self.rivals_in(ids, block))
            progress(block.end - self.profile.prefix_length)
        return Rivals.joined(parts)

    def rivals_in(self, ids: NDArray[np.int64], block: Block) -> Rivals:
        """The rivals at the places that one block of a text weighs."""
        places = np.arange(block.first, block.end)
        if self._reader is None:
            return Rivals.of(places, self._by_rule(self._prefixes(ids, places)), ids[places])
        model, tokenizer = self._reader(), self.profile.tokenizer
        hidden = model.hidden(ids[block.start : block.end - 1])[block.first - block.start - 1 :]
        parts = []
        for start in range(0, len(places), _ROWS):
            rows = slice(start, start + _ROWS)
            logits = model.head(hidden[rows])[:, : tokenizer.vocabulary]
            parts.append(
                Rivals.of_logits(places[rows], logits, ids[places[rows]], tokenizer.special, self.profile.weight_bits)
            )
        return Rivals.joined(parts)

    def weights_at(self, ids: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.uint32]:
        """The weights of the whole vocabulary at some places of a text: uint32 (places, vocabulary).

        Readers need its rivals alone; this is for comparisons of runtimes (spec section 13).

        Args:
            ids: int64 (tokens,), the text's.
            places: int64 (n,), tokens that have a prefix.
        """
        if self._reader is None:
            return self._by_rule(self._prefixes(ids, places))
        model, tokenizer = self._reader(), self.profile.tokenizer
        weights = np.empty((len(places), tokenizer.vocabulary), dtype=np.uint32)
        for block in self.blocks(len(ids)):
            rows = np.flatnonzero((block.first <= places) & (places < block.end))
            if len(rows):
                hidden = model.hidden(ids[block.start : block.end - 1])
                logits = model.head(hidden[places[rows] - block.start - 1])[:, : tokenizer.vocabulary]
                weights[rows] = weights_of(logits, tokenizer.special, self.profile.weight_bits)
        return weights

    # ---- writers: prefixes ----

    def load_for_writing(self) -> Arithmetic:
        """Open the proxy LM for a writer, if the profile has one and it is not open; what it computes in.

        Raises:
            ImportError: torch or transformers is not installed.
            CTWLError: see :func:`open_proxy`.
        """
        return self._writer().arithmetic if self._writer else "integer"

    def weights(self, prefixes: NDArray[np.int64]) -> NDArray[np.uint32]:
        """Integer weights of the token after each prefix, in one forward pass (spec section 7.1).

        Args:
            prefixes: int64 (n, L_prefix).

        Returns:
            uint32 (n, |V|); special tokens weigh 0.

        Raises:
            TokenOutOfRange: an id is outside the vocabulary.
            ImportError, CTWLError: see :meth:`load_for_writing`.
        """
        if self._writer is None:
            return self._by_rule(prefixes)
        weights: NDArray[np.uint32] = self.weights_on_device(prefixes).cpu().numpy().view(np.uint32)
        return weights

    def weights_on_device(self, prefixes: NDArray[np.int64]) -> torch.Tensor:
        """The same weights where the proxy LM computes, on the CPU if there is none: int32 (n, |V|)."""
        if self._writer is None:
            import torch

            return torch.from_numpy(self._by_rule(prefixes).view(np.int32))
        tokenizer = self.profile.tokenizer
        check_ids(prefixes, tokenizer.vocabulary)
        return self._writer().weights(prefixes, tokenizer.vocabulary, tokenizer.special, self.profile.weight_bits)

    # ---- without a proxy LM ----

    def _prefixes(self, ids: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.int64]:
        found: NDArray[np.int64] = ids[places[:, None] + np.arange(-self.profile.prefix_length, 0)]
        return found

    def _by_rule(self, prefixes: NDArray[np.int64]) -> NDArray[np.uint32]:
        """The weights where the profile has no proxy LM: toy weights, or all alike."""
        tokenizer = self.profile.tokenizer
        check_ids(prefixes, tokenizer.vocabulary)
        if isinstance(self.profile.proxy, ToyProxy):
            weights = toy_weights(prefixes, tokenizer.vocabulary)
        else:
            weights = np.ones((len(prefixes), tokenizer.vocabulary), dtype=np.uint32)
        weights[:, list(tokenizer.special)] = 0
        return weights


def open_proxy(
    profile: str | Path | Profile,
    *,
    path: str | Path | None = None,
    device: str | torch.device = "cpu",
    fetch: bool = True,
) -> Proxy:
    """Find a profile's tokenizer. The proxy LM is found, verified and opened when it is first asked.

    The tokenizers of published profiles come with this package. For another tokenizer all files are found and verified
    at once, and again when the proxy LM is opened, since time has passed.

    Args:
        profile: a profile, its name, or its file.
        path: where the proxy's files lie; else the cache, then the profile's source.
        device: where the proxy LM computes: "cpu", where readers need no torch; another device of torch's; or "auto",
            which is CUDA where there is one, else torch on the CPU.
        fetch: get from the hub what is not here; else it is not found.

    Raises:
        ProfileUnknown, ProfileMalformed: see :func:`ctwl_protocol.get_profile`.
        ProxyNotFound, ProxyDigestMismatch, ProxyMalformed: see :func:`ctwl_protocol.proxy.find_files`; where the
            tokenizer comes with this package, when the proxy LM is first asked.
        DeviceUnavailable: there is no such device; when the proxy LM is first asked.
    """
    profile = get_profile(profile)
    tokenizer = ProxyTokenizer.shipped(profile.tokenizer)
    if tokenizer is None:
        files = find_files(profile, path, fetch=fetch)
        tokenizer = ProxyTokenizer(profile.tokenizer, files.vocab, files.merges)
    return Proxy(profile, tokenizer, partial(load_tensors, profile, path, fetch=fetch), device)


def _reader(architecture: Architecture, tensors: Callable[[], Tensors], device: str | torch.device) -> LanguageModel:
    if str(device) == "cpu":
        return ForwardPass(architecture, tensors())
    from .model import OnDevice

    return OnDevice(architecture, tensors(), device)


def _writer(architecture: Architecture, tensors: Callable[[], Tensors], device: str | torch.device) -> OnDevice:
    from .model import OnDevice

    return OnDevice(architecture, tensors(), device, packed=True)


def _once(make: Callable[[], T]) -> Callable[[], T]:
    """A function that gives what ``make`` made at the first call, whichever thread makes it."""
    lock, made = threading.Lock(), cache(make)

    def call() -> T:
        with lock:
            return made()

    return call

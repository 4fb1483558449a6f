"""The proxy runner: prefixes of token ids in, integer weights out, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ..errors import ProxyMalformed, ProxyNotFound, TokenOutOfRange
from ..partition.toy import toy_weights
from ..profile.document import Profile, ProxyModel, ToyProxy
from ..profile.lookup import get_profile
from .files import find_files
from .forward import Arithmetic
from .model import CausalLM, choose_device, fast_arithmetic, last_logits, load_proxy_model, pack, to_bfloat16
from .once import once
from .tokenizer import ProxyTokenizer

__all__ = ["BATCH_SIZE", "Proxy", "open_proxy"]

BATCH_SIZE = 64
"""Prefixes in one forward pass: near the best rate on a CPU (evaluation/speed/bench.py), with little memory."""


class Proxy:
    """A profile's proxy LM, ready to weigh the vocabulary.

    The weights of a prefix depend on the number of rows in its forward pass by rounding in float32: matrix products of
    another shape may add in another order. The same passes give the same weights, on the same machine with the same
    number of threads. So whoever needs every digit again fills a pass from one text only.

    Attributes:
        profile: the profile.
        tokenizer: its tokenizer.
        device: where the proxy LM computes.
        batch_size: prefixes in one forward pass, at most.
        arithmetic: what the proxy LM computes in: "float32", the reference, or "bfloat16"; "integer" where there is no
            proxy LM. It is known before the weights are loaded.
    """

    def __init__(
        self,
        profile: Profile,
        tokenizer: ProxyTokenizer,
        model: CausalLM | Callable[[], CausalLM] | None,
        *,
        device: str | torch.device = "cpu",
        batch_size: int = BATCH_SIZE,
        arithmetic: Arithmetic = "float32",
        packed: bool = False,
    ) -> None:
        """Take over a model, which is moved to ``device`` at first use and changed where the arithmetic asks for it.

        Args:
            profile: the profile.
            tokenizer: its tokenizer.
            model: a model of :func:`build_model`, or what loads it at first use; None where there is no proxy LM.
            device: a torch device.
            batch_size: prefixes in one forward pass.
            arithmetic: "float32", or "bfloat16", which stays within the profiles' tolerance
                (evaluation/reading/numerics.py).
            packed: lay float32 weights out for passes of few prefixes, see :func:`ctwl_protocol.proxy.model.pack`.
        """
        if batch_size < 1:
            raise ValueError(f"batch_size is {batch_size}; it must be at least 1")
        self.profile = profile
        self.tokenizer = tokenizer
        self.batch_size = batch_size
        self.device = torch.device(device)
        self.arithmetic: Arithmetic = "integer" if model is None else arithmetic
        self._special = torch.tensor(profile.tokenizer.special, dtype=torch.int64, device=self.device)
        self._model = None if model is None else _prepared_once(model, self.device, self.arithmetic, packed)

    def weights(self, prefixes: NDArray[np.int64]) -> NDArray[np.uint32]:
        """Integer weights of the token after each prefix, in one forward pass (spec section 7.1).

        Args:
            prefixes: int64 (n, L_prefix).

        Returns:
            uint32 (n, |V|); special tokens weigh 0.

        Raises:
            TokenOutOfRange: an id is outside the vocabulary.
        """
        weights: NDArray[np.uint32] = self.weights_on_device(prefixes).cpu().numpy().view(np.uint32)
        return weights

    def weights_on_device(self, prefixes: NDArray[np.int64]) -> torch.Tensor:
        """The same weights where the proxy LM computes: int32 (n, |V|).

        Raises:
            TokenOutOfRange: an id is outside the vocabulary.
        """
        vocabulary = self.profile.tokenizer.vocabulary
        if prefixes.size and not (prefixes.min() >= 0 and prefixes.max() < vocabulary):
            raise TokenOutOfRange(f"token ids run from 0 to {vocabulary - 1}; got {prefixes.min()} to {prefixes.max()}")
        if isinstance(self.profile.proxy, ToyProxy):
            weights = torch.from_numpy(toy_weights(prefixes, vocabulary).view(np.int32)).to(self.device)
        elif self._model is None or not len(prefixes):
            weights = torch.ones((len(prefixes), vocabulary), dtype=torch.int32, device=self.device)
        else:
            # partition.reference.quantize, on the device where the logits are.
            mass = torch.softmax(self.forward(prefixes)[:, :vocabulary], dim=-1, dtype=torch.float64)
            weights = mass.mul_(1 << self.profile.weight_bits).add_(0.5).to(torch.int32)  # drops the fraction
        weights[:, self._special] = 0
        return weights

    def batches(self, prefixes: NDArray[np.int64]) -> Iterator[tuple[slice, NDArray[np.uint32]]]:
        """Weights of any number of prefixes, ``batch_size`` at a time, each with the slice of rows it is for."""
        for start in range(0, len(prefixes), self.batch_size):
            rows = slice(start, min(start + self.batch_size, len(prefixes)))
            yield rows, self.weights(prefixes[rows])

    def vanilla(self) -> Proxy:
        """The proxy of the profile's twin without a proxy LM, for Vanilla-Marking."""
        return Proxy(self.profile.vanilla(), self.tokenizer, None, device=self.device, batch_size=self.batch_size)

    def shared_with(self, profile: Profile) -> Proxy:
        """The same proxy LM, shared, for another profile that has it: another key, such as a user's.

        Raises:
            ProxyMalformed: the profile has another proxy LM or another tokenizer.
        """
        if (profile.proxy, profile.tokenizer) != (self.profile.proxy, self.profile.tokenizer):
            raise ProxyMalformed(f"{profile.name} has another proxy than {self.profile.name}; open it with open_proxy")
        return Proxy(
            profile,
            self.tokenizer,
            self._model,
            device=self.device,
            batch_size=self.batch_size,
            arithmetic=self.arithmetic,
        )

    def forward(self, prefixes: NDArray[np.int64]) -> torch.Tensor:
        """The bare forward pass: float32 logits (n, rows) on the proxy's device.

        Raises:
            ProxyNotFound: the profile has no proxy LM.
        """
        if self._model is None:
            raise ProxyNotFound(f"{self.profile.name} has no proxy LM; open the proxy of a profile that has one")
        return last_logits(self._model(), torch.tensor(prefixes, device=self.device), self.arithmetic)


def _prepared_once(
    model: CausalLM | Callable[[], CausalLM],
    device: torch.device,
    arithmetic: Arithmetic,
    packed: bool,
) -> Callable[[], CausalLM]:
    """Load and prepare a model at the first call.

    A model that another profile's proxy has prepared stays as it is.
    """

    def prepared() -> CausalLM:
        loaded = model if isinstance(model, nn.Module) else model()
        if arithmetic == "bfloat16":
            to_bfloat16(loaded)
        elif packed and device.type == "cpu":
            pack(loaded)
        return loaded.to(device)

    return once(prepared)


def open_proxy(
    profile: str | Path | Profile,
    *,
    path: str | Path | None = None,
    device: str | torch.device = "auto",
    batch_size: int = BATCH_SIZE,
    local_only: bool = False,
    lazy: bool = False,
    fast: bool = False,
    packed: bool = False,
) -> Proxy:
    """Find, verify and load a profile's proxy.

    Args:
        profile: a profile, its name, or its file.
        path: where the proxy's files lie; else the cache, then the profile's source.
        device: a torch device; "auto" takes CUDA where there is one.
        batch_size: prefixes in one forward pass.
        local_only: never ask the hub.
        lazy: load the weights at first use: what never asks the proxy, as ``unbiased`` encoding, saves their memory.
        fast: compute in bfloat16 where the device is quicker in it, see :func:`fast_arithmetic`; else in float32, which
            proofs need.
        packed: for an encoder, which asks about few prefixes at once: see :func:`ctwl_protocol.proxy.model.pack`. A
            decoder gains nothing, and its digits would change.

    Raises:
        ProfileUnknown, ProfileMalformed: see :func:`ctwl_protocol.get_profile`.
        DeviceUnavailable: see :func:`choose_device`.
        ProxyNotFound, ProxyDigestMismatch, ProxyMalformed: see :func:`find_files` and :func:`build_model`.
    """
    profile, device = get_profile(profile), choose_device(device)
    files = find_files(profile, path, local_only=local_only)
    tokenizer = ProxyTokenizer(profile.tokenizer, files.vocab, files.merges)

    def load_later() -> CausalLM:
        return load_proxy_model(profile, find_files(profile, path, local_only=True))  # verified again: time has passed

    model = None
    if isinstance(profile.proxy, ProxyModel):
        model = load_later if lazy else load_proxy_model(profile, files)
    arithmetic = fast_arithmetic(device) if fast else "float32"
    return Proxy(profile, tokenizer, model, device=device, batch_size=batch_size, arithmetic=arithmetic, packed=packed)

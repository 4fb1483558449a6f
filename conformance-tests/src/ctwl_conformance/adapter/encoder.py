"""``ctwl-encoder`` as an adapter: any Hugging Face model, any strategy."""

from __future__ import annotations

import warnings
from typing import Any

from ctwl_encoder import Encoder, Strategy, __version__
from ctwl_encoder.errors import WeakMark
from ctwl_encoder.options import MarkingOptions

from .messages import Encode, Encoded, Started
from .serving import Implementation, wanted


class ReferenceEncoder(Implementation):
    """One model under one profile."""

    def __init__(
        self,
        model: str,
        profile: str,
        *,
        proxy_path: str | None = None,
        device: str = "auto",
        strategy: Strategy = Strategy.RACE,
        strength: float | None = None,
    ) -> None:
        """Load the model and the profile's proxy.

        Raises:
            OptionOutOfRange: the strength is outside its bounds.
            CTWLError: see :meth:`ctwl_encoder.Encoder.open`.
        """
        self._model, self._profile = model, profile
        self._marking: dict[str, Any] = {"strategy": strategy}
        if strength is not None:
            self._marking[strategy.traits.strength.name] = strength
        MarkingOptions(**self._marking)  # refuses a strength before a model is loaded
        self._encoder = Encoder.open(model, profile, proxy_path=proxy_path, device=device)

    def start(self) -> Started:  # noqa: D102 - see Implementation
        model = self._model.rstrip("/").rpartition("/")[2]
        return Started(
            name=f"ctwl-encoder {model} {self._marking['strategy']}",
            version=__version__,
            roles=["encoder"],
            profiles=[self._profile],
        )

    def encode(self, request: Encode) -> Encoded:  # noqa: D102 - see Implementation
        record = wanted(request, self._profile)
        who = record.beacon
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WeakMark)  # whoever asks for a short text knows
            (written,) = self._encoder.generate(
                request.prompt,
                who.provider,
                who.version,
                nonce=who.nonce,
                record=lambda _: record,
                max_new_tokens=request.tokens,
                min_new_tokens=request.tokens,
                seed=request.seed,
                **self._marking,
            )
        return Encoded(text=written.text)

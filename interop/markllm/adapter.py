"""CTWL as a watermark of MarkLLM (https://github.com/THU-BPM/MarkLLM), so that its pipelines run on it.

A watermark of MarkLLM is an object with three methods. Texts that it writes begin with the prompt, as all of MarkLLM's
do. The score of a text is -log10 of its p-value, which is corrected for all codes and passages searched.
"""

from __future__ import annotations

import math
from typing import Any

from ctwl_decoder import Decoder
from ctwl_encoder import Bridge, CTWLWatermarkingConfig
from ctwl_protocol.proxy import open_proxy


class CTWL:
    """A watermark of MarkLLM's kind.

    Args:
        transformers_config: MarkLLM's `TransformersConfig`: the model, its tokenizer, the device, what to generate by.
        profile: the profile that texts are written and read with.
        provider: the provider's number.
        version: the model's version.
    """

    def __init__(self, transformers_config: Any, profile: str, *, provider: int = 0, version: int = 0) -> None:
        self.config = transformers_config
        self._profile, self._record = profile, {"provider": provider, "version": version}
        self._bridge = Bridge(transformers_config.tokenizer, open_proxy(profile))
        self._decoder = Decoder.open(profile)

    def _generate(self, prompt: str, **marking: Any) -> str:
        given = self.config.tokenizer(prompt, return_tensors="pt", add_special_tokens=True).to(self.config.device)
        ids = self.config.model.generate(**given, **self.config.gen_kwargs, **marking)
        return str(self.config.tokenizer.batch_decode(ids, skip_special_tokens=True)[0])

    def generate_watermarked_text(self, prompt: str, *_: Any, **__: Any) -> str:
        """Go on with a prompt, in text that carries a code of a nonce of its own."""
        config = CTWLWatermarkingConfig(profile=self._profile, **self._record).attach(self._bridge)
        return self._generate(prompt, watermarking_config=config)

    def generate_unwatermarked_text(self, prompt: str, *_: Any, **__: Any) -> str:
        """Go on with a prompt."""
        return self._generate(prompt)

    def detect_watermark(
        self, text: str, return_dict: bool = True, *_: Any, **__: Any
    ) -> dict[str, Any] | tuple[Any, ...]:
        """Whether any code was found, and how clearly."""
        report = self._decoder.decode(text)
        score = -math.log10(max(report.p_value, 1e-300))
        told = {"is_watermarked": report.detected, "score": score}
        return told if return_dict else tuple(told.values())

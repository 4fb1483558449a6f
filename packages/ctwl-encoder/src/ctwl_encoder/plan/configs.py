"""What a provider pastes: the recommended setting for the command, for transformers and for vLLM."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

from ctwl_protocol.profile import STANDARD

from ..options import OFFLINE_MODEL, Decoding, GenerationOptions, default_profile
from .result import Result

__all__ = ["configs"]

_THEIR_DEFAULTS = {"min_new_tokens": 0, "num_beams": 1, "repetition_penalty": 1.0}
"""What need not be said to transformers."""


def configs(result: Result) -> dict[str, str]:
    """A snippet for each way of serving, by its name."""
    settings, marking = result.settings, dict(result.taken.marking.options)
    options = GenerationOptions(**dict(settings.sampling) | marking)
    beacon = {"provider": settings.provider, "version": settings.version}
    profile = {} if settings.profile == STANDARD else {"profile": settings.profile}
    return {
        "ctwl-encode": _command(result, options, beacon | marking),
        "transformers": _transformers(settings.model, options, beacon | marking | profile),
        "vLLM": _vllm(settings.model, beacon | marking | profile),
    }


def _command(result: Result, options: GenerationOptions, marking: Mapping[str, Any]) -> str:
    settings = result.settings
    asked: dict[str, Any] = {"model": settings.model}
    if settings.profile != default_profile(settings.model):
        asked["profile"] = settings.profile
    sampling = {name: getattr(options, name) for name in settings.sampling if name != "seed"}
    asked |= {name: value for name, value in sampling.items() if value != type(options).model_fields[name].default}
    words = ["ctwl-encode"]
    for name, value in {**asked, **marking}.items():
        words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    return shlex.join([*words, "The harvest this year"])


def _transformers(model: str, options: GenerationOptions, marking: Mapping[str, Any]) -> str:
    named: dict[str, Any] = {**marking, "tokenizer": model}
    if not options.chosen_strategy.keeps_distribution:
        named["decoding"] = str(options.decoding)
    chosen = {
        name: value for name, value in options.for_transformers().items() if _THEIR_DEFAULTS.get(name, ...) != value
    }
    if options.decoding is not Decoding.SAMPLED:
        chosen["do_sample"] = False
    return (
        "from ctwl_encoder import CTWLWatermarkingConfig\n\n"
        f"config = CTWLWatermarkingConfig({_arguments(named)})\n"
        f"model.generate(**inputs, {_arguments(chosen)}, watermarking_config=config)"
    )


def _arguments(named: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in named.items())


def _vllm(model: str, marking: Mapping[str, Any]) -> str:
    served = "MODEL" if model.lower() == OFFLINE_MODEL else model  # the wheel's name, which vLLM does not know
    return shlex.join(["vllm", "serve", served, "--additional-config", json.dumps({"ctwl": dict(marking)})])

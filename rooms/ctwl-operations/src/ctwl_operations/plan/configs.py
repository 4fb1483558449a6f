"""What a provider pastes: the recommended setting for the command, for transformers and for engines."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from ctwl_encoder.options import GenerationOptions, Options, ProxyOptions, default_profile
from ctwl_engines.engine import engines
from ctwl_protocol.profile import OFFLINE_MODEL
from ctwl_protocol.records import NONCE_COUNT

from .result import Result


def configs(result: Result) -> dict[str, str]:
    """A snippet for each way of serving, by its name."""
    settings, marking = result.settings, dict(result.taken.marking.options)
    options = GenerationOptions(**dict(settings.sampling) | marking)
    beacon = {"provider": settings.provider, "version": settings.version}
    if settings.nonces != NONCE_COUNT:  # the sameness of texts was measured with these
        beacon["nonces"] = settings.nonces
    read_by = _changed(ProxyOptions(profile=settings.profile, proxy_path=settings.proxy_path, device=settings.device))
    return {
        "ctwl-encode": _command(result, options, beacon | marking),
        "transformers": _transformers(settings.model, options, beacon | marking | read_by),
        **_served(settings.model, options, beacon | marking | read_by),
    }


def _changed(options: Options) -> dict[str, Any]:
    """The options that are not the defaults."""
    return {name: value for name, value in options if value != type(options).model_fields[name].default}


def _command(result: Result, options: GenerationOptions, marking: Mapping[str, Any]) -> str:
    settings = result.settings
    asked: dict[str, Any] = {"model": settings.model}
    if settings.profile != default_profile(settings.model):
        asked["profile"] = settings.profile
    asked |= {"proxy": settings.proxy_path} if settings.proxy_path else {}
    asked |= _changed(ProxyOptions(device=settings.device))
    asked |= {name: value for name, value in _changed(options).items() if name in settings.sampling and name != "seed"}
    words = ["ctwl-encode"]
    for name, value in {**asked, **marking}.items():
        words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    prompt = ["--chat", "Write an article about how bread is made."] if settings.chat else ["The harvest this year"]
    return shlex.join(words + prompt)


def _transformers(model: str, options: GenerationOptions, marking: Mapping[str, Any]) -> str:
    # All settings are named: a model's own generation config would else have its say.
    return (
        "from ctwl_encoder import CTWLWatermarkingConfig\n\n"
        f"config = CTWLWatermarkingConfig({_arguments({**marking, 'tokenizer': model})})\n"
        f"model.generate(**inputs, {_arguments(options.for_transformers())}, watermarking_config=config)"
    )


def _arguments(named: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in named.items())


def _served(model: str, options: GenerationOptions, policy: Mapping[str, Any]) -> dict[str, str]:
    served = "MODEL" if model.lower() == OFFLINE_MODEL else model  # the wheel's name, which no engine knows
    sampling = {name: getattr(options, name) for name in ("temperature", "top_p", "repetition_penalty")}
    return {each.name: each.start(served, policy, sampling) for each in engines().values() if each.start}

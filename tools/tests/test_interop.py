"""The small programs for other projects: they do with our packages what those projects ask of them."""

import asyncio
import importlib.util
import json
import re
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from docs_site import ROOT
from figures import EXAMPLE
from running_service import running

from ctwl_decoder.words import say
from ctwl_protocol.profile import OFFLINE
from ctwl_protocol.proxy import Proxy


def program(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location("program", ROOT / "interop" / name)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def shown(badge: ModuleType, service: str, body: dict[str, Any]) -> list[str]:
    """What a chat page gets below an answer; the answer stays."""
    told: list[str] = []

    async def emit(event: dict[str, Any]) -> None:
        told.append(event["data"]["description"])

    before, asked = json.dumps(body), badge.Filter()
    asked.valves.service = service
    assert json.dumps(asyncio.run(asked.outlet(body, emit))) == before
    return told


def test_a_chat_page_shows_what_the_service_finds(offline_proxy: Proxy) -> None:
    badge, letter = program("open-webui/badge.py"), json.loads(EXAMPLE.read_text(encoding="utf-8"))["text"]
    ask = {"role": "user", "content": letter}
    with running(offline_proxy) as (_, client):
        service = str(client.base_url)
        (found,) = shown(badge, service, {"messages": [ask, {"role": "assistant", "content": letter}]})
        assert re.fullmatch(rf"CTWL: {say('found-whole')}: .*provider \d+.* \(p = .*\)", found)
        (short,) = shown(badge, service, {"messages": [ask, {"role": "assistant", "content": "Yes."}]})
        assert short.startswith(f"CTWL: {say('short')}") and "p =" not in short
        assert shown(badge, service, {"messages": [ask]}) == []
    (silent,) = shown(badge, service, {"messages": [{"role": "assistant", "content": letter}]})
    assert silent == "CTWL: the service does not answer"


@pytest.mark.slow
def test_a_watermark_of_markllms_kind_writes_and_reads() -> None:
    from ctwl_encoder.models import load_model

    model, tokenizer = load_model("smollm2", "cpu")
    sampling = {"do_sample": True, "top_k": 0, "min_new_tokens": 150, "max_new_tokens": 150}
    config = SimpleNamespace(model=model, tokenizer=tokenizer, device="cpu", gen_kwargs=sampling)
    mark = program("markllm/adapter.py").CTWL(config, OFFLINE, provider=42)
    prompt = "The council said on Tuesday that"
    texts = [mark.generate_watermarked_text(prompt), mark.generate_unwatermarked_text(prompt)]
    assert all(text.startswith(prompt) for text in texts)
    marked, plain = (mark.detect_watermark(text.removeprefix(prompt)) for text in texts)
    assert marked["score"] > plain["score"]
    assert mark.detect_watermark(texts[1], return_dict=False) == (False, mark.detect_watermark(texts[1])["score"])

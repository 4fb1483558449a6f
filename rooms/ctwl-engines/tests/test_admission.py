"""What stands before a server: options where they have no effect, and a server that asks for a key too late."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from ctwl_engines.admission import Admission
from ctwl_engines.form import is_fixed
from ctwl_engines.llama_cpp import server as llama_server
from ctwl_engines.policy import Policy
from ctwl_engines.request import asked
from ctwl_engines.vllm import admission as vllm_admission
from ctwl_engines.vllm.guard import guard_server

PROFILE = "org.ctwl.smollm2-135m.1"


class Server:
    """An ASGI application that notes what reaches it."""

    def __init__(self) -> None:
        self.bodies: list[Any] = []
        self.options: list[dict[str, Any]] = []
        self.names: list[str] = []
        self.layers: list[tuple[type[Any], dict[str, Any]]] = []

    def add_middleware(self, layer: type[Any], **options: Any) -> None:
        self.layers.append((layer, options))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        self.bodies.append(await request.body())
        self.options.append(asked().options)
        self.names.append(request.headers.get("X-Request-ID", ""))
        await Response("served")(scope, receive, send)


def post(app: Any, body: Any, path: str = "/v1/completions", **headers: str) -> tuple[int, str]:
    """The status and the message of an answer."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    size = len(data) // 5 + 1
    parts = [data[i : i + size] for i in range(0, len(data), size)] or [b""]
    messages: list[Message] = [
        {"type": "http.request", "body": part, "more_body": n < len(parts) - 1} for n, part in enumerate(parts)
    ]
    told = [(name.encode(), value.encode()) for name, value in headers.items()]
    answer: list[Message] = []

    async def receive() -> Message:
        return messages.pop(0)

    async def send(message: Message) -> None:
        answer.append(message)

    scope = {"type": "http", "method": "POST", "path": path, "headers": told}
    asyncio.run(app(scope, receive, send))
    text = b"".join(message.get("body", b"") for message in answer).decode()
    return answer[0]["status"], text


def llama(server: Server, clients: str = "none", **options: Any) -> Admission:
    """As the server of llama.cpp has it: options stand in the body itself."""
    policy = Policy(provider=42, profile=PROFILE, clients=clients)

    def check(path: str, body: dict[str, Any]) -> None:
        policy.request(asked().options, 1.0)

    return Admission(server, check=check, **options)


def vllm(monkeypatch: pytest.MonkeyPatch, server: Server, **told: Any) -> Any:
    """As vLLM builds its server, with the plug-in's layer before it."""
    order: list[str] = []
    launcher = SimpleNamespace(init_entrypoints_middleware=lambda *_: order.append("authentication"))
    monkeypatch.setitem(sys.modules, "vllm.entrypoints.launchers.app", launcher)  # type: ignore[arg-type]
    guard_server()
    launcher.init_entrypoints_middleware(SimpleNamespace(additional_config=told), server, ("generate",))
    ((layer, options),) = server.layers
    assert order == ["authentication"]
    return layer(server, **options)


@pytest.mark.parametrize(
    ("name", "code"), [("ctwl_strategy", "not-left-to-clients"), ("ctwl_stratgy", "option-out-of-range")]
)
def test_what_the_policy_refuses_does_not_reach_the_server(name: str, code: str) -> None:
    server = Server()
    app = llama(server)
    status, told = post(app, {"prompt": "The council", name: "off"})
    assert (status, json.loads(told)["error"]["code"], server.bodies) == (400, code, [])
    assert post(app, {"prompt": "The council"}) == (200, "served")
    assert server.bodies == [b'{"prompt": "The council"}'] and server.options == [{}]


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"vllm_xargs": {"ctwl_provider": 7}}, "vllm_xargs.ctwl_provider"),
        ({"extra_body": {"vllm_xargs": {"ctwl_nonce": 1}}}, "extra_body.vllm_xargs.ctwl_nonce"),
        ({"metadata": {"CTWL-provider": "7"}}, "metadata.CTWL-provider"),
        ({"messages": [[{"content": [{"ctwl_strategy": "off"}]}]]}, "messages.content.ctwl_strategy"),
    ],
    ids=str,
)
def test_what_has_no_effect_is_refused(body: dict[str, Any], place: str) -> None:
    server = Server()
    status, told = post(llama(server, "any"), body)
    assert (status, server.bodies) == (400, [])
    assert f"'{place}' has no effect; this server reads such options in the body itself" in told


def test_names_that_a_client_gives_its_own_things_are_no_options() -> None:
    schema = {"type": "object", "properties": {"ctwl_provider": {"type": "integer"}}}
    tools = [{"type": "function", "function": {"name": "look_up", "parameters": schema}}]
    form = {"type": "json_schema", "json_schema": {"schema": schema}}
    app = llama(Server())
    assert post(app, {"tools": tools, "response_format": form, "prompt": "ctwl_provider"})[0] == 200


@pytest.mark.parametrize("body", ['{"a": {"ctwl_nonce": 1}, "a": 1}', '{"prompt": [{"x": 1, "\\u0078": 2}]}'])
def test_a_name_that_hides_another_is_refused(body: str) -> None:
    """Of two equal names a gateway may read one, and a server the other."""
    server = Server()
    status, told = post(llama(server, "any"), body.encode())
    assert (status, server.bodies) == (400, []) and "twice in one object" in told


def test_vllm_reads_options_in_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server()
    app = vllm(monkeypatch, server, ctwl={"provider": 42, "profile": PROFILE})
    for body in ({"ctwl_provider": 7}, {"extra_body": {"vllm_xargs": {"ctwl_provider": 7}}}, {"ctwl": {"provider": 7}}):
        status, told = post(app, body)
        assert status == 400 and "this server reads such options in the object 'vllm_xargs'" in told
    assert post(app, {"vllm_xargs": {"ctwl_provider": 7}})[0] == 200  # which validate_params refuses
    tokens = "/inference/v1/generate"
    assert post(app, {"sampling_params": {"extra_args": {"ctwl_provider": 7}}}, tokens)[0] == 200
    assert post(app, {"vllm_xargs": {"ctwl_provider": 7}}, tokens)[0] == 400


def test_what_vllms_workers_load_first_brings_no_compiler() -> None:
    """vLLM walks through all modules while a worker starts, and fails at one of llvmlite's."""
    code = "import sys, ctwl_engines.vllm.guard; sys.exit('llvmlite' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(("told", "refused"), [("none", True), ("off", False), ("any", False), (None, False)])
def test_beam_search_which_is_not_marked_is_refused_unless_clients_may_do_without(
    monkeypatch: pytest.MonkeyPatch, told: str | None, refused: bool
) -> None:
    """Where vLLM begins it: not only a body can ask for it, but also the form of a file to be transcribed."""

    class Serving:
        def beam_search(self, *, params: object) -> str:
            return "beams"

    module = "vllm.entrypoints.generate.beam_search.online"
    monkeypatch.setitem(sys.modules, module, SimpleNamespace(BeamSearchOnlineMixin=Serving))  # type: ignore[arg-type]
    options = {} if told is None else {"ctwl": {"provider": 42, "profile": PROFILE, "clients": told}}
    vllm(monkeypatch, Server(), **options)
    if refused:
        with pytest.raises(ValueError, match="beam search cannot be marked"):
            Serving().beam_search(params=None)
    else:
        assert Serving().beam_search(params=None) == "beams"


def test_a_key_is_asked_for_before_a_body_is_read() -> None:
    server = Server()
    app = llama(server, key="secret")
    for header in ({}, {"authorization": "Bearer secre"}, {"authorization": "Basic secret"}):
        assert post(app, b"[" * 100, **header) == (401, '{"detail":"Invalid API key"}')
    assert post(app, {}, authorization="bearer secret")[0] == 200


@pytest.mark.parametrize("body", [b"", b"[]", b"\xff", b'{"ctwl', b'{"a": NaN}'])
def test_bodies_that_are_no_requests_are_left_to_the_server(body: bytes) -> None:
    server = Server()
    assert post(llama(server), body)[0] == 200
    assert server.bodies == [body]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b" " * ((1 << 26) + 1), "more than 67108864 bytes"),
        (b"[" + b"1," * (1 << 18) + b"1]", "more than 262144 times one of , [ {"),
        (b"[" * 100_000, "too deep in one another"),
        (b'{"a": %s}' % (b"1" * 101), "more than 100 digits"),
    ],
    ids=["bytes", "values", "depth", "digits"],
)
def test_a_body_that_would_cost_too_much_is_refused(body: bytes, told: str) -> None:
    server = Server()
    status, answer = post(llama(server), body)
    assert status == 400 and told in json.loads(answer)["error"]["message"] and server.bodies == []


@pytest.mark.parametrize("kind", ["Multipart/form-data; boundary=x", "application/x-www-form-urlencoded"])
def test_a_file_in_a_form_is_left_to_the_server(kind: str) -> None:
    """A sound has commas by chance, and is not kept until its end has come."""
    server = Server()
    form = {"content-type": kind, "x-request-id": "5f3c"}
    assert post(llama(server), b",:[{" * (1 << 18), **form) == (200, "served")
    assert server.names == ["5f3c"] and len(server.bodies[0]) == 1 << 20


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded+json", "application/json; a=multipart/x", ""])
def test_what_may_be_json_is_read(kind: str) -> None:
    app = llama(Server())
    assert post(app, {"ctwl_provider": 7}, **{"content-type": kind})[0] == 400


def test_a_request_has_a_name_that_its_answer_may_tell() -> None:
    server = Server()
    app = llama(server, names=True)
    post(app, {}, **{"x-request-id": "5f3c"})
    post(app, {})
    assert server.names[0] == "5f3c" and len(server.names[1]) == 36


MAY_CALL = {"type": "triggered_tags", "triggers": ["<call>"], "tags": [{"begin": "<call>", "content": {}}]}
MUST_CALL = {**MAY_CALL, "at_least_one": True}
THINKS = {"type": "sequence", "elements": [{"type": "tag", "content": {"type": "any_text"}}, MUST_CALL]}


@pytest.mark.parametrize(
    ("tag", "fixed"),
    [
        (MAY_CALL, False), (MUST_CALL, True), (THINKS, False), ({"structures": [], "triggers": ["<call>"]}, False),
        ("{", True), ("[" * 100_000, True), ([1, None, {"a": [2]}], True), (None, False),
    ],
    ids=str,
)  # fmt: skip
def test_a_structural_tag_that_leaves_prose_fixes_no_form(tag: Any, fixed: bool) -> None:
    """A model that may call a tool, and may as well answer in words, is marked."""
    assert is_fixed(tag=tag) == fixed
    given = tag if isinstance(tag, str | None) else json.dumps({"type": "structural_tag", "format": tag})
    assert is_fixed(tag=given) == fixed


def test_vllm_shows_a_fixed_form_as_structured_outputs() -> None:
    """A response format, and a call that is required, come there too."""
    asked = SimpleNamespace(structural_tag=None, regex="[a-z]+")
    assert vllm_admission.has_fixed_form(SimpleNamespace(structured_outputs=asked))
    assert not vllm_admission.has_fixed_form(SimpleNamespace(structured_outputs=None))


@pytest.mark.parametrize(
    ("body", "fixed"),
    [
        ({"grammar": "root ::= [a-z]"}, True), ({"response_format": {"type": "json_object"}}, True),
        ({"tool_choice": {"type": "function"}, "tools": []}, True), ({"function_call": {"name": "a"}}, True),
        ({"tools": [{}], "tool_choice": "auto"}, False), ({"response_format": {"type": "text"}}, False),
        ({"response_format": "json_object", "grammar": None}, False), ({}, False),
    ],
    ids=str,
)  # fmt: skip
def test_llama_cpp_shows_a_fixed_form_in_the_body(body: dict[str, Any], fixed: bool) -> None:
    assert llama_server._has_fixed_form(body) == fixed

"""The messages: what one side writes the other reads, and nothing else."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter

from ctwl_conformance.adapter import Decode, Decoded, Implementation, NotDone, Started, messages
from ctwl_conformance.adapter.command import EXCHANGE
from ctwl_conformance.adapter.messages import MAX_LINE, REQUEST, Malformed, read_line, write_line
from ctwl_conformance.adapter.serving import answer_all
from ctwl_conformance.run.results import Report
from ctwl_protocol.errors import ProfileUnknown

SCHEMAS = Path(__file__).parents[1] / "schemas"
DIALECT = "https://json-schema.org/draft/2020-12/schema"

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=15)
@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), json_values))
def test_a_line_holds_one_value(value: dict[str, Any]) -> None:
    line = write_line(value)
    assert line.count(b"\n") == 1
    assert read_line(line) == value


@given(st.binary())
def test_any_bytes_are_a_value_or_malformed(data: bytes) -> None:
    try:
        read_line(data)
    except Malformed as error:
        assert "\n" not in str(error)


def schema() -> dict[str, Any]:
    """The JSON Schema of all messages, as it is published for implementers whose language is not Python."""
    requests = "Start VectorRequest Encode Decode Ask Stop"
    names = f"{requests} Reply Started Encoded Decoded Heard"
    models = [TypeAdapter(getattr(messages, name)) for name in names.split()]
    _, document = TypeAdapter.json_schemas([(number, "validation", model) for number, model in enumerate(models)])
    document["$schema"] = DIALECT
    document["title"] = messages.PROTOCOL
    document["description"] = "The messages are under $defs; ADAPTERS.md says when each is sent."
    return document


def test_the_published_schemas_are_the_models() -> None:
    assert json.loads((SCHEMAS / "adapter.schema.json").read_text()) == schema()
    assert json.loads((SCHEMAS / "report.schema.json").read_text()) == {
        "$schema": DIALECT,
        **TypeAdapter(Report).json_schema(mode="serialization"),
    }


def test_the_schema_takes_the_pages_examples_and_refuses_others() -> None:
    page = (SCHEMAS.parent / "ADAPTERS.md").read_text()
    lines = [json.loads(line) for line in (EXCHANGE + page).splitlines() if line.strip().startswith('{"id"')]
    requests, replies = [line for line in lines if "op" in line], [line for line in lines if "op" not in line]
    assert len(requests) == len(replies) == 2 + 5
    document = schema()
    Draft202012Validator.check_schema(document)

    def kept(message: dict[str, Any], name: str) -> bool:
        return Draft202012Validator({**document, "$ref": f"#/$defs/{name}"}).is_valid(message)

    for request in requests:
        REQUEST.validate_python(request)
        assert kept(request, {"vector": "VectorRequest"}.get(request["op"], request["op"].title()))
    assert all(kept(reply, "Reply") for reply in replies)
    answers = {request["op"]: reply["ok"] for request, reply in zip(requests, replies, strict=True)}
    Decoded.model_validate(answers["decode"])
    assert not kept({"detected": True}, "Decoded")


class Mine(Implementation):
    def start(self) -> Started:
        return Started(name="mine", version="0.3", roles=["decoder"], profiles=["org.ctwl.toy.1"])

    def decode(self, request: Decode) -> Decoded:
        if request.profile != "org.ctwl.toy.1":
            raise ProfileUnknown("no such profile")
        raise NotDone("not yet")


def told(*lines: bytes) -> list[dict[str, Any]]:
    replies = io.BytesIO()
    assert answer_all(Mine().answer, io.BytesIO(b"".join(lines)), replies) == 0
    return [json.loads(line) for line in replies.getvalue().splitlines()]


def test_an_implementation_in_python() -> None:
    decode = {"op": "decode", "profile": "org.ctwl.toy.1", "text": "a", "alpha": 0.5}
    replies = told(
        b'{"id": 1, "op": "start", "protocol": "ctwl-adapter/2"}\n',
        write_line({"id": 2, **decode}),
        write_line({"id": 3, **decode, "profile": "other"}),
        write_line({"id": 4, "op": "vector", "family": "canonical", "input": {}}),
        write_line({"id": 5, **decode, "alpha": 2}),
        b"nonsense\n",
        b'{"id": 6, "op": "stop"}\n',
        b'{"id": 7, "op": "start"}\n',
    )
    assert replies[0]["ok"]["name"] == "mine"
    assert replies[1] == {"id": 2, "skip": "not yet"}
    assert replies[2] == {"id": 3, "error": {"status": "profile-unknown", "message": "no such profile"}}
    assert "canonical" in replies[3]["skip"]
    assert replies[4]["id"] == 5 and replies[4]["error"]["status"] == "request-malformed"
    assert replies[5]["id"] is None and replies[5]["error"]["status"] == "request-malformed"
    assert replies[6:] == [{"id": 6, "ok": {}}]


def test_a_request_too_long_is_refused_unread() -> None:
    (reply,) = told(b'{"id": 1, "op": "' + b"x" * MAX_LINE)
    assert "more than 16777216 bytes" in reply["error"]["message"]

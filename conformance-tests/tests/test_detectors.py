"""A detector behind HTTP as the suite drives it: the reference's, and detectors that are wrong in one thing."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any
from wsgiref.simple_server import make_server

import httpx
import pytest
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter
from scripted import run

from ctwl_conformance.adapter.detector import EndpointDetector
from ctwl_conformance.adapter.endpoint import EndpointError
from ctwl_conformance.adapter.messages import Ask, Heard, Started
from ctwl_conformance.run.bench import Bench
from ctwl_conformance.run.detectors import FOUND as OWN
from ctwl_conformance.run.detectors import REQUESTS, own_question, requests_of
from ctwl_protocol import CTWLError
from ctwl_protocol.asking import Answer, Question, Refusal
from ctwl_protocol.errors import FormatUnknown, QuestionTooLarge

PROVIDER = 700
TOLD = Started(name="mine", version="2", roles=["detector"], provider=PROVIDER)
SCHEMAS = Path(__file__).parents[1] / "schemas"
Reply = tuple[int, dict[str, Any]]


def heard_of(status: int, told: Any, media_type: str = "application/json") -> Heard:
    return Heard(status=status, body=json.dumps(told).encode().hex(), media_type=media_type)


def refusal(status: int, code: str) -> Reply:
    return status, {"code": code, "message": "no"}


def right(kind: str, body: bytes) -> Reply:
    """A small detector that does what section 20 says, and finds nothing."""
    if kind.partition(";")[0] != "application/json":
        return refusal(415, "unsupported-type")
    try:
        question = Question.from_bytes(body)
    except QuestionTooLarge:
        return refusal(413, "input-too-large")
    except FormatUnknown:
        return refusal(400, "format-unknown")
    except CTWLError:
        return refusal(400, "question-malformed")
    if question.provider != PROVIDER:
        return refusal(422, "provider-unknown")
    answer = Answer(provider=PROVIDER, outcome="unable", basis=(), error_rate=None, measured=None)
    return 200, answer.model_dump(mode="json")


@contextmanager
def serving(answer: Callable[[str, bytes], Reply]) -> Iterator[str]:
    def app(asked: dict[str, Any], start_response: Callable[..., object]) -> list[bytes]:
        status, told = answer(asked["CONTENT_TYPE"], asked["wsgi.input"].read(int(asked["CONTENT_LENGTH"])))
        start_response(f"{status} -", [("content-type", "application/json; charset=utf-8")])
        return [json.dumps(told).encode()]

    with make_server("127.0.0.1", 0, app) as server:
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def driven(url: str) -> tuple[str, str]:
    """The option that drives the detector at an address."""
    return "--detector", f"ctwl-conformance adapter detector --url {url} --provider {PROVIDER}"


def test_a_detector_that_follows_the_part_conforms(tmp_path: Path) -> None:
    with serving(right) as url:
        status, report = run(tmp_path, *driven(url))
    assert status == 0, [result for result in report.results if result.verdict == "failed"]
    (verdict,) = report.verdicts
    assert (verdict.conformance_class, verdict.verdict) == ("detector", "conforms")
    assert {result.family for result in report.results} == {"start", "question", "answer", "asked", "human"}
    assert sum(result.family == "asked" for result in report.results) == len(REQUESTS)


def changed(**fields: Any) -> Callable[[str, bytes], Reply]:
    def answer(kind: str, body: bytes) -> Reply:
        status, told = right(kind, body)
        return status, told | (fields if status == 200 else {})

    return answer


FOUND = {"outcome": "found", "basis": ["watermark"], "error_rate": 0.0, "measured": False}
WRONG: dict[str, tuple[Callable[[str, bytes], Reply], str]] = {
    "another provider in the answer": (changed(provider=1), "asked/answers"),
    "a place in bytes": (changed(**FOUND, places=[[0, 9000]]), "asked/characters"),
    "found in all that people wrote": (changed(**FOUND), "human"),
    "kept without asking": (changed(kept_days=1), "asked/answers"),
    "none at any level": (changed(**FOUND | {"outcome": "none"}), "asked/answers"),
    "any provider": (
        lambda kind, body: right(kind, body.replace(b'"provider": 188', b'"provider": 700')), "asked/other-provider"),
    "any media type": (lambda _, body: right("application/json", body), "asked/media-type"),
    "one media type, spelt so": (
        lambda kind, body: right(kind if ";" not in kind else "", body), "asked/charset"),
    "short texts alone": (
        lambda kind, body: right(kind, body) if len(body) < 9000 else refusal(413, "input-too-large"), "asked/long"),
    "no code": (lambda kind, body: (right(kind, body)[0], {}), "asked/answers"),
    "tokens of nobody": (lambda *_: refusal(401, "token-refused"), "asked/answers"),
    "another code": (
        lambda kind, body: refusal(400, "wrong") if right(kind, body)[0] == 400 else right(kind, body),
        "vector/question/no-text"),
}  # fmt: skip


def faults(answer: Callable[[str, bytes], Reply]) -> set[str]:
    """The cases of ``asked`` that a detector fails."""
    replies = [(request, answer(request.media_type, request.body(TOLD))) for request in REQUESTS]
    return {f"asked/{request.name}" for request, reply in replies if request.wrong(TOLD, heard_of(*reply))}


@pytest.mark.parametrize("name", [name for name, (_, seen_by) in WRONG.items() if seen_by.startswith("asked")])
def test_what_is_wrong_in_one_thing_is_seen(name: str) -> None:
    answer, seen_by = WRONG[name]
    assert faults(right) == set() and seen_by in faults(answer)


def keeping(days: int) -> Callable[[str, bytes], Reply]:
    """A detector that keeps each text so many days."""

    def answer(kind: str, body: bytes) -> Reply:
        status, told = right(kind, body)
        if status == 200 and Question.from_bytes(body).keep_days < days:
            return refusal(422, "keep-refused")
        return status, told | ({"kept_days": days} if status == 200 else {})

    return answer


def test_one_that_keeps_texts_conforms_where_it_says_so() -> None:
    told, answer = TOLD.model_copy(update={"keep_days": 30}), keeping(30)
    for request in requests_of(told):
        assert request.wrong(told, heard_of(*answer(request.media_type, request.body(told)))) == "", request.name
    liar = heard_of(*changed(kept_days=30)("application/json", REQUESTS[0].body(TOLD)))
    assert "kept longer" in REQUESTS[0].wrong(TOLD, liar)


def test_a_text_of_the_makers_own_must_be_found() -> None:
    told = TOLD.model_copy(update={"found": "The harvest this year"})
    assert OWN in requests_of(told) and OWN not in requests_of(TOLD)
    body = OWN.body(told)
    assert "unable; expected found" in OWN.wrong(told, heard_of(*right("application/json", body)))
    assert OWN.wrong(told, heard_of(*changed(**FOUND)("application/json", body))) == ""


def test_a_message_says_what_was_expected() -> None:
    requests = {request.name: request for request in REQUESTS}
    answer = heard_of(*right("application/json", REQUESTS[0].body(TOLD)))
    assert requests["media-type"].wrong(TOLD, answer) == "status 200; expected 415 unsupported-type"
    page = answer.model_copy(update={"media_type": "text/html"})
    assert "its media type is 'text/html'" in REQUESTS[0].wrong(TOLD, page)
    other = requests["no-token"].wrong(TOLD, heard_of(*refusal(401, "who")))
    assert other == "status 401 with the code 'who'; expected 200 or 401 token-refused"
    assert all(request.section.startswith("20.") for request in REQUESTS)


@pytest.mark.parametrize(
    ("provider", "days", "asked", "sent"),
    [
        (700, 0, b'{"provider": 42, "keep_days": 0}    ', b'{"provider": 700, "keep_days": 0}   '),
        (7, 3, b'{"keep_days":0,"provider": 42}', b'{"keep_days": 3,"provider": 7}'),
        (7, 0, b'{"provider": 42}', b'{"provider": 7} '),
        (42, 30, b'{"keep_days": 0.5}', b'{"keep_days": 0.5}'),
        (700, 0, b'{"provider": 42}', b'{"provider": 700}'),
        (42, 0, b"", b""),
    ],
)
def test_a_vector_asks_any_provider_in_as_many_bytes(provider: int, days: int, asked: bytes, sent: bytes) -> None:
    assert own_question(asked, TOLD.model_copy(update={"provider": provider, "keep_days": days})) == sent


def test_the_suites_own_command_needs_no_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("ours")
    monkeypatch.setenv("PATH", str(tmp_path))
    command = "ctwl-conformance adapter detector --url http://127.0.0.1:9/ --provider 42 --name mine --version 3"
    with Bench({"detector": [f"{command} --keep-days 30 --found {tmp_path / 'text'}"]}, size="quick") as bench:
        (subject,) = bench.of("detector")
    assert subject.told == TOLD.model_copy(update={"version": "3", "provider": 42, "keep_days": 30, "found": "ours"})


@pytest.mark.slow
@pytest.mark.parametrize("name", ["found in all that people wrote", "another code", "tokens of nobody"])
def test_a_detector_that_is_wrong_in_one_thing_does_not_conform(name: str, tmp_path: Path) -> None:
    answer, seen_by = WRONG[name]
    with serving(answer) as url:
        status, report = run(tmp_path, *driven(url), "--only", f"{seen_by}*")
    assert status == 1 and any(result.verdict == "failed" for result in report.results)


ASKED = Ask(id=1, body="00", media_type="a/b", authorized=True)


def detector(answer: Callable[[httpx.Request], httpx.Response], *more: Any, **named: Any) -> EndpointDetector:
    client = httpx.Client(transport=httpx.MockTransport(answer))
    return EndpointDetector("http://x", TOLD, *more, client=client, **named)


def response(data: bytes, status: int = 200, **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, stream=httpx.ByteStream(data), headers=named)


def test_a_detector_that_is_not_there_is_an_error() -> None:
    def silent(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    with pytest.raises(EndpointError, match="does it listen"):
        detector(silent).ask(ASKED)


def test_the_token_is_sent_where_it_is_asked_for_and_no_more_is_read_than_an_answer_has() -> None:
    seen: list[str | None] = []

    def take(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers.get("authorization"))
        return response(b"a" * 100_000)

    for authorized in (True, False):
        heard = detector(take, "word").ask(ASKED.model_copy(update={"authorized": authorized}))
        assert len(heard.body) == 2 * 65_537
    assert seen == ["Bearer word", None]


@pytest.mark.parametrize(
    ("told", "slept", "status"),
    [(["20", "20"], [20, 20], 200), (["30", "30", "30"], [30, 30], 429), (["66"], [], 429), (["soon"], [], 429),
     (["0"], [], 429), ([""], [], 429), (["-5"], [], 429), (["9" * 5000], [], 429)],
)  # fmt: skip
def test_who_is_told_to_come_later_comes_later_within_bounds(told: list[str], slept: list[int], status: int) -> None:
    replies = [response(b"{}", 429, **({"retry_after": after} if after else {})) for after in told]
    replies.append(response(b"{}", content_type="Application/JSON; charset=utf-8"))
    waits: list[float] = []
    heard = detector(lambda _: replies.pop(0), sleep=waits.append).ask(ASKED)
    assert (heard.status, waits) == (status, slept)
    assert heard.media_type == ("application/json" if status == 200 else "")


def test_an_answer_that_is_packed_unasked_is_not_unpacked() -> None:
    packed = gzip.compress(b"{}")
    asked: list[str] = []

    def take(request: httpx.Request) -> httpx.Response:
        asked.append(request.headers["accept-encoding"])
        return response(packed, content_encoding="gzip")

    assert (bytes.fromhex(detector(take).ask(ASKED).body), asked) == (packed, ["identity"])


def schema() -> dict[str, Any]:
    """The JSON Schema of the messages, as it is published for implementers whose language is not Python."""
    models = (Question, Answer, Refusal)
    _, document = TypeAdapter.json_schemas([(model, "serialization", TypeAdapter(model)) for model in models])
    for message in document["$defs"].values():
        for name in message["required"]:
            message["properties"][name].pop("default", None)  # it is never left out
    document["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    document["title"] = "Asking a detector"
    document["description"] = "The messages are under $defs; section 20 says what else they keep to."
    return document


def test_the_published_schema_is_the_models() -> None:
    assert json.loads((SCHEMAS / "asking.schema.json").read_text()) == schema()


@pytest.mark.parametrize(
    "fields",
    [{"basis": ["watermark"] * 5}, {"places": [[0, 1]] * 65}, {"places": [[0, 1, 2]]}, {"says": "a" * 501},
     {"error_rate": 2}, {"more": 1}, {"kept_days": 367}],
)  # fmt: skip
def test_the_schema_bounds_what_the_text_bounds(fields: dict[str, Any]) -> None:
    answer = {"format": "ctwl-answer/1", "provider": 42, "places": [], "kept_days": 0, "says": ""} | FOUND
    wanted = Draft202012Validator(schema() | {"$ref": "#/$defs/Answer"})
    assert wanted.is_valid(answer) and not wanted.is_valid(answer | fields)

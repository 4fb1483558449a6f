"""A detector behind HTTP as the suite drives it: the reference's, and detectors that are wrong in one thing."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest

from ctwl_conformance.adapter.detector import EndpointDetector
from ctwl_conformance.adapter.endpoint import EndpointError
from ctwl_conformance.adapter.messages import Ask
from ctwl_conformance.command import main
from ctwl_conformance.run.detectors import REQUESTS
from ctwl_conformance.run.results import Report
from ctwl_protocol import CTWLError
from ctwl_protocol.asking import Answer, Question, schema
from ctwl_protocol.errors import FormatUnknown, QuestionTooLarge

PROVIDER = 700
SCHEMAS = Path(__file__).parents[1] / "schemas"
Reply = tuple[int, dict[str, Any]]


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
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            status, told = answer(self.headers["content-type"], body)
            data = json.dumps(told).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()


def run(folder: Path, url: str, *more: str) -> tuple[int, Report]:
    command = f"{shlex.quote(sys.executable)} -m ctwl_conformance adapter detector --url {url} --provider {PROVIDER}"
    status = main(["run", "--quick", "--out", str(folder), "--detector", command, *more])
    return status, Report.model_validate_json((folder / "report.json").read_text())


def test_a_detector_that_follows_the_part_conforms(tmp_path: Path) -> None:
    with serving(right) as url:
        status, report = run(tmp_path, url)
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
    found = set()
    for request in REQUESTS:
        status, told = answer(request.media_type, request.body(PROVIDER))
        if request.wrong(PROVIDER, status, json.dumps(told).encode()):
            found.add(f"asked/{request.name}")
    return found


@pytest.mark.parametrize("name", [name for name, (_, seen_by) in WRONG.items() if seen_by.startswith("asked")])
def test_what_is_wrong_in_one_thing_is_seen(name: str) -> None:
    answer, seen_by = WRONG[name]
    assert faults(right) == set() and seen_by in faults(answer)


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_a_detector_that_is_wrong_in_one_thing_does_not_conform(name: str, tmp_path: Path) -> None:
    answer, seen_by = WRONG[name]
    with serving(answer) as url:
        status, report = run(tmp_path, url, "--only", f"{seen_by}*")
    assert status == 1 and any(result.verdict == "failed" for result in report.results)


def test_a_detector_that_is_not_there_is_an_error() -> None:
    def silent(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    client = httpx.Client(transport=httpx.MockTransport(silent))
    with pytest.raises(EndpointError, match="does it listen"):
        EndpointDetector("http://x", 1, client=client).ask(Ask(id=1, body="00", media_type="a/b", authorized=True))


def test_the_token_is_sent_where_it_is_asked_for() -> None:
    seen: list[str | None] = []

    def take(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers.get("authorization"))
        return httpx.Response(200, content=b"a" * 100_000)

    detector = EndpointDetector("http://x", 1, "word", client=httpx.Client(transport=httpx.MockTransport(take)))
    for authorized in (True, False):
        heard = detector.ask(Ask(id=1, body="00", media_type="a/b", authorized=authorized))
        assert len(heard.body) == 2 * 65_537
    assert seen == ["Bearer word", None]


def test_the_published_schema_is_the_models() -> None:
    assert json.loads((SCHEMAS / "asking.schema.json").read_text()) == schema()

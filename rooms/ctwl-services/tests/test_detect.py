"""The service as verification plug-ins and senders of documents see it."""

from __future__ import annotations

import base64

import httpx
import pytest
import recorded_texts
from document_files import docx, mail

from ctwl_decoder import Decoder
from ctwl_decoder.words import say
from ctwl_services.serve.detect import Detection

OFFLINE = "org.ctwl.smollm2-135m.1"
MARKED = recorded_texts.MARKED["texts"][7]
HUMAN = "Nobody had told her that the road ended at the river, and so she walked on until her shoes were wet. " * 3


def test_a_finding_has_the_shape_that_plug_ins_read() -> None:
    report = Decoder.open(OFFLINE).decode(f"{HUMAN}\n\n{MARKED}", score="light")
    found = Detection.of(report).model_dump()
    assert found["pred"] == "watermarked" and found["score"] == 1 - report.p_value > 0.9999
    (chunk,), (span,) = found["chunks"], report.spans
    assert (chunk["startchar"], chunk["endchar"], chunk["score"]) == (span.start, span.end, 1 - span.p_value)
    assert found["says"].startswith(say("found-whole")) and say("forgeable") in found["means"]


def test_where_nothing_shows_the_score_says_nothing_either_way(client: httpx.Client) -> None:
    answer = client.post("/v1/detect", json={"text": HUMAN, "score": "light"})
    assert answer.status_code == 200
    found = answer.json()
    assert (found["pred"], found["score"], found["chunks"]) == ("unknown", 0.5, [])
    assert client.post("/v1/detect", json={"text": 1}).json()["code"] == "option-out-of-range"


@pytest.mark.parametrize("path", ["/v1/decode", "/v1/detect"])
def test_a_text_that_is_base64_gets_no_verdict(client: httpx.Client, path: str) -> None:
    for text in (base64.encodebytes(HUMAN.encode()).decode(), mail(HUMAN, "base64").decode()):
        answer = client.post(path, json={"text": text})
        assert (answer.status_code, answer.json()["code"]) == (422, "not-opened")
        assert "in which no words can be read" in answer.json()["message"]


@pytest.mark.parametrize("path", ["/v1/decode", "/v1/detect"])
def test_a_file_gets_no_verdict_where_texts_are_read_but_the_address_for_files(client: httpx.Client, path: str) -> None:
    for files in ({"file": ("a.docx", docx(HUMAN))}, None):
        answer = client.post(path, files=files, content=None if files else docx(HUMAN))
        assert (answer.status_code, answer.json()["code"]) == (415, "unsupported-type")
        assert answer.json()["message"].endswith("send a file to /report, in a form (multipart/form-data)")
    for data in (docx(HUMAN), b"%PDF-1.7\n1 0 obj", mail(HUMAN, "quoted-printable")):
        answer = client.post(path, json={"text": data.decode("latin-1")})
        assert (answer.status_code, answer.json()["code"]) == (422, "not-opened")


def test_the_service_opens_documents(client: httpx.Client) -> None:
    sent = client.post("/report", files={"file": ("letter.docx", docx(HUMAN), "application/octet-stream")})
    assert sent.status_code == 200 and "walked" in sent.text
    broken = client.post("/report", files={"file": ("letter.docx", docx(HUMAN)[:200], "application/octet-stream")})
    assert (broken.status_code, broken.json()["code"]) == (422, "document-refused")
    picture = client.post("/report", files={"file": ("letter.docx", b"\x89PNG\r\n\x1a\n" + bytes(9), "image/png")})
    assert (picture.status_code, picture.json()["code"]) == (422, "not-opened")

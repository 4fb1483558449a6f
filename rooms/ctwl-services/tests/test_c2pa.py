"""C2PA: the entry for its list of algorithms, and its Soft Binding Resolution API in front of a real server.

The answers and the examples are those of the API's OpenAPI document, version 2.4.0.
"""

from __future__ import annotations

import base64
import datetime
import json
import os
import re
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest
from detectors import Played, http, over_tls, playing, sending
from hypothesis import given
from hypothesis import strategies as st
from marked_words import marked_text
from running_service import serving, until

from ctwl_decoder.errors import OptionOutOfRange
from ctwl_protocol import Beacon, CTWLError, get_profile
from ctwl_protocol.profile.private import new_private
from ctwl_protocol.proxy import Proxy
from ctwl_services.errors import ManifestsUnavailable
from ctwl_services.serve.c2pa import manifests_of
from ctwl_services.serve.command import main
from ctwl_services.serve.manifests import Match, codes_of_value, open_manifests, value_of_codes

ENTRY = Path(__file__).parents[3] / "interop" / "c2pa" / "softbinding-algorithm.json"
ALG = "org.ctwl.smollm2-135m.vanilla.1"
CODE = Beacon(700, 9, 21).code
MANIFEST = "urn:c2pa:F9168C5E-CEB2-4FAA-B6BF-329BF39FA1E4"  # the API's own example
ENDPOINT = "https://c2pa.example.org/v1"
SCHEMA_VARIABLE = "CTWL_C2PA_SCHEMA"


def binding(*codes: int, **changes: Any) -> dict[str, Any]:
    return {"codes": list(codes), "manifestId": MANIFEST, "endpoint": ENDPOINT} | changes


@pytest.mark.skipif(not ENTRY.exists(), reason="the entry is in the repository, not in the wheel")
def test_the_entry_names_the_profile_and_has_what_the_list_asks_for() -> None:
    (entry,) = json.loads(ENTRY.read_text(encoding="utf-8"))
    assert entry["alg"] == get_profile("org.ctwl.smollm2-135m.1").name and entry["type"] == "watermark"
    assert re.fullmatch(r"[A-Za-z]{2,63}(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)+", entry["alg"])
    assert entry["decodedMediaTypes"] == ["text"] and 0 <= entry["identifier"] < 1 << 16
    about = entry["entryMetadata"]
    assert about.keys() == {"description", "dateEntered", "contact", "informationalUrl"}
    assert datetime.datetime.fromisoformat(about["dateEntered"]).tzinfo is not None
    assert about["informationalUrl"].endswith("interop/c2pa/README.md")


@pytest.mark.skipif(
    SCHEMA_VARIABLE not in os.environ or not ENTRY.exists(), reason=f"${SCHEMA_VARIABLE} names no copy of the schema"
)
def test_the_entry_validates_against_the_published_schema() -> None:
    validator = jsonschema.Draft202012Validator(
        json.loads(Path(os.environ[SCHEMA_VARIABLE]).read_bytes()),
        format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER,
    )
    validator.validate(json.loads(ENTRY.read_text(encoding="utf-8")))


codes = st.lists(st.integers(0, (1 << 20) - 1), min_size=1, max_size=4).map(tuple)


@given(codes)
def test_codes_come_back_from_their_value(given_codes: tuple[int, ...]) -> None:
    assert codes_of_value(value_of_codes(given_codes)) == given_codes


@given(st.text(max_size=30) | st.binary(max_size=20).map(lambda data: base64.b64encode(data).decode()))
def test_any_other_value_is_refused(value: str) -> None:
    try:
        found = codes_of_value(value)
    except OptionOutOfRange:
        return
    assert value_of_codes(found) == value


@contextmanager
def answering(proxy: Proxy, source: str) -> Iterator[httpx.Client]:
    """A client of the API of a service that answers from these manifests."""
    with serving(proxy, manifests_of(source, proxy.profile)) as client:
        client.base_url = client.base_url.join("v1/")
        yield client


@pytest.fixture(scope="module")
def marked(vanilla: Proxy) -> str:
    return marked_text(vanilla, CODE, 130, 1)


@pytest.fixture(scope="module")
def client(vanilla: Proxy, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    path = tmp_path_factory.mktemp("c2pa") / "bindings.json"
    others = [binding(43207, 99, manifestId=f"urn:uuid:{number:08}") for number in range(12)]
    path.write_text(json.dumps([binding(CODE), binding(43207), *others]))
    with answering(vanilla, str(path)) as found:
        yield found


def matches(answer: httpx.Response) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.text
    return answer.json()["matches"]  # type: ignore[no-any-return]


WHOLE = [{"manifestId": MANIFEST, "endpoint": ENDPOINT}]


def test_the_supported_algorithms(client: httpx.Client) -> None:
    """The document also asks each of them for a field "watermarks" or "fingerprints", which belongs a level higher."""
    answer = client.get("/services/supportedAlgorithms")
    assert answer.status_code == 200 and answer.json() == {"watermarks": [{"alg": ALG}]}


def test_a_client_learns_what_there_is(client: httpx.Client) -> None:
    found = client.get(str(client.base_url.join("/.well-known/c2pa-soft-binding-resolution"))).json()
    assert found["apiEndpoint"] == "/v1" and found["c2paSpecificationVersion"] == "2.4.0"
    told, status = (
        client.get(str(client.base_url.join(found[f"{each}Endpoint"]))).json() for each in ("capabilities", "status")
    )
    assert told == {"c2paSpecificationVersion": "2.4.0", "supportedCapabilities": ["queryByContent"]}
    assert status == {"status": "ok"}
    asset = client.get(f"/manifests/{MANIFEST}")
    assert asset.status_code == 404 and "each match names the API that has it" in asset.json()["message"]


def test_a_binding_finds_its_manifest_by_either_method(client: httpx.Client) -> None:
    query = {"alg": ALG, "value": value_of_codes((43207,))}
    assert matches(client.get("/matches/byBinding", params=query)) == WHOLE
    assert matches(client.post("/matches/byBinding", json=query)) == WHOLE
    query["value"] = value_of_codes((43208,))
    assert matches(client.get("/matches/byBinding", params=query)) == []


def test_a_plus_that_was_not_escaped_is_one(vanilla: Proxy) -> None:
    code, match = 62, Match(manifest_id=MANIFEST, endpoint=ENDPOINT)
    assert "+" in (value := value_of_codes((code,)))
    with serving(vanilla, lambda codes: [match] * (codes == (code,))) as client:
        assert matches(client.get(f"/v1/matches/byBinding?alg={ALG}&value={value}")) == WHOLE


CHARSETS = ["utf-16", "ISO-8859-1", '"us-ascii"', "windows-1252", "Shift_JIS"]


@pytest.mark.parametrize(
    "kind", ["text/plain", "text/markdown; charset=utf-8", *(f"text/plain; charset={each}" for each in CHARSETS)]
)
def test_a_text_finds_the_manifest_of_its_code_in_the_charset_that_it_has(
    client: httpx.Client, marked: str, kind: str
) -> None:
    content = marked.encode(kind.partition("charset=")[2].strip('"') or "utf-8")
    assert matches(client.post("/matches/byContent", content=content, headers={"content-type": kind})) == WHOLE


def test_a_text_without_a_code_finds_nothing(client: httpx.Client) -> None:
    plain = {"content-type": "text/plain"}
    assert matches(client.post("/matches/byContent", content=b"Plain words. " * 9, headers=plain)) == []


@pytest.mark.parametrize("charset", ["zip", "punycode", "unicode_escape", "x" * 5000, "utf-7", "%"])
def test_a_charset_that_is_not_read_is_named(client: httpx.Client, charset: str) -> None:
    kind = f"text/plain; charset={charset}"
    answer = client.post("/matches/byContent", content=b"words", headers={"content-type": kind})
    assert answer.status_code == 415 and charset[:40] in answer.json()["message"] and len(answer.text) < 200


@pytest.mark.parametrize(("asked", "got"), [(None, 10), (3, 3), (12, 12), (10**6, 12)])
def test_there_are_no_more_matches_than_were_asked_for(client: httpx.Client, asked: int | None, got: int) -> None:
    more = {} if asked is None else {"maxResults": asked}
    query = {"alg": ALG, "value": value_of_codes((43207, 99))}
    assert len(matches(client.get("/matches/byBinding", params={**query, **more}))) == got
    assert len(matches(client.post("/matches/byBinding", json=query, params=more))) == got


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("alg=foo.bar.watermark.1&value=AKjH", 400),  # the API's example of a name
        (f"alg={ALG}", 400),
        ("value=AKjH", 400),
        (f"alg={ALG}&value=", 400),
        (f"alg={ALG}&value=AKj", 400),
        (f"alg={ALG}&value=AKjHAA==", 400),
        (f"alg={ALG}&value=////", 400),
        (f"alg={ALG}&value={'AKjH' * 5}", 400),
        (f"alg={ALG}&value=AKjH&maxResults=0", 400),
        (f"alg={ALG}&value=AKjH&maxResults=many", 400),
        (f"alg={ALG}&value={'AKjH' * 300}", 414),
        (f"alg={'a' * 300}&value=AKjH", 400),
    ],
)
def test_a_bad_query_has_the_status_of_the_api(client: httpx.Client, query: str, status: int) -> None:
    answer = client.get(f"/matches/byBinding?{query}")
    assert answer.status_code == status and answer.json().keys() == {"code", "message"}


JSON = "application/json"


@pytest.mark.parametrize(
    ("path", "kind", "body", "status"),
    [
        ("byBinding", JSON, b"", 400),
        ("byBinding", JSON, b"[]", 400),
        ("byBinding", JSON, b"{", 400),
        ("byBinding", JSON, b"\xff", 400),
        ("byBinding", JSON, b'{"alg": "foo.bar.watermark.1", "value": "AKjH"}', 400),
        ("byBinding", JSON, b'{"alg": "org.ctwl.smollm2-135m.vanilla.1"}', 400),
        ("byContent", "image/png", b"\x89PNG", 415),
        ("byContent", "application/pdf", b"%PDF", 415),
        ("byContent", "", b"words", 415),
        ("byContent", "text/plain", b"\xff\xfe", 400),
        ("byContent", "text/plain; charset=us-ascii", b"caf\xe9", 400),
        ("byContent", "text/plain; charset=utf-16", b"\0", 400),
        ("byContent", "text/plain; charset=utf-16be", b"\0a\0\0", 400),
        ("byContent", "text/plain", b"a\0b", 400),
        ("byContent", "text/plain", ("a" + "\u0301" * 300).encode(), 400),
        ("byContent?alg=foo.bar.watermark.1", "text/plain", b"words", 400),
        ("byContent?maxResults=0", "text/plain", b"words", 400),
        ("byContent", "text/plain", b"a " * 20_000, 413),
    ],
)
def test_a_bad_body_has_its_status(client: httpx.Client, path: str, kind: str, body: bytes, status: int) -> None:
    answer = client.post(f"/matches/{path}", content=body, headers={"content-type": kind})
    assert answer.status_code == status and answer.json().keys() == {"code", "message"}


@pytest.mark.parametrize(
    "document",
    [
        {},
        [{}],
        [binding()],
        [binding(1, 2, 3, 4, 5)],
        [binding(1 << 20)],
        [binding(-1)],
        [binding(True)],
        [binding(1, more=1)],
        [binding(1, manifestId="urn:c2pa:\n")],
        [binding(1, manifestId="https://example.org/")],
        [binding(1, manifestId="urn:c2pa:" + "a" * 300)],
        [binding(1, endpoint="http://c2pa.example.org/")],
        [binding(1, endpoint="https://user@c2pa.example.org/")],
        [binding(1, endpoint="javascript:alert(1)")],
    ],
)
def test_another_file_ends_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], document: Any) -> None:
    path = tmp_path / "bindings.json"
    path.write_text(json.dumps(document))
    assert main(["--port", "0", "--profile", ALG, "--manifests", str(path)]) == 2
    assert capsys.readouterr().err.startswith("ctwl-decode: manifests-malformed: ")


def test_a_private_profile_has_no_algorithm(tmp_path: Path) -> None:
    (tmp_path / "bindings.json").write_text("[]")
    private = new_private("org.example.mine.1", get_profile(ALG))
    with pytest.raises(OptionOutOfRange, match="private"):
        manifests_of(str(tmp_path / "bindings.json"), private)


@given(st.binary(max_size=200))
def test_any_bytes_are_bindings_or_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_bytes(data)
    try:
        assert open_manifests(str(path), ALG)((1,)) == []
    except CTWLError as error:
        assert error.code == "manifests-malformed"


@pytest.mark.parametrize(
    "url",
    [
        "http://c2pa.example.org/v1",
        "https://a:b@c2pa.example.org/v1",
        "https:///v1",
        "ftp://a.example/",
        ENDPOINT + "?a=1",
        "https://[::1/v1",
        "https://[::1]/v1",  # no match could name it
    ],
)
def test_an_api_has_an_https_address(url: str) -> None:
    with pytest.raises(OptionOutOfRange):
        open_manifests(url, ALG)


@contextmanager
def provider(certificate: Path, answer: bytes) -> Iterator[tuple[str, Played]]:
    """A provider's API over https, which always answers this."""
    with playing(sending(answer), over_tls(certificate)) as found:
        yield f"https://localhost:{found.place[1]}/v1/", found


def test_a_provider_s_own_api_is_asked_for_the_codes_of_a_text(
    vanilla: Proxy, marked: str, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    body = json.dumps({"matches": [{"manifestId": MANIFEST, "similarityScore": 100}]}).encode()
    with provider(certificate, http(body)) as (url, api), answering(vanilla, url) as client:
        found = matches(
            client.post("/matches/byContent", content=marked.encode(), headers={"content-type": "text/plain"})
        )
    assert found == [{"manifestId": MANIFEST, "endpoint": url.rstrip("/")}]
    value = value_of_codes((CODE,)).replace("+", "%2B").replace("/", "%2F")
    (request,) = api.requests
    assert request.startswith(f"GET /v1/matches/byBinding?alg={ALG}&value={value}&maxResults=100 ".encode())


@pytest.mark.parametrize(
    "answer",
    [
        http(b"no"),
        http(b"{}"),
        http(b'{"matches": [{"manifestId": "<script>"}]}'),
        http(b'{"matches": [{"manifestId": "urn:c2pa:1", "endpoint": "http://a.example"}]}'),
        http(b" " * ((1 << 20) + 1)),
        http(b"", "500 Failed"),
        http(b"", "302 Found", "location: /elsewhere"),
    ],
    ids=["no-json", "no-matches", "bad-id", "bad-endpoint", "too-long", "fails", "redirects"],
)
def test_an_api_that_answers_otherwise_is_a_failure_of_the_service(
    certificate: Path, monkeypatch: pytest.MonkeyPatch, answer: bytes
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with provider(certificate, answer) as (url, api):
        with pytest.raises(ManifestsUnavailable):
            open_manifests(url, ALG)((1,))
        assert len(api.requests) == 1


def test_one_deadline_holds_for_all_records_of_a_text(vanilla: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctwl_services.serve.service._LOOK_UP_SECONDS", 0.3)
    monkeypatch.setattr("ctwl_services.serve.c2pa.codes_of_report", lambda _: [(code,) for code in range(40)])
    asked: list[tuple[int, ...]] = []
    with serving(vanilla, lambda codes: asked.append(codes) or time.sleep(0.1) or []) as client:
        answer = client.post("/v1/matches/byContent", content=b"Plain words.", headers={"content-type": "text/plain"})
        assert (answer.status_code, answer.json()["code"]) == (500, "manifests-unavailable")
    assert 1 <= len(asked) < 9  # the service waits for its threads before it ends


def test_look_ups_take_no_place_of_texts_and_end_with_their_client(vanilla: Proxy) -> None:
    gate, asked = threading.Event(), []
    query = f"/v1/matches/byBinding?alg={ALG}&value=AKjH"
    with (
        serving(vanilla, lambda codes: asked.append(codes) or (gate.wait(30) and []), working=1) as client,
        ThreadPoolExecutor(1) as threads,
    ):
        address = (client.base_url.host, client.base_url.port)
        try:
            waiting = threads.submit(client.get, query)
            until(lambda: asked)
            assert client.post("/v1/decode", json={"text": "Plain words."}).status_code == 200
            with socket.create_connection(address) as impatient:  # it waits for the one thread
                impatient.sendall(f"GET {query} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
                time.sleep(0.1)
            gone = 'ctwl_requests_total{endpoint="/v1/matches/byBinding",status="499"} 1.0'
            until(lambda: gone in client.get("/metrics").text)
        finally:
            gate.set()
        assert waiting.result().status_code == 200 and len(asked) == 1


def test_an_api_whose_certificate_is_unknown_is_not_asked(certificate: Path) -> None:
    with provider(certificate, http(b'{"matches": []}')) as (url, api):
        with pytest.raises(ManifestsUnavailable, match="does not answer"):
            open_manifests(url, ALG)((1,))
        assert api.requests == []

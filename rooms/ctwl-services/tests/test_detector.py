"""A provider's detector as a service: what it answers, what it refuses, what it bounds."""

from __future__ import annotations

import json
import logging
import pydoc_data.topics
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Timer
from types import SimpleNamespace
from typing import Any

import httpx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from running_service import started
from scipy import stats
from test_signposts import OFFLINE, RECORDED
from transformers import WatermarkDetector, WatermarkingConfig

from ctwl_decoder import Decoder
from ctwl_protocol.asking import Answer, Question
from ctwl_protocol.profile import TOY
from ctwl_protocol.proxy import open_proxy
from ctwl_services.detector import p_values
from ctwl_services.detector.app import create_app
from ctwl_services.detector.command import main
from ctwl_services.detector.detect import Detector, Finding
from ctwl_services.detector.philox import CONTEXT, context_of, philox_words
from ctwl_services.detector.rates import Rates
from ctwl_services.detector.settings import Ctwl, Gumbel, Program, read_settings
from ctwl_services.errors import DetectorFailed, DetectorMalformed, RateExceeded, RequestCancelled, ServiceClosing
from ctwl_services.serve.limits import Limits

TEXT = "The council met on Tuesday and talked about the bridge, the school and the weather."
PLAIN = " ".join(pydoc_data.topics.topics["exceptions"].split()[:40])
TOKEN = "c2VjcmV0LXRva2VuLTEyMzQ"


class Played(Detector):
    """A detector that finds what its test wants."""

    def __init__(self, found: Finding, **settings: Any) -> None:
        self.settings = Program(provider=700, kind="command", command=["none"], **settings)
        self._model_thread = ThreadPoolExecutor(1)
        self._detect = lambda *_: found


@contextmanager
def serving(
    detector: Detector, *, tokens: tuple[str, ...] = (), rate: float = 6000, **limits: float
) -> Iterator[httpx.Client]:
    given = Limits(**limits)  # type: ignore[arg-type]
    with started(create_app(detector, given, tokens=tokens, per_minute=rate), given) as (_, client):
        yield client


def question(**changed: Any) -> dict[str, Any]:
    return {"format": "ctwl-question/1", "provider": 700, "text": TEXT, "level": 1e-4, "keep_days": 0} | changed


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with serving(Played(Finding(error_rate=1e-9, places=[(0, 11)], says="ours"), measured=False)) as found:
        yield found


def test_a_question_is_answered(client: httpx.Client) -> None:
    reply = client.post("/", json=question())
    assert (reply.status_code, reply.headers["content-type"]) == (200, "application/json")
    answer = Answer.from_bytes(reply.content, Question(**question()))
    assert (answer.outcome, answer.basis, answer.error_rate, answer.measured) == ("found", ("watermark",), 1e-9, False)
    assert (answer.places, answer.kept_days, answer.says) == (((0, 11),), 0, "ours")
    assert client.post("/", json=question(level=1e-12)).json()["outcome"] == "none"


def test_people_see_a_line_and_operators_what_they_need(client: httpx.Client) -> None:
    assert "provider 700" in client.get("/").text
    assert client.get("/healthz").json() == {"status": "ok"} and client.get("/readyz").json() == {"status": "ready"}
    for path, provider in (("/", 700), ("/", 701), ("/other", 700)):
        client.post(path, json=question(provider=provider))
    metrics = client.get("/metrics").text
    assert 'ctwl_answers_total{outcome="found"}' in metrics and "council" not in metrics
    assert all(f'ctwl_rejected_total{{reason="{each}"}}' in metrics for each in ("provider-unknown", "not-found"))


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        ({"json": question(provider=701)}, 422, "provider-unknown"),
        ({"json": question(format="ctwl-question/2")}, 400, "format-unknown"),
        ({"content": b"{", "headers": {"content-type": "application/json"}}, 400, "question-malformed"),
        ({"content": b"text", "headers": {"content-type": "text/plain"}}, 415, "unsupported-type"),
        ({"content": b"text"}, 415, "unsupported-type"),
        ({"json": question(), "headers": {"content-encoding": "gzip"}}, 415, "unsupported-type"),
        ({"json": question(), "headers": {"sec-fetch-site": "cross-site"}}, 403, "foreign-origin"),
        ({"json": question(text="a" * 20_001)}, 413, "input-too-large"),
        ({"json": question(text="a" * (1 << 19))}, 413, "input-too-large"),
    ],
)
def test_what_is_no_question_is_refused(client: httpx.Client, sent: dict[str, Any], status: int, code: str) -> None:
    reply = client.post("/", **sent)
    assert (reply.status_code, reply.json()["code"]) == (status, code)


def test_other_addresses_and_methods_are_refused(client: httpx.Client) -> None:
    assert client.put("/", json=question()).status_code == 405
    assert client.post("/other", json=question()).status_code == client.get("/docs").status_code == 404


def test_those_alone_who_have_a_token_are_answered() -> None:
    with serving(Played(Finding(error_rate=0.5)), tokens=(TOKEN,)) as client:
        for given in ("", "Bearer other", TOKEN, f"Basic {TOKEN}"):
            reply = client.post("/", json=question(), headers={"authorization": given} if given else {})
            assert (reply.status_code, reply.json()["code"]) == (401, "token-refused")
            assert reply.headers["www-authenticate"] == "Bearer"
        assert client.post("/", json=question(), headers={"authorization": f"bearer {TOKEN}"}).status_code == 200


def test_one_asker_asks_so_often_and_no_more() -> None:
    with serving(Played(Finding(error_rate=0.5)), rate=3) as client:
        replies = [client.post("/", json=question()) for _ in range(4)]
    assert [reply.status_code for reply in replies] == [200, 200, 200, 429]
    assert replies[3].json()["code"] == "rate-exceeded"
    assert 15 <= int(replies[3].headers["retry-after"]) <= 20  # one comes back every 20 seconds


def test_an_allowance_comes_back_and_others_have_their_own() -> None:
    now = 0.0
    rates = Rates(2, lambda: now)
    rates.take("a")
    rates.take("a")
    with pytest.raises(RateExceeded) as refused:
        rates.take("a")
    assert refused.value.after == 30
    rates.take("b")
    now = 31.0
    rates.take("a")
    with pytest.raises(RateExceeded):
        rates.take("a")
    for number in range(30_000):
        rates.take(f"asker {number}")
    assert len(rates._left) <= 10_001


def test_a_text_is_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    class Failing(Played):
        def answer(self, question: Question, given_up: Event | None = None) -> Answer:
            raise RuntimeError(question.text)

    caplog.set_level(logging.DEBUG)
    with serving(Failing(Finding(error_rate=0.5))) as client:
        reply = client.post("/", json=question(text="secret words"))
    assert reply.status_code == 500 and "secret" not in reply.text
    assert all("secret" not in record.getMessage() for record in caplog.records) and "RuntimeError" in caplog.text


# Kinds.


def test_what_keeps_texts_says_so() -> None:
    detector = Played(Finding(error_rate=None), keeps_days=30)
    with serving(detector) as client:
        reply = client.post("/", json=question())
        assert (reply.status_code, reply.json()["code"]) == (422, "keep-refused")
        assert client.post("/", json=question(keep_days=30)).json()["kept_days"] == 30


@pytest.mark.parametrize(
    ("prints", "outcome"),
    [
        ("{'error_rate': 1e-9, 'places': [[0, 5]], 'says': 'ours'}", "found"),
        ("{'error_rate': 0.3}", "none"),
        ("{'error_rate': None, 'says': 'too short'}", "unable"),
        ("{'error_rate': 2}", None),
        ("{'error_rate': 1e-9, 'places': [[0, 5000]]}", None),
        ("{'error_rate': 1e-9, 'places': [[5, 0]]}", None),
        ("{}", None),
        ("'words'", None),
        ("1/0", None),
    ],
)
def test_a_command_of_the_providers_own(prints: str, outcome: str | None) -> None:
    script = f"import json, sys; assert sys.stdin.read() and float(sys.argv[-1]) == 1e-4; print(json.dumps({prints}))"
    settings = Program(provider=700, kind="command", command=[sys.executable, "-c", script])
    if outcome is None:
        with pytest.raises(DetectorFailed):
            Detector(settings).answer(Question(**question()))
    else:
        answer = Detector(settings).answer(Question(**question()))
        assert (answer.outcome, answer.measured) == (outcome, None if outcome == "unable" else True)


@pytest.mark.parametrize("command", [["/nowhere/at/all"], [sys.executable, "-c", "import time; time.sleep(60)"]])
def test_a_command_that_fails_or_hangs(command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctwl_services.detector.detect.SECONDS", 0.3)
    with serving(Detector(Program(provider=700, kind="command", command=command))) as client:
        reply = client.post("/", json=question())
    assert (reply.status_code, reply.json()["code"]) == (503, "detector-failed")


def test_a_profile_finds_its_providers_own_codes() -> None:
    marked, settings = RECORDED.read_text(encoding="utf-8"), {"kind": "ctwl", "profile": OFFLINE, "light": True}
    ours, others = Detector(Ctwl(provider=700, **settings)), Detector(Ctwl(provider=42, **settings))
    asked = Question(provider=700, text=marked, level=1e-4)
    answer = ours.answer(asked)
    report = Decoder(open_proxy(OFFLINE)).decode(marked, score="light", beacons=[(700, each) for each in range(16)])
    assert (answer.outcome, answer.error_rate) == ("found", report.p_value) and answer.places
    assert others.answer(asked.model_copy(update={"provider": 42})).outcome == "none"
    assert ours.answer(asked.model_copy(update={"text": "Hello."})).outcome == "unable"


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit

    folder = tmp_path_factory.mktemp("tokenizer")
    made = Tokenizer(WordLevel({f"w{i}": i for i in range(512)} | {"?": 512}, unk_token="?"))
    made.pre_tokenizer = WhitespaceSplit()
    made.save(str(folder / "tokenizer.json"))
    return folder


def test_what_vllm_draws_is_found_under_its_key(tokenizer: Path) -> None:
    rng, ids = np.random.default_rng(1), list[int]()
    for _ in range(60):  # of 16 likely tokens, the one that vLLM would draw
        likely = rng.choice(512, 16, replace=False)
        words = philox_words(99, np.array([context_of(ids[-CONTEXT:])]), np.arange(128)[None]).reshape(-1)
        ids.append(int(likely[words[likely].argmax()]))
    text = " ".join(f"w{each}" for each in ids)
    for key, outcome in ((99, "found"), (98, "none")):
        detector = Detector(Gumbel(provider=700, kind="gumbel", tokenizer=str(tokenizer), key=key))
        answer = detector.answer(Question(provider=700, text=text, level=1e-6))
        assert (answer.outcome, answer.error_rate) == (outcome, p_values.gumbel(ids, key))


@pytest.mark.parametrize(
    "settings",
    [
        {"kind": "kgw", "hashing_key": 15485863},
        {"kind": "synthid", "keys": [654, 400, 836, 123, 340, 443, 597, 160, 57, 29]},
        {"kind": "gumbel", "key": 1234567},
    ],
)
def test_each_kind_answers_any_text(tokenizer: Path, tmp_path: Path, settings: dict[str, Any]) -> None:
    (tmp_path / "ours.json").write_text(json.dumps({"provider": 700, "tokenizer": str(tokenizer), **settings}))
    detector = Detector(read_settings(str(tmp_path / "ours.json")))
    rng = np.random.default_rng(3)
    for words in (1, 3, 100, 900):
        text = " ".join(f"w{each}" for each in rng.integers(512, size=words))
        answer = detector.answer(Question(provider=700, text=text, level=1e-6))
        assert answer.outcome == ("none" if words > 3 else answer.outcome) and answer.outcome != "found"
    assert detector.answer(Question(provider=700, text="w1 " * 900, level=1e-6)).outcome != "found"


KGW = WatermarkingConfig(hashing_key=15485863)


def test_a_list_that_repeats_itself_is_evidence_once() -> None:
    """Of human texts, few words again and again: before transformers 5.20 its own detector found a sixth of these."""
    rng = np.random.default_rng(7)
    found = [p_values.kgw(rng.integers(512, size=6).tolist() * 30, KGW, 512) for _ in range(40)]
    assert all(p is not None and p > 0.001 for p in found)
    assert p_values.kgw([*range(6)] * 30, KGW, 512) == p_values.kgw([*range(6), 0], KGW, 512)


@pytest.mark.parametrize("scheme", ["lefthash", "selfhash"])
def test_what_transformers_detector_counts_is_counted(scheme: str) -> None:
    config = WatermarkingConfig(hashing_key=15485863, seeding_scheme=scheme, context_width=2)
    ids = np.random.default_rng(1).integers(512, size=150).tolist()
    model = SimpleNamespace(vocab_size=512, bos_token_id=-1, is_encoder_decoder=False)
    theirs = WatermarkDetector(model, "cpu", config)(torch.tensor([ids]), return_dict=True)
    scored, green = int(theirs.num_tokens_scored[0]), int(theirs.num_green_tokens[0])
    assert p_values.kgw(ids, config, 512) == stats.binom.sf(green - 1, scored, 0.25)


@pytest.mark.parametrize(
    "told",
    [b"{", b"{}", b'{"provider": 700}', b'{"provider": 700, "kind": "other"}',
     b'{"provider": 1024, "kind": "command", "command": ["x"]}', b'{"provider": 1, "kind": "gumbel", "key": 1}',
     b'{"provider": 1, "kind": "synthid", "tokenizer": "x", "keys": [1]}'],
)  # fmt: skip
def test_a_file_that_describes_no_detector_ends_the_command(
    told: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ours.json").write_bytes(told)
    assert main([str(tmp_path / "ours.json"), "--port", "0"]) == 2
    assert "detector-malformed" in capsys.readouterr().err


@given(st.binary(max_size=200))
def test_any_bytes_are_settings_or_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / "settings"
    file.write_bytes(data)
    with pytest.raises(DetectorMalformed):
        read_settings(str(file))


def test_a_text_of_too_many_tokens_is_refused_as_by_the_service() -> None:
    with serving(Detector(Ctwl(provider=700, kind="ctwl", profile=OFFLINE, light=True), 100)) as client:
        reply = client.post("/", json=question(text=TEXT * 20))
    assert (reply.status_code, reply.json()["code"]) == (413, "input-too-large")


def test_a_question_that_was_given_up_takes_no_turn_of_the_language_model() -> None:
    detector, given_up = Detector(Ctwl(provider=700, kind="ctwl", profile=TOY)), Event()
    assert detector.answer(Question(**question(text=PLAIN))).outcome == "none"
    given_up.set()
    with pytest.raises(RequestCancelled):
        detector.answer(Question(**question(text=PLAIN)), given_up)
    detector.close()
    with pytest.raises(ServiceClosing):
        detector.answer(Question(**question(text=PLAIN)))


def test_a_command_that_takes_a_while_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctwl_services.detector.detect._LOOK", 0.1)
    code = "import sys, time; n = len(sys.stdin.read()); time.sleep(0.4); print('{\"error_rate\": 1e-9}', end='')"
    detector = Detector(Program(provider=700, kind="command", command=[sys.executable, "-c", code]))
    assert detector.answer(Question(**question(text="a" * 20_000))).outcome == "found"


def test_a_command_for_which_nobody_waits_is_ended() -> None:
    command = [sys.executable, "-c", "import time; time.sleep(600)"]
    given_up = Event()
    detector = Detector(Program(provider=700, kind="command", command=command))
    Timer(0.2, given_up.set).start()
    with pytest.raises(RequestCancelled):
        detector.answer(Question(**question()), given_up)


def test_what_cannot_be_loaded_ends_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "ours.json").write_text('{"provider": 700, "kind": "gumbel", "tokenizer": "/nowhere", "key": 1}')
    assert main([str(tmp_path / "ours.json"), "--port", "0"]) == 2
    assert "cannot read the tokenizer" in capsys.readouterr().err
    for bad in ("short\n", "a token with spaces in it\n", "pr\u00fcfschl\u00fcssel-von-uns\n"):
        (tmp_path / "tokens").write_text(bad, encoding="utf-8")
        assert main([str(tmp_path / "ours.json"), "--port", "0", "--bearer", str(tmp_path / "tokens")]) == 2
        assert "option-out-of-range" in capsys.readouterr().err
    for options in (["--bearer", str(tmp_path / "tokens")], ["--rate", "0"], ["--max-working", "0"]):
        assert main([str(tmp_path / "ours.json"), "--port", "0", *options]) == 2
        assert "option-out-of-range" in capsys.readouterr().err

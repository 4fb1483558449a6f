"""The plug-in on a real vLLM server, as clients meet it: ``make test-vllm`` runs this in an environment of its own.

The server marks every request for provider 42. Requests may say otherwise, but not to the one that is crowded. It is
tried with both model runners.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import platformdirs
import pytest
import torch

from ctwl_decoder import Decoder, Report
from ctwl_encoder.models import load_model
from ctwl_engines.policy import Policy
from ctwl_operations.audit.summary import Summary

pytest.importorskip("vllm", reason="the plug-in is tested in an environment of its own: make test-vllm")
openai = pytest.importorskip("openai")
httpx = pytest.importorskip("httpx")  # which openai brings

from vllm.triton_utils import HAS_TRITON  # noqa: E402

PROFILE = "org.ctwl.smollm2-135m.1"
PROMPTS = [
    "The council said on Tuesday that the new bridge over the river would",
    "Farmers in the north of the state are waiting for rain after",
    "The minister told reporters that the budget",
    "Police are looking for witnesses of an accident that happened near the school on Friday, when",
    "Scientists at the university have found a way to",
    "The wheat board expects a better season after a difficult year, but",
]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SmolLM2 as transformers saves a model: what a provider has."""
    path = tmp_path_factory.mktemp("smollm2")
    model, tokenizer = load_model("smollm2")
    model.config.bos_token_id, model.config.eos_token_id = 1, 2
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


@pytest.fixture(scope="session")
def decoder() -> Decoder:
    return Decoder.open(PROFILE)


def serve(folder: Path, *options: str, told: dict[str, Any] | None = None, **environment: str) -> Iterator[Any]:
    """A client of a server, which has the server's process as ``process``, and the file of its output as ``output``."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    told = {"ctwl": {"provider": 42, "version": 3, "profile": PROFILE, **(told or {"clients": "any"})}}
    command = [
        sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(folder), "--port", str(port),
        "--served-model-name", "smollm2", "--dtype", "bfloat16", "--max-model-len", "512", "--max-num-seqs", "8",
        "--enforce-eager", "--additional-config", json.dumps(told), *options,
    ]  # fmt: skip
    log = folder / f"server-{port}.log"
    with log.open("w") as output:
        server = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            env={**os.environ, "VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1", **environment},
        )  # fmt: skip
    # A server ends a connection that was idle for five seconds, perhaps while the next request is on its way.
    alone = {"connection": "close"}
    client = openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="none", max_retries=0, default_headers=alone)
    client.process, client.output = server, log
    try:
        deadline = time.monotonic() + 600
        while True:
            try:
                client.models.list()
                break
            except openai.OpenAIError:
                if server.poll() is not None or time.monotonic() > deadline:
                    pytest.fail(log.read_text()[-6000:])
                time.sleep(1)
        yield client
    finally:
        server.terminate()
        server.wait(60)


@pytest.fixture(scope="module", params=["V1", "V2"])
def client(request: pytest.FixtureRequest, folder: Path) -> Iterator[Any]:
    if request.param == "V1":
        yield from serve(folder, "--no-async-scheduling", VLLM_USE_V2_MODEL_RUNNER="0")
    elif not HAS_TRITON:
        pytest.skip("model runner V2 needs Triton for this platform; see test_model_runners.py for its interface")
    else:
        yield from serve(folder, VLLM_USE_V2_MODEL_RUNNER="1")


def test_a_server_says_once_at_its_start_what_it_marks(client: Any) -> None:
    said = [line for line in client.output.read_text().splitlines() if "the mark is" in line]
    told = Policy(provider=42, version=3, profile=PROFILE, clients="any")
    assert len(said) == 1 and said[0].endswith(f"] ctwl: {told.in_words}")


@pytest.mark.parametrize("command", ["api_server", "run_batch"])
def test_a_command_that_was_told_wrongly_ends_with_what_to_change_before_a_model_is_loaded(
    folder: Path, tmp_path: Path, command: str
) -> None:
    told = {"ctwl": {"provider": 42, "version": 3, "profile": PROFILE, "log": str(tmp_path / "nowhere" / "ctwl.log")}}
    batch = ["-i", str(tmp_path / "batch"), "-o", str(tmp_path / "answers")] if command == "run_batch" else []
    (tmp_path / "batch").touch()
    ended = subprocess.run(
        [sys.executable, "-m", f"vllm.entrypoints.openai.{command}", *batch, "--model", str(folder),
         "--additional-config", json.dumps(told)],
        capture_output=True, text=True, timeout=300, check=False, env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    *before, last = ended.stderr.strip().splitlines()
    assert ended.returncode == 1 and last.startswith("ctwl: option-out-of-range: cannot write the log")
    assert not any(word in line for line in (*before, ended.stdout) for word in ("Traceback", "EngineCore"))


def write(client: Any, prompt: str, **options: Any) -> str:
    answer = client.completions.create(
        model="smollm2", prompt=prompt, **{"max_tokens": 260, "temperature": 1.0, "seed": 5, **options}
    )  # fmt: skip
    return "".join(part.choices[0].text for part in (answer if options.get("stream") else [answer]))


def found(report: Report) -> tuple[int | None, int | None]:
    return report.provider, report.version


def read_back(client: Any, decoder: Decoder, prompt: str, **options: Any) -> tuple[str, Report]:
    """A text of the server and its report, of the last of three texts if the others show nothing.

    Chance decides how much a text has to choose from, and so whether it shows its mark; some say one thing again and
    again. A mark that is not written is missing in all three.
    """
    seed = options.pop("seed", 5)
    for attempt in range(3):
        text = write(client, prompt, **options, seed=None if seed is None else seed + attempt)
        report = decoder.decode(text)
        if report.detected:
            break
    return text, report


def test_a_client_that_knows_nothing_gets_marked_text(client: Any, decoder: Decoder) -> None:
    """Several at once, so that rows come, go and move; one of them as a stream."""

    def ask(prompt: str, length: int) -> Report:
        how = {"max_tokens": length, "stream": prompt == PROMPTS[0], "extra_body": {"ignore_eos": True}}
        return read_back(client, decoder, prompt, **how)[1]

    with ThreadPoolExecutor(6) as pool:
        reports = list(pool.map(ask, PROMPTS, [220, 280, 240, 230, 260, 250]))
    assert [found(report) for report in reports] == [(42, 3)] * 6


def test_requests_side_by_side_carry_records_of_their_own(client: Any, decoder: Decoder) -> None:
    records = [(7, 1), (500, 2), (1023, 15), (0, 0), (64, 8)]

    def ask(prompt: str, record: tuple[int, int]) -> Report:
        share = 0.8 if record == records[-1] else 0.5
        told = {"ctwl_provider": record[0], "ctwl_version": record[1], "ctwl_share": share}
        return read_back(client, decoder, prompt, extra_body={"vllm_xargs": told, "ignore_eos": True})[1]

    with ThreadPoolExecutor(6) as pool:
        off = pool.submit(write, client, PROMPTS[5], extra_body={"vllm_xargs": {"ctwl_strategy": "off"}})
        reports = list(pool.map(ask, PROMPTS, records))
    assert [found(report) for report in reports] == records
    assert not decoder.decode(off.result()).detected


def test_the_alternatives_of_one_request_differ(client: Any, decoder: Decoder) -> None:
    """By a large share a nonce decides most of a text, so each has one of its own."""
    told = {"vllm_xargs": {"ctwl_share": 0.9}, "ignore_eos": True}
    answer = client.completions.create(
        model="smollm2", prompt=PROMPTS[2], max_tokens=200, temperature=1.0, n=3, extra_body=told
    )  # fmt: skip
    reports = [decoder.decode(choice.text) for choice in answer.choices]
    assert [found(report) for report in reports] == [(42, 3)] * 3
    assert len({report.nonce for report in reports}) == 3


@pytest.mark.parametrize(
    "options",
    [{"temperature": 0.8, "top_p": 0.95}, {"temperature": 1.2, "extra_body": {"top_k": 50}}],
    ids=["top-p", "top-k"],
)
def test_truncated_sampling_carries_too(client: Any, decoder: Decoder, options: dict[str, Any]) -> None:
    body = {"ignore_eos": True, **options.get("extra_body", {})}
    _, report = read_back(client, decoder, PROMPTS[1], max_tokens=300, **{**options, "extra_body": body})
    assert found(report) == (42, 3)


def test_greedy_requests_are_marked_with_delta(client: Any, decoder: Decoder) -> None:
    body = {"repetition_penalty": 1.2, "vllm_xargs": {"ctwl_delta": 4.0}, "ignore_eos": True}
    _, report = read_back(client, decoder, PROMPTS[4], temperature=0.0, extra_body=body)
    assert found(report) == (42, 3)


def test_a_record_that_cannot_be_written_is_refused(client: Any) -> None:
    with pytest.raises(openai.BadRequestError, match="provider"):
        write(client, PROMPTS[0], extra_body={"vllm_xargs": {"ctwl_provider": 1024}})


@pytest.fixture(scope="module")
def even(folder: Path) -> Path:
    """The same model with heads of zeros added, so that two workers can share them: it has 9, of which 3 have keys."""
    path = folder.parent / "smollm2-even"
    path.mkdir()
    model, tokenizer = load_model("smollm2")
    config = copy.deepcopy(model.config)
    config.num_attention_heads, config.num_key_value_heads, config.head_dim = 12, 4, 64
    config.bos_token_id, config.eos_token_id = 1, 2
    tensors = model.state_dict()
    for name, tensor in tensors.items():
        part = name.split(".")[-2]
        if part in ("q_proj", "k_proj", "v_proj", "o_proj"):
            more = 3 * 64 if part in ("q_proj", "o_proj") else 64
            added = (0, more) if part == "o_proj" else (0, 0, 0, more)
            tensors[name] = torch.nn.functional.pad(tensor, added)
    type(model).from_pretrained(None, config=config, state_dict=tensors).save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


@pytest.mark.skipif("CTWL_SLOW" not in os.environ, reason="two workers on two cores take minutes: set CTWL_SLOW=1")
def test_two_workers_of_one_model_agree_on_the_mark(even: Path, decoder: Decoder) -> None:
    """Each samples by itself. If one drew another token, the model would go on from a text that nobody wrote."""
    ways: list[dict[str, Any]] = [
        {"max_tokens": 150, "temperature": 1.0, "seed": None},
        {"max_tokens": 100, "temperature": 1.0, "extra_body": {"vllm_xargs": {"ctwl_share": 0.8}}},
        {"temperature": 0.0, "extra_body": {"vllm_xargs": {"ctwl_delta": 4.0}, "repetition_penalty": 1.2}},
    ]
    two = ("--tensor-parallel-size", "2", "--no-async-scheduling")
    for client in serve(even, *two, VLLM_USE_V2_MODEL_RUNNER="0", VLLM_CPU_OMP_THREADS_BIND="nobind"):

        def ask(prompt: str, way: dict[str, Any], client: Any = client) -> tuple[str, Report]:
            body = {"ignore_eos": True, **way.get("extra_body", {})}
            return read_back(client, decoder, prompt, **{**way, "extra_body": body})

        with ThreadPoolExecutor(3) as pool:
            read = list(pool.map(ask, PROMPTS, ways))
    assert [found(report) for _, report in read] == [(42, 3)] * 3
    assert max(surprise(prompt, text) for prompt, (text, _) in zip(PROMPTS, read, strict=False)) < 6


def surprise(prompt: str, text: str) -> float:
    """Nats a token of a text under the model; the model's own texts have 2 to 5."""
    model, tokenizer = load_model("smollm2")
    before, ids = len(tokenizer(prompt)["input_ids"]), tokenizer(prompt + text, return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        nats = -model(ids).logits[0, :-1].log_softmax(-1).gather(1, ids[0, 1:, None])[before - 1 :]
    return float(nats.mean())


def test_speculative_decoding_which_v1_does_not_mark_is_refused(folder: Path) -> None:
    """A clear answer instead of text without its mark."""
    speculative = json.dumps({"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 4})
    for client in serve(folder, "--speculative-config", speculative, VLLM_USE_V2_MODEL_RUNNER="0"):
        with pytest.raises(openai.BadRequestError, match="speculative"):
            write(client, PROMPTS[0])
        assert write(client, PROMPTS[0], max_tokens=5, extra_body={"vllm_xargs": {"ctwl_strategy": "off"}})


UNSEEDED: dict[str, Any] = {"max_tokens": 240, "seed": None, "extra_body": {"ignore_eos": True}}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("log") / "ctwl.log"


@pytest.fixture(scope="module")
def crowded(folder: Path, log: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A server with memory for some 900 tokens, which reads prompts 64 tokens at a time, and leaves clients nothing.

    On a CPU, vLLM's model runner V1 fails where a prompt with a seed is read in pieces, so these requests have none.
    """
    options = ("--block-size", "32", "--num-gpu-blocks-override", "28", "--max-num-batched-tokens", "64")
    counters = str(tmp_path_factory.mktemp("counters"))
    told = {"clients": "none", "log": str(log), "fixed_forms": True}
    environment = {"VLLM_USE_V2_MODEL_RUNNER": "0", "PROMETHEUS_MULTIPROC_DIR": counters}
    yield from serve(folder, *options, "--no-async-scheduling", told=told, **environment)


REAL = platformdirs.user_cache_path("ctwl-evaluation") / "qwen2.5-coder-0.5b"
"""A model with a vocabulary of 151,936 tokens, which ``python -m evaluation.shared.real_models`` fetches."""


@pytest.mark.skipif(not REAL.exists(), reason="python -m evaluation.shared.real_models has never made this model")
def test_a_chat_with_a_model_of_a_large_vocabulary(tmp_path: Path) -> None:
    """One seed and one nonce give one text, in one piece, as a stream, and up to a stop; a form is kept to."""
    model, log = tmp_path / "model", tmp_path / "ctwl.log"
    model.mkdir()
    for file in REAL.iterdir():
        (model / file.name).symlink_to(file)
    asked = {"model": "smollm2", "messages": [{"role": "user", "content": "How do bees make honey?"}], "max_tokens": 24}
    same = {"temperature": 0.7, "top_p": 0.95, "seed": 5, "extra_body": {"vllm_xargs": {"ctwl_nonce": 7}}}
    schema = {"type": "object", "properties": {"honey": {"type": "boolean"}}, "required": ["honey"]}
    told = {"clients": {"nonce": "any"}, "log": str(log)}
    for client in serve(model, "--no-async-scheduling", told=told, VLLM_USE_V2_MODEL_RUNNER="0"):
        ask = client.chat.completions.create
        whole = ask(**asked, **same)
        text = whole.choices[0].message.content
        stream = ask(**asked, **same, stream=True)
        assert "".join(part.choices[0].delta.content or "" for part in stream) == text
        word = text.split()[4]
        assert ask(**asked, **same, stop=[word]).choices[0].message.content == text[: text.index(word)]
        form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
        fixed = ask(**asked, **same, response_format=form)
        assert json.loads(fixed.choices[0].message.content).keys() == {"honey"}
        several = ask(**asked, temperature=0.7, n=2)
        assert len({choice.message.content for choice in several.choices}) == 2
        ask(**asked)  # V1 notes an end at its next step
        lines = [json.loads(line) for line in log.read_text().splitlines()]
    events = {
        answer.id: [line["event"] for line in lines if line.get("request") == hashed(answer.id)]
        for answer in (whole, fixed, several)
    }
    assert list(events.values()) == [["begin", "end"], ["unmarked"], ["begin"] * 2 + ["end"] * 2]


def hashed(name: str) -> str:
    """A request's name, as the log has it."""
    return hashlib.sha256(name.encode()).hexdigest()[:32]


def counter(client: Any, name: str) -> float:
    """The sum of a counter in the server's metrics."""
    lines = httpx.get(f"{str(client.base_url).removesuffix('/v1/')}/metrics").text.splitlines()
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith((f"{name}{{", f"{name} ")))


def test_requests_that_were_put_off_and_taken_up_again_are_marked(crowded: Any, decoder: Decoder) -> None:
    """The engine drops what it knows of a request that finds no memory, and reads its text again later."""
    with ThreadPoolExecutor(6) as pool:
        read = list(pool.map(lambda prompt: read_back(crowded, decoder, prompt, **UNSEEDED), PROMPTS))
    assert [found(report) for _, report in read] == [(42, 3)] * 6
    assert counter(crowded, "vllm:num_preemptions_total") > 0
    assert counter(crowded, "ctwl_marked_steps_total") > 6 * 200


def test_a_long_prompt_is_read_in_pieces_and_then_from_the_cache(crowded: Any, decoder: Decoder) -> None:
    prompt = " ".join(PROMPTS * 2)
    before = counter(crowded, "vllm:prefix_cache_hits_total")
    (first, one), (second, other) = (read_back(crowded, decoder, prompt, **UNSEEDED) for _ in range(2))
    assert found(one) == found(other) == (42, 3)
    assert first != second
    assert counter(crowded, "vllm:prefix_cache_hits_total") >= before + 128


def test_a_grammar_stands_over_the_mark(crowded: Any, decoder: Decoder) -> None:
    """What it forbids is never written, and what it leaves free carries the code."""
    choice = {"structured_outputs": {"choice": ["the river", "the state"]}}
    assert write(crowded, PROMPTS[0], seed=None, extra_body=choice) in choice["structured_outputs"]["choice"]
    letters = {"structured_outputs": {"regex": "[a-z ]{1500}"}}
    text, report = read_back(crowded, decoder, PROMPTS[3], max_tokens=400, seed=None, extra_body=letters)
    assert set(text) <= set("abcdefghijklmnopqrstuvwxyz ")
    assert found(report) == (42, 3)


def test_without_the_operators_word_a_fixed_form_is_not_marked(client: Any, decoder: Decoder) -> None:
    letters = {"structured_outputs": {"regex": "[a-z ]{1500}"}}
    text, report = read_back(client, decoder, PROMPTS[3], max_tokens=400, seed=None, extra_body=letters)
    assert set(text) <= set("abcdefghijklmnopqrstuvwxyz ")
    assert found(report) == (None, None)


def test_a_client_that_leaves_harms_no_other(crowded: Any, decoder: Decoder) -> None:
    with ThreadPoolExecutor(2) as pool:
        other = pool.submit(read_back, crowded, decoder, PROMPTS[4], **UNSEEDED)
        for _ in range(3):
            stream = crowded.completions.create(model="smollm2", prompt=PROMPTS[5], max_tokens=400, stream=True)
            for _, part in zip(range(20), stream, strict=False):
                assert part.choices
            stream.close()
        assert found(other.result()[1]) == (42, 3)
    assert found(read_back(crowded, decoder, PROMPTS[1], **UNSEEDED)[1]) == (42, 3)


@pytest.mark.parametrize("told", [{"ctwl_strategy": "off"}, {"ctwl_layout": 3, "ctwl_codes": [1, 2, 3]}], ids=str)
def test_nothing_is_left_to_clients_unless_the_operator_says_so(crowded: Any, told: dict[str, Any]) -> None:
    """The tests around this one read the operator's record from what this server writes."""
    with pytest.raises(openai.BadRequestError, match=r"not left to clients.* choose nothing"):
        write(crowded, PROMPTS[0], extra_body={"vllm_xargs": told})
    for wrong in (told, {"extra_body": {"vllm_xargs": told}}):
        with pytest.raises(openai.BadRequestError, match="has no effect"):
            write(crowded, PROMPTS[0], extra_body=wrong)


def test_beam_search_which_is_not_marked_is_refused(crowded: Any) -> None:
    with pytest.raises(openai.BadRequestError, match="beam search cannot be marked"):
        write(crowded, PROMPTS[0], max_tokens=5, n=2, temperature=0.0, extra_body={"use_beam_search": True})


def test_a_server_that_is_killed_has_noted_each_text(crowded: Any, log: Path) -> None:
    """The last test of this server. The plug-in learns a step later than the client that an answer is finished."""
    answered: list[str] = []

    def ask(number: int) -> None:
        with contextlib.suppress(openai.OpenAIError):
            for _ in range(20):
                messages = [{"role": "user", "content": PROMPTS[number % 6]}]
                answer = crowded.chat.completions.create(
                    model="smollm2", messages=messages, max_tokens=10 + number, temperature=1.0,
                )  # fmt: skip
                answered.append(answer.id)

    with ThreadPoolExecutor(30) as pool:
        asking = [pool.submit(ask, number) for number in range(30)]
        while len(answered) < 20 and not all(each.done() for each in asking):
            time.sleep(0.05)
        os.killpg(crowded.process.pid, signal.SIGKILL)
    assert len(answered) >= 20
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]  # none is cut off
    begun, ended = ({line["request"] for line in lines if line["event"] == event} for event in ("begin", "end"))
    names = set(map(hashed, answered))
    assert names <= begun and names & ended
    summary = Summary.of(log.read_bytes().splitlines())
    assert summary.complete and next(iter(summary.written))[:3] == (PROFILE, 42, 3)
    assert any(line["event"] == "again" for line in lines)  # a text was put off

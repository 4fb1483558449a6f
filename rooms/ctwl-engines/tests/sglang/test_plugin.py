"""The plug-in in the modules of a real SGLang, on a GPU where there is one.

Its plug-in framework, requests, batches, sampler, and its model runner's way from logits to tokens are real. Its
attention needs kernels of its own, so transformers runs the model. Its scheduler and its tokenizer manager need workers
and sockets, so of these the methods with hooks alone are real.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import json
import logging
from array import array
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

pytest.importorskip("sglang", reason="the plug-in is tested in an environment of its own: make test-sglang")
pytest.importorskip("stand_ins")  # before SGLang

import torch
from sglang.srt.layers.logits_processor import LogitsProcessorOutput
from sglang.srt.layers.sampler import Sampler, top_k_top_p_min_p_sampling_from_probs_torch
from sglang.srt.managers.io_struct import TokenizedGenerateReqInput
from sglang.srt.managers.schedule_batch import FINISH_LENGTH, Req
from sglang.srt.managers.scheduler import Scheduler
from sglang.srt.managers.tokenizer_manager import TokenizerManager
from sglang.srt.model_executor.forward_batch_info import CaptureHiddenMode, ForwardBatch, ForwardMode
from sglang.srt.model_executor.model_runner import ModelRunner
from sglang.srt.plugins import load_plugins
from sglang.srt.plugins.hook_registry import HookRegistry
from sglang.srt.runtime_context import get_context, get_parallel
from sglang.srt.sampling.sampling_batch_info import SamplingBatchInfo
from sglang.srt.sampling.sampling_params import TOP_K_ALL, SamplingParams
from sglang.srt.server_args import ServerArgs

from ctwl_decoder import Decoder, Report
from ctwl_encoder.core.strategies import Strategy
from ctwl_encoder.errors import OptionOutOfRange
from ctwl_encoder.models import load_model
from ctwl_engines.note import Note
from ctwl_engines.sglang import plugin
from ctwl_operations.audit.summary import Summary

PROFILE = "org.ctwl.smollm2-135m.1"
PROMPTS = ["The council said on Tuesday that the new bridge", "Farmers in the north are waiting for rain after"]
SIZE = 49152
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Bare(SimpleNamespace):
    """Has what it was given, and None for all else."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return None


class Runner(Bare, ModelRunner):
    """The real model runner, without a model."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tokenizer")
    load_model("smollm2")[1].save_pretrained(path)
    return path


@pytest.fixture(scope="module", autouse=True)
def engine(folder: Path) -> Iterator[None]:
    """A process of SGLang that has loaded its plug-ins."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("CTWL_POLICY", json.dumps({"provider": 42}))
        load_plugins()
    group = SimpleNamespace(device_group=None, rank_in_group=0, world_size=1, cpu_group=None)
    told = {"sampling_backend": "pytorch", "device": DEVICE.type, "tokenizer_path": str(folder)}
    with (
        get_context().override_server_args(**told, disable_overlap_schedule=True),
        get_parallel().override(tp_group=group, attn_tp_group=group),
    ):
        yield


class Server:
    """As much of a server as the plug-in sees: requests that go to a worker, and steps of batches."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **told: Any) -> None:
        policy = {"provider": 42, "version": 3, "profile": PROFILE, "clients": "any", **told}
        monkeypatch.setenv("CTWL_POLICY", json.dumps(policy))
        self.runner = Runner(
            sampler=Sampler(), device=DEVICE, model_config=Bare(vocab_size=SIZE),
            ngram_embedding_manager=Bare(update_after_decode=lambda **_: None),
        )  # fmt: skip
        self.scheduler = MagicMock()
        self.scheduler.tp_worker.model_runner = self.runner

    def open(self) -> Server:
        plugin._open(None, self.scheduler)
        return self

    def request(self, rid: str, prompt: list[int], **params: Any) -> Req:
        """A request as it comes to the worker."""
        sampling = SamplingParams(**{"max_new_tokens": 200, **params})
        sampling.normalize(None)
        tokenized = sent(TokenizedGenerateReqInput(
            rid=rid, input_text="", input_ids=array("q", prompt), input_embeds=None, mm_inputs=None,
            token_type_ids=None, sampling_params=sampling, return_logprob=False, logprob_start_len=-1,
            top_logprobs_num=0, token_ids_logprob=None, stream=False,
        ))  # fmt: skip
        return Req(rid, "", array("q", prompt), tokenized.sampling_params, vocab_size=SIZE)

    def step(self, requests: list[Req], logits: torch.Tensor) -> tuple[list[int], torch.Tensor]:
        """The tokens of one step, by the real sampler; and the probabilities that it drew from."""
        lengths = torch.tensor([len(each.origin_input_ids) + len(each.output_ids) for each in requests])
        batch = Bare(
            reqs=requests, device=DEVICE.type, forward_mode=ForwardMode.DECODE,
            input_ids=torch.zeros(len(requests), device=DEVICE), seq_lens=lengths.to(DEVICE), seq_lens_cpu=lengths,
            req_pool_indices=torch.arange(len(requests), device=DEVICE),
        )  # fmt: skip
        batch.sampling_info = SamplingBatchInfo.from_schedule_batch(batch, SIZE)
        forward = ForwardBatch.init_new(
            batch, self.runner, capture_hidden_mode=CaptureHiddenMode.NULL, return_hidden_states_before_norm=False,
            kv_loc_plan=MagicMock(),
        )  # fmt: skip
        output = LogitsProcessorOutput(next_token_logits=logits.to(DEVICE, copy=True))
        tokens = self.runner.sample(output, forward).tolist()
        for request, token in zip(requests, tokens, strict=True):
            request.output_ids.append(token)
        self.end(batch)
        return tokens, output.next_token_logits.cpu()

    def end(self, batch: Any) -> None:
        """The scheduler has the tokens of a step: its real method, in which all else is a stand-in."""
        Scheduler.process_batch_result(self.scheduler, batch, MagicMock())


def sent(tokenized: Any) -> Any:
    """A request after the tokenizer manager has sent it: its real method, which then finds no transport."""
    manager = object.__new__(TokenizerManager)
    with pytest.raises(AttributeError, match="cuda_vmm_feature_transport"):
        asyncio.run(manager._send_one_request(tokenized))
    return tokenized


def write(server: Server, requests: list[Req], count: int = 150) -> list[str]:
    """The texts of some requests, side by side, their rows in changing order."""
    model, tokenizer = load_model("smollm2")
    caches: dict[str, Any] = {}
    for _ in range(count):
        requests = [*requests[1:], requests[0]]
        rows = []
        for request in requests:
            ids = [*request.origin_input_ids, *request.output_ids]
            given = ids[-1:] if request.rid in caches else ids
            with torch.inference_mode():
                last = torch.tensor([given], device=model.device)
                out = model(last, past_key_values=caches.get(request.rid), use_cache=True)
            caches[request.rid] = out.past_key_values
            rows.append(out.logits[0, -1].float())
        logits = torch.stack(rows)
        logits[:, [0, 1, 2]] = -torch.inf  # no end
        server.step(requests, logits)
    return [tokenizer.decode(list(each.output_ids)) for each in sorted(requests, key=lambda each: each.rid)]


def ids(prompt: str) -> list[int]:
    return list(load_model("smollm2")[1](prompt)["input_ids"])


def found(report: Report) -> tuple[int | None, int | None]:
    return report.provider, report.version


def test_sglang_finds_the_plug_in_and_all_of_its_hooks_hold() -> None:
    ours = [name for name in HookRegistry._patched if HookRegistry._hooks[name][0][1].__module__ == plugin.__name__]
    assert {name.removeprefix("sglang.srt.") for name in ours} == {
        "server_args.ServerArgs.check_server_args",
        "managers.tokenizer_manager.TokenizerManager._send_one_request",
        "managers.tokenizer_manager.TokenizerManager._send_batch_request",
        "managers.scheduler.Scheduler.__init__",
        "managers.scheduler.Scheduler.process_batch_result",
        "managers.scheduler.Scheduler._release_aborted_request",
        "model_executor.forward_batch_info.ForwardBatch.init_new",
        "model_executor.model_runner.ModelRunner._preprocess_logits",
    }
    for method, names in (
        (TokenizerManager._send_one_request, ["self", "tokenized_obj"]),
        (TokenizerManager._send_batch_request, ["self", "tokenized_objs"]),
        (Scheduler.process_batch_result, ["self", "batch", "result"]),
        (Scheduler._release_aborted_request, ["self", "req"]),
        (ForwardBatch.init_new, ["batch", "model_runner"]),
        (ModelRunner._preprocess_logits, ["self", "logits_output", "sampling_info"]),
    ):
        assert list(inspect.signature(method).parameters)[: len(names)] == names


def test_a_server_says_at_its_start_what_it_marks(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Where the options are checked, in the process that then starts the workers."""
    caplog.set_level(logging.INFO, plugin.__name__)
    for policy, says in (
        ('{"provider": 42, "version": 3}', "ctwl: the mark is on. Provider 42, version 3, profile org.ctwl.gpt2.1. "),
        ("", """ctwl: the mark is off; to mark texts, start with CTWL_POLICY='{"provider": 42}'"""),
    ):
        caplog.clear()
        monkeypatch.setenv("CTWL_POLICY", policy)
        check_options(monkeypatch)
        assert len(caplog.records) == 1 and caplog.records[0].message.startswith(says)


def test_a_server_that_was_told_wrongly_ends_with_what_to_change(monkeypatch: pytest.MonkeyPatch) -> None:
    for policy, says in (
        ("{", "option-out-of-range: the policy is {; it must be an object"),
        ('{"provider": 42, "profile": "org.ctwl.none.1"}', "profile-unknown: .*org.ctwl.none.1"),
    ):
        monkeypatch.setenv("CTWL_POLICY", policy)
        with pytest.raises(SystemExit, match=f"^ctwl: {says}"):
            check_options(monkeypatch)


def check_options(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server checks its options: the real method, which finds nothing to say of these."""
    monkeypatch.setattr("sglang.srt.arg_groups.validation_hook.check_server_args", lambda _: None)
    ServerArgs.check_server_args(MagicMock())


def test_requests_side_by_side_carry_records_of_their_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    log = tmp_path / "ctwl.log"
    server, decoder = Server(monkeypatch, log=str(log)).open(), Decoder.open(PROFILE)
    torch.manual_seed(1)
    own = {"ctwl_provider": 7, "ctwl_version": 1, "ctwl_strategy": "race"}
    requests = [
        server.request("a", ids(PROMPTS[0]), temperature=0.95, top_p=0.98),
        server.request("b", ids(PROMPTS[1]), custom_params=own),
        server.request("c", ids(PROMPTS[1]), custom_params={"ctwl_strategy": "off"}),
    ]
    reports = [decoder.decode(text) for text in write(server, requests)]
    assert [found(report) for report in reports] == [(42, 3), (7, 1), (None, None)]
    for request in requests:
        request.finished_reason = FINISH_LENGTH(150)
    rows = server.runner.ctwl
    server.end(Bare(reqs=requests, forward_mode=ForwardMode.DECODE))
    assert not rows.served
    rows._serving.log._thread.shutdown()  # what waits is written
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    ends = [line for line in lines if line["event"] == "end"]
    assert [(line["provider"], line["tokens"]) for line in ends] == [(42, 150), (7, 150)]
    summary = Summary.of(log.read_bytes().splitlines())
    assert summary.complete and summary.without_end == 0
    assert sum(line["event"] == "unmarked" for line in lines) == 1


def test_the_plug_in_truncates_as_sglang_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """On average over codes the real sampler draws from the distribution that it has without a mark."""
    server = Server(monkeypatch).open()
    torch.manual_seed(1)
    logits = torch.randn(1, SIZE) * 4
    prompt, options = ids(" ".join(PROMPTS)), {"temperature": 0.9, "top_k": 40, "top_p": 0.8, "min_p": 0.01}
    plain = SamplingParams(**options)
    probabilities = torch.softmax(logits / 0.9, dim=-1)
    each = (torch.tensor([value]) for value in (plain.top_k, plain.top_p, plain.min_p))
    _, kept, tokens, _ = top_k_top_p_min_p_sampling_from_probs_torch(
        probabilities, *each, True, None, torch.zeros(1), return_filtered_probs=True
    )
    expected = torch.zeros(SIZE).scatter(0, tokens[0].long(), kept[0] / kept.sum())
    total = torch.zeros(SIZE)
    for provider in range(256):
        told = {"ctwl_provider": provider, "ctwl_strategy": "race", "ctwl_share": 0.2}
        request = server.request(f"{provider}", prompt[:1], **options, custom_params=told)
        assert (request.sampling_params.top_k, request.sampling_params.top_p) == (TOP_K_ALL, 1.0)
        request.output_ids = array("q", prompt[1:])
        _, drawn_from = server.step([request], logits)
        assert set(drawn_from[0].nonzero()[:, 0].tolist()) <= set(expected.nonzero()[:, 0].tolist())
        total += drawn_from[0] / 256
    assert (total - expected).abs().max() < 0.05


def test_greedy_requests_are_marked_with_delta(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(monkeypatch).open()
    request = server.request("greedy", ids(PROMPTS[0]), temperature=0.0)
    server.step([request], torch.randn(1, SIZE))
    served = server.runner.ctwl.served[request]
    assert served.marker.strategy is Strategy.DELTA and request.sampling_params.top_k == 1
    for single in ({"top_k": 1}, {"top_p": 1e-6}, {"min_p": 1.0}):
        request = server.request(f"greedy {single}", ids(PROMPTS[0]), temperature=0.7, **single)
        server.step([request], torch.randn(1, SIZE))
        assert server.runner.ctwl.served[request].marker.strategy is Strategy.DELTA


def test_a_text_that_was_put_off_goes_on_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """And one whose worker forgot some of its tokens is read anew."""
    server = Server(monkeypatch).open()
    words = ids(" ".join(PROMPTS))
    one, other = (server.request(rid, words[:3]) for rid in "ab")
    for _ in range(4):
        server.step([one, other], torch.randn(2, SIZE))
    server.step([other], torch.randn(1, SIZE))
    server.step([one], torch.randn(1, SIZE))
    served = server.runner.ctwl.served[one]
    assert served.tokens == list(one.output_ids) and len(one.output_ids) == 5
    del one.output_ids[2:]
    one.output_ids.append(words[4])
    server.step([one], torch.randn(1, SIZE))
    assert served.tokens == list(one.output_ids) and len(one.output_ids) == 4


def test_texts_that_take_turns_keep_their_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the decode batches and the prefill batches of a server do."""
    found = []
    for turns in (False, True):
        server = Server(monkeypatch).open()
        torch.manual_seed(3)
        prompt, logits = ids(" ".join(PROMPTS)), torch.randn(40, 1, SIZE) * 3
        one = server.request("one", prompt, custom_params={"ctwl_strategy": "race", "ctwl_nonce": 5})
        for number, row in enumerate(logits):
            server.step([one], row)
            if turns:
                server.step([server.request(f"{number}", prompt, max_new_tokens=1)], torch.randn(1, SIZE))
        served = server.runner.ctwl.served[one]
        found.append(served.marker.chance_found(served.text))
    assert min(found) > 0.9


def test_a_request_that_is_dropped_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(monkeypatch).open()
    one, other = (server.request(rid, ids(PROMPTS[0])) for rid in "ab")
    server.step([one, other], torch.randn(2, SIZE))
    rows = server.runner.ctwl
    assert len(rows.served) == 2
    plugin._leave(None, server.scheduler, one)
    assert len(rows.served) == 1
    del one, other, server  # a stand-in remembers what it was called with
    gc.collect()
    assert not list(rows.served)


@pytest.mark.parametrize(
    ("told", "params", "message"),
    [
        ({"clients": "none"}, {"custom_params": {"ctwl_provider": 7}}, "not left to clients"),
        ({}, {"custom_params": {"ctwl_colour": 7}}, "no option of a request"),
        ({}, {"custom_params": {"ctwl_admitted": 1}}, "no option of a request"),
        ({}, {"beam_width": 2}, "beam search cannot be marked"),
    ],
)
def test_what_cannot_be_written_is_refused(
    monkeypatch: pytest.MonkeyPatch, told: dict[str, Any], params: dict[str, Any], message: str
) -> None:
    server = Server(monkeypatch, **told)
    with pytest.raises(ValueError, match=message):
        server.request("a", [1, 2, 3], **params)


def test_a_note_that_a_client_wrote_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(monkeypatch)
    forged = Note(random=5, name="forged").model_dump()
    request = server.request("a", [1], custom_params={"ctwl_admitted": forged})
    noted = Note.of(request.sampling_params.custom_params)
    assert noted is not None and noted.name == "a"
    request = server.request("b", [1], max_new_tokens=0, custom_params={"ctwl_admitted": forged})
    assert Note.of(request.sampling_params.custom_params) is None


@pytest.mark.parametrize(
    ("params", "fixed"),
    [
        ({"json_schema": "{}"}, True), ({"regex": "[a-z]+"}, True), ({"ebnf": 'root ::= "a"'}, True),
        ({"structural_tag": '{"structures": [], "triggers": ["<call>"]}'}, False), ({}, False),
    ],
    ids=str,
)  # fmt: skip
def test_an_answer_of_a_fixed_form_is_marked_where_the_operator_says_so_alone(
    monkeypatch: pytest.MonkeyPatch, params: dict[str, Any], fixed: bool
) -> None:
    for marks in (False, True):
        server = Server(monkeypatch, fixed_forms=marks)
        request = server.request("a", [1], **params)
        assert (Note.of(request.sampling_params.custom_params) is None) == (fixed and not marks)


def test_no_name_of_a_request_switches_the_mark_off(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(monkeypatch, clients="none")
    request = server.request("HEALTH_CHECK_mine", [1])
    assert Note.of(request.sampling_params.custom_params) is not None


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"disable_overlap_schedule": False}, "--disable-overlap-schedule"),
        ({"disable_overlap_schedule": True, "speculative_algorithm": "EAGLE"}, "--speculative-algorithm"),
        ({"disable_overlap_schedule": True, "dllm_algorithm": "LowConfidence"}, "--dllm-algorithm"),
        ({"disable_overlap_schedule": True, "disaggregation_mode": "prefill"}, "--disaggregation-mode"),
        ({"disable_overlap_schedule": True, "pp_size": 2}, "--pp-size"),
    ],
    ids=str,
)
def test_a_server_that_cannot_mark_does_not_start(
    monkeypatch: pytest.MonkeyPatch, told: dict[str, Any], message: str
) -> None:
    server = Server(monkeypatch)
    with get_context().override_server_args(**told), pytest.raises(OptionOutOfRange, match=message):
        server.open()

"""The plug-in as vLLM's model runners drive it.

V2 needs Triton, which CPU machines lack, so its loader, its classes and its calls are used here around a model that
transformers runs: slots that are not rows, rows that are shuffled at every step, a slot that is used again.
"""

from __future__ import annotations

import json
import math
import pydoc_data.topics
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import prometheus_client
import pytest

pytest.importorskip("vllm", reason="the plug-in is tested in an environment of its own: make test-vllm")

import torch
from vllm import SamplingParams
from vllm.exceptions import VLLMValidationError
from vllm.v1.sample.logits_processor import BatchUpdateBuilder, MoveDirectionality
from vllm.v1.sample.ops.topk_topp_sampler import apply_top_k_top_p
from vllm.v1.watermarking.gumbel import GumbelWatermarkDetector, GumbelWatermarker
from vllm.v1.worker.gpu.sample.logits_processor import (
    LogitsContext,
    build_custom_logits_processors,
    build_custom_logits_processors_params_validator,
)

from ctwl_decoder import Decoder, Report
from ctwl_encoder.core.expected_evidence import chance_found, needed_bits
from ctwl_encoder.core.strategies import Strategy
from ctwl_encoder.models import load_model
from ctwl_engines import serving
from ctwl_engines.truncation import keep_top
from ctwl_engines.vllm import processor
from ctwl_engines.vllm.admission import SeededNote
from ctwl_engines.vllm.processor import CTWLLogitsProcessor
from ctwl_operations.audit.summary import Summary
from ctwl_protocol.proxy import Proxy

PROFILE = "org.ctwl.smollm2-135m.1"
PROMPTS = ["The council said on Tuesday that the new bridge", "Farmers in the north are waiting for rain after"]
TOKENS = 150


class Runner:
    """As much of the model runner as a plug-in sees: request slots, and one call of ``apply`` a step."""

    def __init__(
        self, tokenizer: Path, *, speculative: bool = False, pipeline: int = 1, workers: int = 1, **told: Any
    ) -> None:
        told = {"provider": 42, "profile": PROFILE, "clients": "any", **told}
        self.slots = SimpleNamespace(
            device=torch.device("cpu"), max_num_reqs=4, vocab_size=49152,
            all_token_ids=SimpleNamespace(gpu=torch.zeros((4, 512), dtype=torch.int32)),
            prompt_len=SimpleNamespace(np=np.zeros(4, dtype=np.int32)), prefill_len=None, total_len=None,
        )  # fmt: skip
        self.vllm_config = SimpleNamespace(
            additional_config={"ctwl": told}, instance_id="17", use_v2_model_runner=True,
            model_config=SimpleNamespace(
                tokenizer=str(tokenizer), tokenizer_revision=None, get_vocab_size=lambda: 49152),
            speculative_config=SimpleNamespace() if speculative else None,
            num_speculative_tokens=3 if speculative else 0,
            scheduler_config=SimpleNamespace(async_scheduling=True, max_num_seqs=4),
            parallel_config=SimpleNamespace(
                tensor_parallel_size=workers, pipeline_parallel_size=pipeline, enable_batch_sharded_sampling=False),
        )  # fmt: skip
        self.tokens = self.slots.all_token_ids.gpu
        (self.processor,) = build_custom_logits_processors(self.vllm_config, self.slots, False)

    def validate(self, params: SamplingParams) -> None:
        """As the input processor admits a request."""
        build_custom_logits_processors_params_validator(None)(params)

    def add(
        self, slot: int, tokens: list[int], params: SamplingParams | None = None, *, prompt: int | None = None
    ) -> bool:
        """A request for a slot; tokens behind its prompt, which has all of them by default, are its text so far."""
        params = params or SamplingParams()
        if SeededNote.of(params.extra_args) is None:
            self.validate(params)
        self.tokens[slot, : len(tokens)] = torch.tensor(tokens)
        self.slots.prompt_len.np[slot] = len(tokens) if prompt is None else prompt
        return bool(self.processor.add_request(slot, params))

    def apply(
        self, logits: torch.Tensor, slots: list[int], lengths: list[int], drafts: list[list[int]] | None = None
    ) -> torch.Tensor:
        """One step; with drafts, a request has a row for each of them and one more."""
        index, drafts = torch.tensor(slots), drafts or [[]] * len(slots)
        rows = [(slot, place, length) for slot, length, some in zip(slots, lengths, drafts, strict=True)
                for place in range(len(some) + 1)]  # fmt: skip
        fed = [token for slot, length, some in zip(slots, lengths, drafts, strict=True)
               for token in (int(self.tokens[slot, length - 1]), *some)]  # fmt: skip
        upper = [length + len(some) + 3 for length, some in zip(lengths, drafts, strict=True)]  # no more than a bound
        context = LogitsContext(
            expanded_idx_mapping=torch.tensor([slot for slot, _, _ in rows], dtype=torch.int32),
            idx_mapping=index, idx_mapping_np=index.numpy(),
            expanded_local_pos=torch.tensor([place for _, place, _ in rows], dtype=torch.int32),
            input_ids=torch.tensor(fed, dtype=torch.int32),
            pos=torch.tensor([length + place - 1 for _, place, length in rows]),
            seq_lens_upper_bound_np=np.array(lengths if self.vllm_config.speculative_config is None else upper),
        )  # fmt: skip
        return self.processor.apply(logits, context)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tokenizer")
    load_model("smollm2")[1].save_pretrained(path)
    return path


@pytest.fixture
def runner(folder: Path) -> Runner:
    """One that marks each request and leaves clients all."""
    return Runner(folder)


@pytest.fixture(scope="module")
def words() -> list[int]:
    return list(load_model("smollm2")[1](" ".join(PROMPTS))["input_ids"])


Draw = Callable[[torch.Tensor, list[int], torch.Generator], int]
"""Draws a token: from chances (size,), behind the text's tokens so far."""


def at_random(chances: torch.Tensor, written: list[int], generator: torch.Generator) -> int:
    return int(torch.multinomial(chances, 1, generator=generator))


def write(runner: Runner, params: list[SamplingParams], seed: int, draw: Draw = at_random) -> list[list[int]]:
    """The tokens of one text for each of the prompts, side by side."""
    model, tokenizer = load_model("smollm2")
    generator = torch.Generator().manual_seed(seed)
    ids = [tokenizer(prompt)["input_ids"] for prompt in PROMPTS]
    slots = [3, 1]
    for slot, prompt, wanted in zip(slots, ids, params, strict=True):
        runner.add(slot, prompt, wanted)
    starts, caches = [len(prompt) for prompt in ids], [None] * len(ids)
    for _ in range(TOKENS):
        order = torch.randperm(len(ids), generator=generator).tolist()
        rows = []
        for i in order:
            given = ids[i] if caches[i] is None else ids[i][-1:]
            with torch.inference_mode():
                out = model(torch.tensor([given]), past_key_values=caches[i], use_cache=True)
            caches[i] = out.past_key_values
            rows.append(out.logits[0, -1].float())
        marked = runner.apply(torch.stack(rows), [slots[i] for i in order], [len(ids[i]) for i in order])
        for i, row in zip(order, marked, strict=True):
            row[[0, 1, 2]] = -torch.inf  # no end
            chances = torch.softmax(row / params[i].temperature, dim=-1)
            token = draw(chances, ids[i][starts[i] :], generator)
            ids[i].append(token)
            runner.slots.all_token_ids.gpu[slots[i], len(ids[i]) - 1] = token
    return [tokens[start:] for tokens, start in zip(ids, starts, strict=True)]


def read(decoder: Decoder, texts: list[list[int]]) -> list[Report]:
    _, tokenizer = load_model("smollm2")
    return [decoder.decode(tokenizer.decode(tokens)) for tokens in texts]


def test_requests_side_by_side_in_slots_that_come_back(folder: Path) -> None:
    runner, decoder = Runner(folder, version=3), Decoder.open(PROFILE)
    params = [
        SamplingParams(temperature=0.9, top_p=0.98),
        SamplingParams(temperature=1.0, extra_args={"ctwl_provider": 7, "ctwl_version": 1, "ctwl_strategy": "race"}),
    ]
    for request in params:
        runner.validate(request)
    assert (params[0].top_p, params[1].top_p) == (1.0, 1.0)  # truncation is the plug-in's now
    noted = [SeededNote.of(request.extra_args) for request in params]
    assert [each and (each.top_k, each.top_p, each.min_p) for each in noted] == [(0, 0.98, 0.0), (0, 1.0, 0.0)]
    for seed in range(1, 4):  # chance decides how much a text shows
        reports = read(decoder, write(runner, params, seed))
        if all(report.detected for report in reports):
            break
    assert [(report.provider, report.version) for report in reports] == [(42, 3), (7, 1)]
    off = [SamplingParams(temperature=1.0, extra_args={"ctwl_strategy": "off"})] * 2
    assert not any(report.detected for report in read(decoder, write(runner, off, 4)))


def test_vllms_own_watermark_draws_from_what_the_mark_leaves(folder: Path) -> None:
    """Both are in one text, each read by its own detector: the code by everybody, vLLM's one bit by who has the key."""
    secret = 2**60 + 7
    own, detector = GumbelWatermarker(secret), GumbelWatermarkDetector(secret)

    def draw(chances: torch.Tensor, written: list[int], generator: torch.Generator) -> int:
        context = tuple(([-1] * own.context_width + written)[-own.context_width :])
        if context in drawn:  # as vLLM leaves a context alone that has come before
            return at_random(chances, written, generator)
        drawn.add(context)
        return int(own.sample(chances.log()[None], torch.tensor([context])).token_ids)

    runner, decoder = Runner(folder, version=3), Decoder.open(PROFILE)
    params = [SamplingParams(temperature=1.0), SamplingParams(temperature=1.0, extra_args={"ctwl_strategy": "off"})]
    for request in params:
        runner.validate(request)
    for seed in range(1, 4):  # chance decides how much a text shows
        drawn = set[tuple[int, ...]]()
        texts = write(runner, params, seed, draw)
        marked, unmarked = read(decoder, texts)
        if marked.detected:
            break
    assert (marked.provider, marked.version, unmarked.detected) == (42, 3, False)
    assert max(detector.detect(tokens).p_value for tokens in texts) < 1e-9
    assert GumbelWatermarkDetector(secret + 1).detect(texts[0]).p_value > 1e-4


def test_what_clients_ask_for_makes_no_more_markers(runner: Runner, words: list[int]) -> None:
    """A marker has tables and caches, so there is one for each strategy, whatever the requests say of their texts."""
    for strategy in (Strategy.DELTA, Strategy.RACE):
        for slot in range(4):
            asked = {"ctwl_strategy": strategy, "ctwl_share": 0.2 + slot / 10}
            assert runner.add(slot, words, SamplingParams(temperature=1.0, extra_args=asked))
    served = [served for _, served in sorted(runner.processor.rows.served.items())]
    assert [one.marker.texts.columns.strength[one.text] for one in served] == [0.2, 0.3, 0.4, 0.5]
    assert runner.processor.serving.marker_of.cache_info().currsize == len(Strategy)


@pytest.mark.parametrize("strategy", Strategy)
def test_drafts_are_verified_by_the_distribution_that_is_marked_behind_them(folder: Path, strategy: str) -> None:
    """Each row is marked as it would be without drafts; words come back within a step, where they are left alone.

    Two requests, of which a step accepts none, some or all drafts.
    """
    plain, drafting = (Runner(folder, speculative=drafts, strategy=strategy, nonce=5) for drafts in (False, True))
    again = "".join(f" {word}" * 5 for word in ("very", "river", "old", "the", "new", "and", "bridge", "far", "so"))
    words = load_model("smollm2")[1](PROMPTS[0] + again)["input_ids"]
    torch.manual_seed(1)
    logits = torch.randn(len(words), 49152)
    logits[:, words] += 9.0
    for runner in (plain, drafting):
        for slot in (0, 2):
            runner.add(slot, words, SamplingParams(temperature=1.0), prompt=3)
    expected, marks = {}, {}
    for length in range(3, len(words)):
        expected[length] = plain.apply(logits[[length - 1] * 2].clone(), [0, 2], [length] * 2)[0]
        marks[length] = marked(plain.processor.rows.served[2])
    lengths, step, differing = [3, 3], 0, []
    while max(lengths) + 4 < len(words):
        accepted = [step % 4, (step + 2) % 4]
        drafts = [
            [*words[length : length + good], *words[good + 1 : 4]]
            for length, good in zip(lengths, accepted, strict=True)
        ]
        rows = [length + place - 1 for length in lengths for place in range(4)]
        found = drafting.apply(logits[rows].clone(), [0, 2], lengths, drafts).view(2, 4, -1)
        for length, good, some in zip(lengths, accepted, found, strict=True):
            differing += [int((some[place] != expected[length + place]).sum()) for place in range(good + 1)]
        lengths = [length + good + 1 for length, good in zip(lengths, accepted, strict=True)]
        step += 1
    drafting.apply(logits[[length - 1 for length in lengths]].clone(), [0, 2], lengths)
    # The proxy's passes have other sizes, so its weights differ by rounding, and the border of the half moves a little.
    assert max(differing) <= (1000 if strategy == "delta" else 0)
    assert marked(drafting.processor.rows.served[2]) == marks[lengths[1]]
    assert len(marks[lengths[1]]) > 20


def marked(served: Any) -> list[int]:
    """The proxy tokens at the places of a text that were marked."""
    tokens: list[int] = served.marker.texts.of(served.text).marked.token.tolist()
    return tokens


def test_a_request_without_a_record_is_left_alone(runner: Runner) -> None:
    """Also what vLLM warms a server up by, which nobody checked."""
    off = SamplingParams(extra_args={"ctwl_strategy": "off"})
    assert not runner.add(0, [1, 2, 3], off) and not runner.processor.add_request(1, SamplingParams())
    logits = torch.randn(2, 49152)
    assert torch.equal(runner.apply(logits.clone(), [0, 1], [50, 50]), logits)
    with pytest.raises(VLLMValidationError, match="provider"):
        runner.validate(SamplingParams(extra_args={"ctwl_provider": 5000}))


def test_parameters_that_are_used_again_are_as_they_were(runner: Runner) -> None:
    params, nonces = SamplingParams(top_k=5, top_p=0.9, min_p=0.1), set()
    for _ in range(40):
        runner.validate(params)
        noted = SeededNote.of(params.extra_args)
        assert noted is not None and (noted.top_k, noted.top_p, noted.min_p) == (5, 0.9, 0.1)
        nonces.add(noted.random % 64)
    assert len(nonces) > 10  # drawn anew for each request
    params.extra_args["ctwl_strategy"] = "off"
    runner.validate(params)
    assert (params.top_k, params.top_p, params.min_p) == (5, 0.9, 0.1)
    assert params.extra_args == {"ctwl_strategy": "off"}


def test_the_alternatives_of_a_request_have_nonces_of_their_own(runner: Runner) -> None:
    def nonces(params: SamplingParams) -> list[int]:
        """What vLLM makes of a request for several: a request for each, whose seed counts on."""
        runner.validate(params)
        found = []
        for slot in range(params.n):
            one = params.clone()
            one.n, one.seed = 1, None if params.seed is None else params.seed + slot
            assert runner.add(slot, [1, 2, 3], one)
            served = runner.processor.rows.served[slot]
            found.append(served.marker.texts.payloads[served.text].carried[0] % 64)
        return found

    for several in (SamplingParams(n=4), SamplingParams(n=4, seed=7)):
        told = several.seed
        assert len(set(nonces(several))) == 4
        seeds = {several.seed}
        for _ in range(3):  # used again: drawn again, or still the client's own
            nonces(several)
            seeds.add(several.seed)
        assert seeds == {7} if told else len(seeds) == 4
    assert len(set(nonces(SamplingParams(n=3, extra_args={"ctwl_nonce": 5})))) == 1
    alone = SamplingParams()
    nonces(alone)
    assert alone.seed is None


@pytest.mark.parametrize(
    "noted",
    [{"random": -1}, {"min_p": "4"}, {"top_p": 0.0}, {"seed": "7"}, {"own_seed": 1}, {"more": 2}],
)
def test_a_client_cannot_write_what_the_plug_in_notes(runner: Runner, noted: Any) -> None:
    for other in (1, "abc", [1, 2]):  # as ``vllm_xargs`` may have it
        with pytest.raises(VLLMValidationError, match="no option of a request"):
            runner.validate(SamplingParams(extra_args={"ctwl_admitted": other}))
    params = SamplingParams(extra_args={"ctwl_admitted": noted})
    runner.validate(params)
    admitted = SeededNote.of(params.extra_args)
    assert admitted is not None and (admitted.seed, admitted.own_seed) == (None, False)
    assert (admitted.top_k, admitted.top_p, admitted.min_p) == (0, 1.0, 0.0)
    for given in ({"ctwl_admitted": noted}, {"ctwl_provider": "x"}, {"ctwl_delta": "y"}):  # not judged: never raises
        assert not runner.processor.add_request(2, SamplingParams(extra_args=given))


def test_a_row_without_a_finite_maximum_harms_no_other(runner: Runner, words: list[int]) -> None:
    for slot in (0, 1, 2):
        assert runner.add(slot, words, prompt=1)
    logits = torch.randn(3, 49152)
    logits[0], logits[2, 7] = -torch.inf, torch.nan
    marked = runner.apply(logits.clone(), [0, 1, 2], [len(words)] * 3)
    assert torch.equal(marked[0], logits[0])
    assert torch.equal(marked[2].nan_to_num(), logits[2].nan_to_num())
    assert not torch.equal(marked[1], logits[1])


def test_a_proxy_that_fails_leaves_its_rows_unmarked(
    runner: Runner, words: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not asked again at once, and the steps are counted; rows that ask no proxy are marked."""
    for slot, strategy in enumerate(("delta", "race")):
        assert runner.add(slot, words, SamplingParams(extra_args={"ctwl_strategy": strategy}), prompt=1)
    asked = 0

    def fail(*_: Any) -> Any:
        nonlocal asked
        asked += 1
        raise torch.OutOfMemoryError

    with monkeypatch.context() as patched:
        patched.setattr(Proxy, "weights_on_device", fail)
        logits = torch.randn(2, 49152)
        for _ in range(2):
            marked = runner.apply(logits.clone(), [0, 1], [len(words)] * 2)
            assert torch.equal(marked[0], logits[0]) and not torch.equal(marked[1], logits[1])
    assert asked == 1
    assert counted("ctwl_unmarked_steps_total", strategy="delta", reason="the proxy LM failed") == 2
    runner.processor.serving._asks_again = 0
    assert not torch.equal(runner.apply(logits.clone(), [0, 1], [len(words)] * 2)[0], logits[0])


def test_what_one_worker_cannot_mark_no_worker_marks(
    folder: Path, words: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers of a tensor-parallel group draw the same tokens only from the same logits; here the other one fails."""
    monkeypatch.setattr(processor, "get_tp_group", lambda: SimpleNamespace(cpu_group=None, rank_in_group=1))
    runner, failing = Runner(folder, workers=2, strategy="delta"), [True]
    assert runner.add(0, words, prompt=1)
    monkeypatch.setattr(torch.distributed, "all_reduce", lambda flag, group: flag.fill_(max(int(flag), failing[0])))
    logits = torch.randn(1, 49152)
    for _ in range(2):
        assert torch.equal(runner.apply(logits.clone(), [0], [len(words)]), logits)
        served = runner.processor.rows.served[0]
        assert not served.marker.texts.columns.offers[served.text]
    failing[0] = False
    runner.processor.serving._steps += serving.PAUSE
    assert not torch.equal(runner.apply(logits.clone(), [0], [len(words)]), logits)


def test_batches_that_take_turns_keep_their_marks(folder: Path, words: list[int]) -> None:
    """As under pipeline parallelism; a request that waits for its batch is not finished."""
    marks = []
    for turns in (1, 2):
        runner = Runner(folder, pipeline=turns, nonce=5)
        for slot in (0, 1):
            assert runner.add(slot, words, prompt=1)
        before = observed()
        for length in range(1, len(words) + 1):
            logits = torch.randn(2, 49152, generator=torch.Generator().manual_seed(length))
            for slots in [[0], [1]] if turns == 2 else [[0, 1]]:
                runner.apply(logits[slots].clone(), slots, [length] * len(slots))
        runner.add(2, words)
        assert observed() == before
        marks.append([marked(runner.processor.rows.served[slot]) for slot in (0, 1)])
    assert marks[0] == marks[1] and len(marks[0][0]) > 5


def counted(name: str, **labels: str) -> float:
    return prometheus_client.REGISTRY.get_sample_value(name, labels) or 0.0


def observed() -> float:
    """How many texts were observed."""
    return sum(counted("ctwl_text_chance_found_count", strategy=strategy) for strategy in Strategy)


def test_a_text_is_observed_once(runner: Runner, words: list[int]) -> None:
    """V2 does not tell what is finished; a request that was put off comes back in any slot, with its tokens."""
    logits, begin = torch.randn(2, 49152), partial(runner.add, tokens=words, prompt=3)
    begin(0)
    begin(1)
    before = observed()
    for length in range(3, len(words)):
        runner.apply(logits.clone(), [0, 1], [length] * 2)
    begin(2)
    assert observed() == before
    runner.apply(logits.clone(), [0, 2], [len(words), 3])  # slot 1 is put off
    begin(3)
    assert observed() == before + 1
    begin(1)  # and comes back
    runner.apply(logits.clone(), [0, 1], [len(words), len(words)])
    begin(1)
    begin(0)
    assert observed() == before + 2  # slot 0 as well


def test_the_evidence_pays_for_the_codes_of_a_record_and_not_for_their_check(folder: Path) -> None:
    runner = Runner(folder, strategy="race")
    words = load_model("smollm2")[1](pydoc_data.topics.topics["lambda"] + pydoc_data.topics.topics["atom-identifiers"])
    words = words["input_ids"][:400]
    asked = {"ctwl_layout": 3, "ctwl_codes": [43211, 207942, 380826]}
    assert runner.add(0, words, SamplingParams(extra_args=asked), prompt=1)
    for length in range(1, len(words) + 1):
        logits = torch.randn(1, 49152, generator=torch.Generator().manual_seed(length))
        runner.apply(logits, [0], [length])
    served = runner.processor.rows.served[0]
    before = counted("ctwl_text_chance_found_sum", strategy="race")
    runner.add(0, words)
    after = counted("ctwl_text_chance_found_sum", strategy="race")
    evidence = served.marker.evidence(served.text).read / math.log(2)
    expected = chance_found(evidence, needed_bits(served.marker.profile, 3))
    assert expected > 0.5 and after - before == pytest.approx(expected)


def test_a_request_is_noted_whatever_its_top_k(runner: Runner, caplog: pytest.LogCaptureFixture) -> None:
    params = SamplingParams(top_k=2**31, top_p=0.5)
    runner.validate(params)
    noted = SeededNote.of(params.extra_args)
    assert noted is not None and (noted.top_k, noted.top_p, noted.min_p) == (2**31, 0.5, 0.0)
    assert runner.add(0, [1, 2, 3], params) and not caplog.records


class Counted:
    """The device's token buffer, which counts what is copied from it."""

    def __init__(self, tokens: torch.Tensor) -> None:
        self.tokens, self.copied = tokens, 0
        self.device, self.shape = tokens.device, tokens.shape

    def __getitem__(self, index: Any) -> torch.Tensor:
        found = self.tokens[index]
        self.copied += found.numel()
        return found


def test_only_new_tokens_are_copied_from_the_device(runner: Runner) -> None:
    """First the prompt, then one token for each row and step. A request that comes or goes back is read anew."""
    words = load_model("smollm2")[1](" ".join(PROMPTS * 3))["input_ids"]
    runner.slots.all_token_ids.gpu = counted = Counted(runner.tokens)
    for slot in (0, 2):
        assert runner.add(slot, words, prompt=3)
    logits = torch.randn(2, 49152)
    for length in range(3, len(words)):
        counted.copied = 0
        runner.apply(logits.clone(), [2, 0], [length, length])
        assert counted.copied == (6 if length == 3 else 2)
    last = len(words) - 1
    assert all(request.tokens == words[3:last] for request in runner.processor.rows.served.values())
    counted.copied = 0
    runner.apply(logits.clone(), [0, 2], [last - 5, last])
    assert runner.processor.rows.served[0].tokens == words[3 : last - 5]
    assert runner.processor.rows.served[2].tokens == words[3:last]
    assert runner.add(0, words, prompt=3)
    runner.apply(logits[:1].clone(), [0], [last])
    assert runner.processor.rows.served[0].tokens == words[3:last]


def test_rows_of_v1_come_move_and_go(runner: Runner, words: list[int]) -> None:
    """V1 tells what left, came and moved, and appends to the lists of output tokens that it gave."""
    processor = CTWLLogitsProcessor(runner.vllm_config, torch.device("cpu"), False)
    logits, outputs = torch.randn(3, 49152), [list(words), [], list(words)]
    params = [SamplingParams(), SamplingParams(extra_args={"ctwl_strategy": "off"}), SamplingParams()]
    for request in params:
        runner.validate(request)
    added = [(row, params[row], None, outputs[row]) for row in range(3)]

    def changed(removed: list[int], added: list[Any], moved: list[Any]) -> list[bool]:
        processor.update_state(SimpleNamespace(removed=removed, added=added, moved=moved))
        return (processor.apply(logits.clone()) != logits).any(dim=1).tolist()

    assert changed([], added, []) == [True, False, True]
    outputs[0].append(words[3])
    assert changed([2], [], [(0, 1, MoveDirectionality.UNIDIRECTIONAL)]) == [False, True, False]
    assert processor.rows.served[1][0].tokens == [*words, words[3]]
    outputs[0][-3:] = [words[5]]  # the runner went back
    assert changed([], [added[2]], [(1, 2, MoveDirectionality.SWAP)]) == [False, True, True]
    assert processor.rows.served[2][0].tokens == [*words[:-2], words[5]]
    processor.update_state(None)


@pytest.mark.parametrize("runner_version", ["V1", "V2"])
def test_a_log_has_each_text_from_its_beginning_to_its_end(
    folder: Path, words: list[int], tmp_path: Path, runner_version: str
) -> None:
    """Its end counts the tokens that were drawn; a text that was put off goes on in a line of its own."""
    log = tmp_path / "ctwl.log"
    runner, params = Runner(folder, strategy="race", log=str(log)), SamplingParams(n=2, seed=7)
    runner.validate(params)
    runner.validate(SamplingParams(extra_args={"ctwl_strategy": "off"}))
    ones = [params.clone(), params.clone()]
    ones[1].seed = 8
    v1 = CTWLLogitsProcessor(runner.vllm_config, torch.device("cpu"), False)
    outputs: list[list[int]] = [[], []]
    if runner_version == "V1":
        v1.update_state(SimpleNamespace(removed=[], added=[(n, ones[n], None, outputs[n]) for n in (0, 1)], moved=[]))
    for slot in (0, 1) if runner_version == "V2" else ():
        assert runner.add(slot, words, ones[slot], prompt=1)
    logits = torch.randn(2, 49152)
    for length in range(1, 18):
        if runner_version == "V1":
            v1.apply(logits.clone())
            for output in outputs:
                output.append(words[length])
        else:
            runner.apply(logits.clone(), [0, 1], [length] * 2)
    if runner_version == "V1":
        v1.update_state(SimpleNamespace(removed=[0, 1], added=[], moved=[]))
        v1.update_state(SimpleNamespace(removed=[], added=[(0, ones[1], None, outputs[1])], moved=[]))
        v1.apply(logits[:1].clone())
        v1.update_state(SimpleNamespace(removed=[0], added=[], moved=[]))
    else:
        runner.add(0, words, ones[0])
        runner.add(1, words, ones[1])
    for each in (v1, runner.processor):
        each.serving.log._thread.shutdown()  # what waits is written
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    begun = [line for line in lines if line["event"] == "begin"]
    ended = sorted((line for line in lines if line["event"] == "end"), key=lambda line: line["begun"])
    assert [line["begun"] for line in ended] == [[line["process"], line["line"]] for line in begun]
    assert [line["nonce"] for line in ended] == [line["nonce"] for line in begun] and len(begun) == 2
    for line in ended:
        assert line["tokens"] == 17 == line["marked"] + sum(line["left"].values())
        assert line["left"]["first tokens of a text"] > 0 and line["marked"] > 5 and 0 <= line["chance"] <= 1
    again = [line["tokens"] for line in lines if line["event"] == "again"]
    assert again == ([1] if runner_version == "V1" else [])
    summary = Summary.of(log.read_bytes().splitlines())
    assert summary.complete and summary.without_end == 0
    assert [(day.marked_texts, day.unmarked_texts, day.ended) for day in summary.days.values()] == [(2, 1, 2)]


def test_a_text_of_v1_that_ends_while_others_go_on_has_its_end_in_the_log(
    folder: Path, words: list[int], tmp_path: Path
) -> None:
    """V1 fills its row with the last request, and then does not name it as removed."""
    log = tmp_path / "ctwl.log"
    runner, params = Runner(folder, strategy="race", log=str(log)), SamplingParams(n=2, seed=7)
    runner.validate(params)
    ones = [params.clone(), params.clone()]
    ones[1].seed = 8
    v1 = CTWLLogitsProcessor(runner.vllm_config, torch.device("cpu"), False)
    outputs: list[list[int]] = [list(words), list(words)]
    batch = BatchUpdateBuilder()
    batch.added = [(row, ones[row], None, outputs[row]) for row in (0, 1)]
    v1.update_state(batch.get_and_reset(2))
    v1.apply(torch.randn(2, 49152))
    batch.removed_append(0)
    batch.moved.append((1, batch.pop_removed(), MoveDirectionality.UNIDIRECTIONAL))  # as InputBatch.condense does
    v1.update_state(batch.get_and_reset(1))
    assert list(v1.rows.served) == [0] and not v1.rows.served[0][0].finished
    v1.serving.log._thread.shutdown()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    (begun, _), (ended,) = ([line for line in lines if line["event"] == event] for event in ("begin", "again"))
    assert ended["begun"] == [begun["process"], begun["line"]]


def test_a_draft_that_is_not_accepted_is_no_token_of_the_log(folder: Path, words: list[int], tmp_path: Path) -> None:
    runner = Runner(folder, speculative=True, log=str(tmp_path / "ctwl.log"))
    assert runner.add(0, words, prompt=1)
    logits = torch.randn(4, 49152)
    for length in (1, 2, 5, 6):  # of three drafts it accepts none, two, none
        runner.apply(logits.clone(), [0], [length], [words[length : length + 3]])
    served = runner.processor.rows.served[0]
    served.finish()
    assert sum(served.drawn.values()) == 1 + 3 + 1 + 1


def test_plain_torch_leaves_out_what_vllm_leaves_out() -> None:
    """What plug-ins of engines without a function of their own do is what vLLM does, to the bit."""
    torch.manual_seed(1)
    logits = (torch.randn(6, 500) * 4).round(decimals=1)  # with ties
    ks, ps = torch.tensor([1, 3, 40, 500, 7, 499]), torch.tensor([1.0, 0.9, 0.5, 0.01, 0.999, 1.0])
    for top_k in (None, ks):
        for top_p in (None, ps):
            theirs = apply_top_k_top_p(logits.clone(), None if top_k is None else top_k.clone(), top_p)
            assert torch.equal(keep_top(logits, top_k, top_p), theirs)


def test_a_server_that_was_not_told_refuses_records_and_serves_the_rest(runner: Runner) -> None:
    runner.vllm_config.additional_config = {}
    runner.validate(SamplingParams())
    with pytest.raises(VLLMValidationError, match="not told"):
        runner.validate(SamplingParams(extra_args={"ctwl_provider": 7}))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"speculative_config": object(), "use_v2_model_runner": False}, "speculative"),
        ({"use_v2_model_runner": False}, "async"),
    ],
    ids=["speculative decoding", "V1 under async scheduling"],
)
def test_what_the_engine_cannot_do_is_refused(runner: Runner, changed: dict[str, Any], message: str) -> None:
    vars(runner.vllm_config).update(changed)
    with pytest.raises(VLLMValidationError, match=message):
        runner.validate(SamplingParams())
    runner.validate(SamplingParams(extra_args={"ctwl_strategy": "off"}))


@pytest.mark.parametrize("single", [{"top_k": 1}, {"min_p": 1.0}, {"top_p": 1e-6}], ids=str)
def test_truncation_that_leaves_one_token_is_greedy_decoding(runner: Runner, single: dict[str, float]) -> None:
    params = SamplingParams(temperature=0.7, **single)
    assert runner.add(1, [1, 2, 3], params)
    served = runner.processor.rows.served[1]
    assert served.marker.strategy is Strategy.DELTA
    assert all(getattr(params, name) == value for name, value in single.items())


def test_workers_that_share_requests_out_do_not_ask_the_proxy_together(runner: Runner) -> None:
    runner.vllm_config.parallel_config.enable_batch_sharded_sampling = True
    with pytest.raises(VLLMValidationError, match=r"delta .* --enable-batch-sharded-sampling"):
        runner.validate(SamplingParams(temperature=0.0))
    runner.validate(SamplingParams(temperature=1.0))
    runner.validate(SamplingParams(temperature=0.5))

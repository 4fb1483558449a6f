"""What serving engines share: the life of a text, the marking of a batch, and what is noted of both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from prometheus_client import REGISTRY

from ctwl_encoder import Bridge, Encoder
from ctwl_encoder.core.strategies import Strategy
from ctwl_encoder.errors import OptionOutOfRange
from ctwl_engines import serving as module
from ctwl_engines.note import NOTED, Note, admitted, without_note
from ctwl_engines.policy import Policy, read_policy
from ctwl_engines.served import Served
from ctwl_engines.serving import Serving
from ctwl_engines.truncation import truncated
from ctwl_operations.audit.summary import Summary

PROFILE = "org.ctwl.toy.1"
CPU = torch.device("cpu")


@pytest.fixture
def bridge(toy: Encoder) -> Bridge:
    return toy.bridge


def policy(**told: Any) -> Policy:
    return Policy(**{"provider": 42, "profile": PROFILE, "clients": "any", **told})


class Engine:
    """A serving engine in a few lines: requests come in, and each step has a row for each text."""

    def __init__(self, bridge: Bridge, decided: Policy, device: torch.device = CPU, **options: Any) -> None:
        self.policy, self.serving, self.device = decided, Serving(decided, bridge, **options), device
        self.texts: list[tuple[Served | None, list[int]]] = []
        self.size = len(bridge.vocabulary)
        self.serving.warm_up(self.size, device)
        self.chance = torch.Generator().manual_seed(1)

    def request(self, name: str, temperature: float = 1.0, *, fixed_form: bool = False, **given: Any) -> None:
        request = admitted(self.policy, given, temperature, name, fixed_form=fixed_form)
        note = None if request is None else Note.drawn(name).logged(self.policy, request)
        self.texts.append((self.serving.begin(given, temperature, note, fixed_form=fixed_form), []))

    def step(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The logits of a step before and after the mark; then the likeliest tokens follow.

        A GPU is still at the forward pass when the host reads the tokens of the last step.
        """
        logits = torch.randn(len(self.texts), self.size, generator=self.chance)
        if self.device.type == "cuda":
            torch.cuda._sleep(10**7)
        marked = logits.to(self.device, non_blocking=True, copy=True)
        rows = {row: (served, output) for row, (served, output) in enumerate(self.texts) if served is not None}
        new = [served.new_in(output) for served, output in rows.values()]
        self.serving.extend([served for served, _ in rows.values()], new)
        self.serving.mark(marked, {row: (served, served.text) for row, (served, _) in rows.items()})
        self.serving.end_step(self.device)
        marked = marked.cpu()
        for (_, output), token in zip(self.texts, marked[:, 32:127].argmax(dim=1).tolist(), strict=True):
            output.append(token + 32)
        return logits, marked


@pytest.mark.parametrize("fixed_forms", [False, True])
def test_answers_of_a_fixed_form_are_marked_where_the_operator_says_so_and_else_counted(
    bridge: Bridge, tmp_path: Path, fixed_forms: bool
) -> None:
    def counted() -> float:
        return REGISTRY.get_sample_value("ctwl_unmarked_texts_total", {"reason": "fixed form"}) or 0.0

    log, before = tmp_path / "log", counted()
    engine = Engine(bridge, policy(log=str(log), fixed_forms=fixed_forms))
    engine.request("prose")
    engine.request("json", fixed_form=True)
    engine.request("off", fixed_form=True, ctwl_strategy="off")
    changed = sum((before != after).any(dim=1).long() for before, after in (engine.step() for _ in range(60)))
    assert changed[0] > 20 and bool(changed[1] > 20) is fixed_forms and changed[2] == 0
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    reasons = ["asked for none"] if fixed_forms else ["fixed form", "asked for none"]
    assert [line["why"] for line in lines if line["event"] == "unmarked"] == reasons
    assert counted() - before == (not fixed_forms)


def test_texts_are_marked_side_by_side_and_noted_from_beginning_to_end(bridge: Bridge, tmp_path: Path) -> None:
    log = tmp_path / "log"
    engine = Engine(bridge, policy(log=str(log)))
    engine.request("one")
    engine.request("off", ctwl_strategy="off")
    engine.request("two", ctwl_strategy="race")
    changed = sum((before != after).any(dim=1).long() for before, after in (engine.step() for _ in range(60)))
    assert changed[0] > 20 and changed[1] == 0 and changed[2] > 20
    for served, output in engine.texts:
        if served is not None:
            assert served.tokens == output[:-1] and len(served.marker.texts.of(served.text).marked.token) > 20
            served.finish()
            served.finish()
    assert engine.serving.log is not None and engine.serving.log._thread is not None
    engine.serving.log._thread.shutdown()  # what waits is written
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["tokens"] for line in lines if line["event"] == "end"] == [60, 60]
    summary = Summary.of(log.read_bytes().splitlines())
    assert summary.complete and summary.without_end == 0
    assert [(day.marked_texts, day.unmarked_texts, day.ended) for day in summary.days.values()] == [(2, 1, 2)]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_a_gpu_marks_batches_as_a_processor_does(bridge: Bridge) -> None:
    engines = [Engine(bridge, policy(), where) for where in (CPU, torch.device("cuda"))]
    for engine in engines:
        for strategy in Strategy:
            engine.request("one", ctwl_strategy=strategy, ctwl_nonce=5)
            engine.request("two", 0.7, ctwl_strategy=strategy, ctwl_nonce=6)
    for _ in range(40):
        (before, expected), (_, found) = (engine.step() for engine in engines)
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-3)
        assert not torch.equal(before, found)
    chances = [
        [served.marker.chance_found(served.text) for served, _ in engine.texts if served is not None]
        for engine in engines
    ]
    assert len(chances[0]) == 2 * len(Strategy) and chances[1] == pytest.approx(chances[0], abs=1e-3)


def test_a_text_is_read_anew_where_its_engine_went_back(bridge: Bridge) -> None:
    engine = Engine(bridge, policy())
    engine.request("one")
    for _ in range(30):
        engine.step()
    served, output = engine.texts[0]
    assert served is not None
    del output[9:]
    output.append(65)
    engine.step()
    assert served.tokens == [*output[:-1]] and len(served.tokens) == 10 and served.marker.lengths([served.text])[0] > 0


def test_what_one_worker_cannot_mark_no_worker_marks(bridge: Bridge) -> None:
    """The proxy LM is asked again after a pause, which is counted in steps."""
    asked: list[bool] = []

    def agree(done: bool) -> bool:
        asked.append(done)
        return len(asked) > 1

    engine = Engine(bridge, policy(), agree=agree)
    engine.request("greedy", temperature=0.0)
    engine.texts[0][1].extend(range(65, 90))
    for _ in range(3):
        before, after = engine.step()
        assert torch.equal(before, after)
    assert asked == [True]
    engine.serving._steps += module.PAUSE
    before, after = engine.step()
    assert not torch.equal(before, after) and asked == [True, True]


def test_a_request_that_was_not_checked_is_not_marked(bridge: Bridge, caplog: pytest.LogCaptureFixture) -> None:
    module._warn_of_requests_that_were_not_checked.cache_clear()
    serving = Serving(policy(), bridge)
    assert serving.begin({}, 1.0, None) is None is serving.begin({}, 1.0, None)
    assert serving.begin({"ctwl_colour": 1}, 1.0, Note.drawn("one")) is None
    without_record = Serving(Policy(profile=PROFILE, clients="any"), bridge)
    assert without_record.begin({}, 1.0, Note.drawn("one")) is None
    assert [record.levelname for record in caplog.records] == ["WARNING", "ERROR"]


def test_truncation_leaves_out_what_it_says() -> None:
    logits = torch.log(torch.tensor([[0.5, 0.25, 0.15, 0.1]])).repeat(5, 1)
    notes = [Note(), Note(top_k=2), Note(top_p=0.7), Note(min_p=0.25), Note(top_k=3, top_p=0.8)]
    kept = truncated(logits, notes).isfinite().sum(dim=1).tolist()
    assert kept == [4, 2, 2, 3, 2]  # of the last: 0.5 and 0.25 are 0.83 of what top-k leaves


def test_a_note_is_one_text_of_several_and_no_client_writes_it() -> None:
    note = Note.drawn("one", line=7)
    others = [note.of_text(number) for number in range(64)]
    assert len({other.random % 64 for other in others}) == 64 and others[3].line == 10
    assert Note.of({NOTED: note.model_dump()}) == note
    assert without_note({NOTED: note.model_dump(), "ctwl_nonce": 5}) == {"ctwl_nonce": 5}
    for written in (None, 1, "abc", {"random": -1}, {"nonce": 5}, {"more": 1}):
        assert Note.of({NOTED: written}) is None


@pytest.mark.parametrize("told", ["", "{", "[]", "3", '{"provider": "x"}'])
def test_a_policy_that_is_none_is_refused(told: str) -> None:
    with pytest.raises(OptionOutOfRange):
        read_policy(told)

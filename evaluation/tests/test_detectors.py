"""The example of three providers, and an experiment's judgement of detectors that misbehave."""

from __future__ import annotations

import pytest

from ctwl_services.ask.asking import queries
from ctwl_services.ask.model import Reply
from ctwl_services.detector.detect import Detector
from ctwl_services.detector.settings import Ctwl
from evaluation.reading.routing import is_own, misbehaving
from evaluation.shared.detectors import PROVIDERS, main, registry
from evaluation.shared.experiment import OFFLINE

PLAIN = "The council met on Tuesday and talked about the bridge, the school and the weather. " * 5


@pytest.mark.slow
def test_detectors_that_are_down_slow_or_lie_answer_nothing() -> None:
    found = {each["it"]: (each["outcome"], each["code"]) for each in misbehaving(PLAIN, registry())}
    silent = ("no-answer", "no-answer")
    assert found == {"down": silent, "slow": silent, "lies": ("no-answer", "answer-malformed")}


def test_an_answer_that_was_changed_on_its_way_is_seen() -> None:
    own = Detector(Ctwl(provider=803, kind="ctwl", profile=OFFLINE, light=True))
    query = queries(PLAIN, None, registry(), level=1e-4, providers=[803])[0]
    answer = own.answer(query.question)
    reply = Reply(
        provider=803, name="Cedar", scheme="CTWL", url="", start=0, end=1, outcome=answer.outcome,
        error_rate=answer.error_rate,
    )  # fmt: skip
    assert is_own(query, reply, own)
    assert not is_own(query, reply.model_copy(update={"error_rate": 0.123}), own)


@pytest.mark.slow
def test_the_example_asks_the_right_detector(capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 0
    _, *parts, plain, down = capsys.readouterr().out.split("=== ")
    assert len(parts) == len(PROVIDERS)
    for each, part in zip(PROVIDERS, parts, strict=True):
        assert f"A text of {each.name}\nThe text has a signpost." in part
        assert f"{each.name} says that the text, or a part of it, is its own." in part
    for text in (plain, down):
        assert "has no signpost" in text and "is its own" not in text
    assert "Nothing is known from Alder" in down

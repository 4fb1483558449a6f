"""What a server does before it loads a model: it checks what its operator decided, and says what it marks."""

import logging
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ctwl_encoder.errors import OptionOutOfRange
from ctwl_engines.policy import Policy
from ctwl_engines.start import begin, ending
from ctwl_engines.vllm.guard import guard_server
from ctwl_protocol import CTWLError

PROFILE = "org.ctwl.smollm2-135m.1"


def policy(**told: Any) -> Policy:
    return Policy(**{"provider": 42, "version": 3, "profile": PROFILE, **told})


def test_a_server_says_once_what_it_marks_and_keeps_its_log(tmp_path: Path) -> None:
    said: list[str] = []
    log = tmp_path / "ctwl.log"
    begin(policy(log=str(log)), said.append)
    assert said == [f"ctwl: {policy(log=str(log)).in_words}"]
    assert log.read_text().count('"event": "start"') == 1


@pytest.mark.parametrize(
    ("told", "code", "says"),
    [
        ({"version": 16}, "field-out-of-range", "version"),
        ({"profile": "org.ctwl.none.1"}, "profile-unknown", "org.ctwl.none.1"),
        ({"log": "nowhere/ctwl.log"}, "option-out-of-range", "cannot write the log nowhere/ctwl.log"),
        ({"strategy": "delta", "proxy_path": "nowhere"}, "proxy-not-found", "nowhere"),
    ],
    ids=str,
)
def test_what_cannot_be_done_ends_a_command_with_the_message_alone(told: dict[str, Any], code: str, says: str) -> None:
    said: list[str] = []
    with pytest.raises(SystemExit) as ended, ending():
        begin(policy(**told), said.append)
    assert str(ended.value).startswith(f"ctwl: {code}: ") and says in str(ended.value) and not said
    assert isinstance(ended.value.__cause__, CTWLError)


@pytest.fixture
def arguments(monkeypatch: pytest.MonkeyPatch) -> Any:
    """vLLM's arguments of an engine, as far as the plug-in sees them, which has found them."""

    class Arguments:
        def __init__(self, ctwl: dict[str, Any] | None, **more: int) -> None:
            self.additional_config = {} if ctwl is None else {"ctwl": {"profile": PROFILE, **ctwl}}
            vars(self).update(more)

        def create_engine_config(self, usage_context: Any = None, headless: bool = False) -> Any:
            return usage_context, headless

    monkeypatch.setitem(sys.modules, "vllm.engine.arg_utils", SimpleNamespace(EngineArgs=Arguments))
    guard_server()
    return Arguments


SERVER = SimpleNamespace(name="OPENAI_API_SERVER")


@pytest.mark.parametrize(
    ("process", "times"),
    [({}, 1), ({"_api_process_count": 2, "_api_process_rank": -1}, 1),
     ({"_api_process_count": 2, "_api_process_rank": 0}, 0), ({"_api_process_count": 1, "_api_process_rank": -1}, 1)],
    ids=str,
)  # fmt: skip
def test_vllm_says_what_it_marks_once_in_a_server(
    arguments: Any, caplog: pytest.LogCaptureFixture, process: dict[str, int], times: int
) -> None:
    caplog.set_level(logging.INFO, "vllm")
    made = arguments({"provider": 42}, **process).create_engine_config(usage_context=SERVER, headless=True)
    assert made == (SERVER, True)
    assert [record.message[:22] for record in caplog.records] == ["ctwl: the mark is on. "] * times


def test_vllm_says_that_the_mark_is_off(arguments: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "vllm")
    arguments(None).create_engine_config()
    assert [record.message for record in caplog.records] == [
        """ctwl: the mark is off; to mark texts, start with --additional-config '{"ctwl": {"provider": 42}}'"""
    ]


def test_vllms_commands_end_with_what_to_change_and_programs_may_catch_it(arguments: Any) -> None:
    wrong = arguments({"provider": 42, "profil": PROFILE})
    with pytest.raises(SystemExit, match=r"^ctwl: option-out-of-range: there is no option 'profil'"):
        wrong.create_engine_config(SERVER)
    with pytest.raises(OptionOutOfRange, match="there is no option 'profil'"):
        wrong.create_engine_config(SimpleNamespace(name="LLM_CLASS"))

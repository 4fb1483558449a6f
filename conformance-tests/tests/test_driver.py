"""The driver against adapters that crash, hang and talk nonsense: real processes, all reaped."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from scripted import arguments

from ctwl_conformance.adapter import Adapter, AdapterErrored, Limits
from ctwl_conformance.adapter.driver import command_words
from ctwl_conformance.adapter.messages import Refused, Skipped
from ctwl_conformance.run.cases import _whole

QUICK = Limits(start=20, request=20, stop=5, starts=4)


def scripted(body: str, limits: Limits = QUICK) -> Adapter:
    return Adapter(arguments(body), limits)


def alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_an_answer_a_skip_and_an_error() -> None:
    script = """
def vector(request):
    what = request["input"]["say"]
    reply(request, **{"ok": {"ok": {"said": 1}}, "skip": {"skip": "too large"},
                      "error": {"error": {"status": "non-canonical", "message": "no\\u001b[31m"}}}[what])
serve(vector)
"""
    with scripted(script) as adapter:
        assert adapter.describe().name == "mine"
        assert adapter.vector("canonical", {"say": "ok"}) == {"said": 1}
        assert adapter.vector("canonical", {"say": "skip"}) == Skipped(skip="too large")
        assert adapter.vector("canonical", {"say": "error"}) == Refused(status="non-canonical", message="no?[31m")


@pytest.mark.parametrize(
    ("body", "kind", "why"),
    [
        ("serve(lambda request: sys.exit(3))", "crashed", "exit status 3"),
        ("serve(lambda request: os.kill(os.getpid(), 11))", "crashed", "SIGSEGV"),
        ("serve(lambda request: print('{not json', flush=True))", "malformed-reply", "no JSON"),
        ("serve(lambda request: print('[' * 100000, flush=True))", "malformed-reply", "no JSON"),
        ("serve(lambda request: print(flush=True))", "malformed-reply", "no JSON"),
        ("serve(lambda request: reply(request, ok={}, skip='why'))", "malformed-reply", "one of ok, error and skip"),
        ("serve(lambda request: reply(request, ok={'p': float('nan')}))", "malformed-reply", "NaN"),
        ("serve(lambda request: reply(request, ok={'t': '\\ud800'}))", "malformed-reply", "surrogate"),
        ("serve(lambda request: reply({'id': request['id'] + 1}, ok={}))", "wrong-id", "has the id"),
        ("serve(lambda request: os.close(1) or os._exit(0))", "crashed", "exit status 0"),
        (
            "serve(lambda request: [print(end='x' * 65536) for _ in iter(int, 1)])",
            "line-too-long",
            "16777216 bytes",
        ),
    ],
)
def test_what_is_no_reply_is_an_error_of_its_own_kind(body: str, kind: str, why: str) -> None:
    with scripted(body) as adapter:
        with pytest.raises(AdapterErrored, match=why) as caught:
            adapter.vector("canonical", {})
        assert caught.value.kind == kind


def test_a_crash_in_the_middle_shows_stderr_and_costs_one_case() -> None:
    script = """
def vector(request):
    if request["input"]["n"] == 2:
        sys.exit("out of cheese")
    reply(request, ok={"n": request["input"]["n"]})
serve(vector)
"""
    with scripted(script) as adapter:
        assert adapter.vector("canonical", {"n": 1}) == {"n": 1}
        with pytest.raises(AdapterErrored, match="crashed") as caught:
            adapter.vector("canonical", {"n": 2})
        assert "out of cheese" in caught.value.stderr
        assert adapter.vector("canonical", {"n": 3}) == {"n": 3}


def test_one_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    script = f"""
def vector(request):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    open({str(tmp_path / "pids")!r}, "w").write(f"{{os.getpid()}} {{child.pid}}")
    time.sleep(600)
serve(vector)
"""
    with scripted(script, Limits(start=20, request=1, stop=1)) as adapter:
        with pytest.raises(AdapterErrored, match="no reply to vector within 1 s") as caught:
            adapter.vector("canonical", {})
        assert caught.value.kind == "timed-out"
        pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
        while any(alive(pid) for pid in pids):  # the grandchild is init's to reap
            time.sleep(0.01)


def test_one_that_does_not_stop_is_ended(tmp_path: Path) -> None:
    script = f"""
open({str(tmp_path / "pid")!r}, "w").write(str(os.getpid()))
reply(json.loads(sys.stdin.readline()), ok=TOLD)
time.sleep(600)
"""
    adapter = scripted(script, Limits(start=20, request=1, stop=0.2))
    adapter.describe()
    adapter.close()
    assert not alive(int((tmp_path / "pid").read_text()))


def test_what_does_not_start_is_not_waited_for_again() -> None:
    with Adapter(["/no/such/program"], QUICK) as adapter:
        for _ in range(2):
            with pytest.raises(AdapterErrored, match="not-started: /no/such/program"):
                adapter.describe()
    with scripted("sys.exit('no weights')") as adapter:
        for _ in range(2):
            with pytest.raises(AdapterErrored, match="crashed") as caught:
                adapter.vector("canonical", {})
            assert "no weights" in caught.value.stderr


def test_one_that_fails_all_the_time_is_given_up() -> None:
    with scripted("serve(lambda request: sys.exit(1))") as adapter:
        kinds = []
        for _ in range(6):
            with pytest.raises(AdapterErrored) as caught:
                adapter.vector("canonical", {})
            kinds.append(caught.value.kind)
        assert kinds == ["crashed"] * 4 + ["given-up"] * 2
        assert "started 4 times; the last one ended so: crashed: it ended with exit status 1" in str(caught.value)


@pytest.mark.parametrize(
    ("line", "separator", "words"),
    [
        (r"node 'my reader.js' --no-#", "/", ["node", "my reader.js", "--no-#"]),
        (r"node my\ reader.js", "/", ["node", "my reader.js"]),
        (r'"C:\My tools\node.exe" reader\adapter.js', "\\", [r"C:\My tools\node.exe", r"reader\adapter.js"]),
    ],
)
def test_a_command_is_split_as_the_system_names_files(line: str, separator: str, words: list[str]) -> None:
    assert command_words(line, separator=separator) == words


def test_a_large_request_and_a_chatty_stderr_do_not_block() -> None:
    script = """
def vector(request):
    sys.stderr.write("y" * 1000000)
    reply(request, ok={"length": len(request["input"]["text"])})
serve(vector)
"""
    with scripted(script) as adapter:
        assert adapter.vector("canonical", {"text": "é" * 4_000_000}) == {"length": 4_000_000}
        with pytest.raises(ValueError, match="at most 16777216"):
            adapter.vector("canonical", {"text": "é" * 9_000_000})


def test_a_line_too_many_is_a_wrong_id() -> None:
    with scripted("serve(lambda request: [reply(request, ok={}), reply(request, ok={})])") as adapter:
        assert adapter.vector("canonical", {}) == {}
        with pytest.raises(AdapterErrored, match="wrong-id"):
            adapter.vector("canonical", {})


def test_no_descriptors_are_left_open() -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        with scripted("serve(lambda request: sys.exit(1))") as adapter, pytest.raises(AdapterErrored):
            adapter.vector("canonical", {})
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    with pytest.raises(ChildProcessError):  # children are reaped
        os.waitpid(-1, os.WNOHANG)


def test_byte_strings_are_sent_in_one_piece() -> None:
    asked = {"bytes": ["c5", {"repeat": "00ff", "times": 2}], "lists": [["aa", "bb"], []], "n": 1}
    assert _whole(asked) == {"bytes": "c500ff00ff", "lists": [["aa", "bb"], []], "n": 1}

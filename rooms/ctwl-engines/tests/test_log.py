"""The log of texts: whole after a kill, whatever moves its file; and what an audit finds in it."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctwl_encoder.command import main
from ctwl_encoder.core.expected_evidence import Evidence
from ctwl_encoder.errors import OptionOutOfRange
from ctwl_engines.log import TextLog, append, began, finished, unmarked
from ctwl_engines.policy import Policy
from ctwl_operations.audit.summary import Gap, Line, Summary, parse_line

EVIDENCE = Evidence(decided=90.0, repeats=10.0, reader=50.0)
PROFILE = "org.ctwl.smollm2-135m.1"
TEXTS = """
import sys, threading, time
from ctwl_encoder.core.expected_evidence import Evidence
from ctwl_engines.log import TextLog, began, finished
from ctwl_engines.policy import Policy

policy = Policy(provider=42, version=3, profile="org.ctwl.smollm2-135m.1", log=sys.argv[1])
front, worker = TextLog(policy, wait=True), TextLog(policy, wait=sys.argv[2] == "wait")

def serve(number):
    for n in range(1_000_000):
        request = policy.request(None, 1.0)
        begun = began(policy, f"cmpl-{number}-{n}", request, request.payload(n % 64))
        process, line = front.write([begun])
        time.sleep(0.02)
        worker.write([finished(begun, (process, line), {None: 90, "no place to mark": 10}, 0.95, Evidence(9, 1, 3))])
        print(f"{process} {line}\\n", end="", flush=True)  # the client has its answer

for number in range(200):
    threading.Thread(target=serve, args=(number,), daemon=True).start()
time.sleep(60)
"""


def lines_of(*logs: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for log in logs if log.exists() for line in log.read_bytes().splitlines() if line]


@pytest.mark.parametrize("way", ["wait", "later"])
def test_a_server_that_is_killed_has_noted_each_finished_text(tmp_path: Path, way: str) -> None:
    """200 texts at once, and the file is moved away in between, as logrotate does; later, the newest may be missing."""
    log, moved = tmp_path / "ctwl.log", tmp_path / "ctwl.log.1"
    told: list[str] = []
    with subprocess.Popen([sys.executable, "-c", TEXTS, log, way], stdout=subprocess.PIPE, text=True) as server:
        for line in server.stdout or []:
            told.append(line)
            if len(told) == 200:
                log.rename(moved)
            if len(told) == 1000:
                server.send_signal(signal.SIGKILL)  # what was told until then is read yet
    lines = lines_of(moved, log)  # none is cut off
    order = [(process, int(number)) for process, number in (line.split() for line in told if line.endswith("\n"))]
    answered = set(order)
    begun = {(line["process"], line["line"]) for line in lines if line["event"] == "begin"}
    ended = {tuple(line["begun"]) for line in lines if line["event"] == "end"}
    assert len(answered) >= 1000 and answered <= begun
    missing = [place for place, text in enumerate(order) if text not in ended]
    assert ended and all(place >= len(order) - len(missing) - 200 for place in missing)
    assert way == "later" or not missing
    assert ended <= begun
    assert main(["audit", str(log), str(moved)]) == 0


def policy(log: Path, **told: Any) -> Policy:
    return Policy(**{"provider": 42, "version": 3, "profile": PROFILE, "log": str(log), **told})


def written(log: TextLog, decided: Policy, *, end: bool = True, chance: float = 0.9) -> None:
    request = decided.request(None, 1.0)
    assert request is not None
    begun = began(decided, "chatcmpl-1", request, request.payload(5))
    line = log.write([begun])
    if end:
        places = Counter({None: 90, "no place to mark": 10})
        log.write([finished(begun, line, places, chance, EVIDENCE)])


def log_of_a_text(path: Path, **end: Any) -> list[bytes]:
    """The lines of a log of one text, whose end has these fields in place of its own."""
    decided = policy(path)
    written(TextLog(decided, wait=True), decided)
    *lines, last = path.read_bytes().splitlines()
    lines.append(json.dumps({**json.loads(last), **end}).encode())
    path.write_bytes(b"\n".join(lines))
    return lines


def test_a_line_says_what_was_written_and_no_word_of_it(tmp_path: Path) -> None:
    decided = policy(tmp_path / "log")
    log = TextLog(decided, wait=True)
    written(log, decided)
    log.write([unmarked(decided, "chatcmpl-2", "fixed form")])
    start, begin, end, without = lines_of(tmp_path / "log")
    assert start["decided"] == {"provider": 42, "version": 3, "profile": PROFILE, "clients": "none"}
    assert begin["request"] == end["request"] == hashlib.sha256(b"chatcmpl-1").hexdigest()[:32]
    of_text = {"profile": PROFILE, "provider": 42, "version": 3, "nonce": 5, "layout": 1, "strategy": "race"}
    of_text |= {"strength": 0.5}
    assert {name: end[name] for name in of_text} == {name: begin[name] for name in of_text} == of_text
    assert (end["tokens"], end["marked"], end["left"], end["chance"]) == (100, 90, {"no place to mark": 10}, 0.9)
    assert end["nats"] == {"decided": 90.0, "repeats": 10.0, "reader": 50.0} and "nats" not in begin
    assert end["begun"] == [begin["process"], begin["line"]] and end["policy"] == start["policy"] == decided.digest
    assert (without["event"], without["why"]) == ("unmarked", "fixed form") and "provider" not in without
    assert [line["line"] for line in (start, begin, end, without)] == [0, 1, 2, 3]


def test_lines_without_evidence_have_no_budget(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A log of before: a mean is of the texts whose lines say it."""
    log_of_a_text(tmp_path / "log")
    lines = lines_of(tmp_path / "log")
    for line in lines:
        line.pop("nats", None), line.pop("strength", None)
    (tmp_path / "log").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(["audit", "--json", str(tmp_path / "log")]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["budget"] is None and told["written"][0]["strength"] is None


def test_a_line_that_was_cut_off_spoils_no_other(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b'{"process": "a", "li')
    append(str(log), b'{"process": "b"}\n')
    assert log.read_bytes() == b'{"process": "a", "li\n{"process": "b"}\n'


def test_lines_that_wait_for_a_slow_disk_are_written_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a kill can cost is what came in during one write, not a growing queue."""
    decided, calls, free = policy(tmp_path / "log"), list[bytes](), threading.Event()

    def slow(path: str, lines: bytes) -> None:
        append(path, lines)
        calls.append(lines)
        free.wait(60)

    log = TextLog(decided, wait=False)
    monkeypatch.setattr("ctwl_engines.log.append", slow)
    log.write([unmarked(decided, "first", "fixed form")])
    while not calls:
        time.sleep(0.001)
    for number in range(100):
        log.write([unmarked(decided, f"chatcmpl-{number}", "fixed form")])
    free.set()
    while len(calls) < 2:
        time.sleep(0.001)
    assert [lines.count(b"\n") for lines in calls] == [1, 100]
    assert [line["line"] for line in lines_of(tmp_path / "log")] == list(range(102))


def test_a_log_that_is_cut_while_a_line_is_written_loses_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As logrotate does it with ``copytruncate``: here after the size was looked up."""
    log, found = tmp_path / "log", os.fstat

    def cut(descriptor: int) -> os.stat_result:
        before = found(descriptor)
        os.truncate(log, 0)
        return before

    append(str(log), b'{"process": "a"}\n')
    monkeypatch.setattr(os, "fstat", cut)
    append(str(log), b'{"process": "b"}\n')
    assert log.read_bytes().strip() == b'{"process": "b"}'


def test_a_log_that_cannot_be_written_is_refused_at_once_and_later_stops_no_text(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (tmp_path, pipe, tmp_path / "none" / "log"):
        with pytest.raises(OptionOutOfRange, match="cannot write the log"):
            TextLog(policy(path), wait=True)
    folder = tmp_path / "logs"
    folder.mkdir()
    decided = policy(folder / "log")
    log = TextLog(decided, wait=True)
    (folder / "log").rename(tmp_path / "log.1")
    folder.rmdir()
    written(log, decided)
    assert "a line is missing" in caplog.text
    folder.mkdir()
    written(log, decided)
    summary = Summary.of(
        line for part in (tmp_path / "log.1", folder / "log") for line in part.read_bytes().splitlines()
    )
    assert [(gap.first, gap.last) for gap in summary.gaps] == [(1, 2)]


@pytest.mark.parametrize("chance", ["1.5", "-1", "NaN", '"0.5"'])
def test_a_line_with_a_chance_that_is_none_is_no_line(tmp_path: Path, chance: str) -> None:
    end = log_of_a_text(tmp_path / "log", chance=0.25)[-1]
    assert parse_line(end) is not None
    assert parse_line(end.replace(b"0.25", chance.encode())) is None


def test_an_audit_sums_by_day_and_policy_and_finds_gaps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log"
    for decided in (policy(path), policy(path, clients="off")):
        log = TextLog(decided, wait=True)
        written(log, decided)
        written(log, decided, chance=0.01)
        written(log, decided, end=False)
        log.write([unmarked(decided, "chatcmpl-2", "fixed form")])
    assert main(["audit", str(path)]) == 0
    told = capsys.readouterr().out
    assert "texts not to be marked: 2, fixed form" in told
    assert "complete: no line is missing" in told and "2 marked texts have no end" in told
    assert (
        "Evidence of a text of 100 tokens, in nats: decided by the mark 90.0; a reader is expected to see 30.0" in told
    )
    assert "Lost before: first tokens 0.0, bridge 10.0. Lost after: repeats 10.0, reader 50.0" in told
    assert f"texts marked: 6, race 0.5, provider 42, version 3, profile {PROFILE}" in told
    assert main(["audit", "--json", str(path)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["budget"]["read"] == pytest.approx(30) and told["written"][0]["strength"] == 0.5
    days = told["days"]
    assert [day["policy"] for day in days] == sorted({policy(path).digest, policy(path, clients="off").digest})
    of_day = {"marked_texts": 3, "unmarked_texts": 1, "ended": 2, "tokens": 200, "marked": 180, "expected_found": 0.91}
    assert all(day[name] == pytest.approx(count) for day in days for name, count in of_day.items())

    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:4], *lines[6:], b'{"process": "cut o']))
    assert main(["audit", str(path)]) == 1
    told = capsys.readouterr().out
    assert "missing: lines 4 to 5 of process" in told and "1 lines cannot be read" in told
    path.write_bytes(b"".join([*lines, *lines[2:3]]))
    assert main(["audit", str(path)]) == 1
    assert "1 lines stand twice" in capsys.readouterr().out


@pytest.mark.parametrize("field", ["line", "tokens", "marked", "left"])
def test_a_number_that_no_server_writes_breaks_no_audit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], field: str
) -> None:
    log_of_a_text(tmp_path / "log", **{field: {"no place to mark": 10**4000} if field == "left" else 10**4000})
    assert main(["audit", str(tmp_path / "log")]) == 1
    assert "1 lines cannot be read" in capsys.readouterr().out


def test_words_in_a_log_steer_no_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log_of_a_text(tmp_path / "log", left={"\x1b[2J": 10}, process="\x1b]0;")
    main(["audit", str(tmp_path / "log")])
    shown = capsys.readouterr().out
    assert "\x1b" not in shown and "10, \\x1b[2J" in shown


def test_the_beginning_of_a_process_is_missed_too(tmp_path: Path) -> None:
    lines = log_of_a_text(tmp_path / "log")
    summary = Summary.of(lines[2:])
    end = parse_line(lines[2])
    assert end is not None
    assert summary.gaps == [Gap(end.process, 0, 1, None, end.time)] and summary.unbegun == 1


def test_a_log_may_have_byte_order_marks_and_empty_lines(tmp_path: Path) -> None:
    lines = log_of_a_text(tmp_path / "log")
    assert Summary.of([b"\xef\xbb\xbf" + lines[0], b"\n", *lines[1:]]).complete


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("none", "No such file"), ("empty", ""), ("other", ""), (".", "Is a directory"),
        ("pipe", "it is a pipe or a device"),
    ],
)  # fmt: skip
def test_another_file_is_an_error_and_a_pipe_no_hang(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, said: str
) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "other").write_bytes(b"{}\n")
    os.mkfifo(tmp_path / "pipe")
    assert main(["audit", str(tmp_path / name)]) == 2
    told = capsys.readouterr().err
    assert told.startswith("ctwl-encode audit: option-out-of-range: ") and said in told


VALUES = st.none() | st.integers() | st.floats() | st.text(max_size=5) | st.lists(st.integers(), max_size=2)


@given(st.lists(st.binary(max_size=40) | st.dictionaries(st.sampled_from(sorted(Line.model_fields)), VALUES)))
def test_no_line_breaks_an_audit(given_lines: list[bytes | dict[str, Any]]) -> None:
    lines = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in given_lines]
    summary = Summary.of(lines)
    assert summary.lines + summary.broken <= len(lines)


def test_windows_is_told_to_write_line_ends_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = list[int]()
    opened = os.open
    monkeypatch.setattr(os, "O_BINARY", 1 << 40, raising=False)
    monkeypatch.setattr(
        os, "open", lambda path, flags, mode: (given.append(flags), opened(path, flags % (1 << 40), mode))[1]
    )
    append(str(tmp_path / "log"), b"{}\n")
    assert given[0] >> 40 == 1

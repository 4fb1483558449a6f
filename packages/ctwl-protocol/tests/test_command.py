"""Whatever goes wrong in a command ends in one line and an exit status."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ctwl_protocol import environment
from ctwl_protocol.command import FAILED, command_parser, run_command
from ctwl_protocol.errors import FileUnwritable, ProfileUnknown


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (ProfileUnknown("no such profile"), FAILED, "prog: profile-unknown: no such profile\n"),
        (OSError("disk full"), FAILED, "prog: disk full; try again\n"),
        (FileUnwritable("disk full"), FAILED, "prog: file-unwritable: disk full; try again\n"),
        (ProfileUnknown("no \x1b[2J\nprog: \u202e"), FAILED, "prog: profile-unknown: no \\x1b[2J\nprog: \\u202e\n"),
        (KeyboardInterrupt(), 130, "prog: interrupted; try again\n"),
    ],
)
def test_an_error_is_a_message_and_a_status(
    error: BaseException, status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def run() -> int:
        raise error

    assert run_command("prog", run, advice=lambda: "try again", interrupted=130) == status
    assert capsys.readouterr() == ("", said)


HEAD = """
import os, sys
from pathlib import Path
from ctwl_protocol.command import closed_output_is_fine, note, run_command
reader, writer = os.pipe()
os.close(reader)
os.dup2(writer, {closed})
def run():
    {run}
    Path("done").touch()
    return 1
sys.exit(run_command("prog", run))
"""


@pytest.mark.parametrize(
    ("closed", "run", "status", "done"),
    [
        (1, "print('a result')", 1, True),  # it breaks behind the work
        (1, "print('what is done', flush=True)", FAILED, False),
        (2, "print('what is done', file=sys.stderr)", FAILED, False),
        (2, "note('progress')", 1, True),
        (1, "with closed_output_is_fine(): print('a result', flush=True)", 1, True),
    ],
)
def test_a_reader_that_goes_away_never_makes_undone_work_look_done(
    closed: int, run: str, status: int, done: bool, tmp_path: Path
) -> None:
    code = HEAD.format(closed=closed, run=run)
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path, env=buffered
    )
    assert (ran.returncode, (tmp_path / "done").exists()) == (status, done)
    assert ran.stderr == ("prog: [Errno 32] Broken pipe\n" if (closed, status) == (1, FAILED) else "")


def test_a_bug_shows_where_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command("prog", lambda: int("x")) == FAILED
    assert "ValueError" in capsys.readouterr().err


def test_every_parser_has_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command_parser("prog", "text", "more").parse_args(["--version"])
    assert capsys.readouterr().out.startswith("prog ")


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["write", "--profle", "x"], "; did you mean --profile?"),
        (["write", "--tempratur=1", "--prof", "x"], "; did you mean --temperature?"),
        (["write", "--zzz"], "--zzz"),
        (["--versoin", "write"], "; did you mean --version?"),
    ],
)
def test_a_mistyped_option_is_told_what_it_may_mean(
    given: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = command_parser("prog", "text", "more")
    write = parser.add_subparsers(required=True).add_parser("write")
    write.add_argument("--profile")
    write.add_argument("--temperature")
    with pytest.raises(SystemExit) as left:
        parser.parse_args(given)
    assert left.value.code == FAILED and capsys.readouterr().err.endswith(f"{meant}\n")


def test_help_ends_with_the_variables(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CTWL_PROFILE", "")
    assert environment.PROFILE.value() is None
    with pytest.raises(SystemExit):
        command_parser("prog", "text", "more\n", [environment.PROFILE, environment.PASSPHRASE]).parse_args(["--help"])
    said = capsys.readouterr().out.partition("more\n\nenvironment:\n")[2]
    assert [line.split()[0] for line in said.splitlines()] == ["CTWL_PROFILE", "CTWL_PASSPHRASE"]


def test_every_variable_stands_in_one_module_and_in_the_help_of_a_command() -> None:
    """And no other module of the core spells a name; an engine says which variables it reads."""
    package = Path(environment.__file__).parent
    known = {each.name for each in vars(environment).values() if isinstance(each, environment.Variable)}
    sources = [*package.rglob("*.py"), *package.parents[3].glob("*/ctwl-*/src/**/*.py")]
    spelled = {
        (path.name, name)
        for path in sources
        for name in re.findall(r'environ\S*\(?"(CTWL_\w+)|^\w+ = "(CTWL_\w+)"', path.read_text("utf-8"), re.M)
    }
    assert spelled == set()
    assert known == {"CTWL_PROFILE", "CTWL_CACHE", "CTWL_REGISTRY", "CTWL_PASSPHRASE"}


@pytest.mark.parametrize(("own", "bytes_"), [({}, "é Й".encode()), ({"PYTHONIOENCODING": "cp1252"}, b"\xe9 \\u0419")])
def test_a_file_gets_utf_8_on_every_system(own: dict[str, str], bytes_: bytes) -> None:
    """A text that goes into a file, or to the decoder, is in UTF-8 on systems with another encoding too."""
    code = "from ctwl_protocol.command import run_command; run_command('prog', lambda: print('\\xe9 \\u0419') or 0)"
    plain = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", **own}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=plain, check=True)
    assert done.stdout.rstrip() == bytes_

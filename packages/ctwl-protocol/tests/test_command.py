"""Whatever goes wrong in a command ends in one line and an exit status."""

from __future__ import annotations

import pytest

from ctwl_protocol.command import FAILED, command_parser, run_command
from ctwl_protocol.errors import FileUnwritable, ProfileUnknown


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (ProfileUnknown("no such profile"), FAILED, "prog: profile-unknown: no such profile\n"),
        (OSError("disk full"), FAILED, "prog: disk full; try again\n"),
        (FileUnwritable("disk full"), FAILED, "prog: file-unwritable: disk full; try again\n"),
        (KeyboardInterrupt(), 130, "prog: interrupted; try again\n"),
    ],
)
def test_an_error_is_a_message_and_a_status(
    error: BaseException, status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def run() -> int:
        raise error

    assert run_command("prog", run, advice="try again", interrupted=130) == status
    assert capsys.readouterr() == ("", said)


def test_a_bug_shows_where_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command("prog", lambda: int("x")) == FAILED
    assert "ValueError" in capsys.readouterr().err


def test_every_parser_has_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command_parser("prog", "text", "more").parse_args(["--version"])
    assert capsys.readouterr().out.startswith("prog ")

"""Opening files without a process for each."""

import io
import subprocess
import sys
from contextlib import redirect_stdout

import pytest

from ctwl_documents import child, isolated


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are opened in this process, which has no bounds: what is found is the same, half a second sooner."""

    def run(command: list[str], *, input: bytes, **_: object) -> subprocess.CompletedProcess[str]:
        with monkeypatch.context() as patched, redirect_stdout(io.StringIO()) as told:
            patched.setattr(sys, "argv", command[-2:])
            patched.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(input), encoding="utf-8"))
            child.main()
        return subprocess.CompletedProcess(command, 0, told.getvalue())

    monkeypatch.setattr(child, "_bound", lambda: None)
    monkeypatch.setattr(child.logging, "disable", lambda: None)
    monkeypatch.setattr(isolated.subprocess, "run", run)

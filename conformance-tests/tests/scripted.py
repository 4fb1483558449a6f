"""Adapters of a few lines: the loop that they share, the command that runs one, and a run of the suite."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from ctwl_conformance.command import main
from ctwl_conformance.run.results import Report

__all__ = ["arguments", "command", "run"]

LOOP = """
import json, os, subprocess, sys, time
TOLD = {"name": "mine", "version": "1", "roles": ["decoder"], "profiles": [], "families": ["canonical"]}

def reply(request, **body):
    print(json.dumps({"id": request["id"], **body}), flush=True)

def serve(answer, **told):
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if request["op"] in ("start", "stop"):
            reply(request, ok=TOLD | told if request["op"] == "start" else {})
        else:
            answer(request)
"""


def arguments(script: str) -> list[str]:
    """The program and the arguments that run a script, which calls ``serve`` with what answers each question."""
    return [sys.executable, "-c", LOOP + script]


def command(script: str) -> str:
    """The same as a shell has it."""
    return shlex.join(arguments(script))


def run(folder: Path, *given: str) -> tuple[int, Report]:
    """A quick run: its exit status, and its report, which is left in the folder."""
    status = main(["run", "--quick", "--out", str(folder), *given])
    return status, Report.model_validate_json((folder / "report.json").read_text(encoding="utf-8"))

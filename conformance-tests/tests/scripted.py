"""Adapters of a few lines: the loop that they share, and the command that runs one."""

from __future__ import annotations

import shlex
import sys

__all__ = ["arguments", "command"]

LOOP = """
import json, os, subprocess, sys, time
TOLD = {"name": "mine", "version": "1", "classes": ["decoder"], "profiles": [], "families": ["canonical"]}

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

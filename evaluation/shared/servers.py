"""Servers of real models, and what they answer in a chat. ``make test-vllm`` and ``make test-llama`` install them."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from . import real_models
from .experiment import OFFLINE, ROOT
from .texts import PROVIDER, VERSION

STARTS = 900
"""Seconds within which a server must start. Chosen by hand: a busy machine takes minutes."""

ANSWERS = 3600
"""Seconds within which a part of an answer must come. Chosen by hand: llama.cpp's server lets most questions wait."""

_NAME = "served"
"""What clients call the model."""


@dataclass(frozen=True)
class Served:
    """An answer, as a client got it.

    Attributes:
        text: what was written.
        chance: how likely a reader finds it, by its writer or the server's log; None where nothing is said.
    """

    text: str
    chance: float | None


@dataclass(frozen=True)
class Server:
    """What serves a model.

    Attributes:
        program: what is run, from the root of the repository.
        options: its options, from a model of :data:`real_models.MODELS` and the path of the log of texts.
        at_once: requests that it serves together; others wait.
        plain: settings of a request by which nothing but temperature and top-p decides what is drawn.
        environment: variables of its process.
    """

    program: str
    options: Callable[[str, Path], list[str]]
    at_once: int
    plain: dict[str, Any]
    environment: dict[str, str] = field(default_factory=dict)

    def check(self) -> None:
        """Refuse a server that is not installed: SystemExit."""
        if not (ROOT / self.program).exists():
            raise SystemExit(f"there is no {self.program}; make test-vllm and make test-llama install the servers")

    def answers(self, model: str, questions: Sequence[str], settings: dict[str, Any]) -> list[Served]:
        """The answers to some questions, by streams.

        Args:
            model: one of :data:`real_models.MODELS`.
            questions: each asked in a chat of its own.
            settings: in the words of OpenAI's requests.

        Raises:
            SystemExit: the server is not installed, or does not start.
        """
        self.check()
        with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(self.at_once) as pool:
            log = Path(scratch) / "ctwl.log"
            with self._running(model, log) as client:
                given = list(pool.map(partial(ask, client, settings={**self.plain, **settings}), questions))
                ask(client, questions[0], {"max_tokens": 1})  # vLLM notes an end at its next step
            ends = map(json.loads, log.read_text().splitlines())
            chances = {line["request"]: line["chance"] for line in ends if line["event"] == "end"}
        return [Served(text, chances[name]) for name, text in given]

    @contextmanager
    def _running(self, model: str, log: Path) -> Iterator[httpx.Client]:
        """A client of the server, which runs meanwhile, and no longer, also where this process is told to stop."""
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [str(ROOT / self.program), *self.options(model, log), "--port", str(port)]
        client = httpx.Client(base_url=f"http://127.0.0.1:{port}/v1/", timeout=ANSWERS)
        said = log.with_name("said")
        with client, said.open("w") as output:
            server = subprocess.Popen(
                command, stdout=output, stderr=subprocess.STDOUT, env={**os.environ, **self.environment}
            )
            try:
                deadline = time.monotonic() + STARTS
                while not _answers(client):
                    if server.poll() is not None or time.monotonic() > deadline:
                        raise SystemExit(f"the server does not start; it said:\n{said.read_text()[-4000:]}")
                    time.sleep(1)
                yield client
            finally:
                server.terminate()
                server.wait()
                signal.signal(signal.SIGTERM, before)


def ask(client: httpx.Client, question: str, settings: dict[str, Any]) -> tuple[str, str]:
    """A hash of the answer's name, as the log has it, and its text, from a stream.

    Raises:
        SystemExit: the server refuses.
    """
    body = {"model": _NAME, "messages": [{"role": "user", "content": question}], "stream": True, **settings}
    with client.stream("POST", "chat/completions", json=body) as response:
        if response.status_code != httpx.codes.OK:
            raise SystemExit(response.read().decode())
        parts = [
            json.loads(line.removeprefix("data: ")) for line in response.iter_lines() if line.startswith("data: {")
        ]
    name = response.headers.get("x-request-id") or parts[0]["id"]
    text = "".join(choice["delta"].get("content") or "" for part in parts for choice in part["choices"])
    return hashlib.sha256(name.encode()).hexdigest()[:32], text


def _answers(client: httpx.Client) -> bool:
    try:
        return client.get("models").status_code == httpx.codes.OK
    except httpx.TransportError:
        return False


def _vllm(model: str, log: Path) -> list[str]:
    told = {"provider": PROVIDER, "version": VERSION, "profile": OFFLINE, "log": str(log)}
    return [
        "-m", "vllm.entrypoints.openai.api_server",  # the wheel for processors lacks what `vllm serve` looks for
        "--model", str(real_models.folder_of(model)), "--served-model-name", _NAME, "--dtype", "bfloat16",
        "--max-model-len", "1024", "--max-num-seqs", "32", "--enforce-eager", "--no-async-scheduling",
        "--additional-config", json.dumps({"ctwl": told}),
    ]  # fmt: skip


def _llama(model: str, log: Path) -> list[str]:
    return [
        "--provider", str(PROVIDER), "--version", str(VERSION), "--profile", OFFLINE, "--log", str(log),
        "--model", str(real_models.gguf_of(model)), "--n_ctx", "1024", "--verbose", "false",
    ]  # fmt: skip


VLLM = Server(
    ".venv-vllm/bin/python",
    _vllm,
    at_once=32,
    plain={"top_k": 0, "repetition_penalty": 1.0},
    environment={"VLLM_USE_V2_MODEL_RUNNER": "0", "VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1"},
)
LLAMA = Server(
    ".venv-llama/bin/ctwl-llama-server", _llama, at_once=1, plain={"top_k": 0, "min_p": 0.0, "repeat_penalty": 1.0}
)

"""Every shell command on the pages is run: here, page by page, or by the test that the table names."""

import argparse
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from docs_site import DOCS, ROOT, pages
from figures import EXAMPLE

from ctwl_conformance.adapter.command import add_commands
from ctwl_decoder.words import say
from ctwl_engines.engine import engines

ELSEWHERE = {
    r"(export PIP_FIND_LINKS|pip install\b)": ("tools/check_wheels.py", '"pip", "install"'),
    r"make (dist|test-dist)": (".github/workflows/ci.yml", "test-dist"),
    r"git clone|pip download|make -C ctwl rebuild|python -m zipfile|diff -r": (
        ".github/workflows/ci.yml",
        "make rebuild",
    ),
    r"(make|python tools/)conformance.page": ("tools/tests/test_conformance_page.py", "conformance_page.run("),
    r"make (test|lint)\b": (".github/workflows/ci.yml", "make test"),
    r"make (site|site-pages)$": (".ci/run", "make site"),
    r"make test-all": (".ci/run", "make test-all"),
    r"make (vectors|selftest|conformance)": (".github/workflows/ci.yml", "selftest, conformance"),
    r"make coverage|\.venv/bin/pytest": ("Makefile", "-m pytest"),
    r"make extension|python tools/extension": ("tools/tests/test_extension.py", "extension.main("),
    r"make demo": ("tools/tests/test_commands.py", "def test_the_demonstration"),
    r"ctwl-decode (--together|paper\.pdf) ": ("rooms/ctwl-documents/tests/test_documents.py", "*LIGHT, str(tmp_path)"),
    r"ctwl-decode resolve|curl \S+/v1/resolve": ("rooms/ctwl-services/tests/test_service.py", "/v1/"),
    r"ctwl-decode serve --ask ": ("rooms/ctwl-services/tests/test_ask.py", "Network({HOST"),
    r"ctwl-decode ask ": ("rooms/ctwl-services/tests/test_ask.py", 'main(["ask", '),
    r"ctwl-detector ": ("rooms/ctwl-services/tests/test_detector.py", "main([str("),
    r"python -c .*question|curl .*127.0.0.1:8080/ |ctwl-registry (init --root-key \$A|add pr|sign root.ctwl a.k)": (
        "tools/tests/test_commands.py",
        "def test_a_detector_on_this_machine_is_asked_end_to_end",
    ),
    r"ctwl-encode plan ": ("rooms/ctwl-operations/tests/test_plan.py", 'main(["plan", '),
    r"ctwl-encode compliance ": ("rooms/ctwl-operations/tests/test_compliance.py", 'main(["compliance", '),
    r"ctwl-encode audit |grep ": ("rooms/ctwl-engines/tests/test_log.py", 'main(["audit", '),
    r"ctwl-registry (detector|sign .* x\.key)": ("rooms/ctwl-operations/tests/test_registry_command.py", "sign "),
    r"ctwl-decode scan .*--ray": ("rooms/ctwl-corpora/tests/test_ray.py", "map_batches"),
    r"(CTWL_SLOW=1 )?node ": ("conformance-tests/tests/test_independent.py", "node"),
    r"(\.venv/bin/)?ctwl-conformance ": ("conformance-tests/tests/test_run.py", "-m ctwl_conformance"),
    r"python -m evaluation\b": ("evaluation/tests/test_experiments.py", "experiments()"),
}
"""Commands that are run elsewhere: a pattern, a file that runs them or their like, and a word that stands in it."""

SERVERS = "|".join(each.command for each in engines().values())
"""What starts an engine's server; its own tests do."""

CHANGES_A_CHECKOUT = r"git (diff|tag|push)|python tools/set_version|\.venv/bin/pre-commit install|export CTWL_|npm "
"""Steps of a maintainer that publish or install something; and a line that only sets a variable."""

PROGRAMS = (
    rf"({SERVERS}|"
    r"ctwl-\S+|make|pip|python|pytest|node|npm|curl|git|sed|printf|export|if|\.venv/bin/\S+|CTWL_\w+=\S+ node) "
)

PORT = "8765"
"""The port that the pages name; a free one is taken in its place."""

SESSIONS = [
    ("readers/index.md", "readers/ways.md", "readers/browser.md", "readers/questions.md"),
    ("readers/serve.md",),
    ("providers/index.md", "providers/strategy.md"),
    ("providers/records.md",),
    ("providers/private.md", "readers/proofs.md"),
    ("providers/monitoring.md", "corpora.md"),
    ("providers/rollout.md",),
]
"""Pages whose commands are run, one after the other in one folder; those of the first page have a test of their own."""


def test_the_makefile_names_adapters_and_options_that_there_are() -> None:
    parser = argparse.ArgumentParser()
    add_commands(parser.add_subparsers())
    lines = re.findall(r'"\$\(ADAPTER\) ([^"]*)"', (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert len(lines) > 3
    for line in lines:
        parser.parse_args(["adapter", *shlex.split(line)])


def blocks(page: str) -> list[str]:
    """The blocks of a page that are, or may be, shell commands."""
    text = (ROOT / page).read_text(encoding="utf-8")
    fenced = [block for kind, block in re.findall(r"^```(\w*)\n(.*?)^```", text, re.M | re.S) if kind in ("", "sh")]
    indented = re.findall(r"(?:^ {4,}\S.*\n)+", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M)
    return [*fenced, *indented]


def commands(page: str) -> list[str]:
    """The shell commands of a page, a line each; a specification's part has pseudocode and none."""
    if page.startswith("spec/"):
        return []
    lines = [line for block in blocks(page) for line in re.sub(r"\s*\\\n\s*", " ", block).splitlines()]
    stripped = (re.sub(r"\s+#.*$", "", line.strip().removeprefix("$ ")) for line in lines)
    return [line for line in stripped if re.match(PROGRAMS, line + " ")]


def plain(command: str) -> str:
    """A command without what may differ between pages: the model, the port, the form of the output."""
    return re.sub(r" --(model \S+|port \d+|json\b(?! -))", "", command)


def is_elsewhere(command: str) -> bool:
    return any(re.match(pattern, command) for pattern in [*ELSEWHERE, SERVERS, CHANGES_A_CHECKOUT])


WITH_README = [ROOT, *ROOT.glob("packages/*"), *ROOT.glob("rooms/*")]
READMES = [(folder / "README.md").relative_to(ROOT).as_posix() for folder in WITH_README]
RUN = [f"{DOCS}index.md", *(DOCS + page for session in SESSIONS for page in session)]


def test_every_command_is_run_by_a_test() -> None:
    run = {plain(command) for page in RUN for command in commands(page)}
    left = {
        (page, command)
        for page in [*pages(), *READMES]
        if page not in RUN and not page.startswith("spec/")  # which has formulas, no commands
        for command in commands(page)
        if plain(command) not in run and not is_elsewhere(command)
    }
    assert left == set()


@pytest.mark.parametrize("pattern", ELSEWHERE)
def test_what_runs_elsewhere_is_there(pattern: str) -> None:
    file, word = ELSEWHERE[pattern]
    assert word in (ROOT / file).read_text(encoding="utf-8")


class Shell:
    """A folder with what the pages take for granted, and a shell in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        letter = json.loads(EXAMPLE.read_text(encoding="utf-8"))["text"]  # of a registered provider
        (folder / "corpus").mkdir()
        for file in (folder / "letter.txt", folder / "corpus" / "letter.txt"):
            file.write_text(letter, encoding="utf-8")
        (folder / "corpus" / "more.jsonl").write_text('{"text": "Too short."}\n')
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        own = {"PATH": path, "CTWL_PROFILE": "org.ctwl.smollm2-135m.1", "CTWL_PASSPHRASE": "any will do"}
        own |= {"CTWL_REGISTRY": str(folder / "registry"), "OMP_NUM_THREADS": "1"}
        self.environment = {**os.environ, **own}
        self.server: subprocess.Popen[bytes] | None = None

    def run(self, script: str) -> str:
        """Run a script; the output, and a failed test where a command fails."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def serve(self, command: str, port: str) -> None:
        """Start the service beside what runs; the service before it ends."""
        self.stop()
        arguments = shlex.split(command)
        self.server = subprocess.Popen(arguments, cwd=self.folder, env=self.environment, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 120
        while time.monotonic() < end and self.server.poll() is None:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz").close()
                return
            except (urllib.error.URLError, OSError):
                time.sleep(0.2)
        pytest.fail(f"{command} does not serve")

    def stop(self) -> None:
        """End the service."""
        if self.server is not None:
            self.server.send_signal(signal.SIGTERM)
            self.server.wait(60)
            self.server = None


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


@pytest.mark.slow
@pytest.mark.pages
@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session[0])
def test_the_commands_of_a_page(session: tuple[str, ...], tmp_path: Path) -> None:
    shell, port = Shell(tmp_path), free_port()
    try:
        for command in [line.replace(PORT, port) for page in session for line in commands(DOCS + page)]:
            if command.startswith("ctwl-decode serve"):
                shell.serve(command, port)
            elif not is_elsewhere(command):
                shell.run(command)
    finally:
        shell.stop()


def test_the_letter_is_the_marked_example_of_the_page() -> None:
    """A copy and no link: on Windows git writes a link as a file with the name of its target."""
    letter = ROOT / "letter.txt"
    assert not letter.is_symlink()
    assert letter.read_bytes() == (ROOT / "packages/ctwl-web/page/examples/marked.txt").read_bytes()


@pytest.mark.slow
def test_the_two_commands_print_what_the_pages_show(tmp_path: Path) -> None:
    shown = re.search(rf"^{say('found-whole')}:.*$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M)
    assert shown
    _, encode, decode = [command for command in commands("README.md") if command.startswith("ctwl-")]
    assert [encode, decode] == commands(f"{DOCS}index.md")
    assert shown[0] in Shell(tmp_path).run(f"{encode}\n{decode}")


@pytest.mark.slow
def test_a_detector_on_this_machine_is_asked_end_to_end(tmp_path: Path) -> None:
    """The commands of its page, as printed; only the port is a free one."""
    shell, port = Shell(tmp_path), free_port()
    page = [block.replace("8080", port) for block in blocks(DOCS + "providers/detector.md")]
    described, asked, listed, read = (
        next(block for block in page if word in block)
        for word in ("> ours.json", "question.json", "ctwl-registry init", "ctwl-decode ask")
    )
    shell.run(described.splitlines()[0])
    try:
        shell.serve(f"ctwl-detector ours.json --port {port}", port)
        assert '"outcome":"found"' in shell.run(asked)
        shell.run(f"{listed}\n{read.splitlines()[0]} > said.txt")
    finally:
        shell.stop()
    assert "Our company says that the text, or a part of it, is its own." in (tmp_path / "said.txt").read_text()


@pytest.mark.slow
@pytest.mark.pages
def test_the_demonstration() -> None:
    command = [sys.executable, str(ROOT / "tools" / "demo.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert f"{say('found-whole')}: Example Forty-Two" in done.stdout, done.stderr

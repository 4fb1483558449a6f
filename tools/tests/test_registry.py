"""The registry's runbook and its template: the page is what its steps print, and a request is checked from outside."""

import hashlib
import importlib.util
import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from wsgiref.simple_server import make_server

import pytest
import rehearse_registry as rehearsal

from ctwl_operations.registry import command as keeping
from ctwl_protocol.registry import command as following

PLACE = "/.well-known/ctwl-registry.txt"
PAGE = rehearsal.PAGE.read_text(encoding="utf-8")


def test_every_command_of_the_runbook_is_one_that_there_is() -> None:
    scripts = [step.script.replace("\\\n", "") for step in rehearsal.steps(PAGE)]
    assert len(scripts) == PAGE.count("\n```text\n")
    lines = re.findall(r"^ctwl-registry ((?!--version).*?)(?: \||$| >)", "\n".join(scripts), re.M)
    assert len(lines) > 40
    for line in lines:
        known = keeping if line.partition(" ")[0] in following.ADDITIONS.names else following
        known._parser().parse_args(shlex.split(re.sub(r"\$\(cat \S+\)", "ab" * 32, line)))


def test_a_block_says_who_does_what_when_and_how_it_ends() -> None:
    page = "Day 7. Says.\n\n```text\nann$ one\n     two\n  printed\n(exit status 3)\n```\n\n```text\nben$ three\n```\n"
    first, second = rehearsal.steps(page)
    assert first == rehearsal.Step("ann", "one\ntwo", 3, 7) and second == rehearsal.Step("ben", "three", 0, None)
    assert f"```text\n{first.shown('  printed')}\n```" in page and second.shown("") == "ben$ three"


@pytest.mark.slow
def test_the_runbook_is_what_its_steps_print(tmp_path: Path) -> None:
    assert rehearsal.rehearsed(PAGE, tmp_path) == PAGE


@pytest.mark.slow
def test_a_registry_of_ten_years_is_as_large_as_the_runbook_says() -> None:
    row = re.findall(r"^\| 10 \| (\d+) KiB \|", PAGE, re.M)
    assert rehearsal.ten_years(10)["registry"] // 1024 + 1 >= int(row[0])


_SPEC = importlib.util.spec_from_file_location("check_request", rehearsal.KIT / "check_request.py")
assert _SPEC and _SPEC.loader
check_request = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(check_request)
REQUEST = 'provider = 99\nname = "Nine"\ncontact = "https://nine.example/"\nmodels = {0 = "Nine 1"}\n'


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The registry's repository: a branch main with the bundled test registry, and a branch that asks."""
    environment = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    for role in ("AUTHOR", "COMMITTER"):
        environment |= {f"GIT_{role}_NAME": "x", f"GIT_{role}_EMAIL": "x@example.org"}
    programs = tmp_path / "bin"
    programs.mkdir()
    command = "import sys; from ctwl_protocol.registry.command import main; sys.exit(main())"
    (programs / "ctwl-registry").write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{command}" "$@"\n')
    (programs / "ctwl-registry").chmod(0o755)
    for name, value in {**environment, "PATH": f"{programs}:{os.environ['PATH']}"}.items():
        monkeypatch.setenv(name, value)
    folder = tmp_path / "public"
    bundled = rehearsal.ROOT / "packages/ctwl-protocol/src/ctwl_protocol/registry/bundled/registry.ctwl"
    run(tmp_path, f"git init --quiet --initial-branch main public && cp {shlex.quote(str(bundled))} public")
    run(folder, "mkdir providers && touch providers/.gitkeep README.md && git add . && git commit --quiet -m 0")
    run(folder, "git switch --quiet --create asks")
    return folder


def run(folder: Path, script: str) -> None:
    subprocess.run(["bash", "-euc", script], cwd=folder, check=True)


@pytest.fixture
def host() -> Iterator[tuple[str, dict[str, tuple[int, str]]]]:
    """A web server's address, and its pages by their paths: a status and a text, or where a redirect leads."""
    pages = dict[str, tuple[int, str]]()

    def app(request: dict[str, str], start_response: Callable[..., object]) -> list[bytes]:
        status, text = pages.get(request["PATH_INFO"], (404, ""))
        start_response(f"{status} -", [("Location", text)] if status == 302 else [])
        return [text.encode()]

    with make_server("127.0.0.1", 0, app) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"127.0.0.1:{server.server_port}", pages
        server.shutdown()


def asked(folder: Path, address: str) -> tuple[int, str]:
    """The status of the check, and what it prints, of what is in the folder now."""
    run(folder, "git add --all && git commit --quiet --allow-empty -m asks")
    command = [sys.executable, str(rehearsal.KIT / "check_request.py"), "main", "--local", f"nine.example={address}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert not done.stderr
    return done.returncode, done.stdout


def test_a_request_is_of_the_host_s_owner(repository: Path, host: tuple[str, dict[str, tuple[int, str]]]) -> None:
    address, pages = host
    request = repository / "providers" / "99.toml"
    request.write_text(REQUEST, encoding="utf-8")
    digest = hashlib.sha256(request.read_bytes()).hexdigest()
    assert "answers 404; put the digest there" in asked(repository, address)[1]
    pages[PLACE] = (200, f"{'0' * 64}\n{digest}\n")
    assert asked(repository, address) == (
        0, "nine.example shows the digest of providers/99.toml\nproviders/99.toml can be entered\n")  # fmt: skip


def test_a_page_is_not_followed_elsewhere_or_read_for_long(host: tuple[str, dict[str, tuple[int, str]]]) -> None:
    local, pages = {"nine.example": host[0]}, host[1]
    pages["/"] = (200, "elsewhere")
    pages[PLACE] = (302, "/")
    with pytest.raises(check_request.RefusedError, match="answers 302"):
        check_request.page("nine.example", local)
    pages[PLACE] = (200, "one\ntwo " + " " * 5000 + "far")
    assert check_request.page("nine.example", local) == ["one", "two"]
    with pytest.raises(check_request.RefusedError, match="cannot be read"):
        check_request.page("nine.example", {"nine.example": "127.0.0.1:1"})


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("true", "does not change one file"),
        ("echo '# more' >> README.md", "providers/NUMBER.toml, and nothing else"),
        ("cp ../99.toml providers && echo '# more' >> README.md", "does not change one file"),
        ("rm providers/.gitkeep", "providers/NUMBER.toml, and nothing else"),
        ("ln -s /etc/passwd providers/99.toml", "providers/NUMBER.toml, and nothing else"),
        ("cp ../99.toml providers && chmod +x providers/99.toml", "providers/NUMBER.toml, and nothing else"),
        ("cp ../99.toml providers/098.toml", "providers/NUMBER.toml, and nothing else"),
        ("cp ../99.toml providers/98.toml", "not its provider's number"),
        ("sed s/99/42/ ../99.toml > providers/42.toml", "code-reused"),
        ("head -c 20000 /dev/zero > providers/99.toml", "registry-unreadable"),
    ],
)
def test_a_request_that_does_more_is_refused_first(repository: Path, tmp_path: Path, script: str, says: str) -> None:
    (tmp_path / "99.toml").write_text(REQUEST, encoding="utf-8")
    run(repository, script)
    status, said = asked(repository, "nobody:is:asked")
    assert status == 1 and said.startswith("refused: ") and says in said

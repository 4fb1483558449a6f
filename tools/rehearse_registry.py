"""Rehearse a registry's life: run each step of the runbook, docs/implementers/registry.md, and write what it printed.

    python tools/rehearse_registry.py            run every step, and write the page anew
    python tools/rehearse_registry.py --keep F   leave the people's folders in F

The page is the script. A block of it begins with a person, as in ``ann$ ``. What stands under this prompt is a shell
script, and what follows is what it printed, with its exit status where that is not 0. "Day 7." before a block sets the
clock. Each person is a folder on this machine, as if it were a machine of theirs. The commands are the real ones. What
is stood in for: the clock, so that months pass; TLS and the name server, by a plain web server at this machine; the
forge, whose pull requests are branches. Keys are new in each run, so the page has names in their places.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import http.server
import os
import re
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from ctwl_operations.registry import drafts
from ctwl_protocol.registry import Envelope, Registry
from ctwl_protocol.registry.keys import public_bytes, test_key

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "implementers" / "registry.md"
KIT = ROOT / "interop" / "registry"
OPENED = datetime(2027, 1, 4, 9, tzinfo=UTC)
DAY = 86_400

CLOCK = """import os, sys, time
time.time = lambda: float(os.environ["REHEARSED_TIME"])
from ctwl_protocol.registry.command import main
sys.exit(main())
"""
"""``ctwl-registry`` on the day of the rehearsal."""

_BLOCK = re.compile(r"(?:^Day (\d+)\.(?:(?!^```).)*?)?^```text\n(([a-z-]+)\$ .*?)\n```$", re.M | re.S)
_STATUS = re.compile(r"^\(exit status (\d+)\)$", re.M)
_KEYS = re.compile(r"(?:^ +<[\w-]+\.pub>\n)+", re.M)


@dataclass(frozen=True)
class Step:
    """What one person does at one time.

    Attributes:
        who: a folder.
        script: commands of the shell, a line each.
        status: the exit status of the last one; all others end with 0.
        day: days since the registry opened; None is the day of the step before.
    """

    who: str
    script: str
    status: int
    day: int | None

    @classmethod
    def read(cls, block: re.Match[str]) -> Step:
        """The step of a block of the page."""
        day, text, who = block.groups()
        indent = len(f"{who}$ ")
        first, *rest = text.splitlines()
        lines = [first[indent:]]
        for line in rest:
            if not line.startswith(" " * indent):
                break
            lines.append(line[indent:])
        status = _STATUS.search(text)
        return cls(who, "\n".join(lines), int(status[1]) if status else 0, None if day is None else int(day))

    def shown(self, printed: str) -> str:
        """The block, with what the step printed."""
        first, *rest = self.script.splitlines()
        prompt = f"{self.who}$ "
        told = [printed.rstrip()] if printed.strip() else []
        end = [f"(exit status {self.status})"] if self.status else []
        return "\n".join([prompt + first, *(" " * len(prompt) + line for line in rest), *told, *end])


def steps(page: str) -> list[Step]:
    """The steps of a page, in order."""
    return [Step.read(block) for block in _BLOCK.finditer(page)]


@dataclass
class Stage:
    """The people's folders and the clock.

    Attributes:
        folder: holds one folder for each person.
        address: of the provider's web server.
        time: Unix seconds.
        names: what differs from run to run, and what the page has in its place.
    """

    folder: Path
    address: str
    time: float = OPENED.timestamp()
    names: dict[str, str] = field(default_factory=dict)

    def prepare(self) -> None:
        """An empty forge, and ``ctwl-registry`` under the stage's clock."""
        programs = self.folder / "bin"
        programs.mkdir()
        (programs / "clock.py").write_text(CLOCK, encoding="utf-8")
        for name, words in (("ctwl-registry", f'"{programs / "clock.py"}" "$@"'), ("python", '"$@"')):
            (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words}\n', encoding="utf-8")
            (programs / name).chmod(0o755)
        self.do(Step(".", "git init --quiet --bare --initial-branch main forge", 0, None))

    def do(self, step: Step) -> str:
        """Do a step; what it printed, as the page has it.

        Raises:
            RuntimeError: it did not end as the page says.
        """
        if step.day is not None:
            self.time = OPENED.timestamp() + step.day * DAY
        (self.folder / step.who).mkdir(exist_ok=True)
        done = subprocess.run(
            ["/usr/bin/env", "bash", "-euo", "pipefail", "-c", step.script],
            cwd=self.folder / step.who, env=self._environment(step.who), text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        if done.returncode != step.status:
            raise RuntimeError(f"{step.who} ended with {done.returncode}:\n{step.script}\n{done.stdout}")
        return self._with_names(done.stdout)

    def _environment(self, who: str) -> dict[str, str]:
        person = {
            f"GIT_{role}_{what}": f"{who}{at}"
            for role in ("AUTHOR", "COMMITTER")
            for what, at in (("NAME", ""), ("EMAIL", "@example.org"))
        }
        return person | {
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(sys.path),
            "HOME": str(self.folder),
            "LC_ALL": "C.UTF-8",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "KIT": str(KIT),
            "PROVIDER_ADDRESS": self.address,
            "REHEARSED_TIME": str(self.time),
            "CTWL_REGISTRY": str(self.folder / who / "trusted"),
            "CTWL_PASSPHRASE": "a rehearsal",
        }

    def _with_names(self, printed: str) -> str:
        for key in self.folder.glob("*/*.pub"):
            self.names[key.read_text(encoding="utf-8").strip()] = f"<{key.stem}.pub>"
        for file in self.folder.glob("emil/public/root.ctwl"):
            self.names[hashlib.sha256(file.read_bytes()).hexdigest()] = f"<SHA-256 of {file.name}>"
        for value, name in self.names.items():
            printed = printed.replace(value, name)
        # A root has its keys in the order of their bytes, which differs from run to run.
        printed = _KEYS.sub(lambda keys: "".join(sorted(keys[0].splitlines(keepends=True))), printed)
        return re.sub(r"\b[0-9a-f]{64}\b", "<SHA-256>", re.sub(r"\b[0-9a-f]{16}\.\.\.", "<key>", printed))


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words: object) -> None:
        pass


def rehearsed(page: str, folder: Path) -> str:
    """The page after all its steps were done in an empty folder."""
    (folder / "provider" / "site").mkdir(parents=True)
    handler = functools.partial(_Quiet, directory=folder / "provider" / "site")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        stage = Stage(folder, f"127.0.0.1:{server.server_port}")
        stage.prepare()

        def again(block: re.Match[str]) -> str:
            step = Step.read(block)
            return block[0].replace(block[2], step.shown(stage.do(step)))

        page = _BLOCK.sub(again, page)
        server.shutdown()
    return page


YEARS = 10
MODELS = 10
"""Model versions that a provider adds, one a year."""


def _entry(code: int, now: int, models: int) -> dict[str, object]:
    versions = [
        {"version": n, "name": f"Provider {code:04} model {n}", "since": now, "until": None} for n in range(models)
    ]
    detector = {"scheme": "Their own", "url": f"https://provider-{code:04}.example/detect"}
    fixed = {"kind": "provider", "state": "active", "since": now, "until": None, "epochs": [], "models": versions}
    return fixed | {"code": code, "name": f"Provider {code:04}", "contact": detector["url"], "detector": detector}


def _registry(version: int, now: int, entries: list[dict[str, object]]) -> bytes:
    head = {"format": "ctwl-registry/1", "version": version, "issued": now, "expires": now + 90 * DAY}
    return (
        Envelope.unsigned(Registry.model_validate(head | {"entries": entries}))
        .sign(test_key(3))
        .sign(test_key(4))
        .to_bytes()
    )


def ten_years(providers: int) -> dict[str, int]:
    """A registry that is signed each month, and gets a tenth of its providers and a model of each one each year.

    Returns:
        Bytes: of the last ``registry``; of ``all`` versions; of the ``git`` repository that has all of them; of the
        chain of ``roots``, one each two years.
    """
    found = {"all": 0}
    keys = {
        name: [public_bytes(test_key(n)) for n in of] for name, of in (("root", (0, 1, 2)), ("registry", (3, 4, 5)))
    }
    roles = {name: drafts.role(2, of) for name, of in keys.items()}
    root, _ = drafts.first(use="test", **roles, now=0, root_days=730, days=90)
    found["roots"] = YEARS // 2 * len(Envelope.unsigned(root).sign(test_key(0)).sign(test_key(1)).to_bytes())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        git = functools.partial(subprocess.run, cwd=folder, check=True, capture_output=True, text=True)
        git(["git", "init", "--quiet"])
        for month in range(12 * YEARS):
            year, now = month // 12, int(OPENED.timestamp()) + month * 30 * DAY
            there = max(1, providers * (month + 1) // (12 * YEARS))
            entries = [_entry(code, int(OPENED.timestamp()), min(MODELS, 1 + year)) for code in range(there)]
            data = _registry(month + 1, now, entries)
            found["all"] += len(data)
            (folder / "registry.ctwl").write_bytes(data)
            git(["git", "add", "."])
            git(
                [
                    "git",
                    "-c",
                    "user.name=x",
                    "-c",
                    "user.email=x@example.org",
                    "commit",
                    "--quiet",
                    "--message",
                    str(month),
                ]
            )
        git(["git", "gc", "--quiet", "--aggressive"])
        told = git(["git", "count-objects", "-v"]).stdout
        found["git"] = 1024 * int(re.findall(r"^size-pack: (\d+)", told, re.M)[0])
    return found | {"registry": len(data)}


def fullest() -> int:
    """How many providers with all sixteen model versions one registry can hold, at its greatest size."""
    now = int(OPENED.timestamp())
    one, two = (len(_registry(1, now, [_entry(code, now, 16) for code in range(n)])) for n in (1, 2))
    return min(1024, (Registry.MAX_BYTES - one) // (two - one))


def growth() -> str:
    """The table of sizes in ten years, in KiB, and what bounds a registry."""
    lines = ["| providers in ten years | last registry | all 120 versions | the git repository | the chain of roots |",
             "|---|---|---|---|---|"]  # fmt: skip
    for providers in (10, 100, 1000):
        found = ten_years(providers)
        sizes = " | ".join(f"{found[name] / 1024:,.0f} KiB" for name in ("registry", "all", "git", "roots"))
        lines.append(f"| {providers:,} | {sizes} |")
    lines.append(f"\nThe greatest registry holds {fullest()} providers that have all 16 model versions and a detector.")
    return "\n".join(lines)


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", metavar="F", type=Path, help="a new folder, which stays")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = options.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=not options.keep)
        page = rehearsed(PAGE.read_text(encoding="utf-8"), folder.resolve())
    page = page[: page.index("| providers in ten years |")] + growth() + "\n"  # which ends the page
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()

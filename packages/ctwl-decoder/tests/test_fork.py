"""A process that has read, or computed by torch, may be forked: what runs in the child reads too, and does not hang."""

import os
import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows starts processes anew"),
]

SCRIPT = """
import multiprocessing, sys
from ctwl_decoder import Decoder

TEXT = "The council met on Tuesday and talked about the bridge, the school and the weather. " * 3

def read(device):
    decoder = Decoder.open("org.ctwl.smollm2-135m.1", device=device)
    print(decoder.decode(TEXT, score="whole").p_value, flush=True)
    print(len(decoder.tokenizer.encode_within(["one word"] * 500)), flush=True)

if __name__ == "__main__":
    read(sys.argv[1])
    child = multiprocessing.get_context("fork").Process(target=read, args=(sys.argv[2],))
    child.start()
    child.join()
    sys.exit(child.exitcode)
"""


@pytest.mark.parametrize(("parent", "child"), [("auto", "auto"), ("auto", "cpu"), ("cpu", "auto"), ("cpu", "cpu")])
def test_a_forked_child_reads_whatever_its_parent_has_done(parent: str, child: str) -> None:
    several = {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2", "TOKENIZERS_PARALLELISM": "true"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, parent, child],
        env={**os.environ, **several},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    one, tokens, other, as_many = done.stdout.split()
    assert (float(other), as_many) == (pytest.approx(float(one), rel=0.2), tokens)

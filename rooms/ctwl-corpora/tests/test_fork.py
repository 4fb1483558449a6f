"""A process that has read, or computed by torch, may start others: these read too, and do not hang."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows starts processes anew")]

SCRIPT = """
import multiprocessing, sys
from ctwl_corpora import BatchReader, Settings

TEXT = "The council met on Tuesday and talked about the bridge, the school and the weather. " * 3

def read(reader):
    print(reader.read([TEXT])[0].p_value, flush=True)
    print(len(reader.decoders[0].tokenizer.encode_within(["one word"] * 500)), flush=True)

if __name__ == "__main__":
    here, there, method = sys.argv[1:]
    settings = Settings(["org.ctwl.smollm2-135m.1"], screen=None)
    reader = BatchReader(settings, device=here)
    read(reader)
    if there != "the same":
        reader = BatchReader(settings, device=there)
    child = multiprocessing.get_context(method).Process(target=read, args=(reader,))
    child.start()
    child.join()
    sys.exit(child.exitcode)
"""


@pytest.mark.parametrize(
    ("parent", "child", "method"),
    [
        ("auto", "auto", "fork"),
        ("auto", "cpu", "fork"),
        ("cpu", "auto", "fork"),
        ("cpu", "the same", "fork"),
        ("auto", "the same", "fork"),
        ("auto", "the same", "spawn"),
    ],
)
def test_another_process_reads_whatever_this_one_has_done(parent: str, child: str, method: str, tmp_path: Path) -> None:
    (tmp_path / "run.py").write_text(SCRIPT)
    several = {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2", "TOKENIZERS_PARALLELISM": "true"}
    done = subprocess.run(
        [sys.executable, str(tmp_path / "run.py"), parent, child, method],
        env={**os.environ, **several},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    one, tokens, other, as_many = done.stdout.split()
    assert (float(other), as_many) == (pytest.approx(float(one), rel=0.2), tokens)

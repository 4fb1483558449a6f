"""The pool of threads."""

import os
import subprocess
import sys

import pytest


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_the_threads_are_made_anew_in_a_forked_child() -> None:
    """Servers load once and fork: the pool's threads do not come along."""
    code = """
import os, sys
from ctwl_protocol.threads import in_chunks

def counted():
    return sum(in_chunks(lambda start, stop: stop - start, 100))

assert counted() == 100
child = os.fork()
if child == 0:
    os._exit(0 if counted() == 100 else 1)
sys.exit(os.waitpid(child, 0)[1] != 0)
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0

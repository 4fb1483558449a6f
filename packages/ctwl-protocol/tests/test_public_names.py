"""What an import brings, and what it leaves out."""

import subprocess
import sys


def test_profiles_the_registry_and_their_commands_need_neither_torch_nor_numba() -> None:
    code = """
import sys
import numpy
from ctwl_operations.profile.command import main as profile
from ctwl_protocol import get_profile
from ctwl_protocol.partition.toy import toy_weights
from ctwl_protocol.registry.command import main as registry

toy_weights(numpy.zeros((1, 4), int), get_profile("org.ctwl.toy.1").tokenizer.vocabulary)
status = profile(["show", "org.ctwl.toy.1"]) or registry(["show"])
print(sorted({"torch", "numba", "transformers", "tokenizers"} & sys.modules.keys()), file=sys.stderr)
sys.exit(status)
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "[]\n")

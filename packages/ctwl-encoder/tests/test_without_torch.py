"""What the light encoder does where neither torch nor transformers are installed."""

import subprocess
import sys

import pytest

WITHOUT = """
import sys
sys.modules.update(torch=None, transformers=None)  # an import of them fails
import numpy as np
from ctwl_encoder import Bridge
from ctwl_encoder.core.host import host_marker, probabilities
from ctwl_encoder.core.payload import Payload
from ctwl_encoder.core.strategies import Strategy
from ctwl_encoder.errors import ExtraMissing
from ctwl_engines.request import Request
from ctwl_encoder.options import MarkingOptions
from ctwl_protocol.bridge.vocabulary import spell_byte_level
from ctwl_protocol.proxy import open_proxy

proxy = open_proxy("org.ctwl.smollm2-135m.1")
bridge = Bridge([spell_byte_level(token) for token in proxy.tokenizer.vocabulary], proxy)
logits = np.random.default_rng(1).normal(scale=4, size=(1, len(bridge.vocabulary))).astype(np.float32)

def begun(strategy):
    marker = host_marker(bridge, strategy)
    text = marker.start(Payload((5,)), MarkingOptions().strength_of(strategy))
    for token in proxy.tokenizer.encode("The council said on Tuesday that the new bridge over the river would"):
        marker.extend([text], [int(token)])
    return marker, text

marker, text = begun(Strategy.RACE)
marked = logits.copy()
marker.mark([text], marked)
before, after = probabilities(logits), probabilities(marked)
print(0.2 < float(np.abs(after - before).sum() / 2) < 0.99)
try:
    begun(Strategy.DELTA)
except ExtraMissing as error:
    print(error)

from contextlib import redirect_stderr
from ctwl_encoder.command import main
with redirect_stderr(sys.stdout):
    print(main(["Hello"]), main(["plan"]))
"""


@pytest.mark.slow
def test_sampled_texts_are_marked_and_all_else_says_what_to_install() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    marked, refused, *errors, statuses = done.stdout.splitlines()
    install = "pip install 'ctwl-encoder[torch]'"
    assert marked == "True"
    assert refused == f"the strategy delta, which asks the proxy LM, needs torch; install it with: {install}"
    assert statuses == "2 2" and len(errors) == 2
    assert all("extra-missing" in each and install in each for each in errors)

"""What the light encoder does where neither torch nor transformers are installed."""

import subprocess
import sys

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
"""


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", WITHOUT + code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_sampled_texts_are_marked() -> None:
    code = """
marker, text = begun(Strategy.RACE)
marked = logits.copy()
marker.mark([text], marked)
before, after = probabilities(logits), probabilities(marked)
print(0.2 < float(np.abs(after - before).sum() / 2) < 0.99)
"""
    assert run(code) == "True"


def test_a_strategy_that_asks_the_proxy_says_what_to_install() -> None:
    code = """
try:
    begun(Strategy.DELTA)
except ExtraMissing as error:
    print(error)
"""
    assert run(code) == (
        "the strategy delta, which asks the proxy LM, needs torch; install it with: pip install 'ctwl-encoder[torch]'"
    )


def test_the_command_says_what_to_install() -> None:
    code = """
from contextlib import redirect_stderr
from ctwl_encoder.command import main
with redirect_stderr(sys.stdout):
    print(main(["Hello"]), main(["plan"]))
"""
    *errors, statuses = run(code).splitlines()
    assert statuses == "2 2" and len(errors) == 2
    assert all("extra-missing" in each and "pip install 'ctwl-encoder[torch]'" in each for each in errors)

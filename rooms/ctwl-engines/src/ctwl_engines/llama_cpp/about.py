"""What others know of llama.cpp."""

from ..engine import Engine

ENGINE = Engine(
    name="llama.cpp",
    tests="llama",
    starts="the command `ctwl-llama-server`, or a logits processor in Python",
    command="ctwl-llama-server",
)

"""What others know of llama.cpp."""

from ..engine import Engine

ENGINE = Engine(
    name="llama.cpp",
    tests="llama",
    starts="the command `ctwl-llama-server`, or a logits processor in Python",
    command="ctwl-llama-server",
    switch='"ctwl_strategy": "off"',
    counters="none; use the log",
    unmarked="start `python -m llama_cpp.server`, with the other options as they are",
)

"""What others know of SGLang, and what the plug-in reads of the environment."""

from ctwl_protocol.environment import Variable

from ..engine import Engine

POLICY = Variable("CTWL_POLICY", "what the texts of an SGLang server carry, as a JSON object")

ENGINE = Engine(
    name="SGLang",
    tests="sglang",
    starts="an entry point that SGLang loads; the variable `CTWL_POLICY`",
    command="sglang serve",
    switch='"custom_params": {"ctwl_strategy": "off"}',
    counters="`/metrics`, with `--enable-metrics`",
    unmarked="leave `CTWL_POLICY` out",
    variables={POLICY: "its texts carry nothing"},
)

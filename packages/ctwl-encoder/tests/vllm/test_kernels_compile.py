"""The Triton kernels compile for a GPU, which need not be there."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("triton", reason="the kernels are tested in the environment of vLLM: make test-vllm")

COMPILE = """
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from ctwl_encoder.core.bridge import OPENINGS
from ctwl_encoder.core.device import kernels

POINTERS = {
    "likely": "*fp32", "logits": "*fp32", "value": "*fp64", "seen": "*u8", "at": "*i64", "sums": "*i64",
    "totals": "*i64", "before": "*i64", "border": "*i64", "share": "*fp64", "times": "*fp64", "winners": "*i64",
    "parts": "*i64", "floor": "fp32", "size": "i32", "stride": "i32", "count": "i32", "shift": "i32", "blocks": "i32",
}

def compiled(kernel, **constants):
    constants = {name: getattr(value, "value", value) for name, value in constants.items()}
    signature = {n: "constexpr" if n in constants else POINTERS.get(n, "*i32") for n in kernel.arg_names}
    if constants.get("MODE") == kernels._REPORT.value:
        signature |= {"seen": "*i32", "at": "*i32", "sums": "*i32", "value": "*fp32"}
    source = ASTSource(kernel, signature, constexprs=constants)
    return triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ptx"]

shape = {"PROXY": 49152, "OPENINGS": OPENINGS, "BLOCK": 1024}
for joined in (False, True):
    for mode in (kernels._DIGIT, kernels._SUM, kernels._KEEP_HALF, kernels._KEEP_WINNER):
        assert ".target sm_90" in compiled(
            kernels._visit, BITS=12, MOST=1, SEEN=True, JOINED=joined, MODE=mode, **shape
        )
compiled(kernels._visit, BITS=0, MOST=64, SEEN=False, JOINED=False, MODE=kernels._REPORT, **shape)
compiled(kernels._select, BITS=12, FIRST=True)
for fresh in (False, True):
    compiled(kernels._race, PROXY=49152, FRESH=fresh, BLOCK=1024)
# What varies by step would compile once more where it is 1, or divisible by 16.
assert {"count", "shift"} <= {each.name for each in kernels._visit.params if each.do_not_specialize}
print("compiled")
"""


def test_the_kernels_compile_for_a_gpu() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    ended = subprocess.run(
        [sys.executable, "-c", COMPILE], capture_output=True, text=True, env=environment, timeout=500, check=False
    )
    assert ended.stdout.strip() == "compiled", ended.stderr[-3000:]

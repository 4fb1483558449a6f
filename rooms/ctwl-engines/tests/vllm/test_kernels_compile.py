"""The Triton kernels compile for a GPU, which need not be there."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("triton", reason="the kernels are tested in the environment of vLLM: make test-vllm")

pytestmark = pytest.mark.slow

COMPILE = """
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from ctwl_encoder.core.device import merging_kernel
from ctwl_encoder.core.strategies.race import kernel as race
from ctwl_protocol.bridge.bridge import OPENINGS

TYPES = {
    "likely": "*fp32", "logits": "*fp32", "seen": "*u8", "sums": "*i64", "alphas": "*fp64", "tables": "*fp64",
    "tops": "*fp64", "weights": "*fp64", "parts": "*i64", "whole": "*fp64", "floor": "fp32", "size": "i32",
    "stride": "i32", "count": "i32", "blocks": "i32",
}

def compiled(kernel, **constants):
    constants = {name: getattr(value, "value", value) for name, value in constants.items()}
    signature = {n: "constexpr" if n in constants else TYPES.get(n, "*i32") for n in kernel.arg_names}
    source = ASTSource(kernel, signature, constexprs=constants)
    return triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ptx"]

shape = {"PROXY": 49152, "OPENINGS": OPENINGS, "BLOCK": 1024}
for joined in (False, True):
    visit = {"SEEN": True, "JOINED": joined, **shape}
    assert ".target sm_90" in compiled(race._masses, **visit)
    compiled(race._add, **visit)
compiled(race._run, PROXY=49152, BLOCK=1024)
compiled(merging_kernel._report, OPENINGS=OPENINGS, MOST=64, BLOCK=1024)
# What varies by step would compile once more where it is 1, or divisible by 16.
for kernel in (race._masses, race._add):
    assert "count" in {each.name for each in kernel.params if each.do_not_specialize}
print("compiled")
"""

VARIANTS = """
import random
import numpy as np
import torch
from triton.backends.compiler import GPUTarget
from triton.compiler import make_backend
from triton.runtime.jit import JITFunction, create_function_from_signature
from ctwl_encoder.core.device import forms, marker, merging, merging_kernel
from ctwl_encoder.core.device.step import DeviceStep
from ctwl_encoder.core.places import Places
from ctwl_encoder.core.strategies import Strategy
from ctwl_encoder.models import load_model
from ctwl_protocol.bridge import Bridge
from ctwl_protocol.bridge.bridge import OPENINGS
from ctwl_protocol.proxy import open_proxy

variants, backend, size = set(), make_backend(GPUTarget("cuda", 90, 32)), 49152

def run(kernel, *args, grid, warmup, **constants):
    bind = create_function_from_signature(kernel.signature, kernel.params, backend)
    variants.add((kernel.__name__, str(bind(*args, **constants)[1])))
    for arg in args:
        if isinstance(arg, torch.Tensor):
            arg.zero_()

JITFunction.run = run
forms.has_kernels = merging.has_kernels = lambda device: True
bridge = Bridge(load_model("smollm2")[1], open_proxy("org.ctwl.smollm2-135m.1"))
race = marker.DeviceMarker(bridge, Strategy.RACE)
race.warm_up(size, torch.device("cpu"))
compiled = len(variants)
assert compiled > 8, variants

def ints(*shape):
    return np.zeros(shape, dtype=np.int32)

draw = random.Random(1)
for _ in range(100):
    rows, places, joined, seen = draw.randint(1, 40), draw.randint(1, 80), draw.randint(0, 9), draw.randint(0, 9)
    shares = tuple(draw.randint(5, 95) / 100 for _ in range(draw.randint(1, 4)))
    arrays = ints(rows), ints(rows, OPENINGS), ints(places), ints(places), ints(joined, 4), ints(seen, 2)
    step = DeviceStep.of(Places(*arrays, shares, arrays[0], arrays[0], arrays[5]), torch.device("cpu"))
    logits = torch.zeros((rows, size))
    likely, tables = torch.softmax(logits, dim=-1), race._tables_on(logits.device, size)
    merging_kernel.merging(likely, tables, step)
    race._form_on(logits.device)(logits, likely, tables, step)
assert len(variants) == compiled, f"{len(variants) - compiled} variants more"
print("as before")
"""


def printed(script: str) -> str:
    """What a script prints; it compiles, which Triton's interpreter would not."""
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, timeout=500, check=False
    )
    return ended.stdout.strip() or ended.stderr[-3000:]


def test_the_kernels_compile_for_a_gpu() -> None:
    assert printed(COMPILE) == "compiled"


def test_no_step_compiles_what_the_start_has_not() -> None:
    assert printed(VARIANTS) == "as before"

"""Linear layers in 16-bit integers against float64, on one thread and on two."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ctwl_protocol.proxy.integers import IntegerLinear, multiplies_integers

pytestmark = pytest.mark.skipif(not multiplies_integers(), reason="this processor has no such instruction")

Numbers = NDArray[np.float64]


@pytest.fixture(scope="module", params=[1, 2], ids=["one thread", "two threads"])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def found_and_wanted(x: Numbers, weight: Numbers, bias: Numbers | None = None) -> tuple[Numbers, Numbers, Numbers]:
    """What the layer gives, what float64 gives, and how far rounding may take one from the other."""
    x, weight = x.astype(np.float32).astype(np.float64), weight.astype(np.float32).astype(np.float64)
    offset = np.zeros(len(weight)) if bias is None else bias.astype(np.float32).astype(np.float64)
    layer = IntegerLinear(torch.tensor(weight).float(), None if bias is None else torch.tensor(offset).float())
    found = layer(torch.tensor(x).float()).double().numpy()
    lengths, norms = np.linalg.norm(x, axis=1), np.linalg.norm(weight, axis=1)
    half = np.sqrt(x.shape[1]) / 2
    units = np.maximum(norms / 65000, np.abs(weight).max(axis=1) / 32767)
    of_inputs, of_weights = half * lengths / 32000, half * units
    bound = np.outer(of_inputs, norms + of_weights) + np.outer(lengths, of_weights)
    return found, x @ weight.T + offset, bound + 1e-6 * (np.outer(lengths, norms) + np.abs(offset)) + 1e-30


@settings(max_examples=40, deadline=None)
@given(
    rows=st.sampled_from([0, 1, 4, 5, 6, 79, 80, 81, 163]),
    inputs=st.sampled_from([1, 2, 7, 64, 577]),
    outputs=st.sampled_from([1, 15, 16, 33, 200]),
    scale=st.sampled_from([1e-30, 1e-3, 1.0, 1e15]),
    outliers=st.booleans(),
    biased=st.booleans(),
    seed=st.integers(0, 99),
)
def test_any_shape(
    threads: int, rows: int, inputs: int, outputs: int, scale: float, outliers: bool, biased: bool, seed: int
) -> None:
    random = np.random.default_rng(seed)
    x, weight = scale * random.standard_normal((rows, inputs)), random.standard_normal((outputs, inputs))
    if outliers:
        x[::3, 0] *= 3000
        weight[::4, -1] *= 1000
        weight[::7] = 0
    found, wanted, bound = found_and_wanted(x, weight, scale * random.standard_normal(outputs) if biased else None)
    assert found.shape == wanted.shape
    assert (np.abs(found - wanted) <= bound).all()


@pytest.mark.parametrize("inputs", [1, 2, 576, 3072, 100_000])
def test_the_largest_sums_fit(threads: int, inputs: int) -> None:
    """Of all rows with a norm, those along the weights' have the largest product with them."""
    random = np.random.default_rng(inputs)
    weight = np.stack([np.ones(inputs), random.choice([-1.0, 1.0], inputs), random.standard_normal(inputs)])
    found, wanted, bound = found_and_wanted(np.concatenate([weight, -weight]), weight)
    assert (np.abs(found - wanted) <= bound).all()


def test_what_is_no_number_stays_none_of_its_row(threads: int) -> None:
    x = torch.ones(8, 6)
    x[1, 2], x[6, 0] = torch.nan, torch.inf
    found = IntegerLinear(torch.ones(3, 6), None)(x)
    assert found.isnan().all(dim=1).tolist() == [row in (1, 6) for row in range(8)]


def test_inputs_of_any_shape_and_order(threads: int) -> None:
    torch.manual_seed(1)
    x, weight = torch.randn(3, 7, 4).transpose(1, 2), torch.randn(5, 7)
    torch.testing.assert_close(IntegerLinear(weight, None)(x), x @ weight.T, rtol=0, atol=2e-3)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_layers_work_in_a_forked_child() -> None:
    """Servers load once and fork: threads do not come along, and OpenMP would end the child or wait for ever."""
    program = """
import os, torch
from ctwl_protocol.proxy.integers import IntegerLinear
torch.set_num_threads(2)
layer = IntegerLinear(torch.eye(64), None)
x = torch.arange(640.0).reshape(10, 64)
expected = layer(x)
child = os.fork()
if child == 0:
    os._exit(0 if torch.equal(layer(x), expected) else 3)
os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)

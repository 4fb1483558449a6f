"""The Triton kernels, on a GPU where there is one, else in Triton's interpreter: equal to plain torch."""

import os
import sys
from importlib.util import find_spec

import numpy as np
import pytest

if not find_spec("triton"):
    pytest.skip("the kernels are tested in the environment of vLLM: make test-vllm", allow_module_level=True)

import torch

if "triton.language" in sys.modules and not torch.cuda.is_available():  # other tests had it imported as it is
    pytest.skip("Triton's interpreter is chosen before Triton is imported: make test-vllm", allow_module_level=True)

# Before Triton is imported, and not for long: the servers of other tests have the same environment.
os.environ["TRITON_INTERPRET"] = str(int(not torch.cuda.is_available()))

from ctwl_encoder.core.device import merging_kernel
from ctwl_encoder.core.strategies.race import kernel

del os.environ["TRITON_INTERPRET"]
from ctwl_encoder.core.device import merging
from ctwl_encoder.core.device.step import DeviceStep, Tables
from ctwl_encoder.core.places import Places
from ctwl_encoder.core.strategies.race import plain
from ctwl_protocol.bridge.bridge import OPENINGS

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


@pytest.fixture(autouse=True)
def interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", str(int(DEVICE.type == "cpu")))


def made_step(seed: int, rows: int = 3, size: int = 2500, proxy: int = 700) -> tuple[torch.Tensor, Tables, DeviceStep]:
    """Tables and places of every kind: rows of one place and of several, joined candidates, tokens that were seen.

    The rows have shares of their own.
    """
    rng = np.random.default_rng(seed)
    logits = rng.normal(scale=3, size=(rows + 1, size)).astype(np.float32)
    logits[:, rng.choice(size, 30)] += 6
    tables = Tables(
        torch.from_numpy(rng.integers(0, proxy, size).astype(np.int32)).to(DEVICE),
        torch.from_numpy(rng.integers(0, OPENINGS, size).astype(np.int32)).to(DEVICE),
        proxy,
        1 / 64,
        64,
    )
    place_of = np.full((rows, OPENINGS), -1, dtype=np.int32)
    for row in range(rows):
        place_of[row, rng.choice(OPENINGS, 5, replace=False)] = [2 * row, 2 * row, 2 * row + 1, 2 * row, -2]
    joined = []
    for row in range(rows):
        for candidate in np.sort(np.argsort(-logits[row])[:12]).tolist():
            if place_of[row, int(tables.opening[candidate])] == -1:
                places = rng.choice([2 * row, 2 * row + 1, 2 * rows + row], int(rng.integers(1, 3)), replace=False)
                joined += [(row, candidate, place, rng.integers(proxy)) for place in places]
    seen = [(place, token) for place in range(2 * rows) for token in rng.choice(proxy, 40, replace=False)]
    strengths = (0.05, 0.5, 0.95)
    none = np.zeros((0, 2), dtype=np.int32)
    places = Places(
        np.array([0, 1, 3], dtype=np.int32)[:rows],
        place_of,
        rng.integers(0, 2**32, 3 * rows).astype(np.uint32).view(np.int32),
        np.resize(np.arange(len(strengths), dtype=np.int32), 3 * rows),
        np.array(joined, dtype=np.int32).reshape(-1, 4),
        np.array(seen if seed % 2 else [], dtype=np.int32).reshape(-1, 2),
        strengths,
        none[:, 0],
        none[:, 0],
        none,
    )
    return torch.from_numpy(logits).to(DEVICE), tables, DeviceStep.of(places, DEVICE)


@pytest.mark.parametrize("seed", range(4))
def test_the_kernels_mark_as_plain_torch_does(seed: int) -> None:
    logits, tables, step = made_step(seed)
    likely = torch.softmax(logits[step.rows.long()], dim=1)
    expected, found = logits.clone(), logits.clone()
    plain.mark(expected, likely, tables, step)
    kernel.mark(found, likely, tables, step)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-4)
    assert not torch.equal(expected, logits)


@pytest.mark.parametrize("seed", range(2))
def test_the_kernels_report_the_candidates_that_may_merge(seed: int) -> None:
    logits, tables, step = made_step(seed)
    likely = torch.softmax(logits[step.rows.long()], dim=1)
    expected, found = (on.merging(likely, tables, step).sort(dim=1).values for on in (merging, merging_kernel))
    assert torch.equal(expected, found)
    assert (found >= 0).any()

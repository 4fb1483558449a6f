"""How methods are compared, and the texts that experiments share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import joblib
import numpy as np
import pytest

from ctwl_protocol.proxy import Proxy
from evaluation.comparison.curves import at_success, compared
from evaluation.shared import cache
from evaluation.shared.texts import Recipe, Text, Writer


def test_quality_is_read_off_between_two_strengths() -> None:
    success, loss = np.array([0.0, 0.6, 0.5, 1.0]), np.array([0.0, 0.1, 0.2, 0.4])
    assert at_success(success, loss, 0.3) == pytest.approx(0.05)
    assert at_success(success, loss, 0.8) == pytest.approx(0.3)
    assert math.isnan(at_success(success[:3], loss[:3], 0.9))


def test_methods_are_compared_at_the_success_that_both_have() -> None:
    rng = np.random.default_rng(3)
    chance = np.array([0.0, 0.2, 0.7, 0.95])[:, None]
    right = {name: rng.random((4, 200)) < chance for name in ("delta", "vanilla")}
    costs = {"delta": 0.1, "vanilla": 0.3}
    loss = {name: np.arange(4)[:, None] * cost + rng.normal(0, 0.05, (4, 200)) for name, cost in costs.items()}
    found = compared(right, loss, 0.8, rng)
    assert found is not None and found["interval_95"][1] < 0 and found["difference"] == pytest.approx(-0.5, abs=0.1)
    assert compared(right, loss, 0.999, rng) is None


class Counting(Writer):
    """Writes nothing, and counts."""

    written = 0

    def write(self, recipe: Recipe, start: int, prompts: Sequence[str]) -> list[Text]:
        self.written += 1
        return [
            Text(prompt, code, [1], [0.5], [0.25], [0.25])
            for prompt, code in zip(prompts, recipe.codes(start, 9), strict=False)
        ]


def test_texts_are_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def keep_in(folder: Path) -> None:
        made = cache._made.func
        monkeypatch.setattr(cache, "_made", joblib.Memory(folder, verbose=0).cache(made, ignore=["make"]))

    keep_in(tmp_path)
    recipe, proxy = Recipe(tokens=1, batch=4), cast("Proxy", SimpleNamespace(arithmetic="float32"))
    writer = Counting(proxy)
    texts = writer.texts(recipe, 10)
    assert (len(texts), writer.written) == (10, 3)
    again = Counting(proxy)
    assert again.texts(recipe, 8) == texts[:8] and again.written == 0  # whole batches are shared
    assert again.texts(replace(recipe, seed=2), 4) != texts[:4] and again.written == 1
    keep_in(tmp_path / "more")
    assert len({text.text for text in Counting(proxy).texts(recipe, 200)}) == 117

"""The texts that experiments share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import joblib
import pytest

from ctwl_protocol.proxy import Proxy
from evaluation.shared import cache
from evaluation.shared.texts import Recipe, Text, Writer


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

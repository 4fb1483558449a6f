"""The secret watermarks that stand beside a code: they write as their engines do, and their p-values hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from transformers import SynthIDTextWatermarkingConfig

from ctwl_decoder import Decoder
from ctwl_services.detector.p_values import _chernoff, transform, weights_of
from ctwl_services.detector.philox import CONTEXT, philox, philox_words
from evaluation.shared.secret_marks import DEPTH, SECRET, Gumbel, SynthId
from evaluation.shared.texts import Recipe, Writer

SIZE = 512


def drawn(config: Any, rows: int, tokens: int) -> list[list[int]]:
    """Texts of a model whose logits are noise, as a config's processor marks them; without their prompts."""
    torch.manual_seed(5)
    processor, ids = config.construct_processor(SIZE, "cpu"), torch.full((rows, 1), 7)
    for _ in range(tokens):
        marked = processor(ids, 2 * torch.randn(rows, SIZE))
        ids = torch.cat([ids, torch.multinomial(marked.softmax(dim=1), 1)], dim=1)
    return [row[1:] for row in ids.tolist()]


@pytest.mark.parametrize("name", SECRET)
def test_a_text_is_found_under_its_key_alone(name: str) -> None:
    mark, other = SECRET[name](SIZE, 11), SECRET[name](SIZE, 12)
    for text in drawn(mark.config(), 3, 150):
        assert mark.p_value(text) < 1e-4 and other.p_value(text) > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("name", SECRET)
def test_small_p_values_of_other_texts_are_rare(name: str) -> None:
    rng = np.random.default_rng(2)
    values = np.array(
        [SECRET[name](SIZE, key + 1).p_value(rng.zipf(1.3, 120).clip(max=SIZE - 1).tolist()) for key in range(60)]
    )
    assert (values <= 0.1).sum() <= 13  # binomial: more have a chance of 0.3 %
    assert values.mean() > 0.4


def test_the_numbers_are_those_of_vllm() -> None:
    """Philox by the authors' known answers, then what ``PhiloxPRF`` of vLLM 0.32 gives for contexts and tokens."""
    zero = philox(np.zeros(4, dtype=np.uint64), np.uint64(0), np.uint64(0))
    assert [int(word) for word in zero] == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    found = philox_words(2**40 + 17, np.array([[1, 2, 3, 4], [-1, -1, -1, 7]]), np.array([[0, 12287]]))
    assert found.tolist() == [
        [[3081073845, 2860470970, 1410389520, 2102760542], [3757766167, 2559655890, 1201902655, 3190168982]],
        [[2926093640, 2447132660, 1302589585, 2476301788], [2800951970, 2604989244, 1398623365, 1828218116]],
    ]


def test_a_repeated_context_is_left_alone() -> None:
    processor = Gumbel(SIZE, 3).config().construct_processor(SIZE, "cpu")
    scores = torch.zeros(1, SIZE)
    given = torch.tensor([[1] + [9] * 6])
    kept = [int(processor(given[:, : 1 + length], scores).isfinite().sum()) for length in range(7)]
    assert kept == [1, 1, 1, 1, 1, SIZE, SIZE]  # from the sixth token on, the four tokens before are those of the fifth


def test_a_tournament_is_that_of_transformers() -> None:
    mark = SynthId(SIZE, 4)
    own = SynthIDTextWatermarkingConfig(**vars(mark._settings)).construct_processor(SIZE, "cpu")
    quick = mark.config().construct_processor(SIZE, "cpu")
    ids = torch.tensor([[3, 1, 4, 1, 5, 9, 4, 1, 5, 9, 2], [2, 7, 1, 8, 2, 8, 1, 8, 2, 8, 4]])
    for length in range(1, ids.shape[1] + 1):
        scores = torch.randn(2, SIZE)
        assert torch.equal(own(ids[:, :length], scores), quick(ids[:, :length], scores))


def test_the_null_of_a_tournament_is_exact() -> None:
    chances = np.ones(1)
    for weight in [*weights_of(DEPTH), *weights_of(DEPTH)]:  # two positions
        shifted = np.concatenate([np.zeros(weight), chances])
        chances = (np.pad(chances, (0, int(weight))) + shifted) / 2
    size = 1 << len(chances).bit_length()
    np.testing.assert_allclose(np.fft.irfft(transform(DEPTH, size) ** 2, size)[: len(chances)], chances, atol=1e-12)


def test_the_tail_of_a_long_text_is_bounded() -> None:
    """Chernoff's bound is above the exact tail, and not far above."""
    weights, positions = weights_of(DEPTH), 200
    points = 1 << int(positions * weights.sum()).bit_length()
    chances = np.fft.irfft(transform(DEPTH, points) ** positions, points)
    for score in range(positions * int(weights.sum()) // 2, positions * int(weights.sum()) * 11 // 20, 4000):
        exact = chances[score:].sum()
        if exact > 1e-9:
            assert exact <= _chernoff(positions, score, weights) <= 40 * exact


@pytest.mark.slow
def test_a_code_and_a_secret_watermark_are_found_in_one_text() -> None:
    writer = Writer()
    recipe = Recipe(behind="SynthID-Text", provider=42, version=3, seed=3)
    texts = writer.write(recipe, 0, ["The state government said on Monday that"] * 3)
    mark, decoder = writer.secret("SynthID-Text"), Decoder(writer.proxy)
    assert [decoder.decode(text.text).code for text in texts] == [text.code for text in texts]
    for text in texts:
        ids = writer.encoder.tokenizer.encode(text.text)
        assert len(ids) > CONTEXT and mark.p_value(ids) <= 1e-4

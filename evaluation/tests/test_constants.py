"""With today's numbers the scan of the constants scores as the decoder does."""

import numpy as np
import pytest
from numpy.typing import NDArray

from ctwl_decoder.statistics.scores import Score, position_scores
from ctwl_protocol import hashing
from ctwl_protocol.proxy.rivals import Rivals
from evaluation.reading.constants import GRID, Constants, Place, units

TOTAL = 1 << 24
SEEDS = hashing.permutation_seeds((7, 8), 100)


def weights(rng: np.random.Generator) -> NDArray[np.uint32]:
    mass = rng.gamma(0.05, size=2000) + 1e-9
    found: NDArray[np.uint32] = np.floor(mass / mass.sum() * TOTAL).astype(np.uint32)
    return found


@pytest.mark.parametrize("score", [Score.HALF, Score.RACE])
def test_todays_constants_are_the_decoders(score: Score) -> None:
    rng = np.random.default_rng(1)
    rows = np.array([weights(rng) for _ in range(30)])
    observed = np.array([rng.choice(len(row), p=row / row.sum()) for row in rows[:-1]] + [int(rows[-1].argmin())])
    rivals = Rivals.of(np.arange(30), rows, observed, TOTAL)
    expected = position_scores(rivals, 0, np.repeat(SEEDS[None], 30, axis=0), (1, 2))[score]
    for row, shown, wanted in zip(rows, observed.tolist(), expected, strict=True):
        found = units(Place.of(row, shown, TOTAL), SEEDS, 0.5, Constants(), score)
        assert (found != wanted).mean() <= 0.01 and abs(found - wanted.astype(int)).max() <= 1  # a border, at most


@pytest.mark.parametrize("name", GRID)
def test_each_constant_changes_its_scores_alone(name: str) -> None:
    row = weights(np.random.default_rng(2))
    place = Place.of(row, int(row.argmax()), TOTAL)
    values, strategies = GRID[name]
    assert Constants() in [Constants(**{name: value}) for value in values]  # type: ignore[arg-type]
    for strategy, score in (("delta", Score.HALF), ("race", Score.RACE)):
        found = {units(place, SEEDS, 0.5, Constants(**{name: value}), score).tobytes() for value in values}  # type: ignore[arg-type]
        assert (len(found) > 1) == (strategy in strategies)

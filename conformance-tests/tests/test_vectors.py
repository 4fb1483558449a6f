"""The vectors: complete, up to date, and able to fail."""

from pathlib import Path

import numpy as np
import pytest

from ctwl_conformance import FAMILIES, check, load
from ctwl_conformance.cli import main
from ctwl_conformance.vectors import documents
from ctwl_protocol import hashing, partition

FOLDER = Path(__file__).parents[1] / "vectors" / "v1"


def test_the_files_are_what_the_reference_writes() -> None:
    assert {path.name: path.read_text() for path in FOLDER.iterdir()} == documents()


def test_every_vector_agrees_and_ids_are_unique(capsys: pytest.CaptureFixture[str]) -> None:
    vectors = load()
    assert len({vector.id for vector in vectors}) == len(vectors)
    assert {vector.id.rpartition("-")[0] for vector in vectors} == set(FAMILIES)
    assert main(["check"]) == 0
    assert f"{len(vectors)} of {len(vectors)} vectors agree" in capsys.readouterr().out


def test_a_wrong_constant_in_the_hash_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashing, "GOLDEN", 0x9E3779B9)
    assert {vector.id.rpartition("-")[0] for vector, _ in check()} >= {"permutation", "colours"}


def test_a_partition_with_less_or_equal_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def lenient(below: np.ndarray, total: np.ndarray, sigma: tuple[int, int]) -> np.ndarray:
        return np.asarray(below.astype(np.uint64) * np.uint64(sigma[1]) <= total * np.uint64(sigma[0]))

    monkeypatch.setattr(partition, "is_member", lenient)
    assert "members" in {vector.id.rpartition("-")[0] for vector, _ in check()}


def test_a_normalisation_that_does_nothing_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctwl_conformance.families.normalize", lambda text: text)
    assert main(["check"]) == 1

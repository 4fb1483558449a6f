"""Which index torch comes from: one that answers, and none that does not."""

import socket
from pathlib import Path

import pytest
import torch_index
from running_service import serving_files


def test_an_index_that_answers_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "torch").mkdir()
    with serving_files(tmp_path) as index:
        assert torch_index.main(index) == 0
    assert capsys.readouterr().out == f"--index-url {index}\n"


def test_a_silent_index_is_left_out(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_index, "PATIENCE", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert torch_index.main(url) == 0
    said = capsys.readouterr()
    assert said.out == "" and url in said.err


@pytest.mark.parametrize(("gpu", "asked"), [(None, [torch_index.CPU]), ("/usr/bin/nvidia-smi", [])])
def test_without_a_gpu_cuda_is_left_out(gpu: str | None, asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[str] = []

    def answers(url: str) -> bool:
        found.append(url)
        return False

    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("shutil.which", lambda _: gpu)
    monkeypatch.setattr(torch_index, "answers", answers)
    assert torch_index.main("") == 0 and found == asked

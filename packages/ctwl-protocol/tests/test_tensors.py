"""Tensors in files: safetensors of every precision, and GGUF as llama.cpp's converter writes it."""

from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from small_lm import LLAMA, made

from ctwl_protocol import get_profile
from ctwl_protocol.errors import ProxyDigestMismatch, ProxyMalformed
from ctwl_protocol.profile import GPT2, Llama, ProxyModel
from ctwl_protocol.proxy import load_tensors
from ctwl_protocol.proxy.gguf import write_tensors
from ctwl_protocol.proxy.tensors import read_tensors, tensor_shapes, tensors_digest

# ---- safetensors ----


@pytest.mark.parametrize("kind", [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.bool, torch.uint8])
def test_every_precision_is_read_as_torch_reads_it(tmp_path: Path, kind: torch.dtype) -> None:
    tensors = {
        "a": torch.randn(3, 5).mul(9).abs().to(kind),
        "b": torch.ones(2).to(kind),
        "c": torch.zeros(0, 4).to(kind),
    }
    save_file(tensors, tmp_path / "some.safetensors", metadata={"format": "pt"})
    found = read_tensors(tmp_path / "some.safetensors")
    assert found.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert found[name].dtype == np.float32
        assert np.array_equal(found[name], tensor.float().numpy())


@pytest.mark.parametrize("data", [b"", b"GGUF" + bytes(100), b"\xff" * 8 + b"{}", (2).to_bytes(8, "little") + b"{]"])
def test_what_is_no_safetensors_file_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "bad.safetensors").write_bytes(data)
    with pytest.raises(ProxyMalformed, match="no safetensors file"):
        read_tensors(tmp_path / "bad.safetensors")


def test_integers_are_no_weights(tmp_path: Path) -> None:
    save_file({"a": torch.ones(2, dtype=torch.int64)}, tmp_path / "whole.safetensors")
    with pytest.raises(ProxyMalformed, match=r"tensor a .* is I64"):
        read_tensors(tmp_path / "whole.safetensors")


# ---- GGUF ----


def writer_of(path: Path, family: str) -> gguf.GGUFWriter:
    writer = gguf.GGUFWriter(path, family)
    writer.add_head_count(6)
    writer.add_head_count_kv(3)
    return writer


def close(writer: gguf.GGUFWriter) -> None:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def as_converted(name: str, tensor: np.ndarray) -> np.ndarray:
    """A tensor as llama.cpp's converter lays it out."""
    part = name.split(".")[-2]
    if heads := {"q_proj": 6, "k_proj": 3}.get(part):  # its LlamaModel.permute
        return tensor.reshape(heads, 2, -1, 48).swapaxes(1, 2).reshape(tensor.shape)
    return np.ascontiguousarray(tensor.T) if part.startswith("c_") else tensor


@pytest.mark.parametrize(
    "architecture",
    [
        LLAMA,
        LLAMA.model_copy(update={"tied": False}),
        GPT2(layers=2, heads=6, width=48, positions=64, rows=50, norm_epsilon=(1, 100_000)),
    ],
    ids=["llama", "untied llama", "gpt2"],
)
def test_a_file_gives_the_tensors_that_it_was_made_of(tmp_path: Path, architecture: GPT2 | Llama) -> None:
    family, tensors = architecture.family, made(architecture)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH[family.upper()], 2)
    writer = writer_of(tmp_path / "small.gguf", family)
    for name, tensor in tensors.items():
        writer.add_tensor(names.get_name(name, (".weight", ".bias")), as_converted(name, tensor))
    close(writer)
    write_tensors(tmp_path / "small.gguf", tmp_path / "small.safetensors", architecture)
    assert tensors_digest(read_tensors(tmp_path / "small.safetensors")) == tensors_digest(tensors)


@pytest.mark.parametrize(
    ("family", "name"), [("llama", "blk.0.ssm_a.weight"), ("llama", "rope_freqs"), ("mamba", "output.weight")]
)
def test_a_gguf_file_of_another_model_is_refused(tmp_path: Path, family: str, name: str) -> None:
    writer = writer_of(tmp_path / "other.gguf", family)
    writer.add_tensor(name, np.ones((4, 4), np.float32))
    close(writer)
    with pytest.raises(ProxyMalformed, match="no tensors of a llama model"):
        write_tensors(tmp_path / "other.gguf", tmp_path / "other.safetensors", LLAMA)


@pytest.mark.slow
def test_the_wheels_file_has_the_tensors_of_the_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CTWL_CACHE", str(tmp_path))
    profile = get_profile("org.ctwl.smollm2-135m.1")
    assert isinstance(profile.proxy, ProxyModel)
    assert load_tensors(profile).keys() == tensor_shapes(profile.proxy.architecture).keys()
    with (tmp_path / profile.proxy.weights.sha256.hex() / "model.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\x00")
    with pytest.raises(ProxyDigestMismatch):
        load_tensors(profile)

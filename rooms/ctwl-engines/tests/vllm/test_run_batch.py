"""A file of requests that ``vllm run-batch`` answers, some of them by a LoRA adapter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch

from ctwl_decoder import Decoder
from ctwl_encoder.models import load_model
from ctwl_operations.audit.command import read_logs

if not find_spec("vllm"):  # vLLM itself would import Triton, before the tests of kernels say how
    pytest.skip("the plug-in is tested in an environment of its own: make test-vllm", allow_module_level=True)
from safetensors.torch import save_file

PROFILE = "org.ctwl.smollm2-135m.1"
RANK = 8


def adapter(path: Path, config: Any) -> Path:
    """A LoRA adapter of the queries with weights by chance, as peft saves it."""
    path.mkdir()
    torch.manual_seed(1)
    size, weights = config.hidden_size, {}
    for layer in range(config.num_hidden_layers):
        name = f"base_model.model.model.layers.{layer}.self_attn.q_proj.lora_"
        weights[f"{name}A.weight"], weights[f"{name}B.weight"] = 0.02 * torch.randn(2, RANK, size)
        weights[f"{name}B.weight"] = weights[f"{name}B.weight"].T.contiguous()
    save_file(weights, path / "adapter_model.safetensors")
    told = {"peft_type": "LORA", "r": RANK, "lora_alpha": 16, "target_modules": ["q_proj"], "bias": "none"}
    (path / "adapter_config.json").write_text(json.dumps(told))
    return path


def test_a_batch_with_a_lora_adapter_is_marked_as_each_request_asks(tmp_path: Path) -> None:
    model, tokenizer = load_model("smollm2")
    folder, log = tmp_path / "model", tmp_path / "ctwl.log"
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    asked = {"messages": [{"role": "user", "content": "Write a short story about a lighthouse keeper."}]}
    asked |= {"max_tokens": 200, "temperature": 1.0, "top_p": 1.0, "top_k": 0}
    bodies = {
        "base": {"model": "ours", **asked},
        "adapter": {"model": "style", **asked, "vllm_xargs": {"ctwl_version": 4}},
        "off": {"model": "style", **asked, "vllm_xargs": {"ctwl_strategy": "off"}},
    }
    lines = [
        {"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": body}
        for name, body in bodies.items()
    ]
    (tmp_path / "batch.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    clients = {"version": [3, 4], "strategy": ["off", "race", "delta"]}
    told = {"ctwl": {"provider": 42, "version": 3, "profile": PROFILE, "log": str(log), "clients": clients}}
    subprocess.run(
        [
            sys.executable, "-m", "vllm.entrypoints.openai.run_batch", "-i", tmp_path / "batch.jsonl",
            "-o", tmp_path / "answers.jsonl", "--model", folder, "--served-model-name", "ours", "--enable-lora",
            "--lora-modules", f"style={adapter(tmp_path / 'style', model.config)}", "--max-model-len", "512",
            "--no-async-scheduling", "--enforce-eager", "--additional-config", json.dumps(told),
        ],
        check=True, env={**os.environ, "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_USE_V2_MODEL_RUNNER": "0"},
    )  # fmt: skip
    decoder, found = Decoder.open(PROFILE), {}
    for line in map(json.loads, (tmp_path / "answers.jsonl").read_text().splitlines()):
        report = decoder.decode(line["response"]["body"]["choices"][0]["message"]["content"])
        found[line["custom_id"]] = report.provider, report.version
    assert found == {"base": (42, 3), "adapter": (42, 4), "off": (None, None)}
    summary = read_logs([str(log)])
    assert summary.complete and summary.unmarked == {"asked for none": 1} and sum(summary.written.values()) == 2

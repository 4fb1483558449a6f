"""GPT-2's token path on a real LM: SmolLM2 with the genuine GPT-2 vocabulary, as provider's model and as proxy."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from transformers import GPT2TokenizerFast

from ctwl_decoder.words import say
from ctwl_encoder import Encoder
from ctwl_protocol import get_profile
from ctwl_protocol.profile import ProxyModel
from ctwl_protocol.proxy import find_files, open_proxy
from ctwl_protocol.proxy.model import load_proxy_model
from evaluation.shared.experiment import OFFLINE
from evaluation.shared.prompts import news_prompts
from evaluation.shared.transplant import NAME, provider, transplant

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("transplant")
    transplant(path)
    return path


def test_a_text_over_gpt2s_vocabulary_is_read_by_the_command(folder: Path, tmp_path: Path) -> None:
    profile = get_profile(folder / "profile.json")
    standard = get_profile()
    shared = {"tokenizer", "colours", "prefix_length", "sigma", "code_bits", "weight_bits", "hash_scheme"}
    assert profile.model_dump(include=shared) == standard.model_dump(include=shared)
    assert isinstance(profile.proxy, ProxyModel)
    files = find_files(profile, folder)
    model = load_proxy_model(profile, folder)
    tokenizer = GPT2TokenizerFast(vocab=str(files.vocab), merges=str(files.merges), padding_side="left")
    tokenizer.pad_token = tokenizer.eos_token
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    encoder = Encoder(model, tokenizer, open_proxy(profile, path=folder))
    written = encoder.generate(news_prompts(2), 511, 7, max_new_tokens=130, min_new_tokens=130, seed=3)
    # Some texts lose many positions: this model writes tokens that the tokenizer would not choose for the same text.
    best = min(written, key=lambda generation: generation.lost)
    text = tmp_path / "text.txt"
    text.write_text(best.text, encoding="utf-8")
    command = [sys.executable, "-m", "ctwl_decoder", "--json", "--profile", str(folder / "profile.json")]
    done = subprocess.run([*command, "--proxy", str(folder), str(text)], capture_output=True, check=False)
    report = json.loads(done.stdout)
    assert (done.returncode, report["profile"]) == (0, NAME)
    assert (report["provider"], report["version"], report["nonce"]) == (511, 7, best.beacon.nonce)


def test_a_second_model_carries_the_record_of_the_first_one_on(tmp_path: Path) -> None:
    """Relay from the command line: SmolLM2 drafts, the model over GPT-2's vocabulary goes on; both by one profile."""
    encode = [sys.executable, "-m", "ctwl_encoder", "--profile", OFFLINE]

    def run(*command: str) -> str:
        done = subprocess.run(command, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    folder = tmp_path / "model"
    for part in provider("gpt2"):
        part.save_pretrained(folder)
    prompt = news_prompts(1)[0]
    length = ["--share", "0.9", "--max-new-tokens", "45", "--min-new-tokens", "45"]
    draft, final = tmp_path / "draft.txt", tmp_path / "final.txt"
    draft.write_text(run(*encode, "--provider", "7", "--version", "1", "--seed", "5", *length, prompt))
    length = ["--share", "0.9", "--max-new-tokens", "90", "--min-new-tokens", "90"]
    told = ["--model", str(folder), "--provider", "42", "--version", "3", "--relay", str(draft), "--seed", "6"]
    final.write_text(run(*encode, *told, *length, "--prompt-file", str(draft)))
    says = run(sys.executable, "-m", "ctwl_decoder", "--profile", OFFLINE, str(final))
    assert f"{say('found-whole')}: Example Forty-Two (provider 42)" in says
    assert "before    Example Seven (provider 7), model version 1" in says

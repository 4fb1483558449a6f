"""Every experiment has a command line and a section of the page; some run at their smallest size."""

import json
import pydoc_data.topics
import re
from dataclasses import replace
from pathlib import Path

import pytest

from evaluation.__main__ import experiments
from evaluation.shared import cache
from evaluation.shared.experiment import RESULTS, Experiment, Options, experiment

README = RESULTS.parent / "README.md"


@pytest.mark.parametrize("each", experiments(), ids=lambda each: each.name)
def test_an_experiment_explains_itself(each: Experiment, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as done:
        each(["--help"])
    assert done.value.code == 0 and f"usage: python -m {each.module} " in capsys.readouterr().out
    assert set(each.quick) <= set(each.options)
    _, question, name = each.module.split(".")
    assert f'"{question}/{name}"' in (RESULTS.parent / "pages" / f"results-{question}.md.j2").read_text()
    row = re.search(rf"^\| .*`{name}\b.*$", README.read_text(), re.M)
    assert row and (" FILE..." in row[0], " CHECKOUT" in row[0]) == (each.takes == "human", each.takes == "reference")


def test_names_are_results() -> None:
    """A result has the name of its experiment alone, so no two folders have experiments of one name."""
    names = [each.name for each in experiments()]
    assert len(names) == len(set(names)) > 20
    assert {file.stem for file in RESULTS.glob("*.json")} <= set(names)


@experiment(quick={"texts": 2}, takes="human", texts=40, seed=1)
def counting(options: Options) -> dict[str, object]:
    return {"settings": {"lengths": [1], "model": "another"}, "texts": options.texts}


def test_a_result_says_how_it_came_about(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "results" / "counting.json"
    replace(counting, module="evaluation.tests.counting")(
        ["--quick", "--seed", "3", "--out", str(out), str(tmp_path / "speeches.txt")]
    )
    found = json.loads(out.read_text())
    assert json.loads(capsys.readouterr().out) == found
    assert (found["experiment"], found["texts"]) == ("counting", 2)
    settings = found["settings"]
    assert (settings["texts"], settings["seed"], settings["lengths"], settings["model"]) == (2, 3, [1], "another")
    assert settings["files"] == ["speeches.txt"] and settings["date"] and "torch" in settings["versions"]


@pytest.mark.slow
@pytest.mark.pages
@pytest.mark.parametrize(
    "name", ["routing", "false_positives", "pasted", "changed", "unseen", "bench", "models", "constants", "variety"]
)
def test_an_experiment_runs(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "_made", cache._made.func)  # nothing is kept, so all of it runs
    each = next(each for each in experiments() if each.name == name)
    human = tmp_path / "human.txt"
    human.write_text("\n".join(text for _, text in sorted(pydoc_data.topics.topics.items())), encoding="utf-8")
    each(["--quick", *[str(human)] * (each.takes == "human")])
    assert json.loads(capsys.readouterr().out)["experiment"] == name

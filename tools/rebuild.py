"""Build all packages, so that everyone gets the same bytes of one commit.

    python tools/rebuild.py dist                      the working tree
    python tools/rebuild.py rebuilt --compare FOLDER  two builds of the commit, held to each other and to all of FOLDER

The two builds have what builds of two people have: other folders, umasks, locales, zones of time and, where root runs
this, users. All times in the files are the commit's. The exit status is 1 where a file differs, or where FOLDER has one
that was not built, or none at all.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from distributions import FOLDERS, ROOT

NOBODY = "65534"


@dataclass(frozen=True)
class Builder:
    """What differs between two people who build."""

    folder: str
    umask: int
    environment: dict[str, str]
    user: int | None = None

    def run(self, command: list[str | Path], where: Path, stdin: bytes = b"") -> None:
        """Run a command as this person; SystemExit where it fails."""
        environment = {**os.environ, **self.environment, "HOME": str(where)}
        done = subprocess.run(
            command,
            cwd=where,
            env=environment,
            umask=self.umask,
            user=self.user,
            group=self.user,
            extra_groups=None if self.user is None else [],
            input=stdin,
            capture_output=True,
            check=False,
        )
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))}\n{done.stdout.decode()}{done.stderr.decode()}")


def git(*arguments: str) -> bytes:
    """What git says of this repository."""
    return subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, check=True).stdout  # noqa: S607


def commit_time() -> dict[str, str]:
    """The variable by which builders set all times; empty outside of a repository."""
    try:
        return {"SOURCE_DATE_EPOCH": git("log", "-1", "--format=%ct").decode().strip()}
    except (subprocess.CalledProcessError, FileNotFoundError):
        return {}


def build(builder: Builder, source: Path, out: Path) -> None:
    """Build the sdist and the wheel of each package of a tree into a folder."""
    for folder in FOLDERS:
        package = source / folder.relative_to(ROOT)
        builder.run([sys.executable, "-m", "build", "--no-isolation", "--outdir", out, package], source)


def build_commit(builder: Builder, home: Path) -> Path:
    """Build the commit, unpacked into a folder of this person's own; the folder with what was built."""
    source = home / builder.folder
    source.mkdir()
    if builder.user is not None:
        os.chown(source, builder.user, builder.user)
    builder.run(["tar", "-x", "--no-same-permissions"], source, stdin=git("archive", "HEAD"))
    build(builder, source, source / "dist")
    return source / "dist"


def digests(folder: Path) -> dict[str, str]:
    """The SHA-256 of each distribution in a folder, by name."""
    return _digests([*folder.glob("*.whl"), *folder.glob("*.tar.gz")])


def given(folder: Path) -> dict[str, str]:
    """The SHA-256 of each file that is to be compared, by name; of all files, whatever they are called.

    Raises:
        SystemExit: there is none, so nothing would be compared.
    """
    files = [file for file in folder.glob("*") if file.is_file()]
    if not files:
        sys.exit(f"{folder.resolve()} has no files, so nothing was compared; FILES= names the folder of the download")
    return _digests(files)


def _digests(files: list[Path]) -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(files)}


def differing(one: dict[str, str], other: dict[str, str], yours: dict[str, str]) -> list[str]:
    """Print each file's digest, and what you and both builds have of it; the names of the files that differ."""
    differ = []
    for name in sorted({*one, *other, *yours}):
        found = {"built": one.get(name, "not built"), "built again": other.get(name, "not built")}
        found |= {"yours": yours[name]} if name in yours else {}
        told = "matches yours" if name in yours else "not among yours" if yours else ""
        if len(set(found.values())) > 1:
            differ.append(name)
            print("DIFFERS", name, *(f"\n    {digest} {who}" for who, digest in found.items()))
        else:
            print(found["built"], name, told)
    return differ


def another_user() -> int | None:
    """Who ran sudo, or nobody; None where no other user can be had, which is said."""
    if os.name != "posix" or os.geteuid() != 0:
        print("note: one user builds twice, which is enough to compare; as root, two users do")
        return None
    user = int(os.environ.get("SUDO_UID", NOBODY))
    try:
        subprocess.run([sys.executable, "-c", ""], user=user, group=user, extra_groups=[], check=True)
    except PermissionError:
        print(f"note: one user builds twice, which is enough to compare; user {user} may not run {sys.executable}")
        return None
    return user


def builders() -> tuple[Builder, Builder]:
    """Two people; the second one is another user where root runs this."""
    time = commit_time()
    return (
        Builder("one", 0o022, {**time, "LC_ALL": "C.UTF-8", "TZ": "UTC", "PYTHONHASHSEED": "1"}),
        Builder(
            "the other",
            0o077,
            {**time, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "TZ": "Asia/Tokyo"},
            another_user(),
        ),
    )


def main() -> int:
    """Entry point; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="the folder of what is built")
    parser.add_argument(
        "--compare",
        nargs="?",
        const="",
        metavar="FOLDER",
        help="build the commit twice, and compare with all of FOLDER",
    )
    arguments = parser.parse_args()
    if arguments.compare is None:
        build(Builder("", 0o022, commit_time()), ROOT, arguments.out.resolve())
        built = digests(arguments.out)
        differing(built, built, {})
        return 0
    yours = given(Path(arguments.compare)) if arguments.compare else {}
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        home.chmod(0o755)
        one, other = (build_commit(builder, home) for builder in builders())
        differ = differing(digests(one), digests(other), yours)
        shutil.copytree(one, arguments.out, dirs_exist_ok=True)
    commit = git("rev-parse", "HEAD").decode().strip()
    print(f"commit {commit}, built by Python {sys.version.split()[0]}, zlib {zlib.ZLIB_RUNTIME_VERSION}")
    print(f"{len(yours)} of your files compared; what was built is in {arguments.out}/")
    print(f"NOT THE SAME: {', '.join(differ)}" if differ else "the same")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())

"""Build all packages, so that everyone gets the same bytes of one commit.

    python tools/rebuild.py dist                    the working tree
    python tools/rebuild.py FOLDER --compare        two builds of the commit, held to each other and to what FOLDER has

The two builds have what builds of two people have: other folders, umasks, locales, zones of time and, where root runs
this, users. All times in the files are the commit's. The exit status is 1 where a file differs.
"""

from __future__ import annotations

import argparse
import hashlib
import os
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
    files = sorted([*folder.glob("*.whl"), *folder.glob("*.tar.gz")])
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def compare(builds: list[dict[str, str]], given: dict[str, str]) -> bool:
    """Print each file's digest, and whether all builds have it, and the given files where there is one."""
    same = True
    for name in sorted({*given, *(name for each in builds for name in each)}):
        found = [each.get(name, "not built") for each in builds] + ([given[name]] if name in given else [])
        same &= len(set(found)) == 1
        print(found[0] if len(set(found)) == 1 else f"DIFFERS: {', '.join(found)}", name)
    return same


def another_user() -> int | None:
    """Who ran sudo, or nobody; None where no other user can be had, which is said."""
    if os.name != "posix" or os.geteuid() != 0:
        print("one user builds twice: run it as root for two")
        return None
    user = int(os.environ.get("SUDO_UID", NOBODY))
    try:
        subprocess.run([sys.executable, "-c", ""], user=user, group=user, extra_groups=[], check=True)
    except PermissionError:
        print(f"one user builds twice: user {user} cannot run {sys.executable}")
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
    parser.add_argument("out", type=Path, help="the folder of the distributions")
    parser.add_argument("--compare", action="store_true", help="build the commit twice, elsewhere, and compare")
    arguments = parser.parse_args()
    if not arguments.compare:
        build(Builder("", 0o022, commit_time()), ROOT, arguments.out.resolve())
        compare([digests(arguments.out)], {})
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        home.chmod(0o755)
        found = [digests(build_commit(builder, home)) for builder in builders()]
    same = compare(found, digests(arguments.out))
    by = f"by Python {sys.version.split()[0]}, zlib {zlib.ZLIB_RUNTIME_VERSION}"
    print(f"the same, {by}" if same else f"NOT THE SAME, {by}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())

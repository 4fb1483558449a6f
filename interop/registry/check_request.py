"""Check a pull request that asks for a provider's entry: it changes one file, and the owners of its hosts agree.

    python check_request.py BASE

BASE is the branch that the pull request wants to change, such as origin/main. The request is what is checked out. It
may add or change one file, providers/NUMBER.toml. Each host that the file names must show the file's SHA-256 at
https://HOST/.well-known/ctwl-registry.txt, a digest a line. So nobody but the owners of the hosts can ask for the entry
or change it, whoever sends the pull request. Nothing of the pull request is run: it is read out of git as bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

PLACE = "/.well-known/ctwl-registry.txt"
MOST = 4096
"""Bytes that are read of a host's page."""
SECONDS = 10


class RefusedError(Exception):
    """Why the request cannot be taken."""


def git(*words: str) -> bytes:
    """What git prints."""
    return subprocess.run(["/usr/bin/env", "git", *words], check=True, capture_output=True).stdout


def changed(base: str) -> str:
    """The one file that the pull request adds or changes."""
    lines = git("diff", "--no-renames", "--raw", "-z", f"{base}...HEAD").decode("utf-8", "replace").split("\0")[:-1]
    if len(lines) != 2:
        raise RefusedError("it does not change one file; ask for each provider by a pull request of its own")
    (_, mode, _, _, what), path = lines[0].split(" "), lines[1]
    if mode != "100644" or what not in ("A", "M") or not re.fullmatch(r"providers/(0|[1-9][0-9]{0,3})\.toml", path):
        raise RefusedError("it may add or change a plain file providers/NUMBER.toml, and nothing else")
    return path


def entered(base: str, path: str, folder: Path) -> tuple[bytes, list[str]]:
    """The request's bytes and hosts, if the registry of BASE can take it."""
    request, registry = folder / Path(path).name, folder / "registry.ctwl"
    request.write_bytes(git("show", f"HEAD:{path}"))
    registry.write_bytes(git("show", f"{base}:registry.ctwl"))
    command = ["/usr/bin/env", "ctwl-registry", "enter", str(registry), str(request)]
    tried = subprocess.run(command, check=False, capture_output=True, text=True)
    if tried.returncode:
        raise RefusedError(tried.stderr.strip().replace(str(folder), "").replace("ctwl-registry: ", ""))
    if str(tomllib.loads(request.read_text(encoding="utf-8"))["provider"]) != request.stem:
        raise RefusedError("the file's name is not its provider's number; name it NUMBER.toml")
    print(tried.stderr, end="")  # a warning does not refuse
    hosts = subprocess.run([*command, "--hosts"], check=True, capture_output=True, text=True).stdout.split()
    return request.read_bytes(), hosts


def page(host: str, local: dict[str, str]) -> list[str]:
    """The lines of a host's page; a redirect is not followed."""
    if host in local:
        connection = http.client.HTTPConnection(local[host], timeout=SECONDS)
    else:
        connection = http.client.HTTPSConnection(host, timeout=SECONDS)
    try:
        connection.request("GET", PLACE, headers={"Host": host})
        answer = connection.getresponse()
        if answer.status != http.client.OK:
            raise RefusedError(f"https://{host}{PLACE} answers {answer.status}; put the digest there")
        return answer.read(MOST).decode("utf-8", "replace").split()
    except (OSError, http.client.HTTPException) as error:
        raise RefusedError(f"https://{host}{PLACE} cannot be read: {error}") from error
    finally:
        connection.close()


def main() -> int:
    """Entry point; returns the exit status: 0 the request can be taken, 1 it is refused."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", metavar="BASE")
    help_ = "for rehearsals: ask this host at that address by plain HTTP; may be repeated"
    parser.add_argument("--local", metavar="HOST=ADDRESS:PORT", action="append", default=[], help=help_)
    options = parser.parse_args()
    local = dict(each.split("=", 1) for each in options.local)
    try:
        path = changed(options.base)
        with tempfile.TemporaryDirectory() as folder:
            request, hosts = entered(options.base, path, Path(folder))
        digest = hashlib.sha256(request).hexdigest()
        for host in hosts:
            if digest not in page(host, local):
                raise RefusedError(f"https://{host}{PLACE} has no line {digest}; put it there, then run this again")
            print(f"{host} shows the digest of {path}")
    except RefusedError as refused:
        print(f"refused: {refused}")
        return 1
    print(f"{path} can be entered")
    return 0


if __name__ == "__main__":
    sys.exit(main())

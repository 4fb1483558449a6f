"""Which index torch comes from: prints pip's option for an index that answers, and nothing for one that does not.

python tools/torch_index.py https://download.pytorch.org/whl/cpu
python tools/torch_index.py                 # on Linux without a GPU the same, else nothing
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import urllib.request

CPU = "https://download.pytorch.org/whl/cpu"
"""The builds of torch without CUDA, which are gigabytes smaller."""

PATIENCE = 5
"""Seconds for an index to answer, the look-up of its name included. Chosen by hand."""


def answers(url: str) -> bool:
    """Whether there is torch at an index, within :data:`PATIENCE`."""
    found = list[bool]()

    def ask() -> None:
        try:
            place = f"{url.rstrip('/')}/torch/"  # whoever runs it names it
            with urllib.request.urlopen(place, timeout=PATIENCE):  # noqa: S310
                found.append(True)
        except (OSError, ValueError):
            found.append(False)

    thread = threading.Thread(target=ask, daemon=True)  # a look-up of a name knows no time limit
    thread.start()
    thread.join(PATIENCE)
    return found == [True]


def main(url: str) -> int:
    """Entry point; returns the exit status."""
    if not url and sys.platform == "linux" and shutil.which("nvidia-smi") is None:
        url = CPU
    if url and answers(url):
        print(f"--index-url {url}")
    elif url:
        print(f"{url} does not answer; torch comes from the default index", file=sys.stderr)
    return 0


if __name__ == "__main__":
    status = main(" ".join(sys.argv[1:]).strip())
    sys.stdout.flush()
    os._exit(status)  # a look-up that hangs would be waited for

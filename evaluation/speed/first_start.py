"""What do several processes take that start at once, and all need the proxy LM's files, where the cache is empty?

One converts the file that the wheel carries, and the others wait for it. Measured is the memory of one process alone in
an empty cache, and of several at once: the most that they have together at one time. A page of memory that several
processes share counts once (the sum of their proportional set sizes). Linux alone tells that.

Each process finds the files, as a reader does at first, and ends. What reading takes afterwards is not in it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ctwl_protocol.environment import CACHE

from ..shared.experiment import OFFLINE, Options, Result, experiment

CONVERT = f"from ctwl_protocol import get_profile, proxy; proxy.find_files(get_profile({OFFLINE!r}))"

EVERY = 0.1
"""Seconds between two looks at the memory."""


def together(processes: Sequence[subprocess.Popen[str]]) -> float:
    """Megabytes that processes have now, shared pages once."""
    found = 0
    for process in processes:
        try:
            told = Path(f"/proc/{process.pid}/smaps_rollup").read_text(encoding="ascii")
        except OSError:  # it has ended
            continue
        found += sum(int(line.split()[1]) for line in told.splitlines() if line.startswith("Pss:"))
    return found / 1024


def start(code: str, count: int) -> dict[str, Any]:
    """So many processes at once that run some Python in an empty cache."""
    with tempfile.TemporaryDirectory() as cache:
        begun, peak = time.monotonic(), 0.0
        command, environment = [sys.executable, "-c", code], {**os.environ, CACHE.name: cache}
        processes = [
            subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) for _ in range(count)
        ]
        while any(process.poll() is None for process in processes):
            peak = max(peak, together(processes))
            time.sleep(EVERY)
        said = [process.communicate()[1] for process in processes]
        left = [file.name for file in Path(cache).rglob(".converting.*")]
        return {
            "processes": count,
            "failed": sum(process.returncode != 0 for process in processes),
            "converted": sum("converting " in each for each in said),
            "waited": sum("waiting for it" in each for each in said),
            "files left over": len(left),
            "peak megabytes": round(peak),
            "seconds": round(time.monotonic() - begun, 1),
        }


@experiment(quick={"processes": 2}, processes=8)
def main(options: Options) -> Result:
    """Run the experiment."""
    one, several = start(CONVERT, 1), start(CONVERT, options.processes)
    ratio = round(several["peak megabytes"] / one["peak megabytes"], 2)
    return {"one": one, "several": several, "memory, times that of one": ratio}


if __name__ == "__main__":
    main()

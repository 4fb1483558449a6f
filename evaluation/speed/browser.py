"""How long does the page that needs no server take from the click to the verdict, and is its p-value the decoder's?

Passages by people (the language reference of Python, without its marks) that carry nothing: so all codes are searched.
In Chromium, with as many threads as the page takes. "Early" is the verdict about registered codes. Processor seconds
are those of all of Chromium's processes, which a busy machine changes little.
"""

from __future__ import annotations

import os
import pydoc_data.topics
import re
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import sync_playwright

from ctwl_decoder import Decoder
from ctwl_protocol import get_profile
from ctwl_protocol.registry import bundled
from ctwl_services.page.build import build_page

from ..shared.experiment import OFFLINE, Options, Result, experiment, tracked

# Milliseconds from the click to each verdict, taken inside the page.
_CLICK = """() => new Promise((done) => {
  const result = document.getElementById("result");
  const found = {};
  const start = performance.now();
  const seen = new MutationObserver(() => {
    if (result.hidden) return;
    if (result.hasAttribute("data-early")) { found.early ??= performance.now() - start; return; }
    seen.disconnect();
    done({ ...found, whole: performance.now() - start, p: Number(result.dataset.p) });
  });
  seen.observe(result, { attributes: true });
  document.getElementById("read").click();
})"""


def passages(number: int, words: int) -> list[str]:
    """Passages of one number of words."""
    topics = (re.sub(r"[^\w\s.,;:()'\"?!-]|_", "", text).split() for text in pydoc_data.topics.topics.values())
    return [" ".join(text[:words]) for text in topics if len(text) >= words][:number]


def in_page(page: Any, text: str) -> dict[str, float]:
    """What a page shows of a text, and when."""
    page.get_by_label("Text", exact=True).fill(text)
    before = processor_seconds()
    found: dict[str, float] = page.evaluate(_CLICK)
    found["processor"] = processor_seconds() - before
    page.locator("#read:not([disabled])").wait_for()
    return found


def processor_seconds() -> float:
    """Of the processes that this one began, and of those that these began; as Linux counts them."""
    counted: dict[int, tuple[int, int]] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = file.read_text().rpartition(") ")[2].split()
            counted[int(file.parent.name)] = int(fields[1]), int(fields[11]) + int(fields[12])
    own = {os.getpid()}
    while more := {each for each, (parent, _) in counted.items() if parent in own} - own:
        own |= more
    return sum(counted[each][1] for each in own - {os.getpid()}) / os.sysconf("SC_CLK_TCK")


@experiment(quick={"passages": 2}, words=400, passages=24)
def main(options: Options) -> Result:
    """Read each passage in the page and by the decoder."""
    decoder = Decoder.open(OFFLINE, registry=bundled())
    chromium = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "index.html"
        file.write_text(build_page([get_profile(OFFLINE)], bundled()), "utf-8")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        page.goto(file.as_uri())
        page.locator("#read:not([disabled])").wait_for()
        rows = [
            {**in_page(page, text), "decoder": decoder.decode(text, score="light").p_value}
            for text in tracked(passages(options.passages, options.words), "passages")
        ]
        version, threads = browser.version, page.evaluate("navigator.hardwareConcurrency")
        browser.close()
    seconds = np.array([row["whole"] for row in rows]) / 1000
    return {
        "settings": {"chromium": version, "threads": threads},
        "seconds": {"median": round(float(np.median(seconds)), 2), "greatest": round(float(seconds.max()), 2)},
        "processor_seconds": round(float(np.median([row["processor"] for row in rows])), 2),
        "within_a_second": f"{int((seconds <= 1).sum())} of {len(rows)}",
        "early_seconds": round(float(np.median([row["early"] for row in rows if "early" in row])) / 1000, 2),
        "greatest_difference_of_p": max(abs(row["p"] / row["decoder"] - 1) for row in rows),
        "rows": [
            {"seconds": round(row["whole"] / 1000, 3), "processor": round(row["processor"], 2), "p_value": row["p"]}
            for row in rows
        ],
    }


if __name__ == "__main__":
    main()

"""Does what nobody sees hide a mark?

Each change of ``changes.py`` that readers hardly see is made to the marked texts that the repository has. They are read
by the light scores, and some of them whole. A text is found if the right provider and version are, and named if the
report says that something is hidden in it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ctwl_decoder import Decoder, Report

from ..shared.experiment import ROOT, Options, Result, experiment, tracked
from ..shared.measures import rate
from ..shared.outcomes import LEVEL
from ..shared.readers import reader
from .changes import UNSEEN, Change

RECORDED = ROOT / "packages" / "ctwl-decoder" / "tests" / "marked.json"
WRITER = (42, 3)
"""Provider and version of the recorded texts."""


def _is_right(report: Report) -> bool:
    return (report.provider, report.version) == WRITER


def after(decoder: Decoder, texts: Sequence[str], whole: int, change: Change) -> dict[str, Any]:
    """How many texts are found after a change, and in how many the report says that something is hidden."""
    changed = [change(text) for text in texts]
    light = [decoder.decode(text, alpha=LEVEL, score="light") for text in changed]
    read = [decoder.decode(text, alpha=LEVEL, score="whole") for text in changed[:whole]]
    return {
        "found": rate(sum(map(_is_right, light)), len(light)),
        "found, read whole": rate(sum(map(_is_right, read)), len(read)),
        "named": sum(bool(each.hidden) for each in light),
    }


@experiment(quick={"texts": 1, "whole": 1}, texts=9, whole=2)
def main(options: Options) -> Result:
    """Run the experiment."""
    decoder = reader()
    texts = json.loads(RECORDED.read_text(encoding="utf-8"))["texts"][: options.texts]
    changes: dict[str, Change] = {"none": lambda text: text, **UNSEEN}
    return {
        "unseen": {name: after(decoder, texts, options.whole, changes[name]) for name in tracked([*changes], "changed")}
    }


if __name__ == "__main__":
    main()

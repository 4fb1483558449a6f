"""What the reference reads in texts of many forms, for the tests of this package.

Answers parity.json (by one profile) and profiles.json (by all published ones) anew. To add a text, append an object
with its ``name`` and its ``text``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ctwl_decoder import Decoder, Decoders
from ctwl_decoder.text.variants import variants_of
from ctwl_protocol.registry import bundled

HERE = Path(__file__).parent


def by_one_profile(texts: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Read texts by the light scores."""
    decoder = Decoder.open("org.ctwl.smollm2-135m.1", registry=bundled())
    kept = ("outcome", "code", "p_value", "score", "hits", "expected", "scored", "tokens", "needed", "form")
    for name, text in texts.items():
        report = decoder.decode(text, score="light")
        yield {
            "name": name,
            "text": text,
            "variants": [[form, variant.text] for form, variant in variants_of(text)],
            "hidden": [each.model_dump(exclude={"says"}) for each in report.hidden],
            "report": {field: getattr(report, field) for field in kept},
            "spans": [[span.start, span.end, span.code, span.p_value] for span in report.spans],
        }


def by_all_profiles(texts: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Read texts by the light scores of all published profiles."""
    decoders = Decoders.open(registry=bundled())
    kept = ("outcome", "profile", "code", "p_value", "alpha")
    for name, text in texts.items():
        report = decoders.decode(text, score="light")
        held = report.held_back and report.held_back.model_dump(include={"rule", "needed", "contexts"})
        tried = [each.model_dump(include={"name", "read", "outcome", "p_value"}) for each in report.profiles]
        row = {"name": name, "text": text, "report": {field: getattr(report, field) for field in kept}}
        yield row | {"held_back": held, "profiles": tried}


FILES = {"parity.json": by_one_profile, "profiles.json": by_all_profiles}


def answers(file: str) -> str:
    """A file as the reference answers its texts."""
    texts = {row["name"]: row["text"] for row in json.loads((HERE / file).read_text("utf-8"))}
    return json.dumps(list(FILES[file](texts)), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for file in FILES:
        (HERE / file).write_text(answers(file), "utf-8")

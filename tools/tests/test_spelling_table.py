"""Readers in Python and in JavaScript judge names by one table."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_table_of_names_is_one() -> None:
    table = (ROOT / "packages/ctwl-protocol/src/ctwl_protocol/registry/spelling.json").read_text(encoding="ascii")
    module = (ROOT / "packages/ctwl-web/src/spelling-table.js").read_text(encoding="ascii")
    _, _, found = module.partition("export const SPELLING = ")
    assert json.loads(found.rstrip().removesuffix(";")) == json.loads(table)

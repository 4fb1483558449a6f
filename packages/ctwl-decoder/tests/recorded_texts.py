"""Texts that encoders wrote, for the tests of many packages."""

import json
from pathlib import Path
from typing import Any

HALF = Path(__file__).parent / "recorded" / "half.txt"
"""A text of provider 700, version 9, nonce 21."""

MARKED: dict[str, Any] = json.loads((Path(__file__).parent / "marked.json").read_text(encoding="utf-8"))
"""Others, by the names of their groups."""

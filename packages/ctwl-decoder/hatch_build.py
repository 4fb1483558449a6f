"""Puts the reader for browsers, which is a package of its own, beside the modules that make a page of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WebReader(BuildHookInterface[Any]):
    """In a checkout the reader is a neighbour; a source distribution has it in place already."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the folders to put in."""
        web = Path(self.root).parent / "ctwl-web"
        if not web.is_dir() or version == "editable":
            return
        place = "src/ctwl_decoder/web" if self.target_name == "sdist" else "ctwl_decoder/web"
        # In a checkout numbers.json is a link, which a source distribution would keep.
        build_data["force_include"][str(web.parents[1] / "spec" / "numbers.json")] = f"{place}/src/numbers.json"
        for folder in ("src", "page"):
            build_data["force_include"][str(web / folder)] = f"{place}/{folder}"

"""Puts the reader for browsers, which is a package of its own, beside the modules that make a page of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WebReader(BuildHookInterface[Any]):
    """A checkout has the reader in its packages; a source distribution has it in place already."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the folders to put in."""
        web = Path(self.root).parents[1] / "packages" / "ctwl-web"
        if not web.is_dir() or version == "editable":
            return
        place = "src/ctwl_services/web" if self.target_name == "sdist" else "ctwl_services/web"
        # In a checkout numbers.json is a link, which a source distribution would keep.
        build_data["force_include"][str(web.parents[1] / "spec" / "numbers.json")] = f"{place}/src/numbers.json"
        for folder in ("src", "page"):
            build_data["force_include"][str(web / folder)] = f"{place}/{folder}"

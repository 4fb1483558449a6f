"""Build the browser extension: one zip for Chromium and Firefox, the same bytes at each run.

python tools/extension.py                # dist/ctwl-extension-VERSION.zip
python tools/extension.py --out FOLDER   # unpacked, to be loaded into a browser as it is
"""

from __future__ import annotations

import argparse
import html
import io
import json
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path

from ctwl_decoder.options import MAX_CHARACTERS
from ctwl_protocol import __version__, get_profile
from ctwl_protocol.profile import Profile, read_by_default
from ctwl_protocol.registry import Trusted, bundled
from ctwl_services.page.build import filled, json_block, read_words, reader_data
from ctwl_services.page.bundle import bundle, web_folder

DIST = Path(__file__).resolve().parents[1] / "dist"
EPOCH = (1980, 1, 1, 0, 0, 0)
"""The time of every file: the first that a zip can say."""

POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; img-src data:; "
    "connect-src 'none'; base-uri 'none'; form-action 'none'"
)
"""An extension with this loads nothing but its own files, and sends nothing."""


def _profiles() -> list[Profile]:
    return [get_profile(name) for name in read_by_default()]


def files(words: dict[str, str] | None = None, registry: Trusted | None = None) -> dict[str, bytes]:
    """The files of the extension, by their names; ``words`` and ``registry`` as for the page."""
    words = words or read_words()
    folder, page = web_folder() / "extension", web_folder() / "page"
    data = {"words": words, "characters": MAX_CHARACTERS} | reader_data(_profiles(), registry or bundled())
    popup = {name: html.escape(text) for name, text in words.items()} | {"data": json_block(data)}
    manifest = {name: json.dumps(text)[1:-1] for name, text in words.items()}
    manifest |= {"policy": POLICY, "version": re.split("[^0-9.]", __version__)[0]}  # browsers take numbers alone
    texts = {
        "content.js": f"(() => {{\n{bundle(folder / 'content.js')}\n}})();\n",  # a page may be asked twice
        "engine.js": bundle(page / "worker.js"),
        "manifest.json": filled(folder / "manifest.json", manifest),
        "page.css": (page / "page.css").read_text(encoding="utf-8"),
        "popup.css": (folder / "popup.css").read_text(encoding="utf-8"),
        "popup.html": filled(folder / "popup.html", popup),
        "popup.js": bundle(folder / "popup.js"),
    }
    icon = {"icon.png": (folder / "icon.png").read_bytes()}
    return {name: text.encode() for name, text in texts.items()} | icon


def packed(contents: dict[str, bytes]) -> bytes:
    """Files as a zip that depends on their names and contents alone."""
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(contents):
            archive.writestr(zipfile.ZipInfo(name, EPOCH), contents[name], zipfile.ZIP_DEFLATED, 9)
    return found.getvalue()


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    parser = argparse.ArgumentParser(description="Build the browser extension.")
    parser.add_argument("--out", metavar="FOLDER", type=Path, help="write the files unpacked into a folder")
    parser.add_argument("--words", metavar="FILE", type=Path, help="the words in another language, as for the page")
    arguments = parser.parse_args(argv)
    contents = files(read_words(arguments.words))
    if arguments.out:
        written = {arguments.out / name: data for name, data in contents.items()}
    else:
        written = {DIST / f"ctwl-extension-{__version__}.zip": packed(contents)}
    for path, data in written.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        print(f"{path}: {len(data):,} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

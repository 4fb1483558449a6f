"""`ctwl-decode page`: write the page into a folder, for any web server or to open from the folder.

The page is one file, index.html, with all that it needs. It reads texts in the browser by the ranks of their tokens, as
ctwl-decode --light does, and gives the same p-values. It opens documents, mail and chats, too. Nothing is loaded and
nothing is sent: its content security policy forbids it. It works from any web server, and opened as a file. It needs a
browser from 2023 or later.

A translation is a file: copy the words that --print-words prints, translate them, and name the file for --words.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from ctwl_decoder.options import named_profiles
from ctwl_decoder.words import page_words
from ctwl_protocol import get_profile
from ctwl_protocol.command import closed_output_is_fine, command_parser, help_in
from ctwl_protocol.environment import PROFILE, REGISTRY
from ctwl_protocol.files import make_folder, write_atomically
from ctwl_protocol.profile import read_by_default
from ctwl_protocol.registry import load_trusted

from .build import build_page, read_words


def main(argv: Sequence[str]) -> int:
    """Entry point; returns the exit status."""
    what = "Write a web page that reads watermarks in the browser, without a server."
    parser = command_parser("ctwl-decode page", what, help_in(__doc__), [PROFILE, REGISTRY])
    parser.add_argument("--out", metavar="FOLDER", type=Path, help="folder for the page; made if need be")
    parser.add_argument(
        "--profile",
        action="append",
        help=f"read by this published profile alone; may be repeated (default: ${PROFILE.name}, else "
        f"{' and '.join(read_by_default())})",
    )
    parser.add_argument("--words", metavar="FILE", type=Path, help="the page's words in another language, as JSON")
    parser.add_argument("--print-words", action="store_true", help="print the English words and stop")
    arguments = parser.parse_args(argv)
    if arguments.print_words:
        with closed_output_is_fine():
            print(json.dumps(page_words(), ensure_ascii=False, indent=2))
        return 0
    if arguments.out is None:
        parser.error("name a folder for the page: --out FOLDER")
    profiles = named_profiles(arguments) or list(map(get_profile, read_by_default()))
    page = build_page(profiles, load_trusted(), read_words(arguments.words))
    path = arguments.out / "index.html"
    make_folder(arguments.out)
    write_atomically(path, page.encode())
    print(f"{path}: {path.stat().st_size:,} bytes; open it in a browser, or put it on any web server")
    return 0

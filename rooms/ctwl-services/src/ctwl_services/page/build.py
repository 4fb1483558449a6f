"""The page: one HTML file with all that it needs, under a content security policy that lets it load nothing."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import lzma
import re
from collections.abc import Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING

from ctwl_decoder.errors import InputUnreadable, OptionOutOfRange
from ctwl_decoder.options import MAX_CHARACTERS
from ctwl_decoder.words import numbered, page_words
from ctwl_protocol.files import open_file
from ctwl_protocol.profile import OFFLINE, Profile
from ctwl_protocol.registry import Trusted

from .bundle import bundle, web_folder

if TYPE_CHECKING:
    from ..serve.limits import Limits

_EXAMPLES = ("marked", "edited", "human")


def read_words(path: Path | None = None) -> dict[str, str]:
    """The words of a page, with the numbers in them: English words, or the words of a file with the same names.

    Raises:
        InputUnreadable: the file cannot be read, is no JSON object, or lacks words.
    """
    words = page_words()
    if path is None:
        return numbered(words)
    try:
        with open_file(path) as file:
            found = json.load(file)
    except (OSError, ValueError, RecursionError) as error:
        raise InputUnreadable(f"cannot read words from {path}: {error}") from error
    if not isinstance(found, dict):
        raise InputUnreadable(f"{path} holds no JSON object; translate what --print-words prints")
    missing = [name for name in words if not isinstance(found.get(name), str)]
    if missing:
        raise InputUnreadable(f"{path} has no words for {', '.join(missing)}; --print-words prints them in English")
    return numbered({name: found[name] for name in words})


def build_page(
    profiles: Sequence[Profile], trusted: Trusted, words: dict[str, str] | None = None, *, service: Limits | None = None
) -> str:
    """The page of some profiles as HTML.

    Args:
        profiles: published profiles whose tokenizers come with the package; or any profiles where a service reads. Each
            text is read by all of them.
        trusted: the registry that gives names; the page verifies its signatures.
        words: see :func:`read_words`.
        service: the limits of the service that shows the page; None where no service shows it.

    Raises:
        OptionOutOfRange: nothing could read, since a profile's tokenizer does not come with the package.
    """
    words = words or read_words()
    page = web_folder() / "page"
    data: dict[str, object] = {"words": words, "characters": MAX_CHARACTERS, "examples": {}}
    if service is not None:
        data["service"] = {"characters": service.characters, "bytes": service.body}
        words = words | {name: words[f"{name}-service"] for name in ("introduction", "about-more")}
    unreadable = [profile.name for profile in profiles if not _is_readable(profile)]
    if not unreadable:
        data |= reader_data(profiles, trusted) | {"engine": bundle(page / "worker.js")}
    elif service is None:
        raise OptionOutOfRange(
            f"the tokenizer of {unreadable[0]} does not come with this package; name a published one, such as {OFFLINE}"
        )
    script, style = bundle(page / "page.js"), (page / "page.css").read_text(encoding="utf-8")
    # 'wasm-unsafe-eval' lets the page compile its own WebAssembly. It allows no script, unlike 'unsafe-eval'.
    policy = (
        f"default-src 'none'; script-src {source_of(script)} 'wasm-unsafe-eval'; style-src {source_of(style)}; "
        "worker-src blob:; img-src data:; base-uri 'none'; form-action 'none'"
    )
    policy += "; connect-src 'none'" if service is None else "; connect-src 'self'"
    values = {"policy": policy, "style": style, "script": script, "data": json_block(data)}
    return filled(page / "index.html", {name: html.escape(text) for name, text in words.items()} | values)


def filled(template: Path, values: dict[str, str]) -> str:
    """A template with a value in each of its places."""
    return re.sub(r"\{\{ ([\w-]+) \}\}", lambda found: values[found[1]], template.read_text(encoding="utf-8"))


def json_block(data: object) -> str:
    """Data as JSON that may stand in a script element."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def policy_of(page: str) -> str:
    """The content security policy that a page states, for whoever sends it as a header too."""
    (policy,) = re.findall('http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    return str(policy)


def source_of(code: str) -> str:
    """The source expression of a content security policy that allows one inline script or style."""
    return f"'sha256-{_base64(hashlib.sha256(code.encode()).digest())}'"


def _published(profile: Profile) -> Traversable:
    return resources.files("ctwl_protocol.profile") / "published" / profile.name


def _is_readable(profile: Profile) -> bool:
    """Whether a page may read a profile: everyone knows its key, and its tokenizer comes with the package."""
    return profile.is_public and (_published(profile) / "merges.txt.xz").is_file()


def reader_data(profiles: Sequence[Profile], trusted: Trusted) -> dict[str, object]:
    """What threads that read by themselves need, and the examples."""
    page = web_folder() / "page"
    return {
        "profiles": [_profile_data(profile) for profile in profiles],
        "root": _base64(trusted.root_bytes),
        "registry": _base64(trusted.registry_bytes),
        "examples": {name: (page / "examples" / f"{name}.txt").read_text("utf-8") for name in _EXAMPLES},
    }


def _profile_data(profile: Profile) -> dict[str, object]:
    folder = _published(profile)
    return {
        "profile": json.loads(profile.to_json()),
        "alphabet": json.loads((folder / "alphabet.json").read_bytes()),
        "merges": _base64(gzip.compress(lzma.decompress((folder / "merges.txt.xz").read_bytes()), 9, mtime=0)),
    }


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()

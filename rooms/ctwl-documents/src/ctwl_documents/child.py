"""The process that opens one file: bytes on standard input, what was found as JSON on standard output.

It bounds its own memory and time before it reads, and whoever started it ends it after a while. So a parser that a
hostile file brings to a loop, to gigabytes or to a crash harms nobody.
"""

from __future__ import annotations

import contextlib
import json
import logging
import sys

from ctwl_decoder.errors import DecoderError, DocumentRefused
from ctwl_decoder.files import Found
from ctwl_decoder.words import said

from . import limits
from .budget import Budget
from .found import AS_TEXT
from .opening import texts_in


def _bound() -> None:
    """Bound the memory and the time of this process."""
    with contextlib.suppress(ImportError, ValueError, OSError):  # not on Windows
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (limits.MEMORY, limits.MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (limits.SECONDS, limits.SECONDS + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _found(data: bytes, name: str) -> list[dict[str, str]]:
    """What is in a file; where the whole is refused, that alone."""
    try:
        found = list(texts_in(data, name, Budget()))
        nothing = DocumentRefused(said("reason-words"))  # an archive of no files, or of links
        return [_told(each) for each in found or [Found(name, nothing)]]
    except DecoderError as error:
        return [_told(Found(name, error))]
    except MemoryError:
        why = f"it takes more than {limits.MEMORY >> 20} MiB of memory to open"
    return [_told(Found(name, DocumentRefused(f"{why}; {AS_TEXT}")))]


def _told(found: Found) -> dict[str, str]:
    if isinstance(found.text, DecoderError):
        return {"name": found.name, "code": found.text.code, "message": str(found.text)}
    return {"name": found.name, "text": found.text}


def main() -> None:
    """Entry point."""
    logging.disable()
    _bound()
    found = _found(sys.stdin.buffer.read(), sys.argv[1])
    sys.stdout.write(json.dumps(found))  # ASCII: lone surrogates, too, arrive


if __name__ == "__main__":
    main()

"""The process that opens one file: bytes on standard input, what was found as JSON on standard output.

It bounds its own memory before it reads, and whoever started it ends it when its time is over. So a parser that a
hostile file brings to a loop, to gigabytes or to a crash harms nobody.
"""

from __future__ import annotations

import contextlib
import json
import logging
import sys
from collections.abc import Iterator

from ..errors import DecoderError, DocumentRefused
from . import limits
from .budget import Budget
from .opening import texts_in

_TOO_LARGE = f"it takes more than {limits.MEMORY >> 20} MiB of memory to open; save its words as plain text (UTF-8)"


def _bound_memory() -> None:
    with contextlib.suppress(ImportError, ValueError, OSError):  # not on Windows
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (limits.MEMORY, limits.MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _found(data: bytes, name: str) -> Iterator[dict[str, str]]:
    try:
        for found in texts_in(data, name, Budget()):
            if isinstance(found.text, DecoderError):
                yield {"name": found.name, "code": found.text.code, "message": str(found.text)}
            else:
                yield {"name": found.name, "text": found.text}
    except DecoderError as error:
        yield {"name": name, "code": error.code, "message": str(error)}
    except MemoryError:
        yield {"name": name, "code": DocumentRefused.code, "message": _TOO_LARGE}
    except RecursionError:
        message = "more parts of it are inside each other than a sound file has; save its words as plain text (UTF-8)"
        yield {"name": name, "code": DocumentRefused.code, "message": message}
    except Exception as error:  # of a parser that met what its makers did not think of
        message = f"it is broken ({type(error).__name__}); save its words as plain text (UTF-8)"
        yield {"name": name, "code": DocumentRefused.code, "message": message}


def main() -> None:
    """Entry point."""
    logging.disable()
    _bound_memory()
    found = list(_found(sys.stdin.buffer.read(), sys.argv[1]))
    sys.stdout.write(json.dumps(found))  # ASCII: lone surrogates, too, arrive


if __name__ == "__main__":
    main()

"""XML, without what makes it dangerous: declarations in a DTD, by which a document multiplies itself.

Files that a DTD names are never read.
"""

from __future__ import annotations

from collections.abc import Callable
from xml.parsers import expat

from ctwl_decoder.errors import DocumentRefused
from ctwl_decoder.words import said

from . import limits


def parse(
    data: bytes,
    start: Callable[[str, dict[str, str]], None],
    end: Callable[[str], None] = lambda name: None,
    text: Callable[[str], None] = lambda data: None,
) -> None:
    """Call back for the elements of a document, by their local names, and for the text in them.

    Raises:
        DocumentRefused: it is broken, has declarations in a DTD, or too many elements inside elements.
    """
    depth = 0

    def started(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > limits.NESTING:
            raise DocumentRefused(said("reason-nested"))
        start(_local(name), {_local(key): value for key, value in attributes.items()})

    def ended(name: str) -> None:
        nonlocal depth
        depth -= 1
        end(_local(name))

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = started, ended, text
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise DocumentRefused(said("reason-broken")) from error


def _local(name: str) -> str:
    return name.rpartition(":")[2]


def _refuse(_name: str, _system: str | None, _public: str | None, declares: bool) -> None:
    if declares:
        raise DocumentRefused(said("reason-dtd"))

"""Archives of the web (WARC) and the texts that crawls make of them (WET), read by warcio within bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import IO, Any, cast

import pyarrow as pa

from ctwl_decoder.errors import DecoderError, InputTooLarge, InputUnreadable, NotText, needing
from ctwl_decoder.files import text_of
from ctwl_decoder.options import MAX_BYTES
from ctwl_documents import html

_MOST_HEADERS = 1 << 17
"""Bytes of a record's headers; chosen by hand. warcio itself has no bound."""

_CODECS = {"br": "brotli", "zstd": "zstd", "gzip": "gzip"}
"""Content codings of HTTP, as pyarrow calls them."""

_PAGES = ("text/html", "application/xhtml+xml")
_TEXTS = ("text/", *_PAGES)


def archived(stream: IO[bytes], name: str) -> Iterator[tuple[int, Callable[[], dict[str, Any]]]]:
    """The records that are texts.

    These are pages as their server sent them (``response``), other texts (``resource``), and what WET has of pages
    (``conversion``).

    Yields:
        a record's number in the file, and what gives its ``text`` and its headers or raises why not.

    Raises:
        ExtraMissing: warcio is not installed.
        InputUnreadable: from here on, the archive is broken.
    """
    with needing("scan", "an archive of the web"):
        from warcio.archiveiterator import WARCIterator
        from warcio.bufferedreaders import BufferedReader
        from warcio.exceptions import ArchiveLoadFailed

    class Bounded(BufferedReader):  # type: ignore[misc]
        """Refuses headers without end. Only headers are read by lines."""

        spent = 0

        def readline(self, length: int | None = None) -> bytes:
            line = cast(bytes, super().readline(min(length or _MOST_HEADERS, _MOST_HEADERS)))
            self.spent += len(line)
            if self.spent > _MOST_HEADERS:
                raise InputUnreadable(f"cannot read {name}: a record's headers have more than {_MOST_HEADERS} bytes")
            return line

    archive = WARCIterator(stream)
    archive.reader = reader = Bounded(stream)
    archive.INC_RECORD = ""  # a warning on stderr
    record: Any = None
    try:
        for number, record in enumerate(archive):
            _check(archive, record.length is None, name)
            if record.rec_type in ("response", "resource", "conversion") and _mime(record).startswith(_TEXTS):
                data = record.content_stream().read(MAX_BYTES + 1)
                if record.http_headers:
                    data = _unpacked(data, str(record.http_headers.get_header("Content-Encoding") or ""))
                yield number, partial(_text_of, data, _header(record).lower(), dict(record.rec_headers.headers))
            reader.spent = 0
        _check(archive, record is not None and record.raw_stream.limit > 0, name)
    except (DecoderError, OSError, EOFError):
        raise
    except Exception as error:  # whatever warcio does with hostile bytes
        known = isinstance(error, ArchiveLoadFailed)
        why = " ".join(str(error).split())[:400] if known else "a record lacks a header, or has a wrong one"
        raise InputUnreadable(f"cannot read {name} as WARC: {why}") from error


def _unpacked(data: bytes, codings: str) -> bytes:
    """A page whose server packed it in a way that warcio leaves alone, within bounds.

    Crawlers often unpack a page and keep the header. So what is not packed as the header says stays as it is.
    """
    for coding in reversed([each.strip().lower() for each in codings.split(",")]):
        if codec := _CODECS.get(coding.removeprefix("x-")):
            with suppress(OSError, ValueError), pa.CompressedInputStream(pa.BufferReader(data), codec) as stream:
                data = stream.read(MAX_BYTES + 1) or data
    return data


def _check(archive: Any, wrong: bool, name: str) -> None:
    """Refuse an archive in which a record does not say how long it is, or is longer or shorter than it says."""
    if wrong or archive.err_count:
        raise InputUnreadable(f"cannot read {name}: a record does not have the length that it states, or is cut off")


def _header(record: Any) -> str:
    """A record's content type, of the page where it is one."""
    headers = record.http_headers or record.rec_headers
    return str(headers.get_header("Content-Type") or "")


def _mime(record: Any) -> str:
    return _header(record).lower().partition(";")[0].strip()


def _text_of(data: bytes, header: str, headers: dict[str, Any]) -> dict[str, Any]:
    """A record's text with its headers; of a page its words.

    Raises:
        InputTooLarge, NotText: there is none.
    """
    if len(data) > MAX_BYTES:
        raise InputTooLarge(f"the record has more than {MAX_BYTES} bytes")
    charset = header.partition("charset=")[2].partition(";")[0].strip(" \"'")
    if header.startswith(_PAGES):
        return {**headers, "text": html.words_of(html.decoded(data, charset or None))}
    if charset and not html.is_charset(charset):
        raise NotText(f"the record's charset, {charset[:40]!r}, is none that is known")
    return {**headers, "text": text_of(data, "the record", charset or "utf-8")}

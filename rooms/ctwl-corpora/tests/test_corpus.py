"""The files of a corpus: kinds, packings, places, fields; and hostile ones, which end in a line and not the scan."""

import gzip
import io
import json
import random
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctwl_corpora.scan import files
from ctwl_corpora.scan.archive import archived
from ctwl_corpora.scan.chunks import results_schema
from ctwl_corpora.scan.fields import Columns
from ctwl_corpora.scan.files import list_corpus
from ctwl_corpora.scan.records import documents
from ctwl_decoder.errors import DecoderError, ExtraMissing, InputUnreadable, OptionOutOfRange
from ctwl_decoder.options import MAX_BYTES


def read(place: Path | str, text: str = "text", *keep: str) -> list[dict[str, Any]]:
    """All documents of a corpus."""
    columns = Columns(text, keep)
    found = (row for file in list_corpus([place]).files for row in documents(file, columns))
    return [row.get("kept", {}) | row for row in found]


def texts(place: Path | str, text: str = "text") -> list[str]:
    """The texts of a corpus, or the codes of errors."""
    return [row.get("error") or row["text"] for row in read(place, text)]


def zstd(data: bytes) -> bytes:
    return bytes(pa.compress(data, "zstd", asbytes=True))


# ---- packings and places ----

LINES = b'{"text": "one"}\n{"text": "two"}\n'


@pytest.mark.parametrize("kind", ["jsonl", "ndjson", "json"])
def test_lines_are_read_however_they_are_packed(tmp_path: Path, kind: str) -> None:
    """Also as several members or frames in one file, as programs that pack in parallel write it."""
    (tmp_path / f"a.{kind}").write_bytes(LINES)
    (tmp_path / f"b.{kind}.gz").write_bytes(gzip.compress(LINES[:16]) + gzip.compress(LINES[16:]))
    (tmp_path / f"c.{kind}.zst").write_bytes(zstd(LINES[:16]) + zstd(LINES[16:]))
    (tmp_path / "d.txt.zst").write_bytes(zstd(b"three"))
    assert texts(tmp_path) == ["one", "two"] * 3 + ["three"]


@pytest.fixture
def store() -> Iterator[str]:
    """A store of objects, as S3 is one."""
    system = fsspec.filesystem("memory")
    system.store.clear()
    yield "memory://bucket/corpus"
    system.store.clear()


def test_a_corpus_behind_a_url(store: str, tmp_path: Path) -> None:
    system = fsspec.filesystem("memory")
    system.pipe("/bucket/corpus/a.jsonl.gz", gzip.compress(LINES))
    system.pipe("/bucket/corpus/deep/b.txt", b"three")
    system.pipe("/bucket/corpus/notes.md", b"no")
    pq.write_table(pa.table({"text": ["four"]}), tmp_path / "c.parquet")
    system.pipe("/bucket/corpus/z.parquet", (tmp_path / "c.parquet").read_bytes())
    assert texts(store) == ["one", "two", "three", "four"]
    assert [row["source"] for row in read(f"{store}/a.jsonl.gz")] == ["memory:///bucket/corpus/a.jsonl.gz"] * 2
    assert list_corpus([store]).skipped == ["memory:///bucket/corpus/notes.md"]
    before = list_corpus([store]).files
    system.pipe("/bucket/corpus/deep/b.txt", b"three and more")
    after = list_corpus([store]).files
    assert [one == other for one, other in zip(before, after, strict=True)] == [True, False, True]
    assert texts(f"file://{tmp_path}") == ["four"]


def test_a_url_that_cannot_be_opened_is_a_line(store: str) -> None:
    with pytest.raises(InputUnreadable, match="memory://bucket/corpus"):
        list_corpus([store])
    with pytest.raises(InputUnreadable, match="no-such-protocol"):
        list_corpus(["no-such-protocol://bucket"])


def test_a_store_that_needs_a_package_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(ExtraMissing, match=r"s3://bucket: .*s3fs"):
        list_corpus(["s3://bucket"])


def test_the_hub_is_a_store_as_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a fake in the place of the hub's own, which comes with the decoder."""
    hub = fsspec.get_filesystem_class("hf")
    told = {"name": "datasets/a/b/x.jsonl", "size": len(LINES), "type": "file", "blob_id": "1"}
    monkeypatch.setattr(hub, "info", lambda self, path, **_: told)
    monkeypatch.setattr(hub, "find", lambda self, path, **_: {told["name"]: told})
    monkeypatch.setattr(hub, "isfile", lambda self, path: False)
    monkeypatch.setattr(hub, "invalidate_cache", lambda self: None)
    monkeypatch.setattr(hub, "open", lambda self, path, mode: io.BytesIO(LINES))
    (file,) = list_corpus(["hf://datasets/a/b"]).files
    assert (file.name, file.stamp) == ("hf://datasets/a/b/x.jsonl", "1")
    assert texts("hf://datasets/a/b") == ["one", "two"]


def test_a_store_that_fails_amid_a_file_is_a_row_with_an_error(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    system = fsspec.filesystem("memory")
    system.pipe("/bucket/corpus/a.jsonl", LINES)
    (file,) = list_corpus([store]).files

    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("throttled")

    monkeypatch.setattr(type(system), "open", fail)
    (row,) = documents(file, Columns())
    assert (row["error"], row["row"]) == ("input-unreadable", None) and "throttled" in row["message"]


# ---- fields ----

CHAT = {
    "id": 7,
    "meta": {"url": "https://a.example", "tags": ["x", "y"]},
    "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}, {"content": None}],
}


def as_jsonl(folder: Path, record: dict[str, Any]) -> Path:
    (folder / "a.jsonl").write_text(json.dumps(record) + "\n")
    return folder / "a.jsonl"


def as_parquet(folder: Path, record: dict[str, Any]) -> Path:
    pq.write_table(pa.Table.from_pylist([record]), folder / "a.parquet")
    return folder / "a.parquet"


@pytest.mark.parametrize("write", [as_jsonl, as_parquet])
def test_fields_inside_others_are_read_and_kept(tmp_path: Path, write: Any) -> None:
    file = write(tmp_path, CHAT)
    nowhere = ("nowhere", "nowhere[].no", "meta.no", "meta[]", "id[]", "id.no", "messages.content", "meta.tags[].x")
    (row,) = read(file, "messages[].content", "id", "meta.url", "meta.tags", "meta", *nowhere)
    assert row["text"] == "Hi\n\nHello"
    assert (row["id"], row["meta.url"]) == ("7", "https://a.example")
    assert (json.loads(row["meta.tags"]), json.loads(row["meta"])) == (["x", "y"], CHAT["meta"])
    assert [row.get(path) for path in nowhere] == [None] * len(nowhere)
    assert texts(file, "meta.url") == ["https://a.example"]
    for nothing in ("messages.content", "messages[].role[]", "id", "meta", "nowhere", "messages[]", "meta.tags[].x"):
        assert texts(file, nothing) == ["text-missing"]


def test_a_name_with_dots_is_a_name_first(tmp_path: Path) -> None:
    record = {"a.b": "dotted", "a": {"b": "inside"}}
    for file in (as_jsonl(tmp_path, record), as_parquet(tmp_path, record)):
        assert texts(file, "a.b") == ["dotted"]


def test_a_kept_field_that_nothing_can_write_is_null(tmp_path: Path) -> None:
    deep = "[" * 900 + "]" * 900
    (tmp_path / "a.jsonl").write_text(f'{{"text": "a", "deep": {deep}, "lone": "\\ud800", "big": 1e999}}\n')
    (row,) = read(tmp_path, "text", "deep", "lone", "big")
    assert row["text"] == "a" and row["deep"] in (None, deep)
    assert (row["lone"], row["big"]) == ("\\ud800", "Infinity")


@pytest.mark.parametrize("path", ["", ".", "a..b", "[]", "a[", "a[0]", "a.[]"])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(OptionOutOfRange, match="no field"):
        Columns(path)


def test_kept_fields_that_are_called_as_ours_are_renamed() -> None:
    names = results_schema(Columns(keep=("url", "version", "source"))).names
    assert names[:5] == ["source", "row", "url", "own_version", "own_source"] and "version" in names
    for keep in (("id", "id"), ("code", "own_code")):
        with pytest.raises(OptionOutOfRange, match="two kept fields"):
            Columns(keep=keep)


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary_view()])
def test_bytes_that_are_utf8_are_text(tmp_path: Path, kind: pa.DataType) -> None:
    pq.write_table(pa.table({"text": pa.array(["café".encode(), b"\xff"], kind)}), tmp_path / "a.parquet")
    assert texts(tmp_path) == ["café", "not-text"]


# ---- archives of the web ----


def record(kind: str, body: bytes, http: str = "", mime: str = "text/plain") -> bytes:
    """A record of an archive, as a crawler writes it; of a page with the headers of HTTP."""
    if http:
        first = "HTTP/1.1 200 OK" if kind == "response" else "GET / HTTP/1.1"
        body, mime = "\r\n".join([first, *http.splitlines(), "", ""]).encode() + body, "application/http"
    headers = f"WARC-Type: {kind}\r\nWARC-Target-URI: http://a.example/\r\nContent-Type: {mime}\r\n"
    return f"WARC/1.0\r\n{headers}Content-Length: {len(body)}\r\n\r\n".encode() + body + b"\r\n\r\n"


PAGE = record("response", "<p>caf\xe9</p>".encode("latin-1"), http="Content-Type: text/html; charset=ISO-8859-1")
WET = record("conversion", b"plain words")


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd], ids=["", "gz", "zst"])
def test_an_archive_has_its_pages_and_their_texts(tmp_path: Path, pack: Any) -> None:
    name = {bytes: "a.warc", gzip.compress: "a.warc.gz"}.get(pack, "a.warc.zst")
    others = [
        record("warcinfo", b"software: x\r\n"),
        record("request", b"", http="Host: a.example"),
        record("response", b"\x89PNG", http="Content-Type: image/png"),
        record("metadata", b"fetchTimeMs: 1\r\n", mime="application/warc-fields"),
    ]
    packed = b"\xc3\xa9t\xc3\xa9"
    coded = record("response", gzip.compress(packed), http="Content-Type: text/plain\nContent-Encoding: gzip")
    chunked = record(
        "response", b"5\r\n" + packed + b"\r\n0\r\n\r\n", http="Content-Type: text/plain\nTransfer-Encoding: chunked"
    )
    parts = [*others, PAGE, WET, coded, chunked]
    (tmp_path / name).write_bytes(b"".join(map(pack, parts)))
    found = read(tmp_path / name, "text", "WARC-Target-URI")
    assert [row["text"] for row in found] == ["café", "plain words", "été", "été"]
    assert [row["row"] for row in found] == [4, 5, 6, 7]
    assert {row["WARC-Target-URI"] for row in found} == {"http://a.example/"}


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("text/html", b"<meta charset=latin1><p>caf\xe9 &amp; <b>words</b>"),
        ("text/html", b"<p>caf\xe9 &amp; <b>words</b><script>x</script>"),
        ("text/html; charset=utf-7", b"<p>caf\xe9 &amp; words"),
        ("text/html; charset=klingon", "<p>caf\u00e9 &amp; words".encode("cp1252")),
        (
            "application/xhtml+xml",
            "<html><head><title>no</title></head><p hidden>no</p><p>caf\u00e9 &amp; words</p>".encode(),
        ),
        ("text/html;charset=UTF-8", b"<!--" * 99 + b"--><p>caf\xc3\xa9 &amp; words" + b"<a " * 99_999),
    ],
)
def test_of_a_page_the_words_are_read_as_browsers_show_them(tmp_path: Path, head: str, body: bytes) -> None:
    (tmp_path / "a.warc").write_bytes(record("response", body, http=f"Content-Type: {head}"))
    assert texts(tmp_path) == ["caf\u00e9 & words"]


@pytest.mark.parametrize("coding", ["base64", "hex", "rot13", "punycode", "klingon", "utf-7", "utf-16\0"])
def test_a_charset_of_no_text_is_an_error(tmp_path: Path, coding: str) -> None:
    text = record("response", b"abcd", http=f"Content-Type: text/plain; charset={coding}")
    (tmp_path / "a.warc").write_bytes(text + WET)
    assert texts(tmp_path) == ["not-text", "plain words"]


def test_an_archive_that_was_cut_off_packed_keeps_what_came_before(tmp_path: Path) -> None:
    whole = gzip.compress(PAGE + record("conversion", random.Random(1).randbytes(1 << 20)), 1)
    (tmp_path / "a.warc.gz").write_bytes(whole[: len(whole) // 2])
    assert texts(tmp_path) == ["café", "input-unreadable"]


@pytest.mark.parametrize(
    ("coding", "pack"),
    [
        ("br", lambda data: pa.compress(data, "brotli", asbytes=True)),
        ("zstd", zstd),
        ("gzip", gzip.compress),
        ("x-gzip", gzip.compress),
        ("gzip, br", lambda data: pa.compress(gzip.compress(data), "brotli", asbytes=True)),
        ("br", bytes),  # a crawler unpacked it, and kept the header
        ("klingon", bytes),
    ],
)
def test_a_page_is_read_however_its_server_packed_it(tmp_path: Path, coding: str, pack: Any) -> None:
    http = f"Content-Type: text/html\nContent-Encoding: {coding}"
    (tmp_path / "a.warc").write_bytes(record("response", pack("<p>café</p>".encode()), http=http))
    assert texts(tmp_path) == ["café"]


def test_a_page_that_is_a_bomb_is_too_large(tmp_path: Path) -> None:
    http = "Content-Type: text/html\nContent-Encoding: br"
    body = pa.compress(bytes(MAX_BYTES * 9), "brotli", asbytes=True)
    (tmp_path / "a.warc").write_bytes(record("response", body, http=http))
    assert texts(tmp_path) == ["input-too-large"]


@pytest.mark.parametrize("pack", [gzip.compress, zstd], ids=["gz", "zst"])
def test_lines_before_the_place_where_a_packed_file_is_cut_off_are_read(tmp_path: Path, pack: Any) -> None:
    lines = b"".join(json.dumps({"text": random.Random(i).randbytes(40).hex()}).encode() + b"\n" for i in range(2000))
    name = "a.jsonl.gz" if pack is gzip.compress else "a.jsonl.zst"
    (tmp_path / name).write_bytes(pack(lines)[:-4])
    *found, last = texts(tmp_path)
    assert last == "input-unreadable" and len(found) >= 1300  # zstd packs blocks of 128 KiB


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.jsonl.zst"])
def test_a_packed_file_without_a_byte_is_broken(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"")
    assert texts(tmp_path) == ["input-unreadable"]


def test_a_wet_file_as_common_crawl_has_it(tmp_path: Path) -> None:
    (tmp_path / "CC-MAIN-1.warc.wet.gz").write_bytes(gzip.compress(WET) * 3)
    assert texts(tmp_path) == ["plain words"] * 3


BROKEN = {
    "cut off": WET[:-30],
    "too long": WET.replace(b"Content-Length: 11", b"Content-Length: 99999999999"),
    "too short": WET.replace(b"Content-Length: 11", b"Content-Length: 5"),
    "negative": WET.replace(b"Content-Length: 11", b"Content-Length: -5"),
    "no length": WET.replace(b"Content-Length: 11\r\n", b""),
    "no number": WET.replace(b"Content-Length: 11", b"Content-Length: x"),
    "no archive": b"<!DOCTYPE html>\n" * 40,
    "endless line": b"WARC/1.0\r\nX: " + b"a" * (1 << 22),
    "endless headers": b"WARC/1.0\r\n" + b"X: a\r\n" * (1 << 18),
    "endless page's headers": record("response", b"", http="Content-Type: text/html").replace(
        b"text/html", b"text/html\r\nX: " + b"a" * (1 << 22)
    ),
    "no bytes": WET + b"\0" * 1000,
    "no address": PAGE.replace(b"WARC-Target-URI: http://a.example/\r\n", b""),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_archive_keeps_what_came_before_and_says_that_it_ended(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.warc").write_bytes(PAGE + BROKEN[name])
    first, *_, last = read(tmp_path)
    assert first["text"] == "café"
    assert (last["error"], last["row"]) == ("input-unreadable", None) and "\n" not in last["message"]
    assert "object" not in last["message"]  # what Python says
    assert capsys.readouterr() == ("", "")  # the library warns on stderr


def test_a_record_that_is_no_text_is_an_error_and_the_next_is_read(tmp_path: Path) -> None:
    huge = record("conversion", b"a" * (MAX_BYTES + 1))
    binary = record("conversion", b"\xff\xfe\0")
    odd = record("response", b"a", http="Content-Type: text/plain; charset=klingon")
    (tmp_path / "a.warc").write_bytes(huge + binary + odd + WET)
    assert texts(tmp_path) == ["input-too-large", "not-text", "not-text", "plain words"]


@given(st.data())
def test_no_bytes_make_an_archive_fail_otherwise(data: st.DataObject) -> None:
    whole = bytearray(
        PAGE + WET + record("response", zlib.compress(b"a"), http="Content-Type: text/html\nContent-Encoding: deflate")
    )
    for _ in range(data.draw(st.integers(0, 6))):
        place = data.draw(st.integers(0, len(whole) - 1))
        whole[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    with suppress(DecoderError, OSError, EOFError, zlib.error):
        for _, found in archived(io.BytesIO(bytes(whole)), "a.warc"):
            with suppress(DecoderError):
                assert isinstance(found()["text"], str)


# ---- bombs ----


@pytest.mark.parametrize("kind", ["gz", "zst"])
@pytest.mark.parametrize("name", ["jsonl", "txt", "warc"])
def test_a_bomb_takes_nothing_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, kind: str) -> None:
    monkeypatch.setattr(files, "_MOST_UNPACKED", 1 << 24)
    endless = {
        "jsonl": LINES + b'{"text": "',
        "txt": b"",
        "warc": WET + record("conversion", b"").replace(b": 0", b": 1073741824").removesuffix(b"\r\n\r\n"),
    }
    unpacked = endless[name] + b"a" * (1 << 26)
    (tmp_path / f"a.{name}.{kind}").write_bytes(gzip.compress(unpacked) if kind == "gz" else zstd(unpacked))
    *first, last = read(tmp_path)
    kept = [row["text"] for row in first if "error" not in row]
    assert kept == {"jsonl": ["one", "two"], "txt": [], "warc": ["plain words"]}[name]
    assert last["error"] == "input-too-large" and last["row"] is None


HOSTILE = """
import json, resource, sys, time
from pathlib import Path
from ctwl_corpora.scan.fields import Columns
from ctwl_corpora.scan.files import list_corpus
from ctwl_corpora.scan.records import documents

start = time.perf_counter()
found = [(row.get("error"), row["row"]) for f in list_corpus([Path(sys.argv[1])]).files
         for row in documents(f, Columns("messages[].content" if "chat" in f.name else "text"))]
(peak,) = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(json.dumps([found, time.perf_counter() - start, int(peak.split()[1]) // 1024]))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("name", ["line.jsonl.gz", "line.jsonl.zst", "text.txt.zst", "line.jsonl", "chat.parquet"])
def test_hostile_files_take_little_memory(tmp_path: Path, name: str) -> None:
    """A gigabyte in a line, packed and not; a table of a hundred times as much, by one value that repeats."""
    file = tmp_path / name
    if name.endswith("gz"):
        with gzip.open(file, "wb", 1) as out:
            out.write(b'{"text": "')
            for _ in range(1 << 10):
                out.write(b"a" * (1 << 20))
    elif name.endswith("zst"):
        with pa.CompressedOutputStream(str(file), "zstd") as out:
            for _ in range(1 << 10):
                out.write(b"a" * (1 << 20))
    elif name.endswith("jsonl"):
        with file.open("wb") as out:
            out.write(b'{"text": "')
            out.truncate(1 << 30)  # a hole: no room on the disk
    else:
        said = pa.DictionaryArray.from_arrays(pa.array([0] * 30_000, pa.int32()), pa.array(["a" * (1 << 20)]))
        messages = pa.StructArray.from_arrays([said], ["content"])
        pq.write_table(pa.table({"messages": pa.ListArray.from_arrays(pa.array([0, 30_000]), messages)}), file)
    ran = subprocess.run([sys.executable, "-c", HOSTILE, str(file)], capture_output=True, check=True, text=True)
    found, seconds, peak = json.loads(ran.stdout)
    print(name, found, round(seconds, 2), "s", peak, "MB")
    assert {error for error, _ in found} == {"input-too-large"} and peak < 500

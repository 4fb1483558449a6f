"""Scanning corpora from the outside: files in, rows out, whatever happens in between."""

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from marked_words import marked_text

from ctwl_corpora import Settings
from ctwl_corpora.errors import ScanRunning, ScanSettingsDiffer
from ctwl_corpora.scan import chunks
from ctwl_corpora.scan.chunks import ChunkReader, results_schema
from ctwl_corpora.scan.command import main
from ctwl_corpora.scan.fields import Columns
from ctwl_corpora.scan.files import list_corpus
from ctwl_corpora.scan.job import parts_of, scan
from ctwl_corpora.scan.records import MAX_LINE, documents
from ctwl_corpora.scan.summary import Summary
from ctwl_decoder import Decoder
from ctwl_decoder.errors import InputUnreadable, OutputExists
from ctwl_decoder.options import ALPHA, MAX_BYTES
from ctwl_protocol import Beacon, CTWLError, Profile, get_profile
from ctwl_protocol.errors import FileUnwritable
from ctwl_protocol.proxy import Proxy, open_proxy
from ctwl_protocol.registry import bundled

VANILLA = "org.ctwl.smollm2-135m.vanilla.1"
PLAIN = "The council met on Tuesday and talked about the bridge, the school and the weather. Nobody was surprised. " * 2


def small(**changes: Any) -> Profile:
    """A profile without a proxy LM and with few colours, so that decoding takes milliseconds."""
    document = {**get_profile(VANILLA).model_dump(), "name": "org.example.scan.1", "colours": 16, **changes}
    return Profile.model_validate(document)


@pytest.fixture(scope="module")
def decoder() -> Decoder:
    return Decoder(Proxy(small(), open_proxy(VANILLA).tokenizer))


@pytest.fixture(scope="module")
def marked(decoder: Decoder) -> str:
    return marked_text(decoder.proxy, Beacon(700, 9, 21).code, 120, 4)


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "MOST_DOCUMENTS", 4)
    monkeypatch.setattr(chunks, "MOST_CHARACTERS", 4000)


@pytest.fixture
def settings() -> Settings:
    return Settings([small()], beacons=((700, 9),), screen=None)


def by(decoder: Decoder, settings: Settings) -> ChunkReader:
    """What decodes documents, with a decoder that is open already."""
    reader = ChunkReader(settings)
    reader.decoders = [decoder]
    return reader


Job = Callable[..., Summary]


@pytest.fixture
def job(decoder: Decoder, settings: Settings) -> Job:
    """:func:`scan`, with a decoder that is open already."""

    def run(inputs: list[Path], out: Path, settings: Settings = settings, **options: Any) -> Summary:
        return scan(inputs, out, by(decoder, settings), **options)

    return run


def jsonl(path: Path, texts: Iterable[str]) -> Path:
    path.write_text(
        "".join(json.dumps({"text": text, "id": f"d{i}"}) + "\n" for i, text in enumerate(texts)), encoding="utf-8"
    )
    return path


def documents_in(path: Path, keep: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """What the one file there holds."""
    (file,) = list_corpus([path]).files
    return list(documents(file, Columns(keep=keep)))


def rows(output: Path) -> list[dict[str, Any]]:
    return pq.read_table(output).to_pylist()


Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """Scans a corpus by a profile without a proxy LM into the file ``o``; the status and what the command says."""
    (tmp_path / "small.json").write_text(small().to_json())

    def run(*words: str | Path) -> tuple[int, str, str]:
        given = ["--out", tmp_path / "o", "--profile", tmp_path / "small.json", *words]
        return main([*map(str, given)]), *capsys.readouterr()

    return run


class Never(Decoder):
    """A decoder that is not asked."""

    def begin(self, text: Any, **options: Any) -> Any:
        raise AssertionError("nothing was left to decode")


@pytest.fixture
def never(decoder: Decoder, settings: Settings) -> ChunkReader:
    return by(Never(decoder.proxy), settings)


# ---- the rows ----


def test_a_code_is_found_with_its_place_and_p_value(decoder: Decoder, job: Job, marked: str, tmp_path: Path) -> None:
    corpus, out = jsonl(tmp_path / "a.jsonl", [PLAIN, PLAIN + marked, "short"]), tmp_path / "out.parquet"
    summary = job([corpus], out, columns=Columns(keep=("id",)))
    plain, found, short = rows(out)
    assert (found["source"], found["row"], found["id"], found["detected"]) == (str(corpus), 1, "d1", True)
    assert (found["provider"], found["version"], found["nonce"]) == (700, 9, 21)
    assert found["code"] == Beacon(700, 9, 21).code
    assert found["p_value"] < 1e-6
    (span,) = found["spans"]
    assert (span["provider"], span["version"], span["nonce"], span["code"]) == (700, 9, 21, found["code"])
    assert abs(span["start"] - len(PLAIN)) < 80 and span["end"] == len(PLAIN + marked)
    assert (plain["detected"], plain["code"], plain["provider"], plain["spans"]) == (False, None, None, [])
    assert (plain["outcome"], found["outcome"], short["outcome"]) == ("none", "found", "too-short")
    assert plain["p_value"] > 1e-4 and plain["tokens"] == decoder.decode(PLAIN).tokens
    assert (short["detected"], short["p_value"], short["error"]) == (False, 1.0, None)
    assert (summary.documents, dict(summary.found), summary.too_short) == (3, {"provider 700:9": 1}, 1)
    assert not parts_of(out).exists()


def test_rows_are_as_decoded(job: Job, decoder: Decoder, settings: Settings, marked: str, tmp_path: Path) -> None:
    texts = [marked[i : i + 300] for i in range(0, 500, 120)] + ["", PLAIN]
    out = tmp_path / "out.parquet"
    job([jsonl(tmp_path / "a.jsonl", texts)], out)
    for text, row in zip(texts, rows(out), strict=True):
        report = decoder.decode(text, beacons=settings.beacons, score="whole")
        assert (row["detected"], row["p_value"], row["tokens"]) == (report.detected, report.p_value, report.tokens)
        known = {"layout", "codes", "p_value"}
        spans = [span.model_dump(exclude={"tokens", "record"}) for span in report.spans]
        records = [span.record.model_dump(include=known) if span.record else None for span in report.spans]
        assert row["spans"] == [span | {"record": record} for span, record in zip(spans, records, strict=True)]
        assert row["record"] == (report.record.model_dump(include=known) if report.record else None)


def test_the_screen_lets_marked_documents_pass(job: Job, settings: Settings, marked: str, tmp_path: Path) -> None:
    corpus = jsonl(tmp_path / "a.jsonl", [PLAIN, PLAIN + marked, "short"])
    job([corpus], tmp_path / "full")
    summary = job([corpus], tmp_path / "screened", replace(settings, screen=0.01))
    whole, screened = rows(tmp_path / "full"), rows(tmp_path / "screened")
    assert [row["read"] for row in whole] == ["whole"] * 3
    assert [row["read"] for row in screened] == ["screened", "whole", "screened"]
    assert screened[1] == whole[1]
    for row, other in zip(screened, whole, strict=True):
        assert (row["outcome"], row["detected"], row["tokens"]) == tuple(
            other[k] for k in ("outcome", "detected", "tokens")
        )
    assert (screened[0]["p_value"], screened[0]["spans"]) == (None, [])
    assert "2 by the screen" in str(summary)


def test_a_light_scan_never_asks_the_proxy_lm(settings: Settings, marked: str, tmp_path: Path) -> None:
    decode = ChunkReader(replace(settings, screen=0.01, light=True))
    scan([jsonl(tmp_path / "a.jsonl", [PLAIN, marked])], tmp_path / "o", decode)
    plain, found = rows(tmp_path / "o")
    assert (plain["read"], found["read"], found["code"]) == ("screened", "light", Beacon(700, 9, 21).code)
    assert pq.read_metadata(tmp_path / "o").metadata[b"ctwl.arithmetic"] == b"integer"


def test_codes_that_are_no_beacons_are_numbers(decoder: Decoder, tmp_path: Path) -> None:
    proxy = Proxy(small(code_bits=10), decoder.tokenizer)
    corpus = jsonl(tmp_path / "a.jsonl", [marked_text(proxy, 77, 100, 1)])
    summary = scan([corpus], tmp_path / "o", by(Decoder(proxy), Settings([proxy.profile], all_codes=True, screen=None)))
    (row,) = rows(tmp_path / "o")
    assert (row["code"], row["provider"], row["spans"][0]["provider"]) == (77, None, None)
    assert "1 of code 77" in str(summary)


def test_the_result_says_what_it_follows_from(decoder: Decoder, job: Job, tmp_path: Path) -> None:
    job([jsonl(tmp_path / "a.jsonl", [PLAIN])], tmp_path / "o")
    found = pq.read_schema(tmp_path / "o")
    assert found.remove_metadata() == results_schema(Columns())
    told = {key.decode(): value.decode() for key, value in found.metadata.items()}
    assert json.loads(told["ctwl.profiles"]) == {"org.example.scan.1": small().digest}
    assert (float(told["ctwl.alpha"]), json.loads(told["ctwl.searched"])) == (ALPHA, [64])
    assert (told["ctwl.format"], told["ctwl.arithmetic"]) == ("ctwl-scan/5", decoder.load())


# ---- documents ----


def test_folders_are_walked_in_order_and_compressed_lines_read(job: Job, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    (corpus / "b" / "deep").mkdir(parents=True)
    (corpus / "b" / "deep" / "x.txt").write_text("one")
    (corpus / "a.ndjson.gz").write_bytes(gzip.compress(b'{"text": "two"}\n\n{"text": "three"}'))
    (corpus / "c.TXT.gz").write_bytes(gzip.compress(b"four"))
    (corpus / "notes.md").write_text("not read")
    pq.write_table(pa.table({"text": ["five", "six"], "other": [1, 2]}), corpus / "d.parquet")
    os.mkfifo(corpus / "pipe.txt")  # would never end
    out = corpus / "out.parquet"  # inside the corpus and yet not of it
    job([corpus, corpus / "d.parquet"], out)
    assert [(Path(row["source"]).name, row["row"]) for row in rows(out)] == [
        ("a.ndjson.gz", 0),
        ("a.ndjson.gz", 2),
        ("x.txt", 0),
        ("c.TXT.gz", 0),
        ("d.parquet", 0),
        ("d.parquet", 1),
    ]
    first = out.read_bytes()
    job([corpus, corpus / "d.parquet"], out, restart=True)
    assert out.read_bytes() == first


BAD = [
    (".jsonl", b"\xff\xfe{}\n", "not-text"),
    (".jsonl", b'{"text": "cut off', "record-malformed"),
    (".jsonl", b"[1, 2]\n", "record-malformed"),
    (".jsonl", b"[" * 100_000, "record-malformed"),
    (".jsonl", b'{"text": ' + b"9" * 5000 + b"}", "record-malformed"),
    (".jsonl", b'{"txet": "x"}\n', "text-missing"),
    (".jsonl", b'{"text": null}\n', "text-missing"),
    (".jsonl", b'{"text": 7}\n', "text-missing"),
    (".jsonl", b'{"text": "\\ud800"}\n', "not-text"),
    (".jsonl", b'{"text": "' + b"a" * MAX_LINE + b'"}\n', "input-too-large"),
    (".jsonl", b'{"text": "' + b"a" * (1 << 21) + b'"}\n', "input-too-large"),
    (".jsonl", b'{"text": "' + b"1 " * 70_000 + b'"}\n', "input-too-large"),
    (".txt", b"a" * (MAX_BYTES + 1), "input-too-large"),
    (".txt", b"caf\xe9", "not-text"),
    (".txt", b"\x7fELF\0\0", "not-text"),
    (".jsonl.gz", b"no gzip", "input-unreadable"),
    (".txt.gz", gzip.compress(os.urandom(1000))[:500], "input-unreadable"),
    (".parquet", b"PAR1 but no more than that", "input-unreadable"),
]


def test_a_bad_document_is_a_row_with_an_error_and_no_others_are_lost(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "MOST_CHARACTERS", 1 << 24)  # so that good ones stand beside bad ones in a chunk
    for number, (kind, data, _) in enumerate(BAD):
        (tmp_path / f"{number:02}a{kind}").write_bytes(data)
        (tmp_path / f"{number:02}b.txt").write_text("good")
    summary = job([tmp_path], tmp_path / "out.parquet")
    found = rows(tmp_path / "out.parquet")
    bad, good = found[::2], found[1::2]
    assert [row["error"] for row in bad] == [code for *_, code in BAD]
    for number, ((kind, *_), row) in enumerate(zip(BAD, bad, strict=True)):
        assert (row["detected"], row["spans"], row["tokens"]) == (None, None, None)
        assert row["source"] == str(tmp_path / f"{number:02}a{kind}") and row["message"]
    assert [row["detected"] for row in good] == [False] * len(BAD)
    assert summary.errors == Counter(code for *_, code in BAD)


def test_lines_around_a_bad_one_are_read(job: Job, tmp_path: Path) -> None:
    good = b'\xef\xbb\xbf{"text": "good"}\n'  # as joined files have it
    (tmp_path / "a.jsonl").write_bytes(good + b'{"x":"' + b"a" * MAX_LINE * 2 + b'"}\n' + good)
    job([tmp_path / "a.jsonl"], tmp_path / "o")
    assert [(row["row"], row["error"]) for row in rows(tmp_path / "o")] == [
        (0, None),
        (1, "input-too-large"),
        (2, None),
    ]


@pytest.mark.parametrize(
    ("column", "error"),
    [
        (pa.array(["a", None]), [None, "text-missing"]),
        (pa.array(["a", "b"]).dictionary_encode(), [None, None]),
        (pa.array(["a", "b"], pa.large_string()), [None, None]),
        (pa.array([b"a", b"\xff"]).view(pa.string()), [None, "not-text"]),
        (pa.array(["a", "b" * (MAX_BYTES + 1)]), [None, "input-too-large"]),
        (pa.array([1, 2]), ["text-missing"]),
    ],
    ids=["null", "dictionary", "large", "no UTF-8", "too large", "numbers"],
)
def test_columns_of_every_kind(job: Job, tmp_path: Path, column: pa.Array, error: list[str | None]) -> None:
    pq.write_table(pa.table({"text": column, "key": list(range(len(column)))}), tmp_path / "a.parquet")
    job([tmp_path / "a.parquet"], tmp_path / "o", columns=Columns(keep=("key",)))
    assert [row["error"] for row in rows(tmp_path / "o")] == error
    if len(error) == len(column):
        assert [row["key"] for row in rows(tmp_path / "o")] == ["0", "1"]


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_a_kept_field_may_have_any_name(job: Job, tmp_path: Path, form: str) -> None:
    names = ("source", "row", "text", "kept", "error", "message", "code")
    records = [dict.fromkeys(names, "books") | {"text": PLAIN}, {"text": PLAIN}]
    if form == "jsonl":
        (tmp_path / "a.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
    else:
        pq.write_table(pa.Table.from_pylist(records), tmp_path / "a.parquet")
    job([tmp_path / f"a.{form}"], tmp_path / "o", columns=Columns(keep=names))
    first, second = rows(tmp_path / "o")
    for name in ("kept", *(f"own_{name}" for name in names if name not in ("text", "kept"))):
        assert (first[name], second[name]) == ("books", None)
    assert first["text"] == second["text"] == PLAIN
    assert (first["source"], first["row"], first["error"]) == (str(tmp_path / f"a.{form}"), 0, None)


def test_an_output_that_lies_in_the_corpus_by_another_name_is_no_input(job: Job, tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    jsonl(tmp_path / "corpus" / "a.jsonl", [PLAIN])
    (tmp_path / "link").symlink_to("corpus")
    out = tmp_path / "link" / "out.parquet"
    job([tmp_path / "corpus"], out)
    assert [row["source"] for row in rows(out)] == [str(tmp_path / "corpus" / "a.jsonl")]
    assert len(list_corpus([tmp_path / "corpus"], without=[out]).files) == 1


@pytest.mark.parametrize(
    "ids",
    [
        [pa.array([2**31 - 1], pa.int32()).cast(pa.date32())],
        [pa.array([2**62]).cast(pa.timestamp("ms"))],
        [pa.array([2**62]).cast(pa.duration("s"))],
        [pa.array([1], pa.timestamp("ms", tz="No/Where"))],
        [["a"], ["b"]],
    ],
)
def test_ids_that_python_cannot_hold_and_two_columns_of_ids_are_no_ids(tmp_path: Path, ids: list[Any]) -> None:
    pq.write_table(pa.table([[PLAIN], *ids], names=["text", *["id"] * len(ids)]), tmp_path / "a.parquet")
    (row,) = documents_in(tmp_path, keep=("id",))
    assert (row["text"], row["kept"].get("id")) == (PLAIN, None)


def test_a_column_whose_name_is_no_text_is_a_row_with_an_error(job: Job, tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["a"], "other": [1]}), tmp_path / "a.parquet", store_schema=False)
    bad = (tmp_path / "a.parquet").read_bytes().replace(b"other", b"\xff\xfe\xff\xfe\xff")
    (tmp_path / "a.parquet").write_bytes(bad)
    summary = job([tmp_path / "a.parquet"], tmp_path / "o")
    assert summary.errors == {"input-unreadable": 1}


def test_a_few_bytes_of_parquet_do_not_fill_the_memory(tmp_path: Path) -> None:
    """A dictionary of one long text stands for as many as there are rows."""
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 60, pa.int32()), pa.array(["a" * (1 << 24)]))
    pq.write_table(pa.table({"text": column}), tmp_path / "a.parquet")
    before = pa.default_memory_pool().max_memory()
    assert {document.get("error") for document in documents_in(tmp_path)} == {"input-too-large"}
    assert pa.default_memory_pool().max_memory() - before < 1 << 29


def test_texts_too_long_on_average_are_refused_packed(tmp_path: Path) -> None:
    texts = [str(i) + "a" * (MAX_BYTES + 1) for i in range(3)]
    pq.write_table(pa.table({"text": texts}), tmp_path / "a.parquet", use_dictionary=False)
    (only,) = documents_in(tmp_path)
    assert only["error"] == "input-too-large"


def test_a_missing_column_is_named_with_those_there_are(tmp_path: Path) -> None:
    pq.write_table(pa.table({"body": ["a"], "id": [1]}), tmp_path / "a.parquet")
    (only,) = documents_in(tmp_path)
    assert only["error"] == "text-missing"
    assert "'body', 'id'" in only["message"] and "--text-column" in only["message"]


@pytest.mark.parametrize("name", ["nowhere.jsonl", "notes.md", "empty", "pipe.txt"])
def test_a_path_that_is_a_slip_is_refused_before_any_work(never: ChunkReader, tmp_path: Path, name: str) -> None:
    (tmp_path / "notes.md").write_text("x")
    (tmp_path / "empty").mkdir()
    os.mkfifo(tmp_path / "pipe.txt")
    with pytest.raises(InputUnreadable, match=name):
        scan([tmp_path / name], tmp_path / "o", never)
    assert not (tmp_path / "o").exists() and not parts_of(tmp_path / "o").exists()


@pytest.mark.parametrize(("name", "code"), [("lock", "file-unwritable"), ("settings.json", "input-unreadable")])
def test_a_pipe_among_a_job_s_files_is_an_error(never: ChunkReader, tmp_path: Path, name: str, code: str) -> None:
    parts = parts_of(tmp_path / "o")
    parts.mkdir()
    os.mkfifo(parts / name)
    with pytest.raises(CTWLError, match="pipe") as caught:
        scan([jsonl(tmp_path / "a.jsonl", ["a"])], tmp_path / "o", never)
    assert caught.value.code == code


def test_chunks_are_bounded_by_documents_and_characters(tmp_path: Path) -> None:
    texts = ["a" * n for n in [1, 1, 1, 1, 1, 3999, 1, 1, 9000, 5]]
    cut = list(chunks.chunks_of(list_corpus([jsonl(tmp_path / "a.jsonl", texts)]).files, Columns()))
    lengths = [[len(text) for text in chunk.table["text"].to_pylist()] for chunk in cut]
    assert lengths == [[1, 1, 1, 1], [1, 3999], [1, 1], [9000], [5]]
    assert [chunk.number for chunk in cut] == [0, 1, 2, 3, 4]
    corpus = list_corpus([jsonl(tmp_path / "b.jsonl", ["a" * 9000] * 3)]).files
    assert [len(list(chunks.chunks_of(corpus, Columns(), light=light))) for light in (False, True)] == [3, 1]


def test_a_corpus_without_documents_gives_a_result_without_rows(never: ChunkReader, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("\n\n")
    summary = scan([tmp_path / "a.jsonl"], tmp_path / "o", never)
    assert summary.documents == 0
    assert pq.read_schema(tmp_path / "o").remove_metadata() == results_schema(Columns())


# ---- going on ----


def ended_after(chunks: int) -> Callable[..., None]:
    """A watch that ends a job after so many chunks."""
    left = iter(range(chunks - 1))

    def watch(done: float, total: int | None, rows: pa.Table | None) -> None:
        if rows is not None and next(left, None) is None:
            raise KeyboardInterrupt

    return watch


@pytest.fixture
def begun(decoder: Decoder, settings: Settings, tmp_path: Path) -> Callable[..., Summary]:
    """A job of five chunks, ended after two; what it returns goes on with it."""
    corpus, out = jsonl(tmp_path / "a.jsonl", [f"{i} words {PLAIN[:200]}" for i in range(20)]), tmp_path / "o"
    with pytest.raises(KeyboardInterrupt):
        scan([corpus], out, by(decoder, settings), watch=ended_after(2))
    assert len(list(parts_of(out).glob("part-*"))) == 2

    def go_on(settings: Settings = settings, decoder: Decoder = decoder, **options: Any) -> Summary:
        return scan([corpus], out, by(decoder, settings), **options)

    return go_on


class Counting(Decoder):
    """Counts the texts that it is given."""

    texts = 0

    def begin(self, text: Any, **options: Any) -> Any:
        self.texts += 1
        return super().begin(text, **options)


def test_what_is_done_is_not_done_again(decoder: Decoder, begun: Callable[..., Summary], tmp_path: Path) -> None:
    counting = Counting(decoder.proxy)
    summary = begun(decoder=counting)
    assert summary.documents == 20 and "8 of 20 were done before" in str(summary)
    assert counting.texts == 12
    assert [row["row"] for row in rows(tmp_path / "o")] == list(range(20))


def test_a_part_that_is_wrong_is_made_anew(decoder: Decoder, begun: Callable[..., Summary], tmp_path: Path) -> None:
    first, second = sorted(parts_of(tmp_path / "o").glob("part-*"))
    first.write_bytes(second.read_bytes())
    second.write_bytes(b"PAR1 torn")
    counting = Counting(decoder.proxy)
    begun(decoder=counting)
    assert counting.texts == 20
    assert [row["row"] for row in rows(tmp_path / "o")] == list(range(20))


def test_parts_beyond_the_last_chunk_are_no_rows(begun: Callable[..., Summary], tmp_path: Path) -> None:
    # An input that could be read for longer when the job began has left parts that no chunk has now.
    first, _ = sorted(parts_of(tmp_path / "o").glob("part-*"))
    first.with_name(f"part-{99:012d}.parquet").write_bytes(first.read_bytes())
    assert begun().documents == 20
    assert [row["row"] for row in rows(tmp_path / "o")] == list(range(20))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"alpha": 0.25}, f"alpha was {ALPHA} and is 0.25"),
        ({"beacons": ((700, 9), (3, 1))}, "beacons was"),
        ({"p_values": True}, "p_values was false and is true"),
        ({"profiles": [small(colours=8)]}, "profiles was"),
        ({"registry": replace(bundled(), registry_bytes=b"an update")}, "registry was"),
    ],
)
def test_going_on_with_other_settings_is_refused_and_starting_over_is_not(
    settings: Settings, begun: Callable[..., Summary], changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(ScanSettingsDiffer, match=said) as refused:
        begun(replace(settings, **changes))
    assert "--restart" in str(refused.value)
    if "alpha" in changes:
        assert begun(replace(settings, **changes), restart=True).documents == 20


def test_going_on_in_another_arithmetic_is_refused(
    decoder: Decoder, begun: Callable[..., Summary], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another processor may compute other weights, and so other p-values."""
    monkeypatch.setattr(decoder, "load", lambda: "another")
    with pytest.raises(ScanSettingsDiffer, match=r'arithmetic was ".*" and is "another"'):
        begun()


def test_going_on_with_other_inputs_is_refused(begun: Callable[..., Summary], tmp_path: Path) -> None:
    with (tmp_path / "a.jsonl").open("a") as file:
        file.write('{"text": "one more"}\n')
    with pytest.raises(ScanSettingsDiffer, match=r"the file .*a\.jsonl has changed.*--restart"):
        begun()
    assert begun(restart=True).documents == 21


def test_a_new_file_is_named_where_a_scan_goes_on(job: Job, tmp_path: Path) -> None:
    corpus, out = tmp_path / "big", tmp_path / "o"
    corpus.mkdir()
    for i in range(9):
        (corpus / f"{i}.txt").write_text("a")
    with pytest.raises(KeyboardInterrupt):
        job([corpus], out, watch=ended_after(1))
    (corpus / "0a.txt").write_text("a")
    with pytest.raises(ScanSettingsDiffer, match=r"there is a new file, .*0a\.txt; remove it.*--restart") as refused:
        job([corpus], out)
    assert "input" not in str(refused.value)


def test_files_not_read_are_named(command: Command, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for name in ("a.txt", "b.md", "c.html"):
        (corpus / name).write_text("short")
    (tmp_path / "elsewhere").mkdir()
    (corpus / "linked").symlink_to(tmp_path / "elsewhere")
    status, _, said = command(corpus, "--out", corpus / "o", "--beacon", "1")
    assert status == 1
    assert [re.sub(r"\S*/", "", line) for line in said.splitlines()] == [
        f"ctwl-decode: skipped {name}, which nothing here reads" for name in ("b.md", "c.html", "linked")
    ]


def test_without_a_terminal_the_progress_is_told_in_lines(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ctwl_corpora.scan.command._EVERY", 0.0)
    status, _, said = command(jsonl(tmp_path / "a.jsonl", ["short"] * 5), "--beacon", "1")
    assert status == 0
    assert "ctwl-decode: 100 % of 5 documents are read; in the results so far: 5 documents  0 found  0 errors\n" in said


def test_an_input_that_changes_under_the_job_ends_it(job: Job, tmp_path: Path) -> None:
    corpus = jsonl(tmp_path / "a.jsonl", ["a"] * 9)

    def meddle(done: float, total: int | None, rows: pa.Table | None) -> None:
        corpus.write_text(corpus.read_text() + "\n")

    with pytest.raises(InputUnreadable, match="changed"):
        job([corpus], tmp_path / "o", watch=meddle)
    assert not (tmp_path / "o").exists()


def test_a_finished_output_is_replaced_only_where_that_is_said(job: Job, never: ChunkReader, tmp_path: Path) -> None:
    corpus, out = jsonl(tmp_path / "a.jsonl", ["a"] * 3), tmp_path / "o"
    out.write_text("dear to somebody")
    with pytest.raises(OutputExists, match="--overwrite"):
        scan([corpus], out, never)
    assert out.read_text() == "dear to somebody"
    assert job([corpus], out, overwrite=True).documents == 3
    with pytest.raises(OutputExists):
        scan([corpus], out, never)
    with pytest.raises(OutputExists, match="folder"):
        scan([corpus], tmp_path, never, overwrite=True)


def test_parts_of_nobody_are_no_leave_to_replace_an_output(job: Job, never: ChunkReader, tmp_path: Path) -> None:
    """A kill may leave parts without settings; a folder of that name may be somebody's own."""
    first, other = jsonl(tmp_path / "a.jsonl", ["short"]), jsonl(tmp_path / "b.jsonl", ["short", "too"])
    out = tmp_path / "o"
    job([first], out)
    parts_of(out).mkdir()
    (parts_of(out) / "part-00000000.parquet").write_bytes(b"left")
    with pytest.raises(OutputExists, match="--overwrite"):
        scan([other], out, never)
    assert job([other], out, overwrite=True).documents == 2
    assert not parts_of(out).exists()
    mine = parts_of(tmp_path / "mine")
    mine.mkdir()
    (mine / "draft.new").write_text("mine")
    with pytest.raises(OutputExists, match="files of others"):
        scan([other], tmp_path / "mine", never)
    assert (mine / "draft.new").read_text() == "mine"


def test_two_jobs_on_one_output_do_not_meet(job: Job, never: ChunkReader, tmp_path: Path) -> None:
    corpus = jsonl(tmp_path / "a.jsonl", ["a"] * 9)

    def second(done: float, total: int, rows: pa.Table | None) -> None:
        with pytest.raises(ScanRunning):
            scan([corpus], tmp_path / "o", never, restart=True)

    assert job([corpus], tmp_path / "o", watch=second).documents == 9


def test_a_watch_follows_the_job_to_its_end(begun: Callable[..., Summary], tmp_path: Path) -> None:
    told: list[tuple[float, int | None, int]] = []
    begun(watch=lambda done, total, rows: told.append((done, total, 0 if rows is None else len(rows))))
    done, totals, documents = zip(*told, strict=True)
    assert list(done) == sorted(done) and done[0] >= 8 and done[-1] == 20  # two fifths were done
    assert set(totals) <= {None, 20} and totals[-1] == 20 and sum(documents) == 12


def test_progress_is_of_documents_and_not_of_packed_bytes(job: Job, tmp_path: Path) -> None:
    """All of a small packed file is read from the disk before its first document is."""
    corpus, told = tmp_path / "a.jsonl.gz", list[tuple[float, int]]()
    corpus.write_bytes(gzip.compress(jsonl(tmp_path / "a.jsonl", [f"{i} words" for i in range(20)]).read_bytes()))

    def watch(done: float, total: int | None, rows: pa.Table | None) -> None:
        if rows is not None:
            told.append((done, total or 20))

    job([corpus], tmp_path / "o", watch=watch)
    assert told == [(4, 20), (8, 20), (12, 20), (16, 20), (20, 20)]


def test_documents_are_counted_beside_the_job(tmp_path: Path) -> None:
    files = list_corpus([jsonl(tmp_path / "a.jsonl", ["a"] * 300)]).files
    with chunks.counting(files, Columns()) as counted:
        while counted() is None:
            time.sleep(0.01)
        assert counted() == 300


class FullDiskError(OSError):
    """No room is left."""


def test_a_job_that_fails_at_any_step_goes_on_to_the_same_rows(job: Job, marked: str, tmp_path: Path) -> None:
    corpus = jsonl(tmp_path / "a.jsonl", ["a", "b", marked[:200], "c", "d", "e"])
    job([corpus], tmp_path / "whole")
    for step in range(1, 40):
        left, out = iter(range(step - 1)), tmp_path / f"step{step}"

        def failing(function: Callable[..., Any], left: Iterator[int] = left) -> Callable[..., Any]:
            def run(*arguments: Any, **options: Any) -> Any:
                if next(left, None) is None:
                    raise FullDiskError(28, "No space left on device")
                return function(*arguments, **options)

            return run

        with pytest.MonkeyPatch.context() as patched:
            for place, name in ((os, "fsync"), (Path, "touch"), (Path, "replace"), (Path, "write_text")):
                patched.setattr(place, name, failing(getattr(place, name)))
            try:
                job([corpus], out)
            except (FileUnwritable, FullDiskError):
                assert not out.exists()
                patched.undo()
                job([corpus], out)
            else:
                break
        assert out.read_bytes() == (tmp_path / "whole").read_bytes(), step
        assert not parts_of(out).exists(), step
    assert step > 9


ALONE = """
import os, random, signal, sys, time
from pathlib import Path
from ctwl_decoder import Decoder
from ctwl_corpora.scan import chunks
from ctwl_corpora.scan.chunks import ChunkReader
from ctwl_corpora.scan.fields import Columns
from ctwl_corpora.scan.files import list_corpus
from ctwl_corpora.scan.job import parts_of, scan
from ctwl_corpora.scan.records import documents
from ctwl_corpora import Settings
from ctwl_protocol import get_profile
from ctwl_protocol.proxy import Proxy, open_proxy

profile = get_profile(sys.argv[1])
decode = ChunkReader(Settings([profile], beacons=((700, 9),), screen=None))
decode.decoders = [Decoder(Proxy(profile, open_proxy("org.ctwl.smollm2-135m.vanilla.1").tokenizer))]
"""


def in_a_process(program: str, folder: Path, *places: Path) -> list[int]:
    """The numbers that a program prints which scans by itself."""
    (folder / "small.json").write_text(small().to_json())
    arguments = [sys.executable, "-c", ALONE + program, folder / "small.json", *places]
    ran = subprocess.run(arguments, capture_output=True, check=False, text=True)
    assert ran.returncode == 0, ran.stderr
    return [int(number) for number in ran.stdout.split()]


KILLED = """
corpus, folder = map(Path, sys.argv[2:])
chunks.MOST_DOCUMENTS = 4

def whole(out, few):
    files = sorted(corpus.iterdir())[: 1 if few else None]
    scan(files, out, decode)

def child(out, few, die_at=0):
    "Scan in a child, which kills itself at its n-th step on the disk; its process id."
    process = os.fork()
    if process:
        return process
    left = [die_at]
    def counted(step):
        def dying(*arguments, **options):
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)
            return step(*arguments, **options)
        return dying
    os.fsync, os.unlink, os.rmdir = map(counted, (os.fsync, os.unlink, os.rmdir))
    Path.replace, Path.unlink = map(counted, (Path.replace, Path.unlink))
    whole(out, few)
    os._exit(0)

def ended(process):
    return os.waitpid(process, 0)[1]

wanted = {}
for few in (True, False):
    began = time.monotonic()
    whole(folder / "whole", few)
    wanted[few] = (folder / "whole").read_bytes()
    (folder / "whole").unlink()
    took = time.monotonic() - began

step = 0
while True:  # at every step of a small job
    step += 1
    out = folder / f"step{step}"
    if ended(child(out, True, step)) == 0:
        break
    if not out.exists() or (parts_of(out) / "settings.json").exists():  # else it was done
        assert ended(child(out, True)) == 0
    assert out.read_bytes() == wanted[True], step
    assert not (parts_of(out) / "settings.json").exists(), step

dice, kills, out = random.Random(5), 0, folder / "any time"
for _ in range(12):  # anywhere in a longer one
    process = child(out, False)
    time.sleep(dice.uniform(0, took / 3))
    os.kill(process, signal.SIGKILL)
    kills += ended(process) == signal.SIGKILL
    if out.exists():
        break
if parts_of(out).exists() or not out.exists():
    assert ended(child(out, False)) == 0
assert out.read_bytes() == wanted[False]
print(step, kills)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forks of a process")
def test_a_job_killed_at_any_point_goes_on_to_the_same_rows(marked: str, tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    jsonl(tmp_path / "corpus" / "0.jsonl", ["a", marked, "b", "c", "d", marked[:200], "e", "f", "g"])
    jsonl(tmp_path / "corpus" / "1.jsonl", [f"{i} {PLAIN} {marked[i * 3 :]}" for i in range(40)])
    steps, kills = in_a_process(KILLED, tmp_path, tmp_path / "corpus", tmp_path)
    assert steps > 15 and kills > 0


MEMORY = """
for corpus in map(Path, sys.argv[2:]):
    scan([corpus / "a.jsonl"], corpus / "out", decode)
    (table,) = list_corpus([corpus / "b.parquet"]).files
    assert all(document.get('error') is None for document in documents(table, Columns()))
    # not getrusage, whose highest mark a process inherits
    (peak,) = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
    print(int(peak.split()[1]) // 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_does_not_grow_with_the_corpus(tmp_path: Path) -> None:
    """A job on 100 MB of JSON lines, and 100 MB of Parquet in one row group, after a twentieth of that."""
    for name, count in [("little", 100), ("much", 2000)]:
        (tmp_path / name).mkdir()
        with (tmp_path / name / "a.jsonl").open("w") as file:
            for i in range(count):
                file.write(json.dumps({"text": f"{i}", "other": "x" * 50_000}) + "\n")
        texts = pa.array([f"{i}" + "x" * 50_000 for i in range(count)])
        plainly = {"use_dictionary": False, "compression": "none", "write_batch_size": 8}
        pq.write_table(pa.table({"text": texts}), tmp_path / name / "b.parquet", **plainly)
    little, much = in_a_process(MEMORY, tmp_path, tmp_path / "little", tmp_path / "much")
    assert much - little < 50, (little, much)


# ---- the command ----


def test_the_command_writes_the_rows_and_sums_them_up(command: Command, marked: str, tmp_path: Path) -> None:
    corpus, out = jsonl(tmp_path / "a.jsonl", [marked, PLAIN, "short"]), tmp_path / "new" / "out.parquet"
    (tmp_path / "bad.txt").write_bytes(b"\xff")
    given = (corpus, tmp_path / "bad.txt", "--out", out)
    status, said, err = command(*given, "--beacon", "3:1", "--beacon", "700", "--keep", "id")
    assert status == 1
    assert [row["provider"] for row in rows(out)] == [700, None, None, None]
    for line in ("documents  4", "found      1", "1 of provider 700:9", "too short  1", "errors     1"):
        assert line in said
    assert "1 not-text, first in " in said and "bad.txt\n" in said and str(out) in said
    assert re.fullmatch(r"ctwl-decode: \S*bad.txt is not read to its end: .*\n", err)
    assert pq.read_schema(out).metadata[b"ctwl.searched"] == b"[1088]"  # 64 nonces of one version and of sixteen
    assert command(*given, "--all-codes", "--quiet", "--overwrite") == (1, "", err)


def test_registered_beacons_are_what_is_looked_for(tmp_path: Path) -> None:
    """Unless the profile is private: its codes are its owner's."""
    corpus, registered = jsonl(tmp_path / "a.jsonl", ["short"]), len(bundled().registry.beacons())
    (tmp_path / "private.json").write_text(small(key=bytes(32)).to_json())
    for profile, searched in ((VANILLA, 64 * registered), (str(tmp_path / "private.json"), 1 << 20)):
        command = [str(corpus), "--out", str(tmp_path / "o"), "--overwrite", "--quiet", "--profile", profile]
        assert main(command) == 0
        assert pq.read_schema(tmp_path / "o").metadata[b"ctwl.searched"] == b"[%d]" % searched


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--all-codes", "--beacon", "1"], "option-out-of-range", "--all-codes"),
        (["--beacon", "1", "--alpha", "2"], "option-out-of-range", "alpha"),
        (["--beacon", "1", "--screen", "nan"], "option-out-of-range", "screen"),
        (["--beacon", "1", "--profile", "org.nobody.1"], "profile-unknown", "org.nobody.1"),
    ],
)
def test_the_command_answers_bad_options_in_a_line(
    options: list[str], code: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text("a")
    assert main([str(tmp_path), "--out", str(tmp_path / "o"), "--profile", VANILLA, *options]) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith(f"ctwl-decode: {code}: ") and said in printed.err
    assert printed.err.count("\n") == 1 and printed.out == ""


def test_a_command_that_is_terminated_says_how_to_go_on(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = jsonl(tmp_path / "a.jsonl", ["a"] * 70)
    options = ["--beacon", "1", "--full"]  # the screen would let none of them pass
    ways, begin, before = iter([True, False]), Decoder.begin, signal.getsignal(signal.SIGTERM)

    def terminated(self: Decoder, *arguments: Any, **options: Any) -> Any:
        if not next(ways, True):
            signal.raise_signal(signal.SIGTERM)
        return begin(self, *arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(Decoder, "begin", terminated)
        status, out, said = command(corpus, *options)
        assert (status, out) == (130, "") and "is kept" not in said
        assert "nothing was done yet; the same command begins again" in said
        assert signal.getsignal(signal.SIGTERM) is before
        ways = iter([True] * 65 + [False])
        status, _, said = command(corpus, *options, "--restart")
        assert status == 130 and "the same command without --restart goes on there" in said
    assert command(corpus, *options)[0] == 0
    assert len(rows(tmp_path / "o")) == 70


def test_without_pyarrow_the_command_says_what_to_install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    assert main([str(tmp_path), "--out", str(tmp_path / "o"), "--all-codes"]) == 2
    assert capsys.readouterr().err.endswith("pip install 'ctwl-decoder[scan]'\n")


@pytest.mark.slow
def test_without_torch_a_scan_reads_whole_or_says_what_a_device_needs(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text(PLAIN)
    code = (
        "import sys; sys.modules.update(torch=None, transformers=None)\n"
        "from ctwl_corpora.scan.command import main\n"
        "sys.exit(main(sys.argv[1:]))"
    )

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", code, "letter.txt", "--profile", "org.ctwl.smollm2-135m.1", "--out", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)

    light, read = run("light", "--light"), run("whole", "--full")
    assert (light.returncode, light.stderr) == (0, "") and "documents  1" in light.stdout
    assert (read.returncode, read.stderr) == (0, "") and "1 whole" in read.stdout
    refused = run("whole", "--full", "--overwrite", "--device", "auto")
    assert refused.returncode == 2 and refused.stderr.startswith("ctwl-decode: extra-missing: the proxy LM needs t")
    assert "pip install 'ctwl-decoder[torch]'" in refused.stderr and "add --light" in refused.stderr


def test_the_help_teaches_without_pyarrow(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    assert "examples:" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "said"), [("seven", "42:3"), ("1:", "42:3"), ("1024", "provider"), ("1:16", "version")]
)
def test_a_beacon_that_is_none_is_a_slip(given: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["corpus", "--out", "found", "--beacon", given])
    assert stopped.value.code == 2
    assert said in capsys.readouterr().err.splitlines()[-1]

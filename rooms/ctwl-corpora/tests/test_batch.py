"""The batched reader from the outside: texts in, rows out, in whatever process and with whatever columns beside."""

import pickle
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pyarrow as pa
import pytest
from marked_words import marked_text
from test_scan import PLAIN, small

from ctwl_corpora import BatchReader, Row, Settings
from ctwl_corpora.errors import ScanSettingsDiffer
from ctwl_corpora.scan.command import _parser, _settings
from ctwl_corpora.tables import RESULTS, TableReader
from ctwl_decoder import Decoder
from ctwl_decoder.errors import OptionOutOfRange, TextRefused
from ctwl_protocol import Beacon
from ctwl_protocol.environment import PROFILE, PROXY
from ctwl_protocol.errors import ProxyNotFound
from ctwl_protocol.proxy import Proxy, open_proxy

KEYS = [bytes([i]) * 32 for i in range(2)]
PROFILES = [small(name=f"org.example.batch{i}.1", key=key) for i, key in enumerate(KEYS)]
SETTINGS = Settings(PROFILES[:1], beacons=((700, 9),))


def proxies() -> list[Proxy]:
    tokenizer = open_proxy("org.ctwl.smollm2-135m.vanilla.1").tokenizer
    return [Proxy(profile, tokenizer) for profile in PROFILES]


@pytest.fixture(scope="module")
def marked() -> list[str]:
    """A text by each profile."""
    return [marked_text(proxy, Beacon(700, 9, 21).code, 120, 4) for proxy in proxies()]


def opened(reader: BatchReader) -> BatchReader:
    """A reader whose decoders need no files."""
    reader.decoders = [Decoder(proxy) for proxy in proxies()[: len(reader.settings.profiles)]]
    return reader


def test_a_row_says_how_far_a_text_was_read_and_what_it_shows(marked: list[str]) -> None:
    found, plain, none, lone = opened(BatchReader(SETTINGS)).read([marked[0], PLAIN, None, "\ud800"])
    assert (found.outcome, found.read, found.provider, found.version, found.profile) == (
        *("found", "whole", 700, 9),
        PROFILES[0].name,
    )
    assert found.p_value is not None and found.p_value < 1e-6 and found.spans and found.tokens
    assert (plain.outcome, plain.read, plain.p_value, plain.detected) == ("none", "screened", None, False)
    assert none == Row(error="text-missing", message=none.message) and lone.error == "not-text"


@pytest.mark.parametrize("error", TextRefused.__subclasses__())
def test_what_is_wrong_with_one_text_is_its_row(error: type[TextRefused], monkeypatch: pytest.MonkeyPatch) -> None:
    reader = opened(BatchReader(SETTINGS))
    monkeypatch.setattr(Decoder, "begin", Mock(side_effect=error("no")))
    assert [row.error for row in reader.read([PLAIN, PLAIN])] == [error.code] * 2


def test_the_cost_of_a_whole_reading_is_said_once_before(marked: list[str], caplog: pytest.LogCaptureFixture) -> None:
    reader, light = opened(BatchReader(SETTINGS)), opened(BatchReader(replace(SETTINGS, light=True)))
    for each in (light, reader, reader):
        each.read([marked[0], PLAIN, None])
    (told,) = caplog.messages
    assert told.startswith("of the first batch of 2 texts the proxy LM reads 1, with ") and "light=True" in told


def test_profiles_that_nobody_named_are_read_light_without_their_proxy_lm(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(proxy: Proxy) -> str:
        if proxy.profile.name == "org.ctwl.gpt2.1":
            raise ProxyNotFound("nowhere", "fetch it")
        return "float32"

    monkeypatch.setattr(Proxy, "load", nowhere)
    reader = BatchReader(Settings(beacons=[(700, 9)]))
    assert list(reader.missing) == ["org.ctwl.gpt2.1"] and reader.computes_in == "float32 integer"
    (row,) = reader.read([PLAIN])
    assert (row.outcome, row.read) == ("none", "screened")
    with pytest.raises(ProxyNotFound):
        _ = BatchReader(Settings(["org.ctwl.gpt2.1"])).decoders


def test_a_text_is_read_by_every_profile_and_the_p_value_pays_for_all(marked: list[str]) -> None:
    one, both = (opened(BatchReader(replace(SETTINGS, profiles=PROFILES[:n]))) for n in (1, 2))
    (alone,) = one.read(marked[:1])
    first, second = both.read(marked)
    assert (first.profile, second.profile) == tuple(profile.name for profile in PROFILES)
    assert first.provider == second.provider == 700
    assert alone.p_value is not None and first.p_value == pytest.approx(2 * alone.p_value)
    assert first.spans is not None and alone.spans is not None
    assert first.spans[0]["p_value"] == pytest.approx(2 * alone.spans[0]["p_value"])
    assert one.read(marked[1:])[0].detected is False


def test_screened_texts_have_the_light_readings_p_value_where_that_is_asked_for() -> None:
    texts = [f"{i} {PLAIN}" for i in range(40)]
    reader = opened(BatchReader(replace(SETTINGS, p_values=True)))
    rows = reader.read(texts)
    screened = [row.p_value for row in rows if row.read == "screened"]
    assert len(screened) > 20 and all(p is not None and 0.2 < p <= 1 for p in screened)
    light = [reader.decoders[0].decode(text, score="light", beacons=((700, 9),)).p_value for text in texts]
    assert all(row.p_value == p for row, p in zip(rows, light, strict=True) if row.read == "screened")
    assert sum((row.p_value or 0) <= 0.1 for row in rows) <= 10  # of 40; 4 are expected at most


def test_a_reader_goes_wherever_a_pickle_goes_and_stays_the_same(marked: list[str]) -> None:
    """Each process opens decoders of its own. What a cache of pipelines hashes does not change by use."""
    reader = opened(TableReader(SETTINGS))
    before = pickle.dumps(reader)
    reader.read(marked[:1])
    assert pickle.dumps(reader) == before
    copy = pickle.loads(before)
    assert "decoders" not in vars(copy)
    assert copy.read(marked[:1]) == reader.read(marked[:1])
    with pytest.raises(ScanSettingsDiffer, match="another"):
        _ = replace(copy, arithmetic="another").decoders


def test_profiles_of_one_proxy_lm_share_it() -> None:
    reader = BatchReader(replace(SETTINGS, profiles=PROFILES))
    first, second = (decoder.proxy for decoder in reader.decoders)
    assert first.tokenizer is second.tokenizer


@pytest.mark.parametrize("as_table", [True, False])
def test_our_columns_stand_beside_the_owners(marked: list[str], as_table: bool) -> None:
    given = {"text": [marked[0], None, "short"], "version": ["a", "b", "c"], "ctwl_read": [1, 2, 3]}
    table = opened(TableReader(SETTINGS))(pa.table(given) if as_table else given)
    assert sorted(table.column_names) == sorted(["text", "version", *(f"ctwl_{name}" for name in RESULTS.names)])
    found, none, short = table.to_pylist()
    assert (found["version"], found["ctwl_version"], found["ctwl_read"]) == ("a", 9, "whole")
    assert (none["ctwl_error"], none["ctwl_detected"]) == ("text-missing", None)
    assert (short["ctwl_outcome"], short["ctwl_detected"]) == ("too-short", False)
    assert [table.schema.field(f"ctwl_{field.name}").type for field in RESULTS] == [field.type for field in RESULTS]


def test_the_command_and_the_settings_have_the_same_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (PROFILE, *PROXY):
        monkeypatch.delenv(variable.name, raising=False)
    assert _settings(_parser().parse_args(["corpus", "--out", "found.parquet"])) == Settings()


@pytest.mark.parametrize(
    "wrong",
    [
        {"alpha": 0.0},
        {"screen": 1.0},
        {"screen": 0.0},
        {"beacons": ()},
        {"beacons": ((1, 1),), "all_codes": True},
        {"profiles": ()},
        {"profiles": [small(code_bits=10)]},
        {"profiles": "org.ctwl.toy.1"},
    ],
)
def test_settings_that_are_none_are_refused_before_any_work(wrong: dict[str, object]) -> None:
    with pytest.raises(OptionOutOfRange):
        replace(SETTINGS, **wrong)


def test_a_profile_may_be_a_file_and_counts_once(tmp_path: Path) -> None:
    (tmp_path / "own.json").write_text(PROFILES[0].to_json())
    settings = Settings([tmp_path / "own.json", PROFILES[0], "org.ctwl.toy.1"], all_codes=True)
    assert [profile.name for profile in settings.read_by] == [PROFILES[0].name, "org.ctwl.toy.1"]

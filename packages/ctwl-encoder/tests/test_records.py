"""Records of several codes: written by the encoder, read by the decoder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ctwl_decoder import Decoder
from ctwl_decoder.report.terminal import render
from ctwl_encoder import CTWLWatermarkingConfig, Encoder
from ctwl_encoder.command import main
from ctwl_encoder.core.expected_evidence import needed_tokens
from ctwl_encoder.encoder import Generation
from ctwl_encoder.errors import ConfigMalformed, OptionOutOfRange
from ctwl_encoder.options import Strategy
from ctwl_protocol import Beacon
from ctwl_protocol.errors import FieldOutOfRange, LayoutUnknown
from ctwl_protocol.proxy import Proxy
from ctwl_protocol.records.layouts import LAYOUTS, Field, Layout, find_layout
from ctwl_protocol.records.record import Record, relayed
from ctwl_protocol.records.sealing import ProviderKeys

KEYS, OTHER = ProviderKeys(bytes(range(32))), ProviderKeys(bytes(32))
USER, EPOCH = 31_337, 7
OWN = Layout(200, "shop", (*LAYOUTS[0].fields, Field("till", 20)))
CHAIN = (Beacon(7, 1, 5), Beacon(3, 0, 60))
PROMPTS = [
    "The council said on Tuesday that the new bridge over the river would",
    "Farmers in the north of the state are waiting for rain after",
    "Police are looking for witnesses of an accident that happened near the school on Friday, when",
]


@pytest.fixture(scope="module")
def written(encoder: Encoder) -> list[Generation]:
    """A batch by ``gumbel``, another layout in each row: authenticated, three hops, and a layout of private use."""
    profile = encoder.proxy.profile

    def made(beacon: Beacon) -> Record:
        return next(kinds)(beacon)

    kinds: Iterator[Callable[[Beacon], Record]] = iter((
        lambda beacon: KEYS.attributed(profile, beacon, USER, epoch=EPOCH, authenticated=True),
        lambda beacon: relayed(CHAIN, beacon),
        lambda beacon: Record.of(OWN, provider=42, version=3, nonce=beacon.nonce, till=12_345),
    ))  # fmt: skip
    return encoder.generate(
        PROMPTS, 42, 3, record=made, keys=KEYS, strategy="gumbel", max_new_tokens=180, min_new_tokens=180, seed=2,
    )  # fmt: skip


@pytest.mark.slow
def test_the_provider_opens_the_user_and_tests_the_authenticator(fast_proxy: Proxy, written: list[Generation]) -> None:
    report = Decoder(fast_proxy, keys=KEYS, epochs=[6, EPOCH]).decode(written[0].text)
    assert report.record is not None
    assert tuple(report.record.codes) == written[0].record.codes
    assert (report.record.layout, report.record.user, report.record.authenticated) == ("authenticated", USER, True)
    assert report.record.p_value < 1e-4
    assert "31337, opened" in str(report)


@pytest.mark.slow
def test_others_see_a_pseudonym_and_cannot_test_it(fast_proxy: Proxy, written: list[Generation]) -> None:
    for keys, authenticated in ((None, None), (OTHER, False)):
        record = Decoder(fast_proxy, keys=keys).decode(written[0].text).record
        assert record is not None
        assert (record.layout, record.user) == ("authenticated", None)
        assert record.authenticated is authenticated
        assert record.sealed == written[0].record.fields["sealed_user"]


@pytest.mark.slow
def test_codes_that_were_copied_without_the_key_do_not_pass(
    encoder: Encoder, fast_proxy: Proxy, written: list[Generation]
) -> None:
    """Replay: what anyone can read, encoded again; the authenticator is a guess and its colours are another key's."""
    seen = written[0].record
    copy = Record(seen.layout, (*seen.codes[:3], OTHER.authenticate(encoder.proxy.profile, seen)))
    (forged,) = encoder.generate(
        PROMPTS[1],
        42,
        3,
        record=lambda _: copy,
        keys=OTHER,
        strategy="gumbel",
        max_new_tokens=180,
        min_new_tokens=180,
        seed=3,
    )
    record = Decoder(fast_proxy, keys=KEYS, epochs=[EPOCH]).decode(forged.text).record
    assert record is not None
    assert record.codes[:3] == list(seen.codes[:3])
    assert record.authenticated is False


@pytest.mark.slow
def test_the_chain_of_models_is_read(fast_proxy: Proxy, written: list[Generation]) -> None:
    report = Decoder(fast_proxy).decode(written[1].text)
    assert report.record is not None
    assert [(hop.provider, hop.version) for hop in report.record.chain] == [(42, 3), (7, 1), (3, 0)]
    assert "before    Example Seven (provider 7)" in str(report)


@pytest.mark.slow
def test_a_decoder_that_does_not_know_a_layout_reads_its_beacon_and_says_so(
    fast_proxy: Proxy, written: list[Generation]
) -> None:
    old = Decoder(fast_proxy).decode(written[2].text)
    assert old.record is not None
    assert (old.provider, old.version, old.record.layout) == (42, 3, None)
    assert "more codes follow the beacon; they are in a layout unknown here" in str(old)
    new = Decoder(fast_proxy, layouts=[*LAYOUTS, OWN]).analyse(written[2].text)
    assert new.report.record is not None
    assert (new.report.record.layout, new.report.record.fields["till"]) == ("shop", 12_345)
    assert render(new)


def test_a_config_keeps_its_records_in_json(tmp_path: Path) -> None:
    record = Record.of("tagged", provider=1, version=2, nonce=3, tag=4)
    config = CTWLWatermarkingConfig(records=[record.document().model_dump()])
    assert config.needed_tokens() > CTWLWatermarkingConfig().needed_tokens() + 50
    config.to_json_file(tmp_path / "config.json")
    again = CTWLWatermarkingConfig.from_json_file(tmp_path / "config.json")
    assert again.records == [{"layout": 2, "fields": {"provider": 1, "version": 2, "nonce": 3, "tag": 4}}]
    assert again.payloads() == config.payloads()


@pytest.mark.parametrize(
    ("records", "error"),
    [
        ([], OptionOutOfRange),
        ([{"layout": 2, "fields": {"provider": 1}}], FieldOutOfRange),
        ([{"layout": 99, "fields": {}}], LayoutUnknown),
        ([{"layout": "two"}], ConfigMalformed),
        (["beacon"], ConfigMalformed),
    ],
)
def test_records_that_are_none_are_refused(records: list[object], error: type[Exception]) -> None:
    with pytest.raises(error):
        CTWLWatermarkingConfig(records=records)  # type: ignore[arg-type]


def test_an_authenticator_needs_its_key(encoder: Encoder) -> None:
    record = KEYS.attributed(encoder.proxy.profile, Beacon(1, 2, 3), 4, authenticated=True)
    with pytest.raises(OptionOutOfRange, match="key"):
        encoder.generate("The harvest", 1, 2, record=lambda _: record, max_new_tokens=400)


def test_a_record_of_more_codes_asks_for_a_longer_text(encoder: Encoder) -> None:
    profile, codes = encoder.proxy.profile, [find_layout(name).codes for name in ("beacon", "attributed")]
    needed, by_rank = ([needed_tokens(profile, s, n) for n in codes] for s in (Strategy.UNBIASED, Strategy.GUMBEL))
    assert needed[0] < 110 < 200 < needed[1] < 250
    assert by_rank[0] < 50 < 80 < by_rank[1] < 110


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--user", "5"], "give both --user and --keys"),
        (["--tag", "5", "--user", "5"], "one of --user, --tag and --relay"),
        (["--tag", "1048576"], "field-out-of-range"),
        (["--authenticated"], "--authenticated goes with --user"),
        (["--user", "5", "--keys", "none"], "key-file-malformed"),
        (["--relay", "none"], "cannot read none"),
    ],
)
def test_a_record_that_does_not_fit_is_refused_in_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--max-new-tokens", "400", "hello"]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_the_command_seals_a_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CTWL_PASSPHRASE", "sesame")
    keys = str(tmp_path / "our.keys")
    assert main(["--new-keys", keys]) == 0
    assert main(["--new-keys", keys]) == 2
    assert "never overwritten" in capsys.readouterr().err
    command = ["--provider", "42", "--user", "9", "--keys", keys, "--epoch", "2", "--json", "--max-new-tokens", "12"]
    assert main([*command, "The harvest"]) == 0
    record = json.loads(capsys.readouterr().out)["record"]
    beacon = Beacon(42, 0, record["fields"]["nonce"])
    assert record["layout"] == "attributed"
    assert ProviderKeys.load(keys, "sesame").open(record["fields"]["sealed_user"], beacon, 2) == 9

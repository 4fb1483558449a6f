"""Records of several codes: written by the encoder, read by the decoder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ctwl_decoder import Decoder, describe
from ctwl_encoder import CTWLWatermarkingConfig, Encoder
from ctwl_encoder.command import main
from ctwl_encoder.core.expected_evidence import needed_tokens
from ctwl_encoder.core.strategies import Strategy
from ctwl_encoder.encoder import Generation
from ctwl_encoder.errors import ConfigMalformed, OptionOutOfRange, ShortText
from ctwl_protocol import Beacon, get_profile
from ctwl_protocol.errors import FieldOutOfRange, LayoutUnknown
from ctwl_protocol.profile import OFFLINE as OFFLINE_PROFILE
from ctwl_protocol.profile import TOY
from ctwl_protocol.records.layouts import LAYOUTS, Field, Layout, find_layout
from ctwl_protocol.records.record import Record, relayed
from ctwl_protocol.records.sealing import ProviderKeys

KEYS, OTHER = ProviderKeys(bytes(range(32))), ProviderKeys(bytes(32))
USER, EPOCH = 31_337, 7
OWN = Layout(200, "shop", (*LAYOUTS[0].fields, Field("till", 20)))
CHAIN = (Beacon(7, 1, 5), Beacon(3, 0, 60))
LENGTH = {"max_new_tokens": 150, "min_new_tokens": 150}
OURS = [(42, 3)]
"""What the readers look for: that takes a tenth of the time."""


@pytest.fixture(scope="module")
def written(toy: Encoder, prompts: list[str]) -> list[Generation]:
    """A batch by ``race``, another layout in each row: authenticated, three hops, and a layout of private use."""
    profile = toy.proxy.profile

    def made(beacon: Beacon) -> Record:
        return next(kinds)(beacon)

    kinds: Iterator[Callable[[Beacon], Record]] = iter((
        lambda beacon: KEYS.attributed(profile, beacon, USER, epoch=EPOCH, authenticated=True),
        lambda beacon: relayed(CHAIN, beacon),
        lambda beacon: Record.of(OWN, provider=42, version=3, nonce=beacon.nonce, till=12_345),
    ))  # fmt: skip
    return toy.generate(prompts, 42, 3, record=made, keys=KEYS, strategy="race", seed=5, **LENGTH)


def test_the_provider_opens_the_user_and_tests_the_authenticator(written: list[Generation]) -> None:
    report = Decoder.open(TOY, keys=KEYS, epochs=[6, EPOCH]).decode(written[0].text, beacons=OURS)
    assert report.record is not None
    assert tuple(report.record.codes) == written[0].record.codes
    assert (report.record.layout, report.record.user, report.record.authenticated) == ("authenticated", USER, True)
    assert report.record.p_value < 1e-4
    assert "31337, opened" in describe(report)


def test_others_see_a_pseudonym_and_cannot_test_it(written: list[Generation]) -> None:
    for keys, authenticated in ((None, None), (OTHER, False)):
        record = Decoder.open(TOY, keys=keys).decode(written[0].text, beacons=OURS).record
        assert record is not None
        assert (record.layout, record.user) == ("authenticated", None)
        assert record.authenticated is authenticated
        assert record.sealed == written[0].record.fields["sealed_user"]


@pytest.mark.slow
def test_codes_that_were_copied_without_the_key_do_not_pass(
    toy: Encoder, prompts: list[str], written: list[Generation]
) -> None:
    """Replay: what anyone can read, encoded again; the authenticator is a guess and its colours are another key's."""
    seen = written[0].record
    copy = Record(seen.layout, (*seen.codes[:3], OTHER.authenticate(toy.proxy.profile, seen)))
    (forged,) = toy.generate(
        prompts[1], 42, 3, record=lambda _: copy, keys=OTHER, strategy="race", seed=3, **LENGTH
    )  # fmt: skip
    record = Decoder.open(TOY, keys=KEYS, epochs=[EPOCH]).decode(forged.text).record
    assert record is not None
    assert record.codes[:3] == list(seen.codes[:3])
    assert record.authenticated is False


def test_the_chain_of_models_is_read(written: list[Generation]) -> None:
    report = Decoder.open(TOY).decode(written[1].text, beacons=OURS)
    assert report.record is not None
    assert [(hop.provider, hop.version) for hop in report.record.chain] == [(42, 3), (7, 1), (3, 0)]
    assert "before    Example Seven (provider 7)" in describe(report)


@pytest.mark.slow
def test_a_decoder_that_does_not_know_a_layout_reads_its_beacon_and_says_so(
    written: list[Generation],
) -> None:
    decoder = Decoder.open(TOY)
    old = decoder.decode(written[2].text)
    assert old.record is not None
    assert (old.provider, old.version, old.record.layout) == (42, 3, None)
    assert "more codes follow the beacon; their layout is unknown here" in describe(old)
    new = Decoder(decoder.proxy, layouts=[*LAYOUTS, OWN]).analyse(written[2].text)
    assert new.report.record is not None
    assert (new.report.record.layout, new.report.record.fields["till"]) == ("shop", 12_345)


def test_a_config_keeps_its_records_in_json(tmp_path: Path) -> None:
    record = Record.of("tagged", provider=1, version=2, nonce=3, tag=4)
    config = CTWLWatermarkingConfig(records=[record.document().model_dump()])
    assert config.needed_tokens(1.0) > CTWLWatermarkingConfig().needed_tokens(1.0) * 1.5
    config.to_json_file(tmp_path / "config.json")
    again = CTWLWatermarkingConfig.from_json_file(tmp_path / "config.json")
    assert again.records == [record.document()]
    assert again.to_dict()["records"] == [{"layout": 2, "fields": {"provider": 1, "version": 2, "nonce": 3, "tag": 4}}]
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


def test_a_text_that_is_too_short_for_its_user_is_warned_of_for_its_sampling(toy: Encoder) -> None:
    """A beacon alone would be found in so many tokens; the user's two codes would not."""

    def sealed(beacon: Beacon) -> Record:
        return KEYS.attributed(toy.proxy.profile, beacon, USER)

    for temperature in (1.0, 0.7):
        needed = needed_tokens(toy.proxy.profile, Strategy.RACE, 3, temperature=temperature)
        said = f"max_new_tokens is 3; a reader needs about {needed} tokens .* race at temperature {temperature:g}"
        with pytest.warns(ShortText, match=said):
            toy.generate("The harvest", 1, 2, record=sealed, max_new_tokens=3, temperature=temperature)


def test_an_authenticator_needs_its_key(toy: Encoder) -> None:
    record = KEYS.attributed(toy.proxy.profile, Beacon(1, 2, 3), 4, authenticated=True)
    with pytest.raises(OptionOutOfRange, match="key"):
        toy.generate("The harvest", 1, 2, record=lambda _: record, max_new_tokens=400)


def test_a_record_of_more_codes_asks_for_a_longer_text() -> None:
    profile, codes = get_profile(OFFLINE_PROFILE), [find_layout(name).codes for name in ("beacon", "attributed")]
    one, three = (needed_tokens(profile, Strategy.RACE, n) for n in codes)
    assert 2 * one < three < 3 * one


@pytest.fixture
def command(toy: Encoder, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """The command, with the toy encoder as every model."""
    monkeypatch.setattr(Encoder, "open", lambda *_, **__: toy)
    return lambda *arguments: main(["--profile", "org.ctwl.toy.1", *arguments])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--user", "5"], "give both --user and --keys"),
        (["--fields", "tag=5", "--user", "5"], "one of --user, --fields and --relay"),
        (["--fields", "tag=1048576"], "field-out-of-range"),
        (["--fields", "tag"], "--fields is 'tag'; it must be names with their numbers, as tag=5"),
        (["--fields", "tag=5,tag=6"], "--fields is 'tag=5,tag=6'; it must be names with their numbers, as tag=5"),
        (["--fields", "tag=five"], "fields.tag"),
        (["--fields", "provider_1=5"], "no layout has just the fields provider_1; there are tagged: tag"),
        (["--fields", "provider_high=1,version_high=2"], "no layout has just the fields provider_high, version_high"),
        (["--authenticated"], "--authenticated goes with --user"),
        (["--relay", "none"], "cannot read none"),
    ],
)
def test_a_record_that_does_not_fit_is_refused_in_one_line(
    arguments: list[str], message: str, command: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(*arguments, "--max-new-tokens", "400", "hello") == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_the_command_seals_a_user(
    tmp_path: Path, command: Callable[..., int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CTWL_PASSPHRASE", "sesame")
    keys = str(tmp_path / "our.keys")
    assert command("--new-keys", keys) == 0
    assert command("--new-keys", keys) == 2
    assert "never overwritten" in capsys.readouterr().err
    sealing = ["--provider", "42", "--user", "9", "--keys", keys, "--epoch", "2", "--json", "--max-new-tokens", "12"]
    assert command(*sealing, "The harvest") == 0
    record = json.loads(capsys.readouterr().out)["record"]
    beacon = Beacon(42, 0, record["fields"]["nonce"])
    assert record["layout"] == "attributed"
    assert ProviderKeys.load(keys, "sesame").open(record["fields"]["sealed_user"], beacon, 2) == 9


def test_the_command_writes_a_tag_and_goes_on_with_a_chain(
    tmp_path: Path, toy: Encoder, command: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    brief = ["--json", "--max-new-tokens", "12", "--provider", "42"]
    assert command("--fields", "tag=77", *brief, "The harvest") == 0
    assert json.loads(capsys.readouterr().out)["record"]["fields"]["tag"] == 77
    empty, full = tmp_path / "empty.txt", tmp_path / "full.txt"
    empty.write_text("A text that carries nothing.")
    (four,) = toy.generate(
        "The harvest", 5, 0, record=lambda beacon: relayed((*CHAIN, Beacon(9, 2, 1)), beacon), strategy="race",
        seed=1, **LENGTH,
    )  # fmt: skip
    full.write_text(four.text)
    for file, says, providers in ((empty, "begins a chain", [42]), (full, "oldest hop is dropped", [42, 5, 7, 3])):
        assert command("--relay", str(file), *brief, "The harvest") == 0
        printed = capsys.readouterr()
        assert says in printed.err
        fields = json.loads(printed.out)["record"]["fields"]
        assert [value for name, value in fields.items() if name.startswith("provider")] == providers

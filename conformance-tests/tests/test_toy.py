"""The toy provider's texts are read back by the reference decoder."""

import pytest

from ctwl_conformance.toy import write_toy
from ctwl_decoder import Decoder
from ctwl_protocol import Beacon, get_profile
from ctwl_protocol.profile import TOY, TOYS
from ctwl_protocol.records.record import Record
from ctwl_protocol.records.sealing import ProviderKeys
from ctwl_protocol.registry import bundled
from ctwl_protocol.text.normalization import normalize

KEYS = ProviderKeys(bytes(range(32)))
BEACON = Beacon(provider=42, version=3, nonce=7)


@pytest.fixture(scope="module")
def decoder() -> Decoder:
    return Decoder.open(TOY, keys=KEYS)


def test_special_ids_are_never_written_and_the_text_is_read() -> None:
    text = write_toy(Record.of(1, provider=42, version=3, nonce=9), 100, 1, profile=TOYS[1])
    assert not set(text) & {chr(byte) for byte in get_profile(TOYS[1]).tokenizer.special}
    assert Decoder.open(TOYS[1], registry=bundled().without_entries()).decode(text).code == Beacon(42, 3, 9).code


@pytest.mark.slow
def test_a_record_of_several_codes_comes_back(decoder: Decoder) -> None:
    record = KEYS.attributed(get_profile(TOY), BEACON, 31337, authenticated=True)
    report = decoder.decode(write_toy(record, 800, 1, key=KEYS.colour_key()))
    assert report.record is not None
    assert report.record.fields == record.fields
    assert (report.record.user, report.record.authenticated) == (31337, True)


def test_a_text_is_the_same_every_time_and_its_own_normal_form(decoder: Decoder) -> None:
    record = Record.of(1, provider=1, version=2, nonce=3)
    texts = [write_toy(record, 60, seed) for seed in (0, 0, 1)]
    assert texts[0] == texts[1] != texts[2]
    assert all(text == normalize(text) and text.isascii() and text.isprintable() for text in texts)
    assert decoder.proxy.tokenizer.encode(texts[0]).tolist() == list(texts[0].encode())


def test_texts_may_have_a_smaller_alphabet(decoder: Decoder) -> None:
    text = write_toy(Record.of(1, provider=1, version=2, nonce=3), 120, 5, alphabet="abcdefghijklmnopqrstuvwxyz ")
    assert set(text) <= set("abcdefghijklmnopqrstuvwxyz ")
    assert decoder.decode(text).code == Beacon(1, 2, 3).code


@pytest.mark.slow
def test_earlier_hops_of_a_registered_provider_s_text_may_be_anybody(decoder: Decoder) -> None:
    record = Record.of("relay2", provider=5, version=1, nonce=3, provider_1=700, version_1=0, nonce_1=60)
    read = decoder.decode(write_toy(record, 400, 2)).record
    assert read is not None and read.fields == record.fields

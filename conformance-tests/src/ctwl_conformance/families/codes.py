"""Codes and what they mean (spec sections 9.1 to 9.5)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from ctwl_protocol import Beacon, get_profile, hashing
from ctwl_protocol.records import slots
from ctwl_protocol.records.layouts import LAYOUTS, Field, Layout
from ctwl_protocol.records.record import RecordDocument, relayed
from ctwl_protocol.records.sealing import ProviderKeys, permute

from .family import (
    BOOLEAN,
    COUNT,
    HEX32,
    INTEGER,
    JSON,
    STATUS,
    TEXT,
    WORD,
    Case,
    Family,
    array,
    bounded,
    either,
    refusing,
    shape,
)
from .hashing import KEY

__all__ = ["FAMILIES"]


@refusing
def _beacon(data: JSON) -> JSON:
    return {"code": Beacon(data["provider"], data["version"], data["nonce"]).code}


@refusing
def _beacon_fields(data: JSON) -> JSON:
    found = Beacon.from_code(data["code"])
    return {"provider": found.provider, "version": found.version, "nonce": found.nonce}


@refusing
def _layout(data: JSON) -> JSON:
    fields = tuple(Field(name, bits) for name, bits in data["fields"])
    made = Layout(data["number"], data["name"], fields)
    return {"codes": made.codes, "hops": made.hops, "authenticated": made.authenticated}


@refusing
def _record(data: JSON) -> JSON:
    made = RecordDocument.model_validate(data).record()
    return {"codes": list(made.codes), "slots": list(made.carried)}


@refusing
def _relay(data: JSON) -> JSON:
    chain = [Beacon.from_code(code) for code in data["chain"]]
    made = relayed(chain, Beacon.from_code(data["own"]), full=data["full"])
    return {"layout": made.layout.number, "codes": list(made.codes)}


def _slot(data: JSON) -> JSON:
    word = hashing.slot_word(bytes.fromhex(data["key"]), data["tail"])
    return {
        "word": word,
        "interleaved": [slots.slot_of(codes, word) for codes in range(1, 5)],
    }


@refusing
def _sealing(data: JSON) -> JSON:
    keys, who = ProviderKeys(bytes.fromhex(data["secret"])), Beacon(data["provider"], data["version"], data["nonce"])
    profile = get_profile(data["profile"])
    whole = keys.attributed(profile, who, data["user"], epoch=data["epoch"], authenticated=True)
    found = {name: whole.fields[name] for name in ("sealed_user", "authenticator")}
    return {**found, "colour_key": keys.colour_key().hex()}


@refusing
def _opening(data: JSON) -> JSON:
    keys, who = ProviderKeys(bytes.fromhex(data["secret"])), Beacon(data["provider"], data["version"], data["nonce"])
    return {"user": keys.open(data["sealed_user"], who, data["epoch"])}


def _beacon_cases() -> Iterator[Case]:
    def case(provider: int, version: int, nonce: int) -> JSON:
        return {"provider": provider, "version": version, "nonce": nonce}

    yield "fields in order", case(1, 2, 3)
    yield "all ones", case(1023, 15, 63)
    yield "all zeros", case(0, 0, 0)
    yield "provider alone", case(512, 0, 0)
    yield "version alone", case(0, 8, 0)
    yield "nonce alone", case(0, 0, 32)
    yield "provider too large", case(1024, 0, 0)
    yield "version too large", case(0, 16, 0)
    yield "nonce too large", case(0, 0, 64)
    yield "provider negative", case(-1, 0, 0)
    yield "version negative", case(0, -1, 0)
    yield "nonce negative", case(0, 0, -1)


def _beacon_field_cases() -> Iterator[Case]:
    for comment, code in (
        ("zero", 0), ("all ones", 2**20 - 1), ("the largest nonce", 63), ("the least version", 64),
        ("the least provider", 1024), ("some code", 43252), ("a code of 21 bits", 2**20), ("a negative code", -1),
    ):  # fmt: skip
        yield comment, {"code": code}


_FIELDS = [["provider", 10], ["version", 4], ["nonce", 6]]


def _layout_cases() -> Iterator[Case]:
    def case(*fields: list[Any], number: int = 192, first: list[list[Any]] = _FIELDS) -> JSON:
        return {"number": number, "name": "own", "fields": [*first, *fields]}

    for layout in LAYOUTS:
        listed = [[name, bits] for name, bits in layout.fields]
        yield f"layout {layout.name}", {"number": layout.number, "name": layout.name, "fields": listed}
    yield "two codes of two fields", case(["room", 12], ["seat", 8])
    yield "a field across codes", case(["serial", 40])
    yield "the longest field", case(["serial", 60])
    yield "the largest number", case(["room", 20], number=255)
    yield "number 0", case(["room", 20], number=0)
    yield "number 256", case(["room", 20], number=256)
    yield "39 bits", case(["room", 19])
    yield "41 bits", case(["room", 21])
    yield "100 bits", case(["serial", 64], ["room", 16])
    yield "a field of no bits", case(["room", 20], ["seat", 0])
    yield "a name twice", case(["room", 10], ["room", 10])
    yield "version before provider", case(["room", 20], first=[_FIELDS[1], _FIELDS[0], _FIELDS[2]])
    yield "no beacon", case(["room", 20], first=[])
    yield "a nonce of 5 bits", case(["room", 21], first=[*_FIELDS[:2], ["nonce", 5]])
    yield "an authenticator that is not last", case(["authenticator", 20], ["room", 20])
    yield "an authenticator of 40 bits", case(["authenticator", 40])


def _record_cases() -> Iterator[Case]:
    for layout in LAYOUTS:
        fields = {
            name: (2**bits - 1) * (i + 1) // (len(layout.fields) + 1) for i, (name, bits) in enumerate(layout.fields)
        }
        yield f"layout {layout.name}", {"layout": layout.number, "fields": fields}
    beacon = {"provider": 1, "version": 2, "nonce": 3}
    yield "a field too large", {"layout": 2, "fields": beacon | {"tag": 1 << 20}}
    yield "a field missing", {"layout": 2, "fields": beacon}
    yield "a field that is none", {"layout": 1, "fields": beacon | {"tag": 0}}
    yield "an unknown layout", {"layout": 9, "fields": beacon}
    yield "layout 0", {"layout": 0, "fields": beacon}


def _relay_cases() -> Iterator[Case]:
    own = Beacon(42, 3, 7).code
    hops = [Beacon(i, i, i).code for i in (1, 2, 3, 4)]
    for length in range(4):
        yield f"behind {length} hops", {"chain": hops[:length], "own": own, "full": "refuse"}
    yield "behind four hops the oldest is dropped", {"chain": hops, "own": own, "full": "drop"}
    yield "behind four hops it may refuse", {"chain": hops, "own": own, "full": "refuse"}


def _slot_cases() -> Iterator[Case]:
    for tail, index in (([0, 0], 0), ([262, 11], 49), ([11, 262], 50), ([50256, 1], 399), ([7], 1000)):
        yield f"behind {tail}, position {index}", {"key": KEY, "tail": tail, "index": index}


def _sealing_cases() -> Iterator[Case]:
    def case(user: int, nonce: int, epoch: int, **changes: Any) -> JSON:
        asked = {"secret": KEY, "profile": "org.ctwl.gpt2.1", "provider": 42, "version": 3}
        return asked | {"nonce": nonce, "user": user, "epoch": epoch} | changes

    for numbers in ((0, 0, 0), (31337, 17, 0), (31337, 18, 0), (31337, 17, 1), (2**32 - 1, 63, 65535)):
        user, nonce, epoch = numbers
        yield f"user {user}, nonce {nonce}, epoch {epoch}", case(*numbers)
    yield "another profile", case(31337, 17, 0, profile="org.ctwl.toy.1")
    yield "another secret", case(31337, 17, 0, secret="ff" * 32)
    yield "another provider", case(31337, 17, 0, provider=43)
    yield "another version", case(31337, 17, 0, version=4)
    yield "a user of 33 bits", case(2**32, 17, 0)
    yield "an epoch of 17 bits", case(31337, 17, 65536)
    yield "a negative user", case(-1, 17, 0)


def _permuted(value: int, beacon: Beacon, epoch: int) -> int:
    """What seals any 40 bits, made from section 9.5."""
    info = b"ctwl-provider-keys/1 seal" + struct.pack("<I", epoch)
    key = HKDF(SHA256(), 32, salt=None, info=info).derive(bytes.fromhex(KEY))
    return permute(key, struct.pack("<4I", beacon.provider, beacon.version, beacon.nonce, epoch), value)


def _opening_cases() -> Iterator[Case]:
    beacon, keys = Beacon(42, 3, 17), ProviderKeys(bytes.fromhex(KEY))

    def case(sealed: int, **changes: Any) -> JSON:
        asked = {"secret": KEY, "sealed_user": sealed, "provider": 42, "version": 3, "nonce": 17, "epoch": 1}
        return asked | changes

    for user in (0, 31337, 2**32 - 1):
        yield f"user {user}", case(keys.seal(user, beacon, 1))
    sealed = keys.seal(31337, beacon, 1)
    yield "the last epoch", case(keys.seal(31337, beacon, 65535), epoch=65535)
    yield "another epoch", case(sealed, epoch=2)
    yield "another nonce", case(sealed, nonce=18)
    yield "another version", case(sealed, version=4)
    yield "another provider", case(sealed, provider=43)
    yield "another secret", case(sealed, secret="ff" * 32)
    yield "a bit turned", case(sealed ^ 1)
    yield "the value 0", case(0)
    for check in (1, 128):
        yield f"a check of {check} in place of 0", case(_permuted(31337 << 8 | check, beacon, epoch=1))
    yield "a value of 41 bits", case(1 << 40)
    yield "an epoch of 17 bits", case(sealed, epoch=65536)


_BEACON = {"provider": INTEGER, "version": INTEGER, "nonce": INTEGER}
_SLOTS = array(bounded(0, 3), 4, 4)
_PAIR = {"type": "array", "prefixItems": [TEXT, COUNT], "minItems": 2, "maxItems": 2}

FAMILIES = (
    Family(
        "beacon", "9.1", "A beacon's fields to its code, or the status code of the refusal.",
        shape(**_BEACON), either(shape(code=COUNT), STATUS), _beacon, _beacon_cases,
    ),
    Family(
        "beacon-fields", "9.1", "A code to its beacon's fields, or the status code of the refusal.",
        shape(code=INTEGER), either(shape(**_BEACON), STATUS), _beacon_fields, _beacon_field_cases,
    ),
    Family(
        "layout", "9.2",
        "A layout to the number of its codes and hops and whether it has an authenticator, or a status code.",
        shape(number=INTEGER, name=TEXT, fields=array(_PAIR)),
        either(shape(codes=COUNT, hops=COUNT, authenticated=BOOLEAN), STATUS), _layout, _layout_cases,
    ),
    Family(
        "record", "9.2",
        "A record's layout and fields to its codes and what its slots carry, or the status code of the refusal.",
        shape(layout=INTEGER, fields={"type": "object", "additionalProperties": INTEGER}),
        either(shape(codes=array(COUNT, 1, 4), slots=array(COUNT, 1, 5)), STATUS), _record, _record_cases,
    ),
    Family(
        "relay", "9.3",
        "The beacons' codes of a chain, the newest first, and of the own hop, to the layout and codes to write.",
        shape(chain=array(COUNT), own=COUNT, full={"enum": ["drop", "refuse"]}),
        either(shape(layout=COUNT, codes=array(COUNT, 1, 4)), STATUS), _relay, _relay_cases,
    ),
    Family(
        "slot", "9.4",
        "Key, the last tokens before a position and its place, to u and the slots for n = 1 to 4.",
        shape(key=HEX32, tail=array(COUNT, 1, 2), index=COUNT), shape(word=WORD, interleaved=_SLOTS),
        _slot, _slot_cases,
    ),
    Family(
        "sealing", "9.5",
        "A provider's secret, a user and a beacon to the sealed user, the authenticator (layout 4) and its colour key.",
        shape(secret=HEX32, profile=TEXT, **_BEACON, user=INTEGER, epoch=INTEGER),
        either(shape(sealed_user=COUNT, authenticator=COUNT, colour_key=HEX32), STATUS), _sealing, _sealing_cases,
    ),
    Family(
        "opening", "9.5", "A provider's secret, a sealed user and its beacon to the user, or the status code.",
        shape(secret=HEX32, sealed_user=INTEGER, **_BEACON, epoch=INTEGER), either(shape(user=COUNT), STATUS),
        _opening, _opening_cases,
    ),
)  # fmt: skip

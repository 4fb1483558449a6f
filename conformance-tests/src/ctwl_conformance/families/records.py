"""Codes, layouts, records, slots and sealed users (spec sections 9.1 to 9.5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ctwl_protocol import Beacon, get_profile, hashing
from ctwl_protocol.records import slots
from ctwl_protocol.records.layouts import LAYOUTS, Field, Layout
from ctwl_protocol.records.record import RecordDocument, relayed
from ctwl_protocol.records.sealing import ProviderKeys

from .family import ENCODER, FULL, JSON, LIGHT, family


@family("beacon", asked_of=(FULL, LIGHT), optional_for=(ENCODER,))
def _beacon(data: JSON) -> JSON:
    return {"code": Beacon(data["provider"], data["version"], data["nonce"]).code}


@family("beacon-fields", asked_of=(FULL, LIGHT), optional_for=(ENCODER,))
def _beacon_fields(data: JSON) -> JSON:
    found = Beacon.from_code(data["code"])
    return {"provider": found.provider, "version": found.version, "nonce": found.nonce}


def _of_layouts(_: Sequence[JSON]) -> Iterator[tuple[str, JSON]]:
    for one in LAYOUTS:
        fields = [list(field) for field in one.fields]
        yield f"layout {one.name}", {"number": one.number, "name": one.name, "fields": fields}


@family("layout", asked_of=(FULL, LIGHT), optional_for=(ENCODER,), more=_of_layouts)
def _layout(data: JSON) -> JSON:
    fields = tuple(Field(name, bits) for name, bits in data["fields"])
    made = Layout(data["number"], data["name"], fields)
    return {"codes": made.codes, "hops": made.hops, "authenticated": made.authenticated}


def _of_records(_: Sequence[JSON]) -> Iterator[tuple[str, JSON]]:
    for one in LAYOUTS:
        yield f"layout {one.name}", {"layout": one.number, "fields": {name: 2**bits // 3 for name, bits in one.fields}}


@family("record", asked_of=(FULL, LIGHT), optional_for=(ENCODER,), more=_of_records)
def _record(data: JSON) -> JSON:
    made = RecordDocument.model_validate(data).record()
    return {"codes": list(made.codes), "slots": list(made.carried)}


@family("relay", optional_for=(FULL, ENCODER))
def _relay(data: JSON) -> JSON:
    chain = [Beacon.from_code(code) for code in data["chain"]]
    made = relayed(chain, Beacon.from_code(data["own"]), full=data["full"])
    return {"layout": made.layout.number, "codes": list(made.codes)}


@family("slot", asked_of=(FULL, LIGHT), optional_for=(ENCODER,))
def _slot(data: JSON) -> JSON:
    word = hashing.slot_word(bytes.fromhex(data["key"]), data["tail"])
    return {"word": word, "interleaved": [slots.slot_of(codes, word) for codes in range(1, 5)]}


@family("sealing", optional_for=(FULL, ENCODER))
def _sealing(data: JSON) -> JSON:
    keys, who = ProviderKeys(bytes.fromhex(data["secret"])), Beacon(data["provider"], data["version"], data["nonce"])
    profile = get_profile(data["profile"])
    whole = keys.attributed(profile, who, data["user"], epoch=data["epoch"], authenticated=True)
    found = {name: whole.fields[name] for name in ("sealed_user", "authenticator")}
    return {**found, "colour_key": keys.colour_key().hex()}


@family("opening", optional_for=(FULL, ENCODER))
def _opening(data: JSON) -> JSON:
    keys, who = ProviderKeys(bytes.fromhex(data["secret"])), Beacon(data["provider"], data["version"], data["nonce"])
    return {"user": keys.open(data["sealed_user"], who, data["epoch"])}

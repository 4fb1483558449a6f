"""Decoding from end to end, with the toy profile (spec section 10), and proofs (4.6)."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from ctwl_protocol import Profile, get_profile
from ctwl_protocol.profile import TOY
from ctwl_protocol.records.layouts import LAYOUTS
from ctwl_protocol.registry import Registry, Trusted, bundled

from .agreement import decimal
from .family import JSON, Family, refusing

if TYPE_CHECKING:
    from ctwl_decoder import Decoder, Report

__all__ = ["FAMILIES"]


def _toy_decoder() -> Decoder:
    return _decoder(get_profile(TOY))


@cache
def _decoder(profile: Profile) -> Decoder:
    from ctwl_decoder import Decoder

    return Decoder.open(profile, layouts=LAYOUTS, registry=bundled().without_entries())


@refusing
def _decode(data: JSON) -> JSON:
    return _told(_toy_decoder().decode(data["text"], alpha=data["alpha"], score="both"))


@refusing
def _decode_light(data: JSON) -> JSON:
    return _told(_toy_decoder().decode(data["text"], alpha=data["alpha"], score="light"))


def _told(report: Report) -> JSON:
    return {
        "detected": report.detected,
        "code": report.code if report.detected else None,
        "p_value": decimal(report.p_value) if report.detected else None,
        "spans": [{"code": span.code, "p_value": decimal(span.p_value)} for span in report.spans],
    }


def _spans(data: JSON) -> JSON:
    report = _toy_decoder().decode(data["text"], alpha=data["alpha"], score="both")
    return {"codes": [span.code for span in report.spans]}


def _decode_record(data: JSON) -> JSON:
    report = _toy_decoder().decode(data["text"], alpha=data["alpha"], score="both")
    read = report.record
    if read is None or read.number is None:
        return {"code": report.code, "record": None}
    known = {name: value for name, value in read.fields.items() if name != "authenticator"}
    return {"code": report.code, "record": {"layout": read.number, "fields": known}}


@refusing
def _proof(data: JSON) -> JSON:
    from ctwl_decoder.apps.prove import Proof, verify
    from ctwl_decoder.apps.prove.verification import TRIED

    proof = Proof.from_bytes(bytes.fromhex(data["proof"]))
    listed, brought = Registry.from_bytes(bytes.fromhex(data["registry"])), bundled()
    trusted = Trusted(brought.root, listed, brought.root_bytes, b"", listed.issued)
    found = verify(
        proof,
        trusted,
        data["appeared"],
        _decoder,
        text=data["text"],
        alpha=data["alpha"],
        tried=TRIED if data["tried"] is None else data["tried"],
    )
    return {"status": found.steps[-1].code or "ok"}


_DECODER = ("ctwl_decoder",)

FAMILIES = (
    Family("decode", _decode, _DECODER),
    Family("decode-light", _decode_light, _DECODER),
    Family("decode-spans", _spans, _DECODER),
    Family("decode-record", _decode_record, _DECODER),
    Family("proof", _proof, _DECODER),
)

"""Decoding from end to end, with the toy profiles (spec section 10), and proofs (4.6)."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ctwl_protocol import Profile, get_profile
from ctwl_protocol.profile import TOY
from ctwl_protocol.records.layouts import AUTHENTICATOR, LAYOUTS, Field
from ctwl_protocol.records.sealing import ProviderKeys
from ctwl_protocol.registry import Registry, Trusted, bundled
from ctwl_protocol.registry.entries import LayoutEntry, ModelVersion, ProviderEntry

from .agreement import decimal
from .family import BASIC, ENCODER, FULL, JSON, LIGHT, Classes, family

if TYPE_CHECKING:
    from ctwl_decoder import Decoder, Report
    from ctwl_decoder.options import ScoreName
    from ctwl_decoder.report.model import ReadRecord
    from ctwl_decoder.search.candidates import Candidate
    from ctwl_protocol.proxy import Proxy


@cache
def _proxy(profile: Profile) -> Proxy:
    from ctwl_protocol.proxy import open_proxy

    return open_proxy(profile)


def _decoder(profile: Profile, **how: Any) -> Decoder:
    from ctwl_decoder import Decoder

    return Decoder(_proxy(profile), **{"layouts": LAYOUTS, "registry": bundled().without_entries(), **how})


def _profile(data: JSON) -> Profile:
    return get_profile(data.get("profile", TOY))


def _text(data: JSON) -> str:
    """The text of a question; code units of UTF-16 where it may be no Unicode text."""
    if "code_units" not in data:
        return str(data["text"])
    units = data["code_units"]
    return struct.pack(f"<{len(units)}H", *units).decode("utf-16-le", "surrogatepass")


def _read(data: JSON, score: ScoreName = "whole", **how: Any) -> Report:
    if "registered" in data:
        how |= {"registry": _registry(data), "layouts": None}  # of the specification, and registered ones
    return _decoder(_profile(data), **how).decode(_text(data), alpha=data["alpha"], score=score)


def _reading(
    name: str, score: ScoreName = "whole", asked_of: Classes = (), optional_for: Classes = ()
) -> Callable[[Callable[[Report], JSON]], Callable[[Report], JSON]]:
    """Say that the function below tells a family's answer from the report about a text."""

    def add(told: Callable[[Report], JSON]) -> Callable[[Report], JSON]:
        answering = family(name, asked_of=asked_of, optional_for=optional_for, needs="ctwl_decoder")
        answering(lambda data: told(_read(data, score)))
        return told

    return add


@_reading("decode", asked_of=(FULL,))
@_reading("decode-light", "light", asked_of=(LIGHT,))
def _told(report: Report) -> JSON:
    return {
        "detected": report.detected,
        "code": report.code if report.detected else None,
        "p_value": decimal(report.p_value) if report.detected else None,
        "spans": [{"code": span.code, "p_value": decimal(span.p_value)} for span in report.spans],
    }


@_reading("decode-spans", asked_of=(FULL,))
def _spans(report: Report) -> JSON:
    return {"codes": [span.code for span in report.spans]}


@_reading("decode-places", asked_of=(FULL,))
@_reading("decode-light-places", "light", asked_of=(LIGHT,))
def _places(report: Report) -> JSON:
    return {"spans": [{"start": span.start, "end": span.end, "code": span.code} for span in report.spans]}


@_reading("decode-forms", optional_for=(FULL,))
def _forms(report: Report) -> JSON:
    spans = zip(_told(report)["spans"], _places(report)["spans"], strict=True)
    return _told(report) | {"spans": [told | place for told, place in spans]}


_reading("decode-registered", optional_for=(FULL,))(_told)
_reading("decode-light-registered", "light", optional_for=(LIGHT,))(_told)


def _registry(data: JSON) -> Trusted:
    """A registry that lists the beacons of a question: provider, version and, where they are declared, nonces.

    Behind them stand its layouts: number, the provider who owns it, and the fields behind the beacon's.
    """
    owners: dict[int, list[ModelVersion]] = {}
    for provider, version, *nonces in data["registered"]:
        model = {"version": version, "name": "a model", "since": 0, "until": None}
        owners.setdefault(provider, []).append(ModelVersion(**model, **({"nonces": nonces[0]} if nonces else {})))
    trusted = bundled()
    entries = [_entry(provider, tuple(models)) for provider, models in owners.items()]
    layouts = [_layout(*row) for row in data.get("layouts", ())]
    registry = Registry(**{**dict(trusted.registry), "entries": (*entries, *layouts)})
    return replace(trusted, registry=registry)


def _entry(provider: int, models: tuple[ModelVersion, ...]) -> ProviderEntry:
    return ProviderEntry(
        kind="provider", code=provider, name=f"provider {provider}", contact="https://example.com", state="active",
        since=0, until=None, models=models, epochs=(),
    )  # fmt: skip


def _layout(number: int, owner: int, fields: list[list[Any]]) -> LayoutEntry:
    every = (*LAYOUTS[0].fields, *(Field(*field) for field in fields))
    return LayoutEntry(kind="layout", number=number, name=f"layout_{number}", owner=owner, fields=every)


@_reading("decode-record", asked_of=(FULL,))
def _record(report: Report) -> JSON:
    return {"code": report.code, "record": _known(report.record)}


def _known(read: ReadRecord | None) -> JSON | None:
    """The layout and the fields that anyone can read; None where no layout was read."""
    if read is None or read.number is None:
        return None
    known = {name: value for name, value in read.fields.items() if name != AUTHENTICATOR}
    return {"layout": read.number, "fields": known}


@_reading("decode-record-p-values", asked_of=(FULL,))
def _record_p_values(report: Report) -> JSON:
    read = report.record
    if read is None or read.number is None:
        return {"p_value": decimal(report.p_value), "record": None, "codes": None}
    codes = [decimal(p) for p in read.p_values]
    return {"p_value": decimal(report.p_value), "record": decimal(read.p_value), "codes": codes}


@family("decode-owner", optional_for=(FULL,), needs="ctwl_decoder")
def _owner(data: JSON) -> JSON:
    read = _read(data, keys=ProviderKeys(bytes.fromhex(data["secret"]))).record
    if read is None or read.authenticated is None:
        return {"record": _known(read), "authentic": None, "p_value": None}
    return {"record": _known(read), "authentic": read.authenticated, "p_value": decimal(read.p_value)}


@family("read-one-code", asked_of=(BASIC,), needs="ctwl_decoder")
def _one_code(data: JSON) -> JSON:
    """The whole text as given, all codes, both scores and nothing else: what a basic reader searches."""
    from ctwl_decoder.options import check_alpha
    from ctwl_decoder.search.candidates import CodeSet, ScoredText, Window
    from ctwl_decoder.search.plan import SCORE_SHARES
    from ctwl_decoder.statistics.code_scores import best_codes, code_space
    from ctwl_decoder.statistics.evidence import permutations
    from ctwl_decoder.statistics.scored_positions import ScoredPositions
    from ctwl_decoder.statistics.scores import position_scores
    from ctwl_decoder.text.tokens import tokenize_variants

    profile, alpha = _profile(data), data["alpha"]
    check_alpha(alpha)
    decoder, codes = _decoder(profile), CodeSet(code_space(profile))
    variant = tokenize_variants(_text(data), decoder.tokenizer, profile)[0]
    given = variant.positions
    if not len(given):
        return {"detected": False, "code": None, "p_value": None}
    seeds = permutations(profile, given.contexts)
    units = position_scores(decoder.proxy.rivals(variant.ids), profile.prefix_length, seeds, profile.sigma)
    found: list[Candidate] = []
    for score, share in SCORE_SHARES.items():
        scored = ScoredPositions.of(profile, given, units[score])
        alike = replace(scored, slots=np.zeros_like(scored.slots))  # every position carries the one code
        window = Window.of(ScoredText(alike, score, share), 0, len(given))
        best = int(best_codes(window.table, codes.codes, 1)[0])
        found.append(window.candidate(best, codes, codes.number / share))
    best_of_all = min(found, key=lambda each: (not each.passes(alpha, profile.codes), each.order))
    if not best_of_all.passes(alpha, profile.codes):
        return {"detected": False, "code": None, "p_value": None}
    return {"detected": True, "code": best_of_all.code, "p_value": decimal(best_of_all.p_value)}


@family("proof", optional_for=(FULL, ENCODER), needs="ctwl_operations")
def _proof(data: JSON) -> JSON:
    from ctwl_operations.prove import Proof, verify

    proof = Proof.from_bytes(bytes.fromhex(data["proof"]))
    listed, brought = Registry.from_bytes(bytes.fromhex(data["registry"])), bundled()
    trusted = Trusted(brought.root, listed, brought.root_bytes, b"", listed.issued)
    found = verify(proof, trusted, data["appeared"], _decoder, text=data["text"], alpha=data["alpha"])
    return {"status": found.steps[-1].code or "ok"}

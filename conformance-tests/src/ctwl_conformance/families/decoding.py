"""Decoding from end to end, with the toy profile (spec section 10), and proofs (4.6)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from ctwl_protocol import Beacon, Profile, canonical, get_profile
from ctwl_protocol.profile import TOY, public_key
from ctwl_protocol.profile.private import commitment, for_user
from ctwl_protocol.records.layouts import LAYOUTS, find_layout
from ctwl_protocol.records.record import Record
from ctwl_protocol.records.sealing import ProviderKeys
from ctwl_protocol.registry import Registry, Trusted, bundled

from ..toy import write_toy
from .agreement import decimal
from .documents import toy_profile
from .family import JSON, Case, Family, refusing
from .signed import NOW, certificate, registry

if TYPE_CHECKING:
    from ctwl_decoder import Decoder

__all__ = ["FAMILIES"]

_ALPHABET = "abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""Texts of letters and spaces have one form: nothing in them could be a mark or a wrapped line."""


def _toy_decoder() -> Decoder:
    return _decoder(get_profile(TOY))


@cache
def _decoder(profile: Profile) -> Decoder:
    from ctwl_decoder import Decoder

    return Decoder.open(profile, layouts=LAYOUTS, registry=bundled().without_entries())


@refusing
def _decode(data: JSON) -> JSON:
    report = _toy_decoder().decode(data["text"], alpha=data["alpha"])
    return {
        "detected": report.detected,
        "code": report.code if report.detected else None,
        "p_value": decimal(report.p_value) if report.detected else None,
        "spans": [{"code": span.code, "p_value": decimal(span.p_value)} for span in report.spans],
    }


def _spans(data: JSON) -> JSON:
    report = _toy_decoder().decode(data["text"], alpha=data["alpha"])
    return {"codes": [span.code for span in report.spans]}


def _decode_record(data: JSON) -> JSON:
    report = _toy_decoder().decode(data["text"], alpha=data["alpha"])
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


def _beacon_text(code: int, tokens: int, seed: int) -> str:
    return write_toy(Record(find_layout(1), (code,)), tokens, seed, alphabet=_ALPHABET)


def _raced_text(tokens: int, seed: int) -> str:
    """A text that its tokens' ranks show more clearly than their halves."""
    return write_toy(Record(find_layout(1), (seed,)), tokens, seed, alphabet=_ALPHABET, raced=True)


def _unmarked(tokens: int, seed: int) -> str:
    """A text of the toy model that no decoder of the toy profile reads: it was written under another key."""
    other = toy_profile(key="ee" * 32)
    return write_toy(Record(find_layout(1), (seed,)), tokens, seed, profile=other, alphabet=_ALPHABET)


def _decode_cases() -> Iterator[Case]:
    def case(text: str, alpha: float = 1e-4) -> JSON:
        return {"text": text, "alpha": alpha}

    for seed, code in enumerate((0, 1, 43252, 2**20 - 1, 524288, 777777)):
        yield f"100 tokens, code {code}", case(_beacon_text(code, 100, seed))
    for tokens in (70, 85, 127, 132, 200, 400):
        yield f"{tokens} tokens", case(_beacon_text(tokens, tokens, tokens))
    for tokens in (25, 45, 200):
        yield f"{tokens} tokens by gumbel", case(_raced_text(tokens, tokens))
    yield "by gumbel, a level that is not reached", case(_raced_text(60, 28), 1e-60)
    yield "a level of 1e-12", case(_beacon_text(5, 125, 20), 1e-12)
    yield "a level that is not reached", case(_beacon_text(5, 80, 21), 1e-30)
    yield "an excerpt from the middle", case(_beacon_text(99, 220, 22)[60:180].strip())
    yield "white space and invisible characters around", case(" \ufeff" + _beacon_text(7, 100, 23) + "\r\n")
    spaced = _beacon_text(8, 100, 24).replace(" ", "\u00a0")
    yield "spaces of another width", case(spaced)
    yield "a text twice in a row", case(" ".join([_beacon_text(9, 60, 25)] * 2))
    yield "no text", case("")
    yield "fewer tokens than a window", case("abc")
    yield "as many tokens as a window", case("abcd")
    yield "one position", case("abcde")
    yield "too short to show anything", case(_beacon_text(3, 30, 26))
    yield "another key", case(_unmarked(120, 27))
    yield "words of no provider", case("the bridge over the river was closed for repairs until the end of May")
    marks = "\u0330\u0345\u0334"  # of three combining classes
    yield "256 combining marks in a row", case(f"q{85 * marks}{marks[0]}")
    yield "257 combining marks in a row", case(f"q{85 * marks}{marks[:2]}")
    yield "257 combining marks, parted by what is deleted", case(f"q{40 * marks}\u00ad{45 * marks}{marks[:2]}")
    yield "257 combining marks, parted by a letter", case(f"q{40 * marks}q{45 * marks}{marks[:2]}")


def _span_cases() -> Iterator[Case]:
    def case(*parts: str) -> JSON:
        return {"text": " ".join(parts), "alpha": 1e-4}

    yield "a marked text behind another", case(_unmarked(400, 1), _beacon_text(11, 300, 2))
    yield "a marked text before another", case(_beacon_text(12, 300, 3), _unmarked(400, 4))
    yield "two texts of different codes", case(_beacon_text(13, 300, 5), _beacon_text(14, 300, 6))
    yield "two texts apart", case(_beacon_text(15, 260, 7), _unmarked(500, 8), _beacon_text(16, 260, 9))
    yield "two texts of different strategies", case(_beacon_text(17, 300, 11), _unmarked(300, 12), _raced_text(60, 13))
    yield "nothing marked", case(_unmarked(700, 10))


def _record_cases() -> Iterator[Case]:
    def case(record: Record, tokens: int, seed: int, key: bytes | None = None, *, raced: bool = False) -> JSON:
        text = write_toy(record, tokens, seed, key=key, alphabet=_ALPHABET, raced=raced)
        return {"text": text, "alpha": 1e-4}

    beacon = {"provider": 42, "version": 3, "nonce": 17}
    keys = ProviderKeys(bytes(range(32)))
    yield "beacon", case(Record.of(1, **beacon), 150, 1)
    yield "tagged", case(Record.of(2, **beacon, tag=424242), 400, 2)
    yield "attributed", case(Record.of(3, **beacon, sealed_user=2**40 - 99), 700, 3)
    hop = {"provider_1": 7, "version_1": 1, "nonce_1": 3}
    yield "attributed, by gumbel", case(Record.of(3, **beacon, sealed_user=2**40 - 99), 200, 8, raced=True)
    yield "two hops", case(Record.of(5, **beacon, **hop), 400, 4)
    yield "three hops", case(Record.of(6, **beacon, **hop, provider_2=8, version_2=2, nonce_2=4), 700, 5)
    yield "wide", case(Record.of(8, **beacon, provider_high=4000, version_high=200), 400, 6)
    sealed = keys.attributed(get_profile(TOY), Beacon(**beacon), 31337, authenticated=True)
    yield "authenticated, without the provider's keys", case(sealed, 1000, 7, keys.colour_key())


_CERTIFIED, _APPEARED = NOW - 40 * 86_400, NOW - 10 * 86_400


def _proof_cases() -> Iterator[Case]:
    owner = toy_profile()
    ann, bob = for_user(owner, "ann@example.com"), for_user(owner, "bob@example.com")
    code = 43252
    text = write_toy(Record(find_layout(1), (code,)), 330, 1, profile=ann, alphabet=_ALPHABET)
    middle = write_toy(Record(find_layout(1), (code,)), 140, 4, profile=ann, alphabet=_ALPHABET)
    short = write_toy(Record(find_layout(1), (code,)), 90, 2, profile=ann, alphabet=_ALPHABET)
    fields = {"format": "ctwl-proof/1", "profile": ann.to_bytes(), "text": text, "code": code}

    def entry(profile: Profile, **changes: Any) -> JSON:
        return certificate(commitment=commitment(profile), **({"since": _CERTIFIED} | changes))

    def case(
        proof: JSON | bytes = fields,
        entries: tuple[JSON, ...] = (entry(ann),),
        asked: str | None = text,
        **changes: Any,
    ) -> JSON:
        data = proof if isinstance(proof, bytes) else canonical.encode(proof)
        listed = canonical.encode(registry(entries=list(entries)))
        made: JSON = {"proof": data.hex(), "registry": listed.hex(), "text": asked, "appeared": _APPEARED}
        return made | {"alpha": 1e-4, "tried": None} | changes

    yield "a proof", case()
    yield "without a text to compare", case(asked=None)
    yield "a text that is the same after normalisation", case(asked=f" {text}\r\n")
    yield "a key that was drawn at random", case(fields | {"text": short}, asked=short, tried=0)
    yield "certified a second before", case(entries=(entry(ann, since=_APPEARED - 1),))
    yield "not certified", case(entries=())
    yield "another profile certified", case(entries=(entry(bob), entry(owner)))
    yield "certified as the day began", case(entries=(entry(ann, since=_APPEARED),))
    yield "certified later", case(entries=(entry(ann, since=_APPEARED + 1),))
    yield "another text", case(asked="another text")
    yield "another code", case(fields | {"code": code + 1})
    p_value = _decoder(ann).decode(short).p_value
    twice: JSON = {
        "asked": short,
        "tried": 0,
        "alpha": float(f"{1.5 * p_value:.2e}"),
    }  # enough for one key, not for two
    brief = fields | {"text": short}
    yield "clear enough for one certified key", case(brief, **twice)
    yield "not clear enough for two of one owner", case(brief, (entry(ann), entry(bob)), **twice)
    yield "another owner's key does not count", case(brief, (entry(ann), entry(bob, owner="Another")), **twice)
    yield "a key certified later does not count", case(brief, (entry(ann), entry(bob, since=_APPEARED)), **twice)
    yield "as clear as 2^40 keys take", case(fields | {"text": middle}, asked=middle, tried=40)
    yield "too short for 2^64 keys, clear enough for 2^40", case(fields | {"text": middle}, asked=middle)
    yield "too short for 2^64 keys", case(fields | {"text": short}, asked=short)
    yield "a text that carries nothing", case(fields | {"text": _unmarked(330, 3)}, asked=None)
    yield "a text of another user", case(fields | {"profile": bob.to_bytes()}, (entry(ann), entry(bob)))
    posing = ann.model_copy(update={"key": public_key(ann.name)})
    yield "a public key", case(fields | {"profile": posing.to_bytes()})
    yield "a published profile", case(fields | {"profile": get_profile(TOY).to_bytes()})
    yield "an empty text in the proof", case(fields | {"text": ""})
    yield "a negative code", case(fields | {"code": -1})
    yield "another format", case(fields | {"format": "ctwl-proof/2"})
    yield "an unknown field", case(fields | {"more": 1})
    yield "a field missing", case({name: value for name, value in fields.items() if name != "code"})
    yield "a profile that is none", case(fields | {"profile": b"\xc0"})
    yield "a profile as JSON", case(fields | {"profile": ann.to_json().encode()})
    yield "a byte behind it", case(canonical.encode(fields) + b"\xc0")


_DECODER = ("ctwl_decoder",)

FAMILIES = (
    Family("decode", _decode, _DECODER, _decode_cases),
    Family("decode-spans", _spans, _DECODER, _span_cases),
    Family("decode-record", _decode_record, _DECODER, _record_cases),
    Family("proof", _proof, _DECODER, _proof_cases),
)

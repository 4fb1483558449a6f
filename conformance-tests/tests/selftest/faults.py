"""All faults, and those of sections 4 to 9 and of whole implementations.

No module of faults imports the reference before it is asked for: its modules take names from each other as they are
loaded, and :mod:`broken` must come before them.
"""

from __future__ import annotations

import os
import re
import time
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import msgpack
import numpy as np
from fault import Change, Fault, after, instead
from search_faults import SEARCH_FAULTS

__all__ = ["FAULTS"]

# 5: normal forms and tokens.


def nfc(normal: Callable[[str, str], str]) -> Mapping[str, Change]:
    """Another normal form, of a form's name and a text."""
    return {"p.text.normalization:unicodedata": instead(SimpleNamespace(normalize=normal))}


def starters_apart(form: str, text: str) -> str:
    def apart(one: str) -> str:
        parts = [chr(int(part, 16)) for part in unicodedata.decomposition(one).partition("<")[0].split()]
        return "".join(parts) if len(parts) == 2 and not unicodedata.combining(parts[1]) else one

    return "".join(map(apart, unicodedata.normalize(form, text)))


def two_ends(form: str, text: str) -> str:
    def joined(two: re.Match[str]) -> str:
        return chr(ord(two[1]) + ord(two[2]) - 0x11A7)

    return re.sub("([\uac00-\ud7a3])([\u11a8-\u11c2])", joined, unicodedata.normalize(form, text))


def over_equals(form: str, text: str) -> str:
    def joined(found: re.Match[str]) -> str:
        one = unicodedata.normalize(form, found[1] + found[3])
        return one + found[2] if len(one) == 1 else found[0]

    return re.sub("(.)([\u0300-\u0314])([\u0300-\u0314])", joined, unicodedata.normalize(form, text))


def within_16_bits(form: str, text: str) -> str:
    return re.sub("[\0-\uffff]+", lambda run: unicodedata.normalize(form, run[0]), text)


def before_normalization(pattern: str, put: str) -> Mapping[str, Change]:
    """Something is taken out of a text, or put into it, first."""
    return {"p.text.normalization:normalize": lambda f: lambda text: f(re.sub(pattern, put, text))}


def split_by(*changes: tuple[str, str]) -> Mapping[str, Change]:
    """Other patterns of the splitting rules: what stands in them, and what stands there instead."""

    def change(pattern: str) -> str:
        for old, new in changes:
            pattern = pattern.replace(old, new)
        return pattern

    return {"p.text.splitting:SPLITS": lambda rules: {rule: [*map(change, rules[rule])] for rule in rules}}


def without_byte_173(build: Any) -> Any:
    def gone(token: str) -> str:
        return token.replace("\u0143", "\ue000")

    return lambda vocabulary, merges, rule: build(
        {gone(token): v for token, v in vocabulary.items()}, [(gone(left), gone(right)) for left, right in merges], rule
    )


def rebuilt(change: Callable[[Any, Any], None]) -> Mapping[str, Change]:
    """Another tokenizer, in view of the vocabulary."""

    def built(tokenizer: Any, vocabulary: Any, *_: Any) -> Any:
        change(tokenizer, vocabulary)
        return tokenizer

    return {"p.text.splitting:build_bpe": after(built)}


def with_special_tokens(tokenizer: Any, vocabulary: Any) -> None:
    tokenizer.add_special_tokens([token for token in vocabulary if re.fullmatch(r"<\|.*\|>", token)])


def with_whole_words(tokenizer: Any, _: Any) -> None:
    tokenizer.model.ignore_merges = True


TEXTS = (
    Fault("normalizes-nothing", "normalization", {"p.text.normalization:normalize": instead(lambda text: text)}),
    Fault("starters-never-compose", "normalization/starters-that-compose", nfc(starters_apart)),
    Fault("hangul-with-two-ends", "normalization/hangul-lvt-and-t-stay", nfc(two_ends)),
    Fault("composes-over-marks-of-one-class", "normalization/a-mark-of-the-same-class*", nfc(over_equals)),
    Fault("composes-within-16-bits", "normalization/*composition-beyond-16-bits", nfc(within_16_bits)),
    Fault("strips-separators", "normalization/information-separators*",
          {"p.text.normalization:WHITE_SPACE": lambda those: those + "\x1c\x1d\x1e\x1f"}),
    Fault("isolates-stay", "normalization/each-character-that-is-deleted*",
          {"p.text.normalization:_TABLE": lambda table: {c: table[c] for c in table if not 0x2066 <= c <= 0x2069}}),
    Fault("line-ends-before-the-table", "normalization/cr-a* normalization/cr-before*",
          before_normalization("\r\n?", "\n")),
    Fault("one-line-end-of-cr-cr-lf", "normalization/cr-cr-lf", before_normalization("\r+\n?", "\n")),
    Fault("deletes-controls", "normalization/controls-from*", before_normalization("[\x80-\x84\x86-\x9f]", "")),
    Fault("deletes-format-characters", "normalization/format-characters*",
          before_normalization("[\u0600-\u0605\u06dd\u070f\u08e2\ufff9-\ufffb\U000110bd\U0001d173-\U0001d17a]", "")),
    Fault("replaces-noncharacters", "normalization/noncharacters*",
          before_normalization("[\ufdd0-\ufdef\ufffe\uffff\U0001fffe\U0010ffff]", "\ufffd")),
    Fault("underscores-for-letters", "tokenizer/an-underscore*", split_by((r"\p{L}", r"[\p{L}_]"))),
    Fault("any-white-space-before-words", "tokenizer/white-space-other*", split_by((r" ?\p{L}", r"\s?\p{L}"))),
    Fault("alphabetic-for-letters", "tokenizer/alphabetic-but*", split_by((r"\p{L}", r"\p{Alphabetic}"))),
    Fault("letters-of-16-bits", "tokenizer/letters-of-every-kind*",
          split_by((r"\p{L}", r"[\p{L}&&[\x{0}-\x{ffff}]]"))),
    Fault("white-space-without-vertical-tab", "tokenizer/white-space-is-no-mark*",
          split_by((r"\s", r"[\s&&[^\x0b]]"), (r"\S", r"[\S\x0b]"))),
    Fault("white-space-with-separators", "tokenizer/controls-that-are-no-white-space*",
          split_by((r"\s", r"[\s\x1c-\x1f]"), (r"\S", r"[\S&&[^\x1c-\x1f]]"))),
    Fault("byte-173-as-itself", "tokenizer/byte-173* tokenizer/each-byte*",
          {"p.text.splitting:build_bpe": without_byte_173}),
    Fault("contractions-in-any-case", "tokenizer/contractions-in-capitals*",
          split_by(("'s|'t|'re|'ve|'m|'ll|'d", "(?i:'s|'t|'re|'ve|'m|'ll|'d)"))),
    Fault("special-tokens", "tokenizer/a-special-token*", rebuilt(with_special_tokens)),
    Fault("whole-words-first", "tokenizer/a-word-of-the-vocabulary*", rebuilt(with_whole_words)),
    Fault("digits-last", "tokenizer/spaces-before-a-number-digits-gpt2",
          {"p.text.splitting:SPLITS": lambda rules: {rule: rules[rule][::-1] for rule in rules}}),
    Fault("accents-apart", "toy-tokenizer/the-bytes-65*", nfc(lambda _, text: text)),
    Fault("merges-without-a-version", "tokenizer-files",
          {"p.proxy.gguf:tokenizer_bytes": after(lambda files, *_: (files[0], files[1].partition(b"\n")[2]))}),
    Fault("tensors-without-shapes", "tensors/a-matrix*", {"p.proxy.tensors:tensors_digest": lambda f: lambda tensors: f(
        {name: tensor.ravel() for name, tensor in tensors.items()}
    )}),
    Fault("window-off-by-one", "positions", {"p.text.positions:positions": after(
        lambda cut, ids, prefix, length: cut._replace(contexts=cut.prefixes[:, prefix - length - 1 : -1])
    )}),
    Fault("blocks-without-overlap", "blocks", {"p.text.blocks:OVERLAP": instead(0)}),
    Fault("blocks-as-long-as-the-model-sees", "blocks", {"p.text.blocks:LENGTH": instead(1 << 30)}),
)  # fmt: skip

# 4, 6, 7 and 9: documents, hashes, weights, records, the registry.


def in_order(key: Callable[[str], Any]) -> Mapping[str, Change]:
    """Another order of the keys of maps."""
    return {"p.canonical:sorted": instead(lambda keys, **_: sorted(keys, key=key))}


def from_colour_0(f: Any) -> Any:
    golden = np.uint32(0x9E3779B1)
    return lambda seed, colours: f((np.uint32(seed[0]), np.asarray(seed[1], dtype=np.uint32) - golden), colours)


def or_equal(below: Any, total: Any, sigma: Any) -> Any:
    return below.astype(np.uint64) * np.uint64(sigma[1]) <= total * np.uint64(sigma[0])


def weightless(found: Any, places: Any, weights: Any, observed: Any, total: Any = None) -> Any:
    rivals = found.weights.copy()
    rivals[found.shown] = weights[np.arange(len(places)), observed]
    return replace(found, weights=rivals)


def one_signature(f: Any) -> Any:
    return lambda self, kind, role: f(self, kind, role.model_copy(update={"threshold": 1}))


EXACT = (
    Fault("colours-from-zero", "permutation", {"p.hashing:permutation_seeds": from_colour_0}),
    Fault("partition-or-equal", "members", {"p.partition.reference:is_member": instead(or_equal)}),
    Fault("rivals-of-1-128", "rivals", {"p.proxy.rivals:SHARE": instead(128)}),
    Fault("weightless-token", "rivals", {"p.proxy.rivals:Rivals.of": after(weightless)}),
    Fault("warm-proxy", "=numeric/*", {"p.partition.toy:toy_weights": after(
        lambda weights, *_: (weights ** (1 / 1.3)).astype(np.uint32)
    )}),
    Fault("slots-reversed", "slot", {"p.records.slots:slot_of": after(lambda slot, codes, word: codes - slot)}),
    Fault("fields-reversed", "record", {"p.records.layouts:Layout.pack": after(lambda codes, *_: codes[::-1])}),
    Fault("accepts-duplicate-keys", "canonical",
          {"p.canonical:decode": instead(lambda data, **_: msgpack.unpackb(data))}),
    Fault("keys-by-length", "canonical/a-longer-key* canonical/keys-in-the-order-of-their-lengths",
          in_order(lambda key: (len(key), key))),
    Fault("keys-by-units-of-16-bits", "canonical/keys-beyond*", in_order(lambda key: key.encode("utf-16-be"))),
    Fault("non-canonical-output", "canonical", {"p.canonical:_checked": instead(lambda value, depth: value)}),
    Fault("ignores-expiry", "registry-update", {"p.registry.documents:Registry.expired": instead(lambda *_: False)},
          role="registry-client"),
    Fault("accepts-old-versions", "registry-update",
          {"p.registry.workflow:_check_version": lambda f: lambda *both, key_removed: f(*both, key_removed=True)},
          role="registry-client"),
    Fault("looks-of-composed-letters", "registry/an-accented-cyrillic-letter*",
          {"p.registry.spelling:normalize": instead(lambda _, text: text)}, role="registry-client"),
    Fault("names-of-both-directions", "registry/letters-of-both-directions*",
          {"p.registry.spelling:_LEFTWARD": instead(re.compile("(?!)"))}, role="registry-client"),
    Fault("any-signature", "registry-update", {"p.registry.envelope:Envelope.verify": one_signature},
          role="registry-client"),
    Fault("forgets-entries", "registry-update", {"p.registry.workflow:check_append_only": instead(lambda *_: None)},
          role="registry-client"),
)  # fmt: skip

# Whole implementations.

DECODER, ENCODER = "c.adapter.reference:ReferenceDecoder.", "c.adapter.reference:ToyEncoder."


def decoding(change: Callable[[Any, Any], dict[str, Any]]) -> Mapping[str, Change]:
    """Another answer about a text."""
    return {DECODER + "decode": after(lambda found, _, asked: found.model_copy(update=change(found, asked)))}


def with_another(field: str) -> Mapping[str, Change]:
    """A text with another record than the one that was asked for."""

    def change(f: Any) -> Any:
        def encode(self: Any, asked: Any) -> Any:
            fields = asked.record.fields | {field: asked.record.fields[field] ^ 1}
            return f(self, asked.model_copy(update={"record": asked.record.model_copy(update={"fields": fields})}))

        return encode

    return {ENCODER + "encode": change}


def plain(found: Any, _: Any, asked: Any) -> Any:
    return found.model_copy(update={"text": asked.prompt * (1 + asked.tokens // len(asked.prompt))})


def always(found: Any, asked: Any, p: float = 1e-9) -> dict[str, Any]:
    from ctwl_conformance.adapter import Span

    code = found.code or 0
    return {
        "detected": True, "code": code, "p_value": p,
        "spans": [Span(start=0, end=len(asked.text), code=code, p_value=p)],
    }  # fmt: skip


def uncorrected(found: Any, asked: Any) -> dict[str, Any]:
    p = found.p_value / 2**20
    return always(found, asked, p) if p <= asked.alpha else {"p_value": p}


def spans(**places: Callable[[Any, Any], int]) -> Callable[[Any, Any], dict[str, Any]]:
    """Other spans, in view of each and of the question."""
    return lambda found, asked: {
        "spans": [each.model_copy(update={at: f(each, asked) for at, f in places.items()}) for each in found.spans]
    }


def basic_reader(end: Callable[[str], int]) -> Mapping[str, Change]:
    """A reader of one code in the whole text, whose span ends elsewhere."""

    def families(told: Any, *_: Any) -> Any:
        return told.model_copy(update={"families": [name for name in told.families if not name.startswith("decode")]})

    def whole(found: Any, asked: Any) -> dict[str, Any]:
        placed = spans(start=lambda *_: 0, end=lambda _, asked: end(asked.text))(found, asked)["spans"]
        return {"spans": placed[:1], "record": None}

    return {DECODER + "start": after(families), **decoding(whole)}


def replies(change: Callable[[Any, dict[str, Any]], bytes]) -> Mapping[str, Change]:
    """Other lines, once it has started."""
    return {"c.adapter.serving:write_line": lambda f: lambda reply: (
        f(reply) if "roles" in reply.get("ok", ()) else change(f, reply)
    )}  # fmt: skip


def not_ready(f: Any) -> Any:
    def answer(self: Any, asked: Any) -> Any:
        from ctwl_conformance.adapter import NotDone

        if asked.op in ("start", "stop"):
            return f(self, asked)
        raise NotDone("it is not ready yet")

    return answer


WHOLE = (
    Fault("always-detects", "=human/*", decoding(always)),
    Fault("never-detects", "=round-trip/*",
          decoding(lambda *_: {"detected": False, "p_value": 1.0, "spans": [], "record": None})),
    Fault("uncorrected-p-values", "=human/*", decoding(uncorrected)),
    Fault("code-plus-one", "=round-trip/*", decoding(
        lambda found, asked: spans(code=lambda each, _: each.code + 1)(found, asked) | {"code": (found.code or 0) + 1}
    )),
    Fault("spans-outside", "=round-trip/*", decoding(spans(end=lambda _, asked: len(asked.text) + 1))),
    Fault("basic-span-ends-at-1", "=characters/*", basic_reader(lambda text: 1)),
    Fault("basic-span-ends-in-bytes", "=characters/*", basic_reader(lambda text: len(text.encode()))),
    Fault("basic-span-ends-in-the-normalized-text", "=characters/*", basic_reader(lambda text: len(text.strip()))),
    Fault("crashes", "colours", {"p.hashing:colour_seed": instead(lambda *_: os._exit(3))}, leads_to="errored"),
    Fault("hangs", "colours", {"p.hashing:colour_seed": instead(lambda *_: time.sleep(600))}, leads_to="errored"),
    Fault("talks", "colours", replies(lambda f, reply: b"computing ...\n" + f(reply)), leads_to="errored"),
    Fault("wrong-id", "colours", replies(lambda f, reply: f(reply | {"id": reply["id"] + 1})), leads_to="errored"),
    Fault("skips-everything", "canonical =round-trip/*", {"c.adapter.serving:Implementation.answer": not_ready},
          leads_to="skipped"),
    Fault("writes-nothing", "=round-trip/*", {ENCODER + "encode": after(plain)}, role="encoder"),
    Fault("wrong-record", "=round-trip/*", with_another("provider"), role="encoder"),
    Fault("wrong-nonce", "=round-trip/*", with_another("nonce"), role="encoder"),
)  # fmt: skip

FAULTS = {fault.name: fault for fault in (*TEXTS, *EXACT, *SEARCH_FAULTS, *WHOLE)}
"""The faults by name."""

"""Profiles, their digests and their keys (spec sections 4.2 to 4.4)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ctwl_protocol import get_profile, published_names
from ctwl_protocol.profile import TOY, public_key, read_profile

from .family import HEX, HEX32, JSON, STATUS, TEXT, Case, Family, either, refusing, shape, unhex

__all__ = ["FAMILIES", "toy_document"]


def _digest(data: JSON) -> JSON:
    return {"digest": get_profile(data["name"]).digest}


@refusing
def _document(data: JSON) -> JSON:
    given = unhex(data["bytes"]) if "bytes" in data else json.dumps(data["document"]).encode()
    return {"digest": read_profile(given).digest}


def _key(data: JSON) -> JSON:
    return {"key": public_key(data["name"]).hex()}


def toy_document(**changes: Any) -> JSON:
    """A private profile like the toy profile, as JSON, with some fields changed."""
    document: JSON = json.loads(get_profile(TOY).to_json())
    return document | {"name": "com.example.toy.1", "key": bytes(range(32)).hex()} | changes


def _inside(field: str, **changes: Any) -> JSON:
    """The same with something changed inside a field."""
    document = toy_document()
    return document | {field: document[field] | changes}


def _without(*path: str) -> JSON:
    document = toy_document()
    *outer, last = path
    place = document
    for name in outer:
        place = place[name]
    del place[last]
    return document


def _modelled(architecture: JSON | None = None, **changes: Any) -> JSON:
    """The same with a proxy LM."""
    return toy_document(proxy=_model(architecture, **changes))


_LLAMA = {
    "family": "llama", "layers": 1, "heads": 2, "key_value_heads": 1, "width": 8, "feed_forward": 16, "positions": 64,
    "rope_theta": 10000, "rows": 256, "norm_epsilon": [1, 100000], "tied": True,
}  # fmt: skip
_GPT2 = {
    "family": "gpt2",
    "layers": 1,
    "heads": 2,
    "width": 8,
    "positions": 64,
    "rows": 256,
    "norm_epsilon": [1, 10**5],
}


def _model(architecture: JSON | None = None, **changes: Any) -> JSON:
    made: JSON = {"kind": "model", "architecture": _LLAMA | (architecture or {}), "weights": _SAFE}
    return made | {"tensors_sha256": None, "source": None} | changes


def _file(which: str, **changes: Any) -> JSON:
    tokenizer = toy_document()["tokenizer"]
    return _inside("tokenizer", **{which: tokenizer[which] | changes})


_LARGEST = {"layers": 1024, "heads": 1024, "key_value_heads": 1024, "width": 1 << 17, "rows": 1 << 20}
_SAFE = {"name": "model.safetensors", "size": 1, "sha256": "00" * 32}
_HUB = {"kind": "hub", "repository": "owner/name", "revision": "0" * 40}
_PYPI = {"kind": "pypi", "distribution": "some-wheel", "version": "1.0"}
_GGUF = {"name": "model.gguf", "size": 1, "sha256": "00" * 32}


def _sound() -> Iterator[tuple[str, JSON]]:
    yield "a profile like the toy profile", toy_document()
    yield "the least of every number", toy_document(
        context_length=1, prefix_length=1, colours=2, code_bits=1, weight_bits=8, sigma=[1, 2]
    )  # fmt: skip
    yield "the greatest of every number", toy_document(
        context_length=16, prefix_length=512, colours=4096, code_bits=24, weight_bits=24, sigma=[65535, 65536]
    )  # fmt: skip
    yield "a context as long as the window", toy_document(context_length=4)
    yield "the least sigma", toy_document(sigma=[1, 65536])
    yield "digits one by one", _inside("tokenizer", pre_tokenizer="digits-gpt2")
    yield "special ids", _inside("tokenizer", special=[0, 7, 255])
    yield "a file of 2^36 bytes", _file("vocab", size=1 << 36)
    yield "a tolerance of the largest numbers", _inside("tolerance", membership=[1 << 32, 1 << 32])
    yield "no proxy LM", toy_document(proxy={"kind": "uniform", "carrier": None, "source": None})
    yield (
        "no proxy LM, a carrier from a wheel",
        toy_document(proxy={"kind": "uniform", "carrier": _GGUF, "source": _PYPI}),
    )
    yield "a Llama", _modelled()
    yield "a Llama from a hub", _modelled(source=_HUB)
    yield "a Llama in a GGUF file", _modelled(weights=_GGUF, tensors_sha256="11" * 32)
    yield "a GPT-2", toy_document(proxy=_model() | {"architecture": _GPT2})
    yield (
        "the largest numbers of a GPT-2",
        toy_document(
            proxy=_model()
            | {
                "architecture": _GPT2
                | {"layers": 1024, "heads": 1024, "width": 1 << 17, "positions": 1 << 17, "rows": 1 << 20}
                | {"norm_epsilon": [0, 1 << 32]}
            }
        ),
    )
    yield (
        "the largest numbers of a Llama",
        _modelled(_LARGEST | {"feed_forward": 1 << 17, "positions": 1 << 22, "rope_theta": 1 << 32}),
    )
    least = {"tokenizer": toy_document()["tokenizer"] | {"vocabulary": 2}, "context_length": 1, "prefix_length": 1}
    numbers = dict.fromkeys(("layers", "heads", "width", "positions"), 1) | {"rows": 2, "norm_epsilon": [0, 1]}
    yield "the least numbers of a GPT-2", toy_document(proxy=_model() | {"architecture": _GPT2 | numbers}, **least)
    numbers |= dict.fromkeys(("key_value_heads", "feed_forward", "rope_theta"), 1)
    yield "the least numbers of a Llama", toy_document(proxy=_model(numbers), **least)
    yield "a repository of 200 characters", _modelled(source=_HUB | {"repository": "a/" + "b" * 198})
    yield "a distribution of 100 characters", _modelled(source=_PYPI | {"distribution": "a" * 100})
    yield "a distribution's version of 50 characters", _modelled(source=_PYPI | {"version": "1.0RC1" + "0" * 44})
    yield "a vocabulary of 2^20 tokens", _inside("tokenizer", vocabulary=1 << 20)
    yield "a vocabulary of two tokens", _inside("tokenizer", vocabulary=2)
    yield "4096 special ids", _inside("tokenizer", vocabulary=5000, special=list(range(4096)))
    yield "a file's name of 200 characters", _modelled(weights=_SAFE | {"name": "a" * 188 + ".safetensors"})
    yield "version 999999", toy_document(name="com.example.toy.999999")
    yield "words joined by hyphens", toy_document(name="com.ex-ample.to-y.1")
    yield "a name of 100 characters", toy_document(name="com." + "a" * 94 + ".1")


def _faults() -> Iterator[tuple[str, JSON]]:
    for field in toy_document():
        yield f"{field} missing", _without(field)
    yield "an unknown field", toy_document(surprise=1)
    yield "an unknown field of the tokenizer", _inside("tokenizer", surprise=1)
    yield "an unknown field of a file", _file("vocab", surprise=1)
    yield "another format", toy_document(format="ctwl-profile/2")
    yield "a name without a version", toy_document(name="com.example.toy")
    yield "a name with a version of zero", toy_document(name="com.example.toy.0")
    yield "a name in capitals", toy_document(name="com.Example.toy.1")
    yield "version 1000000", toy_document(name="com.example.toy.1000000")
    yield "an underscore in a name", toy_document(name="com.ex_ample.toy.1")
    yield "two dots in a row in a name", toy_document(name="com..toy.1")
    yield "a name of 101 characters", toy_document(name="com." + "a" * 95 + ".1")
    yield "a published name with other content", toy_document(name=TOY)
    yield "a key of 31 bytes", toy_document(key="00" * 31)
    yield "a key of 33 bytes", toy_document(key="00" * 33)
    yield "a key that is no hexadecimal", toy_document(key="zz" * 32)
    yield "another hash scheme", toy_document(hash_scheme="ctwl-h2")
    yield "a context of no tokens", toy_document(context_length=0)
    yield "a context of 17 tokens", toy_document(context_length=17, prefix_length=20)
    yield "a context longer than the window", toy_document(context_length=5)
    yield "a window of 513 tokens", toy_document(prefix_length=513)
    yield "one colour", toy_document(colours=1)
    yield "4097 colours", toy_document(colours=4097)
    yield "a number of colours as text", toy_document(colours="32")
    yield "a number of colours with a fraction", toy_document(colours=32.5)
    yield "a truth value for a number", toy_document(context_length=True)
    yield "sigma zero", toy_document(sigma=[0, 1])
    yield "sigma one", toy_document(sigma=[1, 1])
    yield "sigma above one", toy_document(sigma=[3, 2])
    yield "sigma not in lowest terms", toy_document(sigma=[2, 4])
    yield "sigma with a denominator of 65537", toy_document(sigma=[1, 65537])
    yield "sigma of three numbers", toy_document(sigma=[1, 2, 3])
    yield "codes of no bits", toy_document(code_bits=0)
    yield "codes of 25 bits", toy_document(code_bits=25)
    yield "weights of 7 bits", toy_document(weight_bits=7)
    yield "weights of 25 bits", toy_document(weight_bits=25)
    yield "another framing", toy_document(framing="random")
    yield "another normalization", toy_document(normalization="ctwl-n2")


def _faults_of_parts() -> Iterator[tuple[str, JSON]]:
    yield "a vocabulary of one token", _inside("tokenizer", vocabulary=1)
    yield "a vocabulary of 2^20 + 1 tokens", _inside("tokenizer", vocabulary=(1 << 20) + 1)
    yield "4097 special ids", _inside("tokenizer", vocabulary=5000, special=list(range(4097)))
    yield "another splitting rule", _inside("tokenizer", pre_tokenizer="gpt4")
    yield "another version of Unicode", _inside("tokenizer", unicode="15.0")
    yield "special ids out of order", _inside("tokenizer", special=[7, 0])
    yield "a special id twice", _inside("tokenizer", special=[7, 7])
    yield "a special id outside the vocabulary", _inside("tokenizer", special=[256])
    yield "a vocabulary file of another name", _file("vocab", name="tokens.json")
    yield "a merges file of another name", _file("merges", name="merges.bin")
    yield "an empty file", _file("vocab", size=0)
    yield "a file of 2^36 + 1 bytes", _file("vocab", size=(1 << 36) + 1)
    yield "a file's digest of 31 bytes", _file("vocab", sha256="00" * 31)
    yield "a tolerance with a denominator of zero", _inside("tolerance", membership=[1, 0])
    yield "a tolerance with a denominator of 2^32 + 1", _inside("tolerance", membership=[1, (1 << 32) + 1])
    yield "a tolerance below zero", _inside("tolerance", total_variation=[-1, 2])


def _faults_of_proxies() -> Iterator[tuple[str, JSON]]:
    yield "a proxy of an unknown kind", toy_document(proxy={"kind": "oracle"})
    yield "toy weights with a source", toy_document(proxy={"kind": "toy", "source": None})
    yield "uniform weights without a carrier's place", toy_document(proxy={"kind": "uniform", "source": None})
    yield "weights in another kind of file", _modelled(
        weights={"name": "model.bin", "size": 1, "sha256": "00" * 32}
    )  # fmt: skip
    yield "a GGUF file without the digest of its tensors", _modelled(weights=_GGUF)
    yield "the digest of tensors for a safetensors file", _modelled(tensors_sha256="00" * 32)
    yield "an architecture of another family", _modelled({"family": "mamba"})
    yield "fewer embedding rows than tokens", _modelled({"rows": 255})
    yield "fewer positions than a window has", _modelled({"positions": 3})
    yield "heads that do not divide the width", _modelled({"heads": 3})
    yield "key-value heads that do not divide the heads", _modelled({"heads": 4, "key_value_heads": 3})
    yield "no layers", _modelled({"layers": 0})
    yield "1025 layers", _modelled({"layers": 1025})
    yield "1025 heads", _modelled(_LARGEST | {"heads": 1025, "width": 1025})
    yield "1025 key-value heads", _modelled(_LARGEST | {"key_value_heads": 1025})
    yield "a width of 2^17 + 1", _modelled({"width": (1 << 17) + 1, "heads": 1, "key_value_heads": 1})
    yield "a feed-forward width of 2^17 + 1", _modelled({"feed_forward": (1 << 17) + 1})
    yield "2^22 + 1 positions", _modelled({"positions": (1 << 22) + 1})
    yield "2^20 + 1 rows", _modelled({"rows": (1 << 20) + 1})
    yield "rope_theta of 2^32 + 1", _modelled({"rope_theta": (1 << 32) + 1})
    yield "an epsilon with a numerator of 2^32 + 1", _modelled({"norm_epsilon": [(1 << 32) + 1, 1 << 32]})
    yield "tied as a number", _modelled({"tied": 1})
    yield "an unknown number of an architecture", _modelled({"experts": 8})
    yield (
        "2^20 + 1 rows of a GPT-2",
        toy_document(proxy=_model() | {"architecture": _GPT2 | {"rows": (1 << 20) + 1}}),
    )
    yield (
        "2^17 + 1 positions of a GPT-2",
        toy_document(proxy=_model() | {"architecture": _GPT2 | {"positions": (1 << 17) + 1}}),
    )
    yield "a file's name of 201 characters", _modelled(weights=_SAFE | {"name": "a" * 189 + ".safetensors"})
    yield "a file's name with a folder in it", _modelled(weights=_SAFE | {"name": "a/b.safetensors"})
    yield "a file's name that begins with a dot", _modelled(weights=_SAFE | {"name": ".safetensors"})
    yield "a repository without an owner", _modelled(source=_HUB | {"repository": "name"})
    yield "a repository of 201 characters", _modelled(source=_HUB | {"repository": "a/" + "b" * 199})
    yield "a repository that leads elsewhere", _modelled(source=_HUB | {"repository": "../name"})
    yield "a distribution of 101 characters", _modelled(source=_PYPI | {"distribution": "a" * 101})
    yield "a distribution's version of 51 characters", _modelled(source=_PYPI | {"version": "1" + "0" * 50})
    yield "a width of zero", _modelled({"width": 0})
    yield "no key-value heads", _modelled({"key_value_heads": 0})
    yield "a feed-forward width of zero", _modelled({"feed_forward": 0})
    yield "rope_theta of zero", _modelled({"rope_theta": 0})
    yield "a source of an unknown kind", _modelled(source={"kind": "ftp", "host": "a"})
    yield "a revision that is no full hash", _modelled(source=_HUB | {"revision": "main"})


def _document_cases() -> Iterator[Case]:
    for comment, document in (*_sound(), *_faults(), *_faults_of_parts(), *_faults_of_proxies()):
        yield comment, {"document": document}
    sound = read_profile(json.dumps(toy_document()).encode()).to_bytes()
    yield "the canonical form", {"bytes": sound.hex()}
    yield "the published toy profile in its canonical form", {"bytes": get_profile(TOY).to_bytes().hex()}
    yield "the canonical form with a byte behind it", {"bytes": sound.hex() + "c0"}
    yield (
        "an overlong number in the canonical form",
        {"bytes": sound.replace(b"\xa7colours ", b"\xa7colours\xcc ").hex()},
    )
    yield (
        "JSON with a duplicate key",
        {"bytes": json.dumps(toy_document())[:-1].encode().hex() + b', "colours": 32}'.hex()},
    )
    yield "no document", {"bytes": ""}


FAMILIES = (
    Family(
        "profile", "4.4",
        "A published profile's name to its digest.",
        shape(name=TEXT), shape(digest=HEX32), _digest,
        lambda: [(name, {"name": name}) for name in published_names()],
    ),
    Family(
        "profile-document", "4.2",
        "A profile, as JSON or as canonical bytes, to its digest, or the status code of the refusal.",
        either(shape(document={"type": "object"}), shape(bytes=HEX)), either(shape(digest=HEX32), STATUS),
        _document, _document_cases,
    ),
    Family(
        "public-key", "4.3",
        "A public profile's name to its key.",
        shape(name=TEXT), shape(key=HEX32), _key,
        lambda: [(name, {"name": name}) for name in (*published_names(), "com.example.open.1")],
    ),
)  # fmt: skip

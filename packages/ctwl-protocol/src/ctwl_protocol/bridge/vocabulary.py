"""The provider's vocabulary as bytes: what each token adds to the text."""

from __future__ import annotations

import json
import string
from collections.abc import Callable
from typing import Any

from ..errors import TokenizerUnsupported

Vocabulary = list[bytes | None]
"""Bytes of each token by id; None for what never becomes text (special tokens, padding rows)."""

_REACHABLE = sorted(string.printable[:95])
"""What any tokenizer for general text can write: printable ASCII."""


def read_vocabulary(tokenizer: Any) -> Vocabulary:
    """Bytes of every token of a Hugging Face tokenizer.

    Byte-level BPE (GPT-2, Llama 3, Qwen, ...) spells bytes in an alphabet of 256 characters; SentencePiece (Llama 2,
    Mistral, Gemma, ...) writes a space as U+2581 and bytes that it has no token for as ``<0xE4>``.

    Raises:
        TokenizerUnsupported: there are no tokenizer files, tokens are spelled in another way, or see
            :func:`check_reachable`.
    """
    if tokenizer is None or not hasattr(tokenizer, "get_vocab"):
        raise TokenizerUnsupported("the model comes without a tokenizer; put its tokenizer files beside the weights")
    try:
        added = dict(tokenizer.added_tokens_decoder)
    except (AttributeError, NotImplementedError) as error:
        raise TokenizerUnsupported(
            f"{type(tokenizer).__name__} does not tell its special tokens; load the model's tokenizer.json instead"
        ) from error
    special = set(tokenizer.all_special_ids) | {i for i, token in added.items() if token.special}
    own = tokenizer.get_vocab()
    # A decoder of tokenizer.json runs over added tokens too, such as the runs of spaces of SentencePiece.
    spell, literal = _speller(tokenizer), added if getattr(tokenizer, "backend_tokenizer", None) is None else {}
    vocabulary: Vocabulary = [None] * (max(own.values(), default=-1) + 1)
    for token, i in own.items():
        if i not in special:
            vocabulary[i] = literal[i].content.encode() if i in literal else spell(token)
    check_reachable(vocabulary)
    return vocabulary


def check_reachable(vocabulary: Vocabulary) -> None:
    """Refuse a vocabulary that cannot write some printable character: TokenizerUnsupported."""
    reached = set(b"".join(token for token in vocabulary if token and len(token) == 1))
    missing = [character for character in _REACHABLE if ord(character) not in reached]
    if missing:
        raise TokenizerUnsupported(
            f"the tokenizer cannot reach the byte 0x{ord(missing[0]):02X} ({missing[0]!r}): it has no token for it, so "
            "text would not survive it; use a model with a byte-level or byte-fallback tokenizer"
        )


def _speller(tokenizer: Any) -> Callable[[str], bytes]:
    """How this tokenizer's token strings spell bytes, from the steps of its decoder."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        if not hasattr(tokenizer, "sp_model"):
            raise TokenizerUnsupported(
                f"{type(tokenizer).__name__} does not say how its tokens spell text; use one with a tokenizer.json"
            )
        return lambda token: _sentencepiece(token, {"\u2581": " "}, fallback=True)
    decoder = json.loads(backend.decoder.__getstate__()) if backend.decoder else {"decoders": []}
    steps = decoder.get("decoders", [decoder])
    kinds = {step["type"] for step in steps}
    unknown = kinds - {"ByteLevel", "Replace", "ByteFallback", "Fuse", "Strip", "Metaspace"}
    if unknown or not kinds:
        raise TokenizerUnsupported(
            f"the tokenizer's decoder ({', '.join(sorted(unknown)) or 'none'}) is not one whose tokens spell bytes; "
            "byte-level BPE and SentencePiece with byte fallback are supported"
        )
    if "ByteLevel" in kinds:
        return spell_byte_level
    replaced = {step["replacement"]: " " for step in steps if step["type"] == "Metaspace"}
    for step in steps:
        if step["type"] == "Replace" and "String" in step["pattern"]:
            replaced[step["pattern"]["String"]] = step["content"]
    return lambda token: _sentencepiece(token, replaced, fallback="ByteFallback" in kinds)


def _alphabet() -> dict[str, int]:
    """GPT-2's alphabet: a printable character for each byte (Radford et al. 2019)."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + i): byte for i, byte in enumerate(rest)}


_ALPHABET = _alphabet()


def spell_byte_level(token: str) -> bytes:
    """The bytes that a token of byte-level BPE spells."""
    try:
        return bytes(_ALPHABET[character] for character in token)
    except KeyError:
        return token.encode()


def _sentencepiece(token: str, replaced: dict[str, str], *, fallback: bool) -> bytes:
    if fallback and len(token) == 6 and token.startswith("<0x") and token.endswith(">"):
        return bytes.fromhex(token[3:5])
    for old, new in replaced.items():
        token = token.replace(old, new)
    return token.encode()

"""From text to positions: normalization, tokens, the proxy's files, prefixes, blocks (spec sections 5 and 7.3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ctwl_protocol.profile import TOY
from ctwl_protocol.text.blocks import blocks_of
from ctwl_protocol.text.normalization import normalize
from ctwl_protocol.text.positions import positions
from ctwl_protocol.text.splitting import SPLITS, build_bpe

from .family import BASIC, ENCODER, FULL, JSON, LOADER, READERS, family


@family("normalization", asked_of=READERS, optional_for=(ENCODER,))
def _normalized(data: JSON) -> JSON:
    return {"text": normalize(data["text"])}


def _of_rules(tests: Sequence[JSON]) -> Iterator[tuple[str, JSON]]:
    """The questions of the first rule, for rules that have none."""
    first, asked = next(iter(SPLITS)), {test["input"]["pre_tokenizer"] for test in tests}
    for rule in [rule for rule in SPLITS if rule not in asked]:
        for test in tests:
            if test["input"]["pre_tokenizer"] == first:
                yield test["comment"].removesuffix(first) + rule, test["input"] | {"pre_tokenizer": rule}


@family("tokenizer", asked_of=READERS, optional_for=(ENCODER,), needs="tokenizers", more=_of_rules)
def _tokens(data: JSON) -> JSON:
    pairs = [(left, right) for left, right in (line.split(" ") for line in data["merges"])]
    bpe = build_bpe(data["vocab"], pairs, data["pre_tokenizer"])
    return {"ids": bpe.encode(data["text"], add_special_tokens=False).ids}


@family("toy-tokenizer", asked_of=READERS, optional_for=(ENCODER,), needs="tokenizers")
def _toy_tokens(data: JSON) -> JSON:
    from ctwl_protocol.proxy import open_proxy

    return {"ids": open_proxy(TOY).tokenizer.encode(data["text"]).tolist()}


@family("tokenizer-files", asked_of=(LOADER,), optional_for=(ENCODER,))
def _files(data: JSON) -> JSON:
    from ctwl_protocol.proxy.gguf import tokenizer_bytes

    vocab, merges = tokenizer_bytes(data["tokens"], data["merges"])
    return {"vocab": vocab.hex(), "merges": merges.hex()}


@family("tensors", asked_of=(LOADER,), optional_for=(ENCODER,))
def _tensors(data: JSON) -> JSON:
    from ctwl_protocol.proxy.tensors import tensors_digest

    tensors = {
        name: np.array(tensor["elements"], dtype=np.float32).reshape(tensor["shape"])
        for name, tensor in data["tensors"].items()
    }
    return {"sha256": tensors_digest(tensors).hex()}


@family("positions", asked_of=READERS, optional_for=(ENCODER,))
def _cut(data: JSON) -> JSON:
    cut = positions(np.array(data["tokens"], dtype=np.int64), data["prefix_length"], data["context_length"])
    columns = {"windows": cut.prefixes, "contexts": cut.contexts, "observed": cut.observed}
    return {name: column.tolist() for name, column in columns.items()}


@family("blocks", asked_of=(BASIC, FULL), optional_for=(ENCODER,))
def _blocks(data: JSON) -> JSON:
    found = blocks_of(data["tokens"], data["prefix_length"], data["places"] + 1)
    return {"blocks": [list(block) for block in found]}

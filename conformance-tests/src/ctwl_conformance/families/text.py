"""From text to positions (spec section 5): normalization, tokens, the proxy's files, windows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ctwl_protocol.profile import TOY
from ctwl_protocol.text.normalization import normalize
from ctwl_protocol.text.positions import positions

from .family import COUNT, HEX, HEX32, JSON, TEXT, Case, Family, array, shape

__all__ = ["FAMILIES"]


def _normalized(data: JSON) -> JSON:
    return {"text": normalize(data["text"])}


def _tokens(data: JSON) -> JSON:
    from ctwl_protocol.text.splitting import build_bpe

    pairs = [(left, right) for left, right in (line.split(" ") for line in data["merges"])]
    bpe = build_bpe(data["vocab"], pairs, data["pre_tokenizer"])
    return {"ids": bpe.encode(data["text"], add_special_tokens=False).ids}


def _toy_tokens(data: JSON) -> JSON:
    from ctwl_protocol.proxy import open_proxy

    return {"ids": open_proxy(TOY).tokenizer.encode(data["text"]).tolist()}


def _files(data: JSON) -> JSON:
    from ctwl_protocol.proxy.gguf import tokenizer_bytes

    vocab, merges = tokenizer_bytes(data["tokens"], data["merges"])
    return {"vocab": vocab.hex(), "merges": merges.hex()}


def _tensors(data: JSON) -> JSON:
    import torch

    from ctwl_protocol.proxy.gguf import tensors_digest

    tensors = {
        name: torch.tensor(tensor["elements"], dtype=torch.float32).reshape(tensor["shape"])
        for name, tensor in data["tensors"].items()
    }
    return {"sha256": tensors_digest(tensors).hex()}


def _cut(data: JSON) -> JSON:
    cut = positions(np.array(data["tokens"], dtype=np.int64), data["prefix_length"], data["context_length"])
    columns = {"windows": cut.prefixes, "contexts": cut.contexts, "observed": cut.observed}
    return {name: column.tolist() for name, column in columns.items()}


def _normalization_cases() -> Iterator[Case]:
    def around(first: int, last: int) -> str:
        """Both ends of a run of characters that are treated alike, between letters that are not."""
        return f"a{chr(first)}b{chr(last)}c"

    texts = {
        "plain text stays": "A plain sentence, with 2 numbers.",
        "curly quotes": "“It’s” …",
        "an accent apart": "cafe\u0301",
        "an accent behind an invisible character": "e\u200b\u0301",
        "spaces of other widths": "a\u00a0b\u2003c\u3000d",
        "line ends": "one\r\ntwo\rthree\u2028four\n",
        "invisible characters": "\ufeffso\u00adft\u2060 \u202etext\u202c",
        "joiners stay": "\u0644\u200c\u0627 \U0001f469\u200d\U0001f680",
        "variation selectors stay": "\u2764\ufe0f \u845b\U000e0100",
        "empty": "",
        "nothing but white space": " \t\n\v\f\r ",
        "white space at both ends": "\v\f one two \t\r\n",
        "white space inside stays": "one  two\t\vthree\n\n\nfour",
        "other controls stay": "\x00a\x1bb\x7f",
        "a space that the table makes is removed at an end": "\u3000one\u2009",
        "a line end that the table makes is removed at an end": "\u2028one\u0085",
        "U+2000 to U+200A": around(0x2000, 0x200A),
        "U+1680, U+202F and U+205F": "a\u1680b\u202fc\u205fd",
        "U+0085 and U+2029": "a\u0085b\u2029c",
        "CR, LF, CR LF and LF CR": "a\rb\nc\r\nd\n\re",
        "single quotes": around(0x2018, 0x201B),
        "double quotes": around(0x201C, 0x201F),
        "every quote": "\u2018a\u2019b\u201ac\u201bd\u201ce\u201df\u201eg\u201fh",
        "a prime and a grave accent stay": "5\u2032 \u0060a\u00b4",
        "hyphens": around(0x2010, 0x2011),
        "dashes stay": "a\u2012b\u2013c\u2014d\u2212e",
        "ellipses": "\u2026\u2026",
        "deleted, one by one": "a\u00adb\u061cc\u180ed\u200be\u200ef\u200fg\ufeffh",
        "U+202A to U+202E": around(0x202A, 0x202E),
        "U+2060 to U+206F": around(0x2060, 0x206F),
        "U+E0000 to U+E007F": around(0xE0000, 0xE007F),
        "neighbours of what is deleted stay": "\u2065a\u2070b\U000e0080c\ufefed\u2027e",
        "singletons of NFC": "\u212b \u2126 \u2000",
        "compatibility forms stay": "\ufb01 \u2460 \u00b2",
        "marks in another order": "a\u0323\u0302 a\u0302\u0323",
        "Hangul apart": "\u1112\u1161\u11ab",
        "what NFC must not compose": "\u0958 \u2adc",
        "a full line": "The \u201cquick\u201d\u00a0brown fox\u2019s den \u2026 re\u2011read.\r\n",
    }
    for comment, text in texts.items():
        yield comment, {"text": text}


_BYTES = ["Ġ", "Ċ", "ĉ", "Ã", "©", "Â", "½", *"!',.01234abcdehilmnorstuvwx"]
_MERGES = [
    "t h", "th e", "Ġ the", "Ġ t", "h e", "Ġ a", "n d", "Ġa nd", "1 2", "12 3", "Ġ Ġ", "Ã ©", "Ġ Ã©", "l l", "r e",
    "v e", "' s", "' t", "' re", "' ve", "' m", "' ll", "' d", "Â ½", "Â½ Â½", "Â½ 1", "the Â½",
]  # fmt: skip
_VOCAB = {token: i for i, token in enumerate([*_BYTES, *(merge.replace(" ", "") for merge in _MERGES)])}


def _tokenizer_cases() -> Iterator[Case]:
    texts = {
        "merges in order of priority": "the then",
        "a word with its space": "and the and",
        "contractions": "it's isn't we're we've i'm he'll he'd",
        "contractions after a space and at the start": "'s a 't",
        "a contraction in capitals is none": "HE'S he's",
        "digits": "12 123 1234",
        "letters and digits part": "the12and",
        "marks together": "no!!, so...",
        "a space before a mark": "a ! b ,c",
        "spaces in a row": "a   and  the \n the\t the",
        "spaces at the end": "a   ",
        "a line end between words": "a\nb\n\n c",
        "a tab": "a\tb \tc",
        "two bytes that merge": "\u00e9t\u00e9 \u00e9",
        "numbers that are no digits": "\u00bd\u00bd the\u00bd \u00bd1",
        "bytes without a token leave no gap": "tqhe \u4e2d",
        "letters of another script": "\u0438the \u0438",
        "what looks like a special token": "<|endoftext|>the",
        "nothing": "",
    }
    for rule in ("gpt2", "digits-gpt2"):
        for comment, text in texts.items():
            asked = {"vocab": _VOCAB, "merges": _MERGES, "pre_tokenizer": rule, "text": text}
            yield f"{comment}, {rule}", asked


def _toy_cases() -> Iterator[Case]:
    texts = (
        "The toy profile.",
        "",
        "a b",
        "\u00e9",
        "e\u0301",
        "\u4e2d\U0001f680",
        " \u201cHi\u201d\u00a0there\u2026 \r\n",
        "\x00\x7f",
    )
    for text in texts:
        yield f"the bytes {text.encode().hex(' ') or 'of nothing'}", {"text": text}


def _file_cases() -> Iterator[Case]:
    yield "two tokens and no merges", {"tokens": ["a", "b"], "merges": []}
    yield "what JSON escapes", {"tokens": ['"', "\\", "/", "Ġ", "é", "中"], "merges": []}
    yield "merges", {"tokens": ["a", "b", "ab", "Ġ", "Ġab"], "merges": ["a b", "Ġ ab"]}


def _tensor_cases() -> Iterator[Case]:
    one = {"shape": [2], "elements": [0.0, 1.0]}
    square = {"shape": [2, 2], "elements": [1.5, -2.25, 0.5, 1e-3]}
    yield "a vector", {"tensors": {"a": one}}
    yield "a matrix, row by row", {"tensors": {"model.weight": square}}
    yield "ascending order of names", {"tensors": {"b": square, "a": one, "B": one}}
    yield (
        "a scalar and an empty tensor",
        {"tensors": {"empty": {"shape": [0, 3], "elements": []}, "scalar": {"shape": [], "elements": [-0.0]}}},
    )


def _position_cases() -> Iterator[Case]:
    def case(tokens: int, prefix: int, context: int) -> Case:
        ids = [7 * i % 11 for i in range(tokens)]
        asked = {"tokens": ids, "prefix_length": prefix, "context_length": context}
        return f"{tokens} tokens, L_prefix {prefix}, h {context}", asked

    for numbers in ((0, 4, 2), (4, 4, 2), (5, 4, 2), (9, 4, 2), (12, 10, 1), (3, 1, 1), (6, 3, 3), (9, 5, 4)):
        yield case(*numbers)


_IDS = array(COUNT)

FAMILIES = (
    Family(
        "normalization", "5.1", "A text to its normal form.",
        shape(text=TEXT), shape(text=TEXT), _normalized, _normalization_cases,
    ),
    Family(
        "tokenizer", "5.2",
        "A vocabulary, merges, a splitting rule and a text that is normalized already, to its token ids.",
        shape(
            vocab={"type": "object", "additionalProperties": COUNT}, merges=array(TEXT),
            pre_tokenizer={"enum": ["gpt2", "digits-gpt2"]}, text=TEXT,
        ),
        shape(ids=_IDS), _tokens, _tokenizer_cases, needs=("tokenizers",),
    ),
    Family(
        "toy-tokenizer", "7.3", "A text, not yet normalized, to its token ids in the toy profile.",
        shape(text=TEXT), shape(ids=_IDS), _toy_tokens, _toy_cases, needs=("torch", "tokenizers"),
    ),
    Family(
        "tokenizer-files", "5.3",
        "The tokens, in order of their ids, and the merges of a GGUF file to the bytes of vocab.json and merges.txt.",
        shape(tokens=array(TEXT), merges=array(TEXT)), shape(vocab=HEX, merges=HEX), _files, _file_cases,
        needs=("torch",),
    ),
    Family(
        "tensors", "5.3", "Tensors, their elements row by row, to tensors_sha256.",
        shape(
            tensors={
                "type": "object",
                "additionalProperties": shape(shape=array(COUNT), elements=array({"type": "number"})),
            }
        ),
        shape(sha256=HEX32), _tensors, _tensor_cases, needs=("torch",),
    ),
    Family(
        "positions", "5.4", "A text's tokens to its positions: windows, contexts, observed tokens.",
        shape(tokens=_IDS, prefix_length=COUNT, context_length=COUNT),
        shape(windows=array(_IDS), contexts=array(_IDS), observed=_IDS), _cut, _position_cases,
    ),
)  # fmt: skip

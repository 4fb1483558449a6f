"""Named splitting rules of byte-level BPE, and how to find the rule of a tokenizer (spec section 5.2)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import product
from string import ascii_letters, punctuation
from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator

from ..errors import ProxyMalformed
from ..numbers import NUMBERS

_PATTERNS = NUMBERS.splitting.patterns

SPLITS = {rule: tuple(_PATTERNS[name] for name in names) for rule, names in NUMBERS.splitting.rules.items()}
"""Splitting rules by name: patterns, applied one after the other. Each match becomes a piece of its own."""


def _known(rule: str) -> str:
    if rule not in SPLITS:
        raise ValueError(f"it should be one of {', '.join(SPLITS)}")
    return rule


SplittingRule: TypeAlias = Annotated[str, AfterValidator(_known)]
"""The name of a splitting rule."""

_RUNS = {r"[A-Za-z]+": ascii_letters, r"[!-&(-/:-@\[-`{-~]+": punctuation.replace("'", "")}
"""Words, and runs of marks without an apostrophe, each with its characters: most rules leave them whole."""

_SAMPLES = (
    "The river rose by 1234567 litres in 2026, they'll say; we've seen 3.14159 of it.",
    " leading and  double   spaces\tand tabs\n\n  and lines \n",
    "It's JOHN'S, I'M sure: don't, DON'T, we'd... what?!! (a)[b]{c} <d> e@f.gh #i $5.00 100% x=y+z*2;",
    "CamelCase snake_case kebab-case http://example.com/a?b=c&d=e 12:34 1/2 -5 +6 ~7 §8",
    "Übermäßig naïve façade, Владимир пишет, 東京は大きい, ١٢٣ ४५६ ½ Ⅷ 你好123世界, 👍🏽 e\u0301",
)
"""Texts that common rules split differently: numbers, contractions, capitals, white space, scripts."""


def build_splitter(rule: SplittingRule) -> Any:
    """What cuts a text into pieces, the bytes of each as byte-level BPE writes them."""
    from tokenizers import Regex, pre_tokenizers

    splits = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in SPLITS[rule]]
    return pre_tokenizers.Sequence([*splits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


@lru_cache
def one_piece(rule: SplittingRule) -> re.Pattern[str]:
    """What a rule leaves whole: words of ASCII, and runs of marks, each perhaps after a space.

    Of each kind one text is tried, in which every two characters stand one after the other.
    """
    split = build_splitter(rule).pre_tokenize_str
    tried = {run: "".join(a + b for a, b in product(characters, repeat=2)) for run, characters in _RUNS.items()}
    whole = [run for run, text in tried.items() if all(len(split(space + text)) == 1 for space in ("", " "))]
    return re.compile(f" ?(?:{'|'.join(whole)})" if whole else "(?!)")


def build_bpe(vocabulary: Mapping[str, int], merges: Sequence[tuple[str, str]], rule: SplittingRule) -> Any:
    """A byte-level BPE tokenizer: no special tokens, no prefix space, no clean-up.

    Raises:
        ProxyMalformed: the vocabulary lacks a token of a merge.
    """
    from tokenizers import Tokenizer, decoders, models

    try:
        backend = Tokenizer(models.BPE(vocab=dict(vocabulary), merges=list(merges)))
    except Exception as error:  # the binding raises plain Exception
        raise ProxyMalformed(f"vocabulary and merges do not make a BPE tokenizer: {error}") from error
    backend.pre_tokenizer = build_splitter(rule)
    backend.decoder = decoders.ByteLevel()
    return backend


def find_rule(vocabulary: Mapping[str, int], merges: Sequence[tuple[str, str]], tokenizer: bytes) -> SplittingRule:
    """The rule under which vocabulary and merges tokenize the samples as the model's own tokenizer does.

    Args:
        vocabulary: token strings to ids.
        merges: in order of priority.
        tokenizer: the content of the model's ``tokenizer.json``.

    Raises:
        ProxyMalformed: the tokenizer cannot be read, or follows no named rule.
    """
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise ProxyMalformed(
            "comparing tokenizers needs the package tokenizers: install ctwl-protocol[proxy], or name the rule"
        ) from error
    try:
        own = Tokenizer.from_buffer(tokenizer)
        own.no_truncation()
        own.no_padding()
        wanted = [own.encode(text, add_special_tokens=False).ids for text in _SAMPLES]
    except Exception as error:  # the binding raises plain Exception
        raise ProxyMalformed(f"tokenizer.json cannot be read: {error}") from error
    for rule in SPLITS:
        bpe = build_bpe(vocabulary, merges, rule)
        if [bpe.encode(text, add_special_tokens=False).ids for text in _SAMPLES] == wanted:
            return rule
    raise ProxyMalformed(
        f"the model's tokenizer splits text by none of the named rules ({', '.join(SPLITS)}), so its LM cannot be a "
        "proxy; take a published profile's proxy, or name the rule that comes closest"
    )

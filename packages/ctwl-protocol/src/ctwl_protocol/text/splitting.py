"""Named splitting rules of byte-level BPE (spec section 5.2)."""

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
